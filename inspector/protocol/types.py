"""Read-only views of what servers offer. Each keeps the object it was read from, unknown members included.

Reading is tolerant: a member of the wrong type reads as absent. Only what cannot be used at all (a tool
without a name) is `Malformed`, and then it is kept and shown as such, and the rest of its list is used.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

from inspector.base.jsonvalue import JSON, JSONObject, excerpt


@dataclass(frozen=True, slots=True)
class Malformed:
    """An item that could not be used, and why."""

    value: JSON
    reason: str


@dataclass(frozen=True, slots=True)
class Tool:
    name: str
    title: str
    description: str
    input_schema: JSONObject
    source: JSONObject

    @staticmethod
    def read(value: JSONObject) -> Tool:
        annotations = _object(value, "annotations")
        return Tool(
            name=_required(value, "name"),
            title=_text(value, "title") or _text(annotations, "title"),
            description=_text(value, "description"),
            input_schema=_object(value, "inputSchema"),
            source=value,
        )

    @property
    def hints(self) -> tuple[str, ...]:
        """What its annotations claim, in words. Claims of an untrusted server, no more."""
        annotations = _object(self.source, "annotations")
        if annotations.get("readOnlyHint") is True:
            words = ["read-only"]
        else:
            # Destructive is the default of the specification; only a claim that was made is shown.
            words = ["destructive"] if annotations.get("destructiveHint") is True else []
            words += ["idempotent"] if annotations.get("idempotentHint") is True else []
        return (*words, "open world") if annotations.get("openWorldHint") is True else tuple(words)


@dataclass(frozen=True, slots=True)
class Resource:
    uri: str
    name: str
    title: str
    description: str
    mime_type: str
    source: JSONObject

    @staticmethod
    def read(value: JSONObject) -> Resource:
        return Resource(
            uri=_required(value, "uri"),
            name=_text(value, "name"),
            title=_text(value, "title"),
            description=_text(value, "description"),
            mime_type=_text(value, "mimeType"),
            source=value,
        )


@dataclass(frozen=True, slots=True)
class Prompt:
    name: str
    title: str
    description: str
    source: JSONObject

    @staticmethod
    def read(value: JSONObject) -> Prompt:
        return Prompt(_required(value, "name"), _text(value, "title"), _text(value, "description"), value)


@dataclass(frozen=True, slots=True)
class Implementation:
    """Who the other side says it is."""

    name: str
    title: str
    version: str

    @staticmethod
    def read(value: JSON) -> Implementation:
        source = value if isinstance(value, dict) else {}
        return Implementation(_text(source, "name"), _text(source, "title"), _text(source, "version"))


Item = TypeVar("Item")


@dataclass(frozen=True, slots=True)
class Listing(Generic[Item]):
    """A whole list, all pages of it: the items that can be used and those that cannot."""

    items: tuple[Item, ...] = ()
    malformed: tuple[Malformed, ...] = ()
    pages: int = 0


def read_items(value: JSON, read: Callable[[JSONObject], Item]) -> tuple[list[Item], list[Malformed]]:
    """Read one page. What is no list at all is one malformed item."""
    if not isinstance(value, list):
        return [], [Malformed(value, "the list is missing or is no array")]
    items: list[Item] = []
    malformed: list[Malformed] = []
    for entry in value:
        try:
            items.append(read(_entry(entry)))
        except ValueError as exc:
            malformed.append(Malformed(entry, str(exc)))
    return items, malformed


def _entry(entry: JSON) -> JSONObject:
    if not isinstance(entry, dict):
        raise ValueError(f"not an object: {excerpt(entry)}")
    return entry


def _required(value: JSONObject, member: str) -> str:
    text = value.get(member)
    if not isinstance(text, str) or not text:
        raise ValueError(f'"{member}" must be a string with at least one character')
    return text


def _text(value: JSONObject, member: str) -> str:
    text = value.get(member)
    return text if isinstance(text, str) else ""


def _object(value: JSONObject, member: str) -> JSONObject:
    found = value.get(member)
    return found if isinstance(found, dict) else {}

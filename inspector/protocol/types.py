"""Read-only views of what servers offer: tools, resources, prompts, completions.

Each keeps the object it was read from, with unknown members. Parsing is tolerant: a member of the wrong
type counts as absent. Only what cannot be used at all (a tool without a name) is `Malformed`; it is shown
as such, and the rest of the list is used. `namespaced` is the tool name that clients show to models,
`mcp__server__tool`.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

from inspector.base.json.values import JSON, JSONObject, excerpt


@dataclass(frozen=True, slots=True)
class Malformed:
    """An unusable item, and why."""

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
        name, title = _required(value, "name"), _text(value, "title")
        if not title and "annotations" in value:
            title = _text(_object(value, "annotations"), "title")
        # Positional for speed: some servers have 10,000 of them.
        return Tool(name, title, _text(value, "description"), _object(value, "inputSchema"), value)

    @property
    def hints(self) -> tuple[str, ...]:
        """The claims of its annotations as text. They come from an untrusted server."""
        annotations = _object(self.source, "annotations")
        if annotations.get("readOnlyHint") is True:
            parts = ["read-only"]
        else:
            # Destructive is the specification's default; only explicit claims are shown.
            parts = ["destructive"] if annotations.get("destructiveHint") is True else []
            parts += ["idempotent"] if annotations.get("idempotentHint") is True else []
        return (*parts, "open world") if annotations.get("openWorldHint") is True else tuple(parts)

    @property
    def task_support(self) -> str:
        """`forbidden`, `optional` or `required`: whether a call can run as a task (2025-11-25 only)."""
        support = _text(_object(self.source, "execution"), "taskSupport")
        return support if support in ("optional", "required") else "forbidden"


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
class ResourceTemplate:
    """A family of resources: an RFC 6570 template for their URIs."""

    uri_template: str
    name: str
    title: str
    description: str
    mime_type: str
    source: JSONObject

    @staticmethod
    def read(value: JSONObject) -> ResourceTemplate:
        return ResourceTemplate(
            uri_template=_required(value, "uriTemplate"),
            name=_text(value, "name"),
            title=_text(value, "title"),
            description=_text(value, "description"),
            mime_type=_text(value, "mimeType"),
            source=value,
        )


@dataclass(frozen=True, slots=True)
class ResourceContents:
    """Contents of a resource: text, or Base64 bytes. An entry with neither is Malformed."""

    uri: str
    mime_type: str
    text: str | None
    blob: str | None
    source: JSONObject

    @staticmethod
    def read(value: JSONObject) -> ResourceContents:
        text, blob = value.get("text"), value.get("blob")
        contents = ResourceContents(
            uri=_text(value, "uri"),
            mime_type=_text(value, "mimeType"),
            text=text if isinstance(text, str) else None,
            blob=blob if isinstance(blob, str) else None,
            source=value,
        )
        if contents.text is None and contents.blob is None:
            raise ValueError('it has neither a "text" nor a "blob" that is a string')
        return contents

    def data(self) -> bytes:
        """Return the content as bytes. Raises ValueError if the blob is not Base64."""
        if self.blob is None:
            return (self.text or "").encode(errors="replace")
        try:
            return base64.b64decode(self.blob, validate=True)
        except (binascii.Error, ValueError) as exc:
            raise ValueError(f"the blob is not valid Base64: {exc}") from exc


@dataclass(frozen=True, slots=True)
class PromptArgument:
    """An argument of a prompt. Its value is always a string."""

    name: str
    title: str
    description: str
    is_required: bool
    source: JSONObject

    @staticmethod
    def read(value: JSONObject) -> PromptArgument:
        return PromptArgument(
            name=_required(value, "name"),
            title=_text(value, "title"),
            description=_text(value, "description"),
            is_required=value.get("required") is True,
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

    @property
    def arguments(self) -> tuple[PromptArgument, ...]:
        """Usable arguments; others are in `source`."""
        return tuple(read_items(self.source.get("arguments", []), PromptArgument.read)[0])


@dataclass(frozen=True, slots=True)
class PromptMessage:
    """A prompt message: a role and one content block."""

    role: str
    content: JSONObject
    source: JSONObject

    @staticmethod
    def read(value: JSONObject) -> PromptMessage:
        content = value.get("content")
        if not isinstance(content, dict):
            raise ValueError('"content" must be a single content block (an object)')
        return PromptMessage(_required(value, "role"), content, value)


@dataclass(frozen=True, slots=True)
class Completion:
    """Suggested values of an argument. `total` may exceed the number sent."""

    values: tuple[str, ...] = ()
    total: int | None = None
    has_more: bool = False

    @staticmethod
    def read(result: JSONObject) -> Completion:
        completion = _object(result, "completion")
        values, total = completion.get("values"), completion.get("total")
        return Completion(
            values=tuple(value for value in values if isinstance(value, str))
            if isinstance(values, list)
            else (),
            total=total if type(total) is int else None,
            has_more=completion.get("hasMore") is True,
        )


@dataclass(frozen=True, slots=True)
class CacheHints:
    """How long and by whom a result may be reused. Without a valid `ttl_ms` it is stale at once."""

    ttl_ms: int | None = None
    scope: str = ""

    @staticmethod
    def read(result: JSONObject) -> CacheHints:
        ttl, scope = result.get("ttlMs"), result.get("cacheScope")
        return CacheHints(
            ttl_ms=ttl if type(ttl) is int and ttl >= 0 else None,
            scope=scope if isinstance(scope, str) and scope in ("public", "private") else "",
        )


@dataclass(frozen=True, slots=True)
class InputRequest:
    """A server request inside a result: without `jsonrpc` and id."""

    method: str
    params: JSONObject
    source: JSONObject

    @staticmethod
    def read(value: JSONObject) -> InputRequest:
        return InputRequest(_required(value, "method"), _object(value, "params"), value)


def read_input_requests(value: JSON) -> dict[str, InputRequest]:
    """Parse an `inputRequests` member, by the keys that the replies must have.

    Raises ValueError: what cannot be parsed cannot be answered, and all must be answered.
    """
    if not isinstance(value, dict):
        raise ValueError('"inputRequests" must be an object')
    requests = {}
    for key, entry in value.items():
        try:
            requests[key] = InputRequest.read(_entry(entry))
        except ValueError as exc:
            raise ValueError(f"the input request “{excerpt(key, 40)}” cannot be used: {exc}") from exc
    return requests


@dataclass(frozen=True, slots=True)
class Implementation:
    """Name and version that the other side reports."""

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
    """A list, all pages that arrived: usable and malformed items.

    `incomplete` says why pages are missing, `next_step` what to do; both are empty for a complete list.
    """

    items: tuple[Item, ...] = ()
    malformed: tuple[Malformed, ...] = ()
    pages: int = 0
    cache: CacheHints | None = None  # from the first page; the handshake era has none
    incomplete: str = ""
    next_step: str = ""


def read_items(value: JSON, read: Callable[[JSONObject], Item]) -> tuple[list[Item], list[Malformed]]:
    """Parse one page. Anything but a list is one malformed item."""
    if not isinstance(value, list):
        return [], [Malformed(value, "the list is missing or is not an array")]
    items: list[Item] = []
    malformed: list[Malformed] = []
    for entry in value:
        try:
            items.append(read(entry if type(entry) is dict else _entry(entry)))
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
        raise ValueError(f'"{member}" must be a non-empty string')
    return text


def _text(value: JSONObject, member: str) -> str:
    text = value.get(member)
    return text if isinstance(text, str) else ""


def _object(value: JSONObject, member: str) -> JSONObject:
    found = value.get(member)
    return found if isinstance(found, dict) else {}


_INVALID_IN_TOOL_NAME = re.compile(r"[^A-Za-z0-9_-]")


def namespaced(server: str, tool: str) -> str:
    """Return the tool name of Claude Code and Codex, for permission rules, hooks and prompts.

    Models allow letters, digits, _ and - in tool names: any other character becomes _. Servers or tools
    whose names differ only there get the same name.
    """
    return f"mcp__{sanitized(server)}__{sanitized(tool)}"


def sanitized(name: str) -> str:
    """Return a server or tool name as hosts write it in a qualified name."""
    return _INVALID_IN_TOOL_NAME.sub("_", name)

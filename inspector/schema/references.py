"""Where `$ref` leads, inside one schema: `Document`.

Nothing is ever fetched. A reference leads to a place (`#/$defs/x`), to a name (`$anchor`, `$dynamicAnchor`)
or to a part with an `$id` of its own. `$dynamicRef` is followed as it is written: the first part of that
name in the document stands for it, which is the outermost one.
"""

from __future__ import annotations

from functools import cached_property
from urllib.parse import unquote, urldefrag, urljoin

from inspector.base.jsonvalue import JSON, JSONObject, shorten
from inspector.schema import keywords

REFERENCES = ("$ref", "$dynamicRef", "$recursiveRef")
_MOST_PARTS_SEARCHED = 300_000
# These hold values, not schemas: an "$id" in them is not an identifier.
_VALUES = frozenset(("const", "enum", "default", "examples"))


class Unusable(Exception):
    """A part of a schema cannot be used; the message is a sentence that says why."""


class Document:
    """A whole schema, in which references are resolved."""

    def __init__(self, root: JSON) -> None:
        self.root = root

    def target(self, reference: JSON) -> JSON:
        """Resolve a reference. Raises Unusable."""
        if not isinstance(reference, str):
            raise Unusable(f"The schema's $ref is {keywords.kind_of(reference)} instead of text.")
        shown = shorten(reference, 80)
        try:
            place, fragment = urldefrag(urljoin(self._base, reference))
            resource = self._resource(place)
        except (LookupError, ValueError):
            raise Unusable(
                f"The schema refers to {shown}, which is outside of it and never fetched."
            ) from None
        try:
            return self._named(place, unquote(fragment), resource)
        except (LookupError, ValueError):
            raise Unusable(f"The schema refers to {shown}, which is not in it.") from None

    @property
    def _base(self) -> str:
        name = self.root.get("$id") if isinstance(self.root, dict) else None
        return urldefrag(name)[0] if isinstance(name, str) else ""

    def _resource(self, place: str) -> JSON:
        return self.root if place in ("", self._base) else self._names[place]

    def _named(self, place: str, fragment: str, resource: JSON) -> JSON:
        if not fragment or fragment.startswith("/"):
            return _look_up(fragment, resource)
        return self._names[f"{'' if place == self._base else place}#{fragment}"]

    @cached_property
    def _names(self) -> dict[str, JSON]:
        """Parts by `$id` and `$id#anchor`; the outermost wins for repeated names."""
        found: dict[str, JSON] = {}
        left: list[tuple[JSON, str]] = [(self.root, "")]
        for _ in range(_MOST_PARTS_SEARCHED):
            if not left:
                break
            part, place = left.pop()
            if isinstance(part, dict):
                place = self._note_names(part, place, found)
                left.extend((inner, place) for key, inner in _reversed(part) if key not in _VALUES)
            elif isinstance(part, list):
                left.extend((inner, place) for inner in reversed(part))
        return found

    def _note_names(self, part: JSONObject, place: str, found: dict[str, JSON]) -> str:
        name = part.get("$id")
        if isinstance(name, str) and part is not self.root:
            if name.startswith("#"):  # how drafts 6 and 7 write an anchor
                found.setdefault(f"{place}{name}", part)
            else:
                place = urldefrag(urljoin(place or self._base, name))[0]
                found.setdefault(place, part)
        for key in ("$anchor", "$dynamicAnchor"):
            if isinstance(anchor := part.get(key), str):
                found.setdefault(f"{place}#{anchor}", part)
                found.setdefault(f"#{anchor}", part)
        return place


def _reversed(part: JSONObject) -> list[tuple[str, JSON]]:
    return list(part.items())[::-1]


def _look_up(pointer: str, root: JSON) -> JSON:
    """Resolve a JSON pointer (RFC 6901)."""
    place = root
    for part in pointer.split("/")[1:]:
        name = part.replace("~1", "/").replace("~0", "~")
        if isinstance(place, dict):
            place = place[name]
        elif isinstance(place, list) and name.isdecimal():
            place = place[int(name)]
        else:
            raise LookupError(pointer)
    return place

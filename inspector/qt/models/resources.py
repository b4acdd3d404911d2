"""What resources and templates of them say about themselves."""

from __future__ import annotations

from datetime import datetime

from inspector.base.jsonvalue import JSON, JSONObject, excerpt
from inspector.base.units import size
from inspector.protocol.types import Resource, ResourceTemplate
from inspector.qt.models.offered import Describe, Item

_BOTH = (Resource, ResourceTemplate)


def _uri(item: Item) -> str:
    if isinstance(item, ResourceTemplate):
        return item.uri_template
    return item.uri if isinstance(item, Resource) else ""


def _text(item: Item) -> str:
    return (item.title or item.name or _uri(item)) if isinstance(item, _BOTH) else ""


def _note(item: Item) -> str:
    return short_type(item.mime_type) if isinstance(item, _BOTH) else ""


def _rest(item: Item) -> str:
    if not isinstance(item, _BOTH):
        return ""
    return f"{item.name}\n{_uri(item)}\n{item.mime_type}\n{item.description}"


RESOURCES = Describe(_uri, _text, _note, _rest)
TEMPLATES = Describe(_uri, _text, _uri, _rest)


def short_type(mime_type: str) -> str:
    """Shorten a MIME type: `text/markdown; charset=utf-8` -> `markdown`."""
    bare = mime_type.partition(";")[0].strip()
    return bare.rpartition("/")[2].removeprefix("x-") or bare


def facts_of(source: JSONObject) -> list[tuple[str, str]]:
    """Return labelled facts about a resource or template besides URI, title and description."""
    facts = [(label, _string(source.get(member))) for label, member in _MEMBERS]
    facts.append(("Size", _size(source.get("size"))))
    annotations = source.get("annotations")
    if isinstance(annotations, dict):
        facts += [
            (_ANNOTATIONS.get(name, name), _annotation(name, value)) for name, value in annotations.items()
        ]
    return [(label, value) for label, value in facts if value]


_MEMBERS = (("Name", "name"), ("Type", "mimeType"))
_ANNOTATIONS = {"audience": "Audience", "priority": "Priority", "lastModified": "Last modified"}


def _string(value: JSON) -> str:
    return "" if value is None else excerpt(value, 200)


def _size(value: JSON) -> str:
    if type(value) is int and value >= 0:
        return size(value) if value < 1024 else f"{size(value)} ({value:,} bytes)"
    return _string(value)


def _annotation(name: str, value: JSON) -> str:
    if name == "audience" and isinstance(value, list):
        return ", ".join(excerpt(each, 40) for each in value[:10])
    if name == "lastModified" and isinstance(value, str):
        return _moment(value)
    return _string(value)


def _moment(text: str) -> str:
    """Format a time in the local zone; return unparsable text as sent."""
    try:
        return f"{datetime.fromisoformat(text).astimezone():%Y-%m-%d %H:%M:%S}"
    except (ValueError, OverflowError, OSError):
        return excerpt(text, 80)

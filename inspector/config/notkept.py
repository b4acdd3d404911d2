"""Secrets in arguments that are kept on disk: a mark stands where one was."""

from __future__ import annotations

from collections.abc import Iterator

from inspector.base.jsonvalue import JSON, JSONObject
from inspector.base.redact import MASK, Secrecy, masked_words, secrecy
from inspector.config.variables import is_reference

_MARK = "mcp-lens:notKept"
NOT_KEPT: JSONObject = {_MARK: True}


def mark_secrets(arguments: JSONObject) -> JSONObject:
    """Arguments for keeping: what goes under a secret name, or looks like a well-known key, is a mark.

    `${name}` is no secret, only the name of one. Raises RecursionError.
    """
    return {name: _kept(name, value) for name, value in arguments.items()}


def is_not_kept(value: JSON) -> bool:
    """Is this a mark?"""
    return isinstance(value, dict) and len(value) == 1 and value.get(_MARK) is True


def without_marks(arguments: JSONObject) -> tuple[JSONObject, tuple[str, ...]]:
    """Kept arguments for filling in a form: without the marks, and the JSON pointers to where they were.

    The pointers are places in `arguments`; an item of an array is gone, so those behind it move up.
    """
    places = tuple(_places(arguments, ""))
    if not places:
        return arguments, ()
    cleaned = _cleaned(arguments)
    assert isinstance(cleaned, dict)
    return cleaned, places


def _kept(name: str, value: JSON) -> JSON:
    if _is_secret(name, value):
        return NOT_KEPT
    if isinstance(value, dict):
        return mark_secrets(value)
    # Items are called as their array is, which was not secret.
    return [_kept("", item) for item in value] if isinstance(value, list) else value


def _is_secret(name: str, value: JSON) -> bool:
    if value is None or isinstance(value, bool) or value in ("", [], {}) or is_reference(value):
        return False
    if isinstance(value, str) and masked_words([value]) == [MASK]:
        return True
    certainty = secrecy(name)
    return certainty is Secrecy.SURE or (certainty is Secrecy.LIKELY and isinstance(value, str))


def _children(value: dict[str, JSON] | list[JSON]) -> Iterator[tuple[str | int, JSON]]:
    yield from value.items() if isinstance(value, dict) else enumerate(value)


def _places(value: JSON, pointer: str) -> Iterator[str]:
    if is_not_kept(value):
        yield pointer
    elif isinstance(value, dict | list):
        for key, child in _children(value):
            step = str(key).replace("~", "~0").replace("/", "~1")
            yield from _places(child, f"{pointer}/{step}")


def _cleaned(value: JSON) -> JSON:
    if isinstance(value, dict):
        return {name: _cleaned(child) for name, child in value.items() if not is_not_kept(child)}
    if isinstance(value, list):
        return [_cleaned(child) for child in value if not is_not_kept(child)]
    return value

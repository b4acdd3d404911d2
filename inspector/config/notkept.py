"""Secrets in arguments that are kept on disk: a mark stands where one was."""

from __future__ import annotations

from collections.abc import Iterator

from inspector.base.jsonvalue import JSON, JSONObject
from inspector.base.redact import MASK, Secrecy, masked_words, secrecy
from inspector.config.variables import is_reference

_MARK = "mcp-lens:notKept"
NOT_KEPT: JSONObject = {_MARK: True}


def mark_secrets(arguments: JSONObject) -> JSONObject:
    """Replace secrets in arguments with a mark, for storage. Raises RecursionError.

    A secret is a value under a secret name, or one that looks like a well-known key format. `${name}` is
    only a placeholder and is left alone.
    """
    return {name: _kept(name, value) for name, value in arguments.items()}


def is_not_kept(value: JSON) -> bool:
    """True for the mark that replaces a secret."""
    return isinstance(value, dict) and len(value) == 1 and value.get(_MARK) is True


def without_marks(arguments: JSONObject) -> tuple[JSONObject, tuple[str, ...]]:
    """Remove the marks from stored arguments; also return JSON pointers to where they were.

    The pointers refer to `arguments`; a marked array item is removed, so the items after it move up.
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
    # Items count as named like their array, which was not secret.
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

"""Options of a login as they are remembered: JSON without secrets, read back as far as it is usable."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from inspector.base.jsonvalue import JSON, JSONObject
from inspector.base.redact import is_secret_name
from inspector.oauth.steps import LoginGrant, Overrides
from inspector.protocol.auth.identity import Strategy
from inspector.protocol.revisions import Revision, find_revision

# Secrets must be typed again, and forgetting a client happens once.
_NOT_REMEMBERED = ("client_secret", "forgets_client")
_USUAL = Overrides()


def write_overrides(overrides: Overrides) -> JSONObject:
    """Return the non-default options, by field name of `Overrides`."""
    written: JSONObject = {}
    for field in fields(Overrides):
        value = getattr(overrides, field.name)
        if field.name not in _NOT_REMEMBERED and value != getattr(_USUAL, field.name):
            written[field.name] = _written(value)
    return written


def read_overrides(value: JSON) -> Overrides:
    """Parse saved options, ignoring invalid members.

    The file may come from elsewhere or from another version.
    """
    members = value if isinstance(value, dict) else {}
    read = {
        field.name: found
        for field in fields(Overrides)
        if field.name in members
        and field.name not in _NOT_REMEMBERED
        and (found := _read(field.name, members[field.name])) is not None
    }
    return Overrides(**read)


def _written(value: object) -> JSON:
    match value:
        case LoginGrant() | Strategy():
            return str(value.value)
        case Revision():
            return str(value)
        case tuple():
            return [[name, text] for name, text in value if not is_secret_name(name)]
        case str() | bool() | int():
            return value
    raise AssertionError(value)


def _read(name: str, value: JSON) -> Any:
    """Parse a member; None if it is invalid."""
    if name == "revision":
        return find_revision(value)
    if name in ("grant", "strategy"):
        kind = LoginGrant if name == "grant" else Strategy
        return next((each for each in kind if each.value == value), None)
    if name == "extras":
        return _pairs(value)
    if name == "redirect_port":
        return value if type(value) is int and 0 < value < 65_536 else None
    wanted = bool if name == "uses_dpop" or isinstance(getattr(_USUAL, name), bool) else str
    return value if type(value) is wanted else None


def _pairs(value: JSON) -> tuple[tuple[str, str], ...] | None:
    if not isinstance(value, list):
        return None
    pairs = [pair for pair in value if isinstance(pair, list) and len(pair) == 2]
    return tuple((str(name), str(text)) for name, text in pairs)

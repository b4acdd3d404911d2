"""What a person writes into the `_meta` of a call: sent as it is, with a word on what it may upset."""

from __future__ import annotations

import re

from inspector.base.jsonvalue import JSONObject, shorten
from inspector.base.plaintext import one_line

# 2025-06-18, General fields: an optional prefix of labels, then a name.
_LABEL = r"[A-Za-z](?:[A-Za-z0-9-]*[A-Za-z0-9])?"
_KEY = re.compile(
    rf"(?P<prefix>{_LABEL}(?:\.{_LABEL})*/)?(?P<name>[A-Za-z0-9](?:[A-Za-z0-9_.-]*[A-Za-z0-9])?)?"
)
_RESERVED = frozenset({"modelcontextprotocol", "mcp"})


def meta_remarks(meta: JSONObject) -> tuple[str, ...]:
    """Return a remark for each key that is reserved by the protocol or malformed.

    Such keys are sent anyway: a debugger must be able to. Only `progressToken` is always ours: progress
    could not be matched otherwise.
    """
    return tuple(remark for key in meta if (remark := _remark(key)))


def is_reserved(key: str) -> bool:
    """True for a reserved prefix, such as `io.modelcontextprotocol/…` and `tools.mcp.com/…`."""
    prefix, slash, _ = key.rpartition("/")
    return bool(slash) and not _RESERVED.isdisjoint(prefix.lower().split("."))


def _remark(key: str) -> str:
    shown = f"“{one_line(shorten(key, 60))}”"
    if key == "progressToken":
        return f"{shown} is replaced by our own, so that progress finds its call."
    if is_reserved(key):
        return f"{shown} is reserved for the protocol: it replaces what we would send there."
    if not key or _KEY.fullmatch(key) is None:
        return f"{shown} is no valid key for _meta: servers may refuse it."
    return ""

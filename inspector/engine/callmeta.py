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
    """A sentence for each key that the protocol keeps for itself, or that is no key by its rules.

    They are sent all the same: a debugger must be able to. `progressToken` alone is ours: without it
    nobody could tell whose progress is reported.
    """
    return tuple(remark for key in meta if (remark := _remark(key)))


def is_reserved(key: str) -> bool:
    """Does the prefix belong to the protocol? `io.modelcontextprotocol/…` and `tools.mcp.com/…` do."""
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

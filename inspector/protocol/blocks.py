"""Content blocks in sampling: what each kind must hold, and which revision has it."""

from __future__ import annotations

import base64
import binascii

from inspector.base.jsonvalue import JSON, JSONObject
from inspector.protocol.members import shown, text_of
from inspector.protocol.revisions import R1, R2, R4, R5, Revision, is_between

TOOL_USE, TOOL_RESULT = "tool_use", "tool_result"

_SLICE = 64 * 1024  # a multiple of four, as Base64 needs

_SINCE = {"text": R1, "image": R1, "audio": R2, TOOL_USE: R4, TOOL_RESULT: R4}
_REQUIRED = {
    "text": ("text",),
    "image": ("data", "mimeType"),
    "audio": ("data", "mimeType"),
    TOOL_USE: ("id", "name"),
    TOOL_RESULT: ("toolUseId",),
}


def kind_of(block: JSONObject) -> str:
    """Return the block's type; "" if it has none."""
    return text_of(block, "type")


def read_blocks(content: JSON) -> tuple[JSONObject, ...]:
    """Return one block or a list as a tuple. Raises ValueError for anything else."""
    blocks = content if isinstance(content, list) else [content]
    if not all(isinstance(block, dict) for block in blocks):
        raise ValueError('"content" must be a content block or a list of them')
    return tuple(block for block in blocks if isinstance(block, dict))


def block_problem(block: JSONObject, revision: Revision) -> str:
    """Return what is wrong with a sampling block, as the end of a sentence; "" if nothing."""
    kind = kind_of(block)
    if not kind:
        return "has no type"
    if kind not in _SINCE:
        return f"has the type {shown(kind)}, which a sampling message does not have"
    if not is_between(revision, _SINCE[kind], R5):
        return f"has the type {shown(kind)}, which came with {_SINCE[kind]}; this is {revision}"
    missing = [name for name in _REQUIRED[kind] if not isinstance(block.get(name), str)]
    if missing:
        return f"({kind}) has no “{missing[0]}” that is a string"
    return _inside(kind, block)


def _inside(kind: str, block: JSONObject) -> str:
    if kind in ("image", "audio") and not _is_base64(text_of(block, "data")):
        return f"({kind}) holds data that is not Base64"
    if kind == TOOL_USE and not isinstance(block.get("input"), dict):
        return f"({kind}) has no “input” that is an object"
    if kind == TOOL_RESULT and not isinstance(block.get("content"), list):
        return f"({kind}) has no “content” that is a list"
    return ""


def _is_base64(data: str) -> bool:
    """Check in slices: megabytes at once would block other threads and be copied."""
    if len(data) % 4:
        return False
    return all(
        _decodes(data[at : at + _SLICE], is_last=at + _SLICE >= len(data))
        for at in range(0, len(data), _SLICE)
    )


def _decodes(data: str, *, is_last: bool) -> bool:
    """Decode a slice; padding is only allowed at the end."""
    try:
        base64.b64decode(data, validate=True)
    except (binascii.Error, ValueError):
        return False
    return is_last or "=" not in data

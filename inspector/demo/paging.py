"""Lists in pages, with opaque cursors (2025-11-25, Server Features, Pagination)."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Sequence
from typing import TypeVar

import mcp_types as types
from mcp.shared.exceptions import MCPError

Item = TypeVar("Item")


def page(
    items: Sequence[Item], params: types.PaginatedRequestParams | None, size: int
) -> tuple[list[Item], str | None]:
    """Return the page at the request's cursor, and the next cursor, None after the last page."""
    start = _offset(params.cursor if params is not None else None)
    end = start + size
    return list(items[start:end]), _cursor(end) if end < len(items) else None


def _cursor(offset: int) -> str:
    # Encoded only to look opaque, as a real server's would be: clients must not interpret cursors.
    return base64.urlsafe_b64encode(f"from:{offset}".encode()).decode()


def _offset(cursor: str | None) -> int:
    if cursor is None:
        return 0
    try:
        label, _, number = base64.urlsafe_b64decode(cursor).decode().partition(":")
        if label == "from":
            return int(number)
    except (binascii.Error, ValueError):
        pass
    # "Invalid cursors SHOULD result in an error with code -32602."
    raise MCPError(types.INVALID_PARAMS, f"This server gave out no cursor {cursor!r}")

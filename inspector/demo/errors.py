"""Protocol errors that more than one demo server raises."""

from __future__ import annotations

import mcp_types as types
from mcp.shared.exceptions import MCPError
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from inspector.demo.toolbox import Context

_NOT_FOUND_BEFORE_2026 = -32002


def resource_not_found(context: Context, uri: str) -> MCPError:
    """Build the error for an unknown resource.

    2026-07-28 requires -32602 and forbids the code that earlier versions require.
    """
    modern = context.protocol_version in MODERN_PROTOCOL_VERSIONS
    code = types.INVALID_PARAMS if modern else _NOT_FOUND_BEFORE_2026
    return MCPError(code, "Resource not found", {"uri": uri})

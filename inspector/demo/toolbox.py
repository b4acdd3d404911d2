"""Tables of tools for SDK servers: validation, paginated lists and shared protocol errors.

The SDK can derive schemas from Python annotations, but the demo needs schemas that no annotation gives
(`oneOf` with titles, `$ref`, nullable unions), so they are written out and validated here. Cursors are
opaque (2025-11-25, Server Features, Pagination).
"""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeVar

import mcp_types as types
from jsonschema import Draft202012Validator  # type: ignore[import-untyped]  # The SDK brings it along.
from jsonschema.exceptions import best_match  # type: ignore[import-untyped]
from mcp.server.context import ServerRequestContext
from mcp.server.session import ServerSession
from mcp.shared.exceptions import MCPError
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

_NOT_FOUND_BEFORE_2026 = -32002

Item = TypeVar("Item")
Context = ServerRequestContext[Any, Any]
Schema = dict[str, Any]
Outcome = types.CallToolResult | types.InputRequiredResult
Run = Callable[["Call"], Awaitable[Outcome]]

READ_ONLY = types.ToolAnnotations(read_only_hint=True, idempotent_hint=True, open_world_hint=False)


@dataclass(frozen=True)
class Call:
    """A `tools/call` as a tool sees it: defaults filled in, arguments validated."""

    context: Context
    params: types.CallToolRequestParams
    arguments: Mapping[str, Any]

    @property
    def session(self) -> ServerSession:
        return self.context.session


@dataclass(frozen=True)
class DemoTool:
    """A tool: its definition for the client, and the coroutine that runs it."""

    definition: types.Tool
    run: Run

    @property
    def name(self) -> str:
        return self.definition.name

    def fill_defaults(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        properties: Mapping[str, Schema] = self.definition.input_schema.get("properties", {})
        defaults = {name: schema["default"] for name, schema in properties.items() if "default" in schema}
        return {**defaults, **arguments}

    def validation_error(self, arguments: Mapping[str, Any]) -> str | None:
        """Return what is wrong with these arguments, for the caller; None if they are valid."""
        error = best_match(self._validator.iter_errors(dict(arguments)))
        return None if error is None else f"Invalid arguments at {error.json_path}: {error.message}"

    @cached_property
    def _validator(self) -> Any:  # jsonschema has no type information.
        return Draft202012Validator(self.definition.input_schema)


class Toolbox:
    """Handles `tools/list` and `tools/call` from a table of tools."""

    def __init__(self, tools: Iterable[DemoTool], *, page_size: int = 1000) -> None:
        self._tools = {tool.name: tool for tool in tools}
        self._page_size = page_size

    def toggle(self, tool: DemoTool) -> bool:
        """Add or remove the tool; return True if it is present afterwards."""
        if self._tools.pop(tool.name, None) is not None:
            return False
        self._tools[tool.name] = tool
        return True

    async def list_tools(
        self, context: Context, params: types.PaginatedRequestParams | None
    ) -> types.ListToolsResult:
        tools, next_cursor = page([tool.definition for tool in self._tools.values()], params, self._page_size)
        return types.ListToolsResult(tools=tools, next_cursor=next_cursor)

    async def call_tool(self, context: Context, params: types.CallToolRequestParams) -> Outcome:
        tool = self._tools.get(params.name)
        if tool is None:
            raise MCPError(types.INVALID_PARAMS, f"Unknown tool: {params.name}")
        arguments = tool.fill_defaults(params.arguments or {})
        error = tool.validation_error(arguments)
        if error is not None:
            # 2025-11-25, Tools, Error Handling: input validation errors are tool errors, so that a model
            # can see them and try again.
            return failure(error)
        return await tool.run(Call(context, params, arguments))


def tool(
    name: str,
    title: str,
    description: str,
    run: Run,
    input_schema: Schema | None = None,
    *,
    output_schema: Schema | None = None,
    annotations: types.ToolAnnotations = READ_ONLY,
) -> DemoTool:
    """Define a tool; without a schema it takes no arguments."""
    definition = types.Tool(
        name=name,
        title=title,
        description=description,
        input_schema=schema() if input_schema is None else input_schema,
        output_schema=output_schema,
        annotations=annotations,
    )
    return DemoTool(definition, run)


def schema(required: Iterable[str] = (), **properties: Schema) -> Schema:
    """Build an object schema with these properties and no others."""
    result: Schema = {"type": "object", "properties": properties, "additionalProperties": False}
    names = list(required)
    return {**result, "required": names} if names else result


def number_schema(
    default: float, minimum: float, maximum: float, description: str, kind: str = "integer"
) -> Schema:
    """Build a number schema with a default and limits."""
    return {
        "type": kind,
        "default": default,
        "minimum": minimum,
        "maximum": maximum,
        "description": description,
    }


def text(*parts: str) -> types.CallToolResult:
    """Build a result of text blocks."""
    return types.CallToolResult(content=[types.TextContent(text=part) for part in parts])


def failure(message: str) -> types.CallToolResult:
    """Build a tool error: a result that says the tool failed."""
    return types.CallToolResult(content=[types.TextContent(text=message)], is_error=True)


def structured(value: Mapping[str, Any]) -> types.CallToolResult:
    """Build a result with structured content and the same JSON as text, as the specification asks."""
    return types.CallToolResult(
        content=[types.TextContent(text=json.dumps(value, ensure_ascii=False, indent=2))],
        structured_content=dict(value),
    )


def resource_not_found(context: Context, uri: str) -> MCPError:
    """Build the error for an unknown resource.

    2026-07-28 requires -32602 and forbids the code that earlier versions require.
    """
    modern = context.protocol_version in MODERN_PROTOCOL_VERSIONS
    code = types.INVALID_PARAMS if modern else _NOT_FOUND_BEFORE_2026
    return MCPError(code, "Resource not found", {"uri": uri})


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
    raise MCPError(types.INVALID_PARAMS, f"Unknown cursor {cursor!r}")

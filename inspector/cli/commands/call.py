"""`mcp-lens call TOOL [key=value …]`: call a tool and print its result.

Numbers in the result keep their spelling. Progress is one line on stderr that is rewritten in place, and
only if stderr is a terminal.
"""

from __future__ import annotations

import argparse
import base64
import binascii
import difflib
import json
import shutil
import sys
import time
from collections.abc import Iterator, Sequence

from inspector.base.errors import ConfigError, RemoteProtocolError, UserError
from inspector.base.json.text import JSONTextError, read, same, write
from inspector.base.json.values import JSON, JSONObject, exact_decoder, shorten
from inspector.base.plain_text import one_line
from inspector.base.units import plural, size
from inspector.cli import output
from inspector.cli.arguments import arguments_for, read_assignments, read_object
from inspector.cli.headless import USAGE, add_server_options, run_on_server, server_for
from inspector.cli.output import ExitCode, Parser, seconds
from inspector.engine.calls.output_check import OutputCheck, OutputState, check_text
from inspector.engine.calls.tool_calls import ToolCall
from inspector.engine.content.content import no_content_text, other_members
from inspector.engine.engine import Engine
from inspector.engine.views import CallOutcome, OutcomeKind
from inspector.protocol.connection import ProgressReceived
from inspector.protocol.jsonrpc import RpcError, error_of
from inspector.protocol.jsonrpc import read as read_message
from inspector.protocol.types import Tool
from inspector.schema.keywords import kind_of
from inspector.schema.tool_names import matching_tools, qualified_prefix, tools_of_any_server

_ERASE_LINE = "\r\x1b[K"
_UPDATE_INTERVAL = 0.05  # seconds: a flood of progress must not flood the output
_EPILOG = """\
arguments:
  key=value     parsed with the tool's input schema: number, boolean, null, enum value, or JSON for arrays
                and objects; anything else is sent as a string
  key:=json     sent as is, ignoring the schema: n:=5, tags:='["a"]', note:=null, big:=@file.json
  --json TEXT   all arguments as one object; key=value pairs override its properties

JSON can also come from a file (@FILE) or from stdin (-).

The result is checked against the tool's output schema; differences are printed to stderr. A result without
content is printed as JSON. Exit codes: 0 success, 1 the tool reported an error, 2 the call failed, 3 the
result does not match the output schema or has no content.

examples:
  mcp-lens call echo message='Hello, server' -- npx -y some-server
  mcp-lens call mcp__my_server__echo message=hello   (the server is found in the server list)
  mcp-lens call search --json @query.json limit=5 --url http://localhost:8000/mcp
"""


def configure(parser: Parser) -> None:
    parser.usage = f"mcp-lens call TOOL [key=value …] [options] {USAGE}"
    parser.epilog = _EPILOG
    parser.add_argument("tool", metavar="TOOL", help="name of the tool, also as mcp__SERVER__TOOL")
    parser.add_argument("assignments", nargs="*", metavar="key=value", help="arguments; see below")
    parser.add_argument("--json", metavar="TEXT", help="arguments as a JSON object")
    parser.add_argument(
        "--format",
        choices=["text", "json"],
        default="text",
        help="output format (default: text); json prints the full result",
    )
    parser.add_argument("--timeout", type=seconds, metavar="S", help="idle timeout in seconds (default: 120)")
    parser.add_argument(
        "--unlisted",
        action="store_true",
        help="call the tool without looking it up; values are sent as strings",
    )
    add_server_options(parser)


def run(options: argparse.Namespace) -> int:
    assignments = read_assignments(options.assignments)
    members = read_object(options.json) if options.json is not None else {}

    found = server_for(options.tool, options)
    is_configured = bool(found or options.server)
    options.server = options.server or found

    async def work(engine: Engine, server: str) -> int:
        tool = None
        name = options.tool.removeprefix(qualified_prefix(server)) if found else options.tool
        if not options.unlisted:
            tools = (await engine.list_tools(server)).items
            tool = find_tool(tools, options.tool, server if is_configured else "")
            name = tool.name
        arguments = arguments_for(tool, assignments, members)
        progress = ProgressLine()
        try:
            call = ToolCall(name, arguments, options.timeout)
            outcome = await engine.tool_caller.call(server, call, on_progress=progress.show)
        finally:
            progress.clear()
        result = _result_of(outcome)
        if options.format == "json" or lacks_content(result):
            output.write_json(write(result))
        else:
            output.write_text(result_text(result))
        return _report(name, outcome, result, await _check(engine, tool, outcome))

    return run_on_server(options, work)


def find_tool(tools: Sequence[Tool], name: str, server: str = "") -> Tool:
    """Return the tool of this name, which may be qualified. Raises ConfigError with similar names.

    Without a configured `server`, any server's name is accepted in a qualified name.
    """
    by_name: dict[str, Tool] = {}
    for tool in tools:
        by_name.setdefault(tool.name, tool)
    if name in by_name:
        return by_name[name]
    found = tools_of_any_server(name, by_name)
    if server:
        found = [tool for _, tool in matching_tools(name, ((server, tool) for tool in by_name))]
    if len(found) > 1:
        raise ConfigError(
            f"Several tools have the qualified name {name!r}: {', '.join(map(repr, found))}.",
            "Use the tool's own name.",
        )
    if found:
        return by_name[found[0]]
    bare = name.removeprefix(qualified_prefix(server)) if server else name
    close = difflib.get_close_matches(bare, [tool.name for tool in tools], n=3)
    meant = f"Did you mean {' or '.join(close)}?" if close else f"It has {plural(len(tools), 'tool')}."
    raise ConfigError(
        f"The server lists no tool {name!r}. {meant}",
        "Run `mcp-lens list tools` to see them, or use --unlisted to call it anyway.",
    )


def _result_of(outcome: CallOutcome) -> JSONObject:
    """Return the result of a call. Raises LensError if there is none."""
    if outcome.kind in (OutcomeKind.FAILED, OutcomeKind.CANCELLED):
        raise UserError(outcome.summary, outcome.next_step)
    return read_result(outcome.response)


async def _check(engine: Engine, tool: Tool | None, outcome: CallOutcome) -> OutputCheck:
    schema = tool.source.get("outputSchema") if tool is not None else None
    if schema is None:
        return OutputCheck(OutputState.NOT_DECLARED)
    return await engine.tool_caller.check_output(outcome.response, schema)


def lacks_content(result: JSONObject) -> bool:
    """Return whether nothing of a result can be shown as text: it has other members, or none."""
    if "structuredContent" in result or result.get("content"):
        return False
    return "content" not in result or bool(other_members(result))


def _report(tool: str, outcome: CallOutcome, result: JSONObject, check: OutputCheck) -> int:
    """Report on stderr what is wrong with a result, and return the exit code."""
    is_invalid = check.state in (OutputState.DIFFERS, OutputState.MISSING)
    if lacks_content(result):
        is_invalid |= "content" not in result
        output.print_error(f"{no_content_text(other_members(result))}.")
    if text := check_text(check):
        output.print_error(text)
    if outcome.kind is OutcomeKind.TOOL_ERROR:
        output.print_error(f"The tool {tool!r} reported an error.")
        return ExitCode.TOOL_ERROR
    return ExitCode.INVALID_RESULT if is_invalid else ExitCode.RESULT


def read_result(response: bytes) -> JSONObject:
    """Parse the result, with numbers spelled as sent. Raises RpcError, RemoteProtocolError."""
    try:
        body = exact_decoder().decode(response.decode(errors="replace"))
    except (json.JSONDecodeError, RecursionError) as exc:
        reason = "it is nested too deeply" if isinstance(exc, RecursionError) else str(exc)
        raise RemoteProtocolError(f"could not parse the response: {reason}") from exc
    if isinstance(body, dict) and "error" in body:
        error = error_of(read_message(response))
        raise RpcError(error.code, error.message, error.data)
    result = body.get("result") if isinstance(body, dict) else None
    if not isinstance(result, dict):
        raise RemoteProtocolError(f"the result is {kind_of(result)} instead of an object")
    return result


def result_text(result: JSONObject) -> str:
    """Return everything readable in a result, each part on its own lines."""
    return "".join(part if part.endswith("\n") else f"{part}\n" for part in _parts(result))


def _parts(result: JSONObject) -> Iterator[str]:
    content = result.get("content", [])
    if not isinstance(content, list):
        yield f"[content that is {kind_of(content)} instead of an array]"
        yield write(content)
    elif "structuredContent" not in result:
        yield from map(_block, content)
    else:
        structured = result["structuredContent"]
        yield from (_block(item) for item in content if not _repeats(item, structured))
        yield write(structured)


def _repeats(item: JSON, structured: JSON) -> bool:
    # 2025-11-25, Tools, Structured Content: a tool that returns it "SHOULD also return the serialized JSON
    # in a TextContent block". Print it only once.
    text = item.get("text") if isinstance(item, dict) else None
    if not isinstance(text, str):
        return False
    try:
        return same(read(text), structured)
    except JSONTextError:
        return False


def _block(item: JSON) -> str:
    block = item if isinstance(item, dict) else {}
    kind, text, resource = block.get("type"), block.get("text"), block.get("resource")
    if kind == "text" and isinstance(text, str):
        return text
    if kind == "image" or kind == "audio":
        return _label(kind, block.get("mimeType"), _size(block.get("data")))
    if kind == "resource_link":
        name = block.get("title") or block.get("name")
        return _label("resource link", block.get("uri"), name, block.get("mimeType"))
    if kind == "resource" and isinstance(resource, dict):
        return _resource(resource)
    return write(item)


def _resource(resource: JSONObject) -> str:
    uri, mime_type, text = resource.get("uri"), resource.get("mimeType"), resource.get("text")
    if isinstance(text, str):
        return f"{_label('resource', uri, mime_type)}\n{text}"
    return _label("resource", uri, mime_type, _size(resource.get("blob")))


def _label(kind: str, *parts: JSON) -> str:
    """Return a label such as "[image image/png, 1.2 KiB]"."""
    return f"[{kind} {', '.join(part for part in parts if isinstance(part, str) and part)}]"


def _size(data: JSON) -> str:
    if not isinstance(data, str):
        return "no data"
    try:
        return size(len(base64.b64decode(data, validate=True)))
    except (binascii.Error, ValueError):
        return "invalid base64 data"


class ProgressLine:
    """Progress display on stderr; prints nothing if stderr is not a terminal."""

    def __init__(self) -> None:
        self._is_enabled = output.is_terminal(sys.stderr)
        self._is_shown = False
        self._next_update = 0.0

    def show(self, event: ProgressReceived) -> None:
        now = time.monotonic()
        if self._is_enabled and now >= self._next_update:
            self._next_update = now + _UPDATE_INTERVAL
            self._is_shown = True
            width = shutil.get_terminal_size().columns
            output.write_stderr(_ERASE_LINE + shorten(progress_text(event), width - 1))

    def clear(self) -> None:
        if self._is_shown:
            output.write_stderr(_ERASE_LINE)


def progress_text(event: ProgressReceived) -> str:
    """Format progress: 3 of 10 (30 %) Step three."""
    done = f"{event.progress:g}"
    if event.total:
        done += f" of {event.total:g} ({event.progress / event.total:.0%})"
    return f"{done} {one_line(event.message)}".rstrip()

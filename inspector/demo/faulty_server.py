"""The `faulty` demo server: a small stdio server with a table of protocol faults.

Well-behaved until a fault is selected. A startup fault occurs before any call and is chosen with `--fault
NAME`. A call fault is a tool of the same name; with `--fault NAME` every tool shows it. Uses only the
standard library: the SDK would prevent these faults, and bytes written here cannot be repaired by another
library on the way.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

_VERSIONS = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")

_INSTRUCTIONS = "Every tool except echo violates the protocol when called; its description says how."

_STDOUT = 1
_PARSE_ERROR, _METHOD_NOT_FOUND, _INVALID_PARAMS = -32700, -32601, -32602


def serve(fault_name: str | None) -> int:
    """Serve until stdin ends; return the exit code. A fault given here is shown in every call."""
    if fault_name == "exit_at_start":
        print("Error: DEMO_TOKEN is not set.\nSet it and start again.", file=sys.stderr)
        return 3
    output = Output()
    server = _Server(output, FAULTS[fault_name] if fault_name is not None else None)
    try:
        if fault_name == "banner":
            output.write("*** Faulty server ***\nListening on stdin…\n\n".encode())
        for line in sys.stdin.buffer:
            server.receive(line)
    except (BrokenPipeError, KeyboardInterrupt):
        pass  # The client has gone, or the user pressed Ctrl+C.
    return 0


class _Server:
    """Answers one line at a time; `fault` is the one chosen on the command line."""

    def __init__(self, output: Output, fault: Fault | None) -> None:
        self._output = output
        self._fault = fault

    def receive(self, line: bytes) -> None:
        try:
            message = json.loads(line)
        except (ValueError, RecursionError):
            self._fail(None, _PARSE_ERROR, "Parse error")
            return
        # Responses and notifications need no response, and this server sends no requests.
        if isinstance(message, dict) and "method" in message and "id" in message:
            self._respond(message["id"], message["method"], message.get("params") or {})

    def _respond(self, request_id: object, method: object, params: dict[str, Any]) -> None:
        match method:
            case "initialize":
                if self._fault is None or self._fault.name != "silent_initialize":
                    self._output.respond(request_id, _initialize(params))
            case "ping" | "logging/setLevel":
                self._output.respond(request_id, {})
            case "tools/list":
                self._output.respond(request_id, {"tools": _tools()})
            case "tools/call":
                self._call(request_id, params)
            case _:
                self._fail(request_id, _METHOD_NOT_FOUND, f"Method not found: {method}")

    def _call(self, request_id: object, params: dict[str, Any]) -> None:
        name = params.get("name")
        arguments = params.get("arguments") or {}
        fault = self._fault if self._fault is not None and self._fault.is_tool else FAULTS.get(str(name))
        if fault is not None and fault.respond is not None:
            token = (params.get("_meta") or {}).get("progressToken")
            fault.respond(self._output, Call(request_id, fault.fill_defaults(arguments), token))
        elif name == "echo":
            self._output.respond(request_id, text_result(str(arguments.get("message", ""))))
        else:
            self._fail(request_id, _INVALID_PARAMS, f"Unknown tool: {name}")

    def _fail(self, request_id: object, code: int, message: str) -> None:
        self._output.send({"id": request_id, "error": {"code": code, "message": message}})


def _initialize(params: dict[str, Any]) -> dict[str, Any]:
    requested = params.get("protocolVersion")
    return {
        "protocolVersion": requested if requested in _VERSIONS else _VERSIONS[-1],
        "capabilities": {"tools": {}, "logging": {}},
        "serverInfo": {"name": "faulty", "title": "Faulty", "version": "1"},
        "instructions": _INSTRUCTIONS,
    }


def _tools() -> list[dict[str, Any]]:
    echo = {
        "name": "echo",
        "description": "Returns the message. The only tool that follows the protocol.",
        "inputSchema": {"type": "object", "properties": {"message": {"type": "string"}}},
    }
    return [echo, *(_definition(fault) for fault in FAULTS.values() if fault.is_tool)]


def _definition(fault: Fault) -> dict[str, Any]:
    return {
        "name": fault.name,
        "description": fault.description,
        "inputSchema": {"type": "object", "properties": dict(fault.properties)},
    }


class Output:
    """Raw stdout. After `close` the server keeps running, and its output is discarded."""

    def __init__(self) -> None:
        self._open = True

    def write(self, data: bytes) -> None:
        """Write bytes immediately. Unbuffered, so that a partial line is really sent as one."""
        view = memoryview(data)
        while self._open and view:
            view = view[os.write(_STDOUT, view) :]

    def send(self, message: Mapping[str, Any]) -> None:
        line = json.dumps({"jsonrpc": "2.0", **message}, separators=(",", ":"), ensure_ascii=False)
        self.write(line.encode() + b"\n")

    def respond(self, request_id: object, result: Mapping[str, Any]) -> None:
        self.send({"id": request_id, "result": result})

    def close(self) -> None:
        self._open = False
        os.close(_STDOUT)


def text_result(text: str) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": text}]}


@dataclass(frozen=True)
class Call:
    """A `tools/call` that is to be answered incorrectly."""

    id: object
    arguments: Mapping[str, Any]
    progress_token: str | int | None = None


@dataclass(frozen=True)
class Fault:
    """A way to violate the protocol.

    `respond` is None for a startup fault, which `serve` and `_Server` carry out.
    """

    name: str
    description: str
    respond: Callable[[Output, Call], None] | None = None
    properties: Mapping[str, Any] = field(default_factory=dict)

    @property
    def is_tool(self) -> bool:
        return self.respond is not None

    def fill_defaults(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Return the arguments of this fault (all numbers), with defaults for missing ones."""
        defaults = {name: schema["default"] for name, schema in self.properties.items()}
        numbers = {name: arguments[name] for name in defaults if isinstance(arguments.get(name), int | float)}
        return {**defaults, **{name: type(defaults[name])(value) for name, value in numbers.items()}}


def _stray_stdout(output: Output, call: Call) -> None:
    output.write(b"DEBUG: leftover print()\n\n")
    output.respond(call.id, text_result("Stray text came before this response, and more follows it."))
    output.write(b"{'almost': 'JSON'}\n")


def _wrong_id(output: Output, call: Call) -> None:
    output.respond(f"not-{call.id}", text_result("This response has an id that no request used."))


def _wrong_id_type(output: Output, call: Call) -> None:
    output.respond(str(call.id), text_result("The id was sent as a number and returned as a string."))


def _duplicate_response(output: Output, call: Call) -> None:
    output.respond(call.id, text_result("First response."))
    output.respond(call.id, text_result("Second response, with the same id."))


def _unmatched_response(output: Output, call: Call) -> None:
    output.respond(987654, text_result("No request asked for this."))
    output.respond(call.id, text_result("The previous response matched no request."))


def _invalid_result(output: Output, call: Call) -> None:
    output.respond(call.id, {"content": "not a list", "isError": "perhaps"})


def _half_line(output: Output, call: Call) -> None:
    line = (
        b'{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"in pieces"}}\n'
    )
    size = max(1, len(line) // max(1, call.arguments["pieces"]))
    for start in range(0, len(line), size):
        output.write(line[start : start + size])
        time.sleep(call.arguments["delay"])
    output.respond(call.id, text_result("The previous notification was sent in pieces."))


def _invalid_utf8(output: Output, call: Call) -> None:
    output.send({"method": "notifications/message", "params": {"level": "info", "data": "still fine"}})
    output.write(
        b'{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"\xff\xfe\xc3("}}\n'
    )
    output.respond(call.id, text_result("The previous notification was not valid UTF-8."))


def _deep_json(output: Output, call: Call) -> None:
    depth = call.arguments["depth"]
    head = b'{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":'
    output.write(head + b'{"a":' * depth + b"1" + b"}" * depth + b"}}\n")
    output.respond(call.id, text_result(f"The previous notification was {depth} objects deep."))


def _huge_line(output: Output, call: Call) -> None:
    output.write(b'{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"')
    for _ in range(call.arguments["megabytes"]):
        output.write(b"x" * 1024 * 1024)
    output.write(b'"}}\n')
    output.respond(call.id, text_result("The previous notification was one huge line."))


def _no_answer(output: Output, call: Call) -> None:
    print("This call will never get a response.", file=sys.stderr, flush=True)


def _closes_stdout(output: Output, call: Call) -> None:
    print("Closing stdout; the process keeps running.", file=sys.stderr, flush=True)
    output.close()


def _exits_mid_call(output: Output, call: Call) -> None:
    if call.progress_token is not None:
        params = {"progressToken": call.progress_token, "progress": 1, "total": 3, "message": "Still running"}
        output.send({"method": "notifications/progress", "params": params})
    print(
        "Fatal: lost the database connection.\nExiting in the middle of a call.", file=sys.stderr, flush=True
    )
    raise SystemExit(call.arguments["code"])


def _number(default: float, description: str) -> dict[str, Any]:
    kind = "integer" if isinstance(default, int) else "number"
    return {"type": kind, "default": default, "minimum": 0, "description": description}


FAULTS: dict[str, Fault] = {
    fault.name: fault
    for fault in (
        Fault("banner", "Prints a banner to stdout before the first message."),
        Fault("exit_at_start", "Writes a reason to stderr and exits with code 3 before reading anything."),
        Fault("silent_initialize", "Never responds to initialize."),
        Fault("stray_stdout", "Prints stray text to stdout before and after its response.", _stray_stdout),
        Fault("wrong_id", "Responds with an id that was never used.", _wrong_id),
        Fault("wrong_id_type", "Responds with the id as a string.", _wrong_id_type),
        Fault("duplicate_response", "Responds to the same request twice.", _duplicate_response),
        Fault(
            "unmatched_response",
            "Sends a response that matches no request, then the real response.",
            _unmatched_response,
        ),
        Fault("invalid_result", "Returns a result whose content is not an array.", _invalid_result),
        Fault(
            "half_line",
            "Sends a notification in pieces with pauses in between, then the response.",
            _half_line,
            {
                "pieces": _number(4, "Number of pieces."),
                "delay": _number(0.2, "Pause after each piece in seconds."),
            },
        ),
        Fault(
            "invalid_utf8", "Sends a notification that is not valid UTF-8, then the response.", _invalid_utf8
        ),
        Fault(
            "deep_json",
            "Sends a very deeply nested notification, then the response.",
            _deep_json,
            {"depth": _number(10_000, "Nesting depth.")},
        ),
        Fault(
            "huge_line",
            "Sends a notification in one huge line, then the response.",
            _huge_line,
            {"megabytes": _number(100, "Size of the line in mebibytes.")},
        ),
        Fault("no_answer", "Never responds to the call, even when it is cancelled.", _no_answer),
        Fault("closes_stdout", "Closes stdout instead of responding, but keeps running.", _closes_stdout),
        Fault(
            "exits_mid_call",
            "Exits in the middle of the call, after a progress notification and two lines on stderr.",
            _exits_mid_call,
            {"code": _number(9, "The exit code.")},
        ),
    )
}

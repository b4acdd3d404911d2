"""A small stdio server written by hand, well-behaved until one of its faults is called for.

On the standard library alone, for two reasons: the SDK does not let these faults out, and what is written
here byte by byte cannot be mended by somebody else's code on the way.
"""

from __future__ import annotations

import json
import sys
from typing import Any

from inspector.demo.faulty.faults import FAULTS, Call, Fault
from inspector.demo.faulty.output import Output, text_result

_VERSIONS = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")

_INSTRUCTIONS = (
    "Every tool but echo breaks a rule of the protocol when it is called; its description says which."
)

_PARSE_ERROR, _METHOD_NOT_FOUND, _INVALID_PARAMS = -32700, -32601, -32602


def serve(fault_name: str | None) -> int:
    """Serve until stdin ends; return the exit code. With a fault, show it without being asked."""
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
            self._answer(message["id"], message["method"], message.get("params") or {})

    def _answer(self, request_id: object, method: object, params: dict[str, Any]) -> None:
        match method:
            case "initialize":
                if self._fault is None or self._fault.name != "silent_initialize":
                    self._output.answer(request_id, _initialize(params))
            case "ping" | "logging/setLevel":
                self._output.answer(request_id, {})
            case "tools/list":
                self._output.answer(request_id, {"tools": _tools()})
            case "tools/call":
                self._call(request_id, params)
            case _:
                self._fail(request_id, _METHOD_NOT_FOUND, f"Method not found: {method}")

    def _call(self, request_id: object, params: dict[str, Any]) -> None:
        name = params.get("name")
        arguments = params.get("arguments") or {}
        fault = self._fault if self._fault is not None and self._fault.is_tool else FAULTS.get(str(name))
        if fault is not None and fault.answer is not None:
            token = (params.get("_meta") or {}).get("progressToken")
            fault.answer(self._output, Call(request_id, fault.fill_defaults(arguments), token))
        elif name == "echo":
            self._output.answer(request_id, text_result(str(arguments.get("message", ""))))
        else:
            self._fail(request_id, _INVALID_PARAMS, f"Unknown tool: {name}")

    def _fail(self, request_id: object, code: int, message: str) -> None:
        self._output.send({"id": request_id, "error": {"code": code, "message": message}})


def _initialize(params: dict[str, Any]) -> dict[str, Any]:
    asked = params.get("protocolVersion")
    return {
        "protocolVersion": asked if asked in _VERSIONS else _VERSIONS[-1],
        "capabilities": {"tools": {}, "logging": {}},
        "serverInfo": {"name": "faulty", "title": "Faulty", "version": "1"},
        "instructions": _INSTRUCTIONS,
    }


def _tools() -> list[dict[str, Any]]:
    echo = {
        "name": "echo",
        "description": "Returns the message: the one tool that keeps the rules.",
        "inputSchema": {"type": "object", "properties": {"message": {"type": "string"}}},
    }
    return [echo, *(_definition(fault) for fault in FAULTS.values() if fault.is_tool)]


def _definition(fault: Fault) -> dict[str, Any]:
    return {
        "name": fault.name,
        "description": fault.description,
        "inputSchema": {"type": "object", "properties": dict(fault.properties)},
    }

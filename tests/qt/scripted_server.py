"""A well-behaved stdio server that follows a script. Standard library only: it starts in 20 ms (-I -S).

    scripted_server.py [SCRIPT]

SCRIPT is a JSON object; every member is optional: `tools` (the list), `page` (tools in a page), `info`,
`capabilities`, `instructions` (what `initialize` answers), `instructions_length` (repeat them up to so many
characters), `stderr` (lines written at the start), `stray` (lines written to stdout instead of messages),
`many` (so many tools, each with a schema, in place of the list) and `depth` (replace the string "DEEP" in the
list by objects nested so deep). What a call does is a function below of the same name as the tool; every
other tool answers with the arguments that it got.
"""

from __future__ import annotations

import json
import os
import sys
from typing import Any

Params = dict[str, Any]


def _tool(name: str, **properties: Params) -> Params:
    return {"name": name, "inputSchema": {"type": "object", "properties": properties}}


ECHO = {
    "name": "echo",
    "title": "Say it again",
    "description": "Answers with the arguments it got.",
    "inputSchema": {
        "type": "object",
        "properties": {"text": {"type": "string"}, "count": {"type": "integer", "maximum": 9}},
        "required": ["text"],
    },
}
TOOLS: list[Params] = [
    ECHO,
    *(_tool(name) for name in ("fails", "refuses", "waits", "steps", "dies", "grows", "shrinks", "big")),
]


def _one_of_many(number: int) -> Params:
    properties = {"path": {"type": "string", "description": "Where."}, "depth": {"type": "integer"}}
    schema = {"type": "object", "properties": properties, "required": ["path"]}
    return {"name": f"tool_{number:05}", "description": "Words about it. " * 15, "inputSchema": schema}


def write(data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(1, view) :]


def send(**members: Any) -> None:
    write(json.dumps({"jsonrpc": "2.0", **members}).encode() + b"\n")


def response(id: object, text: str, **more: Any) -> None:
    send(id=id, result={"content": [{"type": "text", "text": text}], **more})


class Server:
    """One conversation."""

    def __init__(self, script: Params) -> None:
        self.script = script
        self.requested: dict[str, object] = {}  # the calls that wait, by the id of their question
        self.tools: list[Params] = script.get("tools", TOOLS)
        if "many" in script:
            self.tools = [_one_of_many(number) for number in range(script["many"])]

    def serve(self) -> None:
        os.write(2, "".join(f"{line}\n" for line in self.script.get("stderr", [])).encode())
        write("".join(f"{line}\n" for line in self.script.get("stray", [])).encode())
        for line in sys.stdin.buffer:
            message = json.loads(line)
            method, params = message.get("method"), message.get("params", {})
            if method == "initialize":
                send(id=message["id"], result=self.initialize(params))
            elif method == "tools/list":
                self.send_page(message["id"], params.get("cursor"))
            elif method == "tools/call":
                self.call(message["id"], params["name"], params.get("arguments", {}))
            elif message.get("id") in self.requested:
                response(self.requested.pop(message["id"]), json.dumps(message.get("result")))
            elif "id" in message and "method" in message:
                send(id=message["id"], error={"code": -32601, "message": f"Method not found: {method}"})

    def initialize(self, params: Params) -> Params:
        result: Params = {
            "protocolVersion": params["protocolVersion"],
            "capabilities": self.script.get("capabilities", {"tools": {"listChanged": True}}),
            "serverInfo": self.script.get("info", {"name": "scripted", "version": "1.2.3"}),
        }
        if "instructions" in self.script:
            text = self.script["instructions"]
            length = self.script.get("instructions_length", len(text))
            result["instructions"] = (text * (length // len(text) + 1))[:length] if text else ""
        return result

    def send_page(self, id: object, cursor: str | None) -> None:
        line = json.dumps({"jsonrpc": "2.0", "id": id, "result": self.page(cursor)})
        depth = self.script.get("depth", 0)  # not as a value: the encoder would refuse it
        write(line.replace('"DEEP"', '{"a":' * depth + "1" + "}" * depth).encode() + b"\n")

    def page(self, cursor: str | None) -> Params:
        start = int(cursor or 0)
        end = start + int(self.script.get("page", len(self.tools) or 1))
        more = {"nextCursor": self.script.get("cursor", str(end))} if end < len(self.tools) else {}
        return {"tools": self.tools[start:end], **more}

    def call(self, id: object, name: str, arguments: Params) -> None:
        act = getattr(self, f"_{name}", None)
        if act is None:
            response(id, json.dumps(arguments, ensure_ascii=False))
        else:
            act(id, arguments)

    def _fails(self, id: object, arguments: Params) -> None:
        response(id, "The disk is full.", isError=True)

    def _refuses(self, id: object, arguments: Params) -> None:
        send(id=id, error={"code": -32602, "message": "No such thing"})

    def _waits(self, id: object, arguments: Params) -> None:
        """Never answer."""

    def _steps(self, id: object, arguments: Params) -> None:
        """Get half-way, and stay there."""
        params = {"progressToken": id, "progress": 2, "total": 4, "message": "half-way"}
        send(method="notifications/progress", params=params)

    def _dies(self, id: object, arguments: Params) -> None:
        os.write(2, b"Fatal: lost the database.\n")
        os._exit(9)

    def _grows(self, id: object, arguments: Params) -> None:
        """One more tool, at the front of the list."""
        self.tools = [_tool(f"new_{len(self.tools)}"), *self.tools]
        send(method="notifications/tools/list_changed")
        response(id, "grown")

    def _alters(self, id: object, arguments: Params) -> None:
        """Another description for the last tool."""
        self.tools = [*self.tools[:-1], {**self.tools[-1], "description": "Another."}]
        send(method="notifications/tools/list_changed")
        response(id, "altered")

    def _drops(self, id: object, arguments: Params) -> None:
        """Without the last tool."""
        self.tools = self.tools[:-1]
        send(method="notifications/tools/list_changed")
        response(id, "dropped")

    def _shrinks(self, id: object, arguments: Params) -> None:
        """No tools any more."""
        self.tools = []
        send(method="notifications/tools/list_changed")
        response(id, "shrunk")

    def _returns(self, id: object, arguments: Params) -> None:
        """Return the result given in the arguments."""
        send(id=id, result=arguments["result"])

    def _counts(self, id: object, arguments: Params) -> None:
        """Return a counter."""
        self.counted = getattr(self, "counted", 0) + 1
        response(id, f"Number {self.counted}")

    def _asks(self, id: object, arguments: Params) -> None:
        """Send a form elicitation and return the action of the reply."""
        schema = {"type": "object", "properties": {"name": {"type": "string"}}}
        input_request = f"question {id}"
        self.requested[input_request] = id
        params = {"message": arguments.get("message", "Who are you?"), "requestedSchema": schema}
        send(id=input_request, method="elicitation/create", params=params)

    def _takes_back(self, id: object, arguments: Params) -> None:
        """Cancel every pending request of this server."""
        for input_request in self.requested:
            send(method="notifications/cancelled", params={"requestId": input_request, "reason": "Too late."})
        self.requested.clear()
        response(id, "cancelled")

    def _asks_nonsense(self, id: object, arguments: Params) -> None:
        """A question that cannot be answered, then an answer to the call."""
        send(id="nonsense", method="elicitation/create", params={"message": 7})
        response(id, "asked")

    def _storms(self, id: object, arguments: Params) -> None:
        """Report progress and a changed list, thousands of times."""
        for number in range(arguments["count"]):
            params = {"progressToken": id, "progress": number + 1, "total": arguments["count"]}
            send(method="notifications/progress", params=params)
            send(method="notifications/tools/list_changed")
        response(id, "calm")

    def _big(self, id: object, arguments: Params) -> None:
        response(id, "x" * 5_000_000)


if __name__ == "__main__":
    Server(json.loads(sys.argv[1]) if len(sys.argv) > 1 else {}).serve()

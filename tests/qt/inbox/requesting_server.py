"""Stdio server that sends the requests named in the arguments of a call, stateless or not.

It uses the standard library only, so it starts in 20 ms (-I -S). Arguments of the tool `ask`: `ask` is a list
of {method, params}, sent as server requests at once; `rounds` is a list of {key: {method, params}}, sent one
after the other in input-required results (2026-07-28). The result of the call has the replies as JSON.
`required` is a list of URL elicitations without which the call fails (-32042); `result` is the result itself.
Other tools: `withdraw`
cancels the pending requests, `complete` reports completed elicitations (`ids`), `exits` ends the process.
"""

from __future__ import annotations

import json
import os
import sys
from typing import Any

Params = dict[str, Any]

STATELESS = "2026-07-28"
TOOLS = ("ask", "withdraw", "complete", "exits")


def send(**members: Any) -> None:
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **members}) + "\n")
    sys.stdout.flush()


def text(value: object) -> Params:
    return {"content": [{"type": "text", "text": json.dumps(value)}]}


class Server:
    """One connection. `pending` maps the ID of each server request to its call."""

    def __init__(self) -> None:
        self.count = 0
        self.pending: dict[str, object] = {}
        self.calls: dict[object, dict[str, Any]] = {}
        self.visited: set[str] = set()

    def serve(self) -> None:
        for line in sys.stdin:
            message = json.loads(line)
            if "method" not in message:
                self.receive_reply(message)
            elif "id" in message:
                self.receive_request(message["id"], message["method"], message.get("params", {}))

    def receive_request(self, id: object, method: str, params: Params) -> None:
        info = {"name": "asking", "version": "1"}
        if method == "initialize":
            negotiated = {"protocolVersion": params["protocolVersion"], "capabilities": {"tools": {}}}
            send(id=id, result={**negotiated, "serverInfo": info})
        elif method == "server/discover":
            discovered = {"supportedVersions": [STATELESS], "capabilities": {"tools": {}}, "serverInfo": info}
            send(id=id, result={"resultType": "complete", **discovered})
        elif method == "tools/list":
            tools = [{"name": name, "inputSchema": {"type": "object"}} for name in TOOLS]
            send(id=id, result={"resultType": "complete", "tools": tools})
        elif method == "tools/call":
            getattr(self, f"_{params['name']}")(id, params)
        else:
            send(id=id, error={"code": -32601, "message": f"Method not found: {method}"})

    def receive_reply(self, message: Params) -> None:
        key = message["id"]
        call = self.pending.pop(key)
        replies = self.calls[call]
        replies[key] = message.get("result", message.get("error"))
        if not any(each == call for each in self.pending.values()):
            send(id=call, result=text(list(replies.values())))

    def _ask(self, id: object, params: Params) -> None:
        arguments = params.get("arguments", {})
        if "result" in arguments:
            send(id=id, result=arguments["result"])
        elif "required" in arguments:
            self._require(id, arguments["required"])
        elif "rounds" in arguments:
            self._ask_in_result(id, params, arguments["rounds"])
        else:
            self.calls[id] = {}
            for input_request in arguments["ask"]:
                self.count += 1
                key = f"q{self.count}"
                self.pending[key] = id
                self.calls[id][key] = None
                send(id=key, **input_request)

    def _ask_in_result(self, id: object, params: Params, rounds: list[Params]) -> None:
        state = json.loads(params.get("requestState", "[]"))
        if "inputResponses" in params:
            state.append(params["inputResponses"])
        if len(state) < len(rounds):
            input_required = {"inputRequests": rounds[len(state)], "requestState": json.dumps(state)}
            send(id=id, result={"resultType": "input_required", **input_required})
        else:
            send(id=id, result={"resultType": "complete", **text(state)})

    def _require(self, id: object, pages: list[Params]) -> None:
        missing = [page for page in pages if page["elicitationId"] not in self.visited]
        if missing:
            self.visited |= {page["elicitationId"] for page in missing}
            data = {"elicitations": missing}
            send(id=id, error={"code": -32042, "message": "Visit a page first", "data": data})
        else:
            send(id=id, result=text("visited"))

    def _withdraw(self, id: object, params: Params) -> None:
        for key in list(self.pending):
            params = {"requestId": key, "reason": "Another client replied"}
            send(method="notifications/cancelled", params=params)
            del self.pending[key]
        send(id=id, result=text("withdrawn"))

    def _complete(self, id: object, params: Params) -> None:
        for each in params["arguments"]["ids"]:
            send(method="notifications/elicitation/complete", params={"elicitationId": each})
        send(id=id, result=text("completed"))

    def _exits(self, id: object, params: Params) -> None:
        os._exit(3)


if __name__ == "__main__":
    Server().serve()

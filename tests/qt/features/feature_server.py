"""Scripted stdio server with resources and prompts. Standard library only (-I -S).

    offering_server.py [SCRIPT]

SCRIPT is a JSON object; every member is optional: `resources`, `templates`, `prompts` (the lists; without
`templates` that method is unknown), `contents` (by URI, what reading it gives), `messages` (by prompt),
`completions` (by argument) and `capabilities`. Reading these URIs does something else:

    do://grow    one more resource, and a notification     do://edit   another title for the first, likewise
    do://shrink  no resources any more, likewise           do://wait   no answer, ever
    do://touch   counter://it counts on, and the change is notified
    do://prompts/grow, do://prompts/edit, do://prompts/shrink, do://templates/grow and so on: the same there
    do://refuse  from now on no list is given
"""

from __future__ import annotations

import json
import os
import sys
from typing import Any

Params = dict[str, Any]
CAPABILITIES = {
    "resources": {"subscribe": True, "listChanged": True},
    "prompts": {"listChanged": True},
    "completions": {},
}


class Refused(Exception):
    """The request is answered with an error."""


def send(**members: Any) -> None:
    view = memoryview(json.dumps({"jsonrpc": "2.0", **members}).encode() + b"\n")
    while view:
        view = view[os.write(1, view) :]


class Server:
    """One connection."""

    def __init__(self, script: Params) -> None:
        self.script = script
        self.lists: dict[str, list[Any]] = {
            what: script.get(what, []) for what in ("resources", "templates", "prompts")
        }
        self.refuses = "refuses" in script
        self.count = 0

    def serve(self) -> None:
        for line in sys.stdin.buffer:
            message = json.loads(line)
            act = getattr(self, "_" + message.get("method", "").replace("/", "_"), None)
            if "id" not in message or "method" not in message:
                continue
            try:
                if act is None:
                    raise Refused(-32601, "Method not found")
                result = act(message.get("params", {}))
            except Refused as exc:
                send(id=message["id"], error={"code": exc.args[0], "message": exc.args[1]})
            else:
                if result is not None:
                    send(id=message["id"], result=result)

    def _initialize(self, params: Params) -> Params:
        return {
            "protocolVersion": params["protocolVersion"],
            "capabilities": self.script.get("capabilities", CAPABILITIES),
            "serverInfo": {"name": "features", "version": "1"},
        }

    def _resources_list(self, params: Params) -> Params:
        resources = self._list("resources")
        start = int(params.get("cursor", 0))
        end = start + int(self.script.get("page", 5_000))
        more = {"nextCursor": self.script.get("cursor", str(end))} if end < len(resources) else {}
        return {"resources": resources[start:end], **more}

    def _list(self, what: str) -> list[Any]:
        if self.refuses and (what == "resources" or "refuses" not in self.script):
            raise Refused(-32603, "The disk is full")
        return self.lists[what]

    def _resources_templates_list(self, params: Params) -> Params:
        if "templates" not in self.script:
            raise Refused(-32601, "Method not found")
        return {"resourceTemplates": self._list("templates")}

    def _resources_read(self, params: Params) -> Params | None:
        uri = params["uri"]
        if uri.startswith("do://"):
            return self._do(uri.removeprefix("do://"))
        if uri == "counter://it":
            return _text(uri, f"count\n{self.count}\nend")
        if uri not in self.script.get("contents", {}):
            raise Refused(-32002, "Resource not found")
        return {"contents": self.script["contents"][uri]}

    def _do(self, what: str) -> Params | None:
        if what == "wait":
            return None
        if what == "touch":
            self.count += 1
            send(method="notifications/resources/updated", params={"uri": "counter://it"})
        elif what == "refuse":
            self.refuses = True
        else:
            kind, _, change = what.rpartition("/")
            self._change(kind or "resources", change)
        return _text(f"do://{what}", "done")

    def _change(self, kind: str, change: str) -> None:
        listed = self.lists[kind]
        name, member = f"new{len(listed)}", {"resources": "uri", "templates": "uriTemplate"}.get(kind, "")
        new = {"name": name, **({member: f"x://{name}"} if member else {})}
        edited = [{**listed[0], "title": "Edited"}, *listed[1:]] if listed else []
        self.lists[kind] = {"grow": [new, *listed], "edit": edited, "shrink": []}[change]
        text = kind if kind == "prompts" else "resources"
        send(method=f"notifications/{text}/list_changed")

    def _resources_subscribe(self, params: Params) -> Params:
        if params["uri"] == "x://stubborn":
            raise Refused(-32603, "Not subscribable")
        return {}

    def _resources_unsubscribe(self, params: Params) -> Params:
        return {}

    def _prompts_list(self, params: Params) -> Params:
        return {"prompts": self._list("prompts")}

    def _prompts_get(self, params: Params) -> Params | None:
        if params["name"] == "waits":
            return None
        if params["name"] == "refused":
            raise Refused(-32602, "Not today")
        echo = {"type": "text", "text": json.dumps(params.get("arguments"), sort_keys=True)}
        messages = self.script.get("messages", {}).get(params["name"], [{"role": "user", "content": echo}])
        return {"messages": messages}

    def _completion_complete(self, params: Params) -> Params | None:
        name, value = params["argument"]["name"], params["argument"]["value"]
        if value == "slow":
            return None
        values = [each for each in self.script.get("completions", {}).get(name, []) if each.startswith(value)]
        return {"completion": {"values": values}}


def _text(uri: str, text: str) -> Params:
    return {"contents": [{"uri": uri, "mimeType": "text/plain", "text": text}]}


if __name__ == "__main__":
    Server(json.loads(sys.argv[1]) if len(sys.argv) > 1 else {}).serve()

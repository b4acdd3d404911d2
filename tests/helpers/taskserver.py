"""A stdio server with tasks of either design. Standard library only (-I -S).

    taskserver.py core|extension [FILE]

Tasks advance when they are polled, so that no test has to wait. `count` ends after `polls` polls and
reports progress (core only). `ask` elicits a name. `stay` ends only when cancelled. `fail` fails. With
FILE, tasks are stored there and outlive the process.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

TASKS = "io.modelcontextprotocol/tasks"
RELATED = "io.modelcontextprotocol/related-task"
TIME = "2026-11-16T10:00:00Z"
FORM = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}
QUESTION = {"mode": "form", "message": "Who are you?", "requestedSchema": FORM}
ENDED = ("completed", "failed", "cancelled")
Json = dict[str, Any]


def send(**members: Any) -> None:
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **members}) + "\n")
    sys.stdout.flush()


def text(words: str) -> Json:
    return {"content": [{"type": "text", "text": words}]}


class Refused(Exception):
    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code


class Server:
    def __init__(self, design: str, file: Path | None) -> None:
        self.is_core = design == "core"
        self.file = file
        self.tasks: dict[str, Json] = json.loads(file.read_text()) if file and file.exists() else {}
        self.waiting: dict[str, object] = {}  # tasks/result that wait, by task
        self.requested: dict[str, str] = {}  # tasks, by the id of our question

    def serve(self) -> None:
        for line in sys.stdin:
            message = json.loads(line)
            if "method" not in message:
                self.on_answer(message)
            elif "id" in message:
                self.on_request(message["id"], message["method"], message.get("params") or {})
            if self.file:
                self.file.write_text(json.dumps(self.tasks))

    def on_request(self, id: object, method: str, params: Json) -> None:
        handler = getattr(self, "on_" + method.replace("/", "_"), None)
        try:
            if handler is None:
                raise Refused(-32601, f"Method not found: {method}")
            result = handler(id, params)
        except Refused as exc:
            send(id=id, error={"code": exc.code, "message": str(exc)})
            return
        if result is not None:
            send(id=id, result=result if self.is_core else {"resultType": "complete", **result})

    def on_answer(self, message: Json) -> None:
        task = self.tasks[self.requested.pop(message["id"])]
        self.take_answer(task, message.get("result") or {"action": "cancel"})

    def take_answer(self, task: Json, response: Json) -> None:
        name = response.get("content", {}).get("name", "")
        words = f"Hello {name}" if response["action"] == "accept" else f"It was a {response['action']}"
        self.end(task, "completed", result=text(words))

    def on_initialize(self, id: object, params: Json) -> Json:
        if not self.is_core:
            raise Refused(-32601, "Method not found")
        tasks: Json = {"list": {}, "cancel": {}, "requests": {"tools": {"call": {}}}}
        info = {"name": "tasks", "version": "1"}
        capabilities: Json = {"tools": {}, "tasks": tasks}
        return {"protocolVersion": "2025-11-25", "capabilities": capabilities, "serverInfo": info}

    def on_server_discover(self, id: object, params: Json) -> Json:
        if self.is_core:
            raise Refused(-32601, "Method not found")
        capabilities: Json = {"tools": {}, "extensions": {TASKS: {}}}
        return {
            "supportedVersions": ["2026-07-28"],
            "capabilities": capabilities,
            "serverInfo": {"name": "tasks", "version": "1"},
            "ttlMs": 0,
            "cacheScope": "private",
        }

    def on_subscriptions_listen(self, id: object, params: Json) -> None:
        meta = {"io.modelcontextprotocol/subscriptionId": id}
        self.listening = meta
        reported = {"notifications": params["notifications"], "_meta": meta}
        send(method="notifications/subscriptions/acknowledged", params=reported)

    def on_tools_list(self, id: object, params: Json) -> Json:
        tools: list[Json] = []
        for name in ("count", "ask", "stay", "fail"):
            schema: Json = {"type": "object", "properties": {"polls": {"type": "integer"}}}
            tool: Json = {"name": name, "inputSchema": schema}
            tools.append({**tool, "execution": {"taskSupport": "optional"}} if self.is_core else tool)
        return {"tools": tools} if self.is_core else {"tools": tools, "ttlMs": 0, "cacheScope": "private"}

    def on_tools_call(self, id: object, params: Json) -> Json | None:
        arguments, meta = params.get("arguments", {}), params.get("_meta", {})
        id_of_task = f"{params['name']}-{len(self.tasks) + 1:04}-5e2d7c1a"
        task = {
            "id": id_of_task,
            "tool": params["name"],
            "status": "working",
            "message": "Just begun",
            "polls": 0,
            "wanted": arguments.get("polls", 2),
            "token": meta.get("progressToken"),
        }
        self.tasks[id_of_task] = task
        if self.is_core:
            return {"task": self.state(task)}
        send(id=id, result={"resultType": "task", **self.state(task)})
        return None

    def state(self, task: Json) -> Json:
        names = ("ttl", "pollInterval") if self.is_core else ("ttlMs", "pollIntervalMs")
        state = {
            "taskId": task["id"],
            "status": task["status"],
            "statusMessage": task["message"],
            "createdAt": TIME,
            "lastUpdatedAt": TIME,
            names[0]: 600_000,
            names[1]: 100,
        }
        if not self.is_core:
            if task["status"] == "input_required":
                state["inputRequests"] = {"who": {"method": "elicitation/create", "params": QUESTION}}
            state |= {key: task[key] for key in ("result", "error") if key in task}
        return state

    def find(self, params: Json) -> Json:
        task = self.tasks.get(params.get("taskId", ""))
        if task is None:
            raise Refused(-32602, "Unknown task")
        return task

    def end(self, task: Json, status: str, **outcome: Json) -> None:
        task |= {"status": status, "message": "Done", **outcome}
        if task["id"] in self.waiting:
            waiting = self.waiting.pop(task["id"])
            send(id=waiting, **self.outcome(task))

    def outcome(self, task: Json) -> Json:
        if "error" in task:
            return {"error": task["error"]}
        if "result" not in task:
            return {"error": {"code": -32602, "message": "The task was cancelled"}}
        return {"result": {**task["result"], "_meta": {RELATED: {"taskId": task["id"]}}}}

    def on_tasks_get(self, id: object, params: Json) -> Json:
        task = self.find(params)
        if task["status"] == "working":
            self.move(task)
        return self.state(task)

    def move(self, task: Json) -> None:
        task["polls"] += 1
        task["message"] = f"Step {task['polls']}"
        if task["tool"] == "count":
            if self.is_core and task["token"] is not None:
                reported = {
                    "progressToken": task["token"],
                    "progress": task["polls"],
                    "total": task["wanted"],
                }
                send(method="notifications/progress", params={**reported, "message": "counting"})
            if task["polls"] >= task["wanted"]:
                self.end(task, "completed", result=text(f"Counted to {task['polls']}"))
        elif task["tool"] == "ask":
            task |= {"status": "input_required", "message": "I must know who you are"}
        elif task["tool"] == "fail":
            self.end(task, "failed", error={"code": -32000, "message": "the disk is full"})

    def on_tasks_result(self, id: object, params: Json) -> None:
        if not self.is_core:
            raise Refused(-32601, "Method not found")
        task = self.find(params)
        if task["status"] in ENDED:
            send(id=id, **self.outcome(task))
            return
        self.waiting[task["id"]] = id
        if task["status"] == "input_required":
            input_request = f"ask {task['id']}"
            self.requested[input_request] = task["id"]
            related = {"_meta": {RELATED: {"taskId": task["id"]}}}
            send(id=input_request, method="elicitation/create", params={**QUESTION, **related})

    def on_tasks_update(self, id: object, params: Json) -> Json:
        if self.is_core:
            raise Refused(-32601, "Method not found")
        task = self.find(params)
        self.take_answer(task, params["inputResponses"]["who"])
        return {}

    def on_tasks_list(self, id: object, params: Json) -> Json:
        if not self.is_core:
            raise Refused(-32601, "Method not found")
        return {"tasks": [self.state(task) for task in self.tasks.values()]}

    def on_tasks_cancel(self, id: object, params: Json) -> Json:
        task = self.find(params)
        if task["status"] in ENDED:
            raise Refused(-32602, "It has ended")
        self.end(task, "cancelled")
        return self.state(task) if self.is_core else {}


if __name__ == "__main__":
    Server(sys.argv[1], Path(sys.argv[2]) if len(sys.argv) > 2 else None).serve()

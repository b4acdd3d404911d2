"""A minimal client for the demo servers: raw JSON lines over a real child process.

Deliberately neither our client nor the SDK's: what it reads is exactly what the server wrote.
"""

from __future__ import annotations

import json
import subprocess
import tempfile
from collections.abc import Callable, Mapping
from typing import Any, Self

from inspector.demo.servers import command

Message = dict[str, Any]


class DemoProcess:
    """A demo server as a child process. Reads block; the test timeout ends a hang."""

    def __init__(self, name: str, *, fault: str | None = None) -> None:
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115, closed in __exit__
        # Unbuffered, so that `read_chunk` sees the pieces as they were written.
        self._process = subprocess.Popen(
            command(name, fault=fault),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            bufsize=0,
        )
        self._pending = b""
        self._last_id = 0
        self._meta: Message | None = None
        self.responses: dict[str, Callable[[Message], Message]] = {}
        "Replies to server requests, by method: from params to result."
        self.received: list[Message] = []
        "Everything but the responses that `request` returned, oldest first."

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.hang_up()
        self.wait()
        self._stdout.close()
        self._errors.close()

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def _stdout(self) -> Any:
        assert self._process.stdout is not None
        return self._process.stdout

    def send_line(self, line: bytes) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(line + b"\n")

    def send(self, message: Mapping[str, Any]) -> None:
        self.send_line(json.dumps({"jsonrpc": "2.0", **message}).encode())

    def read_chunk(self) -> bytes:
        """Return the result of one read of the pipe; empty at end of file."""
        data: bytes = self._stdout.read(1 << 20)
        return data

    def read_line(self) -> bytes:
        """Return the next line without its newline. Raises EOFError if stdout is closed."""
        chunks = [self._pending]
        while b"\n" not in chunks[-1]:
            chunk = self.read_chunk()
            if not chunk:
                raise EOFError(self.stderr())
            chunks.append(chunk)
        line, _, self._pending = b"".join(chunks).partition(b"\n")
        return line

    def read(self) -> Message:
        message: Message = json.loads(self.read_line())
        return message

    def start(self, method: str, params: Mapping[str, Any] | None = None) -> int:
        """Send a request and return its id without waiting for the response."""
        self._last_id += 1
        params = dict(params or {})
        if self._meta is not None:
            params["_meta"] = self._meta
        self.send({"id": self._last_id, "method": method, "params": params})
        return self._last_id

    def finish(self, request_id: int) -> Message:
        """Read until the response to this request; store other messages, reply to server requests."""
        while True:
            message = self.read()
            if "method" not in message and message.get("id") == request_id:
                return message
            self.received.append(message)
            if "method" in message and "id" in message:
                self.send(
                    {
                        "id": message["id"],
                        "result": self.responses[message["method"]](message.get("params", {})),
                    }
                )

    def request(self, method: str, params: Mapping[str, Any] | None = None) -> Message:
        """Return the result of a request; an error response fails the test."""
        response = self.finish(self.start(method, params))
        assert "result" in response, response
        result: Message = response["result"]
        return result

    def error(self, method: str, params: Mapping[str, Any] | None = None) -> Message:
        """Return the error of a request; a result fails the test."""
        response = self.finish(self.start(method, params))
        assert "error" in response, response
        error: Message = response["error"]
        return error

    def initialize(
        self, capabilities: Mapping[str, Any] | None = None, *, revision: str = "2025-11-25"
    ) -> Message:
        params = {
            "protocolVersion": revision,
            "capabilities": dict(capabilities or {}),
            "clientInfo": {"name": "test", "version": "1"},
        }
        result = self.request("initialize", params)
        self.send({"method": "notifications/initialized"})
        return result

    def speak_stateless(self, capabilities: Mapping[str, Any] | None = None) -> None:
        """Add the `_meta` that 2026-07-28 requires to all later requests."""
        self._meta = {
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
            "io.modelcontextprotocol/clientCapabilities": dict(capabilities or {}),
        }

    def rounds(self, tool: str, *replies: Callable[[Message], Message], **arguments: Any) -> list[Message]:
        """Return every result of a stateless call; `replies` has the input responses of each round."""
        params: Message = {"name": tool, "arguments": arguments}
        results = [self.request("tools/call", params)]
        for response in replies:
            requested = results[-1]
            assert requested["resultType"] == "input_required", requested
            responses = {
                key: response(request) for key, request in requested.get("inputRequests", {}).items()
            }
            state = {"requestState": requested["requestState"]} if "requestState" in requested else {}
            results.append(self.request("tools/call", {**params, "inputResponses": responses, **state}))
        return results

    def call(self, tool: str, **arguments: Any) -> Message:
        return self.request("tools/call", {"name": tool, "arguments": arguments})

    def call_text(self, tool: str, **arguments: Any) -> str:
        """Return the first text block of a successful call."""
        result = self.call(tool, **arguments)
        assert not result.get("isError"), result
        return str(result["content"][0]["text"])

    def pages(self, method: str, key: str) -> list[list[Message]]:
        """Return every page of a list."""
        result = self.request(method)
        pages = [result[key]]
        while "nextCursor" in result:
            result = self.request(method, {"cursor": result["nextCursor"]})
            pages.append(result[key])
        return pages

    def take_received(self, method: str) -> list[Message]:
        """Return the params of all received messages of this method, and clear the list."""
        found = [message["params"] for message in self.received if message.get("method") == method]
        self.received.clear()
        return found

    def hang_up(self) -> None:
        """Close the server's stdin."""
        assert self._process.stdin is not None
        self._process.stdin.close()

    def close_stdout(self) -> None:
        """Stop reading: the server's next write fails."""
        self._stdout.close()

    def terminate(self) -> None:
        self._process.terminate()

    def wait(self) -> int:
        return self._process.wait(timeout=20)

    def stderr(self) -> str:
        self._errors.seek(0)
        return self._errors.read().decode()

"""Writing to stdout by hand: whole messages, or any bytes at all."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from typing import Any

STDOUT = 1


class Output:
    """Raw stdout. After `close` the server keeps running, and its output is discarded."""

    def __init__(self) -> None:
        self._open = True

    def write(self, data: bytes) -> None:
        """Write bytes immediately. Unbuffered, so that a partial line is really sent as one."""
        view = memoryview(data)
        while self._open and view:
            view = view[os.write(STDOUT, view) :]

    def send(self, message: Mapping[str, Any]) -> None:
        line = json.dumps({"jsonrpc": "2.0", **message}, separators=(",", ":"), ensure_ascii=False)
        self.write(line.encode() + b"\n")

    def answer(self, request_id: object, result: Mapping[str, Any]) -> None:
        self.send({"id": request_id, "result": result})

    def close(self) -> None:
        self._open = False
        os.close(STDOUT)


def text_result(words: str) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": words}]}

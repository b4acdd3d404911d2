"""Creates a large, realistic capture: `python -m tests.bench.capturemaker PATH FRAMES`.

Five stdio servers and one HTTP server; tool calls with responses, some of which fail; log messages and
progress in between; occasional lines on stderr. Everything passes through the recorder and the recording
of the application, and every run creates the same traffic.
"""

from __future__ import annotations

import gc
import json
import subprocess
import sys
from pathlib import Path
from random import Random
from typing import Any

from inspector.base.json.values import JSONObject
from inspector.protocol import jsonrpc
from inspector.protocol.jsonrpc import Message
from inspector.traffic.captures.recording import Recording
from inspector.traffic.log import TrafficLog
from inspector.traffic.recorder import Recorder
from inspector.traffic.records import HttpExchange

RARE_WORD = "chrysoberyl"  # in one body of RARE_EVERY
RARE_EVERY = 10_000
ABSENT_TEXT = "nowhere-to-be-found"

_SERVERS = ("files", "github", "search", "database", "browser", "remote")
_REMOTE = len(_SERVERS) - 1
_TOOLS = (
    "read_file",
    "list_issues",
    "web_search",
    "run_query",
    "click",
    "fetch_page",
    "summarize",
    "write_file",
)
_URL = "https://mcp.example.com/v1/mcp"
_HEADERS = (("content-type", "application/json"), ("accept", "application/json, text/event-stream"))
_LETTERS = "abcdefghijklmnopqrstuvwxyz"
_NOTE_BYTES = 110  # of text: the whole notification is about 220
_FLUSH_ROWS = 50_000
_MEDIAN_NS, _SPREAD = 1_500_000, 1.2


def make_capture(path: Path, frames: int) -> None:
    """Create the capture in another process, so that its memory does not count as ours."""
    command = [sys.executable, "-m", "tests.bench.capturemaker", str(path), str(frames)]
    subprocess.run(command, check=True)


class SetClock:
    """Two clocks that are moved by hand."""

    def __init__(self, wall_ns: int) -> None:
        self._wall = wall_ns
        self._now = 0

    def go_on(self, nanoseconds: int) -> None:
        self._now += nanoseconds

    def monotonic_ns(self) -> int:
        return self._now

    def wall_ns(self) -> int:
        return self._wall + self._now


class CaptureMaker:
    """Writes traffic into a log: call after call, with notifications in between."""

    def __init__(self, log: TrafficLog) -> None:
        self.frames = 0
        self._clock = SetClock(1_767_600_000_000_000_000)
        self._recorders = [Recorder(log, name, self._clock) for name in _SERVERS]
        self._random = Random(4)
        self._prose = _prose(self._random)
        self._last_id = 0
        for recorder in self._recorders:
            recorder.set_revision("2025-11-25")

    def make_call(self) -> None:
        """Write a call, a few notifications of any server, and its response."""
        random, server = self._random, self._random.randrange(len(_SERVERS))
        recorder = self._recorders[server]
        duration = round(random.lognormvariate(0, _SPREAD) * _MEDIAN_NS)
        request = self._request()
        row = recorder.sent(self._counted(request))
        if server == _REMOTE:
            self._post(recorder, row, len(request.raw))
        notes = random.choice((0, 1, 2, 2, 5))
        for _ in range(notes):
            self._clock.go_on(duration // (notes + 1))
            self._notify()
        self._clock.go_on(duration // (notes + 1))
        self._response(recorder, server)
        self._clock.go_on(duration // 4)

    def _request(self) -> Message:
        self._last_id += 1
        arguments: JSONObject = {
            "path": f"/srv/{self._text(30)}.md",
            "limit": self._last_id % 100,
            "text": self._text(80),
        }
        return jsonrpc.request(
            self._last_id, "tools/call", {"name": self._random.choice(_TOOLS), "arguments": arguments}
        )

    def _response(self, recorder: Recorder, server: int) -> None:
        message, now = self._counted(self._outcome()), self._clock.monotonic_ns()
        if server != _REMOTE:
            recorder.received([message], now)
            return
        known = {
            "status": 200,
            "http_version": "HTTP/2",
            "response_headers": _HEADERS,
            "first_byte_ns": 400_000,
        }
        recorder.http.update(self._last_id, **known, response_size=len(message.raw))
        recorder.received([message], now, exchange=self._last_id)
        recorder.http.update(self._last_id, total_ns=500_000, is_over=True)

    def _outcome(self) -> Message:
        rng = self._random.random()
        if rng < 0.02:
            return jsonrpc.failure(self._last_id, -32602, f"Invalid arguments: {self._text(60)}")
        long = 40_000 if rng > 0.9995 else 2_000 if rng > 0.95 else 150
        content: list[Any] = [{"type": "text", "text": self._text(self._random.randint(20, long))}]
        return jsonrpc.result(self._last_id, {"content": content, "isError": rng < 0.04})

    def _notify(self) -> None:
        recorder, now = self._random.choice(self._recorders), self._clock.monotonic_ns()
        if self._random.random() < 0.05:
            recorder.stderr([f"INFO worker: {self._text(60)}".encode()], now)
        text = f"{self.frames} {self._text(_NOTE_BYTES)}"
        params: dict[str, Any] = {"level": "info", "logger": "worker", "data": text}
        recorder.received([self._counted(jsonrpc.notification("notifications/message", params))], now)

    def _post(self, recorder: Recorder, row: int, size: int) -> None:
        exchange = HttpExchange("POST", _URL, _HEADERS, size)
        now, wall = self._clock.monotonic_ns(), self._clock.wall_ns()
        recorder.http.requested(self._last_id, exchange, now, wall, row)

    def _counted(self, message: Message) -> Message:
        """Return a body as read from the wire; the rare word replaces some text."""
        self.frames += 1
        raw = message.raw
        if self.frames % RARE_EVERY == 0:
            raw = raw[:-2] + f',"note":"{RARE_WORD}"'.encode() + raw[-2:]
        return jsonrpc.read(raw)

    def _text(self, length: int) -> str:
        start = self._random.randrange(len(self._prose) - length)
        return self._prose[start : start + length]


def _prose(random: Random) -> str:
    """Return a megabyte of random words, without the rare word and the absent text."""
    words = ["".join(random.choices(_LETTERS, k=random.randint(2, 9))) for _ in range(3000)]
    return " ".join(random.choices(words, k=160_000))


def main() -> None:
    path, frames = Path(sys.argv[1]), int(sys.argv[2])
    gc.disable()  # nothing here is circular
    log = TrafficLog()
    recording = Recording(log, path, title=f"{frames:,} frames")
    maker, flushed = CaptureMaker(log), 0
    while maker.frames < frames:
        maker.make_call()
        if len(log) - flushed > _FLUSH_ROWS:
            recording.flush()
            flushed = len(log)
    if not recording.close():
        raise SystemExit(f"Could not write the capture: {recording.state.reason}")
    print(json.dumps({"frames": maker.frames, "rows": len(log)}), file=sys.stderr)


if __name__ == "__main__":
    main()

"""Traffic for tests of log analysis: built step by step, or at random."""

from __future__ import annotations

from typing import TypeAlias

from hypothesis import strategies as st

from inspector.base.json.values import JSON, JSONObject
from inspector.protocol import jsonrpc
from inspector.traffic.log import TrafficLog
from inspector.traffic.recorder import Recorder
from inspector.traffic.records import HttpExchange, RecordKind, Status
from tests.helpers.fakes import FakeClock
from tests.helpers.playbook import message

MS = 1_000_000
WALL = 1_700_000_000_000_000_000

Action: TypeAlias = tuple[str, int, int]


class TrafficBuilder:
    """Traffic of some servers, with a clock that advances in milliseconds."""

    def __init__(self, *servers: str) -> None:
        self.clock = FakeClock(wall_ns=WALL)
        self.log = TrafficLog()
        self.recorders = [Recorder(self.log, name, self.clock) for name in servers or ("srv",)]
        self._open: list[tuple[int, int]] = []  # the servers and ids of calls that wait
        self._requested: list[tuple[int, int]] = []
        self._paused: list[tuple[int, str]] = []  # the servers and states of calls that wait for us
        self._id = 0

    def pass_ms(self, milliseconds: float) -> None:
        self.clock.advance(milliseconds / 1000)

    def send(self, method: str, server: int = 0, /, **params: JSON) -> int:
        """A request of ours; its id."""
        self._id += 1
        self.recorders[server].sent(jsonrpc.request(self._id, method, params))
        return self._id

    def call(self, tool: str = "echo", server: int = 0, /, **params: JSON) -> int:
        return self.send("tools/call", server, name=tool, **params)

    def receive(self, server: int = 0, exchange: int | None = None, /, **members: JSON) -> int:
        """A frame of the server; its row."""
        frames = [message(**members)]
        self.recorders[server].received(frames, self.clock.monotonic_ns(), exchange=exchange)
        return len(self.log) - 1

    def response(self, id: int, result: JSONObject | None = None, server: int = 0) -> int:
        return self.receive(server, id=id, result=result or {})

    def log_message(self, server: int = 0, exchange: int | None = None) -> int:
        params: JSONObject = {"level": "info", "data": "x"}
        return self.receive(server, exchange, method="notifications/message", params=params)

    def stderr(self, server: int = 0) -> int:
        self.recorders[server].stderr([b"words"], self.clock.monotonic_ns())
        return len(self.log) - 1

    def post(self, number: int, carried: int, server: int = 0) -> int:
        """An HTTP exchange begins; its row."""
        exchange = HttpExchange("POST", "http://x/", (), 0)
        now, wall = self.clock.monotonic_ns(), self.clock.wall_ns()
        self.recorders[server].http.requested(number, exchange, now, wall, carried)
        return len(self.log) - 1

    def play(self, action: Action) -> None:
        """One step of a random conversation; one that makes no sense now is left out."""
        what, number, milliseconds = action
        server = number % len(self.recorders)
        match what:
            case "call":
                self._open.append((server, self.call(f"tool{number}", server)))
            case "list":
                self._open.append((server, self.send("tools/list", server)))
            case "answer" if self._open:
                self._response(number, {"content": []})
            case "tool error" if self._open:
                self._response(number, {"content": [], "isError": True})
            case "error" if self._open:
                server, id = self._open.pop(number % len(self._open))
                self.receive(server, id=id, error={"code": 1, "message": ""})
            case "cancel" if self._open:
                server, id = self._open.pop(number % len(self._open))
                self.recorders[server].end_request(id, Status.CANCELLED)
            case "time out" if self._open:
                server, id = self._open.pop(number % len(self._open))
                self.recorders[server].end_request(id, Status.TIMED_OUT)
            case "pause" if self._open:
                server, id = self._open[number % len(self._open)]
                self._paused.append((server, f"state{id}"))
                self._response(number, {"resultType": "input_required", "requestState": f"state{id}"})
            case "go on" if self._paused:
                server, state = self._paused.pop(number % len(self._paused))
                self._open.append((server, self.call(f"tool{number}", server, requestState=state)))
            case "ask":
                self._id += 1
                self._requested.append((server, self._id))
                self.receive(server, id=self._id, method="elicitation/create", params={})
            case "reply" if self._requested:
                server, id = self._requested.pop(number % len(self._requested))
                self.recorders[server].sent(jsonrpc.result(id, {}))
            case "log":
                self.log_message(server)
            case "stderr":
                self.stderr(server)
            case "restart":
                self.recorders[server].new_conversation()
                self.recorders[server].note(RecordKind.STATE, "again")
                for kept in (self._open, self._requested):
                    kept[:] = [one for one in kept if one[0] != server]
        self.pass_ms(milliseconds)

    def _response(self, number: int, result: JSONObject) -> None:
        server, id = self._open.pop(number % len(self._open))
        self.response(id, result, server)


_ACTIONS = (
    "call call call list answer answer answer answer error give|up pause go|on ask reply log stderr restart "
    "tool|error"
)
actions: st.SearchStrategy[list[Action]] = st.lists(
    st.tuples(
        st.sampled_from([word.replace("|", " ") for word in _ACTIONS.split()]),
        st.integers(0, 5),
        st.sampled_from([0, 0, 1, 3, 20, 1000]),
    ),
    max_size=60,
)

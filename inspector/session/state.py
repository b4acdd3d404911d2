"""Values of a session: routes in the order they are tried, status, and connection state."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from enum import Enum
from typing import TypeAlias

from inspector.base.errors import FailureKind
from inspector.base.json.values import JSONObject
from inspector.protocol.handshake import ClientProfile, Negotiation, NegotiationResult
from inspector.transport.base import Transport

RequestHandler: TypeAlias = Callable[[JSONObject], Awaitable[JSONObject]]


@dataclass(frozen=True, slots=True)
class Route:
    """A way to connect: a transport, and how negotiation starts on it.

    `closes_to_cancel` is set for Streamable HTTP, where each request has a separate exchange; `is_process`
    for a child process, which can be restarted; `is_sequential` for a server that gets one request at a
    time. `installer` is the program that may have to download the server first, such as npx.
    """

    make_transport: Callable[[], Transport]
    make_negotiation: Callable[[], Negotiation]
    profile: ClientProfile
    closes_to_cancel: bool = False
    is_process: bool = False
    is_sequential: bool = False
    installer: str = ""


class Status(Enum):
    IDLE = "not connected"
    CONNECTING = "connecting"
    CONNECTED = "connected"
    NEEDS_LOGIN = "needs login"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class SessionState:
    """State of a connection.

    `reason` and `next_step` say why it is in this state and what to do; `pid` is that of the server process;
    `waits_for` says what a connection attempt waits for. `can_wait_longer`: the server is slow to start, or
    was too slow, and the user may give it more time. `stream_problem` says why server messages are not
    received on a connection that is otherwise usable.
    """

    status: Status = Status.IDLE
    reason: str = ""
    next_step: str = ""
    negotiated: NegotiationResult | None = None
    pid: int | None = None
    waits_for: str = ""
    was_connected: bool = False  # FAILED: the connection was lost, not refused
    stream_problem: str = ""
    kind: FailureKind = FailureKind.OTHER  # FAILED
    can_wait_longer: bool = False
    is_session_lost: bool = False  # the server dropped the session: a new one can be started at once

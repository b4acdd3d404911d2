"""Values of a session: routes in the order they are tried, status, and connection state."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from enum import Enum
from typing import TypeAlias

from inspector.base.json.values import JSONObject
from inspector.protocol.handshake import ClientProfile, Negotiation, NegotiationResult
from inspector.transport.base import Transport

RequestHandler: TypeAlias = Callable[[JSONObject], Awaitable[JSONObject]]


@dataclass(frozen=True, slots=True)
class Route:
    """A way to connect: a transport, and how negotiation starts on it.

    `closes_to_cancel` is set for Streamable HTTP, where each request has a separate exchange; `is_process`
    for a child process, which can be restarted.
    """

    make_transport: Callable[[], Transport]
    make_negotiation: Callable[[], Negotiation]
    profile: ClientProfile
    closes_to_cancel: bool = False
    is_process: bool = False


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
    `waits_for` says what a connection attempt waits for.
    """

    status: Status = Status.IDLE
    reason: str = ""
    next_step: str = ""
    negotiated: NegotiationResult | None = None
    pid: int | None = None
    waits_for: str = ""
    was_connected: bool = False  # FAILED: the connection was lost, not refused
    is_session_lost: bool = False  # the server dropped the session: a new one can be started at once

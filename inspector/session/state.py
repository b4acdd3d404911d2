"""How a connection stands."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from inspector.protocol.handshake import Agreement


class Status(Enum):
    IDLE = "idle"
    CONNECTING = "connecting"
    CONNECTED = "connected"
    NEEDS_LOGIN = "needs login"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class SessionState:
    """State of a connection.

    `reason` and `next_step` say why it is in this state and what to do; `pid` is that of our child process.
    """

    status: Status = Status.IDLE
    reason: str = ""
    next_step: str = ""
    agreement: Agreement | None = None
    pid: int | None = None
    waits_for: str = ""
    is_session_lost: bool = False  # the server has dropped the session: a new one can be started at once

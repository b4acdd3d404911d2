"""What the engine shows of itself: frozen values, safe to hand to another thread."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from inspector.config.entries import Entry, StdioEntry
from inspector.protocol.handshake import Agreement
from inspector.session.state import SessionState, Status


class ServerStatus(Enum):
    """Every state that a person can see a server in, in the words that are shown."""

    DISABLED = "disabled"
    STOPPED = "stopped"
    CONNECTING = "connecting"
    CONNECTED = "connected"
    NEEDS_LOGIN = "needs login"
    FAILED = "failed"
    RESTARTING = "restarting"


@dataclass(frozen=True, slots=True)
class ServerView:
    """One server as it stands now."""

    name: str
    transport: str
    address: str
    status: ServerStatus
    reason: str = ""
    next_step: str = ""
    waits_for: str = ""
    agreement: Agreement | None = None
    pid: int | None = None
    is_verified: bool = True  # its TLS certificate is checked
    is_kept: bool = True  # in the catalogue; a demo server is not

    @staticmethod
    def of(entry: Entry, state: SessionState, is_kept: bool, restarting: str = "") -> ServerView:
        return ServerView(
            name=entry.name,
            transport=entry.transport,
            address=entry.address,
            status=ServerStatus.RESTARTING if restarting else _status(entry, state),
            reason=restarting or state.reason,
            next_step=state.next_step,
            waits_for=state.waits_for,
            agreement=state.agreement,
            pid=state.pid,
            is_verified=isinstance(entry, StdioEntry) or entry.network.verify,
            is_kept=is_kept,
        )

    def offers(self, capability: str) -> bool:
        return self.agreement is not None and capability in self.agreement.capabilities


def _status(entry: Entry, state: SessionState) -> ServerStatus:
    if not entry.enabled and state.status not in (Status.CONNECTING, Status.CONNECTED):
        return ServerStatus.DISABLED
    return ServerStatus(state.status.value)


class OutcomeKind(Enum):
    RESULT = "result"
    TOOL_ERROR = "tool error"  # a result that says isError: the tool ran and failed
    RPC_ERROR = "error"  # the server refused or broke
    FAILED = "failed"  # no answer came: an error of ours, not the server's words
    CANCELLED = "cancelled"


@dataclass(frozen=True, slots=True)
class CallOutcome:
    """How a call ended. `answer` holds the frame as it came, when one came."""

    kind: OutcomeKind
    elapsed_ns: int
    answer: bytes = b""
    row: int | None = None
    summary: str = ""
    next_step: str = ""

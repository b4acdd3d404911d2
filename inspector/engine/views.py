"""Frozen values of servers and call outcomes; they may cross threads.

Imported at start-up: keep it light.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # the window shows these before the protocol is imported
    from inspector.base.json.values import JSONObject
    from inspector.protocol.client_capabilities import ClientCapabilities
    from inspector.protocol.handshake import NegotiationResult
    from inspector.protocol.revisions import Revision
    from inspector.traffic.operations import CallCost


class ServerStatus(Enum):
    """State of a server; the values are display text."""

    DISABLED = "disabled"
    IDLE = "not connected"
    CONNECTING = "connecting"
    CONNECTED = "connected"
    NEEDS_LOGIN = "needs login"
    LOGGING_IN = "logging in"  # connecting continues when the user is done in the browser
    FAILED = "failed"
    RECONNECTING = "reconnecting"


@dataclass(frozen=True, slots=True)
class ClientSide:
    """What we declare to a server.

    `declared` was chosen by the user unless `is_default`; it is declared in the form of `revision` (None
    while unknown). `sent` is what the current connection declared, if there is one; `differs` means that it
    is something else and a reconnect is needed.
    """

    declared: ClientCapabilities
    is_default: bool
    roots: tuple[str, ...]
    revision: Revision | None
    sent: JSONObject | None
    differs: bool


@dataclass(frozen=True, slots=True)
class ServerView:
    """Current state of a server."""

    name: str
    transport: str
    address: str
    status: ServerStatus
    reason: str = ""
    next_step: str = ""
    waits_for: str = ""
    negotiated: NegotiationResult | None = None
    pid: int | None = None
    was_connected: bool = False  # FAILED: the connection was lost, not refused
    is_verified: bool = True  # its TLS certificate is verified
    is_saved: bool = True  # in the server list; a demo server is not
    client_side: ClientSide | None = None
    plain_secrets: tuple[str, ...] = ()  # secrets in plain text in the server list
    secret_references: tuple[str, ...] = ()  # headers, variables and inputs in the secret store
    expands: tuple[str, ...] = ()  # placeholders resolved on connecting: HOME, input:key
    is_outdated: bool = False  # changed since connecting: reconnect to apply
    origin: str = ""  # the other client's file that defines it; "" for the user's own
    notes: str = ""
    color: str = ""
    auto_connect: bool = False
    is_enabled: bool = True
    is_logging_in: bool = False  # a login that the user started is running

    def offers(self, capability: str) -> bool:
        return self.negotiated is not None and capability in self.negotiated.capabilities


class OutcomeKind(Enum):
    RESULT = "result"
    TOOL_ERROR = "tool error"  # a result with isError: the tool ran and failed
    RPC_ERROR = "error"  # a JSON-RPC error from the server
    FAILED = "failed"  # no response: our error, not the server's
    CANCELLED = "cancelled"
    DETACHED = "running as task"  # became a task that continues without a waiter


@dataclass(frozen=True, slots=True)
class CallOutcome:
    """How a call ended. `response` holds the response verbatim, if any.

    The result of a task may have arrived as part of the task's state; then `is_composed` is set and the
    message was assembled from it. `is_lost`: it failed because there is no connection (any more).
    `waited_ns` is the part of `elapsed_ns` in which the server waited for our replies. `cost` is the CPU
    time and output of the server's processes during the call, if measured.
    """

    kind: OutcomeKind
    elapsed_ns: int
    response: bytes = b""
    row: int | None = None
    summary: str = ""
    next_step: str = ""
    task_id: str = ""
    is_composed: bool = False
    is_lost: bool = False
    waited_ns: int = 0
    cost: CallCost | None = None


@dataclass(frozen=True, slots=True)
class RawOutcome:
    """Outcome of sending raw bytes, logged at `row`.

    `response_row` is the row of the response, or of whatever else came back in the same HTTP exchange.
    `summary` says why there is no response, if one was expected or the server rejected the bytes.
    `http_status` is the final status of the exchange; its body is in the log.
    """

    row: int
    response_row: int | None
    elapsed_ns: int
    summary: str = ""
    next_step: str = ""
    http_status: int | None = None

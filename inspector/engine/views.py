"""Status of a server and outcomes of calls; they may cross threads.

Imported at start-up: keep it light. Named tuples are defined four times as fast as frozen dataclasses.
"""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:  # the window shows these before the engine is imported
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


class OutcomeKind(Enum):
    RESULT = "result"
    TOOL_ERROR = "tool error"  # a result with isError: the tool ran and failed
    RPC_ERROR = "error"  # a JSON-RPC error from the server
    FAILED = "failed"  # no response: our error, not the server's
    CANCELLED = "cancelled"
    DETACHED = "running as task"  # became a task that continues without a waiter


class CallOutcome(NamedTuple):
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


class RawOutcome(NamedTuple):
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

"""What the engine shows of itself: frozen values, safe to hand to another thread."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # the window shows these values before the protocol is imported
    from inspector.base.jsonvalue import JSONObject
    from inspector.protocol.declared import Declared
    from inspector.protocol.handshake import Agreement
    from inspector.protocol.revisions import Revision
    from inspector.traffic.callcost import CallCost


class ServerStatus(Enum):
    """Every state that a person can see a server in, in the words that are shown."""

    DISABLED = "disabled"
    IDLE = "idle"
    CONNECTING = "connecting"
    CONNECTED = "connected"
    NEEDS_LOGIN = "needs login"
    LOGGING_IN = "logging in"  # connecting goes on when the person is done in the browser
    FAILED = "failed"
    RESTARTING = "restarting"


@dataclass(frozen=True, slots=True)
class OurSide:
    """What we say to a server about ourselves.

    `declared` is what was chosen, by the person unless it `is_usual`; it is said in the words of `revision`
    (None while that is to be found out). `said` is what the connection that there is was told, if there is
    one: with `differs` that was something else, and it takes connecting again.
    """

    declared: Declared
    is_usual: bool
    roots: tuple[str, ...]
    revision: Revision | None
    said: JSONObject | None
    differs: bool


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
    ours: OurSide | None = None
    plain_secrets: tuple[str, ...] = ()  # what stands in the catalogue as plain text, and is one
    secret_references: tuple[str, ...] = ()  # headers, variables and inputs that are in the secret store
    expands: tuple[str, ...] = ()  # names that are looked up at connecting: HOME, input:key
    is_outdated: bool = False  # connected as it was configured before: takes connecting again
    origin: str = ""  # the file of somebody else that it stands in; "" for the person's own
    notes: str = ""
    colour: str = ""
    auto_connect: bool = False
    is_enabled: bool = True

    def offers(self, capability: str) -> bool:
        return self.agreement is not None and capability in self.agreement.capabilities


class OutcomeKind(Enum):
    RESULT = "result"
    TOOL_ERROR = "tool error"  # a result that says isError: the tool ran and failed
    RPC_ERROR = "error"  # the server refused or broke
    FAILED = "failed"  # no answer came: an error of ours, not the server's words
    CANCELLED = "cancelled"
    LEFT = "left running"  # it became a task, which goes on without anybody waiting here


@dataclass(frozen=True, slots=True)
class CallOutcome:
    """How a call ended. `answer` holds the frame as it came, when one came.

    The outcome of a task may have come as a part of the task's state: then `is_composed` says that the
    frame was put together from that. `is_lost`: it failed because there is no connection (any more).
    `waited_ns` is the part of `elapsed_ns` in which the server waited for answers of ours. `cost` is what it
    took of the server's processes, where that was measured.
    """

    kind: OutcomeKind
    elapsed_ns: int
    answer: bytes = b""
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
    """What came of bytes that were sent as they were; the log has them at `row`.

    `answer_row` is that of the answer, or of what else came back in the same HTTP exchange. `summary` says
    why there is no answer, when one was waited for or the server refused the bytes; `http_status` is what
    the exchange ended with, its body is in the log.
    """

    row: int
    answer_row: int | None
    elapsed_ns: int
    summary: str = ""
    next_step: str = ""
    http_status: int | None = None

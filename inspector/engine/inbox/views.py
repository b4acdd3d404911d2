"""Frozen Inbox values for display; they may cross threads."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from inspector.base.json.values import JSON, JSONObject

if TYPE_CHECKING:  # the window shows these before the protocol is imported
    from inspector.protocol.revisions import Revision
    from inspector.protocol.server_requests.request import ParsedRequest, RequestEnd


@dataclass(frozen=True, slots=True)
class Reply:
    """A reply to a server request: a result, or an error where the era allows one.

    `rule` is the name of the reply rule it came from, "" if the user replied; `drafted_by` is the rule that
    drafted it for the user. `is_built_in`: MCP Lens replied by itself, as for roots.
    """

    result: JSONObject | None = None
    code: int = 0
    message: str = ""
    data: JSON = None
    rule: str = ""
    drafted_by: str = ""
    is_built_in: bool = False

    @property
    def is_error(self) -> bool:
        return self.result is None

    @property
    def is_positive(self) -> bool:
        """Whether the server got what it requested, not a refusal."""
        is_refused = self.result is None or self.result.get("action") in ("decline", "cancel")
        return self.is_built_in or not is_refused


# How a user declines sampling, for which there is no result.
SAMPLING_REJECTED = Reply(code=-1, message="The user rejected the sampling request")


@dataclass(frozen=True, slots=True)
class RequestItem:
    """A server request. `key` is its key in an input-required result, "" for a JSON-RPC request."""

    key: str
    request: ParsedRequest
    notes: tuple[str, ...] = ()  # what is wrong with it, though it can be answered
    reply: Reply | None = None

    @property
    def method(self) -> str:
        return self.request.method

    @property
    def params(self) -> JSONObject:
        """The params as sent by the server."""
        return self.request.source


@dataclass(frozen=True, slots=True)
class Round:
    """Requests and replies of an earlier round of the same call."""

    input_requests: tuple[RequestItem, ...]
    waited_ns: int


@dataclass(frozen=True, slots=True)
class InboxRequest:
    """A pending request of a server, and what waits for it.

    `row` is the row of the message that asks, `operation` the first row of the waiting call (None if
    unknown), `subject` what is called: a tool or prompt name, or a resource URI. `round` is 0 for a request
    that the server sent by itself. `awaits_completion`: the user agreed to a URL elicitation and the server
    has not reported completion.
    """

    id: int
    server: str
    revision: Revision
    input_requests: tuple[RequestItem, ...]
    requested_ns: int  # monotonic
    requested_wall_ns: int
    row: int | None = None
    operation: int | None = None
    method: str = ""
    subject: str = ""
    round: int = 0
    max_rounds: int = 0
    earlier: tuple[Round, ...] = ()
    task_id: str = ""
    awaits_completion: bool = False
    end: RequestEnd | None = None
    note: str = ""
    ended_ns: int | None = None

    @property
    def is_open(self) -> bool:
        return self.end is None

    @property
    def unanswered(self) -> tuple[RequestItem, ...]:
        return tuple(input_request for input_request in self.input_requests if input_request.reply is None)

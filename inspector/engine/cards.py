"""What the Inbox shows: frozen values, safe to hand to another thread."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

from inspector.base.jsonvalue import JSON, JSONObject

if TYPE_CHECKING:  # the window shows these values before the protocol is imported
    from inspector.protocol.revisions import Revision


@dataclass(frozen=True, slots=True)
class Reply:
    """What is answered to one question: a result, or an error where the era has room for one.

    `rule` is the name of the answer rule that gave it, "" when a person did; `drafted_by` that of the rule
    which wrote it for the person who sent it. `is_known`: we knew the answer and asked nobody, as for the
    roots.
    """

    result: JSONObject | None = None
    code: int = 0
    message: str = ""
    data: JSON = None
    rule: str = ""
    drafted_by: str = ""
    is_known: bool = False

    @property
    def is_error(self) -> bool:
        return self.result is None


# How a person says no to sampling, which has no result for that.
SAMPLING_REJECTED = Reply(code=-1, message="The user rejected the sampling request")


@dataclass(frozen=True, slots=True)
class Question:
    """One thing that a server wants to know. `key` is its name in a result that asks; "" in a request."""

    key: str
    method: str
    params: JSONObject
    remarks: tuple[str, ...] = ()  # what is wrong with it, though it can be answered
    reply: Reply | None = None


@dataclass(frozen=True, slots=True)
class Round:
    """What was asked and answered in an earlier round of the same call."""

    questions: tuple[Question, ...]
    waited_ns: int


class CardEnd(Enum):
    """How a card left the list, in the words that are shown."""

    ANSWERED = "answered"
    REFUSED = "refused"  # by us, unasked: it was malformed, or asks for what we did not declare
    WITHDRAWN = "withdrawn by the server"
    OVERDUE = "not answered in time"
    CALL_ENDED = "the call ended"
    SERVER_GONE = "the server is gone"
    NOT_SENT = "answered, but not sent"


@dataclass(frozen=True, slots=True)
class Card:
    """What one server asks at one time, and who waits for it.

    `row` is that of the frame that asks, `operation` the first row of the call that waits (None: nobody can
    tell), `subject` what is called: a tool's name, a prompt's, a resource's URI. `round` is 0 for a request
    of the server's own. `awaits_page`: a URL was consented to, and the server has not said that it is done.
    """

    id: int
    server: str
    revision: Revision
    questions: tuple[Question, ...]
    asked_ns: int  # monotonic
    asked_wall_ns: int
    row: int | None = None
    operation: int | None = None
    method: str = ""
    subject: str = ""
    round: int = 0
    most_rounds: int = 0
    earlier: tuple[Round, ...] = ()
    task_id: str = ""
    awaits_page: bool = False
    end: CardEnd | None = None
    note: str = ""
    ended_ns: int | None = None

    @property
    def is_open(self) -> bool:
        return self.end is None

    @property
    def unanswered(self) -> tuple[Question, ...]:
        return tuple(question for question in self.questions if question.reply is None)

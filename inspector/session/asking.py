"""What a server asks of us, alike in both eras, and who answers it."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum, auto
from typing import Protocol, TypeAlias

from inspector.base.errors import RpcError
from inspector.base.jsonvalue import JSON, JSONObject
from inspector.protocol.jsonrpc import METHOD_NOT_FOUND
from inspector.protocol.revisions import Revision
from inspector.protocol.types import InputRequest
from inspector.session.route import Answerer

Answers: TypeAlias = Mapping[str, JSONObject]

# The key of the one question that a request of the server's own is.
OWN = ""


@dataclass(frozen=True, slots=True, eq=False)
class Asking:
    """All that a server asks at one moment.

    `row` is that of the frame that asks; `operation` the first row of the call that waits for the answers,
    None when nobody can tell, and `method` and `subject` what that call is about. `round` is 0 for a request
    of the server's own, else it counts how often this call has been asked about. With `awaits_pages` the
    answers are wanted only when the pages that they consent to are done with. `size` is that of the frame.
    """

    questions: Mapping[str, InputRequest]
    revision: Revision
    row: int | None = None
    operation: int | None = None
    method: str = ""
    subject: str = ""
    round: int = 0
    most_rounds: int = 0
    task_id: str = ""
    awaits_pages: bool = False
    size: int = 0


class AskingEnd(Enum):
    """Why no answer is wanted, or none any more."""

    REFUSED = auto()  # by us, unasked: it was malformed, or asks for what we did not declare
    WITHDRAWN = auto()  # by the server
    CALL_ENDED = auto()
    SERVER_GONE = auto()
    BY_HAND = auto()  # the person sent an answer of their own writing


class Refusal(RpcError):
    """One question got an error for its answer."""

    def __init__(self, key: str, code: int, message: str, data: JSON = None) -> None:
        super().__init__(code, message, data)
        self.key = key


class Responder(Protocol):
    """Who answers."""

    async def respond(self, asking: Asking) -> Answers:
        """An answer for each question, by its key. Raises Refusal; cancelled when `ended` is said."""
        ...

    def ended(self, asking: Asking, end: AskingEnd, why: str) -> None:
        """No answer is wanted (any more): of what was asked, or of what will not be asked, being refused."""
        ...

    def noted(self, asking: Asking, text: str) -> None:
        """Something that who answers should know. The answer is still wanted."""
        ...

    def sent(self, asking: Asking, problem: str) -> None:
        """The answer to a request of the server's own was sent; or was not, and the problem says why."""
        ...


def responder_of(answerers: Mapping[str, Answerer]) -> Responder:
    """Answers each method with its answerer, all questions together."""
    return _Answering(answerers)


class _Answering:
    def __init__(self, answerers: Mapping[str, Answerer]) -> None:
        self._answerers = answerers

    async def respond(self, asking: Asking) -> Answers:
        """The first question that is refused ends the others."""
        try:
            async with asyncio.TaskGroup() as group:
                tasks = {
                    key: group.create_task(self._answer(key, question))
                    for key, question in asking.questions.items()
                }
        except ExceptionGroup as errors:
            raise errors.exceptions[0] from None
        return {key: task.result() for key, task in tasks.items()}

    async def _answer(self, key: str, question: InputRequest) -> JSONObject:
        answerer = self._answerers.get(question.method)
        if answerer is None:
            raise Refusal(key, METHOD_NOT_FOUND, f"We do not offer {question.method}")
        try:
            return await answerer(question.params)
        except RpcError as exc:
            raise Refusal(key, exc.code, exc.message, exc.data) from exc

    def ended(self, asking: Asking, end: AskingEnd, why: str) -> None:
        pass

    def noted(self, asking: Asking, text: str) -> None:
        pass

    def sent(self, asking: Asking, problem: str) -> None:
        pass

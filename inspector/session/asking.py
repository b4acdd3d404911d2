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

# The key of the single question in a server request.
OWN = ""


@dataclass(frozen=True, slots=True, eq=False)
class Asking:
    """All requests that a server makes at one moment.

    `row` is that of the requesting frame; `operation` is the first row of the call that waits for the
    replies, None if unknown, and `method` and `subject` are those of that call. `round` is 0 for a server
    request, else it counts the rounds of this call. With `awaits_pages` the replies are due only when the
    pages that they consent to are completed. `size` is that of the frame.
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
    """Why no reply is wanted, or no longer wanted."""

    REFUSED = auto()  # by us, without asking: malformed, or requires an undeclared capability
    WITHDRAWN = auto()  # by the server
    CALL_ENDED = auto()
    SERVER_GONE = auto()
    BY_HAND = auto()  # the user sent a hand-written response


class Refusal(RpcError):
    """One request was answered with an error."""

    def __init__(self, key: str, code: int, message: str, data: JSON = None) -> None:
        super().__init__(code, message, data)
        self.key = key


class Responder(Protocol):
    """Answers server requests."""

    async def respond(self, asking: Asking) -> Answers:
        """Return a reply for each request, by key. Raises Refusal; cancelled when `ended` is called."""
        ...

    def ended(self, asking: Asking, end: AskingEnd, why: str) -> None:
        """Handle that no reply is wanted: the request has ended, or was rejected and never asked."""
        ...

    def noted(self, asking: Asking, text: str) -> None:
        """Handle a note for the user. The reply is still wanted."""
        ...

    def sent(self, asking: Asking, problem: str) -> None:
        """Handle that the reply to a server request was sent, or why it could not be."""
        ...


def responder_of(answerers: Mapping[str, Answerer]) -> Responder:
    """Return a responder that answers each method with its answerer, all requests concurrently."""
    return _Answering(answerers)


class _Answering:
    def __init__(self, answerers: Mapping[str, Answerer]) -> None:
        self._answerers = answerers

    async def respond(self, asking: Asking) -> Answers:
        """Answer all requests; the first one that is refused cancels the others."""
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

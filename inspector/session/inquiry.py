"""What is asked on the way to the outcome of one call, round by round."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import replace

from inspector.base.errors import RemoteProtocolError, RequestCancelled, UserError
from inspector.base.jsonvalue import JSON
from inspector.protocol.asking import read_question
from inspector.protocol.revisions import Revision
from inspector.protocol.rounds import MOST_ROUNDS
from inspector.protocol.types import InputRequest, read_input_requests
from inspector.session.asking import Answers, Asking, Refusal
from inspector.session.conversation import Conversation
from inspector.session.waiting import Exchange, HumanTime

_log = logging.getLogger(__name__)


class Inquiry:
    """All input rounds of one call.

    `conversation` returns the current connection, or raises ConnectionLost. The call is identified by the
    row of its first request, whatever is sent after that.
    """

    def __init__(
        self,
        conversation: Callable[[], Conversation],
        human: HumanTime | None = None,
        *,
        task_id: str = "",
        operation: int | None = None,
    ) -> None:
        self._conversation = conversation
        self._human = human
        self._task_id = task_id
        self._operation = operation
        self.round = 0

    async def ask(
        self,
        questions: Mapping[str, InputRequest],
        exchange: Exchange | None = None,
        *,
        awaits_pages: bool = False,
    ) -> Answers:
        """Return a reply for each request: a result has no place for the refusal of one.

        Raises RequestCancelled if one was refused, RemoteProtocolError for what cannot be answered,
        ConnectionLost if the connection ends meanwhile.
        """
        self.round += 1
        talk, asking = self._asking(questions, exchange)
        if fault := _fault_of(asking):
            talk.desk.refuse(asking, fault)
            raise RemoteProtocolError(f"the result cannot be used: {fault}")
        asking = replace(asking, awaits_pages=awaits_pages)
        try:
            return await talk.desk.ask(asking, self._human)
        except Refusal as exc:
            raise RequestCancelled(
                f"The server asked for {questions[exc.key].method}, and that was refused: {exc.message}.",
                "The call was not repeated.",
            ) from exc
        except UserError:
            raise
        except Exception as exc:  # a bug in MCP Lens: the waiting call must still fail
            _log.exception("could not answer what a result asks")
            asked = ", ".join(sorted({question.method for question in questions.values()}))
            raise RequestCancelled(
                f"The server asked for {asked}, and we could not answer: {exc!r}.",
                "This is a mistake of ours: report it. The call was not repeated.",
            ) from exc

    def skip(self) -> None:
        """Count a round in which nothing was asked."""
        self.round += 1

    def refuse(self, requests: JSON, exchange: Exchange, why: str) -> None:
        """Show the invalid requests of a result, as far as they can be parsed."""
        try:
            questions = {} if requests is None else read_input_requests(requests)
        except ValueError:
            questions = {}
        self.refuse_all(questions, why, exchange)

    def refuse_all(
        self, questions: Mapping[str, InputRequest], why: str, exchange: Exchange | None = None
    ) -> None:
        """Show requests that are rejected without asking."""
        self.round += 1
        talk, asking = self._asking(questions, exchange)
        talk.desk.refuse(asking, why)

    def _asking(
        self, questions: Mapping[str, InputRequest], exchange: Exchange | None
    ) -> tuple[Conversation, Asking]:
        talk = self._conversation()
        if exchange is not None and self._operation is None:
            self._operation = exchange.row
        row, size = (None, 0) if exchange is None else (exchange.answer_row, len(exchange.answer.raw))
        asking = talk.asking(questions, row, self._operation)
        most = 0 if self._task_id else MOST_ROUNDS
        asking = replace(asking, round=self.round, most_rounds=most, task_id=self._task_id, size=size)
        return talk, asking


def _fault_of(asking: Asking) -> str:
    """Return why one of the requests cannot be answered at all; "" if they all can."""
    for key, question in asking.questions.items():
        if reason := unreadable(question, asking.revision):
            return f"the question “{key}” ({question.method}) cannot be answered: {reason}"
    return ""


def unreadable(question: InputRequest, revision: Revision) -> str:
    """Return why a request cannot be answered at all; "" if it can."""
    try:
        read_question(question.method, question.source.get("params"), revision)
    except ValueError as exc:
        return str(exc)
    return ""

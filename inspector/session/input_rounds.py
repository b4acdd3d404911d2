"""Calls that need input from the client before they have a result.

Stateless era: a result of type `input_required` lists requests; the call is repeated with the replies
(`run_rounds`). 2025-11-25: error -32042 requires URLs to be visited first, then the request is sent again
(`wanted_by`, `are_done`). Also reads results, tasks and task errors from responses.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from typing import NamedTuple

from inspector.base.errors import RemoteProtocolError, RequestCancelled, RpcError, UserError
from inspector.base.json.values import JSON, JSONObject, JSONProblem
from inspector.protocol.jsonrpc import INTERNAL_ERROR, ErrorObject, Kind, Message, error_of
from inspector.protocol.revisions import R4, Revision
from inspector.protocol.round_trips import (
    MAX_ROUNDS,
    Complete,
    Invalid,
    NeedInput,
    Rounds,
    TaskCreated,
    missing_for,
)
from inspector.protocol.server_requests.request import URL_REQUIRED, read_pages, read_server_request
from inspector.protocol.tasks import Task
from inspector.protocol.types import InputRequest, read_input_requests
from inspector.session.conversation import Conversation
from inspector.session.pending_requests import Exchange, HumanWaitTime
from inspector.session.server_requests import Replies, RequestRefused, ServerRequest
from inspector.traffic.records import RecordKind


def result_of(response: Message) -> JSONObject:
    """Return the result of a response.

    Raises RpcError for an error, RemoteProtocolError for an unreadable response.
    """
    try:
        if response.kind is Kind.ERROR:
            error = error_of(response)
            raise RpcError(error.code, error.message, error.data)
        return response.result
    except JSONProblem as exc:
        raise RemoteProtocolError(f"could not parse the response: {exc}") from exc


def task_of(result: JSONObject) -> Task:
    """Return the task in a result. Raises RemoteProtocolError."""
    try:
        return Task.read(result)
    except ValueError as exc:
        raise RemoteProtocolError(f"could not parse the task: {exc}") from exc


def task_error(task: Task) -> RpcError:
    """Return a failed task's error, as if it were the response to the call itself."""
    error = task.error or {}
    code, message = error.get("code"), error.get("message")
    text = message if isinstance(message, str) and message else task.message or "The task failed"
    return RpcError(code if type(code) is int else INTERNAL_ERROR, text, error.get("data"))


_log = logging.getLogger(__name__)


class InputCollector:
    """All input rounds of one call.

    `conversation` returns the current connection, or raises ConnectionLost. The call is identified by the
    row of its first request, whatever is sent after that.
    """

    def __init__(
        self,
        conversation: Callable[[], Conversation],
        human: HumanWaitTime | None = None,
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
        pending: Mapping[str, InputRequest],
        exchange: Exchange | None = None,
        *,
        awaits_pages: bool = False,
    ) -> Replies:
        """Return a reply for each request: a result has no place for the refusal of one.

        Raises RequestCancelled if one was refused, RemoteProtocolError for what cannot be answered,
        ConnectionLost if the connection ends meanwhile.
        """
        self.round += 1
        conversation, server_request = self._server_request(pending, exchange)
        if fault := _fault_of(server_request):
            conversation.server_requests.refuse(server_request, fault)
            raise RemoteProtocolError(f"the result is invalid: {fault}")
        server_request = replace(server_request, awaits_pages=awaits_pages)
        try:
            return await conversation.server_requests.ask(server_request, self._human)
        except RequestRefused as exc:
            raise RequestCancelled(
                f"The server sent {pending[exc.key].method}, which was rejected: {exc.message}.",
                "The call was not retried.",
            ) from exc
        except UserError:
            raise
        except Exception as exc:  # a bug in MCP Lens: the waiting call must still fail
            _log.exception("could not answer what a result asks")
            requested = ", ".join(sorted({input_request.method for input_request in pending.values()}))
            raise RequestCancelled(
                f"The server sent {requested}, but MCP Lens could not answer: {exc!r}.",
                "This is a bug in MCP Lens. Please report it. The call was not retried.",
            ) from exc

    def skip(self) -> None:
        """Count a round in which nothing was asked."""
        self.round += 1

    def refuse(self, requests: JSON, exchange: Exchange, why: str) -> None:
        """Show the invalid requests of a result, as far as they can be parsed."""
        try:
            pending = {} if requests is None else read_input_requests(requests)
        except ValueError:
            pending = {}
        self.refuse_all(pending, why, exchange)

    def refuse_all(
        self, pending: Mapping[str, InputRequest], why: str, exchange: Exchange | None = None
    ) -> None:
        """Show requests that are rejected without asking."""
        self.round += 1
        conversation, server_request = self._server_request(pending, exchange)
        conversation.server_requests.refuse(server_request, why)

    def _server_request(
        self, pending: Mapping[str, InputRequest], exchange: Exchange | None
    ) -> tuple[Conversation, ServerRequest]:
        conversation = self._conversation()
        if exchange is not None and self._operation is None:
            self._operation = exchange.row
        row, size = (None, 0) if exchange is None else (exchange.response_row, len(exchange.response.raw))
        server_request = conversation.server_request(pending, row, self._operation)
        maximum = 0 if self._task_id else MAX_ROUNDS
        server_request = replace(
            server_request, round=self.round, max_rounds=maximum, task_id=self._task_id, size=size
        )
        return conversation, server_request


def _fault_of(server_request: ServerRequest) -> str:
    """Return why one of the requests cannot be answered at all; "" if they all can."""
    for key, input_request in server_request.input_requests.items():
        if reason := unreadable(input_request, server_request.revision):
            return f"the server request “{key}” ({input_request.method}) cannot be answered: {reason}"
    return ""


def unreadable(input_request: InputRequest, revision: Revision) -> str:
    """Return why a request cannot be answered at all; "" if it can."""
    try:
        read_server_request(input_request.method, input_request.source.get("params"), revision)
    except ValueError as exc:
        return str(exc)
    return ""


def wanted_by(exchange: Exchange, conversation: Conversation) -> ErrorObject | None:
    """Return the error if the response requires pages to be visited, else None."""
    if exchange.response.kind is not Kind.ERROR or conversation.connection.dialect.revision != R4:
        return None
    try:
        error = error_of(exchange.response)
    except JSONProblem:
        return None
    return error if error.code == URL_REQUIRED else None


async def are_done(
    error: ErrorObject, exchange: Exchange, conversation: Conversation, collector: InputCollector
) -> bool:
    """Handle the pages that a response requires; True if the request is to be sent again.

    Otherwise the response is the result as it is. Raises ConnectionLost if the connection ends meanwhile.
    """
    try:
        pages = read_pages(error)
        if missing := next(
            filter(None, (missing_for(page, conversation.declared) for page in pages.values())), ""
        ):
            raise ValueError(f"MCP Lens did not declare {missing}")
        if collector.round == MAX_ROUNDS:
            raise ValueError(f"the server asked {MAX_ROUNDS} times in a row and is asking again")
        responses = await collector.ask(pages, exchange, awaits_pages=True)
    except (ValueError, RemoteProtocolError) as exc:
        conversation.recorder.note(RecordKind.LOCAL, f"URL elicitation not shown ({URL_REQUIRED}): {exc}.")
        return False
    except RequestCancelled:
        return False
    return all(response.get("action") == "accept" for response in responses.values())


# A server that only asks for a retry gets a moment to make progress.
_PAUSE = 0.1


class CompletedCall(NamedTuple):
    """How a call ended: its last exchange, the number of rounds, and its task, if any."""

    exchange: Exchange
    rounds: int = 1
    task: Task | None = None


async def run_rounds(
    rounds: Rounds,
    params: JSONObject | None,
    send: Callable[[JSONObject | None], Awaitable[Exchange]],
    collector: InputCollector,
) -> CompletedCall:
    """Send a call, and repeat it with the replies, until it has a result.

    Raises RemoteProtocolError if a result violates the protocol, RequestCancelled if a reply was refused.
    """
    count = 1
    while True:
        exchange = await send(params)
        if not may_ask(exchange.response):
            return CompletedCall(exchange, count)
        result = result_of(exchange.response)
        match rounds.receive(result):
            case Complete():
                return CompletedCall(exchange, count)
            case TaskCreated(task):
                return CompletedCall(exchange, count, task)
            case Invalid(reason):
                if result.get("resultType") == "input_required":
                    collector.refuse(result.get("inputRequests"), exchange, reason)
                raise RemoteProtocolError(f"the result is invalid: {reason}")
            case NeedInput(requests):
                params = rounds.retry(await collector.ask(requests, exchange) if requests else {})
                count += 1
                if not requests:
                    collector.skip()
                    await asyncio.sleep(_PAUSE)


def may_ask(response: Message) -> bool:
    """True if a response may ask for input: only results can.

    Looks at the raw bytes first, so that megabytes are not parsed in vain.
    """
    if response.kind is not Kind.RESULT:
        return False
    return response.parsed is not None or b'"input_required"' in response.raw or b'"task"' in response.raw

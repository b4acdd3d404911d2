"""Calls that need input from the client before they have a result.

Stateless era: a result of type `input_required` lists requests; the call is sent again with the replies
(`run_rounds`). 2025-11-25: error -32042 lists URL elicitations that must be completed before the request
is sent again (`url_error_of`, `handle_required_urls`).
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from typing import NamedTuple

from inspector.base.errors import RemoteProtocolError, RequestCancelled, UserError
from inspector.base.json.values import JSON, JSONError, JSONObject
from inspector.protocol.jsonrpc import (
    URL_ELICITATION_REQUIRED,
    ErrorObject,
    Kind,
    Message,
    RpcError,
    error_of,
)
from inspector.protocol.revisions import R4
from inspector.protocol.round_trips import (
    MAX_ROUNDS,
    Complete,
    InputRequired,
    Invalid,
    RoundTrips,
    TaskCreated,
    missing_capability_for,
)
from inspector.protocol.server_requests.request import (
    UnreadableRequest,
    read_url_elicitations,
    server_request_of,
)
from inspector.protocol.tasks import Task
from inspector.protocol.types import InputRequest, read_input_requests
from inspector.session.conversation import Conversation
from inspector.session.pending_requests import CallTimer, Exchange
from inspector.session.server_requests import Replies, RequestRefused, ServerRequest
from inspector.traffic.records import RecordKind

_log = logging.getLogger(__name__)
# Seconds before a call is retried for a server that requests a retry without input.
_RETRY_DELAY = 0.1


class CompletedCall(NamedTuple):
    """How a call ended: its last exchange, the number of rounds, and its task, if any."""

    exchange: Exchange
    rounds: int = 1
    task: Task | None = None


async def run_rounds(
    rounds: RoundTrips,
    params: JSONObject | None,
    send: Callable[[JSONObject | None], Awaitable[Exchange]],
    collector: InputCollector,
) -> CompletedCall:
    """Send a call, and send it again with the replies, until it has a result.

    Raises RemoteProtocolError if a result violates the protocol, RequestCancelled if a reply was refused.
    """
    count = 1
    while True:
        exchange = await send(params)
        if not may_need_input(exchange.response):
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
            case InputRequired(requests):
                params = rounds.retry(await collector.ask(requests, exchange) if requests else {})
                count += 1
                if not requests:
                    collector.skip()
                    await asyncio.sleep(_RETRY_DELAY)


def may_need_input(response: Message) -> bool:
    """True if a response may ask for input or be a task; only results can.

    Searches the raw bytes, so that a large result is not parsed for this.
    """
    if response.kind is not Kind.RESULT:
        return False
    return response.parsed is not None or b'"input_required"' in response.raw or b'"task"' in response.raw


def url_error_of(exchange: Exchange, conversation: Conversation) -> ErrorObject | None:
    """Return the error if the response requires URL elicitations (-32042), else None."""
    if exchange.response.kind is not Kind.ERROR or conversation.connection.dialect.revision != R4:
        return None
    try:
        error = error_of(exchange.response)
    except JSONError:
        return None
    return error if error.code == URL_ELICITATION_REQUIRED else None


async def handle_required_urls(
    error: ErrorObject, exchange: Exchange, conversation: Conversation, collector: InputCollector
) -> bool:
    """Handle the URL elicitations of an error; True if the request is to be sent again.

    Otherwise the error is the result of the call. Raises ConnectionLost if the connection ends meanwhile.
    """
    try:
        elicitations = read_url_elicitations(error)
        for elicitation in elicitations.values():
            if missing := missing_capability_for(
                elicitation.method, elicitation.params, conversation.declared
            ):
                raise ValueError(f"MCP Lens did not declare {missing}")
        if collector.round == MAX_ROUNDS:
            raise ValueError(f"the server requested input more than {MAX_ROUNDS} times in a row")
        replies = await collector.ask(elicitations, exchange, awaits_urls=True)
    except (ValueError, RemoteProtocolError) as exc:
        conversation.recorder.note(RecordKind.LOCAL, f"{error.code_text}: URL elicitation not shown: {exc}.")
        return False
    except RequestCancelled:
        return False
    return all(reply.get("action") == "accept" for reply in replies.values())


class InputCollector:
    """Collects the replies for all input rounds of one call.

    `conversation` returns the current connection, or raises ConnectionLost. The call is identified by the
    row of its first request (`operation`).
    """

    def __init__(
        self,
        conversation: Callable[[], Conversation],
        human: CallTimer | None = None,
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
        awaits_urls: bool = False,
    ) -> Replies:
        """Return a reply for each request; there is no way to refuse only some of them.

        Raises RequestCancelled if one was refused, RemoteProtocolError for an invalid request,
        ConnectionLost if the connection ends meanwhile.
        """
        self.round += 1
        conversation, server_request = self._server_request(pending, exchange)
        if fault := _fault_of(server_request):
            conversation.server_requests.refuse(server_request, fault)
            raise RemoteProtocolError(f"the result is invalid: {fault}")
        server_request = replace(server_request, awaits_urls=awaits_urls)
        try:
            return await conversation.server_requests.ask(server_request, self._human)
        except RequestRefused as exc:
            raise RequestCancelled(
                f"The server requested {pending[exc.key].method}, which was rejected: {exc.message}.",
                "The call was not continued.",
            ) from exc
        except UserError:
            raise
        except Exception as exc:  # a bug in MCP Lens: the waiting call must still fail
            _log.exception("could not reply to the input requests of a result")
            requested = ", ".join(sorted({input_request.method for input_request in pending.values()}))
            raise RequestCancelled(
                f"The server requested {requested}, but MCP Lens could not reply: {exc!r}.",
                "The call was not continued. This is a bug in MCP Lens. Please report it.",
            ) from exc

    def skip(self) -> None:
        """Count a round without requests."""
        self.round += 1

    def refuse(self, requests: JSON, exchange: Exchange, why: str) -> None:
        """Report the invalid requests of a result, as far as they can be parsed."""
        try:
            pending = {} if requests is None else read_input_requests(requests)
        except ValueError:
            pending = {}
        self.refuse_all(pending, why, exchange)

    def refuse_all(
        self, pending: Mapping[str, InputRequest], why: str, exchange: Exchange | None = None
    ) -> None:
        """Report requests that are rejected without asking the user."""
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
        requests = {
            key: server_request_of(each.method, each.source.get("params")) for key, each in pending.items()
        }
        server_request = conversation.server_request(requests, row, self._operation)
        maximum = 0 if self._task_id else MAX_ROUNDS
        server_request = replace(
            server_request, round=self.round, max_rounds=maximum, task_id=self._task_id, size=size
        )
        return conversation, server_request


def _fault_of(server_request: ServerRequest) -> str:
    """Return why one of the requests is invalid; "" if all are valid."""
    for key, input_request in server_request.input_requests.items():
        if isinstance(input_request, UnreadableRequest):
            return f"the input request “{key}” ({input_request.method}) is invalid: {input_request.reason}"
    return ""


def result_of(response: Message) -> JSONObject:
    """Return the result of a response.

    Raises RpcError for an error, RemoteProtocolError for an unreadable response.
    """
    try:
        if response.kind is Kind.ERROR:
            error = error_of(response)
            raise RpcError(error.code, error.message, error.data)
        return response.result
    except JSONError as exc:
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
    return RpcError(code if type(code) is int else None, text, error.get("data"))

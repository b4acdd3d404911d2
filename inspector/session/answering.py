"""Composes our answers to requests of a server. There is always one, whatever goes wrong."""

from __future__ import annotations

import logging

from inspector.base.errors import ConnectionLost, LocalProtocolError, RequestCancelled, RpcError
from inspector.base.jsonvalue import JSONObject, JSONProblem
from inspector.protocol.asking import read_question
from inspector.protocol.connection import Connection
from inspector.protocol.jsonrpc import INTERNAL_ERROR, INVALID_PARAMS, METHOD_NOT_FOUND, Message, RequestId
from inspector.protocol.rounds import missing_for
from inspector.protocol.types import InputRequest
from inspector.session.asking import OWN, Asking
from inspector.session.desk import Desk

_log = logging.getLogger(__name__)


def read_once(request: Message) -> Message:
    """Return the request with its body parsed, if possible, so that large ones are parsed once."""
    try:
        return request._replace(parsed=request.body())
    except JSONProblem:
        return request


def asked_by(request: Message) -> InputRequest:
    """Return a request as an `InputRequest`.

    An unreadable one becomes empty, and is rejected as such.
    """
    try:
        return InputRequest(request.method, request.params, request.body())
    except JSONProblem:
        return InputRequest(request.method, {}, {})


async def compose_answer(
    request: Message, asking: Asking, connection: Connection, desk: Desk, declared: JSONObject
) -> Message | None:
    """Return the response to send; None if it is no longer wanted.

    `declared` are our declared capabilities.
    """
    assert request.id is not None
    try:
        return await _compose(request, request.id, asking, connection, desk, declared)
    except LocalProtocolError:
        return None


async def _compose(
    request: Message, id: RequestId, asking: Asking, connection: Connection, desk: Desk, declared: JSONObject
) -> Message | None:
    if request.method == "ping" and _fault_of_frame(request) is None:
        return connection.answer(id, {})
    if fault := fault_of(request, asking, declared):
        desk.refuse(asking, fault.message)
        return connection.refuse(id, fault.code, fault.message)
    try:
        return connection.answer(id, (await desk.ask_own(asking, id))[OWN])
    except RpcError as exc:
        return connection.refuse(id, exc.code, exc.message, exc.data)
    except (ConnectionLost, RequestCancelled):
        return None
    except LocalProtocolError:
        raise
    except Exception:
        _log.exception("could not answer %s", request.method)
        return connection.refuse(id, INTERNAL_ERROR, "Internal error")


def fault_of(request: Message, asking: Asking, declared: JSONObject) -> RpcError | None:
    """Return why a request is to be rejected; None if it is acceptable.

    `declared` are our declared capabilities.
    """
    return _fault_of_frame(request) or _fault_of(asking, declared)


def _fault_of_frame(request: Message) -> RpcError | None:
    try:
        request.body()
    except JSONProblem as exc:
        return RpcError(INVALID_PARAMS, f"The params cannot be read: {exc}")
    return None


def _fault_of(asking: Asking, declared: JSONObject) -> RpcError | None:
    question = asking.questions[OWN]
    method, missing = question.method, missing_for(question, declared)
    if missing:
        if "." in missing:
            return RpcError(INVALID_PARAMS, f"We do not offer that in {method}: {missing} was not declared")
        return RpcError(METHOD_NOT_FOUND, f"We do not offer {method}: no such capability was declared")
    try:
        read_question(method, question.source.get("params"), asking.revision)
    except ValueError as exc:
        return RpcError(INVALID_PARAMS, f"Invalid params of {method}: {exc}")
    return None

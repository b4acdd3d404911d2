"""Answers, read once."""

from __future__ import annotations

from inspector.base.errors import RemoteProtocolError, RpcError
from inspector.base.jsonvalue import JSONObject, JSONProblem
from inspector.protocol.jsonrpc import INTERNAL_ERROR, Kind, Message, error_of
from inspector.protocol.tasks import Task


def result_of(answer: Message) -> JSONObject:
    """Return the result of a response.

    Raises RpcError for an error, RemoteProtocolError for an unreadable response.
    """
    try:
        if answer.kind is Kind.ERROR:
            error = error_of(answer)
            raise RpcError(error.code, error.message, error.data)
        return answer.result
    except JSONProblem as exc:
        raise RemoteProtocolError(f"the answer cannot be read: {exc}") from exc


def task_of(result: JSONObject) -> Task:
    """Return the task in a result. Raises RemoteProtocolError."""
    try:
        return Task.read(result)
    except ValueError as exc:
        raise RemoteProtocolError(f"the task cannot be read: {exc}") from exc


def task_error(task: Task) -> RpcError:
    """Return a failed task's error, as if it were the response to the call itself."""
    error = task.error or {}
    code, message = error.get("code"), error.get("message")
    text = message if isinstance(message, str) and message else task.message or "The task failed"
    return RpcError(code if type(code) is int else INTERNAL_ERROR, text, error.get("data"))

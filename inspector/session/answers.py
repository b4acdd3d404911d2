"""Answers, read once."""

from __future__ import annotations

from inspector.base.errors import RemoteProtocolError, RpcError
from inspector.base.jsonvalue import JSONObject, JSONProblem
from inspector.protocol.jsonrpc import Kind, Message, error_of


def result_of(answer: Message) -> JSONObject:
    """The result of an answer. Raises RpcError for an error, RemoteProtocolError for what cannot be read."""
    try:
        if answer.kind is Kind.ERROR:
            error = error_of(answer)
            raise RpcError(error.code, error.message, error.data)
        return answer.result
    except JSONProblem as exc:
        raise RemoteProtocolError(f"the answer cannot be read: {exc}") from exc

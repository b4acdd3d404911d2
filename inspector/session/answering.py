"""Composes our answers to what a server asks of us. There is always one, whatever goes wrong."""

from __future__ import annotations

import logging
from collections.abc import Mapping

from inspector.base.errors import LocalProtocolError, RpcError
from inspector.base.jsonvalue import JSONObject, JSONProblem
from inspector.protocol.connection import Connection
from inspector.protocol.jsonrpc import INTERNAL_ERROR, INVALID_PARAMS, METHOD_NOT_FOUND, Message, RequestId
from inspector.session.route import Answerer

_log = logging.getLogger(__name__)


async def compose_answer(
    request: Message, connection: Connection, answerers: Mapping[str, Answerer]
) -> Message | None:
    """The message to send; None when the server took its request back meanwhile."""
    assert request.id is not None
    try:
        return await _compose(request, request.id, connection, answerers)
    except LocalProtocolError:
        return None


async def _compose(
    request: Message, id: RequestId, connection: Connection, answerers: Mapping[str, Answerer]
) -> Message:
    answerer = _pong if request.method == "ping" else answerers.get(request.method)
    if answerer is None:
        text = f"We do not offer {request.method}: no such capability was declared"
        return connection.refuse(id, METHOD_NOT_FOUND, text)
    try:
        result = await answerer(request.params)
    except RpcError as exc:
        return connection.refuse(id, exc.code, exc.message, exc.data)
    except JSONProblem as exc:
        return connection.refuse(id, INVALID_PARAMS, f"The params cannot be read: {exc}")
    except Exception:
        _log.exception("could not answer %s", request.method)
        return connection.refuse(id, INTERNAL_ERROR, "Internal error")
    return connection.answer(id, result)


async def _pong(params: JSONObject) -> JSONObject:
    return {}

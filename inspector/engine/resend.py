"""Bytes sent as they are: what may be sent again, and what came of it, found in the log."""

from __future__ import annotations

from inspector.base.errors import UserError
from inspector.engine.views import RawOutcome
from inspector.session.rawsend import RawReply
from inspector.traffic.log import TrafficLog
from inspector.traffic.records import Direction, RecordKind

_CAN_BE_RESENT = (RecordKind.REQUEST, RecordKind.NOTIFICATION)


def require_message_of_ours(log: TrafficLog, row: int) -> None:
    """Raise UserError unless the row is a request or notification sent by us."""
    is_there = 0 <= row < len(log)
    if is_there and log.kind(row) in _CAN_BE_RESENT and log.direction(row) == Direction.OUT:
        return
    raise UserError(
        f"Row {row + 1} of the traffic is no request or notification of ours.",
        "Only what was sent can be sent again.",
    )


def make_outcome(log: TrafficLog, row: int, elapsed_ns: int, reply: RawReply) -> RawOutcome:
    """Return the outcome of the bytes sent in `row`."""
    http = log.http(row)
    failure = reply.failure
    return RawOutcome(
        row,
        _answer_row(log, row),
        elapsed_ns,
        failure.summary if failure is not None else "",
        failure.next_step if failure is not None else "",
        http.status if http is not None and log.exchange(row) is not None else None,
    )


def _answer_row(log: TrafficLog, row: int) -> int | None:
    """Return the response's row, else the first message received in the same HTTP exchange.

    The latter is for responses that cannot be paired, such as an error without an id. A WebSocket is a
    single exchange, so messages sent on it have none.
    """
    partner, exchange = log.partner(row), log.exchange(row)
    if partner is not None or exchange is None:
        return partner
    columns = log.columns
    for other in range(row + 1, len(log)):
        is_frame = columns.kind[other] <= RecordKind.TEXT and columns.direction[other] == Direction.IN
        if is_frame and columns.exchange[other] == exchange:
            return other
    return None

"""Requests that are answered with “visit these pages first”: -32042 of 2025-11-25."""

from __future__ import annotations

from inspector.base.errors import RemoteProtocolError, RequestCancelled
from inspector.base.jsonvalue import JSONProblem
from inspector.protocol.jsonrpc import ErrorObject, Kind, error_of
from inspector.protocol.revisions import R4
from inspector.protocol.rounds import MOST_ROUNDS, missing_for
from inspector.protocol.urlrequired import URL_REQUIRED, read_pages
from inspector.session.conversation import Conversation
from inspector.session.inquiry import Inquiry
from inspector.session.waiting import Exchange
from inspector.traffic.records import RecordKind


def wanted_by(exchange: Exchange, talk: Conversation) -> ErrorObject | None:
    """Return the error if the response requires pages to be visited, else None."""
    if exchange.answer.kind is not Kind.ERROR or talk.connection.dialect.revision != R4:
        return None
    try:
        error = error_of(exchange.answer)
    except JSONProblem:
        return None
    return error if error.code == URL_REQUIRED else None


async def are_done(error: ErrorObject, exchange: Exchange, talk: Conversation, inquiry: Inquiry) -> bool:
    """Handle the pages that a response requires; True if the request is to be sent again.

    Otherwise the response is the result as it is. Raises ConnectionLost if the connection ends meanwhile.
    """
    try:
        pages = read_pages(error)
        if missing := next(filter(None, (missing_for(page, talk.declared) for page in pages.values())), ""):
            raise ValueError(f"we did not declare {missing}")
        if inquiry.round == MOST_ROUNDS:
            raise ValueError(f"the server asked {MOST_ROUNDS} times in a row and asks again")
        answers = await inquiry.ask(pages, exchange, awaits_pages=True)
    except (ValueError, RemoteProtocolError) as exc:
        talk.recorder.note(RecordKind.LOCAL, f"Nobody is asked to visit a page ({URL_REQUIRED}): {exc}.")
        return False
    except RequestCancelled:
        return False
    return all(answer.get("action") == "accept" for answer in answers.values())

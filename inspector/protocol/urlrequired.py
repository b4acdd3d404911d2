"""The error of 2025-11-25 that asks a person to visit pages first: -32042, on any request.

Each entry of its data is an elicitation of mode `url`, with an id under which the server tells when the page
is done with. The original request may then be sent again.
"""

from __future__ import annotations

from inspector.base.jsonvalue import JSON
from inspector.protocol.asking import ELICITATION, UrlAsked, read_question
from inspector.protocol.jsonrpc import ErrorObject
from inspector.protocol.revisions import R4
from inspector.protocol.types import InputRequest

URL_REQUIRED = -32042


def read_pages(error: ErrorObject) -> dict[str, InputRequest]:
    """Return the requests by elicitation id. Raises ValueError with a reason."""
    entries = error.data.get("elicitations") if isinstance(error.data, dict) else None
    if not isinstance(entries, list) or not entries:
        raise ValueError("its data has no list of elicitations")
    pages: dict[str, InputRequest] = {}
    for entry in entries:
        id, page = _page(entry)
        if id in pages:
            raise ValueError("two of its elicitations have the same elicitationId")
        pages[id] = page
    return pages


def _page(entry: JSON) -> tuple[str, InputRequest]:
    if not isinstance(entry, dict):
        raise ValueError("one of its elicitations is no object")
    if not isinstance(read_question(ELICITATION, entry, R4), UrlAsked):
        raise ValueError("one of its elicitations is not of mode “url”")
    id = entry.get("elicitationId")
    if not isinstance(id, str) or not id:
        raise ValueError("one of its elicitations has no elicitationId")
    return id, InputRequest(ELICITATION, entry, {"method": ELICITATION, "params": entry})

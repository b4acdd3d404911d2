"""Parser of server requests (sampling, elicitation, roots), and of error -32042.

The requests are the same in both eras: JSON-RPC requests of the server, or parts of a result
(`protocol.round_trips`). Parsing raises ValueError only for what cannot be answered at all (-32602);
other violations are notes, and the user decides.

Error -32042 of 2025-11-25 can answer any request: each entry of its data is a URL elicitation with an id,
under which the server reports completion. The original request may then be sent again.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from itertools import islice
from typing import ClassVar, TypeAlias

from inspector.base.json.values import JSON, JSONObject, quote_value
from inspector.protocol.jsonrpc import ErrorObject
from inspector.protocol.revisions import Revision
from inspector.protocol.server_requests.elicitation import (
    ELICITATION,
    FormElicitation,
    UrlElicitation,
    notes_on_form,
    notes_on_url,
    read_elicitation,
)
from inspector.protocol.server_requests.sampling import (
    SAMPLING,
    SamplingRequest,
    notes_on_sampling,
    read_sampling,
)
from inspector.protocol.types import InputRequest

__all__ = [
    "ELICITATION",
    "ROOTS",
    "SAMPLING",
    "SERVER_REQUEST_METHODS",
    "FormElicitation",
    "ParsedRequest",
    "RequestEnd",
    "RootsRequest",
    "SamplingRequest",
    "ServerRequestParams",
    "UnreadableRequest",
    "UrlElicitation",
    "notes",
    "read_server_request",
    "server_request_of",
]

ROOTS = "roots/list"
SERVER_REQUEST_METHODS = (SAMPLING, ELICITATION, ROOTS)

_MAX_NOTES = 20  # a hostile request may violate the rules a million times


@dataclass(frozen=True, slots=True)
class RootsRequest:
    """A request for the folders that the server may work in."""

    method: ClassVar[str] = ROOTS
    source: JSONObject


ServerRequestParams: TypeAlias = SamplingRequest | FormElicitation | UrlElicitation | RootsRequest


@dataclass(frozen=True, slots=True)
class UnreadableRequest:
    """A server request that cannot be answered; `source` is empty if its params are no object."""

    method: str
    source: JSONObject
    reason: str


ParsedRequest: TypeAlias = ServerRequestParams | UnreadableRequest


class RequestEnd(Enum):
    """How a server request ended; the values are display text."""

    ANSWERED = "answered"
    REFUSED = "rejected"  # by us, without asking: malformed, or requires an undeclared capability
    WITHDRAWN = "cancelled by the server"
    TIMED_OUT = "timed out"
    CALL_ENDED = "call ended"
    SERVER_GONE = "server disconnected"
    NOT_SENT = "answered, but not sent"


def server_request_of(method: str, params: JSON) -> ParsedRequest:
    """Parse a server request. Never raises."""
    try:
        return read_server_request(method, params)
    except ValueError as exc:
        return UnreadableRequest(method, params if isinstance(params, dict) else {}, str(exc))


def read_server_request(method: str, params: JSON) -> ServerRequestParams:
    """Parse a server request. Raises ValueError with a reason if it cannot be answered.

    Features of later protocol versions are parsed too; `notes` reports them.
    """
    if params is not None and not isinstance(params, dict):
        raise ValueError(f'"params" must be an object, not {quote_value(params)}')
    source = params or {}
    if method == SAMPLING:
        return read_sampling(source)
    if method == ELICITATION:
        return read_elicitation(source)
    if method == ROOTS:
        return RootsRequest(source)
    raise ValueError(f"{quote_value(method)} is not a supported server request")


def notes(request: ServerRequestParams, revision: Revision) -> tuple[str, ...]:
    """Return what is wrong with an answerable request, as sentences, up to a limit."""
    return tuple(islice(_notes(request, revision), _MAX_NOTES))


def _notes(request: ServerRequestParams, revision: Revision) -> Iterator[str]:
    match request:
        case SamplingRequest():
            return notes_on_sampling(request, revision)
        case FormElicitation():
            return notes_on_form(request, revision)
        case UrlElicitation():
            return notes_on_url(request, revision)
        case RootsRequest():
            return iter(())


def read_url_elicitations(error: ErrorObject) -> dict[str, InputRequest]:
    """Return the URL elicitations of error -32042 by id. Raises ValueError with a reason."""
    entries = error.data.get("elicitations") if isinstance(error.data, dict) else None
    if not isinstance(entries, list) or not entries:
        raise ValueError("its data has no array of elicitations")
    requests: dict[str, InputRequest] = {}
    for entry in entries:
        id, request = _url_elicitation(entry)
        if id in requests:
            raise ValueError("two of its elicitations have the same elicitationId")
        requests[id] = request
    return requests


def _url_elicitation(entry: JSON) -> tuple[str, InputRequest]:
    if not isinstance(entry, dict):
        raise ValueError("one of its elicitations is not an object")
    if not isinstance(read_server_request(ELICITATION, entry), UrlElicitation):
        raise ValueError("one of its elicitations does not have the mode “url”")
    id = entry.get("elicitationId")
    if not isinstance(id, str) or not id:
        raise ValueError("one of its elicitations has no elicitationId")
    return id, InputRequest(ELICITATION, entry, {"method": ELICITATION, "params": entry})

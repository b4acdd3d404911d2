"""The requests that a login sends to the MCP server itself: without a token to be refused, with one to see.

They are the beginning of a conversation as the revision has it, so that the server answers as it would in
earnest.
"""

from __future__ import annotations

from inspector import __version__
from inspector.base.jsonvalue import JSONObject
from inspector.oauth.http import LoginRequest
from inspector.protocol import jsonrpc
from inspector.protocol.declared import Declared
from inspector.protocol.dialect import dialect_for
from inspector.protocol.discovery import Discovery
from inspector.protocol.handshake import ClientProfile, InitializeHandshake
from inspector.protocol.httprules import Headers, standard_headers
from inspector.protocol.jsonrpc import Message
from inspector.protocol.revisions import Era, Revision

_PROFILE = ClientProfile("mcp-lens", "MCP Lens", __version__, Declared({}))
_POSTED: Headers = (
    ("Content-Type", "application/json"),
    ("Accept", "application/json, text/event-stream"),
)


def opening(url: str, revision: Revision, headers: Headers = ()) -> LoginRequest:
    """Return the first request: `initialize`, or `server/discover` without a handshake."""
    if revision.era is Era.HANDSHAKE:
        ask = InitializeHandshake(_PROFILE, revision).first()
    else:
        ask = Discovery(_PROFILE, over_http=True, revisions=(revision,)).ask()
    return _posted(url, jsonrpc.request(1, ask.method, ask.params), revision, "", headers)


def initialized(url: str, revision: Revision, session_id: str, headers: Headers = ()) -> LoginRequest:
    message = jsonrpc.notification("notifications/initialized")
    return _posted(url, message, revision, session_id, headers)


def listing(url: str, revision: Revision, session_id: str, headers: Headers = ()) -> LoginRequest:
    """Return a `tools/list` request, which most servers support."""
    params: JSONObject | None = dialect_for(revision, _PROFILE, over_http=True).dress("tools/list", None)
    return _posted(url, jsonrpc.request(2, "tools/list", params), revision, session_id, headers)


def farewell(url: str, revision: Revision, session_id: str, headers: Headers = ()) -> LoginRequest:
    """Return the request that ends the login's session."""
    return LoginRequest("DELETE", url, (*standard_headers(None, revision, session_id), *headers))


def _posted(
    url: str, message: Message, revision: Revision, session_id: str, headers: Headers
) -> LoginRequest:
    said = (*_POSTED, *standard_headers(message, revision, session_id), *headers)
    return LoginRequest("POST", url, said, message.raw, follows_redirects=True)

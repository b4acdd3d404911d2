"""Requests of a login to the MCP server itself.

They are the start of a real connection in the protocol version, so that the server responds as usual.
"""

from __future__ import annotations

from inspector import __version__
from inspector.base.json.values import JSONObject
from inspector.oauth.http import LoginRequest
from inspector.protocol import jsonrpc
from inspector.protocol.client_capabilities import ClientCapabilities
from inspector.protocol.discovery import Discovery
from inspector.protocol.handshake import ClientProfile, InitializeHandshake, dialect_for
from inspector.protocol.http_rules import Headers, standard_headers
from inspector.protocol.jsonrpc import Message
from inspector.protocol.revisions import Era, Revision

_PROFILE = ClientProfile("mcp-lens", "MCP Lens", __version__, ClientCapabilities({}))
_POST_HEADERS: Headers = (
    ("Content-Type", "application/json"),
    ("Accept", "application/json, text/event-stream"),
)


def initialize_request(url: str, revision: Revision, headers: Headers = ()) -> LoginRequest:
    """Return the first request: `initialize`, or `server/discover` without a handshake."""
    if revision.era is Era.SESSION:
        first = InitializeHandshake(_PROFILE, revision).first()
    else:
        first = Discovery(_PROFILE, over_http=True, revisions=(revision,)).request()
    return _post(url, jsonrpc.request(1, first.method, first.params), revision, "", headers)


def initialized_notification(
    url: str, revision: Revision, session_id: str, headers: Headers = ()
) -> LoginRequest:
    message = jsonrpc.notification("notifications/initialized")
    return _post(url, message, revision, session_id, headers)


def list_request(url: str, revision: Revision, session_id: str, headers: Headers = ()) -> LoginRequest:
    """Return a `tools/list` request, which most servers support."""
    params: JSONObject | None = dialect_for(revision, _PROFILE, over_http=True).prepare("tools/list", None)
    return _post(url, jsonrpc.request(2, "tools/list", params), revision, session_id, headers)


def delete_session_request(
    url: str, revision: Revision, session_id: str, headers: Headers = ()
) -> LoginRequest:
    """Return the request that ends the login's session."""
    return LoginRequest("DELETE", url, (*standard_headers(None, revision, session_id), *headers))


def _post(url: str, message: Message, revision: Revision, session_id: str, headers: Headers) -> LoginRequest:
    all_headers = (*_POST_HEADERS, *standard_headers(message, revision, session_id), *headers)
    return LoginRequest("POST", url, all_headers, message.raw, follows_redirects=True)

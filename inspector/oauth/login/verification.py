"""Last login steps: whether the server accepts the token, and when it will be refreshed.

The requests to the MCP server are the start of a real connection in the protocol version, so that the server
responds as usual.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

from inspector import __version__
from inspector.base.errors import UserError
from inspector.base.json.values import JSONError, JSONObject
from inspector.oauth.authorizer import is_nonce_challenge, read_refusal, token_headers
from inspector.oauth.http import LoginRequest, LoginResponse
from inspector.oauth.login.context import LoginContext, LoginStopped
from inspector.oauth.login.steps import LoginGrant
from inspector.protocol import jsonrpc
from inspector.protocol.auth.step_up import Attempt, StepUps, check_refusal
from inspector.protocol.auth.tokens import TokenSet, decide_renewal, refresh_margin
from inspector.protocol.client_capabilities import ClientCapabilities
from inspector.protocol.discovery import Discovery
from inspector.protocol.framing import EventStreamReader, EventTooLarge
from inspector.protocol.handshake import ClientProfile, InitializeHandshake, dialect_for
from inspector.protocol.http_rules import SESSION_HEADER, Headers, standard_headers
from inspector.protocol.jsonrpc import Kind, Message
from inspector.protocol.revisions import NEWEST_HANDSHAKE, Era, Revision

MakeRequest = Callable[[Headers], LoginRequest]


async def prepare_call(context: LoginContext) -> LoginRequest | None:
    url, revision = context.target.url, _revision(context)
    return initialize_request(url, revision, _headers(context, "POST"))


async def call(context: LoginContext) -> None:
    """Repeat the request that was rejected without a token, with it."""
    url, revision = context.target.url, _revision(context)
    response = await _send(context, lambda headers: initialize_request(url, revision, headers))
    if response.status in (400, 404, 405, 406, 415) and revision.era is Era.STATELESS:
        context.add_decision(
            f"The server did not accept the first request of {revision}: retried with {NEWEST_HANDSHAKE}."
        )
        revision = NEWEST_HANDSHAKE
        response = await _send(context, lambda headers: initialize_request(url, revision, headers))
    if response.status in (401, 403):
        _report_rejection(context, response)
    if not response.is_success:
        raise LoginStopped(
            f"The server responded with {response.status} to a request with the token.",
            "The token may be valid: check the server's response.",
        )
    context.facts.session_id = response.header(SESSION_HEADER)
    context.facts.accepted_revision = revision
    context.add_decision("The server accepts the token.")


def _report_rejection(context: LoginContext, response: LoginResponse) -> None:
    attempt = Attempt("initialize", _tokens(context), is_first_use=True)
    refusal = read_refusal(response.status, response.headers)
    decision = check_refusal(refusal, attempt, StepUps(), context.revision)
    context.add_findings(decision.findings)
    context.add_table(
        "Why a server rejects a new token",
        ("Cause", "What to check"),
        (
            ("audience", "aud of the token against the server URL"),
            ("issuer", "iss of the token against the issuer that the server trusts"),
            ("clock", "iat, nbf and exp against the server's time"),
            ("scope", "granted scopes against the scope in the challenge"),
        ),
    )
    raise LoginStopped(f"The server rejected the new token ({response.status}). {decision.reason}")


async def verify(context: LoginContext) -> None:
    """List the tools, then end the session opened for it."""
    url, revision, id = (
        context.target.url,
        context.facts.accepted_revision or _revision(context),
        context.facts.session_id,
    )
    try:
        if revision.era is Era.SESSION:
            await _send(context, lambda headers: initialized_notification(url, revision, id, headers))
        response = await _send(context, lambda headers: list_request(url, revision, id, headers))
    finally:
        if id:
            with suppress(UserError):
                await _send(
                    context, lambda headers: delete_session_request(url, revision, id, headers), "DELETE"
                )
    if response.status in (401, 403):
        refusal = read_refusal(response.status, response.headers)
        attempt = Attempt("tools/list", _tokens(context), is_first_use=False)
        decision = check_refusal(refusal, attempt, StepUps(), context.revision)
        context.add_findings(decision.findings)
        context.add_decision(f"The server rejected tools/list ({response.status}). {decision.reason}")
        return
    context.add_decision(_listed(response))


def _listed(response: LoginResponse) -> str:
    for message in _messages(response):
        with suppress(JSONError):
            if message.kind is Kind.RESULT:
                tools = message.result.get("tools")
                count = len(tools) if isinstance(tools, list) else 0
                return f"The server lists {count:,} {'tool' if count == 1 else 'tools'}."
            if message.kind is Kind.ERROR:
                code = jsonrpc.error_of(message).code_text
                return f"The server responded to tools/list with an error, {code}, but accepted the token."
    return f"The server responded to tools/list with {response.status} and no JSON-RPC message."


def _messages(response: LoginResponse) -> list[Message]:
    if response.content_type != "text/event-stream":
        return [jsonrpc.read(response.body)]
    try:
        events = EventStreamReader(len(response.body) + 1).feed(response.body + b"\n\n")
    except EventTooLarge:
        return []
    return [jsonrpc.read(event.data) for event in events if event.data]


async def explain_lifetime(context: LoginContext) -> None:
    """Explain what will happen to the tokens; nothing is sent."""
    login = context.facts.stored_login
    assert login is not None
    tokens = login.tokens
    context.add_decision(decide_renewal(tokens, context.tools.now()).reason)
    if tokens.refresh_token and tokens.expires_at is not None:
        margin = refresh_margin(tokens.expires_at - tokens.received_at)
        context.add_decision(f"The access token is refreshed {margin:,.0f} seconds before it expires.")
    elif tokens.refresh_token:
        context.add_decision("When the server rejects it, it is refreshed with the refresh token.")
    elif context.grant is LoginGrant.ENTERPRISE:
        context.add_decision(
            "There is no refresh token: when it expires, your identity provider login is used to get "
            "another one."
        )
    elif not context.needs_browser:
        context.add_decision("There is no refresh token: when it expires, MCP Lens requests another one.")
    else:
        context.add_decision("There is no refresh token: when it expires, you must log in again.")
    if login.revocation_endpoint:
        context.add_decision(f"Logging out revokes it at {login.revocation_endpoint}.")
    else:
        context.add_decision("There is no revocation endpoint: logging out only deletes the token locally.")


async def _send(context: LoginContext, make: MakeRequest, method: str = "POST") -> LoginResponse:
    response = await context.send(make(_headers(context, method)))
    if not is_nonce_challenge(response.status, response.headers):
        return response
    context.add_decision("The server requires its nonce in the DPoP proof: sent again with it.")
    return await context.send(make(_headers(context, method)))


def _headers(context: LoginContext, method: str) -> Headers:
    tools = context.tools
    return token_headers(
        _tokens(context), context.facts.key, method, context.target.url, tools.now(), tools.nonces
    )


def _tokens(context: LoginContext) -> TokenSet:
    assert context.facts.stored_login is not None
    return context.facts.stored_login.tokens


def _revision(context: LoginContext) -> Revision:
    """Return the chosen protocol version, or the newest.

    Even if the login had to use the oldest flow, the server may be newer.
    """
    return context.overrides.revision or context.first_revision


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

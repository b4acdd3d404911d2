"""Last login steps: whether the server accepts the token, and when it will be refreshed."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

from inspector.base.errors import UserError
from inspector.base.json.values import JSONProblem
from inspector.oauth.authorizer import is_nonce_challenge, read_refusal, token_headers
from inspector.oauth.http import (
    LoginReply,
    LoginRequest,
    delete_session_request,
    initialize_request,
    initialized_notification,
    list_request,
)
from inspector.oauth.login.context import LoginContext, LoginStopped
from inspector.oauth.login.steps import LoginGrant
from inspector.protocol import jsonrpc
from inspector.protocol.auth.step_up import Attempt, StepUps, judge
from inspector.protocol.auth.tokens import TokenSet, decide_renewal, margin_of
from inspector.protocol.framing import EventStreamReader, EventTooLarge
from inspector.protocol.http_rules import SESSION_HEADER, Headers
from inspector.protocol.jsonrpc import Kind, Message
from inspector.protocol.revisions import NEWEST_HANDSHAKE, Era, Revision

MakeRequest = Callable[[Headers], LoginRequest]


async def prepare_call(stage: LoginContext) -> LoginRequest | None:
    url, revision = stage.target.url, _revision(stage)
    return initialize_request(url, revision, _headers(stage, "POST"))


async def call(stage: LoginContext) -> None:
    """Repeat the request that was rejected without a token, with it."""
    url, revision = stage.target.url, _revision(stage)
    reply = await _send(stage, lambda headers: initialize_request(url, revision, headers))
    if reply.status in (400, 404, 405, 406, 415) and revision.era is Era.STATELESS:
        stage.decide(
            f"The server did not accept the first request of {revision}: retried with {NEWEST_HANDSHAKE}."
        )
        revision = NEWEST_HANDSHAKE
        reply = await _send(stage, lambda headers: initialize_request(url, revision, headers))
    if reply.status in (401, 403):
        _refused(stage, reply)
    if not reply.is_success:
        raise LoginStopped(
            f"The server responded with {reply.status} to a request with the token.",
            "The token may be valid: check the server's response.",
        )
    stage.facts.session_id = reply.header(SESSION_HEADER)
    stage.facts.called_as = revision
    stage.decide("The server accepts the token.")


def _refused(stage: LoginContext, reply: LoginReply) -> None:
    attempt = Attempt("initialize", _tokens(stage), is_first_use=True)
    refusal = read_refusal(reply.status, reply.headers)
    verdict = judge(refusal, attempt, StepUps(), stage.revision)
    stage.find(verdict.findings)
    stage.show(
        "Why a server rejects a new token",
        ("Cause", "What to check"),
        (
            ("audience", "aud of the token against the server URL"),
            ("issuer", "iss of the token against the issuer that the server trusts"),
            ("clock", "iat, nbf and exp against the server's time"),
            ("scope", "granted scopes against the scope in the challenge"),
        ),
    )
    raise LoginStopped(f"The server rejected the new token ({reply.status}). {verdict.reason}")


async def verify(stage: LoginContext) -> None:
    """List the tools, then end the session opened for it."""
    url, revision, id = stage.target.url, stage.facts.called_as or _revision(stage), stage.facts.session_id
    try:
        if revision.era is Era.HANDSHAKE:
            await _send(stage, lambda headers: initialized_notification(url, revision, id, headers))
        reply = await _send(stage, lambda headers: list_request(url, revision, id, headers))
    finally:
        if id:
            with suppress(UserError):
                await _send(
                    stage, lambda headers: delete_session_request(url, revision, id, headers), "DELETE"
                )
    if reply.status in (401, 403):
        refusal = read_refusal(reply.status, reply.headers)
        attempt = Attempt("tools/list", _tokens(stage), is_first_use=False)
        verdict = judge(refusal, attempt, StepUps(), stage.revision)
        stage.find(verdict.findings)
        stage.decide(f"The server rejected tools/list ({reply.status}). {verdict.reason}")
        return
    stage.decide(_listed(reply))


def _listed(reply: LoginReply) -> str:
    for message in _messages(reply):
        with suppress(JSONProblem):
            if message.kind is Kind.RESULT:
                tools = message.result.get("tools")
                count = len(tools) if isinstance(tools, list) else 0
                return f"The server lists {count:,} {'tool' if count == 1 else 'tools'}."
            if message.kind is Kind.ERROR:
                error = jsonrpc.error_of(message)
                return (
                    f"The server responded to tools/list with an error ({error.code}), but accepted the "
                    "token."
                )
    return f"The server responded to tools/list with {reply.status} and no JSON-RPC message."


def _messages(reply: LoginReply) -> list[Message]:
    if reply.content_type != "text/event-stream":
        return [jsonrpc.read(reply.body)]
    try:
        events = EventStreamReader(len(reply.body) + 1).feed(reply.body + b"\n\n")
    except EventTooLarge:
        return []
    return [jsonrpc.read(event.data) for event in events if event.data]


async def look_ahead(stage: LoginContext) -> None:
    """Explain what will happen to the tokens; nothing is sent."""
    held = stage.facts.held
    assert held is not None
    tokens = held.tokens
    stage.decide(decide_renewal(tokens, stage.tools.now()).reason)
    if tokens.refresh_token and tokens.expires_at is not None:
        margin = margin_of(tokens.expires_at - tokens.received_at)
        stage.decide(f"The access token is refreshed {margin:,.0f} seconds before it expires.")
    elif tokens.refresh_token:
        stage.decide("When the server rejects it, it is refreshed with the refresh token.")
    elif stage.grant is LoginGrant.ENTERPRISE:
        stage.decide(
            "There is no refresh token: when it expires, your identity provider login is used to get "
            "another one."
        )
    elif not stage.needs_browser:
        stage.decide("There is no refresh token: when it expires, MCP Lens requests another one.")
    else:
        stage.decide("There is no refresh token: when it expires, you must log in again.")
    if held.revocation_endpoint:
        stage.decide(f"Logging out revokes it at {held.revocation_endpoint}.")
    else:
        stage.decide("There is no revocation endpoint: logging out only deletes the token locally.")


async def _send(stage: LoginContext, make: MakeRequest, method: str = "POST") -> LoginReply:
    reply = await stage.send(make(_headers(stage, method)))
    if not is_nonce_challenge(reply.status, reply.headers):
        return reply
    stage.decide("The server requires its nonce in the DPoP proof: sent again with it.")
    return await stage.send(make(_headers(stage, method)))


def _headers(stage: LoginContext, method: str) -> Headers:
    tools = stage.tools
    return token_headers(_tokens(stage), stage.facts.key, method, stage.target.url, tools.now(), tools.nonces)


def _tokens(stage: LoginContext) -> TokenSet:
    assert stage.facts.held is not None
    return stage.facts.held.tokens


def _revision(stage: LoginContext) -> Revision:
    """Return the chosen protocol version, or the newest.

    Even if the login had to use the oldest flow, the server may be newer.
    """
    return stage.overrides.revision or stage.first_revision

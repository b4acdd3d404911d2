"""A server that requires login, as the engine uses it: headers and reactions to 401 and 403."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from hashlib import sha256

import pytest

from inspector.base.errors import ConnectFailed, NeedsLogin, UserError
from inspector.config.servers.entries import (
    BearerSettings,
    HttpEntry,
    IdentityProvider,
    OAuthSettings,
    SecretRef,
)
from inspector.engine.calls.tool_calls import ToolCall
from inspector.engine.engine import Engine
from inspector.engine.login.logins import LoginRequested
from inspector.engine.views import OutcomeKind, ServerStatus
from inspector.oauth.login.report import login_text, login_trace
from inspector.oauth.login_reason import LoginReason
from inspector.oauth.signing import new_key
from inspector.protocol.auth.jwt import JwtView, read_jwt
from inspector.protocol.auth.pkce import b64url
from tests.helpers.fakes import FakeClock
from tests.unit.oauth.login_stage import SERVER, ReceivedRequest, ScriptedResponse, World, browse


@pytest.fixture
async def engine() -> AsyncIterator[Engine]:
    engine = Engine()
    engine.logins.opens_browser = frozenset(LoginReason)
    engine.logins.open_url = browse
    yield engine
    await engine.close()


def add(
    engine: Engine, world: World, auth: OAuthSettings | BearerSettings | None = None, **members: object
) -> None:
    engine.servers.add(HttpEntry(name=SERVER, url=world.url, type="http", auth=auth, **members))  # type: ignore[arg-type]


async def connect(engine: Engine, world: World, auth: OAuthSettings | None = None) -> None:
    add(engine, world, auth)
    await engine.servers.connector.connect(SERVER)


def jwt_of(token: str) -> JwtView:
    view = read_jwt(token)
    assert view is not None
    return view


async def test_connecting_to_a_server_that_requires_a_login_logs_in(engine: Engine, world: World) -> None:
    await connect(engine, world)
    assert [tool.name for tool in (await engine.list_tools(SERVER)).items] == ["read"]
    assert world.requested("/mcp")[-1].headers["authorization"] == "Bearer access-1"
    view = engine.logins.view(SERVER)
    assert view is not None
    assert view.result is not None


async def test_without_a_browser_the_server_needs_a_login_and_says_why(engine: Engine, world: World) -> None:
    engine.logins.opens_browser = frozenset()
    add(engine, world)
    with pytest.raises(NeedsLogin):
        await engine.servers.connector.connect(SERVER)
    view = engine.servers.get(SERVER).view
    assert view.status is ServerStatus.NEEDS_LOGIN
    assert "HTTP 401" in view.reason
    assert world.requested("/authorize") == []


async def test_stepped_login_is_used_by_the_connection(engine: Engine, world: World) -> None:
    engine.logins.opens_browser = frozenset()
    add(engine, world)
    await engine.logins.start(SERVER)
    await engine.logins.run(SERVER)
    await engine.servers.connector.connect(SERVER)
    assert len(world.requested("/authorize")) == 1


async def test_a_request_that_needs_a_login_only_offers_it_when_no_browser_may_open(
    engine: Engine, world: World
) -> None:
    engine.logins.opens_browser = frozenset({LoginReason.CONNECT})
    wanted: list[LoginRequested] = []
    engine.logins.login_requested.connect(wanted.append)
    await connect(engine, world)
    world.tokens.clear()
    world.refresh = False
    await engine.logins.delete_tokens(SERVER)
    outcome = await engine.tool_caller.call(SERVER, ToolCall("read"))
    assert outcome.kind is OutcomeKind.FAILED
    assert "login" in outcome.summary
    assert [each.occasion for each in wanted] == [LoginReason.CALL]
    assert len(world.requested("/authorize")) == 1


async def test_tokens_survive_a_disconnect(engine: Engine, world: World) -> None:
    await connect(engine, world)
    await engine.servers.connector.disconnect(SERVER)
    await engine.servers.connector.connect(SERVER)
    assert len(world.requested("/authorize")) == 1


async def test_configured_authorization_header_disables_the_login(engine: Engine, world: World) -> None:
    add(engine, world, headers={"authorization": "Bearer mine"})
    with pytest.raises(ConnectFailed, match="The server rejected your Authorization header"):
        await engine.servers.connector.connect(SERVER)
    assert world.requested("/mcp")[-1].headers["authorization"] == "Bearer mine"
    assert world.requested("/authorize") == []


async def test_user_supplied_bearer_token_is_sent_and_never_refreshed(engine: Engine, world: World) -> None:
    world.tokens.append("by-hand")
    await engine.secrets.put("bearer/notes", "by-hand")
    add(engine, world, BearerSettings(token=SecretRef("bearer/notes")))
    await engine.servers.connector.connect(SERVER)
    assert world.requested("/mcp")[-1].headers["authorization"] == "Bearer by-hand"
    world.tokens.clear()
    outcome = await engine.tool_caller.call(SERVER, ToolCall("read"))
    assert "bearer token" in outcome.summary


async def test_a_removed_server_leaves_nothing_in_the_secret_store(engine: Engine, world: World) -> None:
    await connect(engine, world)
    assert await engine.secrets.stored() != ()
    await engine.servers.remove(SERVER)
    assert await engine.secrets.stored() == ()


async def test_tokens_are_not_reused_after_the_url_changed(engine: Engine, world: World) -> None:
    await connect(engine, world)
    async with World() as other:
        store = engine.logins.authorizer(SERVER).store
        moved = type(store)(engine.secrets, SERVER, other.url)
        assert await moved.newest_login() is None
        assert await store.newest_login() is not None


async def test_token_of_one_server_is_never_sent_to_another(engine: Engine, world: World) -> None:
    """T15: a server must not receive the token of another, however it comes into the user's list."""
    await connect(engine, world)
    async with World() as other:
        world.paths["/mcp"] = lambda seen: ScriptedResponse(307, headers={"Location": other.url})
        await engine.tool_caller.call(SERVER, ToolCall("read"))
        assert other.seen == []
        engine.servers.add(HttpEntry(name="second", url=other.url, type="http"))
        engine.logins.opens_browser = frozenset()
        with pytest.raises(NeedsLogin):
            await engine.servers.connector.connect("second")
        await engine.servers.update(SERVER, HttpEntry(name=SERVER, url=other.url, type="http"))
        with pytest.raises(NeedsLogin):
            await engine.servers.connector.connect(SERVER)
        assert other.requested("/mcp")
        for seen in other.seen:
            assert "authorization" not in seen.headers
            assert "access-1" not in str((seen.headers, seen.query, seen.body))


async def test_login_sends_the_server_headers_from_the_secret_store(engine: Engine, world: World) -> None:
    await engine.secrets.put("header/notes/X-Gateway", "k3y-of-the-gateway")
    add(engine, world, headers={"X-Gateway": SecretRef("header/notes/X-Gateway"), "X-Plain": "1"})
    await engine.logins.start(SERVER)
    view = await engine.logins.run(SERVER)
    assert view.failure == ""
    requested = [seen for seen in world.seen if seen.path != "/authorize"]
    assert {seen.headers.get("x-gateway") for seen in requested} == {"k3y-of-the-gateway"}
    assert {seen.headers.get("x-plain") for seen in requested} == {"1"}
    assert "k3y-of-the-gateway" not in login_text(view) + login_trace(view).decode()
    assert b"k3y-of-the-gateway" in engine.log.credentials.names_by_value(), "the log knows it, and masks it"


async def test_login_with_a_missing_server_secret_sends_nothing(engine: Engine, world: World) -> None:
    add(engine, world, headers={"X-Gateway": SecretRef("header/notes/X-Gateway")})
    await engine.logins.start(SERVER)
    view = await engine.logins.run(SERVER)
    assert "X-Gateway" in view.failure
    assert world.seen == []


@pytest.mark.parametrize(("life", "age"), [(300, 240), (40, 30)])
async def test_token_is_refreshed_shortly_before_it_expires(world: World, life: int, age: int) -> None:
    clock = FakeClock()
    engine = Engine(clock=clock)
    engine.logins.opens_browser = frozenset(LoginReason)
    engine.logins.open_url = browse
    world.expires_in = life
    try:
        await connect(engine, world)
        clock.advance(age - 1)
        await engine.list_tools(SERVER)
        assert len(world.requested("/token")) == 1
        for _ in range(2):
            clock.advance(age)
            await engine.list_tools(SERVER)
            await engine.list_tools(SERVER)
    finally:
        await engine.close()
    forms = [seen.form for seen in world.requested("/token")]
    kinds = [form["grant_type"] for form in forms]
    assert kinds == ["authorization_code", "refresh_token", "refresh_token"], "once, and not at each request"
    assert forms[1]["refresh_token"] == "refresh-1"
    assert forms[1]["resource"] == world.url
    assert forms[2]["refresh_token"] == "refresh-2", "the rotated one counts"


async def test_rejected_token_is_refreshed_once_and_the_request_resent(engine: Engine, world: World) -> None:
    await connect(engine, world)
    world.tokens.remove("access-1")
    listing = await engine.list_tools(SERVER)
    assert len(listing.items) == 1
    assert [seen.form["grant_type"] for seen in world.requested("/token")] == [
        "authorization_code",
        "refresh_token",
    ]
    assert len(world.requested("/authorize")) == 1


async def test_server_that_rejects_the_refreshed_token_too_is_not_retried_endlessly(
    engine: Engine, world: World
) -> None:
    await connect(engine, world)
    challenge = {"WWW-Authenticate": world.challenge()}
    world.paths["/mcp"] = lambda _: ScriptedResponse(401, headers=challenge)
    before = len(world.requested("/mcp"))
    outcome = await engine.tool_caller.call(SERVER, ToolCall("read"))
    assert outcome.kind is OutcomeKind.FAILED
    assert len(world.requested("/mcp")) - before == 2
    assert len(world.requested("/token")) == 2


async def test_a_refused_refresh_token_leads_to_a_login(engine: Engine, world: World) -> None:
    await connect(engine, world)
    works = world.token

    def token(seen: ReceivedRequest) -> ScriptedResponse:
        is_refresh = seen.form["grant_type"] == "refresh_token"
        return ScriptedResponse(400, {"error": "invalid_grant"}) if is_refresh else works(seen)

    world.paths["/token"] = token
    world.tokens.clear()
    await engine.list_tools(SERVER)
    assert len(world.requested("/authorize")) == 2


async def test_server_error_does_not_discard_the_refresh_token(engine: Engine, world: World) -> None:
    await connect(engine, world)
    world.paths["/token"] = lambda _: ScriptedResponse(503)
    world.tokens.clear()
    with pytest.raises(UserError, match="503"):
        await engine.list_tools(SERVER)
    assert len(world.requested("/authorize")) == 1
    world.paths["/token"] = world.token
    await engine.list_tools(SERVER)
    assert world.requested("/token")[-1].form["refresh_token"] == "refresh-1"


async def test_many_rejected_requests_refresh_once(engine: Engine, world: World) -> None:
    await connect(engine, world)
    world.tokens.clear()
    outcomes = await asyncio.gather(*(engine.tool_caller.call(SERVER, ToolCall("read")) for _ in range(8)))
    assert {outcome.kind for outcome in outcomes} == {OutcomeKind.RESULT}
    assert len(world.requested("/token")) == 2


async def test_token_is_known_to_be_expired_after_a_restart(world: World) -> None:
    clock = FakeClock()
    engine = Engine(clock=clock)
    engine.logins.opens_browser = frozenset(LoginReason)
    engine.logins.open_url = browse
    await connect(engine, world)
    secrets = engine.secrets
    clock.advance(3600)
    again = Engine(clock=clock, secrets=secrets)
    add(again, world)
    await again.servers.connector.connect(SERVER)
    assert world.requested("/token")[-1].form["grant_type"] == "refresh_token"
    await again.servers.connector.disconnect(SERVER)
    await engine.close()
    await again.close()


def needs_scope(world: World, scope: str) -> None:
    """Make `tools/call` require a scope; a token has the scopes of its login."""
    works = world.mcp

    def mcp(seen: ReceivedRequest) -> ScriptedResponse:
        number = seen.headers.get("authorization", "").rpartition("-")[2]
        is_call = b'"tools/call"' in seen.body
        if is_call and number and scope not in world.requested("/authorize")[int(number) - 1].query["scope"]:
            header = f'Bearer error="insufficient_scope", scope="{scope}"'
            return ScriptedResponse(403, headers={"WWW-Authenticate": header})
        return works(seen)

    world.paths["/mcp"] = mcp


async def test_missing_scope_is_requested_together_with_the_previous_ones(
    engine: Engine, world: World
) -> None:
    needs_scope(world, "notes:write")
    await connect(engine, world)
    outcome = await engine.tool_caller.call(SERVER, ToolCall("read"))
    assert outcome.kind is OutcomeKind.RESULT
    scopes = [seen.query["scope"] for seen in world.requested("/authorize")]
    assert scopes == ["notes:read", "notes:read notes:write"]


async def test_server_that_never_accepts_the_scopes_is_abandoned(engine: Engine, world: World) -> None:
    needs_scope(world, "never:granted")
    works = world.authorize

    def authorize(seen: ReceivedRequest) -> ScriptedResponse:
        seen.query["scope"] = "notes:read"
        return works(seen)

    world.paths["/authorize"] = authorize
    await connect(engine, world)
    for _ in range(5):
        outcome = await engine.tool_caller.call(SERVER, ToolCall("read"))
        assert outcome.kind is OutcomeKind.FAILED
        assert "never:granted" in outcome.summary
    assert len(world.requested("/authorize")) <= 3


async def test_plain_403_is_not_a_scope_challenge(engine: Engine, world: World) -> None:
    await connect(engine, world)
    world.paths["/mcp"] = lambda _: ScriptedResponse(403)
    outcome = await engine.tool_caller.call(SERVER, ToolCall("read"))
    assert outcome.kind is OutcomeKind.FAILED
    assert len(world.requested("/authorize")) == 1


async def test_server_that_moves_to_another_issuer_gets_nothing_from_the_old_one(
    engine: Engine, world: World
) -> None:
    await connect(engine, world)
    async with World() as other:
        world.resource["authorization_servers"] = [other.origin]
        world.tokens = other.tokens
        await engine.list_tools(SERVER)
        assert len(other.requested("/register")) == len(other.requested("/authorize")) == 1
        assert "refresh_token" not in other.requested("/token")[0].form
        assert len(world.requested("/token")) == 1, "the old refresh token is not tried: the server has moved"


async def test_logging_out_revokes_the_refresh_token(engine: Engine, world: World) -> None:
    await connect(engine, world)
    text = await engine.logins.log_out(SERVER)
    assert text == "Logged out. Tokens revoked."
    [revoked] = world.requested("/revoke")
    assert revoked.form["token"] == "refresh-1"
    assert revoked.form["token_type_hint"] == "refresh_token"
    assert await engine.logins.tokens(SERVER) is None


async def test_logging_out_forgets_the_tokens_even_if_revocation_fails(engine: Engine, world: World) -> None:
    await connect(engine, world)
    world.paths["/revoke"] = lambda _: ScriptedResponse(500)
    assert "500" in await engine.logins.log_out(SERVER)
    assert await engine.logins.authorizer(SERVER).store.newest_login() is None


async def test_client_credentials_work_with_a_secret(engine: Engine, world: World) -> None:
    world.server["token_endpoint_auth_methods_supported"] = ["client_secret_basic"]
    await engine.secrets.put("s", "hush")
    settings = OAuthSettings(
        grant="client_credentials",
        client_id="robot",
        client_secret=SecretRef("s"),
        issuer=world.origin,
    )
    engine.logins.opens_browser = frozenset()
    await connect(engine, world, settings)
    [seen] = world.requested("/token")
    assert seen.form == {
        "grant_type": "client_credentials",
        "resource": world.url,
        "scope": "notes:read",
    }
    assert seen.headers["authorization"].startswith("Basic ")


@pytest.mark.parametrize("issuer", ["https://as.example", "{origin}/"], ids=["another", "trailing slash"])
async def test_a_secret_is_not_sent_to_an_issuer_that_the_server_chose(
    engine: Engine, world: World, issuer: str
) -> None:
    """T14: the server chooses which authorization server gets a stored secret."""
    await engine.secrets.put("s", "hush")
    settings = OAuthSettings(
        grant="client_credentials",
        client_id="robot",
        client_secret=SecretRef("s"),
        issuer=issuer.format(origin=world.origin),
    )
    with pytest.raises(NeedsLogin, match="does not list this authorization server"):
        await connect(engine, world, settings)
    assert world.requested("/token") == []


async def test_client_credentials_assertion_has_the_issuer_as_audience(engine: Engine, world: World) -> None:
    world.server["token_endpoint_auth_methods_supported"] = ["private_key_jwt"]
    await engine.secrets.put("k", new_key().pem())
    settings = OAuthSettings(
        grant="client_credentials", client_id="robot", key=SecretRef("k"), issuer=world.origin
    )
    await connect(engine, world, settings)
    claims = jwt_of(world.requested("/token")[0].form["client_assertion"]).claims
    assert claims["iss"] == claims["sub"] == "robot"
    assert claims["aud"] == world.origin


async def test_each_request_declares_the_client_credentials_extension(engine: Engine, world: World) -> None:
    await engine.secrets.put("s", "hush")
    settings = OAuthSettings(
        grant="client_credentials", client_id="robot", client_secret=SecretRef("s"), issuer=world.origin
    )
    world.server["token_endpoint_auth_methods_supported"] = ["client_secret_basic"]
    await connect(engine, world, settings)
    await engine.list_tools(SERVER)
    meta = world.requested("/mcp")[-1].json["params"]["_meta"]
    reported = meta["io.modelcontextprotocol/clientCapabilities"]["extensions"]
    assert reported == {"io.modelcontextprotocol/oauth-client-credentials": {}}


async def test_an_enterprise_login_exchanges_the_id_token_first(engine: Engine, world: World) -> None:
    world.paths["/idp/token"] = lambda _: ScriptedResponse(
        body={
            "access_token": "the-id-jag",
            "issued_token_type": "urn:ietf:params:oauth:token-type:id-jag",
            "token_type": "N_A",
            "expires_in": 300,
        }
    )
    world.server["token_endpoint_auth_methods_supported"] = ["client_secret_basic"]
    await engine.secrets.put("s", "hush")
    await engine.secrets.put("id", "the-id-token")
    provider = IdentityProvider(
        token_endpoint=f"{world.origin}/idp/token", client_id="at-idp", id_token=SecretRef("id")
    )
    settings = OAuthSettings(
        grant="enterprise",
        client_id="robot",
        client_secret=SecretRef("s"),
        issuer=world.origin,
        identity_provider=provider,
    )
    await connect(engine, world, settings)
    exchange, token = world.requested("/idp/token")[0].form, world.requested("/token")[0].form
    assert exchange["subject_token"] == "the-id-token"
    assert exchange["audience"] == world.origin
    assert exchange["resource"] == token["resource"] == world.url
    assert token["assertion"] == "the-id-jag"


async def test_workload_sends_its_jwt_and_is_not_asked_twice(
    engine: Engine, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WORKLOAD_JWT", "a.b.c\n")
    settings = OAuthSettings(grant="wif", assertion_variable="WORKLOAD_JWT", issuer=world.origin)
    world.paths["/token"] = lambda _: ScriptedResponse(400, {"error": "invalid_grant"})
    with pytest.raises(NeedsLogin, match="invalid_grant"):
        await connect(engine, world, settings)
    [seen] = world.requested("/token")
    assert seen.form["assertion"] == "a.b.c"
    assert "client_id" not in seen.form


class Binding:
    """Makes a world issue DPoP-bound tokens and require nonces."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.proofs: list[JwtView] = []
        world.server["dpop_signing_alg_values_supported"] = ["ES256"]
        self._mcp, self._token = world.mcp, world.token
        world.paths["/mcp"], world.paths["/token"] = self.mcp, self.token

    def mcp(self, seen: ReceivedRequest) -> ScriptedResponse:
        location = f"{self.world.origin}/.well-known/oauth-protected-resource/mcp"
        if "dpop" not in seen.headers:
            return ScriptedResponse(401, headers={"WWW-Authenticate": f'DPoP resource_metadata="{location}"'})
        proof = jwt_of(seen.headers["dpop"])
        self.proofs.append(proof)
        if proof.claims.get("nonce") != "of-server":
            return ScriptedResponse(
                401,
                headers={"WWW-Authenticate": 'DPoP error="use_dpop_nonce"', "DPoP-Nonce": "of-server"},
            )
        return self._mcp(seen)

    def token(self, seen: ReceivedRequest) -> ScriptedResponse:
        proof = jwt_of(seen.headers["dpop"])
        self.proofs.append(proof)
        if proof.claims.get("nonce") != "of-issuer":
            return ScriptedResponse(400, {"error": "use_dpop_nonce"}, {"DPoP-Nonce": "of-issuer"})
        response = self._token(seen)
        response.body["token_type"] = "DPoP"
        return response


async def test_bound_token_is_sent_with_a_new_proof_every_time(engine: Engine, world: World) -> None:
    binding = Binding(world)
    await connect(engine, world)
    await engine.list_tools(SERVER)
    requested = world.requested("/mcp")[-1]
    assert requested.headers["authorization"].startswith("DPoP access-")
    proof = jwt_of(requested.headers["dpop"])
    assert proof.claims["htu"] == world.url
    assert proof.claims["ath"] == b64url(sha256(b"access-2").digest())
    ids = [one.claims["jti"] for one in binding.proofs]
    assert len(set(ids)) == len(ids)
    assert len(world.requested("/authorize")) == 1, "the demand for a nonce is no failed login"
    assert len(world.requested("/token")) == 2


async def test_a_refresh_of_a_bound_token_is_proven_with_the_same_key(engine: Engine, world: World) -> None:
    binding = Binding(world)
    await connect(engine, world)
    world.tokens.clear()
    await engine.list_tools(SERVER)
    assert world.requested("/token")[-1].form["grant_type"] == "refresh_token"
    keys = {str(one.header["jwk"]) for one in binding.proofs}
    assert len(keys) == 1

"""Where tokens, codes and secrets must not be sent, and what must be closed."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from inspector.base.clock import SystemClock
from inspector.base.errors import ConfigError, NeedsLogin, NotReached, UserError
from inspector.config.secrets.store import SecretStore
from inspector.config.servers.entries import BearerSettings, HttpEntry, OAuthSettings, SecretRef
from inspector.engine.calls.tool_calls import ToolCall
from inspector.engine.engine import Engine
from inspector.engine.views import OutcomeKind
from inspector.oauth.http import LoginResponse, post_form
from inspector.oauth.login.context import LoginFacts
from inspector.oauth.login.steps import LoginPromptKind, StepId
from inspector.oauth.login_reason import LoginReason
from inspector.oauth.loopback import LoopbackListener
from inspector.oauth.store import LoginStore
from inspector.protocol.auth.authorization_request import AuthorizationRequest, authorization_url
from inspector.protocol.auth.token_request import AuthMethod, authenticate
from inspector.protocol.revisions import R5
from inspector.transport.network import Network, explain, make_client
from tests.helpers.fakes import FakeClock
from tests.unit.oauth.login_stage import SERVER, Harness, World, browse

MARKER = "m4rk3r-s3cr3t"


@pytest.fixture
async def engine() -> AsyncIterator[Engine]:
    engine = Engine()
    engine.logins.opens_browser = frozenset(LoginReason)
    engine.logins.open_url = browse
    yield engine
    await engine.close()


def entry(world: World, auth: OAuthSettings | BearerSettings | None = None) -> HttpEntry:
    return HttpEntry(name=SERVER, url=world.url, type="http", auth=auth)


def is_free(redirect_uri: str) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", urlsplit(redirect_uri).port or 0)) != 0


async def test_expired_token_without_a_refresh_token_leads_to_a_login(world: World) -> None:
    clock = FakeClock()
    engine = Engine(clock=clock)
    engine.logins.opens_browser = frozenset(LoginReason)
    engine.logins.open_url = browse
    try:
        world.refresh = False
        engine.servers.add(entry(world))
        await engine.servers.connector.connect(SERVER)
        clock.advance(4_000)
        assert (await engine.tool_caller.call(SERVER, ToolCall("read"))).kind is OutcomeKind.RESULT
        assert len(world.requested("/authorize")) == 2
    finally:
        await engine.close()


async def test_logging_out_leaves_no_token_of_a_previous_issuer(engine: Engine, world: World) -> None:
    engine.servers.add(entry(world))
    await engine.servers.connector.connect(SERVER)
    store = LoginStore(engine.secrets, SERVER, world.url)
    held = await store.newest_login()
    assert held is not None
    before = replace(held.tokens, issuer="http://before.example", access_token="old", refresh_token="")
    await store.save_login(replace(held, tokens=replace(before, received_at=1.0), revocation_endpoint=""))
    await engine.logins.log_out(SERVER)
    assert await store.newest_login() is None
    assert world.requested("/revoke")[0].form["token"] == "refresh-1"


async def test_forgetting_tokens_leaves_none_of_a_previous_issuer(engine: Engine, world: World) -> None:
    engine.servers.add(entry(world))
    await engine.servers.connector.connect(SERVER)
    store = LoginStore(engine.secrets, SERVER, world.url)
    held = await store.newest_login()
    assert held is not None
    await store.save_login(replace(held, tokens=replace(held.tokens, issuer="http://before.example")))
    await engine.logins.delete_tokens(SERVER)
    assert await store.newest_login() is None


async def test_workload_sends_its_jwt_only_to_the_configured_issuer(
    harness: Harness, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not even without metadata, where 2025-03-26 uses the server's own host."""
    monkeypatch.setenv("WORKLOAD_JWT", MARKER)
    del world.paths["/.well-known/oauth-protected-resource/mcp"]
    settings = OAuthSettings(grant="wif", issuer="https://as.example", assertion_variable="WORKLOAD_JWT")
    async with harness.login(world, settings=settings) as login:
        await login.run()
        assert "https://as.example" in login.view.failure
    assert not any(MARKER.encode() in one.body for one in world.seen)


async def test_without_an_issuer_the_user_is_asked_before_a_jwt_is_sent(
    harness: Harness, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WORKLOAD_JWT", MARKER)
    settings = OAuthSettings(grant="wif", assertion_variable="WORKLOAD_JWT")
    async with harness.login(world, settings=settings) as login:
        await login.run()
        prompt = login.view.prompt
        assert prompt is not None
        assert (prompt.kind, prompt.issuer) == (LoginPromptKind.ISSUER, world.origin)
        assert "workload JWT" in prompt.text
        assert "issuer in the server's settings" in prompt.text
        assert not any(MARKER.encode() in one.body for one in world.seen)
        await login.answer_consent(False)
        assert "did not trust" in login.view.failure
        await login.retry()  # asks again instead of skipping the question
        assert login.view.prompt == prompt
        await login.answer_consent(True)
        await login.run()
        assert login.view.failure == ""
    assert world.requested("/token")[0].form["assertion"] == MARKER
    async with harness.login(world, settings=settings) as login:  # and the question does not return
        await login.run()
        assert (login.view.prompt, login.view.failure) == (None, "")
    assert not await LoginStore(harness.secrets, SERVER, "https://other.example/mcp").trusts_issuer(
        world.origin
    )


@pytest.mark.parametrize("grant", ["client_credentials", "enterprise", "wif"])
async def test_unattended_grant_asks_for_consent_and_sends_nothing(
    engine: Engine, world: World, grant: Any
) -> None:
    engine.servers.add(entry(world, OAuthSettings(grant=grant, client_id="c")))
    with pytest.raises(NeedsLogin, match="Send it "):
        await engine.servers.connector.connect(SERVER)
    assert world.requested("/token") == []


async def test_secret_of_another_issuer_is_not_sent_with_a_refresh(engine: Engine, world: World) -> None:
    settings = OAuthSettings(client_id="client-1", client_secret=SecretRef("login/notes/secret"))
    await engine.secrets.put("login/notes/secret", "first")
    world.server["token_endpoint_auth_methods_supported"] = ["client_secret_post", "none"]
    engine.servers.add(entry(world, settings))
    await engine.servers.connector.connect(SERVER)
    await engine.secrets.put("login/notes/secret", MARKER)
    account = engine.logins._account(SERVER)
    account.lifecycle._settings = replace(settings, issuer="https://as.example")
    await engine.logins.refresh(SERVER)
    assert len(world.requested("/token")) == 2
    assert MARKER not in world.requested("/token")[-1].form.values()


async def test_consent_to_private_addresses_applies_to_one_url(harness: Harness, world: World) -> None:
    await harness.store(world).allow_private()
    assert await harness.store(world).allows_private()
    assert not await LoginStore(harness.secrets, SERVER, "https://other.example/mcp").allows_private()


async def test_a_code_is_not_sent_again_when_the_request_is_tried_again(
    harness: Harness, world: World
) -> None:
    async with harness.login(world) as login:
        await login.run_to(StepId.TOKEN_REQUEST)
        await login.back(StepId.TOKEN_REQUEST)
        await login.next()
        assert "has been used" in login.view.failure
    assert len(world.requested("/token")) == 1


async def test_removed_server_leaves_no_tokens_of_a_cancelled_login(engine: Engine, world: World) -> None:
    engine.servers.add(entry(world))
    await engine.servers.connector.connect(SERVER)
    await engine.servers.connector.disconnect(SERVER)
    await engine.logins.drop(SERVER)
    engine.logins.authorization_for(entry(world, BearerSettings(token=SecretRef("login/notes/bearer"))))
    await engine.servers.remove(SERVER)
    assert [secret.name for secret in await engine.secrets.stored()] == []


@pytest.mark.parametrize("is_waiting", [True, False])
async def test_cancelled_login_frees_the_port_immediately(
    harness: Harness, world: World, is_waiting: bool
) -> None:
    opened = asyncio.Event()

    async def browse_and_forget(url: str) -> None:
        opened.set()

    async with harness.login(world, browse=browse_and_forget) as login:
        last = StepId.WAIT if is_waiting else StepId.PREPARE
        running = asyncio.create_task(login.run_to(last))
        await (opened.wait() if is_waiting else running)
        listener = login._context.listener
        assert listener is not None
        login.cancel()
        await running
        await login._tasks.settle(5)
        assert is_free(listener.wait.redirect_uri)


async def test_cancelled_listener_leaves_no_port_open() -> None:
    listener = LoopbackListener(SystemClock())
    opening = asyncio.create_task(listener.open())
    await asyncio.sleep(0)  # now it has the port, and other tasks run
    opening.cancel()
    with pytest.raises(asyncio.CancelledError):
        await opening
    assert is_free(listener.wait.redirect_uri)


def test_unsendable_header_is_not_quoted() -> None:
    h11 = pytest.importorskip("h11")
    headers = [("Host", "a"), ("Authorization", f"Bearer {MARKER}\n")]
    with pytest.raises(h11.LocalProtocolError) as caught:
        h11.Request(method="GET", target="/", headers=headers)
    reported = explain(caught.value, "https://notes.example")
    assert isinstance(reported, NotReached)
    assert MARKER not in str(reported)
    assert "header" in reported.summary


async def test_a_bearer_token_with_a_line_break_is_not_quoted(engine: Engine, world: World) -> None:
    await engine.secrets.put("login/notes/bearer", f"{MARKER}\n")
    engine.servers.add(entry(world, BearerSettings(token=SecretRef("login/notes/bearer"))))
    with pytest.raises(UserError) as caught:
        await engine.servers.connector.connect(SERVER)
    assert MARKER not in str(caught.value)


def test_login_requests_responses_and_facts_show_no_secrets() -> None:
    request = post_form("https://as.example/token", [("code", MARKER)], (("Authorization", MARKER),))
    response = LoginResponse("https://as.example/token", 200, (("Set-Cookie", MARKER),), MARKER.encode())
    facts = LoginFacts(
        R5,
        verifier=MARKER,
        state=MARKER,
        response=MARKER,
        code=MARKER,
        assertion=MARKER,
        token_response=response,
    )
    requested = AuthorizationRequest("client", "http://127.0.0.1:1/callback", MARKER, "challenge")
    url = authorization_url("https://as.example/authorize", requested)
    proof = authenticate(AuthMethod.POST, "client", secret=MARKER)
    every = (request, response, facts, requested, url, proof)
    assert not [type(each).__name__ for each in every if MARKER in repr(each)]


@pytest.mark.parametrize("proxy", [f"htp://me:{MARKER}@proxy.example:3128", f"http://me:{MARKER}@proxy:x"])
def test_a_proxy_that_cannot_be_used_is_named_without_its_password(proxy: str) -> None:
    with pytest.raises(ConfigError) as caught:
        make_client(Network(proxy=proxy), "http://notes.example/mcp")
    assert MARKER not in str(caught.value)
    assert "proxy" in caught.value.summary


def test_a_secret_in_memory_can_be_deleted_though_the_file_is_damaged(tmp_path: Path) -> None:
    store = SecretStore(tmp_path)
    store.put("oauth/tokens", MARKER, in_memory=True)
    (tmp_path / "vault.json").write_text("{")
    assert store.delete("oauth/tokens")
    assert store.get("oauth/tokens") is None


@pytest.mark.parametrize("fault", ["", "no document", "of another server"])
async def test_key_in_the_server_url_is_shown_only_in_requests_and_sent_nowhere_else(
    engine: Engine, world: World, fault: str
) -> None:
    if fault == "no document":
        del world.paths["/.well-known/oauth-protected-resource/mcp"]
    if fault == "of another server":
        world.resource["resource"] = "https://other.example/mcp"
    engine.logins.open_url = browse
    engine.servers.add(HttpEntry(name=SERVER, url=f"{world.url}?api_key={MARKER}", type="http"))
    await engine.logins.start(SERVER)
    view = await engine.logins.run(SERVER)
    reported = [view.failure, view.next_step]
    for step in view.steps:
        reported += [step.problem, *(each.text for each in step.decisions)]
        reported += [each.value for each in step.inputs if not each.is_secret]
        reported += [cell for table in step.tables for row in table.rows for cell in row]
        reported += [f"{found.text} {found.evidence}" for found in step.findings]
    assert any("api_key=•••" in text for text in reported)
    assert [text for text in reported if MARKER in text] == []
    assert {seen.path for seen in world.seen if MARKER in f"{seen.query} {seen.body!r}"} <= {
        "/mcp",
        "/.well-known/oauth-protected-resource/mcp",  # RFC 9728, section 3.1: the query stays
    }

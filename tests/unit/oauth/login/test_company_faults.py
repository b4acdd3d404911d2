"""Enterprise logins with a fault: network, settings, or a concurrent login."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import pytest

from inspector.base.errors import NeedsLogin, UserError
from inspector.config.servers.entries import HttpEntry, IdentityProvider, OAuthSettings, SecretRef
from inspector.engine.calls.tool_calls import ToolCall
from inspector.engine.engine import Engine
from inspector.engine.login.logins import LoginRequested
from inspector.engine.views import OutcomeKind
from inspector.oauth.login.flow import Login
from inspector.oauth.login.steps import LoginPromptKind, LoginView, Overrides, Step, StepId, StepState
from inspector.oauth.login_reason import LoginReason
from inspector.protocol.auth.url_guard import UrlBlocked, check_url
from tests.helpers.fakes import FakeClock
from tests.unit.oauth.login.company import Company
from tests.unit.oauth.login_stage import SERVER, Harness, ReceivedRequest, ScriptedResponse, World, browse


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
async def harness(clock: FakeClock) -> AsyncIterator[Harness]:
    harness = Harness(clock)
    await harness.secrets.put("secret", "hush")
    yield harness
    await harness.secrets.end()


@pytest.fixture
async def company(world: World) -> Company:
    return Company(world)


async def log_in(
    harness: Harness, company: Company, overrides: Overrides | None = None, **more: Any
) -> LoginView:
    settings = more.pop("settings", company.settings)
    async with harness.login(company.world, overrides, settings=settings, **more) as login:
        await login.run()
        return login.view


def step(view: LoginView, id: StepId) -> Step:
    return next(step for step in view.steps if step.id is id)


def at(company: Company, issuer: str) -> OAuthSettings:
    """Return the settings with the provider at another URL."""
    return replace(
        company.settings, identity_provider=IdentityProvider(issuer=issuer, client_id="desktop-app")
    )


def later(company: Company, clock: FakeClock) -> None:
    """Move the clock past the expiry of all ID tokens so far."""
    clock.advance(3600)
    company.now += 3600


async def test_a_provider_that_cannot_be_reached_is_named_with_the_cause(
    harness: Harness, company: Company, unused_tcp_port: int
) -> None:
    view = await log_in(harness, company, settings=at(company, f"http://127.0.0.1:{unused_tcp_port}/idp"))
    assert step(view, StepId.PROVIDER_LOOKUP).state is StepState.FAILED
    assert "Could not reach" in view.failure
    assert "Connection refused" in view.failure
    assert "shows no metadata" not in view.failure


@pytest.mark.parametrize(
    "issuer", ["login", "http://[", "https://a b/", "javascript:alert(1)", "https://u:p@h"]
)
async def test_issuer_that_is_not_a_url_is_rejected_with_the_reason(
    harness: Harness, company: Company, issuer: str
) -> None:
    async with harness.login(company.world, settings=at(company, issuer)) as login:
        await login.begin()
        await login.run_to(StepId.PREPARE)
        assert step(login.view, StepId.PREPARE).state is StepState.DONE
        await login.run()
        view = login.view
    assert step(view, StepId.PROVIDER_LOOKUP).state is StepState.FAILED
    assert "mistake of ours" not in view.next_step
    assert "issuer" in f"{view.failure} {view.next_step}"


async def test_network_loss_during_a_refresh_keeps_the_provider_login(
    harness: Harness, company: Company, clock: FakeClock
) -> None:
    await log_in(harness, company)
    later(company, clock)
    works = company.world.paths["/idp/token"]
    company.world.paths["/idp/token"] = lambda _: ScriptedResponse(503)
    view = await log_in(harness, company)
    assert "503" in view.failure
    company.world.paths["/idp/token"] = works
    assert (await log_in(harness, company)).failure == ""
    assert len(company.requested()) == 1, "no second login"


async def test_invalid_refreshed_token_ends_the_provider_login(
    harness: Harness, company: Company, clock: FakeClock
) -> None:
    """Otherwise every login would end there until the user logs out."""
    await log_in(harness, company)
    later(company, clock)
    company.claims = {"sub": "grace"}
    assert "a different user" in (await log_in(harness, company)).failure
    assert await harness.store(company.world).provider_logins() == ()
    assert (await log_in(harness, company)).failure == ""
    assert len(company.requested()) == 2


@pytest.fixture
async def engine(company: Company) -> AsyncIterator[Engine]:
    engine = Engine(clock=FakeClock())
    engine.logins.opens_browser = frozenset({LoginReason.CONNECT})
    engine.logins.open_url = browse
    await engine.secrets.put("secret", "hush")
    engine.servers.add(HttpEntry(name=SERVER, url=company.world.url, type="http", auth=company.settings))
    yield engine
    await engine.close()


async def test_user_is_asked_to_log_in_when_the_provider_rejects_the_stored_token(
    engine: Engine, company: Company
) -> None:
    await engine.servers.connector.connect(SERVER)
    wanted: list[LoginRequested] = []
    engine.logins.login_requested.connect(wanted.append)
    works = company.world.paths["/idp/token"]
    company.world.paths["/idp/token"] = lambda _: ScriptedResponse(400, {"error": "invalid_grant"})
    company.world.tokens.clear()
    outcome = await engine.tool_caller.call(SERVER, ToolCall("read"))
    assert outcome.kind is OutcomeKind.FAILED
    assert [one.occasion for one in wanted] == [LoginReason.TOKEN_REJECTED]
    company.world.paths["/idp/token"] = works
    await engine.servers.connector.disconnect(SERVER)
    await engine.servers.connector.connect(SERVER)
    assert len(company.requested()) == 2


async def test_connecting_after_the_stored_token_was_rejected_logs_in_immediately(
    engine: Engine, company: Company
) -> None:
    await engine.servers.connector.connect(SERVER)
    await engine.servers.connector.disconnect(SERVER)
    works, refused = company.world.paths["/idp/token"], list[ReceivedRequest]()

    def refuse_once(seen: ReceivedRequest) -> ScriptedResponse:
        if not refused and seen.form["grant_type"].endswith("token-exchange"):
            refused.append(seen)
            return ScriptedResponse(400, {"error": "invalid_grant"})
        return works(seen)

    company.world.paths["/idp/token"] = refuse_once
    company.world.tokens.clear()
    await engine.servers.connector.connect(SERVER)
    assert (len(refused), len(company.requested())) == (1, 2)


async def test_only_one_of_two_concurrent_logins_refreshes_the_provider_login(
    harness: Harness, company: Company, clock: FakeClock
) -> None:
    await log_in(harness, company)
    later(company, clock)
    both = await asyncio.gather(log_in(harness, company), log_in(harness, company))
    assert [view.failure for view in both] == ["", ""]
    assert len(company.requested("refresh_token")) == 1
    assert len(company.requested()) == 1


async def test_login_cancelled_during_a_refresh_blocks_nothing(
    harness: Harness, company: Company, clock: FakeClock
) -> None:
    await log_in(harness, company)
    later(company, clock)
    requested = company.world.next_request("/idp/token")
    async with harness.login(company.world, settings=company.settings) as login:
        running = asyncio.create_task(login.run())
        await requested.wait()
        login.cancel()
        await running
        assert "cancelled" in login.view.failure
        assert step(login.view, StepId.ID_TOKEN_LOOKUP).state is StepState.FAILED
    async with asyncio.timeout(5):
        assert (await log_in(harness, company)).failure == ""


@pytest.mark.parametrize(
    ("path", "id"),
    [
        ("/idp/.well-known/openid-configuration", StepId.PROVIDER_LOOKUP),
        ("/idp/token", StepId.ID_TOKEN_REQUEST),
    ],
)
async def test_each_request_to_the_provider_can_be_cancelled(
    harness: Harness, company: Company, path: str, id: StepId
) -> None:
    requested = company.world.next_request(path)
    async with harness.login(company.world, settings=company.settings) as login:
        running = asyncio.create_task(login.run())
        await requested.wait()
        login.cancel()
        await running
        assert (step(login.view, id).state, login.stored_login) == (StepState.FAILED, None)
        assert login.view.is_over


async def test_abandoned_login_times_out(harness: Harness, company: Company) -> None:
    async def look_away(url: str) -> None:
        pass

    async with harness.login(
        company.world, settings=company.settings, browse=look_away, browser_timeout=0.05
    ) as login:
        await login.run()
        assert step(login.view, StepId.WAIT).state is StepState.FAILED
    assert company.world.requested("/idp/token") == []


@pytest.mark.parametrize("grant", ["client_credentials", "enterprise", "authorization_code"])
async def test_secret_set_for_one_issuer_is_not_sent_to_another_selected_issuer(
    harness: Harness, company: Company, grant: Any
) -> None:
    """A login may select any listed server; the settings say which one the secret is for."""
    world = company.world
    world.server["token_endpoint_auth_methods_supported"] = ["client_secret_post"]
    world.resource["authorization_servers"] = ["https://mine.example", world.origin]
    settings = replace(company.settings, grant=grant, issuer="https://mine.example")
    view = await log_in(harness, company, Overrides(issuer=world.origin), settings=settings)
    assert "https://mine.example" in view.failure
    assert not any(b"hush" in seen.body for seen in world.seen)


async def test_workload_jwt_is_not_sent_to_another_selected_issuer(harness: Harness, world: World) -> None:
    await harness.secrets.put("jwt", "eyJhbGciOiJub25lIn0.e30.")
    world.resource["authorization_servers"] = ["https://mine.example", world.origin]
    settings = OAuthSettings(grant="wif", issuer="https://mine.example", assertion=SecretRef("jwt"))
    async with harness.login(world, Overrides(issuer=world.origin), settings=settings) as login:
        await login.run()
        assert "https://mine.example" in login.view.failure
    assert world.requested("/token") == []


async def test_confirmation_applies_only_to_the_question_that_was_shown(
    harness: Harness, company: Company
) -> None:
    """The server may name another issuer before the user presses the button."""
    settings = replace(company.settings, issuer="")
    async with harness.login(company.world, settings=settings) as login:
        await login.run()
        prompt = login.view.prompt
        assert prompt is not None
        assert prompt.kind is LoginPromptKind.ISSUER
        with pytest.raises(UserError, match="The question has changed"):
            await login.answer_consent(True, replace(prompt, issuer="https://seen-before.example"))
        assert login.view.prompt == prompt
        assert not await harness.store(company.world).trusts_issuer(company.world.origin)
        await login.answer_consent(True, prompt)
        assert login.view.prompt is None


async def test_background_login_says_why_the_user_is_needed(harness: Harness, world: World) -> None:
    """For every grant type."""
    engine = Engine(clock=FakeClock())
    await engine.secrets.put("secret", "hush")
    engine.servers.add(
        HttpEntry(name=SERVER, url=world.url, type="http", auth=OAuthSettings(grant="enterprise"))
    )
    with pytest.raises(NeedsLogin) as caught:
        await engine.servers.connector.connect(SERVER)
    assert "identity provider" in str(caught.value) or "settings" in str(caught.value)
    await engine.close()


async def test_only_the_configured_provider_may_be_in_a_private_network(
    engine: Engine, company: Company
) -> None:
    settings = replace(at(company, "https://10.1.2.3/idp"), issuer="")
    engine.servers.add(HttpEntry(name="far", url="https://mcp.example/mcp", type="http", auth=settings))
    allowance = engine.logins._account("far").tools.allowance
    assert check_url("https://10.1.2.3/idp/token", allowance).host == "10.1.2.3"
    with pytest.raises(UrlBlocked):
        check_url("https://10.9.9.9/", allowance)


async def test_user_started_login_is_not_ended_by_an_automatic_one(engine: Engine, company: Company) -> None:
    """The user is on the login page: a rejected request must not close it."""
    await engine.servers.connector.connect(SERVER)
    for name in [secret.name for secret in await engine.secrets.stored() if secret.name.endswith("/sign-in")]:
        await engine.secrets.delete(name)
    opened: asyncio.Queue[str] = asyncio.Queue()
    engine.logins.open_url = opened.put
    await engine.logins.start(SERVER)
    walking = asyncio.create_task(engine.logins.run(SERVER))
    page = await opened.get()
    company.world.tokens.clear()
    outcome = await engine.tool_caller.call(SERVER, ToolCall("read"))
    assert outcome.kind is OutcomeKind.FAILED
    assert "in progress" in outcome.summary
    await browse(page)
    view = await walking
    assert (view.failure, view.is_over) == ("", True)
    assert (await engine.tool_caller.call(SERVER, ToolCall("read"))).kind is OutcomeKind.RESULT


async def test_last_of_several_simultaneous_logins_stays_and_the_others_are_closed(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[Login] = []
    closed: list[Login] = []
    make, close = Login.__init__, Login.close

    def init(login: Login, *arguments: Any, **more: Any) -> None:
        make(login, *arguments, **more)
        made.append(login)

    async def end(login: Login) -> None:
        await close(login)
        closed.append(login)

    monkeypatch.setattr(Login, "__init__", init)
    monkeypatch.setattr(Login, "close", end)
    await engine.logins.start(SERVER)
    with contextlib.suppress(UserError):
        await asyncio.gather(*(engine.logins.start(SERVER) for _ in range(3)), return_exceptions=True)
    await engine.logins.close()
    assert len(made) == 4
    assert set(made) == set(closed)

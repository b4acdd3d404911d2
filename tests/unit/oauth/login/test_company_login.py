"""Enterprise logins: one login at the identity provider, reused while its ID token is valid."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import pytest

from inspector.base.errors import NeedsLogin
from inspector.config.servers.entries import HttpEntry, IdentityProvider, SecretRef
from inspector.engine.calls.tool_calls import ToolCall
from inspector.engine.engine import Engine
from inspector.engine.login.logins import LoginRequested
from inspector.engine.views import OutcomeKind
from inspector.oauth.login.report import Party, arrows_of, login_text, login_trace, mermaid, parties_of
from inspector.oauth.login.steps import LoginPromptKind, LoginView, Overrides, Step, StepId, StepState
from inspector.oauth.login_reason import LoginReason
from inspector.protocol.auth.pkce import challenge_of
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


_BROWSER = (StepId.AUTHORIZE, StepId.WAIT, StepId.CALLBACK, StepId.ID_TOKEN_REQUEST, StepId.ID_TOKEN_CHECK)


async def test_user_logs_in_and_the_id_token_leads_to_an_access_token(
    harness: Harness, company: Company, world: World
) -> None:
    view = await log_in(harness, company, Overrides(is_strict=True))
    assert (view.failure, view.is_over) == ("", True)
    assert {each.state for each in view.steps} == {StepState.DONE}
    [page] = company.requested()
    assert page.query["scope"] == "openid offline_access"
    assert page.query["client_id"] == "desktop-app"
    assert page.query["code_challenge_method"] == "S256"
    assert "resource" not in page.query
    [code] = company.requested("authorization_code")
    assert challenge_of(code.form["code_verifier"]) == page.query["code_challenge"]
    assert code.form["redirect_uri"] == page.query["redirect_uri"]
    [exchange] = company.requested("token-exchange")
    assert exchange.form["subject_token"] == company.id_token(nonce=page.query["nonce"], jti="1")
    assert (exchange.form["audience"], exchange.form["resource"]) == (world.origin, world.url)
    [token] = world.requested("/token")
    assert token.form["assertion"] == "the-id-jag"
    assert world.requested("/authorize") == [], "the browser goes to the company only"


async def test_every_step_is_shown_before_it_is_sent(harness: Harness, company: Company) -> None:
    async with harness.login(company.world, settings=company.settings) as login:
        await login.begin()
        await login.run_to(StepId.PREPARE)
        previews = {}
        for id in (StepId.PROVIDER_LOOKUP, StepId.ID_TOKEN_LOOKUP, *_BROWSER, StepId.EXCHANGE):
            preview = step(login.view, id).preview
            previews[id] = preview.url.partition("?")[0] if preview is not None else ""
            await login.next()
    assert previews == {
        StepId.PROVIDER_LOOKUP: f"{company.issuer}/.well-known/openid-configuration",
        StepId.ID_TOKEN_LOOKUP: "",
        StepId.AUTHORIZE: f"{company.issuer}/authorize",
        StepId.WAIT: "",
        StepId.CALLBACK: "",
        StepId.ID_TOKEN_REQUEST: f"{company.issuer}/token",
        StepId.ID_TOKEN_CHECK: "",
        StepId.EXCHANGE: f"{company.issuer}/token",
    }


@pytest.mark.parametrize(
    ("claims", "problem"),
    [
        ({"iss": "https://attacker.example"}, "iss: "),
        ({"aud": "another-client"}, "aud: "),
        ({"nonce": "of-another-sign-in"}, "nonce: "),
        ({"exp": 1}, "exp: "),
    ],
)
async def test_invalid_id_token_is_neither_stored_nor_exchanged(
    harness: Harness, company: Company, claims: dict[str, Any], problem: str
) -> None:
    company.claims = claims
    view = await log_in(harness, company)
    assert problem in view.failure
    assert step(view, StepId.ID_TOKEN_CHECK).state is StepState.FAILED
    assert company.requested("token-exchange") == []
    assert await harness.store(company.world).provider_logins() == ()


async def test_metadata_of_another_provider_is_never_used(harness: Harness, company: Company) -> None:
    company.document["issuer"] = "https://attacker.example"
    view = await log_in(harness, company)
    assert step(view, StepId.PROVIDER_LOOKUP).state is StepState.FAILED
    assert company.requested() == []


async def test_callback_from_another_provider_is_not_used(harness: Harness, company: Company) -> None:
    real, company.issuer = company.issuer, "https://attacker.example"
    view = await log_in(
        harness,
        company,
        settings=replace(
            company.settings, identity_provider=IdentityProvider(issuer=real, client_id="desktop-app")
        ),
    )
    assert step(view, StepId.CALLBACK).state is StepState.FAILED
    assert company.world.requested("/idp/token") == []


async def test_provider_endpoints_on_another_host_need_confirmation(
    harness: Harness, company: Company
) -> None:
    company.document["token_endpoint"] = company.document["token_endpoint"].replace("127.0.0.1", "localhost")
    async with harness.login(company.world, settings=company.settings) as login:
        await login.run()
        prompt = login.view.prompt
        assert prompt is not None
        assert (prompt.kind, prompt.issuer) == (LoginPromptKind.HOSTS, company.issuer)
        assert company.requested() == []
        await login.answer_consent(True)
        await login.run()
        assert login.view.failure == ""


@pytest.mark.parametrize(
    ("provider", "problem"),
    [
        (None, "not configured"),
        (IdentityProvider(client_id="desktop-app"), "not configured"),
        (IdentityProvider(issuer="here"), "no client ID"),
    ],
)
async def test_missing_configuration_is_named(
    harness: Harness, company: Company, provider: IdentityProvider | None, problem: str
) -> None:
    if provider is not None and provider.issuer:
        provider = replace(provider, issuer=company.issuer)
    view = await log_in(harness, company, settings=replace(company.settings, identity_provider=provider))
    assert problem in view.failure
    assert "settings" in view.next_step


async def test_provider_secret_is_sent_only_to_the_provider(harness: Harness, company: Company) -> None:
    await harness.secrets.put("idp-secret", "only-for-the-provider")
    provider = IdentityProvider(
        issuer=company.issuer, client_id="desktop-app", client_secret=SecretRef("idp-secret")
    )
    view = await log_in(harness, company, settings=replace(company.settings, identity_provider=provider))
    assert view.failure == ""
    assert all(
        seen.form["client_secret"] == "only-for-the-provider"
        for seen in company.world.requested("/idp/token")
    )
    [token] = company.world.requested("/token")
    assert b"only-for-the-provider" not in token.body
    assert "hush" not in str([seen.body for seen in company.world.requested("/idp/token")])


async def test_logged_in_user_is_not_asked_again(harness: Harness, company: Company) -> None:
    await log_in(harness, company)
    view = await log_in(harness, company)
    assert view.failure == ""
    assert [step(view, id).state for id in _BROWSER] == [StepState.SKIPPED] * len(_BROWSER)
    assert len(company.requested()) == 1
    assert len(company.requested("token-exchange")) == 2


async def test_expired_id_token_is_refreshed_with_the_refresh_token(
    harness: Harness, company: Company, clock: FakeClock
) -> None:
    await log_in(harness, company)
    clock.advance(3600)
    company.now += 3600
    view = await log_in(harness, company)
    assert view.failure == ""
    assert len(company.requested()) == 1
    [refresh] = company.requested("refresh_token")
    assert refresh.form["refresh_token"] == "idp-refresh-1"
    saved = await harness.store(company.world).provider_login(company.issuer)
    assert saved is not None
    assert saved.refresh_token == "idp-refresh-3", "the provider rotates them"
    assert company.requested("token-exchange")[-1].form["subject_token"] == saved.id_token


async def test_rejected_refresh_makes_the_user_log_in_again(
    harness: Harness, company: Company, clock: FakeClock
) -> None:
    await log_in(harness, company)
    clock.advance(7200)
    company.now += 7200
    works = company.world.paths["/idp/token"]

    def refuse(seen: ReceivedRequest) -> ScriptedResponse:
        return (
            ScriptedResponse(400, {"error": "invalid_grant"}) if "refresh_token" in seen.form else works(seen)
        )

    company.world.paths["/idp/token"] = refuse
    view = await log_in(harness, company)
    assert view.failure == ""
    assert len(company.requested()) == 2


async def test_refreshed_id_token_of_another_user_is_not_used(
    harness: Harness, company: Company, clock: FakeClock
) -> None:
    await log_in(harness, company)
    clock.advance(3600)
    company.now += 3600
    company.claims = {"sub": "grace"}
    view = await log_in(harness, company)
    assert "a different user" in view.failure
    assert len(company.requested("token-exchange")) == 1


async def test_without_a_refresh_token_the_user_logs_in_again(
    harness: Harness, company: Company, clock: FakeClock
) -> None:
    company.gives_refresh = False
    await log_in(harness, company)
    clock.advance(3600)
    company.now += 3600
    assert (await log_in(harness, company)).failure == ""
    assert len(company.requested()) == 2


async def test_login_of_another_client_is_not_used(harness: Harness, company: Company) -> None:
    await log_in(harness, company)
    provider = IdentityProvider(issuer=company.issuer, client_id="another")
    company.claims = {"aud": "another"}
    view = await log_in(harness, company, settings=replace(company.settings, identity_provider=provider))
    assert view.failure == ""
    assert len(company.requested()) == 2


async def test_an_id_token_that_the_provider_refuses_is_forgotten(harness: Harness, company: Company) -> None:
    await log_in(harness, company)
    works = company.world.paths["/idp/token"]
    company.world.paths["/idp/token"] = lambda _: ScriptedResponse(400, {"error": "invalid_grant"})
    assert "invalid_grant" in (await log_in(harness, company)).failure
    company.world.paths["/idp/token"] = works
    assert (await log_in(harness, company)).failure == ""
    assert len(company.requested()) == 2


async def test_entered_id_token_is_used_without_a_login(harness: Harness, company: Company) -> None:
    await harness.secrets.put("id", company.id_token())
    provider = IdentityProvider(issuer=company.issuer, client_id="desktop-app", id_token=SecretRef("id"))
    settings = replace(company.settings, identity_provider=provider)
    view = await log_in(harness, company, settings=settings)
    assert view.failure == ""
    assert company.requested() == []
    await harness.secrets.put("id", company.id_token(exp=1))
    view = await log_in(harness, company, settings=settings)
    assert "has expired" in view.failure
    assert len(company.requested("token-exchange")) == 1


async def test_going_back_to_the_browser_step_creates_new_secrets(harness: Harness, company: Company) -> None:
    async with harness.login(company.world, settings=company.settings) as login:
        await login.run_to(StepId.ID_TOKEN_CHECK)
        await login.back(StepId.AUTHORIZE)
        await login.run()
        assert login.view.failure == ""
    first, second = company.requested()
    for name in ("state", "nonce", "code_challenge"):
        assert first.query[name] != second.query[name]


async def test_exports_contain_no_login_secret(harness: Harness, company: Company) -> None:
    view = await log_in(harness, company)
    [page], [code] = company.requested(), company.requested("authorization_code")
    written = login_text(view) + login_trace(view).decode()
    secrets = [
        page.query["state"],
        page.query["nonce"],
        code.form["code"],
        code.form["code_verifier"],
        company.requested("token-exchange")[0].form["subject_token"],
        "idp-refresh-1",
        "the-id-jag",
    ]
    assert [secret for secret in secrets if secret in written] == []


async def test_provider_has_its_own_lane_in_the_diagram(harness: Harness, company: Company) -> None:
    view = await log_in(harness, company)
    arrows = arrows_of(view)
    assert Party.PROVIDER in parties_of(arrows)
    assert "Browser->>Provider: authorize: log in" in mermaid(view)
    view = await log_in(harness, company)
    assert "authorize" not in mermaid(view)
    assert Party.PROVIDER not in parties_of(arrow for arrow in arrows if arrow.step is StepId.PROBE)


@pytest.fixture
async def engine(company: Company) -> AsyncIterator[Engine]:
    engine = Engine(clock=FakeClock())
    engine.logins.opens_browser = frozenset({LoginReason.CONNECT})
    engine.logins.open_url = browse
    await engine.secrets.put("secret", "hush")
    engine.servers.add(HttpEntry(name=SERVER, url=company.world.url, type="http", auth=company.settings))
    yield engine
    await engine.close()


async def test_connecting_opens_the_login_page_and_continues(engine: Engine, company: Company) -> None:
    await engine.servers.connector.connect(SERVER)
    assert [tool.name for tool in (await engine.list_tools(SERVER)).items] == ["read"]
    assert len(company.requested()) == 1


async def test_rejected_token_is_replaced_silently_while_the_provider_login_lasts(
    engine: Engine, company: Company
) -> None:
    await engine.servers.connector.connect(SERVER)
    company.world.tokens.clear()
    await engine.list_tools(SERVER)
    assert len(company.requested()) == 1
    assert len(company.requested("token-exchange")) == 2


async def test_expired_provider_login_is_reported_and_no_page_opens(engine: Engine, company: Company) -> None:
    await engine.servers.connector.connect(SERVER)
    wanted: list[LoginRequested] = []
    engine.logins.login_requested.connect(wanted.append)
    for name in [secret.name for secret in await engine.secrets.stored() if secret.name.endswith("/sign-in")]:
        await engine.secrets.delete(name)
    company.world.tokens.clear()
    outcome = await engine.tool_caller.call(SERVER, ToolCall("read"))
    assert outcome.kind is OutcomeKind.FAILED
    assert [one.occasion for one in wanted] == [LoginReason.TOKEN_REJECTED]
    assert len(company.requested()) == 1
    await engine.logins.start(SERVER)
    await engine.logins.run(SERVER)
    assert (await engine.list_tools(SERVER)).items
    assert len(company.requested()) == 2


async def test_without_a_browser_connecting_needs_a_login(engine: Engine, company: Company) -> None:
    engine.logins.opens_browser = frozenset()
    with pytest.raises(NeedsLogin):
        await engine.servers.connector.connect(SERVER)
    assert company.requested() == []


async def test_logging_out_ends_the_provider_login_and_revokes_its_token(
    engine: Engine, company: Company
) -> None:
    await engine.servers.connector.connect(SERVER)
    await engine.logins.log_out(SERVER)
    [revoked] = company.world.requested("/idp/revoke")
    assert revoked.form["token"] == "idp-refresh-1"
    names = [secret.name for secret in await engine.secrets.stored()]
    assert [name for name in names if name.endswith(("/sign-in", "/tokens"))] == []


async def test_forgetting_the_tokens_forgets_the_provider_login_without_revocation(
    engine: Engine, company: Company
) -> None:
    await engine.servers.connector.connect(SERVER)
    await engine.logins.delete_tokens(SERVER)
    assert company.world.requested("/idp/revoke") == []
    names = [secret.name for secret in await engine.secrets.stored()]
    assert [name for name in names if name.endswith(("/sign-in", "/tokens"))] == []

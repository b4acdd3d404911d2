"""Logins against each fault of the demo server: every fault is reported."""

from __future__ import annotations

import asyncio
import html
import re
from collections.abc import AsyncIterator, Iterator
from contextlib import suppress
from dataclasses import replace

import httpx2
import pytest

from inspector.base.errors import UserError
from inspector.config.servers.entries import HttpEntry, IdentityProvider, OAuthSettings, SecretRef
from inspector.demo.login.fault_switches import PROVIDER, SWITCHES
from inspector.engine.calls.tool_calls import ToolCall
from inspector.engine.engine import Engine
from inspector.engine.secrets import Secrets
from inspector.engine.views import OutcomeKind
from inspector.oauth.login.steps import LoginPromptKind, LoginView, Overrides, StepId, StepState
from inspector.oauth.login_reason import LoginReason
from tests.unit.demo.login.login_client import LoginDemo

NAME = "demo"
_REQUEST = re.compile(r'name="request" value="([^"]+)"')

# Found only by requests that a login does not send: forbidden ones, or calls of a certain tool.
_ELSEWHERE = {
    "asm_appended": "found only if the user enters the metadata URL",
    "no_cors": "reported only for a request with an Origin: see below",
    "documents_refused": "the demo's client ID metadata document is not at an https URL",
    "takes_any_redirect": "a negative probe",
    "redirect_refused": "the page is seen by the browser alone",
    "loose_redirects": "a negative probe",
    "redirect_elsewhere": "the login goes on waiting: see below",
    "state_dropped": "the login goes on waiting: see below",
    "state_changed": "the login goes on waiting: see below",
    "in_fragment": "browsers keep the fragment to themselves",
    "secret_refused": "our client has no secret there",
    "pkce_ignored": "a negative probe",
    "code_twice": "a negative probe",
    "bearer_for_proof": "together with dpop only",
    "not_rotated": "after a refresh: see below",
    "refresh_unusable": "after a refresh: see below",
    "old_refresh_works": "a negative probe",
    "moved": "after a login at the issuer before",
    "lists_are_open": "a negative probe",
    "any_token": "a negative probe",
    "bare_403": "a call that needs more scopes: see below",
    "step_up_no_scope": "a call that needs more scopes: see below",
    "piecemeal": "a call that needs more scopes: see below",
    "step_up_always": "a call that needs more scopes: see below",
    "codes_swapped": "a call that needs more scopes: see below",
    "get_is_open": "a negative probe",
    "query_token": "a negative probe",
    "session_crash": "a session that has ended",
}
_SHOWN = [
    name
    for name, switch in SWITCHES.items()
    if switch.shows and switch.group != PROVIDER and name not in _ELSEWHERE
]
# Enterprise faults. Another user is detected when the ID token is refreshed: see below.
_AT_SIGN_IN = [
    name
    for name, switch in SWITCHES.items()
    if switch.shows and switch.group == PROVIDER and name != "idp_other_person"
]
_CONTINUES = ("idp_endpoint_elsewhere",)  # the user allows it


@pytest.fixture(scope="module")
def demo() -> Iterator[LoginDemo]:
    with LoginDemo() as demo:
        yield demo


@pytest.fixture
async def engine(demo: LoginDemo) -> AsyncIterator[Engine]:
    demo.forget()
    engine = Engine(secrets=Secrets())
    engine.logins.open_url = log_in
    engine.servers.add(HttpEntry(name=NAME, url=demo.url, type="http"))
    yield engine
    await engine.close()


async def log_in(url: str) -> None:
    """Act as a user on the demo's login page."""
    async with httpx2.AsyncClient(trust_env=False) as browser:
        page = await browser.get(url)
        found = _REQUEST.search(page.text)
        if found is not None:
            form = {"request": html.unescape(found[1]), "name": "ada", "password": "lovelace"}
            page = await browser.post(page.url.copy_with(query=None), data={**form, "decision": "allow"})
        if page.has_redirect_location:
            await browser.get(page.headers["location"])


async def walk(engine: Engine, overrides: Overrides | None = None) -> LoginView:
    await engine.logins.start(NAME, overrides or Overrides(compares_copies=True))
    view = await engine.logins.run(NAME)
    if view.prompt is not None and view.prompt.kind is LoginPromptKind.HOSTS:
        await engine.logins.allow_hosts(NAME, True)
        view = await engine.logins.run(NAME)
    return view


async def test_demo_without_faults_logs_in_without_an_error(engine: Engine) -> None:
    view = await walk(engine, Overrides(is_strict=True))
    assert view.failure == ""
    assert view.is_over


async def use_company(demo: LoginDemo, engine: Engine) -> None:
    """Use the enterprise grant from now on."""
    await engine.secrets.put("desk", "demo-desk-secret")
    provider = IdentityProvider(issuer=f"{demo.origin}/idp", client_id="demo-sso")
    auth = OAuthSettings(
        grant="enterprise",
        issuer=demo.origin,
        client_id="demo-desk",
        client_secret=SecretRef("desk"),
        identity_provider=provider,
    )
    await engine.servers.remove(NAME)
    engine.servers.add(HttpEntry(name=NAME, url=demo.url, type="http", auth=auth))


async def test_demo_identity_provider_needs_one_login_per_user(demo: LoginDemo, engine: Engine) -> None:
    await use_company(demo, engine)
    first = await walk(engine, Overrides(is_strict=True))
    assert (first.failure, first.is_over) == ("", True)
    await engine.servers.connector.connect(NAME)
    outcome = await engine.tool_caller.call(NAME, ToolCall("whoami"))
    assert outcome.kind is OutcomeKind.RESULT
    assert b'"ada"' in outcome.response
    second = await walk(engine, Overrides(is_strict=True))
    states = {step.id: step.state for step in second.steps}
    assert (states[StepId.AUTHORIZE], second.failure) == (StepState.SKIPPED, "")
    assert "Tokens revoked" in await engine.logins.log_out(NAME)


@pytest.mark.parametrize("name", _SHOWN)
async def test_fault_is_found_by_the_login(engine: Engine, demo: LoginDemo, name: str) -> None:
    demo.only(name)
    view = await walk(engine, Overrides(compares_copies=True, scope="notes:read notes:write"))
    assert {found.id for found in view.findings} >= set(SWITCHES[name].shows)


@pytest.mark.parametrize("name", _AT_SIGN_IN)
async def test_identity_provider_fault_is_found_and_its_token_is_not_used(
    engine: Engine, demo: LoginDemo, name: str
) -> None:
    await use_company(demo, engine)
    demo.only(name)
    view = await walk(engine)
    assert {found.id for found in view.findings} >= set(SWITCHES[name].shows)
    assert (view.result is not None) == (name in _CONTINUES), view.failure
    saved = [secret.name for secret in await engine.secrets.stored() if secret.name.endswith("/sign-in")]
    assert bool(saved) == (name in _CONTINUES or name.startswith("idp_jag")), "invalid logins are not saved"


async def test_refreshed_id_token_of_another_user_is_found(
    engine: Engine, demo: LoginDemo, monkeypatch: pytest.MonkeyPatch
) -> None:
    await use_company(demo, engine)
    demo.only("idp_other_person")
    assert (await walk(engine)).failure == ""
    monkeypatch.setattr("inspector.oauth.login.identity_provider.is_expired", lambda *_, **__: True)
    view = await walk(engine)
    assert "IDT-009" in {found.id for found in view.findings}


@pytest.mark.parametrize("name", ["issuer_path", "opaque_tokens", "dpop", "dpop_nonce"])
async def test_permitted_variant_is_not_an_obstacle(engine: Engine, demo: LoginDemo, name: str) -> None:
    demo.only(name)
    view = await walk(engine, Overrides(is_strict=True))
    assert view.failure == ""


async def test_missing_cors_headers_are_found_when_the_user_adds_an_origin(
    engine: Engine, demo: LoginDemo
) -> None:
    demo.only("no_cors")
    await engine.logins.start(NAME)
    view = await engine.logins.run_to(NAME, StepId.SERVER_LOOKUP)
    assert "ASM-024" not in {found.id for found in view.findings}
    view = await engine.logins.back(NAME, StepId.SERVER_LOOKUP)
    assert view.current is not None
    request = view.current.preview
    assert request is not None
    engine.logins.edit(NAME, replace(request, headers=(*request.headers, ("Origin", "https://app.example"))))
    view = await engine.logins.next(NAME)
    assert "ASM-024" in {found.id for found in view.findings}


async def test_unbound_token_is_found(engine: Engine, demo: LoginDemo) -> None:
    demo.only("dpop", "bearer_for_proof")
    view = await walk(engine)
    assert "TOK-016" in {found.id for found in view.findings}


async def test_moved_server_is_detected(engine: Engine, demo: LoginDemo) -> None:
    await walk(engine)
    demo.only("moved")
    await engine.logins.start(NAME)
    view = await engine.logins.run_to(NAME, StepId.SERVER_CHOICE)
    assert "RS-012" in {found.id for found in view.findings}


@pytest.mark.parametrize(
    ("name", "id"),
    [("state_dropped", "AZ-001"), ("state_changed", "AZ-002"), ("redirect_elsewhere", "AZ-009")],
)
async def test_invalid_callback_is_a_hint_and_the_wait_continues(
    engine: Engine, demo: LoginDemo, name: str, id: str
) -> None:
    demo.only(name)
    seen = asyncio.Event()

    def on_changed(view: LoginView) -> None:
        if id in {found.id for found in view.findings}:
            seen.set()

    engine.logins.changed.connect(on_changed)
    await engine.logins.start(NAME, Overrides(is_strict=True))
    running = asyncio.create_task(engine.logins.run(NAME))
    await seen.wait()
    view = engine.logins.view(NAME)
    assert view is not None
    assert view.waiting is not None
    assert not view.failure
    engine.logins.cancel(NAME)
    await running


@pytest.mark.parametrize(("name", "id"), [("not_rotated", "TOK-017"), ("refresh_unusable", "TOK-018")])
async def test_refresh_fault_is_found(engine: Engine, demo: LoginDemo, name: str, id: str) -> None:
    demo.only(name)
    await walk(engine)
    with suppress(UserError):
        await engine.logins.refresh(NAME)
    assert id in {found.id for found in engine.logins.findings(NAME)}


@pytest.mark.parametrize(
    ("name", "id"),
    [
        ("bare_403", "RS-004"),
        ("step_up_no_scope", "RS-005"),
        ("piecemeal", "RS-006"),
        ("step_up_always", "RS-007"),
        ("codes_swapped", "RS-008"),
    ],
)
async def test_step_up_fault_is_found(engine: Engine, demo: LoginDemo, name: str, id: str) -> None:
    demo.only(name)
    engine.logins.opens_browser = frozenset(LoginReason)
    await engine.servers.connector.connect(NAME)
    for _ in range(2):
        await engine.tool_caller.call(NAME, ToolCall("write_note", {"text": "b"}))
    assert id in {found.id for found in engine.logins.findings(NAME)}


async def test_more_scopes_are_asked_for_when_a_tool_needs_them(engine: Engine, demo: LoginDemo) -> None:
    engine.logins.opens_browser = frozenset(LoginReason)
    await engine.servers.connector.connect(NAME)
    outcome = await engine.tool_caller.call(NAME, ToolCall("write_note", {"text": "b"}))
    assert outcome.kind is OutcomeKind.RESULT, outcome.summary
    tokens = await engine.logins.tokens(NAME)
    assert tokens is not None
    assert {"notes:read", "notes:write"} <= set(tokens.scopes)


async def test_a_refresh_token_that_is_used_up_leads_to_another_login(
    engine: Engine, demo: LoginDemo
) -> None:
    demo.only("rotated_refused")
    engine.logins.opens_browser = frozenset(LoginReason)
    await engine.servers.connector.connect(NAME)
    await engine.logins.refresh(NAME)
    with pytest.raises(UserError):
        await engine.logins.refresh(NAME)
    assert await engine.logins.tokens(NAME) is None
    await engine.servers.connector.connect(NAME)
    assert await engine.logins.tokens(NAME) is not None

"""The fault bench of the demo, walked through by our login: every mistake is found where it is made."""

from __future__ import annotations

import html
import re
from collections.abc import AsyncIterator, Iterator

import httpx2
import pytest

from inspector.config.entries import HttpEntry
from inspector.demo.login.switches import SWITCHES
from inspector.engine.engine import Engine
from inspector.engine.secrets import Secrets
from inspector.oauth.steps import LoginView, Overrides, QuestionKind, StepId
from tests.unit.demo.login_client import LoginDemo

NAME = "demo"
_REQUEST = re.compile(r'name="request" value="([^"]+)"')

# What shows only when somebody does what a login does not: forbidden things, or calls of a certain tool.
_ELSEWHERE = {
    "asm_appended": "only a document that a person points us to is found there",
    "documents_refused": "the demo's client document is no https address",
    "takes_any_redirect": "a negative probe",
    "redirect_refused": "the page is seen by the browser alone",
    "loose_redirects": "a negative probe",
    "redirect_elsewhere": "another path is not listened at",
    "state_dropped": "an answer without our state does not end the wait",
    "state_changed": "an answer without our state does not end the wait",
    "in_fragment": "browsers keep the fragment to themselves",
    "secret_refused": "our client has no secret there",
    "pkce_ignored": "a negative probe",
    "code_twice": "a negative probe",
    "bearer_for_proof": "together with dpop only",
    "not_rotated": "after a refresh",
    "refresh_unusable": "after a refresh",
    "old_refresh_works": "a negative probe",
    "moved": "after a login at the issuer before",
    "lists_are_open": "a negative probe",
    "any_token": "a negative probe",
    "bare_403": "a call that needs more scopes",
    "step_up_no_scope": "a call that needs more scopes",
    "piecemeal": "a call that needs more scopes",
    "step_up_always": "a call that needs more scopes",
    "codes_swapped": "a call that needs more scopes",
    "get_is_open": "a negative probe",
    "query_token": "a negative probe",
    "session_crash": "a session that has ended",
}
_SHOWN = [name for name, switch in SWITCHES.items() if switch.shows and name not in _ELSEWHERE]


@pytest.fixture(scope="module")
def demo() -> Iterator[LoginDemo]:
    with LoginDemo() as demo:
        yield demo


@pytest.fixture
async def engine(demo: LoginDemo) -> AsyncIterator[Engine]:
    demo.forget()
    engine = Engine(secrets=Secrets())
    engine.logins.open_url = log_in
    engine.add(HttpEntry(name=NAME, url=demo.url, type="http"))
    yield engine
    await engine.close()


async def log_in(url: str) -> None:
    """A person at the demo's login page."""
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
    if view.question is not None and view.question.kind is QuestionKind.HOSTS:
        await engine.logins.allow_hosts(NAME, True)
        view = await engine.logins.run(NAME)
    return view


async def test_the_demo_without_faults_is_logged_in_to_without_an_error(engine: Engine) -> None:
    view = await walk(engine, Overrides(is_strict=True))
    assert view.failure == ""
    assert view.is_over


@pytest.mark.parametrize("name", _SHOWN)
async def test_a_mistake_is_found_by_the_login(engine: Engine, demo: LoginDemo, name: str) -> None:
    demo.only(name)
    view = await walk(engine, Overrides(compares_copies=True, scope="notes:read notes:write"))
    assert {found.id for found in view.findings} >= set(SWITCHES[name].shows)


@pytest.mark.parametrize("name", ["issuer_path", "opaque_tokens", "dpop", "dpop_nonce"])
async def test_a_lawful_variant_is_no_obstacle(engine: Engine, demo: LoginDemo, name: str) -> None:
    demo.only(name)
    view = await walk(engine, Overrides(is_strict=True))
    assert view.failure == ""


async def test_a_token_without_its_binding_is_found(engine: Engine, demo: LoginDemo) -> None:
    demo.only("dpop", "bearer_for_proof")
    view = await walk(engine)
    assert "TOK-016" in {found.id for found in view.findings}


async def test_a_server_that_moved_is_noticed(engine: Engine, demo: LoginDemo) -> None:
    await walk(engine)
    demo.only("moved")
    await engine.logins.start(NAME)
    view = await engine.logins.run_to(NAME, StepId.SERVER_CHOICE)
    assert "RS-012" in {found.id for found in view.findings}

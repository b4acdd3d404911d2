"""A login, step by step and unattended, against a scripted authorization server."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import httpx2
import pytest

from inspector.base.errors import UserError
from inspector.config.servers.entries import OAuthSettings
from inspector.oauth.http import LoginRequest
from inspector.oauth.login.context import LoginContext
from inspector.oauth.login.flow import STEP_HANDLERS, Login, StepHandler
from inspector.oauth.login.steps import LoginPromptKind, LoginView, Overrides, StepId, StepState
from inspector.oauth.signing import new_key
from inspector.protocol.auth.pkce import challenge_of
from inspector.protocol.revisions import R2, R3, R4, R5, Revision
from tests.unit.oauth.login_stage import Harness, ReceivedRequest, ScriptedResponse, World, browse


def states(login: Login) -> dict[str, StepState]:
    return {step.id.name: step.state for step in login.view.steps}


def preview(login: Login, id: StepId) -> LoginRequest:
    found = next(step for step in login.view.steps if step.id is id).preview
    assert found is not None
    return found


def ids(login: Login) -> set[str]:
    return {found.id for found in login.view.findings}


async def test_login_runs_to_the_end_automatically(harness: Harness, world: World) -> None:
    async with harness.login(world) as login:
        await login.run()
        view = login.view
        assert view.failure == ""
        assert set(states(login).values()) == {StepState.DONE}
        assert view.is_over
    assert view.result is not None
    assert view.result.access_token == "access-1"
    assert view.result.scopes == ("notes:read",)
    [token] = world.requested("/token")
    [authorize] = world.requested("/authorize")
    assert token.form["resource"] == authorize.query["resource"] == world.url
    assert token.form["redirect_uri"] == authorize.query["redirect_uri"]
    assert authorize.query["scope"] == "notes:read"
    assert world.requested("/register")[0].json["application_type"] == "native"


async def test_host_that_the_browser_opens_is_named(harness: Harness, world: World) -> None:
    """T11: the server chooses where the user is asked for a password."""
    async with harness.login(world) as login:
        await login.run()
        (step,) = [step for step in login.view.steps if step.id is StepId.AUTHORIZE]
    opened = [decision.text for decision in step.decisions if "browser" in decision.text]
    assert opened == ["Opened the authorization server in the browser: 127.0.0.1."]


async def test_each_step_is_shown_before_it_is_sent(harness: Harness, world: World) -> None:
    async with harness.login(world) as login:
        await login.begin()
        assert preview(login, StepId.PROBE).url == world.url
        assert world.seen == []
        await login.next()
        assert states(login)["PROBE"] is StepState.DONE
        assert states(login)["CHALLENGE"] is StepState.READY
        await login.run_to(StepId.SERVER_CHECK)
        assert preview(login, StepId.IDENTITY).url == f"{world.origin}/register"
        assert world.requested("/register") == []
        await login.run_to(StepId.PREPARE)
        assert preview(login, StepId.AUTHORIZE).url.startswith(f"{world.origin}/authorize?")
        assert world.requested("/authorize") == []


async def test_edited_request_is_sent_instead(harness: Harness, world: World) -> None:
    async with harness.login(world) as login:
        await login.run_to(StepId.CALLBACK)
        request = preview(login, StepId.TOKEN_REQUEST)
        login.edit(replace(request, body=request.body + b"&extra=1"))
        assert preview(login, StepId.TOKEN_REQUEST).body.endswith(b"&extra=1")
        await login.next()
    assert world.requested("/token")[0].form["extra"] == "1"


async def test_going_back_discards_later_steps_and_requests_again(harness: Harness, world: World) -> None:
    async with harness.login(world) as login:
        await login.run()
        await login.back(StepId.PREPARE)
        assert states(login)["PREPARE"] is StepState.READY
        assert states(login)["TOKEN_CHECK"] is StepState.WAITING
        assert login.view.result is None
        await login.run()
        assert login.view.failure == ""
    first, second = world.requested("/authorize")
    assert first.query["state"] != second.query["state"]
    assert first.query["redirect_uri"] == second.query["redirect_uri"]
    assert len(world.requested("/register")) == 1


async def test_failed_step_can_be_retried(harness: Harness, world: World) -> None:
    works = world.paths["/.well-known/oauth-authorization-server"]
    world.paths["/.well-known/oauth-authorization-server"] = lambda _: ScriptedResponse(503)
    async with harness.login(world) as login:
        await login.run()
        assert states(login)["SERVER_LOOKUP"] is StepState.FAILED
        assert "ASM-001" in ids(login)
        assert "503" in login.view.failure
        world.paths["/.well-known/oauth-authorization-server"] = works
        await login.retry()
        assert states(login)["SERVER_LOOKUP"] is StepState.DONE
        assert login.view.failure == ""


async def test_failure_is_reported_when_it_can_be_retried(harness: Harness, world: World) -> None:
    world.paths["/.well-known/oauth-authorization-server"] = lambda _: ScriptedResponse(503)
    views: list[LoginView] = []
    async with harness.login(world) as login:
        login.changed.connect(views.append)
        await login.run()
    assert views[-1].failure
    assert not [view for view in views if view.failure and view.is_running]


async def test_a_registered_client_is_used_again_with_its_port(harness: Harness, world: World) -> None:
    for _ in range(2):
        async with harness.login(world) as login:
            await login.run_to(StepId.TOKEN_CHECK)
            assert login.view.failure == ""
    assert len(world.requested("/register")) == 1
    first, second = world.requested("/authorize")
    assert first.query["client_id"] == second.query["client_id"]
    assert first.query["redirect_uri"] == second.query["redirect_uri"]


async def test_forgotten_client_is_registered_again(harness: Harness, world: World) -> None:
    for overrides in (Overrides(), Overrides(forgets_client=True)):
        async with harness.login(world, overrides) as login:
            await login.run_to(StepId.IDENTITY)
    assert len(world.requested("/register")) == 2


@pytest.mark.parametrize("iss", ["https://evil.example", None, "own/"])
async def test_no_token_is_requested_when_the_callback_is_not_from_the_issuer(
    harness: Harness, world: World, iss: str | None
) -> None:
    """T13: a mix-up attack sends the code to another authorization server."""
    world.iss = f"{world.origin}/" if iss == "own/" else iss
    async with harness.login(world) as login:
        await login.run()
        assert states(login)["CALLBACK"] is StepState.FAILED
        assert ids(login) & {"AZ-003", "AZ-004"}
    assert world.requested("/token") == []


async def test_callback_with_another_state_does_not_end_the_wait(harness: Harness, world: World) -> None:
    async def browse_after_a_stranger(url: str) -> None:
        redirect = httpx2.URL(url).params["redirect_uri"]
        async with httpx2.AsyncClient(trust_env=False) as stranger:
            response = await stranger.get(f"{redirect}?code=stolen&state=guessed")
            assert response.status_code == 400
        await browse(url)

    async with harness.login(world, browse=browse_after_a_stranger) as login:
        await login.run_to(StepId.TOKEN_CHECK)
        assert login.view.failure == ""
    assert world.requested("/token")[0].form["code"] == "code-1"


async def test_undeclared_pkce_is_rejected_in_an_unattended_login(harness: Harness, world: World) -> None:
    del world.server["code_challenge_methods_supported"]
    async with harness.login(world, is_unattended=True) as login:
        await login.run()
        assert states(login)["SERVER_CHECK"] is StepState.FAILED
        assert "ASM-006" in ids(login)
    assert world.requested("/register") == world.requested("/authorize") == []


@pytest.mark.parametrize(("is_strict", "ends_at"), [(True, "SERVER_CHECK"), (False, None)])
async def test_strict_mode_stops_at_an_error_and_observe_mode_continues(
    harness: Harness, world: World, is_strict: bool, ends_at: str | None
) -> None:
    world.server["code_challenge_methods_supported"] = ["plain"]
    async with harness.login(world, Overrides(is_strict=is_strict)) as login:
        await login.run_to(StepId.TOKEN_CHECK)
        failed = [name for name, state in states(login).items() if state is StepState.FAILED]
        assert failed == ([ends_at] if ends_at else [])
        assert "ASM-007" in ids(login)


async def test_metadata_of_another_issuer_is_never_used(harness: Harness, world: World) -> None:
    world.server["issuer"] = "https://attacker.example"
    async with harness.login(world) as login:
        await login.run()
        assert states(login)["SERVER_CHECK"] is StepState.FAILED
    assert world.requested("/register") == world.requested("/authorize") == []


async def test_metadata_about_another_server_is_never_used(harness: Harness, world: World) -> None:
    world.resource["resource"] = "https://evil.example/mcp"
    async with harness.login(world) as login:
        await login.run()
        assert states(login)["RESOURCE_CHECK"] is StepState.FAILED
    assert world.requested("/.well-known/oauth-authorization-server") == []


async def test_endpoint_on_another_host_needs_confirmation_once(harness: Harness, world: World) -> None:
    world.server["token_endpoint"] = world.server["token_endpoint"].replace("127.0.0.1", "localhost")
    async with harness.login(world) as login:
        await login.run()
        prompt = login.view.prompt
        assert prompt is not None
        assert prompt.kind is LoginPromptKind.HOSTS
        assert prompt.hosts == ("localhost",)
        assert world.requested("/register") == []
        await login.answer_consent(True)
        await login.run_to(StepId.TOKEN_CHECK)
        assert login.view.failure == ""
    async with harness.login(world) as login:
        await login.run_to(StepId.SERVER_CHECK)
        assert login.view.prompt is None


async def test_retry_asks_again_about_an_untrusted_host(harness: Harness, world: World) -> None:
    world.server["token_endpoint"] = world.server["token_endpoint"].replace("127.0.0.1", "localhost")
    async with harness.login(world) as login:
        await login.run()
        await login.answer_consent(False)
        await login.retry()
        assert login.view.prompt is not None
        assert world.requested("/register") == []


async def test_untrusted_host_ends_the_login(harness: Harness, world: World) -> None:
    world.server["token_endpoint"] = world.server["token_endpoint"].replace("127.0.0.1", "localhost")
    async with harness.login(world) as login:
        await login.run()
        await login.answer_consent(False)
        assert "trust" in login.view.failure
        await login.run()
    assert world.requested("/authorize") == []


async def test_without_registration_the_user_is_asked_for_a_client(harness: Harness, world: World) -> None:
    del world.server["registration_endpoint"]
    world.server["token_endpoint_auth_methods_supported"] = ["client_secret_basic"]
    async with harness.login(world) as login:
        await login.run()
        assert login.view.prompt is not None
        assert login.view.prompt.kind is LoginPromptKind.CLIENT
        await login.set_client("by-hand", "hush")
        await login.run_to(StepId.TOKEN_CHECK)
        assert login.view.failure == ""
    assert world.requested("/token")[0].headers["authorization"].startswith("Basic ")
    async with harness.login(world) as login:
        await login.run_to(StepId.IDENTITY)
        assert login.view.prompt is None


async def test_client_of_another_issuer_is_not_sent_to_this_one(harness: Harness, world: World) -> None:
    settings = OAuthSettings(client_id="mine", issuer="https://other.example")
    async with harness.login(world, settings=settings) as login:
        await login.run()
        assert states(login)["IDENTITY"] is StepState.FAILED
    assert world.requested("/authorize") == []


async def test_client_metadata_document_is_the_client_id_where_supported(
    harness: Harness, world: World
) -> None:
    world.server["client_id_metadata_document_supported"] = True
    document = "https://client.example/client.json"
    async with harness.login(world, settings=OAuthSettings(client_document=document)) as login:
        await login.run_to(StepId.TOKEN_CHECK)
        assert login.view.failure == ""
    assert world.requested("/authorize")[0].query["client_id"] == document
    assert world.requested("/register") == []


async def test_a_server_without_metadata_is_logged_in_to_as_in_2025_03_26(
    harness: Harness, world: World
) -> None:
    del world.paths["/.well-known/oauth-protected-resource/mcp"]
    del world.paths["/.well-known/oauth-authorization-server"]
    world.iss = None
    async with harness.login(world) as login:
        await login.run()
        assert login.view.failure == ""
        assert login.view.revision == R2
    assert "resource" not in world.requested("/token")[0].form
    assert len(world.requested("/authorize")) == 1


@pytest.mark.parametrize("revision", [R3, R4, R5])
async def test_chosen_protocol_version_has_no_older_fallback(
    harness: Harness, world: World, revision: Revision
) -> None:
    del world.paths["/.well-known/oauth-protected-resource/mcp"]
    async with harness.login(world, Overrides(revision=revision)) as login:
        await login.run()
        assert states(login)["RESOURCE_LOOKUP"] is StepState.FAILED
        assert "AUTH-005" in ids(login)


async def test_pasted_url_is_accepted_as_the_callback(harness: Harness, world: World) -> None:
    opened: asyncio.Queue[str] = asyncio.Queue()

    async def browse_elsewhere(url: str) -> None:
        opened.put_nowait(url)

    async with harness.login(world, browse=browse_elsewhere) as login:
        running = asyncio.create_task(login.run_to(StepId.TOKEN_CHECK))
        url = await opened.get()
        async with httpx2.AsyncClient(trust_env=False) as client:
            location = (await client.get(url)).headers["location"]
        with pytest.raises(UserError):
            login.submit_callback_url("http://127.0.0.1:1/callback?code=x&state=y")
        login.submit_callback_url(location)
        await running
        assert login.view.failure == ""


async def test_cancelling_frees_the_port_and_says_so(harness: Harness, world: World) -> None:
    opened = asyncio.Event()

    async def browse_and_forget(url: str) -> None:
        opened.set()

    async with harness.login(world, browse=browse_and_forget) as login:
        running = asyncio.create_task(login.run())
        await opened.wait()
        login.cancel()
        await running
        assert login.view.is_over
        assert "cancelled" in login.view.failure
        with pytest.raises(UserError):
            await login.next()


async def test_going_back_to_the_browser_step_creates_new_secrets(harness: Harness, world: World) -> None:
    async with harness.login(world) as login:
        await login.begin()
        await login.run_to(StepId.TOKEN_CHECK)
        await login.back(StepId.AUTHORIZE)
        preview = next(step for step in login.view.steps if step.id is StepId.AUTHORIZE).preview
        await login.run_to(StepId.TOKEN_CHECK)
        assert login.view.failure == ""
        await login.back(StepId.AUTHORIZE)
        await login.run()
        assert login.view.failure == ""
    requested = [seen.query for seen in world.requested("/authorize")]
    for name in ("state", "code_challenge"):
        assert len({query[name] for query in requested}) == 3
    assert preview is not None
    assert requested[1]["state"] in preview.url, "what was shown is what was opened"
    verifiers = [seen.form["code_verifier"] for seen in world.requested("/token")]
    assert [challenge_of(each) for each in verifiers] == [query["code_challenge"] for query in requested]


async def test_a_code_is_good_for_one_request(harness: Harness, world: World) -> None:
    world.paths["/token"] = lambda _: ScriptedResponse(400, {"error": "invalid_grant"})
    async with harness.login(world) as login:
        await login.run()
        assert states(login)["TOKEN_CHECK"] is StepState.FAILED
        await login.retry()
        assert states(login)["TOKEN_CHECK"] is StepState.FAILED
    assert len(world.requested("/token")) == 1


async def test_issuer_in_a_private_network_needs_confirmation_once(harness: Harness, world: World) -> None:
    world.resource["authorization_servers"] = ["https://10.1.2.3/"]
    async with harness.login(world) as login:
        await login.run()
        prompt = login.view.prompt
        assert prompt is not None
        assert prompt.kind is LoginPromptKind.PRIVATE
        assert prompt.hosts == ("10.1.2.3",)
        assert states(login)["RESOURCE_CHECK"] is StepState.FAILED
        await login.answer_consent(True)
        assert states(login)["RESOURCE_CHECK"] is StepState.DONE
    async with harness.login(world) as login:
        await login.run_to(StepId.RESOURCE_CHECK)
        assert states(login)["RESOURCE_CHECK"] is StepState.DONE


async def test_link_local_addresses_cannot_be_allowed_by_consent(harness: Harness, world: World) -> None:
    world.resource["authorization_servers"] = ["https://169.254.169.254/"]
    async with harness.login(world) as login:
        await login.run()
        assert states(login)["RESOURCE_CHECK"] is StepState.FAILED
        assert login.view.prompt is None


def _wrong_audience(_: ReceivedRequest) -> ScriptedResponse:
    token = new_key().sign({"aud": "https://other.example", "exp": 1})
    return ScriptedResponse(body={"access_token": token, "token_type": "Bearer", "expires_in": 60})


@pytest.mark.parametrize("is_strict", [True, False])
async def test_strict_mode_stores_no_invalid_token(harness: Harness, world: World, is_strict: bool) -> None:
    world.paths["/token"] = _wrong_audience
    async with harness.login(world, Overrides(is_strict=is_strict)) as login:
        await login.run_to(StepId.TOKEN_CHECK)
        assert "TOK-010" in ids(login)
        assert (login.stored_login is None) is is_strict
    held = await harness.store(world).newest_login()
    assert (held is None) is is_strict


async def test_rejected_new_token_is_reported_and_explained(harness: Harness, world: World) -> None:
    async with harness.login(world) as login:
        await login.run_to(StepId.TOKEN_CHECK)
        world.tokens.clear()
        await login.run()
        assert states(login)["CALL"] is StepState.FAILED
        assert "RS-001" in ids(login)


async def test_every_request_of_a_login_is_in_the_traffic(harness: Harness, world: World) -> None:
    async with harness.login(world) as login:
        await login.run()
        rows = [seen.row for step in login.view.steps for seen in step.exchanges]
    assert len(rows) == len(set(rows)) == len(world.seen) - len(world.requested("/authorize"))
    assert all(row >= 0 for row in rows)


async def test_internal_error_ends_the_step_and_says_so(
    harness: Harness, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def broken(stage: LoginContext) -> None:
        raise KeyError("x")

    monkeypatch.setitem(STEP_HANDLERS, StepId.CHALLENGE, StepHandler(broken))
    async with harness.login(world) as login:
        await login.run()
        assert "bug in MCP Lens" in login.view.next_step
        assert not login.view.is_running

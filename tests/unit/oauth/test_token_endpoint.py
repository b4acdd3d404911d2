"""Tokens after a login: two processes that share them, and a failing secret store."""

from __future__ import annotations

import asyncio
import sys
import textwrap
from asyncio.subprocess import PIPE
from pathlib import Path

import pytest

from inspector.config.secrets.records import StorageKind
from inspector.config.servers.entries import HttpEntry, OAuthSettings, SecretRef
from inspector.engine.calls.tool_calls import ToolCall
from inspector.engine.engine import Engine
from inspector.engine.secrets import Secrets
from inspector.engine.views import OutcomeKind
from inspector.oauth.login.steps import StepId
from inspector.oauth.login_reason import LoginReason
from inspector.oauth.store import LoginStore
from inspector.oauth.token_endpoint import RefreshRefused
from tests.helpers.keychains import MemoryKeychain
from tests.helpers.secretsstage import Machine
from tests.unit.oauth.login_stage import SERVER, Harness, ReceivedRequest, ScriptedResponse, World, browse


def engine_of(machine: Machine, world: World) -> Engine:
    store = machine.store
    engine = Engine(secrets=Secrets(lambda: store))
    engine.logins.opens_browser = frozenset(LoginReason)
    engine.logins.open_url = browse
    engine.servers.add(HttpEntry(name=SERVER, url=world.url, type="http"))
    return engine


async def test_two_app_instances_refresh_a_token_once(tmp_path: Path, world: World) -> None:
    """T38: two instances use one refresh token, and the server revokes it."""
    machine = Machine(tmp_path)
    engines = [engine_of(machine, world) for _ in range(2)]
    try:
        for engine in engines:
            await engine.servers.connector.connect(SERVER)
        assert len(world.requested("/authorize")) == 1, "the second found the tokens of the first"
        world.tokens.clear()
        spent: list[str] = []
        works = world.token

        def token(seen: ReceivedRequest) -> ScriptedResponse:
            """A server that rotates refresh tokens: each is valid once."""
            if seen.form["refresh_token"] in spent:
                return ScriptedResponse(400, {"error": "invalid_grant"})
            spent.append(seen.form["refresh_token"])
            return works(seen)

        world.paths["/token"] = token
        outcomes = await asyncio.gather(
            *(engine.tool_caller.call(SERVER, ToolCall("read")) for engine in engines for _ in range(3))
        )
        assert {outcome.kind for outcome in outcomes} == {OutcomeKind.RESULT}
        assert spent == ["refresh-1"]
    finally:
        for engine in engines:
            await engine.close()


_OTHER_PROCESS = """
    import asyncio, sys
    from dataclasses import replace
    from pathlib import Path
    from inspector.config.secrets.store import SecretStore
    from inspector.engine.secrets import Secrets
    from inspector.oauth.store import LoginStore

    async def main():
        secrets = Secrets(lambda: SecretStore(Path(sys.argv[1])))
        store = LoginStore(secrets, sys.argv[2], sys.argv[3])
        async with store.refresh_lock(sys.argv[4]):
            print("mine", flush=True)
            await asyncio.to_thread(sys.stdin.readline)
            login = await store.newest_login()
            await store.save_login(replace(login, tokens=replace(login.tokens, access_token="of-the-other")))
        await secrets.end()

    asyncio.run(main())
"""


async def test_login_is_not_stored_while_another_process_refreshes_the_old_tokens(
    tmp_path: Path, world: World
) -> None:
    machine = Machine(tmp_path)
    machine.store.move_to(StorageKind.PLAIN, unprotected=True)
    engine = engine_of(machine, world)
    arguments = (textwrap.dedent(_OTHER_PROCESS), str(machine.folder), SERVER, world.url, world.origin)
    try:
        await engine.servers.connector.connect(SERVER)
        other = await asyncio.create_subprocess_exec(
            sys.executable, "-c", *arguments, stdin=PIPE, stdout=PIPE
        )
        try:
            assert other.stdout is not None
            assert await other.stdout.readline() == b"mine\n"
            await engine.logins.start(SERVER)
            await engine.logins.run_to(SERVER, StepId.TOKEN_REQUEST)
            storing = asyncio.create_task(engine.logins.next(SERVER))
            await engine.secrets.stored()  # lets the store run, which would have written it
            await engine.secrets.stored()
            await other.communicate(b"\n")
        finally:
            if other.returncode is None:
                other.kill()
                await other.wait()
        assert (await storing).failure == ""
        login = await LoginStore(engine.secrets, SERVER, world.url).newest_login()
        assert login is not None
        assert login.tokens.access_token == "access-2", "the newer token, not the one refreshed meanwhile"
    finally:
        await engine.close()


async def test_two_concurrent_logins_bind_their_tokens_to_one_key(harness: Harness, world: World) -> None:
    stores = harness.store(world), harness.store(world)
    first, second = await asyncio.gather(*(store.key("https://as.example") for store in stores))
    assert first.thumbprint() == second.thumbprint()


async def test_refresh_running_in_another_process_is_awaited(tmp_path: Path, world: World) -> None:
    machine = Machine(tmp_path)
    machine.store.move_to(StorageKind.PLAIN, unprotected=True)
    engine = engine_of(machine, world)
    arguments = (textwrap.dedent(_OTHER_PROCESS), str(machine.folder), SERVER, world.url, world.origin)
    try:
        await engine.servers.connector.connect(SERVER)
        other = await asyncio.create_subprocess_exec(
            sys.executable, "-c", *arguments, stdin=PIPE, stdout=PIPE
        )
        try:
            assert other.stdout is not None
            assert await other.stdout.readline() == b"mine\n"
            world.tokens[:] = ["of-the-other"]
            requested = world.next_request("/.well-known/oauth-protected-resource/mcp")
            calling = asyncio.create_task(engine.tool_caller.call(SERVER, ToolCall("read")))
            await requested.wait()  # precedes a refresh
            await other.communicate(b"\n")
        finally:
            if other.returncode is None:
                other.kill()
                await other.wait()
        assert (await calling).kind is OutcomeKind.RESULT
        assert len(world.requested("/token")) == 1
    finally:
        await engine.close()


async def test_tokens_of_another_issuer_stay_under_their_own_name(harness: Harness, world: World) -> None:
    async with harness.login(world) as login:
        await login.run_to(StepId.TOKEN_CHECK)
    names = [secret.name for secret in await harness.secrets.stored()]
    assert all(name.startswith("oauth/http%3A%2F%2F127.0.0.1%3A") for name in names)
    assert await harness.store(world).issuers() == (world.origin,)
    assert await LoginStore(harness.secrets, "another", world.url).issuers() == ()


async def test_unreadable_record_counts_as_missing(harness: Harness, world: World) -> None:
    async with harness.login(world) as login:
        await login.run_to(StepId.TOKEN_CHECK)
    for secret in await harness.secrets.stored():
        await harness.secrets.put(secret.name, '{"tokens": [], "client_id": 5')
    store = harness.store(world)
    assert await store.newest_login() is None
    assert await store.clients() == ()


async def test_login_is_not_lost_when_the_keychain_fails(tmp_path: Path, world: World) -> None:
    class Broken(MemoryKeychain):
        def set_password(self, service: str, username: str, password: str) -> None:
            raise OSError("no")

    engine = engine_of(Machine(tmp_path, Broken()), world)
    try:
        await engine.servers.connector.connect(SERVER)
        view = engine.logins.view(SERVER)
        assert view is not None
        assert view.result is not None
        assert not view.result.is_saved
    finally:
        await engine.close()


async def test_reconfigured_server_keeps_its_tokens(harness: Harness, world: World) -> None:
    engine = Engine(secrets=harness.secrets)
    engine.servers.add(HttpEntry(name=SERVER, url=world.url, type="http"))
    async with harness.login(world) as login:
        await login.run_to(StepId.TOKEN_CHECK)
    await engine.servers.connector.connect(SERVER)
    await engine.servers.set_auth(
        SERVER, OAuthSettings(client_id="other", client_secret=SecretRef("nowhere"))
    )
    await engine.servers.connector.connect(SERVER)
    assert world.requested("/mcp")[-1].headers["authorization"] == "Bearer access-1"
    await engine.close()


async def test_missing_referenced_secret_is_reported_by_name(harness: Harness, world: World) -> None:
    ref = SecretRef("a/b")
    settings = OAuthSettings(
        grant="client_credentials", client_id="x", client_secret=ref, issuer=world.origin
    )
    async with harness.login(world, settings=settings) as login:
        await login.run()
        assert "client secret" in login.view.failure
        assert "a › b" in login.view.failure


@pytest.mark.parametrize("forget", ["log_out", "delete_tokens"])
@pytest.mark.parametrize("is_refresh_first", [True, False])
async def test_logging_out_during_a_refresh_leaves_no_token(
    tmp_path: Path, world: World, forget: str, is_refresh_first: bool
) -> None:
    engine = engine_of(Machine(tmp_path), world)
    logins = engine.logins
    try:
        await engine.servers.connector.connect(SERVER)
        refreshing, leaving = logins.refresh(SERVER), getattr(logins, forget)(SERVER)
        both = (refreshing, leaving) if is_refresh_first else (leaving, refreshing)
        await asyncio.gather(*both, return_exceptions=True)
        assert await logins.tokens(SERVER) is None
        assert [one.name for one in await engine.secrets.stored() if "tokens" in one.name] == []
        if forget == "log_out":
            newest = world.tokens[-1].replace("access", "refresh")
            assert [one.form["token"] for one in world.requested("/revoke")] == [newest]
    finally:
        await engine.close()


async def test_logout_waits_for_a_refresh_already_sent(tmp_path: Path, world: World) -> None:
    engine = engine_of(Machine(tmp_path), world)
    logins = engine.logins
    try:
        await engine.servers.connector.connect(SERVER)
        sent = world.next_request("/token")
        refreshing = asyncio.create_task(logins.refresh(SERVER))
        await sent.wait()
        await logins.log_out(SERVER)
        await asyncio.wait([refreshing])
        assert [one.form["token"] for one in world.requested("/revoke")] == ["refresh-2"]
        assert await logins.tokens(SERVER) is None
    finally:
        await engine.close()


async def test_refresh_that_ends_the_login_leaves_no_token(tmp_path: Path, world: World) -> None:
    engine = engine_of(Machine(tmp_path), world)
    try:
        await engine.servers.connector.connect(SERVER)
        world.paths["/token"] = lambda _: ScriptedResponse(400, {"error": "invalid_grant"})
        with pytest.raises(RefreshRefused):
            await engine.logins.refresh(SERVER)
        assert await engine.logins.tokens(SERVER) is None
    finally:
        await engine.close()

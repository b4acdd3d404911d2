"""A secret takes every path through the app; no written file contains it, except the encrypted vault.

A path is a function in `PATHS` that takes the app and its own secret, and uses it as a user would. To add
one, write it and put it into the list.
"""

from __future__ import annotations

import base64
import json
import logging
import os
import sys
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from urllib.parse import quote

import pytest

from inspector.app.runtime_hooks import report_task_errors
from inspector.base.errors import UserError
from inspector.config.paths import Files
from inspector.config.reply_rules import Endpoint, ReplyRule, RuleKind
from inspector.config.secrets.keychain import Keychain
from inspector.config.secrets.records import make_name
from inspector.config.secrets.store import SecretStore
from inspector.config.servers.entries import (
    BearerSettings,
    HttpEntry,
    IdentityProvider,
    NetworkSettings,
    OAuthSettings,
    SecretRef,
    StdioEntry,
)
from inspector.config.servers.entry_secrets import with_references
from inspector.config.servers.server_list import ServerListFile
from inspector.engine.calls.library import CallLibrary
from inspector.engine.calls.tool_calls import ToolCall
from inspector.engine.captures import Captures
from inspector.engine.engine import Engine
from inspector.engine.exports import ExportFormat
from inspector.engine.inbox.reply_rules import ReplyRules
from inspector.engine.inbox.views import RequestItem
from inspector.engine.secrets import Secrets
from inspector.engine.settings import SettingsStore
from inspector.engine.views import OutcomeKind
from inspector.oauth.http import LoginHttp, LoginRecorder, LoginTarget
from inspector.oauth.login.steps import LoginView
from inspector.oauth.token_endpoint import TokenLifecycle
from inspector.protocol.auth.dpop import Nonces
from inspector.protocol.auth.url_guard import allowance_for
from inspector.protocol.revisions import R4
from inspector.protocol.server_requests.request import SAMPLING, server_request_of
from inspector.traffic.masking.masker import Masker
from inspector.traffic.records import RecordKind
from inspector.transport.network import Network
from tests.helpers.atrest import positions_of
from tests.helpers.httpfaults import FaultServer, replies_with
from tests.helpers.keychains import MemoryKeychain
from tests.helpers.secretsstage import CHEAP
from tests.unit.engine.inbox.chat_endpoint_stage import COMPLETION, description
from tests.unit.oauth.login.company import Company
from tests.unit.oauth.login_stage import Harness, ReceivedRequest, ScriptedResponse, World, browse
from tests.unit.protocol.server_requests.request_samples import sampling

VAULT = "vault.json"


class App:
    """The engine with its own files, as in the window."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.secrets = Secrets(
            lambda: SecretStore(root / "data" / "secrets", Keychain(MemoryKeychain), CHEAP)
        )
        self.reported: list[str] = []
        log = Engine().log
        settings = SettingsStore(Files(preferences=root / "config" / "preferences.json"))
        self.engine = Engine(
            ServerListFile(root / "config" / "servers.json"),
            settings,
            log=log,
            captures=Captures(log, root / "data" / "captures"),
            calls=CallLibrary(
                root / "state" / "history",
                root / "data" / "calls",
                settings,
                self.secrets,
            ),
            secrets=self.secrets,
            reply_rules=ReplyRules(root / "config" / "answers.json", self.secrets.get),
        )
        self.engine.servers.problem_found.connect(self.reported.append)
        self.engine.servers.changed.connect(lambda view: self.reported.append(f"{view.name} {view.address}"))

    async def call_over_http(self, entry: HttpEntry, echo: str, *, keep: bool = False) -> None:
        """Connect to a server that echoes a secret in its responses; `keep` saves it in the server list."""
        async with FaultServer() as server:
            entry = replace(entry, url=f"{server.url()}{entry.url}", era="2025-11-25")
            _declare_tools(server)
            server.order("tools/call", replies_with(lambda call: call.response(f"you are {echo}")))
            self.engine.servers.save(entry) if keep else self.engine.servers.add(entry)
            await self.engine.servers.connector.connect(entry.name)
            outcome = await self.engine.tool_caller.call(
                entry.name, ToolCall("echo", {"api_key": echo}), keep=True
            )
            assert outcome.kind is OutcomeKind.RESULT, outcome
            await self.engine.servers.connector.disconnect(entry.name)


def _declare_tools(server: FaultServer) -> None:
    info = {"name": "f", "version": "1"}
    result = {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": info}
    server.order("initialize", replies_with(lambda call: call.response(result=result)))


Path_ = Callable[[App, str], Awaitable[None]]


async def bearer_header(app: App, secret: str) -> None:
    entry = HttpEntry(name="bearer", url="", headers={"Authorization": f"Bearer {secret}"})
    await app.call_over_http(entry, secret)


async def bearer_of_a_kept_server(app: App, secret: str) -> None:
    """The server list contains the reference, not the secret."""
    name = make_name("bearer", "kept")
    await app.secrets.put(name, secret)
    auth = BearerSettings(token=SecretRef(name))
    await app.call_over_http(HttpEntry(name="kept", url="", auth=auth), secret, keep=True)
    assert (app.root / "config" / "servers.json").exists()


async def header_of_a_kept_server(app: App, secret: str) -> None:
    """A stored header whose name does not look secret."""
    plain = HttpEntry(name="refers", url="", headers={"X-Whoami": secret, "X-Plain": "1"})
    entry, values = with_references(plain, ["X-Whoami"])
    assert isinstance(entry, HttpEntry)
    for name, value in values.items():
        await app.secrets.put(name, value)
    await app.call_over_http(entry, secret, keep=True)
    assert _kept(app, "refers")["headers"] == {
        "X-Whoami": {"ref": "header/refers/X-Whoami"},
        "X-Plain": "1",
    }


async def bearer_header_that_was_moved(app: App, secret: str) -> None:
    """It was in the server list until the user moved it to the store."""
    async with FaultServer() as server:
        headers = {"Authorization": f"Bearer {secret}"}
        app.engine.servers.save(HttpEntry(name="moved", url=server.url(), headers=headers, era="2025-11-25"))
        _declare_tools(server)
        await app.engine.servers.set_secrets("moved", ["Authorization"], {})
        await app.engine.servers.connector.connect("moved")
        assert server.called("initialize")[0].headers["authorization"] == f"Bearer {secret}"
        await app.engine.servers.connector.disconnect("moved")


async def variable_of_a_kept_program(app: App, secret: str) -> None:
    """It prints a variable from the store to stderr and exits."""
    words = "import os, sys; sys.stderr.write('bad ' + os.environ['WHOAMI'] + chr(10))"
    name = make_name("env", "starts", "WHOAMI")
    await app.secrets.put(name, secret)
    env = {"WHOAMI": SecretRef(name)}
    app.engine.servers.save(
        StdioEntry(name="starts", command=sys.executable, args=("-I", "-S", "-c", words), env=env)
    )
    with pytest.raises(UserError):
        await app.engine.servers.connector.connect("starts")
    assert any(secret.encode() in row.raw for row in app.engine.log.find("starts", RecordKind.STDERR))
    assert _kept(app, "starts")["env"] == {"WHOAMI": {"ref": name}}


def _kept(app: App, server: str) -> dict[str, object]:
    written: dict[str, object] = json.loads((app.root / "config" / "servers.json").read_text())["mcpServers"][
        server
    ]
    return written


async def basic_header(app: App, secret: str) -> None:
    packed = base64.b64encode(f"me:{secret}".encode()).decode()
    entry = HttpEntry(name="basic", url="", headers={"Authorization": f"Basic {packed}"})
    await app.call_over_http(entry, f"{packed}, which is me:{secret}")


async def api_key_header(app: App, secret: str) -> None:
    await app.call_over_http(HttpEntry(name="key", url="", headers={"X-Api-Key": secret}), secret)


async def cookie_header(app: App, secret: str) -> None:
    entry = HttpEntry(name="cookie", url="", headers={"Cookie": f"sid={secret}"})
    await app.call_over_http(entry, "nobody")


async def key_in_the_address(app: App, secret: str) -> None:
    entry = HttpEntry(name="address", url=f"?api_key={quote(secret, safe='')}")
    await app.call_over_http(entry, secret)


async def variable_of_a_program(app: App, secret: str) -> None:
    """It prints its token to stderr and exits."""
    words = "import os, sys; sys.stderr.write('bad token ' + os.environ['API_TOKEN'] + chr(10))"
    entry = StdioEntry(
        name="program", command=sys.executable, args=("-I", "-S", "-c", words), env={"API_TOKEN": secret}
    )
    app.engine.servers.add(entry)
    with pytest.raises(UserError):
        await app.engine.servers.connector.connect("program")
    assert any(secret.encode() in row.raw for row in app.engine.log.find("program", RecordKind.STDERR))


async def password_of_an_inherited_proxy(app: App, secret: str) -> None:
    """A proxy variable is passed by default; the program prints it and its password."""
    await _print_inherited(app, "HTTPS_PROXY", f"http://me:{quote(secret, safe='')}@proxy:3128", whole=False)


async def variable_of_the_whole_environment(app: App, secret: str) -> None:
    await _print_inherited(app, "DEPLOY_TOKEN", secret, whole=True)


async def _print_inherited(app: App, variable: str, value: str, *, whole: bool) -> None:
    words = (
        "import os, sys, urllib.parse as u; "
        f"v = os.environ['{variable}']; sys.stderr.write(v + ' ' + u.unquote(v) + chr(10))"
    )
    args = ("-I", "-S", "-c", words)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(variable, value)
        app.engine.servers.add(
            StdioEntry(name=variable, command=sys.executable, args=args, inherit_environment=whole)
        )
        with pytest.raises(UserError):
            await app.engine.servers.connector.connect(variable)
    assert any(value.encode() in row.raw for row in app.engine.log.find(variable, RecordKind.STDERR))


async def argument_of_a_program(app: App, secret: str) -> None:
    args = ("-I", "-S", "-c", "import sys; sys.stderr.write(repr(sys.argv))", "--token", secret)
    app.engine.servers.add(StdioEntry(name="arguments", command=sys.executable, args=args))
    with pytest.raises(UserError):
        await app.engine.servers.connector.connect("arguments")


async def header_among_arguments(app: App, secret: str) -> None:
    """A secret in a header argument, as for HTTP bridge programs."""
    args = ("-I", "-S", "-c", "import sys; sys.stderr.write(repr(sys.argv))")
    words = (
        "--header",
        f"Authorization: Bearer {secret}",
        f"--dsn=postgres://ann:{quote(secret, safe='')}@db/x",
    )
    app.engine.servers.add(StdioEntry(name="bridge", command=sys.executable, args=(*args, *words)))
    with pytest.raises(UserError):
        await app.engine.servers.connector.connect("bridge")


async def argument_of_a_call(app: App, secret: str) -> None:
    """A capture contains the message as sent; the call history does not contain the secret."""
    await app.engine.calls.set_variable("api_token", secret)
    variables = await app.engine.calls.variables()
    assert variables.values["api_token"] == secret
    async with FaultServer() as server:
        _declare_tools(server)
        app.engine.servers.add(HttpEntry(name="called", url=server.url(), era="2025-11-25"))
        await app.engine.servers.connector.connect("called")
        call = ToolCall("echo", {"text": "as ${api_token}", "api_key": secret}, variables=variables)
        outcome = await app.engine.tool_caller.call("called", call, keep=True)
        assert outcome.kind is OutcomeKind.RESULT, outcome
        assert secret in server.called("tools/call")[0].body.decode().replace("\\/", "/")
        await app.engine.servers.connector.disconnect("called")


async def key_of_an_endpoint(app: App, secret: str) -> None:
    async with FaultServer() as server:
        server.order("answer", description(COMPLETION))
        await app.secrets.put("answers/endpoint/m", secret)
        endpoint = Endpoint(server.url(path="/v1"), "gpt-9", "answers/endpoint/m", 20)
        rule = ReplyRule("m", "Model", RuleKind.ENDPOINT, is_on=True, endpoint=endpoint)
        await app.engine.reply_rules.save([rule])
        assert (
            await app.engine.reply_rules.reply(
                "demo", RequestItem("", server_request_of(SAMPLING, sampling())), R4
            )
            is not None
        )
        assert server.calls[0].headers["authorization"] == f"Bearer {secret}"


class _World(World):
    """Everything it returns contains the secret."""

    def __init__(self, secret: str) -> None:
        super().__init__()
        self.secret = secret

    def build(self) -> None:
        super().build()
        self.server["token_endpoint_auth_methods_supported"] = ["client_secret_basic"]

    def register(self, seen: ReceivedRequest) -> ScriptedResponse:
        response = super().register(seen)
        response.body |= {
            "client_secret": f"client-{self.secret}",
            "token_endpoint_auth_method": "client_secret_basic",
        }
        return response

    def authorize(self, seen: ReceivedRequest) -> ScriptedResponse:
        response = super().authorize(seen)
        response.headers["Location"] = response.headers["Location"].replace(
            "code=code-", f"code=code-{self.quoted}-"
        )
        return response

    def token(self, seen: ReceivedRequest) -> ScriptedResponse:
        response = super().token(seen)
        for kind in ("access", "refresh"):
            response.body[f"{kind}_token"] = f"{kind}-{self.secret}-{len(self.tokens)}"
        response.body["id_token"] = f"id-{self.secret}"
        self.tokens[-1] = response.body["access_token"]
        return response

    def mcp(self, seen: ReceivedRequest) -> ScriptedResponse:
        response = super().mcp(seen)
        if isinstance(response.body, dict):  # the metadata names its endpoints
            response.body["result"] = {**response.body["result"], "you": seen.headers["authorization"]}
        return response

    @property
    def quoted(self) -> str:
        return quote(self.secret, safe="")


def _server_requests(app: App) -> Harness:
    harness = Harness()
    harness.secrets, harness.log = app.secrets, app.engine.log
    return harness


async def login(app: App, secret: str) -> None:
    """Client secret, code, tokens, callback, a call with the token, a refresh."""
    harness = _server_requests(app)
    async with _World(secret) as world:
        async with harness.login(world) as login:
            await login.run()
            assert login.view.failure == ""
        sent = b"".join(one.body for one in world.requested("/token"))
        assert b"code-" in sent
        store, allowance = harness.store(world), allowance_for(world.url)
        recorder = LoginRecorder(harness.log, "notes", harness.clock)
        held = await store.newest_login()
        assert held is not None
        lifecycle = TokenLifecycle(
            LoginTarget("notes", world.url),
            store,
            harness.clock,
            recorder,
            Nonces(),
            allowance,
            lambda allowed: LoginHttp(Network(), allowed, harness.clock, recorder),
        )
        renewed = await lifecycle.refresh(held, R4, is_refused=True)
        assert renewed.tokens.access_token != held.tokens.access_token


async def client_of_the_person(app: App, secret: str) -> None:
    """A pre-registered client with its secret in the store."""
    name = make_name("oauth-client", "notes")
    await app.secrets.put(name, secret)
    async with World() as world:
        world.server["token_endpoint_auth_methods_supported"] = ["client_secret_post"]
        settings = OAuthSettings(
            issuer=world.origin, client_id="mine", client_secret=SecretRef(name), method="client_secret_post"
        )
        async with _server_requests(app).login(world, settings=settings) as login:
            await login.run()
            assert login.view.failure == ""
        assert world.requested("/token")[0].form["client_secret"] == secret


async def sign_in_with_a_company(app: App, secret: str) -> None:
    """Code, ID token, refresh token and ID-JAG of an identity provider, and a second login with them."""
    await app.secrets.put("secret", "hush")
    harness = _server_requests(app)
    async with World() as world:
        company = Company(world, secret)
        company.now = harness.clock.wall_ns() / 1e9
        for _ in range(2):
            async with harness.login(world, settings=company.settings) as login:
                await login.run()
                assert login.view.failure == ""
            signed_in = await harness.store(world).provider_login(company.issuer)
            assert signed_in is not None
            ended = replace(signed_in, id_token=company.id_token(exp=1))
            await harness.store(world).save_provider_login(ended)  # the second login refreshes it
        assert secret in company.requested("refresh_token")[0].form["refresh_token"]
        assert secret in company.requested("authorization_code")[0].form["code"]
        assert secret in world.requested("/token")[0].form["assertion"]


async def id_token_of_the_person(app: App, secret: str) -> None:
    """An existing ID token, and the client secret for the identity provider."""
    await app.secrets.put("secret", "hush")
    await app.secrets.put("theirs", f"idp-{secret}")
    async with World() as world:
        company = Company(world, secret)
        company.now = _server_requests(app).clock.wall_ns() / 1e9
        await app.secrets.put("id-token", company.id_token(jti=secret))
        provider = IdentityProvider(
            issuer=company.issuer,
            client_id="desk",
            client_secret=SecretRef("theirs"),
            method="client_secret_post",
            id_token=SecretRef("id-token"),
        )
        settings = replace(company.settings, identity_provider=provider)
        async with _server_requests(app).login(world, settings=settings) as login:
            await login.run()
            assert login.view.failure == ""
        [exchange] = company.requested("token-exchange")
        assert exchange.form["client_secret"] == f"idp-{secret}"


async def what_a_provider_says_again(app: App, secret: str) -> None:
    """It rejects the request and repeats what it was sent; so does the authorization server."""
    await app.secrets.put("secret", "hush")
    async with World() as world:
        company = Company(world, secret)
        company.now = _server_requests(app).clock.wall_ns() / 1e9
        works = world.paths["/idp/token"]

        def refuse(grant: str, name: str) -> Callable[[ReceivedRequest], ScriptedResponse]:
            def response(seen: ReceivedRequest) -> ScriptedResponse:
                if not seen.form["grant_type"].endswith(grant):
                    return works(seen)
                words = f"not {seen.form[name]}, please"
                return ScriptedResponse(400, {"error": "invalid_grant", "error_description": words})

            return response

        for path, grant, name in (
            ("/idp/token", "authorization_code", "code"),
            ("/idp/token", "token-exchange", "subject_token"),
            ("/token", "jwt-bearer", "assertion"),
        ):
            world.paths[path] = refuse(grant, name)
            async with _server_requests(app).login(world, settings=company.settings) as login:
                await login.run()
                assert "rejected the request" in login.view.failure
                if name == "code":  # later, the claims of the ID token are shown, which contain the secret
                    _hand_on(app, login.view)
            world.paths["/idp/token"] = works


async def jwt_of_a_workload(app: App, secret: str) -> None:
    """From the store, and from another tool's file."""
    await app.secrets.put("jwt", f"eyJhbGciOiJub25lIn0.{secret}.a")
    async with World() as world:
        world.server["grant_types_supported"] = ["urn:ietf:params:oauth:grant-type:jwt-bearer"]
        settings = OAuthSettings(grant="wif", issuer=world.origin, assertion=SecretRef("jwt"))
        async with _server_requests(app).login(world, settings=settings) as login:
            await login.run()
            assert login.view.failure == ""
            _hand_on(app, login.view)
        assert secret in world.requested("/token")[0].form["assertion"]


async def jwt_of_a_workload_from_the_environment(app: App, secret: str) -> None:
    """It is not stored, so it is recognized only by its place in the request."""
    os.environ["LENS_TEST_JWT"] = f"opaque-{secret}"
    async with World() as world:
        settings = OAuthSettings(grant="wif", issuer=world.origin, assertion_variable="LENS_TEST_JWT")
        world.paths["/token"] = lambda seen: ScriptedResponse(
            400, {"error": "invalid_grant", "error_description": f"I do not know {seen.form['assertion']}"}
        )
        async with _server_requests(app).login(world, settings=settings) as login:
            await login.run()
            _hand_on(app, login.view)
    del os.environ["LENS_TEST_JWT"]


async def header_that_goes_with_a_login(app: App, secret: str) -> None:
    """A gateway requires the header, and the proxy a password."""
    await app.secrets.put(make_name("header", "gated", "X-Whoami"), secret)
    async with World() as world:
        headers = {"X-Whoami": SecretRef(make_name("header", "gated", "X-Whoami"))}
        app.engine.servers.add(HttpEntry(name="gated", url=world.url, headers=headers))
        app.engine.logins.open_url = browse
        await app.engine.logins.start("gated")
        view = await app.engine.logins.run("gated")
        assert view.failure == ""
        _hand_on(app, view)
        assert world.requested("/token")[0].headers["x-whoami"] == secret
        proxy = f"http://ann:{quote(secret, safe='')}@127.0.0.1:1"
        app.engine.servers.add(
            HttpEntry(name="far", url="http://mcp.example/", network=NetworkSettings(proxy=proxy))
        )
        await app.engine.logins.start("far")
        view = await app.engine.logins.run("far")
        assert view.failure
        _hand_on(app, view)


def _hand_on(app: App, view: LoginView) -> None:
    """What the user can copy or export of a login."""
    from inspector.oauth.login.report import findings_text, login_text, login_trace, mermaid

    (app.root / "handed-on").mkdir(exist_ok=True)
    location = app.root / "handed-on" / f"{len(list((app.root / 'handed-on').iterdir()))}.txt"
    location.write_text(login_text(view) + findings_text(view) + login_trace(view).decode() + mermaid(view))


async def error_that_nobody_caught(app: App, secret: str) -> None:
    """It is written to the crash report, with its message."""
    app.engine.log.credentials.add(secret, "token")

    async def fail() -> None:
        raise RuntimeError(f"cannot use {secret} at https://a.example/?token={secret}x")

    try:
        await fail()
    except RuntimeError:
        logging.getLogger("inspector").exception("a task failed with Bearer %s", secret)


PATHS: list[Path_] = [
    bearer_header,
    bearer_of_a_kept_server,
    header_of_a_kept_server,
    bearer_header_that_was_moved,
    variable_of_a_kept_program,
    basic_header,
    api_key_header,
    cookie_header,
    key_in_the_address,
    variable_of_a_program,
    password_of_an_inherited_proxy,
    variable_of_the_whole_environment,
    argument_of_a_program,
    header_among_arguments,
    argument_of_a_call,
    key_of_an_endpoint,
    login,
    client_of_the_person,
    sign_in_with_a_company,
    id_token_of_the_person,
    what_a_provider_says_again,
    jwt_of_a_workload,
    jwt_of_a_workload_from_the_environment,
    header_that_goes_with_a_login,
    error_that_nobody_caught,
]


def secret_of(path: Path_) -> str:
    return f"M4rk3r/{path.__name__[:6]}+Zq9{len(path.__name__)}"


@pytest.fixture
async def app(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[App]:
    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    logger = logging.getLogger("inspector")
    before = list(logger.handlers), list(logging.getLogger("asyncio").handlers)
    app = App(tmp_path)
    report_task_errors(app.reported.append, app.engine.log.credentials)
    yield app
    await app.engine.close()
    logger.handlers, logging.getLogger("asyncio").handlers = before


async def _write_all(app: App) -> None:
    """Everything that writes traffic to files."""
    log, captures = app.engine.log, app.engine.captures
    rows = range(len(log))
    found = await captures.find_secrets(log, rows)
    (app.root / "out").mkdir()
    for format in ExportFormat:
        target = app.root / "out" / f"traffic{format.suffix}"
        await captures.export(log, rows, format, Masker(found), target)
    await captures.save_running(app.root / "out" / "copy.mcpcap")


@pytest.mark.parametrize("path", PATHS, ids=lambda path: path.__name__)
async def test_no_secret_at_rest(path: Path_, app: App, capfd: pytest.CaptureFixture[str]) -> None:
    secret = secret_of(path)
    await app.engine.captures.begin()
    await path(app, secret)
    await _write_all(app)
    found = positions_of(secret, app.root, but=(VAULT,))  # while recording, with the journal file
    await app.engine.close()
    found += positions_of(secret, app.root, but=(VAULT,))
    assert found == []
    assert not any(secret in words for words in app.reported), app.reported
    assert secret not in "".join(capfd.readouterr())
    assert list(app.root.rglob("*.mcpcap"))
    if path is error_that_nobody_caught:
        assert list((app.root / "temporary").glob("mcp-lens-*.txt"))
    if path in (login, key_of_an_endpoint, argument_of_a_call, client_of_the_person):
        vault = (app.root / "data" / "secrets" / VAULT).read_bytes()
        assert secret.encode() not in vault  # it is encrypted


def test_planted_secret_is_found(tmp_path: Path) -> None:
    """Otherwise the test above would prove nothing."""
    secret = "M4rk3r/there+Zq9"
    for number, text in enumerate(
        (
            secret,
            "M4rk3r%2Fthere%2BZq9",
            *(base64.b64encode(b"x" * n + secret.encode() + b"y").decode() for n in range(3)),
        )
    ):
        (tmp_path / f"{number}.txt").write_text(f"before {text} after")
    assert len(positions_of(secret, tmp_path)) == 5

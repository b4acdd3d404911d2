"""Login fixtures: scripted MCP server and authorization server, and a fake browser."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit

import httpx2

from inspector.base.clock import Clock, SystemClock
from inspector.config.servers.entries import OAuthSettings
from inspector.engine.secrets import Secrets
from inspector.oauth.http import LoginHttp, LoginRecorder, LoginTarget, RejectedResponse
from inspector.oauth.login.context import LoginTools
from inspector.oauth.login.flow import Login
from inspector.oauth.login.steps import Overrides
from inspector.oauth.loopback import LoopbackListener
from inspector.oauth.store import LoginStore
from inspector.protocol.auth.url_guard import allowance_for
from inspector.traffic.log import TrafficLog
from inspector.transport.network import Network

Json = dict[str, Any]
SERVER = "notes"


@dataclass
class ReceivedRequest:
    """One received request."""

    method: str
    path: str
    query: dict[str, str]
    headers: dict[str, str]
    body: bytes

    @property
    def form(self) -> dict[str, str]:
        return dict(parse_qsl(self.body.decode()))

    @property
    def json(self) -> Any:
        return json.loads(self.body)


@dataclass
class ScriptedResponse:
    status: int = 200
    body: Any = None
    headers: dict[str, str] = field(default_factory=dict)


Handler = Callable[[ReceivedRequest], ScriptedResponse]


class World:
    """The servers. All documents and responses can be changed."""

    def __init__(self) -> None:
        self.seen: list[ReceivedRequest] = []
        self.origin = ""
        self.scope = "notes:read"
        self.codes = 0
        self.tokens: list[str] = []
        self.expires_in: Any = 3600
        self.refresh = True
        self.iss: str | None = "own"
        self.paths: dict[str, Handler] = {}
        self._server: asyncio.Server | None = None

    @property
    def url(self) -> str:
        return f"{self.origin}/mcp"

    def requested(self, path: str) -> list[ReceivedRequest]:
        return [one for one in self.seen if one.path == path]

    def next_request(self, path: str) -> asyncio.Event:
        """Return an event that is set by the next request for this path."""
        event, works = asyncio.Event(), self.paths[path]

        def handle(seen: ReceivedRequest) -> ScriptedResponse:
            event.set()
            return works(seen)

        self.paths[path] = handle
        return event

    def build(self) -> None:
        self.resource: Json = {
            "resource": self.url,
            "authorization_servers": [self.origin],
            "scopes_supported": ["notes:read", "notes:write"],
        }
        self.server: Json = {
            "issuer": self.origin,
            "authorization_endpoint": f"{self.origin}/authorize",
            "token_endpoint": f"{self.origin}/token",
            "registration_endpoint": f"{self.origin}/register",
            "revocation_endpoint": f"{self.origin}/revoke",
            "response_types_supported": ["code"],
            "grant_types_supported": ["authorization_code", "refresh_token"],
            "code_challenge_methods_supported": ["S256"],
            "token_endpoint_auth_methods_supported": ["none"],
            "authorization_response_iss_parameter_supported": True,
        }
        self.paths = {
            "/mcp": self.mcp,
            "/.well-known/oauth-protected-resource/mcp": lambda _: ScriptedResponse(body=self.resource),
            "/.well-known/oauth-authorization-server": lambda _: ScriptedResponse(body=self.server),
            "/register": self.register,
            "/authorize": self.authorize,
            "/token": self.token,
            "/revoke": lambda _: ScriptedResponse(),
        }

    def challenge(self) -> str:
        location = f"{self.origin}/.well-known/oauth-protected-resource/mcp"
        return f'Bearer resource_metadata="{location}", scope="{self.scope}"'

    def mcp(self, seen: ReceivedRequest) -> ScriptedResponse:
        token = seen.headers.get("authorization", "").partition(" ")[2]
        if token not in self.tokens:
            return ScriptedResponse(401, headers={"WWW-Authenticate": self.challenge()})
        if not seen.body:
            return ScriptedResponse(405)
        message = seen.json
        if "id" not in message:
            return ScriptedResponse(202)
        return ScriptedResponse(body={"jsonrpc": "2.0", "id": message["id"], "result": result_of(message)})

    def register(self, seen: ReceivedRequest) -> ScriptedResponse:
        return ScriptedResponse(201, {**seen.json, "client_id": f"client-{len(self.requested('/register'))}"})

    def authorize(self, seen: ReceivedRequest) -> ScriptedResponse:
        self.codes += 1
        response = {"code": f"code-{self.codes}", "state": seen.query["state"]}
        if self.iss is not None:
            response["iss"] = self.origin if self.iss == "own" else self.iss
        return ScriptedResponse(
            302, headers={"Location": f"{seen.query['redirect_uri']}?{urlencode(response)}"}
        )

    def token(self, seen: ReceivedRequest) -> ScriptedResponse:
        number = len(self.requested("/token"))
        self.tokens.append(f"access-{number}")
        body: Json = {"access_token": f"access-{number}", "token_type": "Bearer"}
        if self.expires_in is not None:
            body["expires_in"] = self.expires_in
        if self.refresh:
            body["refresh_token"] = f"refresh-{number}"
        return ScriptedResponse(body=body, headers={"Cache-Control": "no-store"})

    async def __aenter__(self) -> World:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.origin = f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"
        self.build()
        return self

    async def __aexit__(self, *exc_info: object) -> None:
        assert self._server is not None
        self._server.close()
        await self._server.wait_closed()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            seen = await _read(reader)
            self.seen.append(seen)
            response = self.paths[seen.path](seen) if seen.path in self.paths else ScriptedResponse(404)
            body = b"" if response.body is None else json.dumps(response.body).encode()
            headers = {"Content-Type": "application/json"} if response.body is not None else {}
            headers |= {**response.headers, "Content-Length": str(len(body)), "Connection": "close"}
            lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
            writer.write(f"HTTP/1.1 {response.status} X\r\n{lines}\r\n".encode() + body)
            await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()


async def _read(reader: asyncio.StreamReader) -> ReceivedRequest:
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
    first, *lines = head[:-4].split("\r\n")
    method, target, _ = first.split(" ")
    headers = {}
    for line in lines:
        name, _, value = line.partition(":")
        headers[name.strip().lower()] = value.strip()
    body = await reader.readexactly(int(headers.get("content-length", 0)))
    parts = urlsplit(target)
    return ReceivedRequest(method, parts.path, dict(parse_qsl(parts.query)), headers, body)


def result_of(message: Json) -> Json:
    if message["method"] == "initialize":
        version = message["params"]["protocolVersion"]
        info = {"name": "notes", "version": "1"}
        return {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": info}
    if message["method"] == "server/discover":
        return {
            "resultType": "complete",
            "supportedVersions": ["2026-07-28"],
            "capabilities": {"tools": {}},
            "ttlMs": 0,
            "cacheScope": "private",
        }
    if message["method"] == "tools/list":
        tool = {"name": "read", "inputSchema": {"type": "object"}}
        return {"resultType": "complete", "tools": [tool], "ttlMs": 0, "cacheScope": "private"}
    return {"resultType": "complete", "content": []}


async def browse(url: str) -> None:
    """A browser whose user consents to everything."""
    async with httpx2.AsyncClient(trust_env=False) as client:
        response = await client.get(url)
        if response.has_redirect_location:
            await client.get(response.headers["location"])


Browse = Callable[[str], Awaitable[None]]


class Harness:
    """What outlives one login: secrets and the log."""

    def __init__(self, clock: Clock | None = None) -> None:
        self.secrets = Secrets()
        self.log = TrafficLog()
        self.clock = clock or SystemClock()

    def store(self, world: World) -> LoginStore:
        return LoginStore(self.secrets, SERVER, world.url)

    def tools(self, world: World, browse: Browse = browse, **changes: Any) -> LoginTools:
        recorder = LoginRecorder(self.log, SERVER, self.clock)
        allowance = allowance_for(world.url)
        return LoginTools(
            lambda allowance: LoginHttp(Network(), allowance, self.clock, recorder),
            self.store(world),
            self.clock,
            recorder,
            browse,
            lambda host, port, path: LoopbackListener(self.clock, host=host, port=port, path=path),
            allowance,
            **changes,
        )

    @asynccontextmanager
    async def login(
        self,
        world: World,
        overrides: Overrides | None = None,
        *,
        settings: OAuthSettings | None = None,
        browse: Browse = browse,
        refused: RejectedResponse | None = None,
        is_unattended: bool = False,
        **changes: Any,
    ) -> AsyncIterator[Login]:
        login = Login(
            LoginTarget(SERVER, world.url, settings or OAuthSettings()),
            self.tools(world, browse, **changes),
            overrides,
            refused=refused,
            is_unattended=is_unattended,
        )
        try:
            yield login
        finally:
            await login.close()

"""A scripted client of the `login` server: plain HTTP, step by step, without our own code."""

from __future__ import annotations

import base64
import hashlib
import html
import json
import re
import subprocess
from dataclasses import dataclass
from typing import Any, Self
from urllib.parse import parse_qsl, urlencode, urlsplit

import httpx2

from inspector.demo.servers import command

Json = dict[str, Any]

REDIRECT = "http://127.0.0.1:49152/callback"
VERIFIER = "v" * 64
CHALLENGE = base64.urlsafe_b64encode(hashlib.sha256(VERIFIER.encode()).digest()).rstrip(b"=").decode()
STATE = "a-state-of-ours"
HERE = "http://127.0.0.1"
_REQUEST = re.compile(r'name="request" value="([^"]+)"')


@dataclass
class Login:
    """The outcome of a complete login."""

    client: Json
    callback: dict[str, str]
    reply: Json

    @property
    def token(self) -> str:
        return str(self.reply["access_token"])


class LoginDemo:
    """The `login` server as a child process, with a scripted client."""

    def __init__(self, fault: str | None = None) -> None:
        self._process = subprocess.Popen(
            command("login", http=True, fault=fault), stdin=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        assert self._process.stderr is not None
        announcement = self._process.stderr.readline()
        assert announcement.startswith("listening on http://127.0.0.1:"), announcement
        self.url = announcement.split()[-1]
        self.origin = self.url.removesuffix("/mcp")
        self.http = httpx2.Client(base_url=self.origin, trust_env=False, timeout=20)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.http.close()
        assert self._process.stdin is not None
        assert self._process.stderr is not None
        self._process.stdin.close()
        complaints = self._process.stderr.read()
        self._process.stderr.close()
        assert self._process.wait(timeout=20) == 0
        assert complaints == ""

    def only(self, *names: str) -> None:
        """Turn on these switches and all others off."""
        response = self.http.post("/faults.json", json={"only": names})
        assert response.json()["on"] == sorted(names, key=response.json()["on"].index), response.text

    def forget(self) -> None:
        assert self.http.post("/faults.json", json={"only": [], "forget": True}).json()["on"] == []

    def challenge(self, **headers: str) -> httpx2.Response:
        """Return the response to a call without a token, or with these headers."""
        return self.http.post(
            "/mcp", json={"jsonrpc": "2.0", "id": 7, "method": "tools/list"}, headers=headers
        )

    def resource(self, path: str = "/mcp") -> httpx2.Response:
        return self.http.get(f"/.well-known/oauth-protected-resource{path}")

    def metadata(self, kind: str = "oauth-authorization-server", path: str = "") -> Json:
        document: Json = self.http.get(f"/.well-known/{kind}{path}").json()
        return document

    def registration(self, **metadata: Any) -> httpx2.Response:
        requested = {
            "client_name": "Test <app>",
            "redirect_uris": [REDIRECT],
            "grant_types": ["authorization_code", "refresh_token"],
            "response_types": ["code"],
            "token_endpoint_auth_method": "none",
            "application_type": "native",
            **metadata,
        }
        return self.http.post("/register", json=requested)

    def register(self, **metadata: Any) -> Json:
        response = self.registration(**metadata)
        assert response.status_code == 201, response.text
        client: Json = response.json()
        return client

    def ask(self, client_id: str, *, realm: str = "", **parameters: str | None) -> httpx2.Response:
        """Send the authorization request as the browser does."""
        requested: dict[str, str | None] = {
            "response_type": "code",
            "client_id": client_id,
            "redirect_uri": REDIRECT,
            "state": STATE,
            "code_challenge": CHALLENGE,
            "code_challenge_method": "S256",
            "resource": self.url,
            "scope": "notes:read",
            **parameters,
        }
        query = urlencode({name: value for name, value in requested.items() if value is not None})
        return self.http.get(f"{realm}/authorize?{query}")

    def decide(
        self,
        shown: httpx2.Response,
        *,
        name: str = "ada",
        password: str = "lovelace",
        decision: str = "allow",
    ) -> httpx2.Response:
        """Fill in the page and press a button."""
        assert shown.status_code in (200, 403), shown.text
        found = _REQUEST.search(shown.text)
        assert found is not None
        form = {"request": html.unescape(found[1]), "name": name, "password": password, "decision": decision}
        return self.http.post(shown.url.path, data=form)

    def come_back(self, client_id: str, **parameters: Any) -> dict[str, str]:
        """Log in and return the parameters of the callback."""
        return callback(self.decide(self.ask(client_id, **parameters)))

    def token(
        self, *, realm: str = "", headers: Any = None, auth: Any = None, **form: str
    ) -> httpx2.Response:
        return self.http.post(f"{realm}/token", data=form, headers=headers, auth=auth)

    def exchange(self, client: Json, code: str, **form: Any) -> httpx2.Response:
        """Exchange a code for a token, as a public client."""
        requested = {
            "grant_type": "authorization_code",
            "code": code,
            "redirect_uri": REDIRECT,
            "code_verifier": VERIFIER,
            "client_id": client["client_id"],
            "resource": self.url,
            **form,
        }
        return self.token(**requested)

    def refresh(self, login: Login, token: str | None = None) -> httpx2.Response:
        token = token or login.reply["refresh_token"]
        return self.token(
            grant_type="refresh_token",
            refresh_token=token,
            client_id=login.client["client_id"],
            resource=self.url,
        )

    def log_in(self, scope: str = "notes:read") -> Login:
        """Run the whole login, from registration to token."""
        client = self.register()
        came = self.come_back(client["client_id"], scope=scope)
        response = self.exchange(client, came["code"])
        assert response.status_code == 200, response.text
        return Login(client, came, response.json())

    def call(self, token: str, tool: str, /, *, headers: Any = None, **arguments: Any) -> httpx2.Response:
        """Send a stateless tool call."""
        return self.send("tools/call", {"name": tool, "arguments": arguments}, token, headers, tool)

    def send(
        self, method: str, params: Json | None = None, token: str = "", headers: Any = None, name: str = ""
    ) -> httpx2.Response:
        meta = {
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
            "io.modelcontextprotocol/clientCapabilities": {},
        }
        sent = {
            "Accept": "application/json, text/event-stream",
            "MCP-Protocol-Version": "2026-07-28",
            "Mcp-Method": method,
            **({"Mcp-Name": name} if name else {}),
            **({"Authorization": f"Bearer {token}"} if token else {}),
            **(headers or {}),
        }
        body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": {**(params or {}), "_meta": meta}}
        return self.http.post("/mcp", json=body, headers=sent)


def callback(response: httpx2.Response) -> dict[str, str]:
    """Return the parameters of a redirect to our URI."""
    assert response.status_code == 302, response.text
    location = response.headers["location"]
    assert location.startswith(f"{REDIRECT}?"), location
    return dict(parse_qsl(urlsplit(location).query))


def payload(token: str) -> Json:
    """Return the claims of a JWT, unverified."""
    part = token.split(".")[1]
    claims: Json = json.loads(base64.urlsafe_b64decode(part + "=" * (-len(part) % 4)))
    return claims

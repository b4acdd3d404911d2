"""The SDK's OAuth client against the `login` server: two independent implementations."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from urllib.parse import parse_qsl, urlsplit

import httpx2
import pytest
from mcp import Client
from mcp.client.auth import OAuthClientProvider, OAuthFlowError
from mcp.client.auth.extensions.client_credentials import (
    ClientCredentialsOAuthProvider,
    PrivateKeyJWTOAuthProvider,
    SignedJWTParameters,
)
from mcp.client.auth.extensions.identity_assertion import IdentityAssertionOAuthProvider
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.auth import (
    AuthorizationCodeResult,
    OAuthClientInformationFull,
    OAuthClientMetadata,
    OAuthToken,
)
from pydantic import AnyUrl

from tests.unit.demo.login.login_client import REDIRECT, LoginDemo, callback
from tests.unit.demo.login.test_demo_login_extensions import id_jag


class Memory:
    """In-memory storage for the SDK."""

    def __init__(self) -> None:
        self.tokens: OAuthToken | None = None
        self.client: OAuthClientInformationFull | None = None

    async def get_tokens(self) -> OAuthToken | None:
        return self.tokens

    async def set_tokens(self, tokens: OAuthToken) -> None:
        self.tokens = tokens

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        return self.client

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        self.client = client_info


class Person:
    """A user at the browser: opens the URL, logs in, and follows the redirect."""

    def __init__(self, demo: LoginDemo) -> None:
        self._demo = demo
        self.opened: list[dict[str, str]] = []

    async def open(self, url: str) -> None:
        self.opened.append(dict(parse_qsl(urlsplit(url).query)))
        self._page = self._demo.http.get(url)

    async def come_back(self) -> AuthorizationCodeResult:
        came = callback(self._demo.decide(self._page))
        return AuthorizationCodeResult(code=came["code"], state=came.get("state"), iss=came.get("iss"))


def provider(demo: LoginDemo, person: Person, memory: Memory, method: str = "none") -> OAuthClientProvider:
    metadata = OAuthClientMetadata.model_validate(
        {
            "client_name": "The SDK",
            "redirect_uris": [AnyUrl(REDIRECT)],
            "token_endpoint_auth_method": method,
        }
    )
    return OAuthClientProvider(demo.url, metadata, memory, person.open, person.come_back)


@asynccontextmanager
async def connected(demo: LoginDemo, auth: httpx2.Auth) -> AsyncIterator[Client]:
    async with (
        httpx2.AsyncClient(auth=auth, trust_env=False, timeout=20) as http,
        Client(streamable_http_client(demo.url, http_client=http)) as client,
    ):
        yield client


@pytest.mark.parametrize("method", ["none", "client_secret_post", "client_secret_basic"])
async def test_sdk_client_registers_logs_in_and_calls_a_tool(demo: LoginDemo, method: str) -> None:
    person, memory = Person(demo), Memory()
    async with connected(demo, provider(demo, person, memory, method)) as client:
        result = await client.call_tool("whoami", {})
    assert result.structured_content is not None
    assert result.structured_content["person"] == "ada"
    assert person.opened[0]["scope"].split()[0] == "notes:read"
    assert memory.client is not None
    assert memory.client.token_endpoint_auth_method == method


async def test_sdk_client_finds_an_issuer_with_a_path(demo: LoginDemo) -> None:
    demo.only("issuer_path", "opaque_tokens")
    async with connected(demo, provider(demo, Person(demo), Memory())) as client:
        assert [tool.name for tool in (await client.list_tools()).tools] == [
            "whoami",
            "read_notes",
            "write_note",
        ]


async def test_sdk_client_steps_up_when_a_tool_needs_more_scopes(demo: LoginDemo) -> None:
    person = Person(demo)
    async with connected(demo, provider(demo, person, Memory())) as client:
        await client.call_tool("whoami", {})
        result = await client.call_tool("write_note", {"text": "From the SDK"})
    assert not result.is_error
    assert ["notes:write" in opened["scope"].split() for opened in person.opened] == [False, True]


async def test_sdk_client_refreshes_an_expired_token(demo: LoginDemo) -> None:
    person, memory = Person(demo), Memory()
    auth = provider(demo, person, memory)
    async with connected(demo, auth) as client:
        await client.call_tool("whoami", {})
        assert memory.tokens is not None
        before = memory.tokens.refresh_token
        auth.context.token_expiry_time = 1
        await client.call_tool("whoami", {})
    assert len(person.opened) == 1
    assert memory.tokens.refresh_token not in (None, before)


@pytest.mark.parametrize("fault", ["iss_missing", "iss_wrong", "iss_slash", "state_changed", "wrong_issuer"])
async def test_sdk_client_stops_at_faults_it_detects(demo: LoginDemo, fault: str) -> None:
    """Independent code detects the fault too: the switch does what it says."""
    demo.only(fault)
    memory = Memory()
    async with httpx2.AsyncClient(
        auth=provider(demo, Person(demo), memory), trust_env=False, timeout=20
    ) as http:
        with pytest.raises(OAuthFlowError):
            await http.post(demo.url, json={})
    assert memory.tokens is None
    demo.forget()


async def test_sdk_machine_client_logs_in_with_its_secret(demo: LoginDemo) -> None:
    auth = ClientCredentialsOAuthProvider(
        demo.url, Memory(), "demo-machine", "demo-machine-secret", issuer=demo.origin
    )
    async with connected(demo, auth) as client:
        result = await client.call_tool("whoami", {})
    assert result.structured_content is not None
    assert result.structured_content["person"] == "demo-machine"


async def test_sdk_machine_client_logs_in_with_its_key(demo: LoginDemo) -> None:
    key = demo.http.get("/demo-robot.pem").text
    signed = SignedJWTParameters(
        issuer="demo-robot", subject="demo-robot", signing_algorithm="ES256", signing_key=key
    )
    auth = PrivateKeyJWTOAuthProvider(
        demo.url,
        Memory(),
        "demo-robot",
        assertion_provider=signed.create_assertion_provider(),
        issuer=demo.origin,
    )
    async with connected(demo, auth) as client:
        assert not (await client.call_tool("read_notes", {})).is_error


async def test_sdk_enterprise_client_logs_in_with_an_assertion(demo: LoginDemo) -> None:
    async def fetch(audience: str, resource: str) -> str:
        token: str = id_jag(demo, audience=audience, resource=resource).json()["access_token"]
        return token

    auth = IdentityAssertionOAuthProvider(
        demo.url, Memory(), "demo-desk", "demo-desk-secret", demo.origin, fetch, "notes:read"
    )
    async with connected(demo, auth) as client:
        result = await client.call_tool("whoami", {})
    assert result.structured_content is not None
    assert result.structured_content["person"] == "ada"

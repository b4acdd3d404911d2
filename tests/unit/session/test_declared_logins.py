"""Login extensions that are declared to a server: those of its configured login."""

from __future__ import annotations

import pytest

from inspector.config.servers.entries import (
    Auth,
    BearerSettings,
    Entry,
    HttpEntry,
    OAuthSettings,
    SecretRef,
    StdioEntry,
)
from inspector.protocol.client_capabilities import ALL, CAPABILITY_SWITCHES, NOTHING, ClientCapabilities
from inspector.protocol.revisions import R1, R4, R5, Revision
from inspector.session.connect import capabilities_for

CLIENT = "io.modelcontextprotocol/oauth-client-credentials"
COMPANY = "io.modelcontextprotocol/enterprise-managed-authorization"
WORKLOAD = "io.modelcontextprotocol/auth/wif"
DPOP = "io.modelcontextprotocol/auth/dpop"


def entry(auth: Auth | None, **members: object) -> HttpEntry:
    return HttpEntry(name="s", url="http://127.0.0.1/mcp", auth=auth, **members)  # type: ignore[arg-type]


def extensions(entry: Entry, usual: ClientCapabilities = ALL) -> list[str]:
    reported = capabilities_for(entry, usual, ()).capabilities(R5).get("extensions", {})
    assert isinstance(reported, dict)
    assert all(value == {} for value in reported.values())
    return list(reported)


@pytest.mark.parametrize(
    ("auth", "expected"),
    [
        (None, []),
        (OAuthSettings(), []),
        (BearerSettings(token=SecretRef("t")), []),
        (OAuthSettings(grant="client_credentials"), [CLIENT]),
        (OAuthSettings(grant="enterprise"), [COMPANY]),
        (OAuthSettings(grant="wif"), [WORKLOAD]),
        (OAuthSettings(dpop=True), [DPOP]),
        (OAuthSettings(dpop=False), []),
        (OAuthSettings(grant="client_credentials", dpop=True), [CLIENT, DPOP]),
    ],
)
def test_configured_login_is_declared(auth: Auth | None, expected: list[str]) -> None:
    assert extensions(entry(auth)) == expected
    assert extensions(entry(auth), NOTHING) == expected


def test_user_choice_wins() -> None:
    auth = OAuthSettings(grant="enterprise")
    assert extensions(entry(auth, capabilities={})) == []
    assert extensions(entry(None, capabilities={"extensions": {COMPANY: {}}})) == [COMPANY]


@pytest.mark.parametrize("revision", [R1, R4])
def test_versions_without_extensions_get_no_declaration(revision: Revision) -> None:
    declared = capabilities_for(entry(OAuthSettings(grant="wif", dpop=True)), ALL, ())
    assert "extensions" not in declared.capabilities(revision)


def test_stdio_server_gets_no_declaration() -> None:
    assert extensions(StdioEntry(name="s", command="x")) == []


def test_each_login_extension_has_a_switch_in_the_window() -> None:
    paths = [switch.path for switch in CAPABILITY_SWITCHES]
    assert {("extensions", name) for name in (CLIENT, COMPANY, WORKLOAD, DPOP)} <= set(paths)

"""Routes to a configured server, and the client capabilities declared to it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from inspector.base.errors import ConfigError
from inspector.base.json.values import JSONObject
from inspector.config.preferences.settings import ConnectionSettings
from inspector.config.servers.entries import Entry, HttpEntry, NetworkSettings, StdioEntry, WebSocketEntry
from inspector.protocol.client_capabilities import ALL, NOTHING, ClientCapabilities, exact_capabilities
from inspector.protocol.revisions import R4, R5
from inspector.protocol.server_requests.request import ROOTS, SERVER_REQUEST_METHODS
from inspector.session.connect import capabilities_for, make_routes, roots_of
from inspector.session.state import Route
from inspector.transport.legacy_sse import LegacySseTransport
from inspector.transport.network import Network
from inspector.transport.orphan_guard import OrphanGuard
from inspector.transport.stdio import StdioTransport
from inspector.transport.streamable_http import StreamableHttpTransport
from inspector.transport.websocket import WebSocketTransport
from tests.helpers.fakes import FakeClock

URL = "https://x/mcp"


@pytest.fixture
def guard() -> Iterator[OrphanGuard]:
    guard = OrphanGuard()
    yield guard
    guard.close()


def routes_to(entry: Entry, guard: OrphanGuard) -> tuple[Route, ...]:
    return make_routes(entry, NOTHING, guard, FakeClock(), ConnectionSettings())


@pytest.mark.parametrize(
    ("entry", "transports"),
    [
        (StdioEntry(name="a", command="x"), [StdioTransport]),
        (HttpEntry(name="a", url=URL, type="http"), [StreamableHttpTransport]),
        (HttpEntry(name="a", url=URL, type="sse"), [LegacySseTransport]),
        (HttpEntry(name="a", url=URL), [StreamableHttpTransport, LegacySseTransport]),
        (WebSocketEntry(name="a", url="wss://x"), [WebSocketTransport]),
    ],
)
def test_server_is_reached_as_its_entry_says(
    entry: Entry, transports: list[type], guard: OrphanGuard
) -> None:
    assert [type(route.make_transport()) for route in routes_to(entry, guard)] == transports


def test_only_a_process_can_be_restarted_and_only_streamable_http_cancels_by_closing(
    guard: OrphanGuard,
) -> None:
    (process,) = routes_to(StdioEntry(name="a", command="x"), guard)
    streamable, sse = routes_to(HttpEntry(name="a", url=URL), guard)
    (websocket,) = routes_to(WebSocketEntry(name="a", url="ws://x"), guard)
    routes = [process, streamable, sse, websocket]
    assert [route.is_process for route in routes] == [True, False, False, False]
    assert [route.closes_to_cancel for route in routes] == [False, True, False, False]


@pytest.mark.parametrize(
    ("era", "method", "revision"),
    [
        ("auto", "server/discover", R5.date),
        ("legacy-first", "initialize", R4.date),
        ("2025-03-26", "initialize", "2025-03-26"),
        ("2026-07-28", "server/discover", R5.date),
    ],
)
@pytest.mark.parametrize("kind", ["stdio", "http", "ws"])
def test_protocol_mode_decides_how_a_connection_starts(
    kind: str, era: str, method: str, revision: str, guard: OrphanGuard
) -> None:
    entries: dict[str, Entry] = {
        "stdio": StdioEntry(name="a", command="x", era=era),
        "http": HttpEntry(name="a", url=URL, era=era),
        "ws": WebSocketEntry(name="a", url="ws://x", era=era),
    }
    ask = routes_to(entries[kind], guard)[0].make_negotiation().first()
    assert ask.method == method
    assert revision in str(ask.params)


@pytest.mark.parametrize(("era", "version"), [("auto", "2025-11-25"), ("2024-11-05", "2024-11-05")])
def test_older_transport_only_initializes_with_the_chosen_version(
    era: str, version: str, guard: OrphanGuard
) -> None:
    for entry in (HttpEntry(name="a", url=URL, era=era, type="sse"), HttpEntry(name="a", url=URL, era=era)):
        ask = routes_to(entry, guard)[-1].make_negotiation().first()
        assert (ask.method, ask.params["protocolVersion"]) == ("initialize", version)


def test_older_transport_does_not_support_stateless_mode(guard: OrphanGuard) -> None:
    entry = HttpEntry(name="a", url=URL, type="sse", era="2026-07-28")
    with pytest.raises(ConfigError, match="set to 2026-07-28 over HTTP\\+SSE, which that protocol version"):
        routes_to(entry, guard)


def test_unknown_protocol_mode_is_rejected_with_the_valid_ones(guard: OrphanGuard) -> None:
    with pytest.raises(ConfigError, match=r"Server 'a' has an unknown protocol version: 'soon'\. Use “auto”"):
        routes_to(StdioEntry(name="a", command="x", era="soon"), guard)


def test_network_settings_of_an_entry_reach_the_transport(
    guard: OrphanGuard, monkeypatch: pytest.MonkeyPatch
) -> None:
    networks: list[Network] = []

    def transport(url: str, network: Network, clock: object, authorization: object) -> None:
        networks.append(network)

    monkeypatch.setattr("inspector.session.connect.StreamableHttpTransport", transport)
    own = NetworkSettings(
        proxy="http://p:1",
        environment_proxy=True,
        ca_file="/ca",
        login_ca_file="/login",
        client_certificate="/c",
        client_key="/k",
        verify=False,
        http2=True,
    )
    entry = HttpEntry(name="a", url=URL, headers={"X": "1"}, network=own)
    settings = ConnectionSettings(connect_timeout=3, line_cap=99)
    make_routes(entry, NOTHING, guard, FakeClock(), settings)[0].make_transport()
    assert networks == [
        Network(
            headers=(("X", "1"),),
            connect_timeout=3,
            proxy="http://p:1",
            use_environment_proxy=True,
            ca_file="/ca",
            login_ca_file="/login",
            client_certificate="/c",
            client_key="/k",
            verify=False,
            http2=True,
            message_cap=99,
        )
    ]


async def test_folder_roots_become_urls_and_urls_are_kept() -> None:
    drive = Path.cwd().drive  # on Windows
    folders = [f"{drive}/srv/my files"]
    list_roots = roots_of(lambda: tuple(folders))
    files: JSONObject = {"uri": f"file://{drive and '/'}{drive}/srv/my%20files", "name": "my files"}
    assert await list_roots({}) == {"roots": [files]}
    folders += ["file:///C:/a%20b/", "repo://x"]  # the current folders are used
    assert await list_roots({}) == {
        "roots": [
            files,
            {"uri": "file:///C:/a%20b/", "name": "a b"},
            {"uri": "repo://x", "name": "x"},
        ]
    }


def test_user_capabilities_override_the_defaults() -> None:
    entry = StdioEntry(name="a", command="x")
    assert capabilities_for(entry, ALL, SERVER_REQUEST_METHODS) == ALL
    chosen: JSONObject = {"sampling": {}, "roots": {}, "experimental": {"x": {}}}
    entry = replace(entry, capabilities=chosen)
    assert capabilities_for(entry, ALL, SERVER_REQUEST_METHODS) == ClientCapabilities(chosen)
    assert capabilities_for(entry, NOTHING, [ROOTS]) == ClientCapabilities(
        {"roots": {}, "experimental": {"x": {}}}
    )
    exact = replace(entry, exact_capabilities=True)
    assert capabilities_for(exact, NOTHING, [ROOTS]) == exact_capabilities(chosen)

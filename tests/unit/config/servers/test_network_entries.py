"""Protocol, timeout and network settings of a server: read and written."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inspector.base.errors import ConfigError
from inspector.base.json.values import JSONObject
from inspector.config.servers.entries import (
    Entry,
    HttpEntry,
    NetworkSettings,
    StdioEntry,
    Timeouts,
    WebSocketEntry,
    entry_from_text,
)
from inspector.config.servers.server_list import ServerListFile, read_entry


@pytest.fixture
def server_list(tmp_path: Path) -> ServerListFile:
    return ServerListFile(tmp_path / "servers.json")


def store(server_list: ServerListFile, **servers: Any) -> None:
    server_list.path.write_text(json.dumps({"mcpServers": servers}))


def stored(server_list: ServerListFile, name: str = "a") -> Any:
    return json.loads(server_list.path.read_text())["mcpServers"][name]


@pytest.mark.parametrize(
    ("url", "kind", "transport"),
    [
        ("http://x/mcp", HttpEntry, "http"),
        ("HTTPS://x/mcp", HttpEntry, "http"),
        ("ws://x/mcp", WebSocketEntry, "ws"),
        ("WSS://x/mcp", WebSocketEntry, "ws"),
    ],
)
def test_url_determines_the_transport_wherever_it_is_given(
    url: str, kind: type[Entry], transport: str
) -> None:
    for entry in (entry_from_text(url, "a"), read_entry("a", {"url": url})):
        assert type(entry) is kind
        assert entry.transport == transport


@pytest.mark.parametrize(
    ("type", "transport"),
    [
        ("http", "http"),
        ("sse", "sse"),
        ("auto", "http"),
        ("ws", "ws"),
        ("websocket", "ws"),
        ("streamable-http", "http"),
        ("streamableHttp", "http"),
        ("streamable_http", "http"),
    ],
)
def test_transport_names_of_other_clients_are_recognized(type: str, transport: str) -> None:
    url = "ws://x/mcp" if transport == "ws" else "http://x/mcp"
    assert read_entry("a", {"url": url, "type": type}).transport == transport


@pytest.mark.parametrize("era", ["auto", "legacy-first", "2024-11-05", "2025-11-25", "2026-07-28"])
def test_protocol_mode_is_detected_or_pinned(era: str) -> None:
    assert read_entry("a", {"command": "x", "era": era}).era == era
    assert read_entry("a", {"command": "x"}).era == "auto"


def test_all_network_settings_are_read() -> None:
    entry = read_entry(
        "a",
        {
            "url": "https://x/mcp",
            "headers": {"X-Key": "1"},
            "network": {
                "proxy": "http://p:1",
                "environmentProxy": True,
                "caFile": "/ca.pem",
                "loginCaFile": "/login.pem",
                "clientCertificate": "/c.pem",
                "clientKey": "/k.pem",
                "verify": False,
                "http2": True,
            },
            "timeouts": {"connect": 1, "request": 2.5, "total": 3, "keepAlive": 0},
            "autoRestart": True,
        },
    )
    assert entry == HttpEntry(
        name="a",
        url="https://x/mcp",
        headers={"X-Key": "1"},
        network=NetworkSettings(
            proxy="http://p:1",
            environment_proxy=True,
            ca_file="/ca.pem",
            login_ca_file="/login.pem",
            client_certificate="/c.pem",
            client_key="/k.pem",
            verify=False,
            http2=True,
        ),
        timeouts=Timeouts(connect=1, request=2.5, total=3, keep_alive=0),
        auto_restart=True,
    )


def test_environment_is_not_used_unless_configured() -> None:
    network = NetworkSettings()
    assert (network.proxy, network.environment_proxy, network.verify) == ("", False, True)


@pytest.mark.parametrize(
    ("value", "sentence"),
    [
        ({"command": "x", "era": "2023-01-01"}, "era: unknown value '2023-01-01'. Use “auto”"),
        ({"command": "x", "era": 5}, "era: must be a string. Fix it in the file."),
        ({"command": "x", "timeouts": {"request": 0}}, "timeouts: 0.0 is not a valid number of seconds"),
        ({"command": "x", "timeouts": {"total": -1}}, "timeouts: -1.0 is not a valid number of seconds"),
        (
            {"command": "x", "timeouts": {"connect": float("inf")}},
            "timeouts: inf is not a valid number of seconds",
        ),
        ({"command": "x", "timeouts": {"keepAlive": -1}}, "timeouts: -1.0 is not a valid number of seconds"),
        ({"command": "x", "timeouts": {"keepAlive": "often"}}, "timeouts.keepAlive: must be a"),
        ({"command": "x", "timeouts": 5}, "timeouts: must be an object"),
        ({"url": "http://x", "network": {"caFile": 5}}, "network.caFile: must be a string"),
        (
            {"url": "http://x", "network": {"verify": "perhaps"}},
            "network.verify: must be a bool",
        ),
        ({"url": "http://x", "type": "carrier pigeon"}, "type: must be 'auto', 'http' or 'sse'"),
        ({"url": "http://x", "headers": {"a": 1}}, "headers.a: must be a string"),
        ({"url": "http://[::1"}, "Invalid URL"),
        ({"url": "ws://"}, "'ws://' has no host"),
        ({"url": "wss://me:secret@x/"}, "The URL contains a user name or password"),
        ({"url": 5}, 'url: must be a string. A server needs "command" or "url".'),
    ],
)
def test_unusable_setting_is_reported_by_its_key_in_the_file(value: JSONObject, sentence: str) -> None:
    with pytest.raises(ConfigError) as caught:
        read_entry("a", value)
    assert str(caught.value).startswith(sentence)


def test_one_unusable_server_does_not_affect_the_others(server_list: ServerListFile) -> None:
    store(
        server_list,
        a={"command": "x"},
        b={"command": "x", "era": "soon"},
        c={"url": "http://["},
        d={"url": "ws://x"},
    )
    loaded = server_list.load()
    assert [entry.name for entry in loaded.entries] == ["a", "d"]
    assert [problem.split(":")[0] for problem in loaded.problems] == [
        "servers.json, server 'b'",
        "servers.json, server 'c'",
    ]


@given(st.recursive(st.none() | st.booleans() | st.floats() | st.text(), st.lists, max_leaves=5))
@pytest.mark.parametrize("member", ["era", "timeouts", "network", "url", "type", "headers", "autoRestart"])
def test_any_member_value_gives_an_entry_or_an_error_message(member: str, value: Any) -> None:
    """No other exception is raised."""
    with contextlib.suppress(ConfigError):
        assert read_entry("a", {"url": "http://x/", member: value}).name == "a"


seconds = st.none() | st.floats(min_value=0.001, max_value=1e6)
timeouts = st.builds(Timeouts, connect=seconds, request=seconds, total=seconds, keep_alive=seconds)
networks = st.builds(
    NetworkSettings, proxy=st.text(), environment_proxy=st.booleans(), ca_file=st.text(), verify=st.booleans()
)
eras = st.sampled_from(["auto", "legacy-first", "2025-06-18", "2026-07-28"])
headers = st.dictionaries(st.text(min_size=1), st.text())
common = {"name": st.just("a"), "era": eras, "timeouts": timeouts, "auto_restart": st.booleans()}
remote = {**common, "headers": headers, "network": networks}
entries = st.one_of(
    st.builds(StdioEntry, command=st.just("x"), **common),
    st.builds(HttpEntry, url=st.just("https://x/"), type=st.sampled_from(["auto", "http", "sse"]), **remote),
    st.builds(WebSocketEntry, url=st.just("wss://x/"), **remote),
)


@given(entries, entries)
def test_written_settings_are_read_back_whatever_was_there_before(
    tmp_path_factory: pytest.TempPathFactory, before: Entry, entry: Entry
) -> None:
    server_list = ServerListFile(tmp_path_factory.mktemp("server_list") / "servers.json")
    server_list.save(before)
    server_list.save(entry)
    assert server_list.find("a") == entry


def test_only_non_default_settings_are_written(server_list: ServerListFile) -> None:
    network = NetworkSettings(verify=False)
    server_list.save(HttpEntry(name="a", url="https://x/", network=network, timeouts=Timeouts(request=5)))
    assert stored(server_list) == {
        "url": "https://x/",
        "network": {"verify": False},
        "timeouts": {"request": 5},
    }


def test_unknown_members_of_nested_settings_are_preserved(server_list: ServerListFile) -> None:
    store(
        server_list,
        a={
            "url": "https://x/",
            "note": "mine",
            "network": {"proxy": "http://p:1", "dns": "9.9.9.9"},
            "timeouts": {"read": 3},
        },
    )
    server_list.set_enabled(server_list.find("a"), False)
    assert stored(server_list) == {
        "url": "https://x/",
        "note": "mine",
        "network": {"proxy": "http://p:1", "dns": "9.9.9.9"},
        "timeouts": {"read": 3},
        "enabled": False,
    }


def test_setting_reset_to_its_default_is_removed(server_list: ServerListFile) -> None:
    server_list.save(HttpEntry(name="a", url="https://x/", network=NetworkSettings(proxy="http://p:1")))
    server_list.save(HttpEntry(name="a", url="https://x/"))
    assert server_list.find("a") == HttpEntry(name="a", url="https://x/")
    assert "proxy" not in str(stored(server_list))

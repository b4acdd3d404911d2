"""Export to the formats of other tools: lossless, and without secrets."""

from __future__ import annotations

import json
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from inspector.base.command_line import split_command
from inspector.base.errors import ConfigError
from inspector.config.foreign.export import EXPORT_FORMATS, claude_command, export, fragment
from inspector.config.foreign.paste import read_pasted
from inspector.config.servers.entries import (
    BearerSettings,
    Entry,
    HttpEntry,
    OAuthSettings,
    SecretRef,
    StdioEntry,
    Timeouts,
    WebSocketEntry,
)
from tests.helpers.platforms import IS_WINDOWS, QUOTE

_STDIO = StdioEntry(name="files", command="npx", args=("-y", "it's", "a b"), env={"MODE": "x"})
_URL = HttpEntry(name="web", url="https://x.example/mcp", type="http", headers={"X-Region": "eu"})
_HIDDEN = ("hush-1", "sk-hush-2", "hush-3", "hush-4", "hush-5")
_SECRETS: tuple[Entry, ...] = (
    StdioEntry(
        name="My files",
        command="run",
        args=("--token", "hush-1", "--mode=x", "sk-hush-2"),
        env={"API_KEY": "hush-3", "OTHER": SecretRef("env/My%20files/OTHER")},
    ),
    HttpEntry(
        name="web",
        url="https://x.example/mcp?key=hush-4&page=2",
        headers={"Authorization": "Bearer hush-5", "X-Other": SecretRef("header/web/X-Other")},
    ),
    HttpEntry(
        name="bearer", url="https://x.example/mcp", auth=BearerSettings(token=SecretRef("bearer/bearer"))
    ),
)


@pytest.mark.parametrize("format", EXPORT_FORMATS)
@pytest.mark.parametrize("entry", [_STDIO, _URL], ids=["stdio", "http"])
def test_exported_servers_can_be_read_back(format: str, entry: Entry) -> None:
    exported = export([entry], format)
    if format == "claude-desktop" and entry is _URL:
        assert exported.notes == ("web: Not exported: Claude Desktop does not support servers over HTTP.",)
        return
    (server,) = read_pasted(exported.text)
    read = server.entry
    assert server.name == entry.name
    assert exported.notes == ()
    if isinstance(entry, StdioEntry):
        assert isinstance(read, StdioEntry)
        assert (read.command, read.args, read.env) == (entry.command, entry.args, entry.env)
    else:
        assert isinstance(read, HttpEntry)
        assert (read.url, read.headers) == (_URL.url, _URL.headers)


@pytest.mark.parametrize("format", EXPORT_FORMATS)
def test_no_secret_is_exported(format: str) -> None:
    exported = export(_SECRETS, format)
    assert not [secret for secret in _HIDDEN if secret in exported.text]
    assert not [secret for secret in _HIDDEN if any(secret in note for note in exported.notes)]
    assert '"ref"' not in exported.text
    assert "API_KEY" in exported.text
    assert any("API_KEY" in note for note in exported.notes)
    for entry in _SECRETS:
        assert not [secret for secret in _HIDDEN if secret in claude_command(entry).text]


def test_secret_placeholders_use_the_syntax_of_each_tool() -> None:
    claude = json.loads(export(_SECRETS, "mcp.json").text)["mcpServers"]
    assert claude["My files"]["env"] == {"API_KEY": "${API_KEY}", "OTHER": "${OTHER}"}
    assert claude["My files"]["args"] == [
        "--token",
        "${MY_FILES_TOKEN}",
        "--mode=x",
        "${MY_FILES_ARGUMENT_4}",
    ]
    assert claude["web"]["url"] == "https://x.example/mcp?key=${WEB_KEY}&page=2"
    assert claude["web"]["headers"] == {"Authorization": "Bearer ${WEB_TOKEN}", "X-Other": "${WEB_X_OTHER}"}
    assert claude["bearer"]["headers"] == {"Authorization": "Bearer ${BEARER_TOKEN}"}
    cursor = json.loads(export(_SECRETS, "cursor").text)["mcpServers"]
    assert cursor["My files"]["env"]["API_KEY"] == "${env:API_KEY}"
    vscode = json.loads(export(_SECRETS, "vscode").text)
    assert vscode["servers"]["bearer"]["headers"]["Authorization"] == "Bearer ${input:BEARER_TOKEN}"
    requested = {item["id"]: item["password"] for item in vscode["inputs"]}
    assert requested["BEARER_TOKEN"] is True
    codex = tomllib.loads(export(_SECRETS, "codex").text)["mcp_servers"]
    assert codex["My files"]["env_vars"] == ["API_KEY", "OTHER"]
    assert codex["bearer"]["bearer_token_env_var"] == "BEARER_TOKEN"
    assert codex["web"]["env_http_headers"] == {"X-Other": "WEB_X_OTHER"}


def test_settings_a_tool_does_not_support_are_reported() -> None:
    entry = HttpEntry(
        name="web",
        url="https://x.example/mcp",
        enabled=False,
        era="2025-06-18",
        timeouts=Timeouts(request=5, total=9),
        auth=OAuthSettings(client_id="me", scope="read"),
    )
    (note,) = export([entry], "cursor").notes
    assert (
        note == "web: Omitted (unsupported by Cursor): disabled, timeouts.request, timeouts.total, auth, era."
    )
    codex = export([entry], "codex")
    assert tomllib.loads(codex.text)["mcp_servers"]["web"] == {
        "url": entry.url,
        "enabled": False,
        "tool_timeout_sec": 5,
    }
    claude = json.loads(export([entry], "mcp.json").text)["mcpServers"]["web"]
    assert (claude["oauth"], claude["timeout"]) == ({"clientId": "me"}, 5000)
    (websocket,) = export([WebSocketEntry(name="s", url="wss://x/")], "gemini").notes
    assert "does not support servers over WebSocket" in websocket


def test_variable_references_are_adapted_to_each_tool() -> None:
    entry = StdioEntry(name="a", command="run", args=("${HOME}/x", "${N:-1}", "${workspaceFolder}", "$${no}"))

    def args(format: str, table: str) -> object:
        return json.loads(export([entry], format).text)[table]["a"]["args"]

    assert args("mcp.json", "mcpServers") == ["${HOME}/x", "${N:-1}", "${workspaceFolder}", "$${no}"]
    assert args("vscode", "servers") == ["${env:HOME}/x", "${env:N}", "${workspaceFolder}", "$${no}"]
    assert any("yourself for ${HOME}" in note for note in export([entry], "cline").notes)


def test_unknown_format_is_rejected() -> None:
    with pytest.raises(ConfigError, match="Unknown format 'yaml'"):
        export([_STDIO], "yaml")


def test_fragment_is_part_of_a_file() -> None:
    text = fragment(_STDIO).text
    assert json.loads(f'{{"mcpServers": {{{text}}}}}')["mcpServers"]["files"]["command"] == "npx"
    assert read_pasted(f"{text},")[0].entry == _STDIO
    assert tomllib.loads(fragment(_STDIO, "codex").text)["mcp_servers"]["files"]["command"] == "npx"
    with pytest.raises(ConfigError, match="WebSocket"):
        fragment(WebSocketEntry(name="s", url="wss://x/"), "cursor")


_WORD = st.text(st.characters(exclude_categories=("Cc", "Cs")), min_size=1, max_size=12).filter(
    lambda word: "$" not in word and "=" not in word and "://" not in word
)


@given(
    st.lists(_WORD, max_size=5),
    st.dictionaries(st.from_regex(r"[A-Z]{2,8}X", fullmatch=True), _WORD, max_size=3),
)
def test_claude_command_reads_back_as_the_same_server(args: list[str], env: dict[str, str]) -> None:
    entry = StdioEntry(name="one", command="run", args=tuple(args), env=dict(env))
    try:
        exported = claude_command(entry)
    except ConfigError:
        assume(not IS_WINDOWS)  # no quotes protect some characters in cmd and PowerShell
        raise
    if exported.notes:  # something in it looked like a secret
        return
    assert split_command(exported.text)[:4] == ["claude", "mcp", "add", "one"]
    assert read_pasted(exported.text)[0].entry == entry


def test_claude_command_matches_the_claude_documentation() -> None:
    words = '"it\'s" "a b"' if IS_WINDOWS else """'it'"'"'s' 'a b'"""
    assert claude_command(_STDIO).text == f"claude mcp add files --env MODE=x -- npx -y {words}"
    assert claude_command(_URL).text == (
        f"claude mcp add --transport http web https://x.example/mcp --header {QUOTE}X-Region: eu{QUOTE}"
    )
    renamed = claude_command(StdioEntry(name="my server!", command="run"))
    assert renamed.text == "claude mcp add my-server -- run"
    assert "letters, digits" in renamed.notes[0]


@pytest.mark.skipif(sys.platform == "win32", reason="needs a POSIX shell")
def test_claude_command_injects_nothing_into_the_shell(tmp_path: Path) -> None:
    nasty = ("'; touch x; '", "$(touch x)", "`touch x`", "& touch x", "| touch x", "${IFS}")
    command = claude_command(StdioEntry(name="a", command="run", args=nasty, env={"E": "'; touch x"})).text
    script = f'claude() {{ for word in "$@"; do printf "%s\\n" "$word"; done; }}\n{command}'
    done = subprocess.run(["/bin/sh", "-c", script], capture_output=True, text=True, cwd=tmp_path, check=True)
    assert list(tmp_path.iterdir()) == []
    assert done.stdout.splitlines() == ["mcp", "add", "a", "--env", "E='; touch x", "--", "run", *nasty]


def test_control_characters_are_never_written_to_a_command_line() -> None:
    with pytest.raises(ConfigError, match="control characters"):
        claude_command(StdioEntry(name="a", command="run", args=("x\ny",)))


def test_registry_server_json_reads_back() -> None:
    npm = StdioEntry(
        name="w", command="npx", args=("-y", "@me/w@1.2.0", "serve", "${DIR}"), env={"API_KEY": "hush"}
    )
    docker = StdioEntry(
        name="w", command="docker", args=("run", "-i", "--rm", "-e", "MODE", "me/w:1"), env={"MODE": "x"}
    )
    web = HttpEntry(
        name="w", url="https://x.example/mcp", type="http", headers={"X-Key": SecretRef("header/w/X-Key")}
    )
    for entry in (npm, docker, web):
        exported = export([entry], "registry")
        assert "hush" not in exported.text
        (server,) = read_pasted(exported.text)
        read = server.entry
        if isinstance(read, StdioEntry):
            assert isinstance(entry, StdioEntry)
            assert (read.command, read.env.keys()) == (entry.command, entry.env.keys())
            assert [word.replace("input:", "") for word in read.args] == list(entry.args)
        else:
            assert isinstance(read, HttpEntry)
            assert (read.url, read.headers) == (web.url, {"X-Key": "${input:W_X_KEY}"})
            assert server.inputs[0].is_password


def test_registry_server_json_describes_one_package_or_url() -> None:
    cases: list[list[Entry]] = [
        [_STDIO, _URL],
        [StdioEntry(name="a", command="./run")],
        [WebSocketEntry(name="a", url="wss://x/")],
    ]
    for entries in cases:
        with pytest.raises(ConfigError):
            export(entries, "registry")


def test_inputs_are_prompted_by_name_in_every_format() -> None:
    entry = StdioEntry(name="my one", command="run", args=("${input:api-key}", "x=${input:api-key}"))
    vscode = json.loads(export([entry], "vscode").text)
    assert vscode["servers"]["my one"]["args"] == ["${input:MY_ONE_API_KEY}", "x=${input:MY_ONE_API_KEY}"]
    assert [item["id"] for item in vscode["inputs"]] == ["MY_ONE_API_KEY"]
    claude = json.loads(export([entry], "mcp.json").text)
    assert claude["mcpServers"]["my one"]["args"] == ["${MY_ONE_API_KEY}", "x=${MY_ONE_API_KEY}"]


def test_two_secrets_with_the_same_name_stay_separate() -> None:
    first = StdioEntry(name="a", command="run", env={"TOKEN": SecretRef("env/a/TOKEN")})
    second = StdioEntry(name="b", command="run", env={"TOKEN": SecretRef("env/b/TOKEN")})
    servers = json.loads(export([first, second], "mcp.json").text)["mcpServers"]
    assert [server["env"]["TOKEN"] for server in servers.values()] == ["${TOKEN}", "${TOKEN_2}"]
    shared = [StdioEntry(name=name, command="run", env={"TOKEN": SecretRef("shared")}) for name in ("a", "b")]
    servers = json.loads(export(shared, "mcp.json").text)["mcpServers"]
    assert [server["env"]["TOKEN"] for server in servers.values()] == ["${TOKEN}", "${TOKEN}"]


def test_claude_command_on_windows_is_quoted_for_cmd() -> None:
    entry = StdioEntry(name="files", command=r"C:\Program Files\x.exe", args=("a&b", "it's"))
    text = claude_command(entry, "win32").text
    assert text == 'claude mcp add files -- "C:\\Program Files\\x.exe" "a&b" "it\'s"'
    with pytest.raises(ConfigError, match="cmd or PowerShell"):
        claude_command(StdioEntry(name="a", command="run", args=('"&calc',)), "win32")

"""Pasted text becomes servers, or an error message that says why not."""

from __future__ import annotations

import base64
import contextlib
import json
from urllib.parse import quote

import pytest

from inspector.base.errors import ConfigError
from inspector.config.foreign.command_lines import read_command
from inspector.config.foreign.discovery import DiscoveredServer
from inspector.config.foreign.paste import read_pasted
from inspector.config.servers.entries import HttpEntry, StdioEntry

_CONFIG = {"command": "npx", "args": ["-y", "some"], "env": {"KEY": "v"}}
_BASE64 = base64.b64encode(json.dumps(_CONFIG).encode()).decode()


def _one(text: str) -> DiscoveredServer:
    (server,) = read_pasted(text)
    assert server.problem == ""
    assert (server.source.tool, server.source.path) == ("pasted", None)
    return server


def _stdio(text: str) -> StdioEntry:
    entry = _one(text).entry
    assert isinstance(entry, StdioEntry)
    return entry


def _http(text: str) -> HttpEntry:
    entry = _one(text).entry
    assert isinstance(entry, HttpEntry)
    return entry


@pytest.mark.parametrize(
    "text",
    [
        json.dumps({"mcpServers": {"some": _CONFIG}}),
        json.dumps({"servers": {"some": _CONFIG}}),
        json.dumps({"context_servers": {"some": _CONFIG}}),
        json.dumps({"some": _CONFIG}),
        json.dumps(_CONFIG),
        json.dumps({"name": "some", **_CONFIG}),
        f'"some": {json.dumps(_CONFIG)},',
        f'  // it is mine\n  "some": {json.dumps(_CONFIG)}\n}}\n}}',
        f'"mcpServers": {{"some": {json.dumps(_CONFIG)},}},',
        f"```json\n{json.dumps({'mcpServers': {'some': _CONFIG}}, indent=2)}\n```",
        '[mcp_servers.some]\ncommand = "npx"\nargs = ["-y", "some"]\nenv = { KEY = "v" }',
        "KEY=v npx -y some",
        "env KEY='v' npx -y some",
        "$ KEY=v npx \\\n    -y some\n",
        "# first this\nKEY=v npx -y some",
        "claude mcp add some -e KEY=v -- npx -y some",
        "claude mcp add -s user --env KEY=v --transport stdio some -- npx -y some",
        "claude mcp add some --env KEY=v npx -y some",
        f"claude mcp add-json -s user some '{json.dumps(_CONFIG)}'",
        "codex mcp add some --env KEY=v -- npx -y some",
        "gemini mcp add -e KEY=v some npx -y some",
        f"code --add-mcp '{json.dumps({'name': 'some', **_CONFIG})}'",
        f"vscode:mcp/install?{quote(json.dumps({'name': 'some', **_CONFIG}))}",
        f"https://insiders.vscode.dev/redirect/mcp/install?name=some&config={quote(json.dumps(_CONFIG))}",
        f"cursor://anysphere.cursor-deeplink/mcp/install?name=some&config={_BASE64}",
        f"https://cursor.com/install-mcp?name=some&config={quote(_BASE64)}",
    ],
)
def test_every_way_to_write_a_command_gives_the_same_server(text: str) -> None:
    entry = _stdio(text)
    assert (entry.name, entry.command, entry.args, entry.env) == ("some", "npx", ("-y", "some"), {"KEY": "v"})


@pytest.mark.parametrize(
    "text",
    [
        "https://x.example/mcp",
        '{"url": "https://x.example/mcp"}',
        '{"mcpServers": {"x.example": {"serverUrl": "https://x.example/mcp"}}}',
        "claude mcp add x.example https://x.example/mcp",
        "claude mcp add --transport http x.example https://x.example/mcp",
        "codex mcp add x.example --url https://x.example/mcp",
    ],
)
def test_every_way_to_write_a_url_gives_the_same_server(text: str) -> None:
    entry = _http(text)
    assert (entry.name, entry.url) == ("x.example", "https://x.example/mcp")


def test_headers_and_logins_of_a_command_are_read() -> None:
    entry = _http(
        "claude mcp add -t sse x https://x.example/sse -H 'X-Key: a: b' --header=Y:z --callback-port 80"
    )
    assert (entry.type, entry.headers) == ("sse", {"X-Key": "a: b", "Y": "z"})
    bearer = _http("codex mcp add x --url https://x.example/mcp --bearer-token-env-var TOKEN")
    assert bearer.headers == {"Authorization": "Bearer ${TOKEN}"}


def test_several_servers_can_be_pasted_at_once() -> None:
    servers = read_pasted("claude mcp add one -- run one\nclaude mcp add two -- run two")
    assert [server.name for server in servers] == ["one", "two"]
    bad, good = read_pasted('{"mcpServers": {"bad": {}, "good": {"command": "x"}}}')
    assert bad.problem
    assert good.entry is not None


def test_container_is_named_after_its_image() -> None:
    text = "docker run -i --rm -e TOKEN --mount type=bind,src=/a,dst=/b ghcr.io/someone/image:1.2 stdio"
    assert _one(text).name == "image"


def test_windows_paths_keep_their_backslashes() -> None:
    entry = _stdio(r'"C:\Program Files\node.exe" C:\servers\one.js')
    assert (entry.command, entry.args) == (r"C:\Program Files\node.exe", (r"C:\servers\one.js",))


@pytest.mark.parametrize(
    ("text", "command", "argument"),
    [
        (r"python .\src\server.py", "python", r".\src\server.py"),
        (r"\\nas\tools\server.exe x", r"\\nas\tools\server.exe", "x"),
        (r"node %APPDATA%\npm\server.js", "node", r"%APPDATA%\npm\server.js"),
        (r'"C:\a b\x.exe" "C:\data\"', r"C:\a b\x.exe", "C:\\data\\"),
    ],
)
def test_relative_network_and_variable_paths_keep_their_backslashes(
    text: str, command: str, argument: str
) -> None:
    entry = _stdio(text)
    assert (entry.command, entry.args) == (command, (argument,))


@pytest.mark.parametrize("line", [r"C:\x.exe a && calc", r"\\nas\x.exe | more", r"x.exe it's > C:\log"])
def test_shell_syntax_after_a_windows_path_is_rejected(line: str) -> None:
    with pytest.raises(ConfigError, match="requires a shell"):
        read_command(line, "win32")


def test_quoted_text_is_preserved_verbatim() -> None:
    assert _stdio("run '; touch x' '$(x)' '|' '& calc'").args == ("; touch x", "$(x)", "|", "& calc")


def test_names_only_a_shell_would_expand_are_reported() -> None:
    assert "write ${HOME}" in _one("run $HOME/x").notes[0]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", "Nothing was pasted"),
        ("  \n ", "Nothing was pasted"),
        ("# only a comment", "No command found"),
        ("{}", "No server found"),
        ('{"a": 1}', "No server found"),
        ("[1]", "An array has no server names"),
        ('{"a": }', "line 1, column 7"),
        ('"a": {"command" "x"}', "line 1, column 17"),
        ('"a": {\n"command": x}', "line 2, column 12"),
        ('[mcp_servers.a]\ncommand = "x', "line 2"),
        ("npx 'open", "quotes"),
        ("npx a && npx b", "&&"),
        ("npx a | tee log", "|"),
        ("npx $(which x)", "$("),
        ("export A=b", "export"),
        ("A=b", "No command found"),
        ("ftp://x/", "ftp"),
        ("https://u:secret-word@x/", "password"),
        ("claude mcp add", "has no server name"),
        ("claude mcp add x", "has no command or URL"),
        ("claude mcp add x --env", "--env has no value"),
        ("claude mcp add x --env A -- y", "NAME=value"),
        ("claude mcp add x --header secret-word -- y", "Name: value"),
        ("claude mcp add-json x", "JSON"),
        ("code --add-mcp '{'", "JSON"),
        ("vscode:mcp/install?%7B", "JSON"),
        ("cursor://anysphere.cursor-deeplink/mcp/install?name=a&config=***", "contains no server"),
        ("\n".join(["run"] * 30), "30 command lines"),
        ("x" * 2_000_000, "larger than"),
        ('{"a":' * 100_000, "deeply"),
    ],
)
def test_text_without_a_server_is_rejected_with_the_reason(text: str, expected: str) -> None:
    with pytest.raises(ConfigError) as caught:
        read_pasted(text)
    assert expected in str(caught.value)
    assert caught.value.next_step
    assert "secret-word" not in str(caught.value)


def test_pasted_file_cannot_reference_stored_secrets() -> None:
    (server,) = read_pasted(
        '{"mcpServers": {"a": {"url": "https://x/", "headers": {"A": {"ref": "header/b/C"}}}}}'
    )
    assert server.entry is None


def test_gemini_keys_have_their_gemini_meaning() -> None:
    text = """{"mcpServers": {"a": {"httpUrl": "https://x/mcp", "headers": {"A": "$KEY"}},
              "b": {"url": "https://x/sse"}}}"""
    first, second = (server.entry for server in read_pasted(text))
    assert isinstance(first, HttpEntry)
    assert (first.type, first.headers) == ("http", {"A": "${KEY}"})
    assert isinstance(second, HttpEntry)
    assert second.type == "sse"
    assert _http('{"httpUrl": "https://x/mcp"}').type == "http"


@pytest.mark.parametrize(
    ("start", "unit", "count", "end"),
    [
        ("", "/**/", 200_000, ""),
        ("```\n", "\n", 1_000_000, "x"),
        ("", "`", 1_000_000, ""),
        ("", "~", 1_000_000, ""),
        ('"a": {', "}", 1_000_000, ""),
        ('"a": {"', '\\"', 500_000, ""),
        ("cursor://", "mcp", 300_000, ""),
        ("https://vscode.dev/", "install", 140_000, ""),
        ("npx server", " ", 1_000_000, "x"),
    ],
    ids=["comments", "fence", "backticks", "tildes", "braces", "quotes", "app link", "site link", "spaces"],
)
def test_hostile_text_is_read_in_linear_time(start: str, unit: str, count: int, end: str) -> None:
    """Threat: these took quadratic or exponential time with the GIL held, which freezes the window."""
    with contextlib.suppress(ConfigError):
        assert read_pasted(start + unit * count + end)


def test_fragment_after_comments_is_read() -> None:
    (server,) = read_pasted('// one\n/* two */ /* "three": { */\n"a": {"command": "x"},')
    assert server.name == "a"

"""Arbitrary files and pasted texts give servers or error messages, and no exceptions."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from inspector.base.errors import ConfigError
from inspector.base.json.values import JSON
from inspector.config.foreign.discovery import ConfigLocation, find_servers
from inspector.config.foreign.export import EXPORT_FORMATS, export, fragment
from inspector.config.foreign.formats import FILE_FORMATS
from inspector.config.foreign.paste import read_pasted
from inspector.config.servers.entries import Entry, HttpEntry, StdioEntry

_MEMBERS = st.sampled_from(
    [
        *(
            "command",
            "args",
            "env",
            "cwd",
            "url",
            "httpUrl",
            "serverUrl",
            "headers",
            "type",
            "disabled",
            "enabled",
        ),
        *(
            "timeout",
            "timeouts",
            "auth",
            "oauth",
            "dev",
            "watch",
            "inputs",
            "envFile",
            "env_vars",
            "name",
            "notes",
        ),
        *("packages", "remotes", "identifier", "registryType", "transport", "environmentVariables", "source"),
        *(
            "mcpServers",
            "servers",
            "mcp",
            "projects",
            "bearer_token_env_var",
            "env_http_headers",
            "era",
            "color",
        ),
    ]
)
_TEXTS = st.sampled_from(
    ["", "x", "http", "sse", "stdio", "https://x/mcp", "${A}", "${input:k}", "npm", "\0", "🙂"]
)
_LEAVES = st.none() | st.booleans() | st.integers() | st.floats() | _TEXTS | st.text(max_size=5)
_WILD: st.SearchStrategy[JSON] = st.recursive(
    _LEAVES,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_MEMBERS, inner, max_size=5),
    max_leaves=15,
)
_TABLES = st.sampled_from(["mcpServers", "servers", "context_servers", "packages", "projects", "mcp"])


_SERVERS = st.dictionaries(st.text(max_size=4), _WILD, max_size=3)


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.sampled_from([name for name, format in FILE_FORMATS.items() if format.syntax == "json"]),
    st.sampled_from(["Claude Code", "Gemini CLI", "Cline"]),
    st.dictionaries(_TABLES | st.text(max_size=4), _SERVERS, max_size=3),
)
def test_no_file_of_any_format_breaks_the_reader(
    tmp_path: Path, format: str, tool: str, document: JSON
) -> None:
    path = tmp_path / "file.json"
    path.write_text(json.dumps(document))
    for file in find_servers([ConfigLocation(tool, "user", path, format, Path("/"))]).files:
        assert all((server.entry is None) == bool(server.problem) for server in file.servers)


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.binary(max_size=200))
def test_no_bytes_break_the_reader(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "file"
    path.write_bytes(data)
    for format in FILE_FORMATS:
        find_servers([ConfigLocation("Claude Code", "user", path, format, Path("/"))])


_ADDING = ["claude mcp add ", "codex mcp add x ", "code --add-mcp ", "--env ", "--header 'A: b' ", "-- "]
_RUNNING = [
    "npx -y ",
    "docker run ",
    "A=b ",
    "-e ",
    "https://x/mcp ",
    "C:\\x ",
    "| ",
    "$(",
    "$ ",
    "\\\n",
    "'",
    '"',
]
_WRITTEN = ["{", "}", '"a": ', '{"command": "x"}', ",", "[mcp_servers.a]\n", "```", "// ", "/* "]
_LINKS = ["vscode:mcp/install?", "cursor://x/mcp/install?config=", "e30= "]
_SNIPPETS = st.sampled_from([*_ADDING, *_RUNNING, *_WRITTEN, *_LINKS])


@settings(max_examples=80)
@given(st.lists(_SNIPPETS | st.text(max_size=5), max_size=8).map("".join))
def test_no_paste_breaks_the_reader(text: str) -> None:
    with contextlib.suppress(ConfigError):
        servers = read_pasted(text)
        assert servers
        assert all((server.entry is None) == bool(server.problem) for server in servers)


_PLAIN = st.text(st.characters(exclude_categories=["Cs"]), max_size=10).filter(lambda text: "$" not in text)
_NAMES = st.text(st.characters(exclude_categories=("Cs", "Cc")), min_size=1, max_size=8).filter(
    lambda name: bool(name.strip()) and name not in ("packages", "remotes", "servers", "mcp", "mcpServers")
)
_ENTRIES = st.builds(
    StdioEntry,
    name=_NAMES,
    command=_PLAIN.filter(bool),
    args=st.lists(_PLAIN, max_size=4).map(tuple),
    env=st.dictionaries(st.from_regex(r"[A-Z]{2,6}X", fullmatch=True), _PLAIN, max_size=3),
) | st.builds(
    HttpEntry,
    name=_NAMES,
    url=st.just("https://x.example/mcp"),
    type=st.just("http"),
    headers=st.dictionaries(st.from_regex(r"X-[A-Z]{2,6}X", fullmatch=True), _PLAIN, max_size=3),
)


@settings(max_examples=80)
@given(st.sampled_from([format for format in EXPORT_FORMATS if format != "claude-desktop"]), _ENTRIES)
def test_exported_servers_can_be_read_back_in_every_format(format: str, entry: Entry) -> None:
    exported = export([entry], format)
    if exported.notes:  # something in it looked like a secret
        return
    for text in (exported.text, fragment(entry, format).text):
        (server,) = read_pasted(text)
        read = server.entry
        assert server.name == entry.name
        if isinstance(entry, StdioEntry):
            assert isinstance(read, StdioEntry)
            assert (read.command, read.args, read.env) == (entry.command, entry.args, entry.env)
        else:
            assert isinstance(read, HttpEntry)
            assert (read.url, read.headers) == (entry.url, entry.headers)

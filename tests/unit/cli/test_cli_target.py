"""Choice of the server by options."""

from __future__ import annotations

from pathlib import Path

import pytest

from inspector.base.errors import ConfigError
from inspector.cli.headless import add_server_options, chosen_entry
from inspector.cli.output import Parser, split_command
from inspector.config.servers.entries import Entry, HttpEntry, StdioEntry

SERVER_LIST = """{"mcpServers": {
  "files": {"command": "npx", "args": ["-y", "files"], "env": {"A": "1", "B": "1"}},
  "far": {"url": "https://example.com/mcp", "headers": {"X-A": "1"}, "disabled": true},
  "broken": {"command": 5}
}}"""


def entry(*argv: str) -> Entry:
    words, command = split_command(argv)
    parser = Parser("mcp-lens list", "")
    parser.set_defaults(server_command=command)
    add_server_options(parser)
    return chosen_entry(parser.parse_args(words))


def refusal(*argv: str) -> str:
    with pytest.raises(ConfigError) as caught:
        entry(*argv)
    return str(caught.value)


@pytest.fixture
def server_list(tmp_path: Path) -> str:
    file = tmp_path / "servers.json"
    file.write_text(SERVER_LIST, encoding="utf-8")
    return str(file)


def test_everything_after_the_dashes_belongs_to_the_command() -> None:
    found = entry("--env", "A=1=2", "--", "npx", "-y", "--url", "x", "--", "--help")
    assert isinstance(found, StdioEntry)
    assert (found.command, found.args) == ("npx", ("-y", "--url", "x", "--", "--help"))
    assert found.env == {"A": "1=2"}


def test_url_target_has_its_headers() -> None:
    found = entry(
        "--url", "http://localhost:8000/mcp", "--header", "Authorization: Bearer a:b", "--header", "X-E:"
    )
    assert isinstance(found, HttpEntry)
    assert found.url == "http://localhost:8000/mcp"
    assert found.headers == {"Authorization": "Bearer a:b", "X-E": ""}


def test_configured_server_accepts_extra_variables_or_headers(server_list: str) -> None:
    files = entry("--server", "files", "--config", server_list, "--env", "B=2")
    assert isinstance(files, StdioEntry)
    assert files.env == {"A": "1", "B": "2"}
    far = entry("--server", "far", "--config", server_list, "--header", "X-B: 2")
    assert isinstance(far, HttpEntry)
    assert far.headers == {"X-A": "1", "X-B": "2"}


def test_variable_without_a_value_is_passed_through(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DEMO_TOKEN", "secret")
    found = entry("--env", "DEMO_TOKEN", "--", "x")
    assert isinstance(found, StdioEntry)
    assert found.env == {"DEMO_TOKEN": "secret"}


@pytest.mark.parametrize(
    ("argv", "reason"),
    [
        ((), "No server specified. Use one of --url URL, --server NAME, or -- COMMAND at the end."),
        (("--url", "http://a/", "--", "x"), "More than one server specified."),
        (("--url", "http://a/", "--server", "b"), "More than one server specified."),
        (("--",), "No command after --."),
        (("--url", "ftp://a/"), "MCP Lens cannot connect to ftp URLs."),
        (("--url", "http://a/", "--env", "A=1"), "--env applies only to commands"),
        (("--header", "A: b", "--", "x"), "--header applies only to URLs"),
        (("--url", "http://a/", "--header", "novalue"), "Write it as 'Name: value'."),
        (("--url", "http://a/", "--header", "A: b\r\nC: d"), "Invalid --header."),
        (("--env", "=1", "--", "x"), "Invalid --env."),
        (("--env", "NOT_SET_ANYWHERE", "--", "x"), "The environment variable 'NOT_SET_ANYWHERE' is not set."),
        (("--connect-timeout", "0", "--", "x"), "'0' is not a number of seconds greater than 0"),
        (("--connect-timeout", "inf", "--", "x"), "'inf' is not a number of seconds greater than 0"),
        (("--connect-timeout", "soon", "--", "x"), "'soon' is not a number of seconds greater than 0"),
    ],
)
def test_unusable_target_says_why(argv: tuple[str, ...], reason: str) -> None:
    assert reason in refusal(*argv)


def test_unparsable_header_is_not_repeated() -> None:
    assert "secret" not in refusal("--url", "http://a/", "--header", "secret")


def test_unknown_server_error_lists_the_configured_ones(server_list: str) -> None:
    assert "No server named 'nope'" in refusal("--server", "nope", "--config", server_list)
    assert "'broken'" in refusal("--server", "broken", "--config", server_list)


def test_without_config_the_user_server_list_is_read() -> None:
    assert "mcp-lens" in refusal("--server", "nope")
    assert "servers.json" in refusal("--server", "nope")

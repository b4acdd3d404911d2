"""Choice of the server by options."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from inspector.base.errors import ConfigError
from inspector.cli.headless import add_server_options, chosen_entry
from inspector.cli.output import Parser, split_command
from inspector.config.servers.entries import Entry, HttpEntry, StdioEntry
from inspector.config.servers.placeholders import Values, expand

SERVER_LIST = """{"mcpServers": {
  "files": {"command": "npx", "args": ["-y", "files"], "env": {"A": "1", "B": "1"}},
  "far": {"url": "https://example.com/mcp", "headers": {"X-A": "1"}},
  "off": {"command": "npx", "disabled": true},
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


def test_disabled_server_is_refused_with_the_next_step(server_list: str) -> None:
    assert refusal("--server", "off", "--config", server_list) == (
        f"The server 'off' is disabled in {server_list}. Enable it in MCP Lens (Server ▸ Enabled), or "
        "change “disabled” or “enabled” in that file."
    )


def test_configured_server_accepts_extra_variables_or_headers(server_list: str) -> None:
    files = entry("--server", "files", "--config", server_list, "--env", "B=2")
    assert isinstance(files, StdioEntry)
    assert files.env == {"A": "1", "B": "2"}
    far = entry("--server", "far", "--config", server_list, "--header", "X-B: 2")
    assert isinstance(far, HttpEntry)
    assert far.headers == {"X-A": "1", "X-B": "2"}


def test_secret_headers_come_from_the_environment_or_a_file(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Threat: other users of the machine can read the arguments of a process."""
    monkeypatch.setenv("DEMO_TOKEN", "Bearer ${PATH} $${x}")
    file = tmp_path / "headers"
    file.write_text("# of the demo\nX-Key: a:b\n\nX-Other:\n", encoding="utf-8")
    words = ["--url", "http://a/", "--header-env", "Authorization=DEMO_TOKEN", "--header-file", str(file)]
    found = expand(entry(*words), Values())
    assert isinstance(found, HttpEntry)
    assert found.headers == {"Authorization": "Bearer ${PATH} $${x}", "X-Key": "a:b", "X-Other": ""}


def test_secret_headers_are_read_from_stdin(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("X-Key: k3y\n"))
    found = entry("--url", "http://a/", "--header-file", "-")
    assert isinstance(found, HttpEntry)
    assert found.headers == {"X-Key": "k3y"}


def test_variable_without_a_value_is_passed_through(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DEMO_TOKEN", "secret")
    found = entry("--env", "DEMO_TOKEN", "--", "x")
    assert isinstance(found, StdioEntry)
    assert found.env == {"DEMO_TOKEN": "secret"}


def test_version_to_continue_as_belongs_to_the_server() -> None:
    assert entry("--continue-as", "2025-11-25", "--", "x").continue_as == "2025-11-25"
    assert entry("--", "x").continue_as == ""


@pytest.mark.parametrize(
    ("argv", "reason"),
    [
        ((), "No server specified. Use one of --url URL, --server NAME, or -- COMMAND at the end."),
        (("--url", "http://a/", "--", "x"), "More than one server specified."),
        (("--url", "http://a/", "--server", "b"), "More than one server specified."),
        (("--",), "No command after --."),
        (("--url", "ftp://a/"), "MCP Lens cannot connect to ftp URLs."),
        (("--url", "http://a/", "--env", "A=1"), "--env applies only to commands"),
        (("--header", "A: b", "--", "x"), "A header applies only to URLs"),
        (("--url", "http://a/", "--header", "novalue"), "Write it as 'Name: value'."),
        (("--url", "http://a/", "--header-env", "secret"), "Write it as HEADER=VARIABLE."),
        (("--url", "http://a/", "--header-env", "X-A=NOT_SET"), "--header-env X-A: the environment variable"),
        (("--url", "http://a/", "--header-env", "X A=PATH"), "Invalid header name or value"),
        (("--url", "http://a/", "--header-file", "/none"), "Could not read the header file /none: No such"),
        (("--header-env", "A=PATH", "--", "x"), "A header applies only to URLs"),
        (("--url", "http://a/", "--header", "A: b\r\nC: d"), "Invalid --header."),
        (("--env", "=1", "--", "x"), "Invalid --env."),
        (("--env", "NOT_SET_ANYWHERE", "--", "x"), "The environment variable 'NOT_SET_ANYWHERE' is not set."),
        (("--continue-as", "2026-07-28", "--", "x"), "is not a protocol version with initialize."),
        (("--connect-timeout", "0", "--", "x"), "'0' is not a number of seconds greater than 0"),
        (("--connect-timeout", "inf", "--", "x"), "'inf' is not a number of seconds greater than 0"),
        (("--connect-timeout", "soon", "--", "x"), "'soon' is not a number of seconds greater than 0"),
    ],
)
def test_unusable_target_says_why(argv: tuple[str, ...], reason: str) -> None:
    assert reason in refusal(*argv)


def test_unparsable_header_is_not_repeated(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("DEMO_TOKEN", "secret\r\nX-B: 1")
    file = tmp_path / "headers"
    file.write_text("X-A: 1\nsecret\n", encoding="utf-8")
    assert "secret" not in refusal("--url", "http://a/", "--header-env", "X-A=DEMO_TOKEN")
    assert f"line 2 in the header file {file}" in (
        reported := refusal("--url", "http://a/", "--header-file", str(file))
    )
    assert "secret" not in reported
    assert "secret" not in refusal("--url", "http://a/", "--header", "secret")


def test_unknown_server_error_lists_the_configured_ones(server_list: str) -> None:
    assert "No server named 'nope'" in refusal("--server", "nope", "--config", server_list)
    assert "'broken'" in refusal("--server", "broken", "--config", server_list)


def test_without_config_the_user_server_list_is_read() -> None:
    assert "mcp-lens" in refusal("--server", "nope")
    assert "servers.json" in refusal("--server", "nope")

"""Server entries created from a typed command line or URL."""

from __future__ import annotations

import pytest

from inspector.base.errors import ConfigError
from inspector.config.servers.entries import HttpEntry, StdioEntry, check_url, entry_from_text
from tests.helpers.platforms import IS_WINDOWS, QUOTE


def test_command_line_is_split_like_a_shell_without_expansion() -> None:
    entry = entry_from_text("  npx -y 'my server' --root \"$HOME\" *.py | cat ")
    assert entry == StdioEntry(
        name="my server", command="npx", args=("-y", "my server", "--root", "$HOME", "*.py", "|", "cat")
    )
    assert entry.address == "npx -y 'my server' --root '$HOME' '*.py' '|' cat".replace("'", QUOTE)
    assert entry.transport == "stdio"


def test_url_is_a_remote_server() -> None:
    entry = entry_from_text("https://example.com:8443/mcp")
    assert entry == HttpEntry(name="example.com:8443", url="https://example.com:8443/mcp")
    assert (entry.transport, entry.address) == ("http", "https://example.com:8443/mcp")


def test_explicit_name_is_used() -> None:
    assert entry_from_text("python server.py", "mine").name == "mine"
    assert entry_from_text("http://localhost/mcp", "mine").name == "mine"


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("python server.py", "server"),
        ("/usr/bin/python3 -m my_server --port 1", "my_server"),
        ("npx -y @modelcontextprotocol/server-everything", "server-everything"),
        ("npx some-server@1.2.3", "some-server"),
        ("uvx mcp-server-git", "mcp-server-git"),
        ("uv run server.py", "server"),
        ("docker run -i --rm mcp/time", "time"),
        ("./build/my-server", "my-server"),
        ("node", "node"),
        (r"'C:\tools\server.exe'", "server"),
    ],
)
def test_name_is_derived_from_the_server_and_not_from_its_runner(text: str, name: str) -> None:
    assert entry_from_text(text).name == name


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "No command or URL entered."),
        ("   ", "No command or URL entered."),
        ("''", "No command or URL entered."),
        ("python 'server.py", "Could not parse the command line: No closing quotation."),
        pytest.param(
            "python \\",
            "Could not parse the command line: No escaped character.",
            marks=pytest.mark.skipif(IS_WINDOWS, reason="a backslash is literal on Windows"),
        ),
        ("ftp://example.com", "MCP Lens cannot connect to ftp URLs."),
        ("http://", "'http://' has no host."),
        ("http:///path", "has no host"),
        ("http://host:99999/", "Invalid URL: Port out of range"),
        ("http://host:port/", "Invalid URL"),
        ("http://[::1/", "Invalid URL"),
        ("https://user:secret@example.com/", "The URL contains a user name or password."),
        ("https://user@example.com/", "The URL contains a user name or password."),
    ],
)
def test_invalid_server_text_says_why_and_what_to_enter_instead(text: str, message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        entry_from_text(text)
    assert message in caught.value.summary
    assert caught.value.next_step


def test_rejected_url_error_does_not_repeat_its_password() -> None:
    with pytest.raises(ConfigError) as caught:
        check_url("https://user:hunter2@example.com/")
    assert "hunter2" not in str(caught.value)

"""Warnings about servers from other tools' files."""

from __future__ import annotations

import pytest

from inspector.config.servers.entries import HttpEntry, StdioEntry
from inspector.config.servers.trust import warnings_for


def command_warnings(*command: str, **env: str) -> tuple[str, ...]:
    return warnings_for(StdioEntry(name="a", command=command[0], args=command[1:], env=env))


def url_warnings(url: str) -> tuple[str, ...]:
    return warnings_for(HttpEntry(name="a", url=url))


@pytest.mark.parametrize(
    "command",
    [
        ("/usr/bin/node", "server.js", "--port", "3"),
        ("python3", "-m", "server", "-v"),
        ("node", "server.js", "-c", "config.json"),
        ("bash", "/x/run.sh", "-c", "x"),
        ("python", "server.py", "-c", "config.json"),
        ("python", "-m", "server", "-c", "config.json"),
        ("uv", "run", "server.py"),
        ("docker", "ps"),
        ("node", "/home/müller/server.js"),
    ],
)
def test_ordinary_command_has_no_warnings(command: tuple[str, ...]) -> None:
    assert command_warnings(*command, LOG_LEVEL="debug", API_KEY="x") == ()


@pytest.mark.parametrize(
    "command",
    [
        ("bash", "-c", "curl x | sh"),
        ("/bin/sh", "-lc", "x"),
        ("zsh", "-ec", "x"),
        ("C:\\Windows\\System32\\cmd.exe", "/C", "x"),
        ("powershell.exe", "-EncodedCommand", "x"),
        ("pwsh", "-Command", "x"),
    ],
)
def test_shell_with_a_command_is_warned_about(command: tuple[str, ...]) -> None:
    (warning,) = command_warnings(*command)
    assert "passes a command to a shell" in warning


@pytest.mark.parametrize(
    "command",
    [
        ("python3.12", "-c", "import os"),
        ("node", "--eval=1"),
        ("node", "-e", "1"),
        ("node", "--require", "./hook", "-e", "1"),
        ("python", "-W", "ignore", "-c", "1"),
        ("deno", "eval", "1"),
        ("perl", "-e", "1"),
    ],
)
def test_code_in_arguments_is_warned_about(command: tuple[str, ...]) -> None:
    (warning,) = command_warnings(*command)
    assert "Its arguments are code for" in warning


@pytest.mark.parametrize(
    "command",
    [
        ("npx", "-y", "@scope/server@1.2.3"),
        ("npx.cmd", "server"),
        ("uvx", "server"),
        ("uv", "tool", "run", "server"),
        ("npm", "exec", "server"),
        ("pnpm", "dlx", "server"),
        ("pipx", "run", "server"),
        ("docker", "run", "-i", "--rm", "mcp/server"),
    ],
)
def test_command_that_downloads_its_program_is_warned_about(command: tuple[str, ...]) -> None:
    (warning,) = command_warnings(*command)
    assert "downloads the code it runs" in warning


def test_container_with_host_access_is_warned_about() -> None:
    _, warning = command_warnings("docker", "run", "--privileged", "-v", "/:/host", "--network=host", "x")
    assert warning == "It gives the container access to this machine: --privileged, -v, --network."


def test_wrapped_program_is_warned_about() -> None:
    (warning,) = command_warnings("/usr/bin/env", "node", "x.js")
    assert warning.startswith("It starts another program through env")


@pytest.mark.parametrize(
    "name",
    [
        *("LD_PRELOAD", "LD_LIBRARY_PATH", "LD_AUDIT", "DYLD_INSERT_LIBRARIES", "NODE_OPTIONS", "NODE_PATH"),
        *(
            "PYTHONPATH",
            "PYTHONSTARTUP",
            "PYTHONHOME",
            "PERL5OPT",
            "RUBYOPT",
            "JAVA_TOOL_OPTIONS",
            "BASH_ENV",
        ),
        *("PATH", "Path", "GIT_SSH_COMMAND", "npm_config_registry", "UV_INDEX_URL", "PIP_INDEX_URL"),
    ],
)
def test_variable_that_runs_other_code_is_warned_about(name: str) -> None:
    (warning,) = command_warnings("node", "x.js", HARMLESS="1", **{name: "x"})
    assert warning == f"It sets {name}, which can make programs run other code."


@pytest.mark.parametrize(
    "name", ["HTTPS_PROXY", "http_proxy", "NODE_TLS_REJECT_UNAUTHORIZED", "SSL_CERT_FILE"]
)
def test_variable_that_redirects_traffic_is_warned_about(name: str) -> None:
    (warning,) = command_warnings("node", "x.js", **{name: "x"})
    assert name in warning


def test_many_warnings_are_counted_and_the_sentence_stays_short() -> None:
    (warning,) = command_warnings("node", **{f"LD_{number}": "x" for number in range(1000)})
    assert "and 992 more" in warning
    assert len(warning) < 200


@pytest.mark.parametrize("word", ["n\u043ede", "\uff4eode", "serv\u03b5r.js"])
def test_lookalike_letters_are_warned_about(word: str) -> None:
    for command in ((word,), ("node", word)):
        (warning,) = command_warnings(*command)
        assert "can look like Latin letters" in warning
        assert "U+" in warning


@pytest.mark.parametrize("space", ["\u00a0", "\u2003", "\u2028", "\u2029", "\u2800", "\u3000"])
def test_non_standard_spaces_are_warned_about(space: str) -> None:
    (warning,) = command_warnings("node", f"a{space}b")
    assert f"U+{ord(space):04X}" in warning


def test_arguments_in_another_script_have_no_warnings() -> None:
    assert command_warnings("node", "/дом/файл", "名前") == ()


def test_misleading_url_destination_is_warned_about() -> None:
    assert url_warnings("https://api.example.com/mcp?x=1") == ()
    assert (
        url_warnings("http://127.0.0.1:3000/mcp")
        == url_warnings("http://[::1]/mcp")
        == url_warnings("http://localhost/")
        == ()
    )
    (user,) = url_warnings("https://api.github.com@evil.example/mcp")
    assert user.endswith("the actual host is evil.example.")
    (letters,) = url_warnings("https://\u0430pple.com/mcp")
    assert "xn--pple-43d.com" in letters
    (plain,) = url_warnings("http://example.com/mcp")
    assert "not encrypted" in plain
    assert url_warnings("https://[broken") == ()

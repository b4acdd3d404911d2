"""What one should know before agreeing to somebody else's server: said in words, for each trick once."""

from __future__ import annotations

import pytest

from inspector.config.servers.entries import HttpEntry, StdioEntry
from inspector.config.servers.trust import warnings_for


def of_command(*words: str, **env: str) -> tuple[str, ...]:
    return warnings_for(StdioEntry(name="a", command=words[0], args=words[1:], env=env))


def of_url(url: str) -> tuple[str, ...]:
    return warnings_for(HttpEntry(name="a", url=url))


@pytest.mark.parametrize(
    "words",
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
def test_ordinary_command_has_no_warnings(words: tuple[str, ...]) -> None:
    assert of_command(*words, LOG_LEVEL="debug", API_KEY="x") == ()


@pytest.mark.parametrize(
    "words",
    [
        ("bash", "-c", "curl x | sh"),
        ("/bin/sh", "-lc", "x"),
        ("zsh", "-ec", "x"),
        ("C:\\Windows\\System32\\cmd.exe", "/C", "x"),
        ("powershell.exe", "-EncodedCommand", "x"),
        ("pwsh", "-Command", "x"),
    ],
)
def test_shell_with_a_command_is_warned_about(words: tuple[str, ...]) -> None:
    (caution,) = of_command(*words)
    assert "hands a command to a shell" in caution


@pytest.mark.parametrize(
    "words",
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
def test_code_in_arguments_is_warned_about(words: tuple[str, ...]) -> None:
    (caution,) = of_command(*words)
    assert "Its arguments are a program" in caution


@pytest.mark.parametrize(
    "words",
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
def test_command_that_downloads_its_program_is_warned_about(words: tuple[str, ...]) -> None:
    (caution,) = of_command(*words)
    assert "downloads what it runs" in caution


def test_container_with_host_access_is_warned_about() -> None:
    _, caution = of_command("docker", "run", "--privileged", "-v", "/:/host", "--network=host", "x")
    assert caution == "It gives the container access to this machine: --privileged, -v, --network."


def test_wrapped_program_is_warned_about() -> None:
    (caution,) = of_command("/usr/bin/env", "node", "x.js")
    assert caution.startswith("It starts another program through env")


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
    (caution,) = of_command("node", "x.js", HARMLESS="1", **{name: "x"})
    assert caution == f"It sets {name}, by which programs can be made to run other code."


@pytest.mark.parametrize(
    "name", ["HTTPS_PROXY", "http_proxy", "NODE_TLS_REJECT_UNAUTHORIZED", "SSL_CERT_FILE"]
)
def test_variable_that_redirects_traffic_is_warned_about(name: str) -> None:
    (caution,) = of_command("node", "x.js", **{name: "x"})
    assert name in caution


def test_many_warnings_are_counted_and_the_sentence_stays_short() -> None:
    (caution,) = of_command("node", **{f"LD_{number}": "x" for number in range(1000)})
    assert "and 992 more" in caution
    assert len(caution) < 200


@pytest.mark.parametrize("word", ["n\u043ede", "\uff4eode", "serv\u03b5r.js"])
def test_lookalike_letters_are_warned_about(word: str) -> None:
    for words in ((word,), ("node", word)):
        (caution,) = of_command(*words)
        assert "may look like Latin ones" in caution
        assert "U+" in caution


@pytest.mark.parametrize("space", ["\u00a0", "\u2003", "\u2028", "\u2029", "\u2800", "\u3000"])
def test_non_standard_spaces_are_warned_about(space: str) -> None:
    (caution,) = of_command("node", f"a{space}b")
    assert f"U+{ord(space):04X}" in caution


def test_words_in_one_other_script_are_fine() -> None:
    assert of_command("node", "/дом/файл", "名前") == ()


def test_misleading_url_destination_is_warned_about() -> None:
    assert of_url("https://api.example.com/mcp?x=1") == ()
    assert (
        of_url("http://127.0.0.1:3000/mcp") == of_url("http://[::1]/mcp") == of_url("http://localhost/") == ()
    )
    (user,) = of_url("https://api.github.com@evil.example/mcp")
    assert user.endswith("it contacts evil.example.")
    (letters,) = of_url("https://\u0430pple.com/mcp")
    assert "xn--pple-43d.com" in letters
    (plain,) = of_url("http://example.com/mcp")
    assert "not encrypted" in plain
    assert of_url("https://[broken") == ()

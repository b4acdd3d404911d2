"""Parser of pasted command lines: a server's own, or one that adds a server to another client.

A line is split as a shell would do it, but no shell is involved. What only a shell can do (a pipe, a
second command, `$(…)`) is rejected rather than passed on as an argument.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field

from inspector.base.command_line import is_windows_syntax, split_command
from inspector.base.errors import ConfigError
from inspector.base.json.values import JSON, JSONError, JSONObject, parse
from inspector.config.servers.entries import name_from_argv

_PROMPT = re.compile(r"^\s*(?:\$|%|PS [^>\n]*>|[A-Za-z]:\\[^>\n]*>)\s+")
_CONTINUED = re.compile(r"(?<![ \t])[ \t]*(?:\\|`|\^)\r?\n\s*")  # POSIX shells, PowerShell and cmd
_ASSIGNMENT = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)=(.*)", re.DOTALL)
_SHELL_OPERATORS = frozenset({"&&", "||", "|", ";", "&", ">", ">>", "<", "2>&1", "2>"})
_QUOTED = re.compile(r"'[^']*'|\"[^\"\\]*(?:\\.[^\"\\]*)*\"|\\.", re.DOTALL)
_QUOTED_ON_WINDOWS = re.compile(r"(?<![^\s=])'[^']*'|\"[^\"]*\"")
_UNEXPANDED = re.compile(r"\$[A-Za-z_][A-Za-z0-9_]*|%[A-Za-z_]\w*%")
_DOCKER_FLAGS = frozenset(
    {"-i", "-t", "-it", "-ti", "-d", "--rm", "--init", "--interactive", "--tty", "--privileged"}
)
_MCP_ADD_PROGRAMS = ("claude", "codex", "gemini", "qwen", "copilot")
_EDITORS = ("code", "code-insiders", "codium", "cursor", "windsurf")
_OPTIONS = {
    "-e": "env", "--env": "env", "-H": "header", "--header": "header",
    "-t": "transport", "--transport": "transport", "-s": "scope", "--scope": "scope",
    "--url": "url", "--bearer-token-env-var": "bearer", "--client-id": "client", "--callback-port": "port",
    "--oauth-client-id": "client", "--timeout": "timeout", "--description": "description",
    "--include-tools": "", "--exclude-tools": "", "--oauth-resource": "",
}  # fmt: skip
_FLAGS = frozenset({"--client-secret", "--trust"})
_TOOLS = {"claude": "Claude Code", "codex": "Codex", "gemini": "Gemini CLI"}


@dataclass(frozen=True, slots=True)
class PastedCommand:
    """A pasted server as raw configuration; `tool` is the client whose command it was."""

    name: str
    raw: JSONObject
    tool: str = ""


def commands_in(text: str) -> list[str]:
    """Return the command lines of a text: continuations joined, prompts and comments removed."""
    lines = _CONTINUED.sub(" ", text).splitlines()
    stripped = [_PROMPT.sub("", line).strip() for line in lines]
    return [line for line in stripped if line and not line.startswith("#")]


def read_command(line: str, platform: str = sys.platform) -> PastedCommand:
    """Parse a pasted command line. Raises ConfigError."""
    words = _split(line, platform)
    env = _leading_assignments(words)
    if not words:
        raise ConfigError("No command found.", "Paste the whole command line.")
    pasted = _parse_words(words)
    if not env:
        return pasted
    own = pasted.raw.get("env")
    merged = {**env, **(own if isinstance(own, dict) else {})}
    return PastedCommand(pasted.name, {**pasted.raw, "env": merged}, pasted.tool)


def _split(line: str, platform: str) -> list[str]:
    try:
        words = split_command(line, platform)
    except ValueError as exc:
        raise ConfigError(f"Could not parse the command line: {exc}.", "Close the quotes.") from exc
    _reject_shell_syntax(line, _QUOTED_ON_WINDOWS if is_windows_syntax(line, platform) else _QUOTED)
    return words


def _reject_shell_syntax(line: str, quoted: re.Pattern[str]) -> None:
    """Reject shell syntax. Anything in quotes is an argument."""
    bare = quoted.sub("x", line)
    operator = next((word for word in bare.split() if word in _SHELL_OPERATORS), None)
    operator = operator or next((mark for mark in ("$(", "`") if mark in bare), None)
    if operator is not None:
        raise ConfigError(
            f"“{operator}” requires a shell, and MCP Lens never uses one.",
            "Paste one command that starts the server, without pipes or redirections.",
        )
    if bare.split()[:1] in (["export"], ["set"], ["cd"]):
        raise ConfigError(
            f"“{bare.split()[0]}” is a shell command and does not start a server.",
            "Paste the command itself; variables can precede it: KEY=value npx ….",
        )


def _leading_assignments(words: list[str]) -> JSONObject:
    """Remove and return `KEY=value` words before the command, also after `env`."""
    env: JSONObject = {}
    if words[:1] == ["env"] and len(words) > 1 and _ASSIGNMENT.fullmatch(words[1]):
        del words[0]
    while words and (match := _ASSIGNMENT.fullmatch(words[0])):
        env[match[1]] = match[2]
        del words[0]
    return env


def _parse_words(words: list[str]) -> PastedCommand:
    program = re.split(r"[/\\]", words[0])[-1].removesuffix(".exe").removesuffix(".cmd")
    if program in _EDITORS and "--add-mcp" in words:
        return _parse_editor_command(words[words.index("--add-mcp") + 1 :])
    if program in _MCP_ADD_PROGRAMS and words[1:3] == ["mcp", "add-json"]:
        return _parse_mcp_add_json(words[3:])
    if program in _MCP_ADD_PROGRAMS and words[1:3] == ["mcp", "add"]:
        return _parse_mcp_add(program, words[3:])
    return PastedCommand(name_of(words), {"command": words[0], "args": list(words[1:])})


def name_of(words: Sequence[str]) -> str:
    """Return what a command starts; for a container, the image."""
    rest = list(words[1:])
    if words[0] not in ("docker", "podman") or rest[:1] != ["run"]:
        return name_from_argv(list(words))
    del rest[0]
    while rest and rest[0].startswith("-"):
        option = rest.pop(0)
        if option not in _DOCKER_FLAGS and "=" not in option and rest:
            del rest[0]
    image = re.split(r"[@:]", rest[0].rpartition("/")[2])[0] if rest else ""
    return image or words[0]


def unexpanded_in(words: Sequence[str]) -> list[str]:
    """Return variables that only a shell would expand: `$HOME`, `%USERPROFILE%`."""
    return [name for word in words for name in _UNEXPANDED.findall(word)]


def _parse_editor_command(rest: Sequence[str]) -> PastedCommand:
    config = _json(rest[0] if rest else "")
    name = config.get("name")
    return PastedCommand(name if isinstance(name, str) else "", config, "VS Code")


def _parse_mcp_add_json(rest: Sequence[str]) -> PastedCommand:
    words = _without_options(rest, {"-s", "--scope"})
    if len(words) < 2:
        raise ConfigError(
            "“mcp add-json” needs a server name followed by its JSON.", "Paste the whole command."
        )
    return PastedCommand(words[0], _json(words[1]), "Claude Code")


def _without_options(words: Sequence[str], with_value: set[str]) -> list[str]:
    positional: list[str] = []
    skip = False
    for word in words:
        if skip or word.startswith("-"):
            skip = not skip and word in with_value
            continue
        positional.append(word)
    return positional


@dataclass(slots=True)
class _McpAdd:
    """Parsed arguments of `… mcp add`."""

    argv: list[str] = field(default_factory=list)
    env: JSONObject = field(default_factory=dict)
    headers: JSONObject = field(default_factory=dict)
    options: dict[str, str] = field(default_factory=dict)


def _parse_mcp_add(program: str, rest: Sequence[str]) -> PastedCommand:
    """Parse `… mcp add`. Options may appear anywhere before `--`; the rest is the command."""
    added = _read_options(rest)
    if not added.argv:
        raise ConfigError(f"“{program} mcp add” has no server name.", "Paste the whole command.")
    name, *command = added.argv
    url = added.options.get("url") or (command[0] if command and _is_url(command[0]) else "")
    if added.options.get("transport") in ("http", "sse", "ws") and command:
        url = command[0]
    if not url and not command:
        raise ConfigError(f"“{program} mcp add {name}” has no command or URL.", "Paste the whole command.")
    raw: JSONObject = {"command": command[0], "args": list(command[1:]), "env": added.env} if command else {}
    if url:
        raw = _raw_url(url, added)
    if added.options.get("description"):
        raw["notes"] = added.options["description"]
    timeout = added.options.get("timeout", "")
    if timeout.isdecimal():
        raw["timeout"] = int(timeout)
    return PastedCommand(name, raw, _TOOLS.get(program, ""))


def _raw_url(url: str, added: _McpAdd) -> JSONObject:
    raw: JSONObject = {"url": url, "headers": added.headers}
    if "transport" in added.options:
        raw["type"] = added.options["transport"]
    if "bearer" in added.options:
        raw["bearer_token_env_var"] = added.options["bearer"]
    login: JSONObject = {}
    if "client" in added.options:
        login["clientId"] = added.options["client"]
    if added.options.get("port", "").isdecimal():
        login["callbackPort"] = int(added.options["port"])
    if login:
        raw["oauth"] = login
    return raw


def _read_options(rest: Sequence[str]) -> _McpAdd:
    added = _McpAdd()
    words = list(rest)
    while words:
        word = words.pop(0)
        flag, equals, inline = word.partition("=")
        if word == "--":
            added.argv += words
            break
        if word in _FLAGS:
            continue
        if flag in _OPTIONS and (equals == "" or flag.startswith("--")):
            if not equals and not words:
                raise ConfigError(f"{flag} has no value.", "Paste the whole command.")
            _set(added, _OPTIONS[flag], inline if equals else words.pop(0))
            if _OPTIONS[flag] == "env" and not equals:
                _read_more_variables(added, words)
        else:
            added.argv.append(word)
    return added


def _read_more_variables(added: _McpAdd, words: list[str]) -> None:
    """Read further variables: Claude Code accepts several after one `--env`."""
    while words and _ASSIGNMENT.fullmatch(words[0]):
        _set(added, "env", words.pop(0))


def _set(added: _McpAdd, option: str, value: str) -> None:
    if option == "env":
        name, equals, content = value.partition("=")
        if not name or not equals:
            raise ConfigError("Invalid --env in the command.", "Write it as NAME=value.")
        added.env[name] = content
    elif option == "header":
        name, colon, content = value.partition(":")
        if not name.strip() or not colon:  # not quoted in the error: it may contain a secret
            raise ConfigError("Invalid --header in the command.", "Write it as 'Name: value'.")
        added.headers[name.strip()] = content.strip()
    elif option:
        added.options[option] = value


def _is_url(word: str) -> bool:
    return re.match(r"(?:https?|wss?)://", word, re.IGNORECASE) is not None


def _json(text: str) -> JSONObject:
    try:
        value: JSON = parse(text)
    except JSONError as exc:
        step = "Check the shell quoting."
        raise ConfigError(f"Could not parse the JSON in the command: {exc}.", step) from exc
    if not isinstance(value, dict):
        raise ConfigError("The JSON in the command must be an object.", "Paste the whole command.")
    return value

"""Import of one server from another tool's configuration into an `Entry`.

Only known members are taken over, one by one: another tool's file must not contain a reference to the
secret store or network settings. What is left out is reported, and stays in `FoundServer.raw`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field

from inspector.base.errors import ConfigError
from inspector.base.json.values import JSON, JSONObject, shorten, write_number
from inspector.base.plain_text import one_line
from inspector.config.servers.entries import Entry
from inspector.config.servers.server_list import read_entry

_STDIO_WORDS = ("stdio", "local")
_URLS = ("url", "serverUrl", "httpUrl")  # serverUrl: Windsurf; httpUrl: Gemini CLI, for Streamable HTTP only
_AS_THEY_ARE = ("command", "args", "cwd", "disabled", "enabled", "era", "notes", "color")
# Irrelevant here: presentation or provenance in the other tool.
_SILENT = ("name", "description", "gallery", "version", "$schema", "source", "remoteConfigured", "icon")
_SECONDS = 1000  # ms per second
_BARE_VARIABLE = re.compile(r"\$(?=[A-Za-z_])([A-Za-z_][A-Za-z0-9_]*)")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


@dataclass(slots=True)
class _Translation:
    """Translates the members of one server; members left over are reported as ignored."""

    raw: JSONObject
    tool: str
    translated: JSONObject = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    taken: set[str] = field(default_factory=set)

    def take(self, *names: str) -> JSON:
        """Return the first of these members that is present, and mark all of them as read."""
        self.taken.update(names)
        return next((self.raw[name] for name in names if name in self.raw), None)

    def text(self, *names: str) -> str:
        value = self.take(*names)
        return value if isinstance(value, str) else ""


def to_entry(name: str, raw: JSON, tool: str) -> tuple[Entry | None, str, tuple[str, ...]]:
    """Return the server, or None with a problem, and remarks about it."""
    if not isinstance(raw, dict):
        return None, 'It must be an object with "command" or "url".', ()
    read = _Translation(raw, tool)
    try:
        if not name.strip():
            raise ConfigError("It has no name.", "Add one in the file.")
        _translate(read)
        entry = read_entry(name, read.translated)
    except ConfigError as exc:
        return None, str(exc), tuple(read.notes)
    return entry, "", (*read.notes, *_left_out(read))


def _translate(read: _Translation) -> None:
    if read.raw.get("source") == "extension" and "command" not in read.raw:
        raise ConfigError("It is a Zed extension, which Zed starts itself.", "Add its command manually.")
    _take_address(read)
    for name in _AS_THEY_ARE:
        if (value := read.take(name)) is not None:
            read.translated[name] = value
    if isinstance(read.translated.get("enabled"), bool) and "disabled" not in read.translated:
        read.translated["disabled"] = not read.translated["enabled"]
    read.translated.pop("enabled", None)
    _take_command_object(read)
    _take_given(read)
    _take_timeouts(read)
    _take_login(read)
    _take_watch(read)
    _warn(read)
    if description := read.text("description"):
        read.translated.setdefault("notes", description)
    read.taken.update(_SILENT)


def _take_address(read: _Translation) -> None:
    url, type = read.take(*_URLS), read.take("type", "transport")
    if type in _STDIO_WORDS or (url is None and "command" in read.raw):
        return
    if url is not None:
        read.translated["url"] = url
    if type is None and "httpUrl" in read.raw:
        type = "http"
    elif type is None and read.tool == "Gemini CLI":
        type = "sse"
    if type is not None and type != "remote":
        read.translated["type"] = type


def _take_command_object(read: _Translation) -> None:
    """Accept a list, or Zed's old `"command": {"path": …, "args": …, "env": …}`."""
    command = read.translated.get("command")
    if isinstance(command, dict):
        read.translated["command"] = command.get("path", command.get("command"))
        for name in ("args", "env"):
            if name in command and name not in read.raw:
                read.raw = {**read.raw, name: command[name]}
        if "args" in read.raw:
            read.translated["args"] = read.raw["args"]
    elif isinstance(command, list) and command:
        read.translated["command"], read.translated["args"] = command[0], command[1:]


def _take_given(read: _Translation) -> None:
    """Read environment variables and headers; names that Codex inherits become `${NAME}`."""
    env = _texts(read, "env", read.take("env"))
    for name in _names(read, "env_vars"):
        env.setdefault(name, f"${{{name}}}")
    headers = _texts(read, "headers", read.take("headers", "http_headers"))
    headers |= _texts(read, "requestInit.headers", _member(read.take("requestInit"), "headers"))
    for header, variable in _texts(read, "env_http_headers", read.take("env_http_headers")).items():
        headers[header] = f"${{{_variable('env_http_headers', variable)}}}"
    if variable := read.text("bearer_token_env_var"):
        headers["Authorization"] = f"Bearer ${{{_variable('bearer_token_env_var', variable)}}}"
    if "url" in read.translated:
        read.translated["headers"] = dict(headers)
        if env:
            read.notes.append("Its environment variables are ignored: a server at a URL has none.")
    else:
        read.translated["env"] = dict(env)


def _texts(read: _Translation, member: str, value: JSON) -> dict[str, str]:
    """Read a table of texts. Objects are rejected: `{"ref": …}` would name one of our secrets."""
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise ConfigError(f"{member}: must be an object.", "Fix it in the file.")
    texts: dict[str, str] = {}
    for name, content in value.items():
        if isinstance(content, bool):
            texts[name] = "true" if content else "false"
        elif isinstance(content, int | float):
            texts[name] = write_number(content)
        elif isinstance(content, str):
            texts[name] = _with_braces(content) if read.tool == "Gemini CLI" else content
        elif content is not None:  # VS Code: null unsets a variable
            raise ConfigError(f"{member}.{_shown(name)}: must be a string.", "Fix it in the file.")
    return texts


def _with_braces(text: str) -> str:
    """Convert Gemini CLI's `$NAME` to `${NAME}`."""
    return _BARE_VARIABLE.sub(r"${\1}", text)


def _names(read: _Translation, member: str) -> list[str]:
    """Return the names of inherited variables; newer files write objects with a name."""
    value = read.take(member)
    items = value if isinstance(value, list) else []
    names = [item if isinstance(item, str) else _member(item, "name") for item in items]
    return [_variable(member, name) for name in names if isinstance(name, str)]


def _variable(member: str, name: str) -> str:
    if not _VARIABLE.fullmatch(name):
        raise ConfigError(f"{member}: {_shown(name)!r} is not a valid variable name.", "Fix it in the file.")
    return name


def _take_timeouts(read: _Translation) -> None:
    """Read timeouts: milliseconds in Claude Code and Gemini CLI, seconds in Cline and Codex."""
    ours = read.take("timeouts")
    timeouts: JSONObject = dict(ours) if isinstance(ours, dict) else {}
    scale = 1 if read.tool == "Cline" else _SECONDS
    for seconds, member in (
        (_number(read.take("timeout")) / scale, "request"),
        (_number(read.take("tool_timeout_sec")), "request"),
        (_number(read.take("startup_timeout_sec")), "connect"),
        (_number(read.take("startup_timeout_ms")) / _SECONDS, "connect"),
    ):
        if seconds > 0:
            timeouts[member] = seconds
    if timeouts:
        read.translated["timeouts"] = timeouts


def _number(value: JSON) -> float:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else 0.0


def _take_login(read: _Translation) -> None:
    """Read other tools' OAuth client settings; the client secret belongs in the secret store."""
    login = read.take("oauth", "auth")
    if login is None or "url" not in read.translated:
        return
    if not isinstance(login, dict):
        if isinstance(login, str):
            read.notes.append(
                f"Its “auth” ({_shown(login)}) is ignored: login starts when the server requires it."
            )
        return
    auth: JSONObject = {"type": "oauth"}
    for theirs, member in _LOGIN.items():
        value = login.get(theirs)
        if member == "redirectPort" and isinstance(value, int) and not isinstance(value, bool):
            auth[member] = value
        elif member == "scope" and isinstance(value, list):
            auth[member] = " ".join(item for item in value if isinstance(item, str))
        elif member != "redirectPort" and isinstance(value, str) and value:
            auth[member] = value
    if len(auth) > 1:
        read.translated["auth"] = auth
    if any(secret in login for secret in ("CLIENT_SECRET", "clientSecret", "client_secret", "token")):
        read.notes.append("Its login secret is not imported; enter it in the Auth tab.")


_LOGIN = {
    "clientId": "clientId",
    "client_id": "clientId",
    "CLIENT_ID": "clientId",
    "callbackPort": "redirectPort",
    "scope": "scope",
    "scopes": "scope",
}


def _take_watch(read: _Translation) -> None:
    """Read VS Code's restart-on-change globs: `"dev": {"watch": "src/**/*.ts"}`."""
    watch = read.take("watch")
    if watch is None:
        watch = _member(read.take("dev"), "watch")
    globs: list[JSON] = watch if isinstance(watch, list) else [watch]
    if all(isinstance(glob, str) for glob in globs):
        read.translated["watch"] = globs


def _warn(read: _Translation) -> None:
    if read.take("envFile"):
        read.notes.append("Its “envFile” is not read; add the variables it needs.")
    if read.take("headersHelper"):
        read.notes.append("Its “headersHelper”, a command that generates headers, is not run.")
    sandbox = [read.take(name) for name in ("sandbox", "sandboxEnabled")]
    if any(sandbox):
        read.notes.append(f"{read.tool} runs it in a sandbox; MCP Lens does not.")


def _left_out(read: _Translation) -> Iterable[str]:
    names = [_shown(name) for name in read.raw if name not in read.taken]
    if names:
        more = ", …" if len(names) > _MAX_NAMED else ""
        yield f"Omitted: {', '.join(names[:_MAX_NAMED])}{more}."


_MAX_NAMED = 8


def _member(value: JSON, name: str) -> JSON:
    return value.get(name) if isinstance(value, dict) else None


def _shown(text: str) -> str:
    return one_line(shorten(text, 60))

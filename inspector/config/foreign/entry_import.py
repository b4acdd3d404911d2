"""Import of one server from another client's configuration into an `Entry`.

Only known members are taken over, one by one: another client's file must not contain a reference to the
secret store or network settings. Omitted members are reported, and stay in `DiscoveredServer.raw`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from dataclasses import dataclass, field

from inspector.base.errors import ConfigError
from inspector.base.json.values import JSON, JSONObject, shorten, write_number
from inspector.base.plain_text import one_line
from inspector.config.servers.entries import Entry
from inspector.config.servers.server_list import read_entry

_STDIO_TYPES = ("stdio", "local")
# Claude Code's entries for servers in its own process, and for claude.ai connectors.
_INTERNAL_TYPES = {
    "sdk": "To inspect it, start it as a separate stdio or HTTP server.",
    "claudeai-proxy": "To inspect it, add the URL of the service itself.",
}
_URLS = ("url", "serverUrl", "httpUrl")  # serverUrl: Windsurf; httpUrl: Gemini CLI, for Streamable HTTP only
_COPIED = (
    *("command", "args", "cwd", "disabled", "enabled", "era", "notes", "color"),
    *("continueAs", "inheritEnvironment", "sequential"),  # as written by MCP Lens
)
# Irrelevant here: presentation or provenance in the other client.
_IGNORED = ("name", "description", "gallery", "version", "$schema", "source", "remoteConfigured", "icon")
_MS_PER_SECOND = 1000
_BARE_VARIABLE = re.compile(r"\$(?=[A-Za-z_])([A-Za-z_][A-Za-z0-9_]*)")
_MAX_LISTED = 8
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


@dataclass(slots=True)
class _Translation:
    """Translates the members of one server; members that were not read are reported as omitted."""

    raw: JSONObject
    tool: str
    translated: JSONObject = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    read: set[str] = field(default_factory=set)

    def take(self, *names: str) -> JSON:
        """Return the first of these members that is present, and mark all of them as source."""
        self.read.update(names)
        return next((self.raw[name] for name in names if name in self.raw), None)

    def text(self, *names: str) -> str:
        value = self.take(*names)
        return value if isinstance(value, str) else ""


def to_entry(name: str, raw: JSON, tool: str) -> tuple[Entry | None, str, tuple[str, ...]]:
    """Return the server, or None with a problem, and notes about it."""
    if not isinstance(raw, dict):
        return None, 'It must be an object with "command" or "url".', ()
    source = _Translation(raw, tool)
    try:
        if not name.strip():
            raise ConfigError("It has no name.", "Add one in the file.")
        _translate(source)
        entry = read_entry(name, source.translated)
    except ConfigError as exc:
        return None, str(exc), tuple(source.notes)
    return entry, "", (*source.notes, *_omitted(source))


def _translate(source: _Translation) -> None:
    if source.raw.get("source") == "extension" and "command" not in source.raw:
        raise ConfigError("It is a Zed extension, which Zed starts itself.", "Add its command manually.")
    type = source.raw.get("type")
    if isinstance(type, str) and type in _INTERNAL_TYPES:
        raise ConfigError("Runs inside Claude Code; nothing to connect to.", _INTERNAL_TYPES[type])
    _read_address(source)
    for name in _COPIED:
        if (value := source.take(name)) is not None:
            source.translated[name] = value
    if isinstance(source.translated.get("enabled"), bool) and "disabled" not in source.translated:
        source.translated["disabled"] = not source.translated["enabled"]
    source.translated.pop("enabled", None)
    _read_command_object(source)
    _read_values(source)
    _read_timeouts(source)
    _read_login(source)
    _read_watch(source)
    _note_unsupported(source)
    if description := source.text("description"):
        source.translated.setdefault("notes", description)
    source.read.update(_IGNORED)


def _read_address(source: _Translation) -> None:
    url, type = source.take(*_URLS), source.take("type", "transport")
    if type in _STDIO_TYPES or (url is None and "command" in source.raw):
        return
    if url is not None:
        source.translated["url"] = url
    if type is None and "httpUrl" in source.raw:
        type = "http"
    elif type is None and source.tool == "Gemini CLI":
        type = "sse"
    if type is not None and type != "remote":
        source.translated["type"] = type


def _read_command_object(source: _Translation) -> None:
    """Accept a list, or Zed's old `"command": {"path": …, "args": …, "env": …}`."""
    command = source.translated.get("command")
    if isinstance(command, dict):
        source.translated["command"] = command.get("path", command.get("command"))
        for name in ("args", "env"):
            if name in command and name not in source.raw:
                source.raw = {**source.raw, name: command[name]}
        if "args" in source.raw:
            source.translated["args"] = source.raw["args"]
    elif isinstance(command, list) and command:
        source.translated["command"], source.translated["args"] = command[0], command[1:]


def _read_values(source: _Translation) -> None:
    """Read environment variables and headers; names that Codex inherits become `${NAME}`."""
    env = _texts(source, "env", source.take("env"))
    for name in _names(source, "env_vars"):
        env.setdefault(name, f"${{{name}}}")
    headers = _texts(source, "headers", source.take("headers", "http_headers"))
    headers |= _texts(source, "requestInit.headers", _member(source.take("requestInit"), "headers"))
    for header, variable in _texts(source, "env_http_headers", source.take("env_http_headers")).items():
        headers[header] = f"${{{_variable('env_http_headers', variable)}}}"
    if variable := source.text("bearer_token_env_var"):
        headers["Authorization"] = f"Bearer ${{{_variable('bearer_token_env_var', variable)}}}"
    if "url" in source.translated:
        source.translated["headers"] = dict(headers)
        if env:
            source.notes.append("Its environment variables are ignored: a server at a URL has none.")
    else:
        source.translated["env"] = dict(env)


def _texts(source: _Translation, member: str, value: JSON) -> dict[str, str]:
    """Read a table of texts. Objects are rejected: `{"ref": …}` would refer to the secret store."""
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
            texts[name] = _with_braces(content) if source.tool == "Gemini CLI" else content
        elif content is not None:  # VS Code: null unsets a variable
            raise ConfigError(f"{member}.{_display(name)}: must be a string.", "Fix it in the file.")
    return texts


def _with_braces(text: str) -> str:
    """Convert Gemini CLI's `$NAME` to `${NAME}`."""
    return _BARE_VARIABLE.sub(r"${\1}", text)


def _names(source: _Translation, member: str) -> list[str]:
    """Return the names of inherited variables; newer files write objects with a name."""
    value = source.take(member)
    items = value if isinstance(value, list) else []
    names = [item if isinstance(item, str) else _member(item, "name") for item in items]
    return [_variable(member, name) for name in names if isinstance(name, str)]


def _variable(member: str, name: str) -> str:
    if not _VARIABLE.fullmatch(name):
        raise ConfigError(
            f"{member}: {_display(name)!r} is not a valid variable name.", "Fix it in the file."
        )
    return name


def _read_timeouts(source: _Translation) -> None:
    """Read timeouts: milliseconds in Claude Code and Gemini CLI, seconds in Cline and Codex."""
    own = source.take("timeouts")  # as written by MCP Lens
    timeouts: JSONObject = dict(own) if isinstance(own, dict) else {}
    scale = 1 if source.tool == "Cline" else _MS_PER_SECOND
    for seconds, member in (
        (_number(source.take("timeout")) / scale, "request"),
        (_number(source.take("tool_timeout_sec")), "request"),
        (_number(source.take("startup_timeout_sec")), "connect"),
        (_number(source.take("startup_timeout_ms")) / _MS_PER_SECOND, "connect"),
    ):
        if seconds > 0:
            timeouts[member] = seconds
    if timeouts:
        source.translated["timeouts"] = timeouts


def _number(value: JSON) -> float:
    """Return a number, infinity if it is too large for a float, which is then reported as invalid."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return 0.0
    try:
        return float(value)
    except OverflowError:
        return math.inf


def _read_login(source: _Translation) -> None:
    """Read other clients' OAuth client settings; the client secret belongs in the secret store."""
    login = source.take("oauth", "auth")
    if login is None or "url" not in source.translated:
        return
    if not isinstance(login, dict):
        if isinstance(login, str):
            source.notes.append(
                f"Its “auth” ({_display(login)}) is ignored: login starts when the server requires it."
            )
        return
    auth: JSONObject = {"type": "oauth"}
    for foreign_member, member in _LOGIN_MEMBERS.items():
        value = login.get(foreign_member)
        if member == "redirectPort" and isinstance(value, int) and not isinstance(value, bool):
            auth[member] = value
        elif member == "scope" and isinstance(value, list):
            auth[member] = " ".join(item for item in value if isinstance(item, str))
        elif member != "redirectPort" and isinstance(value, str) and value:
            auth[member] = value
    if len(auth) > 1:
        source.translated["auth"] = auth
    if any(secret in login for secret in ("CLIENT_SECRET", "clientSecret", "client_secret", "token")):
        source.notes.append("Its login secret is not imported; enter it in the Auth tab.")


_LOGIN_MEMBERS = {
    "clientId": "clientId",
    "client_id": "clientId",
    "CLIENT_ID": "clientId",
    "callbackPort": "redirectPort",
    "scope": "scope",
    "scopes": "scope",
}


def _read_watch(source: _Translation) -> None:
    """Read VS Code's restart-on-change globs: `"dev": {"watch": "src/**/*.ts"}`."""
    watch = source.take("watch")
    if watch is None:
        watch = _member(source.take("dev"), "watch")
    globs: list[JSON] = watch if isinstance(watch, list) else [watch]
    if all(isinstance(glob, str) for glob in globs):
        source.translated["watch"] = globs


def _note_unsupported(source: _Translation) -> None:
    if source.take("envFile"):
        source.notes.append("Its “envFile” is not read; add the variables it needs.")
    if source.take("headersHelper"):
        source.notes.append("Its “headersHelper”, a command that generates headers, is not run.")
    sandbox = [source.take(name) for name in ("sandbox", "sandboxEnabled")]
    if any(sandbox):
        source.notes.append(f"{source.tool} runs it in a sandbox; MCP Lens does not.")


def _omitted(source: _Translation) -> Iterable[str]:
    names = [_display(name) for name in source.raw if name not in source.read]
    if names:
        more = ", …" if len(names) > _MAX_LISTED else ""
        yield f"Omitted: {', '.join(names[:_MAX_LISTED])}{more}."


def _member(value: JSON, name: str) -> JSON:
    return value.get(name) if isinstance(value, dict) else None


def _display(text: str) -> str:
    return one_line(shorten(text, 60))

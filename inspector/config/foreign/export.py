"""Export of servers to other clients' configuration formats (`EXPORT_FORMATS`), without secrets.

Secrets never leave: a reference to the secret store becomes `${NAME}`, and so does a plain-text value
that looks like a secret. Settings that the other client does not support are left out and reported.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, TypeAlias

from inspector.base.command_line import pasted_command
from inspector.base.errors import ConfigError
from inspector.base.json.values import JSON, JSONObject, compact, pretty
from inspector.base.plain_text import one_line
from inspector.base.redaction import MASK, is_secret_name, masked_command
from inspector.config.foreign.server_json import to_server_json
from inspector.config.servers.entries import (
    BearerSettings,
    Entry,
    EntryValue,
    HttpEntry,
    OAuthSettings,
    StdioEntry,
    Timeouts,
)
from inspector.config.servers.placeholders import KNOWN, has_placeholders, text_secrets_of, with_inputs
from inspector.config.servers.server_list import write_entry

Style: TypeAlias = Literal["${NAME}", "${env:NAME}", "${input:id}", "none"]

_HTTP = {"http": "http", "sse": "sse"}


@dataclass(frozen=True, slots=True)
class ExportFormat:
    """The configuration file format of another client.

    `types` maps transports to the client's names; "" writes no type. `members` are the other settings it
    supports: `cwd`, `disabled` or `enabled`, `timeout` by unit, `oauth`, `watch`, and `defaults` of
    variables. `variables` is its placeholder syntax, "none" if it expands nothing.
    """

    tool: str
    file_name: str
    table: str
    types: Mapping[str, str]
    members: frozenset[str] = frozenset()
    variables: Style = "${NAME}"
    url: Mapping[str, str] = field(default_factory=dict)  # where the member is not "url"
    syntax: Literal["json", "toml"] = "json"


EXPORT_FORMATS: dict[str, ExportFormat] = {
    "mcp.json": ExportFormat(
        "Claude Code", ".mcp.json", "mcpServers", {"stdio": "stdio", **_HTTP, "ws": "ws"},
        frozenset({"timeout-ms", "oauth", "defaults"}),
    ),
    "flat": ExportFormat(
        "Claude Code plugins", ".mcp.json", "", {"stdio": "", **_HTTP}, frozenset({"defaults"})
    ),
    "claude-desktop": ExportFormat(
        "Claude Desktop", "claude_desktop_config.json", "mcpServers", {"stdio": ""}, variables="none"
    ),
    "vscode": ExportFormat(
        "VS Code", ".vscode/mcp.json", "servers", {"stdio": "stdio", **_HTTP},
        frozenset({"cwd", "watch"}), "${input:id}",
    ),
    "cursor": ExportFormat(
        "Cursor", ".cursor/mcp.json", "mcpServers", {"stdio": "stdio", "http": "", "sse": ""},
        variables="${env:NAME}",
    ),
    "windsurf": ExportFormat(
        "Windsurf", "mcp_config.json", "mcpServers", {"stdio": "", "http": "", "sse": ""},
        frozenset({"disabled"}), "${env:NAME}", {"http": "serverUrl", "sse": "serverUrl"},
    ),
    "cline": ExportFormat(
        "Cline", "cline_mcp_settings.json", "mcpServers",
        {"stdio": "stdio", "http": "streamableHttp", "sse": "sse"},
        frozenset({"disabled", "timeout-s"}), "none",
    ),
    "zed": ExportFormat(
        "Zed", "settings.json", "context_servers", {"stdio": "", "http": ""},
        frozenset({"enabled"}), "none",
    ),
    "codex": ExportFormat(
        "Codex", "config.toml", "mcp_servers", {"stdio": "", "http": ""},
        frozenset({"cwd", "enabled", "timeout-toml"}), "none", syntax="toml",
    ),
    "gemini": ExportFormat(
        "Gemini CLI", "settings.json", "mcpServers", {"stdio": "", "http": "", "sse": ""},
        frozenset({"cwd", "timeout-ms"}), url={"http": "httpUrl"},
    ),
    "copilot": ExportFormat(
        "Copilot CLI", "mcp-config.json", "mcpServers", {"stdio": "local", **_HTTP}, variables="${NAME}"
    ),
}  # fmt: skip


REGISTRY = "registry"
EXPORT_FORMAT_NAMES = (*EXPORT_FORMATS, REGISTRY)

_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")
_REFERENCE = re.compile(r"\$\{(?P<kind>env:)?(?P<name>[^{}:]+)(?::-(?P<default>[^{}]*))?\}")
_CLAUDE_NAME = re.compile(r"[^A-Za-z0-9_-]")
_INPUT_REFERENCE = re.compile(r"(?<!\$)\$\{input:([^{}:]+)\}")
_TRANSPORT_LABELS = {"stdio": "stdio", "http": "HTTP", "sse": "HTTP+SSE", "ws": "WebSocket"}
_EXPORTED_MEMBERS = frozenset(
    {"command", "args", "env", "cwd", "url", "headers", "type", "auth", "timeouts", "enabled", "disabled"}
)


@dataclass(frozen=True, slots=True)
class Exported:
    """Exported text, and notes to show with it."""

    text: str
    notes: tuple[str, ...] = ()


def export(entries: Sequence[Entry], format: str) -> Exported:
    """Export the servers in a format, one of EXPORT_FORMAT_NAMES. Raises ConfigError."""
    if format == REGISTRY:
        return _registry_export(entries)
    target = _format_of(format)
    servers: JSONObject = {}
    notes: list[str] = []
    secrets: list[str] = []
    unexpanded: list[str] = []
    names = SecretNames()
    for entry in entries:
        written = _Writer(entry, target, names)
        if written.raw is not None:
            servers[entry.name] = written.raw
            secrets += written.secrets
            unexpanded += written.unexpanded
        notes += (f"{one_line(entry.name)}: {note}" for note in written.notes)
    document: JSONObject = {target.table: servers} if target.table else servers
    if target.variables == "${input:id}" and secrets:
        document["inputs"] = [_input(name) for name in dict.fromkeys(secrets)]
    return Exported(_text(document, target), (*notes, *_setup_notes(secrets, unexpanded, target)))


def _registry_export(entries: Sequence[Entry]) -> Exported:
    if len(entries) != 1:
        raise ConfigError("A registry server.json describes only one server.", "Select one server.")
    entry, secrets = without_secrets(entries[0])
    card, notes = to_server_json(entry, secrets)
    return Exported(f"{pretty(card)}\n", notes)


def fragment(entry: Entry, format: str = "mcp.json") -> Exported:
    """Return one server as a fragment of such a file: `"name": {…}`. Raises ConfigError."""
    target = _format_of(format)
    written = _Writer(entry, target)
    if written.raw is None:
        raise ConfigError(f"{one_line(entry.name)}: {written.notes[0]}", "Choose another format.")
    notes = (*written.notes, *_setup_notes(written.secrets, written.unexpanded, target))
    if target.syntax == "toml":
        return Exported(_text({target.table: {entry.name: written.raw}}, target), notes)
    return Exported(f"{compact(entry.name)}: {pretty(written.raw)}", notes)


def claude_command(entry: Entry, platform: str = sys.platform) -> Exported:
    """Return a `claude mcp add …` command, quoted for a shell of the platform. For display; never run.

    Raises ConfigError for a server that a command line cannot describe.
    """
    written = _Writer(entry, EXPORT_FORMATS["mcp.json"])
    raw, notes = written.raw or {}, list(written.notes)
    name = _CLAUDE_NAME.sub("-", entry.name).strip("-") or "server"
    if name != entry.name:
        notes.append(
            f"Claude Code allows only letters, digits, - and _ in names; the server is called {name} there."
        )
    words = _claude_words(name, raw)
    if any(_CONTROL.search(word) for word in words):
        raise ConfigError(
            "It contains line breaks or control characters, which are not safe in a command line.",
            "Copy it as .mcp.json instead.",
        )
    command = pasted_command(words, platform)
    if command is None:
        raise ConfigError(
            "It contains characters that cmd or PowerShell would interpret.", "Copy it as .mcp.json instead."
        )
    return Exported(
        command,
        (*notes, *_setup_notes(written.secrets, written.unexpanded, EXPORT_FORMATS["mcp.json"])),
    )


def _claude_words(name: str, raw: JSONObject) -> list[str]:
    """Return the command's words. The name precedes `--env`, which would consume it otherwise."""
    add = ["claude", "mcp", "add"]
    if "oauth" in raw or "timeout" in raw or raw.get("type") == "ws":
        return ["claude", "mcp", "add-json", name, compact(raw)]
    if "url" in raw:
        words = [*add, "--transport", str(raw["type"]), name, str(raw["url"])]
        return words + [word for each in _pairs(raw, "headers", ": ") for word in ("--header", each)]
    variables = [word for each in _pairs(raw, "env", "=") for word in ("--env", each)]
    args = raw.get("args")
    return [
        *add,
        name,
        *variables,
        "--",
        str(raw["command"]),
        *map(str, args if isinstance(args, list) else ()),
    ]


def _pairs(raw: JSONObject, member: str, separator: str) -> list[str]:
    values = raw.get(member)
    return [f"{name}{separator}{value}" for name, value in values.items()] if isinstance(values, dict) else []


def _format_of(name: str) -> ExportFormat:
    if name not in EXPORT_FORMATS:
        raise ConfigError(f"Unknown format {name!r}.", f"Use one of: {', '.join(EXPORT_FORMAT_NAMES)}.")
    return EXPORT_FORMATS[name]


class _Writer:
    """Writes one server in one format.

    `raw` is None if the format cannot represent it; the first note then says why.
    """

    def __init__(self, entry: Entry, format: ExportFormat, names: SecretNames | None = None) -> None:
        self.notes: list[str] = []
        self.unexpanded: list[str] = []
        self._format = format
        self._omitted: list[str] = []
        self._entry, self.secrets = without_secrets(entry, names)
        self._transport = entry.transport
        self.raw: JSONObject | None = None
        if self._transport not in format.types:
            label = _TRANSPORT_LABELS[entry.transport]
            self.notes.append(f"Not exported: {format.tool} does not support servers over {label}.")
            self.secrets = ()
            return
        self.raw = self._address() | self._settings()
        self._report_omitted()

    def _address(self) -> JSONObject:
        entry, type = self._entry, self._format.types[self._transport]
        raw: JSONObject = {"type": type} if type else {}
        if isinstance(entry, StdioEntry):
            raw |= {
                "command": self._converted(entry.command),
                "args": [self._converted(word) for word in entry.args],
            }
            return raw | self._values("env", entry.env)
        raw[self._format.url.get(self._transport, "url")] = self._converted(entry.url)
        return raw | self._values("headers", entry.headers)

    def _values(self, member: str, values: Mapping[str, object]) -> JSONObject:
        texts = {name: str(value) for name, value in values.items()}
        if self._format.syntax == "toml":
            return self._for_codex(member, texts)
        return {member: {name: self._converted(text) for name, text in texts.items()}} if texts else {}

    def _for_codex(self, member: str, texts: Mapping[str, str]) -> JSONObject:
        """Write values for Codex, which expands no placeholders but reads whole values from variables."""
        raw: JSONObject = {}
        plain: JSONObject = {}
        inherited: list[JSON] = []
        headers: JSONObject = {}
        for name, text in texts.items():
            variable = re.fullmatch(r"(Bearer )?\$\{(?:env:)?([A-Za-z_][A-Za-z0-9_]*)\}", text)
            if variable is None or variable[2] in KNOWN:
                plain[name] = self._converted(text)
            elif member == "env" and not variable[1] and variable[2] == name:
                inherited.append(name)
            elif member == "headers" and name.lower() == "authorization" and variable[1]:
                raw["bearer_token_env_var"] = variable[2]
            elif member == "headers" and not variable[1]:
                headers[name] = variable[2]
            else:
                plain[name] = self._converted(text)
        names = ("env", "env_vars") if member == "env" else ("http_headers", "env_http_headers")
        both: tuple[JSON, JSON] = (plain, inherited if member == "env" else headers)
        return raw | {name: content for name, content in zip(names, both, strict=True) if content}

    def _settings(self) -> JSONObject:
        entry, has = self._entry, self._format.members
        raw: JSONObject = {}
        rest = replace(entry, name="", enabled=True)
        if not entry.enabled:
            raw |= {"disabled": True} if "disabled" in has else {"enabled": False} if "enabled" in has else {}
            self._check("disabled", bool(raw))
        if isinstance(entry, StdioEntry) and entry.cwd:
            raw |= {"cwd": self._converted(entry.cwd)} if "cwd" in has else {}
            self._check("cwd", "cwd" in raw)
        raw |= self._timeouts(entry.timeouts)
        if entry.watch and "watch" in has:
            raw["dev"] = {"watch": list(entry.watch)}
            rest = replace(rest, watch=())
        if isinstance(entry, HttpEntry) and isinstance(entry.auth, OAuthSettings):
            raw |= self._login(entry.auth)
        self._omitted += _other_members(rest)
        return raw

    def _timeouts(self, timeouts: Timeouts) -> JSONObject:
        has, request = self._format.members, timeouts.request
        raw: JSONObject = {}
        if request is not None and "timeout-ms" in has:
            raw["timeout"] = round(request * 1000)
        elif request is not None and "timeout-s" in has:
            raw["timeout"] = round(request)
        elif "timeout-toml" in has:
            limits = {"tool_timeout_sec": request, "startup_timeout_sec": timeouts.connect}
            raw |= {name: value for name, value in limits.items() if value is not None}
        self._check("timeouts.request", request is None or bool({"timeout", "tool_timeout_sec"} & raw.keys()))
        self._check("timeouts.connect", timeouts.connect is None or "startup_timeout_sec" in raw)
        self._check("timeouts.total", timeouts.total is None)
        self._check("timeouts.keepAlive", timeouts.keep_alive is None)
        return raw

    def _login(self, login: OAuthSettings) -> JSONObject:
        if "oauth" not in self._format.members:
            self._check("auth", False)
            return {}
        known = OAuthSettings(client_id=login.client_id, redirect_port=login.redirect_port)
        self._check("auth (partially)", login == known)
        members: JSONObject = {"clientId": login.client_id, "callbackPort": login.redirect_port}
        content: JSONObject = {name: value for name, value in members.items() if value}
        return {"oauth": content} if content else {}

    def _check(self, member: str, is_written: bool) -> None:
        if not is_written:
            self._omitted.append(member)

    def _report_omitted(self) -> None:
        if self._omitted:
            self.notes.append(
                f"Omitted (unsupported by {self._format.tool}): {', '.join(dict.fromkeys(self._omitted))}."
            )

    def _converted(self, text: str) -> str:
        return _REFERENCE.sub(self._reference, text)

    def _reference(self, match: re.Match[str]) -> str:
        name, style = match["name"], self._format.variables
        if match.string[: match.start()].endswith("$"):  # $${NAME} is escaped
            return match[0]
        if name in KNOWN and not match["kind"]:
            is_supported = style in ("${input:id}", "${env:NAME}")
            self._check(f"${{{name}}}", is_supported)
            return match[0]
        if match["default"] is not None and "defaults" not in self._format.members:
            self._check(f"the default of ${{{name}}}", False)
        if style == "none":
            self.unexpanded.append(name)
        if style == "${input:id}":
            return f"${{input:{name}}}" if name in self.secrets else f"${{env:{name}}}"
        if style == "${env:NAME}":
            return f"${{env:{name}}}"
        default = match["default"]
        return (
            f"${{{name}:-{default}}}"
            if default is not None and "defaults" in self._format.members
            else f"${{{name}}}"
        )


def _other_members(entry: Entry) -> Iterable[str]:
    """Return the members of the server list file that are set but not exported."""
    return [name for name in write_entry(entry) if name not in _EXPORTED_MEMBERS]


def _input(name: str) -> JSON:
    return {"type": "promptString", "id": name, "description": name, "password": True}


def _setup_notes(names: Sequence[str], unexpanded: Sequence[str], format: ExportFormat) -> list[str]:
    """Return what has to be set before the server works in that client."""
    notes: list[str] = []
    variables = [name for name in dict.fromkeys(names) if name not in unexpanded]
    if variables and format.variables == "${input:id}":
        notes.append(f"Secrets are not exported. {format.tool} will ask for: {', '.join(variables)}.")
    elif variables:
        notes.append(
            f"Secrets are not exported. Set these environment variables for {format.tool}: "
            f"{', '.join(variables)}."
        )
    if unexpanded:
        listed = ", ".join(f"${{{name}}}" for name in dict.fromkeys(unexpanded))
        notes.append(
            f"{format.tool} does not expand placeholders; enter the values there yourself for {listed}."
        )
    return notes


def _text(document: JSONObject, format: ExportFormat) -> str:
    if format.syntax == "json":
        return f"{pretty(document)}\n"
    import tomli_w  # only needed for this format

    return tomli_w.dumps(document)


class SecretNames:
    """Placeholder names of one export, each for one secret, unique across servers."""

    def __init__(self) -> None:
        self._secrets: dict[str, object] = {}

    def name_for(self, wanted: str, secret: object) -> str:
        """Return `wanted`, numbered if it is already the name of a different secret."""
        name, number = wanted, 1
        while self._secrets.setdefault(name, secret) != secret:
            number += 1
            name = f"{wanted}_{number}"
        return name


class _ServerNames:
    """Placeholder names of one server."""

    def __init__(self, server: str, all_names: SecretNames) -> None:
        self.used: list[str] = []
        self._server = server
        self._all = all_names

    def own(self, what: str, secret: object) -> str:
        return self._put(variable_name(f"{self._server}_{what}"), secret)

    def variable(self, name: str, secret: object) -> str:
        """Use the variable's own name as placeholder if it is a valid shell name."""
        is_usable = re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name) is not None
        return self._put(name if is_usable else variable_name(name), secret)

    def _put(self, wanted: str, secret: object) -> str:
        name = self._all.name_for(wanted, secret)
        if name not in self.used:
            self.used.append(name)
        return f"${{{name}}}"


def without_secrets(entry: Entry, all_names: SecretNames | None = None) -> tuple[Entry, tuple[str, ...]]:
    """Return the server with `${NAME}` for every secret, and those names."""
    names = _ServerNames(entry.name, all_names or SecretNames())
    entry, _ = with_inputs(entry, [each.label for each in text_secrets_of(entry)])
    entry = _without_inputs(entry, names)
    if isinstance(entry, StdioEntry):
        env = {name: _value(name, value, names) for name, value in entry.env.items()}
        return replace(entry, env=env), tuple(names.used)
    headers: Mapping[str, EntryValue] = {
        name: _header(name, value, names) for name, value in entry.headers.items()
    }
    if isinstance(entry, HttpEntry) and isinstance(entry.auth, BearerSettings):
        headers = {**headers, "Authorization": f"Bearer {names.own('token', entry.auth.token)}"}
        entry = replace(entry, auth=None)
    return replace(entry, headers=headers), tuple(names.used)


def _without_inputs(entry: Entry, names: _ServerNames) -> Entry:
    """Replace `${input:id}`: its value is in the secret store like any other secret."""

    def placeholder(match: re.Match[str]) -> str:
        return names.own(match[1], (entry.name, match[1]))

    def text(value: str) -> str:
        return _INPUT_REFERENCE.sub(placeholder, value)

    def texts(values: Mapping[str, EntryValue]) -> dict[str, EntryValue]:
        return {name: text(value) if isinstance(value, str) else value for name, value in values.items()}

    if isinstance(entry, StdioEntry):
        args = tuple(map(text, entry.args))
        return replace(
            entry, command=text(entry.command), args=args, env=texts(entry.env), cwd=text(entry.cwd)
        )
    return replace(entry, url=text(entry.url), headers=texts(entry.headers))


def variable_name(text: str) -> str:
    """Return a valid shell variable name: `My server_X-Key` becomes MY_SERVER_X_KEY."""
    name = re.sub(r"[^A-Z0-9]+", "_", text.upper()).strip("_")
    return name if re.match(r"[A-Z_]", name) else f"_{name}" if name else "SECRET"


def _value(name: str, value: EntryValue, names: _ServerNames) -> str:
    if not isinstance(value, str):
        return names.variable(name, value)
    if not value or has_placeholders(value):
        return value
    if is_secret_name(name):
        return names.variable(name, value)
    masked = masked_command([value])[0]
    return value if masked == value else masked.replace(MASK, names.variable(name, value))


def _header(name: str, value: EntryValue, names: _ServerNames) -> str:
    if not isinstance(value, str):
        return names.own(name, value)
    if not value or has_placeholders(value):
        return value
    if not is_secret_name(name) and masked_command([value])[0] == value:
        return value
    scheme = re.match(r"(?:Bearer|Basic|Token) ", value, re.IGNORECASE)
    return f"{scheme[0]}{names.own('token', value)}" if scheme is not None else names.own(name, value)

"""Server entries by transport, with their auth, timeout and network settings.

`auth` is OAuth with its settings, or a fixed bearer token. Entries never contain login secrets: each is a
reference by name (`{"ref": "…"}`) into the secret store.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, Literal, TypeAlias
from urllib.parse import urlsplit

from inspector.base.command_line import quote_word, split_command
from inspector.base.errors import ConfigError
from inspector.base.json.values import JSON, JSONObject
from inspector.base.redaction import MASK, masked_command, masked_url
from inspector.config.secrets.records import is_name
from inspector.protocol.discovery import read_era_choice
from inspector.protocol.revisions import HANDSHAKE_REVISIONS, REVISIONS

# Colors to mark a server with, as written in the file; the window maps each to a shade.
COLORS = ("blue", "green", "amber", "red", "violet", "teal")


@dataclass(frozen=True, slots=True)
class SecretRef:
    """Reference to a secret in the secret store, by name."""

    ref: str


# The value of a header or an environment variable: plain text, or a reference to a secret.
EntryValue: TypeAlias = str | SecretRef


@dataclass(frozen=True, slots=True, kw_only=True)
class Timeouts:
    """Timeouts in seconds; None uses the app's settings.

    `request` restarts with each progress notification, `total` does not. `keep_alive` is the ping interval;
    0 turns it off.
    """

    connect: float | None = None
    request: float | None = None
    total: float | None = None
    keep_alive: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class NetworkSettings:
    """Network settings of a URL. Nothing is taken from the environment unless enabled here."""

    proxy: str = ""
    environment_proxy: bool = False
    ca_file: str = ""
    login_ca_file: str = ""
    client_certificate: str = ""
    client_key: str = ""
    verify: bool = True
    http2: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class _Entry:
    """Settings common to all servers.

    `era` is "auto" (detect), "legacy-first", or a protocol version. `continue_as` is the protocol version to
    use if the server responds to initialize with one that is not known; "" ends the connection.
    `auto_restart` reconnects when the connection is lost. `capabilities` are the client capabilities to
    declare, None for all that are supported; with `exact_capabilities` exactly these are sent with every
    protocol version. `auto_connect` connects at app start. `watch` lists globs below the working directory:
    the server is restarted when a matching file changes. With `sequential`, a request is sent only after the
    response to the previous one. `notes` and `color` (one of COLORS, or "") are for the user only.
    """

    name: str
    enabled: bool = True
    roots: tuple[str, ...] = ()
    era: str = "auto"
    continue_as: str = ""
    timeouts: Timeouts = Timeouts()
    auto_restart: bool = False
    capabilities: dict[str, Any] | None = None  # JSON
    exact_capabilities: bool = False
    auto_connect: bool = False
    watch: tuple[str, ...] = ()
    sequential: bool = False
    notes: str = ""
    color: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class StdioEntry(_Entry):
    """A stdio server: a program that MCP Lens starts.

    It gets `env` and the standard environment variables of MCP Lens, or with `inherit_environment` all of
    them.
    """

    command: str
    args: tuple[str, ...] = ()
    env: Mapping[str, EntryValue] = field(default_factory=dict)
    inherit_environment: bool = False
    cwd: str = ""

    @property
    def transport(self) -> str:
        return "stdio"

    @property
    def address(self) -> str:
        """The command line as it would be typed, secrets masked; for display."""
        words = masked_command((self.command, *self.args))
        return " ".join(word if MASK in word else quote_word(word) for word in words)


@dataclass(frozen=True, slots=True, kw_only=True)
class _UrlEntry(_Entry):
    """A server reached by URL."""

    url: str
    headers: Mapping[str, EntryValue] = field(default_factory=dict)
    network: NetworkSettings = NetworkSettings()

    @property
    def address(self) -> str:
        """The URL with secrets masked; for display."""
        return masked_url(self.url)


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpEntry(_UrlEntry):
    """A server over Streamable HTTP ("http"), HTTP+SSE of 2024 ("sse"), or auto-detected.

    Without `auth`, OAuth with default settings is used if the server requires a login.
    """

    type: Literal["auto", "http", "sse"] = "auto"
    auth: OAuthSettings | BearerSettings | None = None

    @property
    def transport(self) -> str:
        return "sse" if self.type == "sse" else "http"


@dataclass(frozen=True, slots=True, kw_only=True)
class WebSocketEntry(_UrlEntry):
    """A server over WebSocket, which no protocol version defines but some servers speak."""

    @property
    def transport(self) -> str:
        return "ws"


Entry: TypeAlias = StdioEntry | HttpEntry | WebSocketEntry


@dataclass(frozen=True, slots=True, kw_only=True)
class IdentityProvider:
    """Enterprise-managed authorization: the identity provider and the client registration there.

    With `issuer` and `client_id`, the user logs in in the browser. With an existing `id_token` that login
    is skipped, and `token_endpoint` saves discovery. `method` is the client authentication method, `scope`
    the scope requested at login; "" and None select the default.
    """

    issuer: str = ""
    token_endpoint: str = ""
    client_id: str = ""
    client_secret: SecretRef | None = None
    method: str = ""
    scope: str | None = None
    id_token: SecretRef | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class OAuthSettings:
    """OAuth settings of a server; "" and None select the default.

    `issuer` is the authorization server that the client belongs to; with a grant that uses no browser, the
    client secret is sent to no other. `assertion` (or a file or an environment variable, both reread each
    time) is the workload's JWT. `audience` is the `aud` of signed assertions. `private` and
    `plain_http` are the user's consent to addresses in private networks and to unencrypted URLs named by
    this server.
    """

    type: Literal["oauth"] = "oauth"
    grant: Literal["authorization_code", "client_credentials", "enterprise", "wif"] = "authorization_code"
    issuer: str = ""
    client_id: str = ""
    client_secret: SecretRef | None = None
    client_document: str = ""
    method: str = ""
    scope: str | None = None
    resource: str | None = None
    redirect_host: str = ""
    redirect_port: int = 0
    redirect_path: str = ""
    key: SecretRef | None = None
    algorithm: str = ""
    audience: Literal["issuer", "token_endpoint"] = "issuer"
    dpop: bool | None = None
    assertion: SecretRef | None = None
    assertion_file: str = ""
    assertion_variable: str = ""
    identity_provider: IdentityProvider | None = None
    private: bool = False
    plain_http: bool = False

    def references(self) -> tuple[SecretRef, ...]:
        """Return all secrets that these settings refer to."""
        references = [self.client_secret, self.key, self.assertion]
        if self.identity_provider is not None:
            references += [self.identity_provider.client_secret, self.identity_provider.id_token]
        return tuple(ref for ref in references if ref is not None)


@dataclass(frozen=True, slots=True, kw_only=True)
class BearerSettings:
    """A fixed bearer token, sent as is and never refreshed."""

    token: SecretRef
    type: Literal["bearer"] = "bearer"


Auth: TypeAlias = OAuthSettings | BearerSettings
_SECRET_FIELDS = ("client_secret", "key", "assertion", "id_token", "token")


def entry_from_text(text: str, name: str = "") -> Entry:
    """Create a server from a typed URL or command line. Raises ConfigError.

    The command line is split like a shell does it, but no shell is involved: no variables, pipes or globs.
    """
    text = text.strip()
    if re.match(r"[a-zA-Z][a-zA-Z0-9+.-]*://", text):
        url = check_url(text)
        kind = WebSocketEntry if is_websocket(url) else HttpEntry
        return kind(name=name or _name_from_url(url), url=url)
    try:
        argv = split_command(text)
    except ValueError as exc:
        raise ConfigError(f"Could not parse the command line: {exc}.", "Close the quotes.") from exc
    if not argv or not argv[0]:
        raise ConfigError(
            "No command or URL entered.", "Enter a command such as “npx -y some-server”, or a URL."
        )
    return StdioEntry(name=name or name_from_argv(argv), command=argv[0], args=tuple(argv[1:]))


def check_url(url: str) -> str:
    """Return the URL if it is supported. Raises ConfigError."""
    try:
        parts = urlsplit(url)
        has_valid_port = parts.port is None or parts.port > 0
    except ValueError as exc:
        raise ConfigError(f"Invalid URL: {exc}.", "Check the host and port.") from exc
    if "@" in parts.netloc:
        raise ConfigError("The URL contains a user name or password.", "Use an Authorization header instead.")
    if not parts.hostname or not has_valid_port:
        raise ConfigError(f"{url!r} has no host.", "Use a URL such as http://localhost:8000/mcp.")
    if parts.scheme.lower() not in ("http", "https", "ws", "wss"):
        raise ConfigError(
            f"MCP Lens cannot connect to {parts.scheme or 'relative'} URLs.",
            "Use an http, https, ws or wss URL.",
        )
    return url


def check_era(era: str) -> str:
    """Return `era` if it is a valid choice. Raises ConfigError."""
    if read_era_choice(era) is None:
        member = "era"  # of the file; the form shows the error at its field
        dates = ", ".join(revision.date for revision in REVISIONS)
        raise ConfigError(
            f"{member}: unknown value {era!r}.",
            f"Use “auto”, “legacy-first”, or a protocol version: {dates}.",
        )
    return era


def check_continue_as(date: str) -> str:
    """Return the protocol version to continue as, if it is valid or empty. Raises ConfigError."""
    dates = [revision.date for revision in HANDSHAKE_REVISIONS]
    if date and date not in dates:
        raise ConfigError(
            f"continueAs: {date!r} is not a protocol version with initialize.",
            f"Use one of {', '.join(dates)}.",
        )
    return date


def check_timeouts(timeouts: Timeouts) -> Timeouts:
    """Return the timeouts if they are valid. Raises ConfigError."""
    for name in ("connect", "request", "total", "keep_alive"):
        seconds = getattr(timeouts, name)
        is_off = name == "keep_alive" and seconds == 0
        if seconds is not None and not is_off and not 0 < seconds < math.inf:
            raise ConfigError(
                f"timeouts: {seconds} is not a valid number of seconds.", "Use a number greater than 0."
            )
    return timeouts


def is_websocket(url: str) -> bool:
    return url[:6].lower().startswith(("ws://", "wss://"))


def name_from_argv(argv: list[str]) -> str:
    """Return a short name: the package or script being started rather than `npx` or `python`."""
    words = [word for word in argv[1:] if not word.startswith("-")]
    runners = {"npx", "uvx", "uv", "node", "python", "python3", "bunx", "deno", "docker", "run", "tool"}
    candidates = [argv[0], *words]
    chosen = next((word for word in candidates if _stem(word) not in runners), argv[0])
    return _stem(chosen)


# Commands that download and run a package: alone, or with one of these as the first argument.
_INSTALLERS: dict[str, tuple[str, ...]] = {
    "npx": (),
    "bunx": (),
    "pnpx": (),
    "uvx": (),
    "npm": ("exec", "x"),
    "pnpm": ("dlx",),
    "yarn": ("dlx",),
    "bun": ("x",),
    "uv": ("tool", "run"),
    "pipx": ("run",),
    "docker": ("run",),
    "podman": ("run",),
}


def installer_of(argv: Sequence[str]) -> str:
    """Return the program that may have to download the server before it starts it; "" if none does."""
    name = program_name(argv[0]) if argv else ""
    first = next((word for word in argv[1:] if not word.startswith("-")), "")
    return name if name in _INSTALLERS and first in (_INSTALLERS[name] or (first,)) else ""


def program_name(command: str) -> str:
    """Return the name of a program without its folder and extension, in lower case."""
    return re.sub(r"\.(?:exe|cmd|bat)$", "", re.split(r"[/\\]", command)[-1].lower())


def _stem(word: str) -> str:
    last = re.split(r"[/\\]", word.rstrip("/\\"))[-1] or word
    return re.sub(r"\.(py|js|mjs|ts|sh|exe|cmd|bat)$", "", re.sub(r"(?<=.)@[\w.^~-]+$", "", last))


def _name_from_url(url: str) -> str:
    return urlsplit(url).netloc.rpartition("@")[2] or "server"


def read_auth(value: JSON) -> Auth | None:
    """Parse a server's `auth` member. Raises ConfigError, using the names in the file."""
    if value is None:
        return None
    from pydantic import TypeAdapter, ValidationError  # takes 55 ms to import, and most servers have no auth

    if not isinstance(value, dict) or value.get("type") not in ("oauth", "bearer"):
        raise ConfigError("auth: must be an object.", 'Set its "type" to "oauth" or "bearer".')
    kind: type[Auth] = OAuthSettings if value["type"] == "oauth" else BearerSettings
    _require_references(value)
    try:
        read: Auth = TypeAdapter[Auth](kind).validate_python(_known(value, kind))
    except ValidationError as exc:
        first = exc.errors()[0]
        location = ".".join(["auth", *(member_name(str(part)) for part in first["loc"])])
        raise ConfigError(f"{location}: {error_text(first['msg'])}.", "Fix it in the file.") from exc
    if isinstance(read, OAuthSettings) and not 0 <= read.redirect_port <= 65535:
        raise ConfigError(
            f"auth.redirectPort: {read.redirect_port} is not a valid port.", "Fix it in the file."
        )
    return read


def write_auth(auth: Auth | None, before: JSON = None) -> JSON:
    """Return the `auth` member to write, keeping the unknown members of `before`."""
    if auth is None:
        return None
    written = _written(auth) | {"type": auth.type}
    known = {member_name(field.name) for field in fields(auth)}
    members = before if isinstance(before, dict) else {}
    return {**{name: item for name, item in members.items() if name not in known}, **written}


def _require_references(value: JSONObject) -> None:
    for name, content in value.items():
        if name == "identityProvider" and isinstance(content, dict):
            _require_references(content)
        if field_name(name) not in _SECRET_FIELDS or content is None:
            continue
        ref = content.get("ref") if isinstance(content, dict) else None
        if not isinstance(ref, str) or not is_name(ref):
            raise ConfigError(
                f"auth.{name}: secrets must not be stored in this file.",
                'Store it under Secrets and reference it here: {"ref": "…"}.',
            )


def _known(value: JSONObject, kind: type) -> JSONObject:
    names = {member_name(field.name): field.name for field in fields(kind)}
    known = {names[name]: content for name, content in value.items() if name in names}
    provider = known.get("identity_provider")
    if isinstance(provider, dict):
        known["identity_provider"] = _known(provider, IdentityProvider)
    return known


def _written(value: Auth | IdentityProvider | SecretRef) -> JSONObject:
    members: JSONObject = {}
    for member in fields(value):
        content = getattr(value, member.name)
        if content != member.default:
            is_nested = isinstance(content, IdentityProvider | SecretRef)
            members[member_name(member.name)] = _written(content) if is_nested else content
    return members


def member_name(field: str) -> str:
    """Return the member name in the file: `auto_restart` becomes `autoRestart`."""
    first, *rest = field.split("_")
    return first + "".join(word.capitalize() for word in rest)


def field_name(member: str) -> str:
    """Return the field name of a member: `autoRestart` becomes `auto_restart`."""
    return re.sub("([A-Z])", r"_\1", member).lower()


def error_text(message: str) -> str:
    """Return a message of pydantic in terms of JSON, to follow the name of a member."""
    for pattern, text in _PYDANTIC_TERMS:
        message = re.sub(pattern, text, message)
    return message.lower()


_PYDANTIC_TERMS = (
    ("^Input should be", "must be"),
    ("a valid (tuple|list)", "an array"),
    (r"a (valid )?dictionary( or an instance of \w+)?", "an object"),
    ("a valid ", "a "),
)

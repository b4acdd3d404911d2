"""The settings of a server as form fields, one per member of its JSON object.

A draft is that JSON object itself, so that the form and the JSON text show the same thing, and members
without a field are preserved.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from inspector.base.json.values import JSON, JSONObject, member_of, with_member, without_member
from inspector.config.servers.entries import COLORS, is_websocket
from inspector.protocol.revisions import HANDSHAKE_REVISIONS, REVISIONS

Transport: TypeAlias = Literal["stdio", "http", "ws"]
Kind: TypeAlias = Literal[
    "line", "code", "lines", "text", "switch", "choice", "seconds", "file", "folder", "color", "named",
    "environment",
]  # fmt: skip

STDIO: frozenset[Transport] = frozenset({"stdio"})
URL: frozenset[Transport] = frozenset({"http", "ws"})
HTTP: frozenset[Transport] = frozenset({"http"})
ALL: frozenset[Transport] = STDIO | URL


@dataclass(frozen=True, slots=True)
class EntryField:
    """A member of a server entry; a dotted name is a nested member.

    `default` is the value when the member is absent. `choices` are pairs of value and label. `hint` is the
    placeholder text of an empty field.
    """

    member: str
    page: str
    label: str
    description: str
    kind: Kind = "line"
    transports: frozenset[Transport] = ALL
    default: JSON = ""
    choices: tuple[tuple[str, str], ...] = ()
    hint: str = ""


PAGES = ("Server", "Environment", "Headers", "Protocol", "Network", "Startup", "Notes")

_ERAS = (
    ("auto", "Auto-detect"),
    ("legacy-first", "Auto-detect (initialize first)"),
    *((revision.date, revision.date) for revision in reversed(REVISIONS)),
)
_UNKNOWN_VERSIONS = (
    ("", "Do not connect"),
    *((revision.date, f"Continue as {revision.date}") for revision in reversed(HANDSHAKE_REVISIONS)),
)
_TYPES = (
    ("auto", "Auto-detect"),
    ("http", "Streamable HTTP"),
    ("sse", "HTTP+SSE (2024-11-05)"),
)

FIELDS: tuple[EntryField, ...] = (
    EntryField(
        "command",
        "Server",
        "Command",
        "Program to start: a name on PATH or a full path. It is not run through a shell.",
        "code",
        STDIO,
        hint="npx",
    ),
    EntryField(
        "args",
        "Server",
        "Arguments",
        "One per line, passed to the program as is; no quoting needed.",
        "lines",
        STDIO,
        default=[],
        hint="-y\n@modelcontextprotocol/server-everything",
    ),
    EntryField(
        "cwd",
        "Server",
        "Working directory",
        "Where the program starts. Empty: the directory MCP Lens was started in.",
        "folder",
        STDIO,
    ),
    EntryField(
        "url",
        "Server",
        "URL",
        "URL of the MCP endpoint: http, https, ws or wss.",
        "code",
        URL,
        hint="https://host/mcp",
    ),
    EntryField(
        "type",
        "Server",
        "Transport",
        "Transport to use. Auto-detect tries Streamable HTTP first.",
        "choice",
        HTTP,
        default="auto",
        choices=_TYPES,
    ),
    EntryField(
        "env",
        "Environment",
        "Environment variables",
        "Set for the program. ${NAME} takes the value of your variable NAME.",
        "named",
        STDIO,
        default={},
    ),
    EntryField(
        "inheritEnvironment",
        "Environment",
        "Pass my whole environment",
        "If off, the program gets only the standard variables. Your whole environment may hold keys and "
        "tokens.",
        "environment",
        STDIO,
        default=False,
    ),
    EntryField(
        "headers",
        "Headers",
        "Headers",
        "Sent with every request to this server only.",
        "named",
        URL,
        default={},
    ),
    EntryField(
        "era",
        "Protocol",
        "Protocol version",
        "Protocol version to use. Auto-detect asks the server.",
        "choice",
        default="auto",
        choices=_ERAS,
    ),
    EntryField(
        "continueAs",
        "Protocol",
        "Unknown version",
        "What to do if the server responds to initialize with a version that MCP Lens does not know, such as "
        "that of a draft.",
        "choice",
        choices=_UNKNOWN_VERSIONS,
    ),
    EntryField(
        "timeouts.connect",
        "Protocol",
        "Connection timeout",
        "Maximum time to connect. For a program it counts from its first output, at the latest 10 s after "
        "its start.",
        "seconds",
        default=None,
    ),
    EntryField(
        "timeouts.request",
        "Protocol",
        "Request timeout",
        "Maximum time for a request, counted from its last progress notification.",
        "seconds",
        default=None,
    ),
    EntryField(
        "timeouts.total",
        "Protocol",
        "Total request timeout",
        "Maximum time for a request, regardless of progress.",
        "seconds",
        default=None,
    ),
    EntryField(
        "timeouts.keepAlive",
        "Protocol",
        "Keep-alive interval",
        "How often the server is pinged. 0: never.",
        "seconds",
        default=None,
    ),
    EntryField(
        "sequential",
        "Protocol",
        "One request at a time",
        "For servers that fail on concurrent requests: each request waits for the response to the previous "
        "one. Waiting does not count toward the timeouts.",
        "switch",
        default=False,
    ),
    EntryField(
        "roots",
        "Protocol",
        "Roots",
        "Folders the server may request, one per line: paths or URIs.",
        "lines",
        default=[],
        hint="~/project",
    ),
    EntryField(
        "network.proxy",
        "Network",
        "Proxy",
        "Proxy for this server only.",
        "code",
        URL,
        hint="http://host:port",
    ),
    EntryField(
        "network.environmentProxy",
        "Network",
        "Use environment proxy",
        "Use HTTP_PROXY, HTTPS_PROXY, etc. Otherwise they are ignored.",
        "switch",
        URL,
        default=False,
    ),
    EntryField(
        "network.caFile",
        "Network",
        "CA file",
        "Certificate authorities trusted for this server (PEM). They do not apply to other hosts.",
        "file",
        URL,
    ),
    EntryField(
        "network.loginCaFile",
        "Network",
        "CA file for logins",
        "Certificate authorities trusted for authorization servers on other hosts (PEM).",
        "file",
        URL,
    ),
    EntryField(
        "network.clientCertificate",
        "Network",
        "Client certificate",
        "For servers that require one (PEM).",
        "file",
        URL,
    ),
    EntryField(
        "network.clientKey",
        "Network",
        "Client key",
        "Only if it is not in the certificate file.",
        "file",
        URL,
    ),
    EntryField(
        "network.verify",
        "Network",
        "Verify TLS certificate",
        "If off, anyone on the network path can read and change the traffic.",
        "switch",
        URL,
        default=True,
    ),
    EntryField(
        "network.http2",
        "Network",
        "HTTP/2",
        "Offer HTTP/2. If off, HTTP/1.1 is used.",
        "switch",
        HTTP,
        default=False,
    ),
    EntryField(
        "enabled",
        "Startup",
        "Enabled",
        "A disabled server stays in the list but is never connected.",
        "switch",
        default=True,
    ),
    EntryField(
        "autoConnect",
        "Startup",
        "Connect on startup",
        "Connect as soon as MCP Lens opens.",
        "switch",
        default=False,
    ),
    EntryField(
        "autoRestart",
        "Startup",
        "Reconnect automatically",
        "When the connection is lost: up to five attempts with increasing delays.",
        "switch",
        default=False,
    ),
    EntryField(
        "watch",
        "Startup",
        "Restart when files change",
        "Glob patterns relative to the working directory, one per line. Regression calls are rerun "
        "after the restart.",
        "lines",
        STDIO,
        default=[],
        hint="src/**/*.py",
    ),
    EntryField(
        "color",
        "Notes",
        "Color",
        "Color of the server in the server list.",
        "color",
        choices=(("", "None"), *((each, each.capitalize()) for each in COLORS)),
    ),
    EntryField("notes", "Notes", "Notes", "Only for you; never sent to the server.", "text"),
)


def fields_of(transport: Transport) -> tuple[EntryField, ...]:
    return tuple(field for field in FIELDS if transport in field.transports)


def pages_of(transport: Transport) -> tuple[str, ...]:
    pages = {field.page for field in fields_of(transport)}
    return tuple(page for page in PAGES if page in pages)


def content_of(draft: JSONObject, field: EntryField) -> JSON:
    """Return the draft's value of a field, or the default."""
    if field.member == "enabled" and isinstance(draft.get("disabled"), bool):
        return not draft["disabled"]  # the spelling of other clients
    return member_of(draft, field.member, field.default)


def with_content(draft: JSONObject, field: EntryField, content: JSON) -> JSONObject:
    """Return the draft with the value set; a default is left out unless it was already present."""
    if field.member == "enabled":
        draft = {name: value for name, value in draft.items() if name != "disabled"}
    if content == field.default and field.member not in ("command", "args", "url"):
        return without_member(draft, field.member)
    return with_member(draft, field.member, content)


def transport_of(draft: JSONObject) -> Transport:
    """Return the transport implied by the draft's members."""
    url = draft.get("url")
    if not isinstance(url, str):
        return "http" if "url" in draft else "stdio"
    is_ws = is_websocket(url) or draft.get("type") in ("ws", "websocket")
    return "ws" if is_ws else "http"


def field_at(location: str, transport: Transport) -> EntryField | None:
    """Return the field that an error path refers to: `timeouts.connect`, `args.2`, `env.KEY`."""
    matches = (field for field in fields_of(transport) if f"{location}.".startswith(f"{field.member}."))
    return next(matches, None)


def merge_drafts(before: JSONObject, mine: JSONObject, theirs: JSONObject) -> tuple[JSONObject, list[str]]:
    """Merge `theirs` into `mine` (three-way, with the base `before`).

    Also returns the paths that both changed differently; there `mine` wins.
    """
    merged: JSONObject = {}
    conflicts: list[str] = []
    for name in dict.fromkeys((*mine, *theirs)):
        base, own, other = (_member(each, name) for each in (before, mine, theirs))
        if own == base:
            value = other
        elif other in (base, own):
            value = own
        elif own and other and isinstance(own[0], dict) and isinstance(other[0], dict):
            inner_base = base[0] if base and isinstance(base[0], dict) else {}
            inner, paths = merge_drafts(inner_base, own[0], other[0])
            conflicts += [f"{name}.{path}" for path in paths]
            value = (inner,)
        else:
            conflicts.append(name)
            value = own
        if value:
            merged[name] = value[0]
    return merged, conflicts


def _member(draft: JSONObject, name: str) -> tuple[JSON, ...]:
    """Return the member as a 1-tuple, or () if absent: absent is not null."""
    return (draft[name],) if name in draft else ()

"""The settings of a server as form fields, one per member of its JSON object.

A draft is that JSON object itself, so that the form and the JSON text show the same thing, and members
without a field are preserved.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from inspector.base.json.values import JSON, JSONObject
from inspector.config.servers.entries import COLOURS
from inspector.protocol.revisions import REVISIONS

Transport: TypeAlias = Literal["stdio", "http", "ws"]
Kind: TypeAlias = Literal[
    "line", "code", "lines", "words", "switch", "choice", "seconds", "file", "folder", "colour", "named"
]

STDIO: frozenset[Transport] = frozenset({"stdio"})
URL: frozenset[Transport] = frozenset({"http", "ws"})
HTTP: frozenset[Transport] = frozenset({"http"})
ALL: frozenset[Transport] = STDIO | URL


@dataclass(frozen=True, slots=True)
class EntryField:
    """A member of a server entry; a dotted name is a nested member.

    `empty` is the value when the member is absent. `choices` are pairs of value and label. `hint` is the
    placeholder text of an empty field.
    """

    member: str
    page: str
    label: str
    sentence: str
    kind: Kind = "line"
    of: frozenset[Transport] = ALL
    empty: JSON = ""
    choices: tuple[tuple[str, str], ...] = ()
    hint: str = ""


PAGES = ("Server", "Variables", "Headers", "Protocol", "Network", "Starting", "Notes")

_ERAS = (
    ("auto", "Find out"),
    ("legacy-first", "Find out, the handshake first"),
    *((revision.date, revision.date) for revision in reversed(REVISIONS)),
)
_TYPES = (
    ("auto", "Find out"),
    ("http", "Streamable HTTP"),
    ("sse", "HTTP+SSE of 2024"),
)

FIELDS: tuple[EntryField, ...] = (
    EntryField(
        "command",
        "Server",
        "Command",
        "The program to start: a name on the PATH, or a whole path. No shell reads it.",
        "code",
        STDIO,
        hint="npx",
    ),
    EntryField(
        "args",
        "Server",
        "Arguments",
        "One a line, exactly as the program gets it: no quotes are needed.",
        "lines",
        STDIO,
        empty=[],
        hint="-y\n@modelcontextprotocol/server-everything",
    ),
    EntryField(
        "cwd",
        "Server",
        "Working folder",
        "Where the program starts. Empty: where MCP Lens was started.",
        "folder",
        STDIO,
    ),
    EntryField(
        "url",
        "Server",
        "URL",
        "Of the MCP endpoint: http, https, ws or wss.",
        "code",
        URL,
        hint="https://host/mcp",
    ),
    EntryField(
        "type",
        "Server",
        "Transport",
        "What is spoken there. Finding out tries Streamable HTTP first.",
        "choice",
        HTTP,
        empty="auto",
        choices=_TYPES,
    ),
    EntryField(
        "env",
        "Variables",
        "Variables",
        "The program gets these and a few usual ones (PATH, HOME, LANG…); nothing else of ours.",
        "named",
        STDIO,
        empty={},
    ),
    EntryField(
        "headers",
        "Headers",
        "Headers",
        "Sent with every request to this server, and to no other.",
        "named",
        URL,
        empty={},
    ),
    EntryField(
        "era",
        "Protocol",
        "Revision",
        "Which revision is spoken. Finding out asks the server.",
        "choice",
        empty="auto",
        choices=_ERAS,
    ),
    EntryField(
        "timeouts.connect",
        "Protocol",
        "Connect within",
        "How long connecting may take.",
        "seconds",
        empty=None,
    ),
    EntryField(
        "timeouts.request",
        "Protocol",
        "Answer within",
        "How long a request may take, counted from its last progress.",
        "seconds",
        empty=None,
    ),
    EntryField(
        "timeouts.total",
        "Protocol",
        "In all within",
        "How long a request may take, whatever its progress.",
        "seconds",
        empty=None,
    ),
    EntryField(
        "timeouts.keepAlive",
        "Protocol",
        "Ask every",
        "How often the server is asked whether it is there. 0: never.",
        "seconds",
        empty=None,
    ),
    EntryField(
        "roots",
        "Protocol",
        "Roots",
        "Folders that the server may ask for, one a line: paths or URIs.",
        "lines",
        empty=[],
        hint="~/project",
    ),
    EntryField(
        "network.proxy",
        "Network",
        "Proxy",
        "A proxy for this server only.",
        "code",
        URL,
        hint="http://host:port",
    ),
    EntryField(
        "network.environmentProxy",
        "Network",
        "Proxy of the environment",
        "Use HTTP_PROXY and its kin. Otherwise they are ignored.",
        "switch",
        URL,
        empty=False,
    ),
    EntryField(
        "network.caFile",
        "Network",
        "CA file",
        "Authorities that are trusted for this server, as PEM.",
        "file",
        URL,
    ),
    EntryField(
        "network.clientCertificate",
        "Network",
        "Client certificate",
        "For servers that want to see one, as PEM.",
        "file",
        URL,
    ),
    EntryField("network.clientKey", "Network", "Its key", "If it is not in the same file.", "file", URL),
    EntryField(
        "network.verify",
        "Network",
        "Check the certificate",
        "Without it anybody on the way can read and change what is sent.",
        "switch",
        URL,
        empty=True,
    ),
    EntryField(
        "network.http2",
        "Network",
        "HTTP/2",
        "Offer it. Otherwise HTTP/1.1 is spoken.",
        "switch",
        HTTP,
        empty=False,
    ),
    EntryField(
        "enabled",
        "Starting",
        "Enabled",
        "A disabled server is kept, and never connected.",
        "switch",
        empty=True,
    ),
    EntryField(
        "autoConnect",
        "Starting",
        "Connect at the start",
        "As soon as MCP Lens is opened.",
        "switch",
        empty=False,
    ),
    EntryField(
        "autoRestart",
        "Starting",
        "Connect again by itself",
        "When the connection is lost: five tries, each after a longer wait.",
        "switch",
        empty=False,
    ),
    EntryField(
        "watch",
        "Starting",
        "Restart when files change",
        "Patterns below the working folder, one a line. Watched calls are run again then.",
        "lines",
        STDIO,
        empty=[],
        hint="src/**/*.py",
    ),
    EntryField(
        "colour",
        "Notes",
        "Colour",
        "A mark in the list of servers.",
        "colour",
        choices=(("", "None"), *((each, each.capitalize()) for each in COLOURS)),
    ),
    EntryField("notes", "Notes", "Notes", "For you alone: no server sees them.", "words"),
)


def fields_of(transport: Transport) -> tuple[EntryField, ...]:
    return tuple(field for field in FIELDS if transport in field.of)


def pages_of(transport: Transport) -> tuple[str, ...]:
    pages = {field.page for field in fields_of(transport)}
    return tuple(page for page in PAGES if page in pages)


def content_of(draft: JSONObject, field: EntryField) -> JSON:
    """Return the draft's value of a field, or the default."""
    *outer, member = field.member.split(".")
    holder: JSON = draft
    for name in outer:
        holder = holder.get(name) if isinstance(holder, dict) else None
    if field.member == "enabled" and isinstance(draft.get("disabled"), bool):
        return not draft["disabled"]  # the spelling of other clients
    return holder.get(member, field.empty) if isinstance(holder, dict) else field.empty


def with_content(draft: JSONObject, field: EntryField, content: JSON) -> JSONObject:
    """Return the draft with the value set; a default is left out unless it was already present."""
    outer, dot, member = field.member.rpartition(".")
    if field.member == "enabled":
        draft = {name: value for name, value in draft.items() if name != "disabled"}
    if not dot:
        return _set(draft, member, content, field.empty)
    before = draft.get(outer)
    holder = _set(before if isinstance(before, dict) else {}, member, content, field.empty)
    return _set(draft, outer, holder, {})


def _set(holder: JSONObject, member: str, content: JSON, empty: JSON) -> JSONObject:
    if content == empty and member not in ("command", "args", "url"):
        return {name: value for name, value in holder.items() if name != member}
    return {**holder, member: content}


def transport_of(draft: JSONObject) -> Transport:
    """Return the transport implied by the draft's members."""
    url = draft.get("url")
    if not isinstance(url, str):
        return "http" if "url" in draft else "stdio"
    is_socket = url[:6].lower().startswith(("ws://", "wss://")) or draft.get("type") in ("ws", "websocket")
    return "ws" if is_socket else "http"


def field_at(location: str, transport: Transport) -> EntryField | None:
    """Return the field that an error path refers to: `timeouts.connect`, `args.2`, `env.KEY`."""
    locations = [field for field in fields_of(transport) if f"{location}.".startswith(f"{field.member}.")]
    return locations[0] if locations else None


def merge_drafts(before: JSONObject, mine: JSONObject, theirs: JSONObject) -> tuple[JSONObject, list[str]]:
    """Merge `theirs` into `mine` (three-way, base `before`).

    Also returns the paths that both changed differently; there `mine` wins.
    """
    merged: JSONObject = {}
    clashes: list[str] = []
    for name in dict.fromkeys((*mine, *theirs)):
        was, ours, other = (_member(each, name) for each in (before, mine, theirs))
        if ours == was:
            kept = other
        elif other in (was, ours):
            kept = ours
        elif len(ours) == len(other) == 1 and isinstance(ours[0], dict) and isinstance(other[0], dict):
            inner = was[0] if was and isinstance(was[0], dict) else {}
            both, locations = merge_drafts(inner, ours[0], other[0])
            clashes += [f"{name}.{location}" for location in locations]
            kept = (both,)
        else:
            clashes.append(name)
            kept = ours
        if kept:
            merged[name] = kept[0]
    return merged, clashes


def _member(draft: JSONObject, name: str) -> tuple[JSON, ...]:
    """Return the member as a 1-tuple, or () if absent: absent is not null."""
    return (draft[name],) if name in draft else ()

"""Client capabilities: what the user chose to declare, in the form of each protocol version.

A choice made with switches is stored in full, and each version is sent what it defines. Capabilities
written as JSON are declared unchanged in every version: a debugger may declare anything.
"""

from __future__ import annotations

from collections.abc import Container, Iterator
from dataclasses import dataclass, replace

from inspector.base.json.values import JSON, JSONObject, compact, quote_value
from inspector.protocol.revisions import R1, R3, R4, R5, TASKS_EXTENSION, Era, Revision, is_between

# Login extensions, declared to servers of 2026-07-28. The last two are drafts, with the names used by the
# conformance suite and the official SDK.
CLIENT_CREDENTIALS = "io.modelcontextprotocol/oauth-client-credentials"
ENTERPRISE = "io.modelcontextprotocol/enterprise-managed-authorization"
DPOP = "io.modelcontextprotocol/auth/dpop"
WORKLOAD = "io.modelcontextprotocol/auth/wif"
_SINCE_R5 = (TASKS_EXTENSION, CLIENT_CREDENTIALS, ENTERPRISE, DPOP, WORKLOAD)


@dataclass(frozen=True, slots=True)
class CapabilitySwitch:
    """A capability that can be declared. `path` is its location, `on` its value there.

    `description` says what a server may do if it is declared.
    """

    path: tuple[str, ...]
    description: str
    since: Revision = R1
    until: Revision = R5
    on: JSON = None

    @property
    def name(self) -> str:
        return ".".join(self.path)

    @property
    def value(self) -> JSON:
        return {} if self.on is None else self.on


CAPABILITY_SWITCHES = (
    CapabilitySwitch(("sampling",), "The server may send sampling requests."),
    CapabilitySwitch(("sampling", "tools"), "Sampling requests may include tools.", R4),
    CapabilitySwitch(("sampling", "context"), "Sampling requests may ask for context from servers.", R4),
    CapabilitySwitch(("elicitation", "form"), "The server may send form elicitations.", R3),
    CapabilitySwitch(("elicitation", "url"), "The server may send URL elicitations.", R4),
    CapabilitySwitch(("roots",), "The server may request the roots below."),
    CapabilitySwitch(
        ("roots", "listChanged"), "MCP Lens notifies the server when you change them.", R1, R4, True
    ),
    CapabilitySwitch(
        ("tasks", "requests", "sampling", "createMessage"),
        "The server may send sampling requests as tasks.",
        R4,
        R4,
    ),
    CapabilitySwitch(
        ("tasks", "requests", "elicitation", "create"), "The server may send elicitations as tasks.", R4, R4
    ),
    CapabilitySwitch(("tasks", "list"), "The server may list the tasks that it created.", R4, R4),
    CapabilitySwitch(("tasks", "cancel"), "The server may cancel them.", R4, R4),
    CapabilitySwitch(
        ("extensions", TASKS_EXTENSION),
        "Any call may become a task. Calls that you run as a task always declare it.",
        R5,
    ),
    CapabilitySwitch(
        ("extensions", CLIENT_CREDENTIALS), "MCP Lens can log in with client credentials, without a user.", R5
    ),
    CapabilitySwitch(
        ("extensions", ENTERPRISE), "MCP Lens can log in through an enterprise identity provider.", R5
    ),
    CapabilitySwitch(("extensions", WORKLOAD), "MCP Lens can log in with a workload JWT.", R5),
    CapabilitySwitch(("extensions", DPOP), "MCP Lens can bind tokens to a key.", R5),
)


@dataclass(frozen=True, slots=True)
class ClientCapabilities:
    """Declared client capabilities.

    With `is_exact`, `members` is sent unchanged with every protocol version.
    """

    members: JSONObject
    is_exact: bool = False

    def capabilities(self, revision: Revision | None) -> JSONObject:
        """Return the capabilities in the form of a protocol version."""
        return self.members if self.is_exact or revision is None else _at(revision, self.members)

    def has(self, path: tuple[str, ...]) -> bool:
        """True if declared in a form that a server would understand."""
        if path == ("elicitation", "form"):
            return _accepts_forms(self.members.get("elicitation"))
        here: JSON = self.members
        for member in path:
            here = here.get(member) if isinstance(here, dict) else None
        return here is True if path == ("roots", "listChanged") else isinstance(here, dict)

    def with_member(self, path: tuple[str, ...], value: JSON) -> ClientCapabilities:
        """Return a copy with one member set, or removed with None; everything else unchanged.

        Objects left empty are removed too, unless their presence has a meaning.
        """
        members = self.members
        if path[0] == "elicitation" and members.get("elicitation") == {}:
            members = {**members, "elicitation": {"form": {}}}  # the same in newer notation
        return replace(self, members=_put(members, path, value, _MEANINGFUL_IF_EMPTY))

    def restricted_to(self, methods: Container[str]) -> ClientCapabilities:
        """Return a copy that declares only what `methods` can handle."""
        rest = self
        for method, member in _MEMBERS.items():
            if method not in methods:
                rest = rest.with_member((member,), None).with_member(("tasks", "requests", member), None)
        return rest


def exact_capabilities(capabilities: JSONObject) -> ClientCapabilities:
    """Return capabilities as written by the user."""
    return ClientCapabilities(capabilities, is_exact=True)


def capabilities_for_methods(methods: Container[str]) -> ClientCapabilities:
    """Return the minimal declaration for handlers of `methods`."""
    return ClientCapabilities(
        {name: _MINIMAL[name] for method, name in _MEMBERS.items() if method in methods}
    )


# By method. Not the constants of `server_requests.request`: the window needs this before that is imported.
_MEMBERS = {
    "roots/list": "roots",
    "sampling/createMessage": "sampling",
    "elicitation/create": "elicitation",
}
_MINIMAL: JSONObject = {"roots": {}, "sampling": {}, "elicitation": {"form": {}, "url": {}}}

NOTHING = ClientCapabilities({})
# Everything that a user can reply to. Not `sampling.context`, as MCP Lens adds no context. Nor the tasks
# extension, which lets a server turn any call into a task: declared only by calls that request one.
ALL = ClientCapabilities(
    {
        "roots": {"listChanged": True},
        "sampling": {"tools": {}},
        "elicitation": {"form": {}, "url": {}},
        "tasks": {
            "list": {},
            "cancel": {},
            "requests": {"sampling": {"createMessage": {}}, "elicitation": {"create": {}}},
        },
    }
)


def capabilities_text(capabilities: JSONObject) -> str:
    """Return one line: `sampling (tools), roots`; "nothing" if empty."""
    names = []
    for name, value in capabilities.items():
        inner = ", ".join(value) if isinstance(value, dict) else compact(value)
        names.append(f"{name} ({inner})" if inner else name)
    return ", ".join(names) or "nothing"


def notes(capabilities: JSONObject, revision: Revision | None) -> tuple[str, ...]:
    """Return what a server may not understand. All of it can be declared anyway."""
    return tuple(_notes(capabilities, revision))


def _notes(capabilities: JSONObject, revision: Revision | None) -> Iterator[str]:
    for name, value in capabilities.items():
        text = quote_value(name)
        if name not in _KNOWN:
            yield f"{text} is not a capability of the protocol."
        elif not isinstance(value, dict):
            yield f"{text} is not an object; every capability must be one."
        elif revision is not None and (declared := _member_at(revision, name, value)) != value:
            yield f"{revision} {'has no' if declared is None else 'only supports part of'} {text}."
    extensions = capabilities.get("extensions")
    for name in extensions if isinstance(extensions, dict) else ():
        if "/" not in name:
            yield f"The extension {quote_value(name)} has no prefix: names look like “example.com/name”."


_MEANINGFUL_IF_EMPTY = ("sampling", "roots")  # meaningful even if empty
_KNOWN = ("roots", "sampling", "elicitation", "tasks", "experimental", "extensions")


def _at(revision: Revision, members: JSONObject) -> JSONObject:
    declared = {name: _member_at(revision, name, value) for name, value in members.items()}
    return {name: value for name, value in declared.items() if value is not None}


def _member_at(revision: Revision, name: str, value: JSON) -> JSON:
    """Return None for what the protocol version does not have."""
    if not isinstance(value, dict):
        return value
    if name == "roots" and revision.era is Era.STATELESS:
        return _without(value, "listChanged")
    if name == "sampling" and not is_between(revision, R4, R5):
        return _without(value, "tools", "context")
    if name == "elicitation" and not is_between(revision, R4, R5):
        return {} if revision == R3 and _accepts_forms(value) else None
    if name == "tasks":
        return value if revision == R4 else None
    if name == "extensions" and revision.era is Era.SESSION:
        return _without(value, *_SINCE_R5) or None
    return value


def _accepts_forms(elicitation: JSON) -> bool:
    """True if forms are declared; `{}` meant that before other modes existed."""
    return isinstance(elicitation, dict) and (elicitation == {} or isinstance(elicitation.get("form"), dict))


def _without(value: JSONObject, *members: str) -> JSONObject:
    return {name: item for name, item in value.items() if name not in members}


def _put(
    here: JSONObject, path: tuple[str, ...], value: JSON, kept_if_empty: Container[str] = ()
) -> JSONObject:
    """Set or remove a member; the members `kept_if_empty` of `here` stay when they become empty."""
    member, *rest = path
    if not rest:
        return _without(here, member) if value is None else {**here, member: value}
    below = here.get(member)
    if value is None and not isinstance(below, dict):
        return here
    inner = _put(below if isinstance(below, dict) else {}, tuple(rest), value)
    is_left_empty = value is None and inner == {} and member not in kept_if_empty
    return _without(here, member) if is_left_empty else {**here, member: inner}

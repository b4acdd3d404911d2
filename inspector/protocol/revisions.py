"""Protocol versions and their eras, and the table of all methods and notifications.

Versions are ordered by `REVISIONS`, oldest first, never compared as text: "zzz" is not newer than
"2026-07-28" but unknown. Each method has its sender, its versions, and the capability it needs, as a path
into the other side's declaration such as `resources.subscribe`.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, Flag, auto

from inspector.base.json.values import JSON, JSONObject


class Era(Enum):
    """How a connection is set up."""

    SESSION = "session"  # initialize, then a session
    STATELESS = "stateless"  # every request carries what initialize would negotiate


@dataclass(frozen=True, slots=True)
class Revision:
    """A published protocol version, by date."""

    date: str
    era: Era
    has_batches: bool = False

    def __str__(self) -> str:
        return self.date


R1 = Revision("2024-11-05", Era.SESSION)
R2 = Revision("2025-03-26", Era.SESSION, has_batches=True)
R3 = Revision("2025-06-18", Era.SESSION)
R4 = Revision("2025-11-25", Era.SESSION)
R5 = Revision("2026-07-28", Era.STATELESS)

REVISIONS = (R1, R2, R3, R4, R5)
HANDSHAKE_REVISIONS = tuple(revision for revision in REVISIONS if revision.era is Era.SESSION)
NEWEST_HANDSHAKE = HANDSHAKE_REVISIONS[-1]

_BY_DATE = {revision.date: revision for revision in REVISIONS}


def find_revision(date: object) -> Revision | None:
    """Return the version with this date; None if unknown."""
    return _BY_DATE.get(date) if isinstance(date, str) else None


def is_between(revision: Revision, first: Revision, last: Revision) -> bool:
    """True if `revision` is from `first` to `last`, inclusive."""
    return REVISIONS.index(first) <= REVISIONS.index(revision) <= REVISIONS.index(last)


TASKS_EXTENSION = "io.modelcontextprotocol/tasks"


class Side(Flag):
    """Who sends a method."""

    CLIENT = auto()
    SERVER = auto()
    BOTH = CLIENT | SERVER


@dataclass(frozen=True, slots=True)
class Method:
    """A method or notification."""

    name: str
    sender: Side
    since: Revision
    until: Revision
    capability: str = ""


_C, _S, _B = Side.CLIENT, Side.SERVER, Side.BOTH

METHODS = {
    method.name: method
    for method in (
        Method("initialize", _C, R1, R4),
        Method("server/discover", _C, R5, R5),
        Method("ping", _B, R1, R4),
        Method("tools/list", _C, R1, R5, "tools"),
        Method("tools/call", _C, R1, R5, "tools"),
        Method("resources/list", _C, R1, R5, "resources"),
        Method("resources/templates/list", _C, R1, R5, "resources"),
        Method("resources/read", _C, R1, R5, "resources"),
        Method("resources/subscribe", _C, R1, R4, "resources.subscribe"),
        Method("resources/unsubscribe", _C, R1, R4, "resources.subscribe"),
        Method("prompts/list", _C, R1, R5, "prompts"),
        Method("prompts/get", _C, R1, R5, "prompts"),
        Method("completion/complete", _C, R1, R5, "completions"),
        Method("logging/setLevel", _C, R1, R4, "logging"),
        Method("subscriptions/listen", _C, R5, R5),
        Method("tasks/get", _B, R4, R5, "tasks"),
        Method("tasks/result", _B, R4, R4, "tasks"),
        Method("tasks/cancel", _B, R4, R5, "tasks.cancel"),
        Method("tasks/list", _B, R4, R4, "tasks.list"),
        Method("tasks/update", _C, R5, R5, "tasks"),
        Method("sampling/createMessage", _S, R1, R4, "sampling"),
        Method("elicitation/create", _S, R3, R4, "elicitation"),
        Method("roots/list", _S, R1, R4, "roots"),
        Method("notifications/initialized", _C, R1, R4),
        Method("notifications/cancelled", _B, R1, R5),
        Method("notifications/progress", _B, R1, R5),
        Method("notifications/message", _S, R1, R5, "logging"),
        Method("notifications/tools/list_changed", _S, R1, R5, "tools.listChanged"),
        Method("notifications/prompts/list_changed", _S, R1, R5, "prompts.listChanged"),
        Method("notifications/resources/list_changed", _S, R1, R5, "resources.listChanged"),
        Method("notifications/resources/updated", _S, R1, R5, "resources.subscribe"),
        Method("notifications/roots/list_changed", _C, R1, R4, "roots.listChanged"),
        Method("notifications/elicitation/complete", _S, R4, R4, "elicitation.url"),
        Method("notifications/tasks/status", _B, R4, R4, "tasks"),
        Method("notifications/subscriptions/acknowledged", _S, R5, R5),
        Method("notifications/tasks", _S, R5, R5, "tasks"),
    )
}


_PATHS = {name: tuple(method.capability.split(".")) for name, method in METHODS.items()}


def missing_capability(name: str, declared: JSONObject, revision: Revision) -> str:
    """Return the capability that `name` needs but was not declared; "" if it may be called.

    An unknown method needs none: a debugger may send anything.
    """
    method = METHODS.get(name)
    if method is None or not method.capability:
        return ""
    if revision.era is Era.STATELESS and method.capability.startswith("tasks"):
        extensions = declared.get("extensions")
        is_declared = isinstance(extensions, dict) and TASKS_EXTENSION in extensions
        return "" if is_declared else f"extensions.{TASKS_EXTENSION}"
    # 2024-11-05 has no `completions` capability, but servers may still support completion/complete.
    if name == "completion/complete" and not is_between(revision, R2, R5):
        return ""
    return "" if declares(declared, *_PATHS[name]) else method.capability


def declares(capabilities: JSONObject, *path: str) -> bool:
    """True if capabilities have this member; null and false count as absent."""
    here: JSON = capabilities
    for member in path:
        here = here.get(member) if isinstance(here, dict) else None
        if here is None or here is False:
            return False
    return True

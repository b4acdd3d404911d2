"""Tool annotations with their defaults, task support, and warnings about `_meta` keys.

Annotations are claims of an untrusted server. A reserved or malformed `_meta` key is sent as the user
wrote it, except `progressToken`, with a remark about what it may break.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum

from inspector.base.json.values import JSONObject, shorten
from inspector.base.plain_text import one_line
from inspector.protocol.handshake import Agreement
from inspector.protocol.revisions import R4
from inspector.protocol.tasks import tasks_of
from inspector.protocol.types import Tool

# 2025-06-18, General fields: an optional prefix of labels, then a name.
_LABEL = r"[A-Za-z](?:[A-Za-z0-9-]*[A-Za-z0-9])?"
_KEY = re.compile(
    rf"(?P<prefix>{_LABEL}(?:\.{_LABEL})*/)?(?P<name>[A-Za-z0-9](?:[A-Za-z0-9_.-]*[A-Za-z0-9])?)?"
)
_RESERVED = frozenset({"modelcontextprotocol", "mcp"})


def meta_warnings(meta: JSONObject) -> tuple[str, ...]:
    """Return a remark for each key that is reserved by the protocol or malformed.

    Such keys are sent anyway: a debugger must be able to. Only `progressToken` is always ours: progress
    could not be matched otherwise.
    """
    return tuple(note for key in meta if (note := _note(key)))


def is_reserved(key: str) -> bool:
    """True for a reserved prefix, such as `io.modelcontextprotocol/…` and `tools.mcp.com/…`."""
    prefix, slash, _ = key.rpartition("/")
    return bool(slash) and not _RESERVED.isdisjoint(prefix.lower().split("."))


def _note(key: str) -> str:
    shown = f"“{one_line(shorten(key, 60))}”"
    if key == "progressToken":
        return f"{shown} is replaced by MCP Lens so that progress can be matched to its call."
    if is_reserved(key):
        return f"{shown} is reserved for the protocol; it replaces the value MCP Lens would send."
    if not key or _KEY.fullmatch(key) is None:
        return f"{shown} is not a valid _meta key; servers may reject it."
    return ""


@dataclass(frozen=True, slots=True)
class ToolAnnotations:
    """Tool annotations; None is a hint that was not given. The properties apply the defaults.

    2025-03-26, ToolAnnotations: readOnlyHint false, destructiveHint true, idempotentHint false,
    openWorldHint true; the second and third are meaningful only when the first is false.
    """

    read_only: bool | None = None
    destructive: bool | None = None
    idempotent: bool | None = None
    open_world: bool | None = None

    @staticmethod
    def of(tool: Tool) -> ToolAnnotations:
        annotations = tool.source.get("annotations")
        given = annotations if isinstance(annotations, dict) else {}

        def hint(member: str) -> bool | None:
            value = given.get(member)
            return value if isinstance(value, bool) else None

        return ToolAnnotations(
            hint("readOnlyHint"), hint("destructiveHint"), hint("idempotentHint"), hint("openWorldHint")
        )

    @property
    def is_read_only(self) -> bool:
        return self.read_only is True

    @property
    def may_destroy(self) -> bool:
        """True also if not declared."""
        return not self.is_read_only and self.destructive is not False

    @property
    def is_marked_destructive(self) -> bool:
        """True if declared: reason to ask before the first call."""
        return not self.is_read_only and self.destructive is True

    @property
    def is_idempotent(self) -> bool:
        return self.is_read_only or self.idempotent is True

    @property
    def is_open_world(self) -> bool:
        return self.open_world is not False


_SAYS_NOTHING = {"type", "title", "description", "$schema", "$id", "additionalProperties", "required"}


def takes_arguments(tool: Tool) -> bool:
    """True if the schema has anything to fill in, i.e. is more than just an object."""
    return any(reported for name, reported in tool.input_schema.items() if name not in _SAYS_NOTHING)


class TaskChoice(Enum):
    """Whether a tool call can run as a task."""

    NO = "no"
    MAY = "may"
    MUST = "must"  # the tool rejects other calls


def task_choice(tool: Tool, agreement: Agreement | None) -> TaskChoice:
    """Return what the server offers for this tool. In the extension it decides per call."""
    design = tasks_of(agreement.revision) if agreement is not None else None
    if agreement is None or design is None or not design.is_offered(agreement.capabilities):
        return TaskChoice.NO
    if agreement.revision != R4:
        return TaskChoice.MAY
    choices = {"optional": TaskChoice.MAY, "required": TaskChoice.MUST}
    return choices.get(tool.task_support, TaskChoice.NO)

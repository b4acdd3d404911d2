"""Tool annotations with their defaults, and task support.

Annotations are claims of an untrusted server.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from inspector.protocol.handshake import Agreement
from inspector.protocol.revisions import R4
from inspector.protocol.tasks import tasks_of
from inspector.protocol.types import Tool


@dataclass(frozen=True, slots=True)
class ToolAnnotations:
    """Tool annotations; None is a hint that is absent. The properties apply the defaults.

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
        hints = annotations if isinstance(annotations, dict) else {}

        def hint(member: str) -> bool | None:
            value = hints.get(member)
            return value if isinstance(value, bool) else None

        return ToolAnnotations(
            hint("readOnlyHint"), hint("destructiveHint"), hint("idempotentHint"), hint("openWorldHint")
        )

    @property
    def is_read_only(self) -> bool:
        return self.read_only is True

    @property
    def is_marked_destructive(self) -> bool:
        """True if declared: reason to ask before the first call."""
        return not self.is_read_only and self.destructive is True


_TRIVIAL_KEYWORDS = {"type", "title", "description", "$schema", "$id", "additionalProperties", "required"}


def takes_arguments(tool: Tool) -> bool:
    """True if the schema has anything to fill in, i.e. is more than just an object."""
    return any(value for name, value in tool.input_schema.items() if name not in _TRIVIAL_KEYWORDS)


class TaskChoice(Enum):
    """Whether a tool call can run as a task."""

    NO = "no"
    MAY = "may"
    MUST = "must"  # the tool rejects other calls


def task_choice(tool: Tool, agreement: Agreement | None) -> TaskChoice:
    """Return what the server offers for this tool. In the extension it decides per call."""
    design = tasks_of(agreement.revision) if agreement is not None else None
    if agreement is None or design is None or not design.is_supported(agreement.capabilities):
        return TaskChoice.NO
    if agreement.revision != R4:
        return TaskChoice.MAY
    choices = {"optional": TaskChoice.MAY, "required": TaskChoice.MUST}
    return choices.get(tool.task_support, TaskChoice.NO)

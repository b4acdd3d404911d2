"""What a tool says of itself besides its words: its annotations, with the defaults of the specification,
whether it wants arguments, whether it may run as a task. Claims of an untrusted server."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from inspector.protocol.handshake import Agreement
from inspector.protocol.revisions import R4
from inspector.protocol.tasks import tasks_of
from inspector.protocol.types import Tool


@dataclass(frozen=True, slots=True)
class ToolHints:
    """`None` is a hint that was not given; the properties say what holds then.

    2025-03-26, ToolAnnotations: readOnlyHint false, destructiveHint true, idempotentHint false,
    openWorldHint true; the second and third mean something only when the first is false.
    """

    read_only: bool | None = None
    destructive: bool | None = None
    idempotent: bool | None = None
    open_world: bool | None = None

    @staticmethod
    def of(tool: Tool) -> ToolHints:
        annotations = tool.source.get("annotations")
        given = annotations if isinstance(annotations, dict) else {}

        def hint(member: str) -> bool | None:
            value = given.get(member)
            return value if isinstance(value, bool) else None

        return ToolHints(
            hint("readOnlyHint"), hint("destructiveHint"), hint("idempotentHint"), hint("openWorldHint")
        )

    @property
    def is_read_only(self) -> bool:
        return self.read_only is True

    @property
    def may_destroy(self) -> bool:
        """Also a tool that says nothing about it."""
        return not self.is_read_only and self.destructive is not False

    @property
    def says_it_destroys(self) -> bool:
        """It claims so itself: reason enough to ask before the first call."""
        return not self.is_read_only and self.destructive is True

    @property
    def is_idempotent(self) -> bool:
        return self.is_read_only or self.idempotent is True

    @property
    def is_open_world(self) -> bool:
        return self.open_world is not False


_SAYS_NOTHING = {"type", "title", "description", "$schema", "$id", "additionalProperties", "required"}


def takes_arguments(tool: Tool) -> bool:
    """Is there something to fill in? Not where the schema only says that it is an object."""
    return any(said for name, said in tool.input_schema.items() if name not in _SAYS_NOTHING)


class TaskChoice(Enum):
    """May a call of a tool be run as a task?"""

    NO = "no"
    MAY = "may"
    MUST = "must"  # the tool refuses other calls


def task_choice(tool: Tool, agreement: Agreement | None) -> TaskChoice:
    """What this server offers for this tool. In the extension the server decides, call by call."""
    design = tasks_of(agreement.revision) if agreement is not None else None
    if agreement is None or design is None or not design.is_offered(agreement.capabilities):
        return TaskChoice.NO
    if agreement.revision != R4:
        return TaskChoice.MAY
    choices = {"optional": TaskChoice.MAY, "required": TaskChoice.MUST}
    return choices.get(tool.task_support, TaskChoice.NO)

"""What a tool's annotations claim, with the defaults of the specification. Claims of an untrusted server."""

from __future__ import annotations

from dataclasses import dataclass

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

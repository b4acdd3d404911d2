"""Tool annotations with the defaults of the specification."""

from __future__ import annotations

from inspector.base.json.values import JSON, JSONObject
from inspector.engine.calls.tool_calls import ToolAnnotations
from inspector.protocol.types import Tool


def hints(**annotations: JSON) -> ToolAnnotations:
    source: JSONObject = {"name": "x", "annotations": annotations}
    return ToolAnnotations.of(Tool.read(source))


def test_without_annotations_the_spec_defaults_apply() -> None:
    for silent in (ToolAnnotations.of(Tool.read({"name": "x"})), hints(), hints(destructiveHint="yes")):
        assert silent == ToolAnnotations()
        assert not silent.is_read_only
        assert not silent.is_marked_destructive


def test_annotations_are_read() -> None:
    assert hints(destructiveHint=True).is_marked_destructive
    assert hints(destructiveHint=False).destructive is False
    assert hints(idempotentHint=True).idempotent is True
    assert hints(openWorldHint=False).open_world is False


def test_read_only_tool_is_not_destructive_whatever_else_it_says() -> None:
    reading = hints(readOnlyHint=True, destructiveHint=True)
    assert reading.is_read_only
    assert not reading.is_marked_destructive

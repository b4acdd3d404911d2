"""Copying an exchange as curl, Python or JSON, with secrets masked unless requested."""

from __future__ import annotations

from PySide6.QtGui import QGuiApplication

from inspector.engine.calls.tool_calls import ToolCall
from inspector.qt.widgets.inputs.clipboard import secret_clipboard
from tests.qt.lens_driver import Lens, scripted

_TOKEN = "sk-abcdefghijklmnopqrstuvwxyz0123456789"


def _choose(lens: Lens, method: str) -> None:
    lens.settle()
    row = next(each.number for each in lens.records() if each.method == method)
    lens.until(lambda: lens.window.traffic.choose(row))


def _clipboard() -> str:
    return QGuiApplication.clipboard().text()


def test_exchange_is_copied_as_json(lens: Lens) -> None:
    lens.connect(scripted())
    _choose(lens, "tools/list")
    lens.do("traffic.copy_json")
    assert '"tools/list"' in _clipboard()
    assert lens.window.traffic.strips.text("copied") == ""


def test_stdio_message_has_no_curl_command_and_the_reason_is_shown(lens: Lens) -> None:
    lens.connect(scripted())
    _choose(lens, "tools/list")
    lens.do("traffic.copy_curl")
    assert lens.window.notices.isVisibleTo(lens.window)
    assert "HTTP" in lens.window.notices.text()


def test_secrets_are_masked_and_can_be_copied_on_purpose(lens: Lens) -> None:
    lens.connect(scripted())
    lens.call("echo", {"text": _TOKEN})
    _choose(lens, "tools/call")
    lens.do("traffic.copy_json")
    assert _TOKEN not in _clipboard()
    assert "~secret-1" in _clipboard()
    assert "1 secret masked" in lens.window.traffic.strips.text("copied")
    lens.press("Copy with secrets", lens.window.traffic.strips)
    assert _TOKEN in _clipboard()
    assert lens.window.statusBar().currentMessage() == "Copied. The clipboard is cleared in 60 seconds."
    secret_clipboard().timer.timeout.emit()
    assert _clipboard() == ""
    assert lens.window.statusBar().currentMessage() == "The clipboard was cleared."
    assert lens.window.traffic.strips.text("copied") == ""


def test_huge_exchange_is_not_copied(lens: Lens) -> None:
    lens.connect(scripted())
    text = "x" * 700_000
    lens.ask(lambda engine: engine.tool_caller.call("scripted", ToolCall("echo", {"text": text})))
    _choose(lens, "tools/call")
    lens.do("traffic.copy_json")
    assert "Export instead" in lens.window.notices.text()

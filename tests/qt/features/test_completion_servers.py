"""Completion with real servers: suggestions appear while typing and are accepted by key."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest

from inspector.config.servers.entries import Entry, StdioEntry
from inspector.qt.panels.prompts.panel import PromptsPanel
from inspector.qt.widgets.inputs.completion import CompletionLineEdit
from tests.peers.installs import NODE_SERVERS, Unavailable, npm_packages
from tests.qt.features.feature_stage import open_prompts, open_resources, type_into
from tests.qt.features.resources_stage import go_to_template, read
from tests.qt.lens_driver import TIMEOUT, Lens


@pytest.fixture(params=["2025-11-25", "2026-07-28", "http"])
def demo(request: pytest.FixtureRequest) -> Entry:
    """The demo server with and without sessions, and over HTTP, where it is detected as stateless."""
    if request.param == "http":
        entry: Entry = request.getfixturevalue("http_demo")
        return entry
    args = ("-m", "inspector.demo", "everything")
    return StdioEntry(name="demo", command=sys.executable, args=args, era=request.param)


@pytest.fixture(scope="module")
def reference() -> Entry:
    """The reference server (Node.js)."""
    try:
        modules: Path = npm_packages(*NODE_SERVERS)
    except Unavailable as exc:
        pytest.skip(f"the peers are not here: {exc}")
    script = modules / "@modelcontextprotocol/server-everything/dist/index.js"
    return StdioEntry(name="everything", command="node", args=(str(script), "stdio"))


def line_of(lens: Lens, line: CompletionLineEdit | None) -> CompletionLineEdit:
    lens.window.activateWindow()
    assert line is not None
    return line


def suggestions(line: CompletionLineEdit) -> list[str]:
    return [each.text for each in line.suggestions()]


def choose_prompt(panel: PromptsPanel, name: str) -> None:
    row = next(row for row in range(panel.model.rowCount()) if panel.model.index(row).data() == name)
    panel.list.setCurrentIndex(panel.model.index(row))


def test_an_argument_of_a_prompt_is_completed(lens: Lens, demo: Entry) -> None:
    panel = open_prompts(lens, demo)
    choose_prompt(panel, "greet")
    line = line_of(lens, panel.view.form.rows["style"].line)
    type_into(line, "f")
    lens.until(lambda: suggestions(line) == ["formal", "friendly"])
    QTest.keyClick(line, Qt.Key.Key_Down)
    QTest.keyClick(line, Qt.Key.Key_Down)
    QTest.keyClick(line, Qt.Key.Key_Return)
    assert (line.text(), suggestions(line)) == ("friendly", [])
    panel.view.form.rows["name"].set_text("Ada")
    with lens.bot.waitSignal(panel.view.result.shown, timeout=TIMEOUT):
        lens.do("prompt.get")
    assert lens.sent("prompts/get")[-1]["arguments"] == {"name": "Ada", "style": "friendly"}


def test_variables_of_a_template_are_completed_one_after_the_other(lens: Lens, demo: Entry) -> None:
    panel = open_resources(lens, demo)
    go_to_template(panel, 1)
    author = line_of(lens, panel.head.form.rows["author"].line)
    type_into(author, "l")
    lens.until(lambda: suggestions(author) == ["Lem"])
    QTest.keyClick(author, Qt.Key.Key_Tab)
    assert author.text() == "Lem"
    title = line_of(lens, panel.head.form.rows["title"].line)
    title.setFocus()
    QTest.keyClick(title, Qt.Key.Key_Space, Qt.KeyboardModifier.ControlModifier)
    lens.until(lambda: suggestions(title) == ["His Master's Voice", "Solaris", "The Cyberiad"])
    QTest.keyClick(title, Qt.Key.Key_Down)
    QTest.keyClick(title, Qt.Key.Key_Return)
    read(lens, panel)
    assert panel.contents.content.text.shown_text() == f"“{title.text()}” by {author.text()}."


def test_reference_server_completes_an_argument_based_on_another(lens: Lens, reference: Entry) -> None:
    panel = open_prompts(lens, reference)
    choose_prompt(panel, "completable-prompt")
    department = line_of(lens, panel.view.form.rows["department"].line)
    type_into(department, "S")
    lens.until(lambda: suggestions(department) == ["Sales", "Support"])
    QTest.keyClick(department, Qt.Key.Key_Tab)
    assert department.text() == "Sales"
    name = line_of(lens, panel.view.form.rows["name"].line)
    name.setFocus()
    QTest.keyClick(name, Qt.Key.Key_Down)
    lens.until(lambda: suggestions(name) == ["David", "Eve", "Frank"])
    QTest.keyClick(name, Qt.Key.Key_Escape)
    assert (name.text(), suggestions(name)) == ("", [])
    type_into(name, "E")
    lens.until(lambda: suggestions(name) == ["Eve"])
    QTest.keyClick(name, Qt.Key.Key_Tab)
    assert name.text() == "Eve"


def test_the_reference_server_completes_a_variable_of_a_template(lens: Lens, reference: Entry) -> None:
    panel = open_resources(lens, reference)
    go_to_template(panel, 0)
    line = line_of(lens, panel.head.form.rows["resourceId"].line)
    type_into(line, "7")
    lens.until(lambda: _responses(lens))
    lens.settle()
    assert suggestions(line) == [], "the only suggestion equals the input"
    assert b'"7"' in _responses(lens)[0]
    read(lens, panel)
    assert "Resource 7" in panel.contents.content.text.shown_text()


def _responses(lens: Lens) -> list[bytes]:
    return [each.raw for each in lens.records() if b'"completion"' in each.raw and b'"values"' in each.raw]

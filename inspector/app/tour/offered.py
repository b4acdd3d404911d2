"""The stops about what a server offers: forms, resources, prompts, and the palette that reaches all of it."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QLineEdit, QWidget

from inspector.app.tour.guide import Guide, StopFailed
from inspector.engine.views import OutcomeKind
from inspector.qt.forms.fieldrow import FieldRow
from inspector.qt.forms.namedvalues import NamedValues
from inspector.qt.panels.resources.panel import ResourcesPanel
from inspector.qt.window.workspace import Workspace

_COUNTER = "demo://counter"
_MORE = 420


async def four_states(guide: Guide) -> None:
    """Absent, null, empty and default are four different states; what is shown is what is sent."""
    guide.server("everything")
    await guide.tool("args_optional")
    guide.type_argument("name", "Ada")
    _choose_state(guide, "note", "Empty text")
    _choose_state(guide, "nickname", "Null")
    _choose_state(guide, "retries", "Default: 3")
    _choose_state(guide, "language", "Not set")
    outcome = await guide.call(OutcomeKind.RESULT)
    sent = guide.app.bridge.log.record(outcome.row).raw if outcome.row is not None else b""
    for member in (b'"note":""', b'"nickname":null', b'"retries":3'):
        if member not in sent.replace(b" ", b""):
            raise StopFailed(f"{member.decode()} is not in what was sent: {sent.decode(errors='replace')}")
    if b'"language"' in sent:
        raise StopFailed("what is not set was sent")
    before = guide.window.size()
    guide.window.resize(before.width(), before.height() + _MORE)  # so that all four are visible
    await guide.picture("four-states")
    guide.window.resize(before)


async def read_a_resource(guide: Guide) -> None:
    """Read a resource, receive its update notification, read it again and compare."""
    panel = _workspace(guide).resources
    guide.do("view.resources")
    await guide.until("the resources", panel.lists.isVisible)
    _search(panel.lists.search, "counter")
    row = panel.lists.resources.row_of(_COUNTER)
    if row is None:
        raise StopFailed("the counter is not in the list")
    panel.lists.list.setCurrentIndex(panel.lists.resources.index(row))
    await _read(guide, panel)
    if not panel.is_subscribed:
        guide.do("resource.subscribe")
        await guide.until("the subscription", lambda: panel.is_subscribed)
    await guide.tool("bump_counter")
    await guide.call(OutcomeKind.RESULT)
    guide.do("view.resources")
    model = panel.lists.resources
    await guide.until("the mark that it changed", lambda: model.mark_of(_COUNTER) == "changed")
    await guide.picture("resource-changed")
    await _read(guide, panel)
    await guide.press("Changes", panel.reading)
    await guide.until("what is different", lambda: panel.reading.changes.isVisible())
    await guide.picture("resource-changes")
    await guide.press("Content", panel.reading)
    panel.lists.search.clear()
    panel.lists.search.settle()


async def get_a_prompt(guide: Guide) -> None:
    panel = _workspace(guide).prompts
    guide.do("view.prompts")
    await guide.until("the prompts", panel.list.isVisible)
    panel.choose_soon("code_review")
    await guide.until("the prompt's arguments", lambda: len(panel.view.form.rows) > 1)
    _fill(panel.view.form, "Python", "print(sum(range(10)))")
    await guide.until("Get to be possible", guide.window.actions_table["prompt.get"].isEnabled)
    guide.do("prompt.get")
    await guide.until("the messages", lambda: panel.view.result.messages.isVisible())
    await guide.picture("prompt")


async def reach_a_template(guide: Guide) -> None:
    """A few letters in the palette find a template; focus goes to its first variable."""
    guide.do("app.palette")
    popup = guide.window.reaching.popup
    if popup is None:
        raise StopFailed("the palette did not open")
    QTest.keyClicks(popup.line, "book every")
    model = popup.list.model()
    await guide.until("the template in the palette", lambda: model.index(0, 0).data() == "book")
    await guide.picture("palette", popup)
    QTest.keyClick(popup.line, Qt.Key.Key_Return)
    panel = _workspace(guide).resources
    await guide.until("what is to be filled in", lambda: len(panel.head.form.rows) == 2)
    _fill(panel.head.form, "Lem", "Solaris")
    await _read(guide, panel)
    if "by " not in panel.reading.content.text.shown_text():
        raise StopFailed("the book was not read")
    await guide.picture("template")


async def _read(guide: Guide, panel: ResourcesPanel) -> None:
    before = panel.reading.reading
    await guide.until("Read to be possible", guide.window.actions_table["resource.read"].isEnabled)
    guide.do("resource.read")
    await guide.until("what was read", lambda: panel.reading.reading not in (None, before))


def _search(field: QLineEdit, words: str) -> None:
    field.setFocus()
    field.clear()
    QTest.keyClicks(field, words)
    QTest.keyClick(field, Qt.Key.Key_Return)


def _fill(form: NamedValues, *words: str) -> None:
    """Type into each row in turn."""
    for row, text in zip(form.rows.values(), words, strict=True):
        box: QWidget = row
        while (inner := box.focusProxy()) is not None:
            box = inner
        box.setFocus()
        QTest.keyClicks(box, text)


def _choose_state(guide: Guide, name: str, words: str) -> None:
    """Choose a state from the menu beside a field."""
    rows = guide.tools.call_view.arguments.form.findChildren(FieldRow)
    row = next((row for row in rows if row.member.name == name), None)
    if row is None:
        raise StopFailed(f"the form has no field {name!r}")
    menu = row.open_state_menu()
    action = next((action for action in menu.actions() if action.text() == words), None)
    if action is None:
        raise StopFailed(f"{name!r} has no state “{words}”")
    action.trigger()
    menu.close()


def _workspace(guide: Guide) -> Workspace:
    workspace = guide.window.workspace()
    if workspace is None:
        raise StopFailed("no server is in front")
    return workspace

"""Tour stops about server features: forms, resources, prompts and server requests.

Replies to sampling and elicitation requests in both protocol shapes, including a call with several input
rounds (2026-07-28).
"""

from __future__ import annotations

import asyncio

from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QLineEdit, QPlainTextEdit, QWidget

from inspector.app.tour.guide import TIMEOUT, Guide, StopFailed
from inspector.base.json.values import JSONObject
from inspector.engine.views import CallOutcome, OutcomeKind
from inspector.qt.forms.named_values import NamedValues
from inspector.qt.forms.schema.field_row import FieldRow
from inspector.qt.panels.inbox.elicitation import FormSection
from inspector.qt.panels.inbox.panel import InboxPanel
from inspector.qt.panels.inbox.request_view import RequestView
from inspector.qt.panels.inbox.sampling import SamplingSection
from inspector.qt.panels.resources.panel import ResourcesPanel
from inspector.qt.window.tabs import INBOX, PROMPTS, RESOURCES
from inspector.qt.window.workspace import Workspace

_SESSION, _STATELESS = "everything", "everything (http)"
_COUNTER = "demo://counter"
_EXTRA_HEIGHT = 420


async def sampling_request(guide: Guide) -> None:
    """Reply to a sampling request by hand."""
    guide.server(_SESSION)
    outcome = await _begin(guide, "sampling")
    await guide.screenshot("toast")
    await guide.press("Reply", guide.window.inbox.toasts.shown[0])
    view = await _request_view(guide)
    section = view.findChild(SamplingSection)
    if section is None:
        raise StopFailed("the server request is not a sampling request")
    texts = [box for box in section.findChildren(QPlainTextEdit) if box.isVisible() and not box.isReadOnly()]
    if not texts:
        raise StopFailed("the sampling request has no text field for the reply")
    texts[0].setFocus()
    QTest.keyClicks(texts[0], "Blue, like the sea near Lisbon.")
    await guide.screenshot("sampling-request")
    view.submit()
    await _expect_end(outcome, OutcomeKind.RESULT)


async def elicitation_form(guide: Guide) -> None:
    """Reply to a form elicitation that has every kind of field."""
    guide.server(_SESSION)
    outcome = await _begin(guide, "elicit_all_fields")
    await guide.press("Reply", guide.tools)
    view = await _request_view(guide)
    form = _form(view)
    form.editor.set_arguments({**form.editor.arguments(force=True), "text": "Ada", "choice": "red"})
    await guide.screenshot("elicitation-form")
    form.accept()
    await _expect_end(outcome, OutcomeKind.RESULT)


async def several_rounds(guide: Guide) -> None:
    """2026-07-28: a call returns input requests, and the client retries it with the replies."""
    guide.server(_STATELESS)
    outcome = await _begin(guide, "book_trip")
    await guide.press("Reply", guide.tools)
    await _submit_form(guide, 1, {"city": "Lisbon"})
    await _submit_form(guide, 2, {"day": "2026-12-24"})
    await guide.until("the third round", lambda: _round_in_front(guide) == 3)
    await guide.screenshot("rounds")
    await _submit_form(guide, 3, {"seats": 2})
    await _expect_end(outcome, OutcomeKind.RESULT)


async def _begin(guide: Guide, tool: str) -> asyncio.Future[CallOutcome]:
    """Call a tool that sends a server request, and wait until that request arrives."""
    guide.do("view.tools")
    await guide.tool(tool)
    await guide.until("Call to be enabled", guide.window.actions_table["tool.call"].isEnabled)
    outcome = guide.outcome()
    guide.do("tool.call")
    await guide.until(f"a server request from {tool}", lambda: guide.window.inbox.inbox_requests.count)
    return outcome


async def _submit_form(guide: Guide, round: int, content: JSONObject) -> None:
    """Fill in this round's form and accept it."""
    await guide.until(f"round {round}", lambda: _round_in_front(guide) == round)
    form = _form(await _request_view(guide))
    form.editor.set_arguments(content)
    form.accept()


def _form(view: RequestView) -> FormSection:
    form = view.findChild(FormSection)
    if form is None:
        raise StopFailed("the server request has no form")
    return form


def _round_in_front(guide: Guide) -> int:
    view = _in_front(guide)
    return view.inbox_request.round if view is not None else 0


async def _expect_end(outcome: asyncio.Future[CallOutcome], expected: OutcomeKind) -> None:
    got = await asyncio.wait_for(outcome, TIMEOUT)
    if got.kind is not expected:
        raise StopFailed(f"the call ended as “{got.kind.value}”: {got.summary}")


def _panel(guide: Guide) -> InboxPanel:
    workspace = guide.window.workspace()
    return workspace.panel(INBOX) if workspace is not None else guide.window.inbox.overall


async def _request_view(guide: Guide) -> RequestView:
    """Return the request in front once it is waiting for a reply."""
    await guide.until("an open server request", lambda: _in_front(guide) is not None)
    view = _in_front(guide)
    assert view is not None
    return view


def _in_front(guide: Guide) -> RequestView | None:
    view = _panel(guide).request_view
    is_ready = view is not None and view.isVisible() and view.inbox_request.is_open
    return view if is_ready else None


async def four_states(guide: Guide) -> None:
    """Absent, null, empty and default are four different states; what is shown is what is sent."""
    guide.server("everything")
    await guide.tool("args_optional")
    guide.type_argument("name", "Ada")
    _choose_state(guide, "note", "Empty string")
    _choose_state(guide, "nickname", "Null")
    _choose_state(guide, "retries", "Default: 3")
    _choose_state(guide, "language", "Not set")
    outcome = await guide.call(OutcomeKind.RESULT)
    sent = guide.app.bridge.log.record(outcome.row).raw if outcome.row is not None else b""
    for member in (b'"note":""', b'"nickname":null', b'"retries":3'):
        if member not in sent.replace(b" ", b""):
            raise StopFailed(
                f"{member.decode()} is missing from the sent arguments: {sent.decode(errors='replace')}"
            )
    if b'"language"' in sent:
        raise StopFailed("an unset argument was sent")
    before = guide.window.size()
    guide.window.resize(before.width(), before.height() + _EXTRA_HEIGHT)  # so that all four are visible
    await guide.screenshot("four-states")
    guide.window.resize(before)


async def read_a_resource(guide: Guide) -> None:
    """Read a resource, receive its update notification, read it again and compare."""
    panel = _workspace(guide).panel(RESOURCES)
    guide.do("view.resources")
    await guide.until("the resources", panel.lists.isVisible)
    _search(panel.lists.search, "counter")
    row = panel.lists.resources.row_of(_COUNTER)
    if row is None:
        raise StopFailed("the counter resource is not in the list")
    panel.lists.list.setCurrentIndex(panel.lists.resources.index(row))
    await _read(guide, panel)
    if not panel.is_subscribed:
        guide.do("resource.subscribe")
        await guide.until("the subscription", lambda: panel.is_subscribed)
    await guide.tool("bump_counter")
    await guide.call(OutcomeKind.RESULT)
    guide.do("view.resources")
    model = panel.lists.resources
    await guide.until("the “changed” mark", lambda: model.mark_of(_COUNTER) == "changed")
    await guide.screenshot("resource-changed")
    await _read(guide, panel)
    await guide.press("Changes", panel.contents)
    await guide.until("the diff", lambda: panel.contents.changes.isVisible())
    await guide.screenshot("resource-changes")
    await guide.press("Content", panel.contents)
    panel.lists.search.clear()
    panel.lists.search.settle()


async def get_a_prompt(guide: Guide) -> None:
    panel = _workspace(guide).panel(PROMPTS)
    guide.do("view.prompts")
    await guide.until("the prompts", panel.list.isVisible)
    panel.select_when_listed("code_review")
    await guide.until("the prompt's arguments", lambda: len(panel.view.form.rows) > 1)
    _fill(panel.view.form, "Python", "print(sum(range(10)))")
    await guide.until("Get to be enabled", guide.window.actions_table["prompt.get"].isEnabled)
    guide.do("prompt.get")
    await guide.until("the messages", lambda: panel.view.result.messages.isVisible())
    await guide.screenshot("prompt")


async def find_a_template(guide: Guide) -> None:
    """A few letters in the palette find a template; focus goes to its first variable."""
    guide.do("app.palette")
    popup = guide.window.command_palette.popup
    if popup is None:
        raise StopFailed("the palette did not open")
    QTest.keyClicks(popup.line, "book every")
    model = popup.list.model()
    await guide.until("the template in the palette", lambda: model.index(0, 0).data() == "book")
    await guide.screenshot("palette", popup)
    QTest.keyClick(popup.line, Qt.Key.Key_Return)
    panel = _workspace(guide).panel(RESOURCES)
    await guide.until("the template's variables", lambda: len(panel.head.form.rows) == 2)
    _fill(panel.head.form, "Lem", "Solaris")
    await _read(guide, panel)
    if "by " not in panel.contents.content.text.shown_text():
        raise StopFailed("the book was not read")
    await guide.screenshot("template")


async def _read(guide: Guide, panel: ResourcesPanel) -> None:
    before = panel.contents.result
    await guide.until("Read to be enabled", guide.window.actions_table["resource.read"].isEnabled)
    guide.do("resource.read")
    await guide.until("the resource content", lambda: panel.contents.result not in (None, before))


def _search(field: QLineEdit, text: str) -> None:
    field.setFocus()
    field.clear()
    QTest.keyClicks(field, text)
    QTest.keyClick(field, Qt.Key.Key_Return)


def _fill(form: NamedValues, *values: str) -> None:
    """Type into each row in turn."""
    for row, text in zip(form.rows.values(), values, strict=True):
        box: QWidget = row
        while (inner := box.focusProxy()) is not None:
            box = inner
        box.setFocus()
        QTest.keyClicks(box, text)


def _choose_state(guide: Guide, name: str, label: str) -> None:
    """Choose a state from the menu beside a field."""
    rows = guide.tools.call_view.arguments.form.findChildren(FieldRow)
    row = next((row for row in rows if row.member.name == name), None)
    if row is None:
        raise StopFailed(f"the form has no field {name!r}")
    menu = row.open_state_menu()
    action = next((action for action in menu.actions() if action.text() == label), None)
    if action is None:
        raise StopFailed(f"{name!r} has no state “{label}”")
    action.trigger()
    menu.close()


def _workspace(guide: Guide) -> Workspace:
    workspace = guide.window.workspace()
    if workspace is None:
        raise StopFailed("no server is open")
    return workspace

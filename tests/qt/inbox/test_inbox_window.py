"""Server requests in the window: counts, toasts, links to a request and from it."""

from __future__ import annotations

import re
import sys

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QCursor
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QAbstractButton, QApplication

from inspector.base.json.values import JSONObject
from inspector.config.servers.entries import StdioEntry
from inspector.engine.calls.tool_calls import ToolCall
from inspector.engine.inbox.views import InboxRequest
from inspector.qt.models.servers import WaitingRole
from inspector.qt.panels.inbox.panel import InboxPanel
from inspector.qt.widgets.notices.toasts import Toasts
from inspector.qt.window.inbox import InboxController
from inspector.qt.window.tabs import INBOX, TAB_IDS, TOOLS
from tests.qt.lens_driver import Lens, scripted, visible_text

pytestmark = pytest.mark.qt_log_ignore("This plugin does not support")


def requesting_server(name: str) -> StdioEntry:
    names = ("asks", "takes_back", "asks_nonsense", "waits")
    return scripted(name, tools=[{"name": each, "inputSchema": {"type": "object"}} for each in names])


def inboxes(lens: Lens) -> InboxController:
    lens.until(lambda: "inbox" in vars(lens.window))
    return lens.window.inbox


def begin(lens: Lens, tool: str = "asks", arguments: JSONObject | None = None) -> InboxRequest:
    """Call a tool of the current server that sends a request, and wait for the request."""
    before = lens.window.inbox.inbox_requests.count if "inbox" in vars(lens.window) else 0
    assert lens.tools.choose(tool)
    lens.tools.call_view.arguments.set_arguments(arguments or {})
    lens.do("tool.call")
    lens.until(lambda: inboxes(lens).inbox_requests.count == before + 1)
    return inboxes(lens).inbox_requests.of(lens.workspace.view.name)[-1]


def call_directly(lens: Lens, server: str, tool: str) -> None:
    """Call a tool without the tools panel."""
    lens.ask(lambda engine: engine.tool_caller.call(server, ToolCall(tool, {})))
    lens.settle()


def waiting(lens: Lens, server: str) -> int:
    model = lens.window.servers.model
    row = model.row_of(server)
    assert row is not None
    count = model.data(model.index(row, 0), WaitingRole)
    assert isinstance(count, int)
    return count


def tab_text(lens: Lens, server: str) -> str:
    return lens.window.workspaces[server].tabs.tabText(TAB_IDS.index("inbox"))


def accept(lens: Lens, panel: InboxPanel, inbox_request: InboxRequest) -> None:
    assert panel.show_request(inbox_request.id)
    lens.press("Accept", panel)
    lens.until(lambda: inboxes(lens).inbox_requests.inbox_request(inbox_request.id) is None)


def shown_request(panel: InboxPanel) -> int | None:
    return panel.request_view.inbox_request.id if panel.request_view is not None else None


def two_pending(lens: Lens) -> tuple[InboxRequest, InboxRequest]:
    lens.connect(requesting_server("one"))
    lens.window.show_tab("tools")
    first = begin(lens, arguments={"message": "First?"})
    lens.connect(requesting_server("two"))
    lens.window.show_tab("tools")
    return first, begin(lens, arguments={"message": "Second?"})


def strip(lens: Lens) -> str:
    return lens.window.strips.text("inbox")


@pytest.mark.parametrize("is_last_first", [False, True])
def test_two_servers_send_requests_at_once_and_get_replies_in_either_order(
    lens: Lens, is_last_first: bool
) -> None:
    inbox_requests = two_pending(lens)
    assert [waiting(lens, name) for name in ("one", "two")] == [1, 1]
    assert lens.window.servers.inbox.count == 2
    assert [tab_text(lens, name) for name in ("one", "two")] == ["Inbox 1", "Inbox 1"]
    lens.do("app.inbox")
    panel = inboxes(lens).overall
    lens.until(lambda: panel.count == 2)
    order = inbox_requests[::-1] if is_last_first else inbox_requests
    accept(lens, panel, order[0])
    assert (waiting(lens, order[0].server), waiting(lens, order[1].server)) == (0, 1)
    assert tab_text(lens, order[0].server) == "Inbox"
    assert lens.window.servers.inbox.count == 1
    accept(lens, panel, order[1])
    assert lens.window.servers.inbox.count == 0
    for name in ("one", "two"):
        result = lens.window.workspaces[name].panel(TOOLS).call_view.result
        lens.until(lambda: result.badge.text == "result")  # noqa: B023
        assert "in the Inbox" in visible_text(result)


def test_pending_requests_are_exposed_to_screen_readers(lens: Lens) -> None:
    lens.connect(requesting_server("one"))
    begin(lens)
    model = lens.window.servers.model
    spoken = str(model.data(model.index(0, 0), Qt.ItemDataRole.AccessibleTextRole))
    assert spoken.endswith("1 pending request")
    assert lens.window.servers.inbox.accessibleDescription() == "1 pending request"


def test_workspace_created_later_shows_pending_requests(lens: Lens) -> None:
    lens.connect(requesting_server("one"))
    lens.add(requesting_server("two"))
    lens.ask(lambda engine: engine.servers.connector.connect_soon("two"))
    lens.until(lambda: lens.view("two").negotiated is not None)
    call = lens.app.bridge.ask(lambda engine: engine.tool_caller.call("two", ToolCall("asks", {})))
    lens.app.bridge.start("direct call", call)
    lens.until(lambda: waiting(lens, "two") == 1)
    assert "two" not in lens.window.workspaces
    lens.choose("two")
    assert tab_text(lens, "two") == "Inbox 1"


def test_global_inbox_comes_to_the_front_and_the_previous_server_returns(lens: Lens) -> None:
    lens.connect(scripted())
    lens.do("app.inbox")
    servers = lens.window.servers
    assert inboxes(lens).overall.isVisible()
    assert lens.window.workspace() is None
    assert lens.window.windowTitle() == "Inbox — MCP Lens"
    assert not lens.actions["server.disconnect"].isEnabled(), "no server is open"
    assert not servers.list.selectionModel().hasSelection()
    QTest.mouseClick(
        servers.list.viewport(),
        Qt.MouseButton.LeftButton,
        pos=servers.list.visualRect(servers.model.index(0, 0)).center(),
    )
    assert lens.workspace.isVisible()
    assert lens.actions["server.disconnect"].isEnabled()
    QTest.mouseClick(servers.inbox, Qt.MouseButton.LeftButton)
    assert servers.inbox.isChecked()
    lens.do("view.console")
    assert lens.workspace.tabs.currentIndex() == TAB_IDS.index("console")
    assert not servers.inbox.isChecked()
    assert servers.list.selectionModel().hasSelection()


def test_server_activity_does_not_leave_the_global_inbox(lens: Lens) -> None:
    lens.add(scripted("one"))
    lens.add(scripted("two"))
    lens.choose("one")
    lens.do("app.inbox")
    lens.ask(lambda engine: engine.servers.connector.connect_soon("one"))
    lens.until(lambda: lens.view("one").negotiated is not None)
    lens.ask(lambda engine: engine.servers.remove("one"))
    lens.until(lambda: lens.window.servers.model.row_of("one") is None)
    assert inboxes(lens).overall.isVisible()
    lens.ask(lambda engine: engine.servers.remove("two"))
    lens.until(lambda: lens.window.servers.model.row_of("two") is None)
    assert inboxes(lens).overall.isVisible()
    lens.add(scripted("three"))
    lens.choose("three")
    assert lens.workspace.view.name == "three"


def test_shortcuts_open_the_inbox(lens: Lens) -> None:
    lens.connect(scripted())
    lens.window.activateWindow()
    QTest.keyClick(lens.window, Qt.Key.Key_I, Qt.KeyboardModifier.ControlModifier)
    assert lens.window.servers.inbox.isChecked()
    lens.window.servers.list.setFocus()
    QTest.keyClick(lens.window.servers.list, Qt.Key.Key_Return)
    assert lens.workspace.view.name == "scripted"


def test_inbox_is_not_built_before_it_is_needed(lens: Lens) -> None:
    lens.connect(scripted())
    lens.window.show_tab("tools")
    lens.call("echo", {"text": "hi"})
    assert "inboxes" not in vars(lens.window)
    lens.do("view.inbox")
    assert lens.workspace.panel(INBOX).isVisible()
    assert "No server requests" in visible_text(lens.workspace.panel(INBOX))


def test_toast_names_the_server_and_opens_its_request(lens: Lens) -> None:
    first, second = two_pending(lens)
    toasts = inboxes(lens).toasts
    assert [toast.key for toast in toasts.shown] == [first.id, second.id]
    text = visible_text(toasts)
    for expected in ("one", "two", "Form elicitation", "First?", "Second?", "Call to asks"):
        assert expected in text.splitlines()
    lens.press("Reply", toasts.shown[1])
    panel = lens.workspace.panel(INBOX)
    assert panel.isVisible(), "its server is the current one"
    lens.until(lambda: shown_request(panel) == second.id)
    assert [toast.key for toast in toasts.shown] == [first.id]
    lens.press("Reply", toasts.shown[0])
    panel = inboxes(lens).overall
    assert panel.isVisible(), "its server is not the current one"
    lens.until(lambda: shown_request(panel) == first.id)
    assert not toasts.isVisible()


def test_toast_disappears_when_its_request_is_cancelled_and_the_window_says_so(lens: Lens) -> None:
    lens.connect(requesting_server("one"))
    inbox_request = begin(lens)
    assert inboxes(lens).toasts.isVisible()
    call_directly(lens, "one", "takes_back")
    lens.until(lambda: not inboxes(lens).toasts.isVisible())
    assert strip(lens) == "one cancelled its request (form elicitation)."
    assert waiting(lens, "one") == 0
    lens.press("Show in Inbox", lens.window.strips)
    assert strip(lens) == ""
    panel = lens.workspace.panel(INBOX)
    lens.until(lambda: shown_request(panel) == inbox_request.id)
    assert "Too late." in visible_text(panel)


def test_requests_that_ended_unseen_are_counted_and_dismissed(lens: Lens) -> None:
    lens.connect(requesting_server("one"))
    call_directly(lens, "one", "asks_nonsense")
    lens.until(lambda: strip(lens))
    assert strip(lens) == "A request from one was rejected automatically (form elicitation)."
    begin(lens)
    lens.do("server.disconnect")
    lens.until(lambda: "1 more before that" in strip(lens))
    assert strip(lens).startswith("one disconnected, and its request ended (form elicitation).")
    lens.press("Dismiss", lens.window.strips)
    assert strip(lens) == ""


def test_visible_request_needs_no_toast_and_no_banner(lens: Lens) -> None:
    lens.connect(requesting_server("one"))
    lens.window.show_tab("inbox")
    call = lens.app.bridge.ask(lambda engine: engine.tool_caller.call("one", ToolCall("asks", {})))
    lens.app.bridge.start("direct call", call)
    lens.until(lambda: lens.workspace.panel(INBOX).count == 1)
    assert not inboxes(lens).toasts.isVisible()
    call_directly(lens, "one", "takes_back")
    lens.until(lambda: lens.workspace.panel(INBOX).count == 0)
    assert strip(lens) == ""


def test_opening_a_server_inbox_dismisses_only_its_toasts(lens: Lens) -> None:
    first, _ = two_pending(lens)
    lens.do("view.inbox")
    assert [toast.key for toast in inboxes(lens).toasts.shown] == [first.id]
    lens.do("app.inbox")
    assert not inboxes(lens).toasts.isVisible()


def test_toast_sits_in_the_corner_and_does_not_take_the_focus(lens: Lens) -> None:
    lens.connect(requesting_server("one"))
    lens.window.activateWindow()
    lens.window.traffic.search.setFocus()
    before = QApplication.focusWidget()
    begin(lens)
    toasts = inboxes(lens).toasts
    assert QApplication.focusWidget() is before
    lens.window.resize(1100, 720)
    corner = toasts.geometry().bottomRight()
    assert lens.window.rect().contains(corner)
    assert (lens.window.rect().bottomRight() - corner).manhattanLength() < 40


@pytest.fixture
def toasts(lens: Lens) -> Toasts:
    return Toasts(lens.window._theme, lens.window)


def put(toasts: Toasts, *keys: int) -> None:
    for key in keys:
        toasts.put(key, f"server {key}", "Asks", "About", "tool x", action_text="Reply")


def test_toasts_beyond_three_are_counted_and_move_up(lens: Lens, toasts: Toasts) -> None:
    requested: list[bool] = []
    toasts.all_requested.connect(lambda: requested.append(True))
    put(toasts, 1, 2, 3, 4, 5)
    assert [toast.key for toast in toasts.shown] == [1, 2, 3]
    assert "2 more" in visible_text(toasts)
    assert not toasts._toasts[4].timer.isActive(), "its time starts when it is shown"
    lens.press("2 more", toasts)
    assert requested == [True]
    lens.press("Later", toasts.shown[0])
    assert [toast.key for toast in toasts.shown] == [2, 3, 4]
    assert "1 more" in visible_text(toasts)
    toasts.withdraw(5)
    assert "more" not in visible_text(toasts)
    for key in toasts.all_keys():
        toasts.withdraw(key)
    assert not toasts.isVisible()


def test_toast_expires_unless_it_is_about_to_be_used(lens: Lens, toasts: Toasts) -> None:
    put(toasts, 1, 2)
    lens.window.activateWindow()
    QCursor.setPos(lens.window.mapToGlobal(QPoint(5, 5)))
    first, second = toasts.shown
    first.findChildren(QAbstractButton)[0].setFocus(Qt.FocusReason.TabFocusReason)
    second.timer.timeout.emit()
    assert len(toasts.shown) == 2, "the stack would move under the pointer"
    assert second.timer.isActive(), "it is checked again"
    lens.window.traffic.search.setFocus()
    second.timer.timeout.emit()
    assert [toast.key for toast in toasts.shown] == [1]
    QCursor.setPos(first.mapToGlobal(QPoint(20, 20)))
    first.timer.timeout.emit()
    assert toasts.shown
    QCursor.setPos(lens.window.mapToGlobal(QPoint(5, 5)))
    first.timer.timeout.emit()
    assert not toasts.shown


def test_toast_expires_under_a_resting_pointer(
    lens: Lens, toasts: Toasts, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(toasts, 1)
    position = toasts.shown[0].mapToGlobal(QPoint(20, 20))
    for key in toasts.all_keys():
        toasts.withdraw(key)
    QCursor.setPos(position)
    put(toasts, 2)
    toasts.shown[0].timer.timeout.emit()
    assert not toasts.shown, "it appeared where the pointer was"
    put(toasts, 3)
    QCursor.setPos(position + QPoint(3, 3))
    toasts.shown[0].timer.timeout.emit()
    assert toasts.shown
    monkeypatch.setattr("inspector.qt.widgets.notices.toasts._POINTER_IDLE_MS", 0)
    toasts.shown[0].timer.timeout.emit()
    assert not toasts.shown, "the pointer has rested"


def test_toast_shows_server_text_as_plain_text(lens: Lens, toasts: Toasts) -> None:
    toasts.put(1, "<b>bold</b>" * 50, "<img src='x'>", "a\nb", "tool " + "y" * 5_000, action_text="Reply")
    assert "<img src='x'>" in visible_text(toasts)
    assert toasts.width() < 400


def test_pending_call_says_so_and_links_to_its_request(lens: Lens) -> None:
    panel = lens.connect(requesting_server("one"))
    lens.window.show_tab("tools")
    inbox_request = begin(lens)
    strip = panel.call_view.pending_strip
    assert strip.isVisible()
    assert strip.text == "Waiting for you: form elicitation"
    lens.press("Reply", strip)
    inbox = lens.workspace.panel(INBOX)
    lens.until(lambda: shown_request(inbox) == inbox_request.id)
    accept(lens, inbox, inbox_request)
    lens.until(lambda: not panel.call_view.is_running)
    assert not strip.isVisibleTo(panel)
    assert re.search(r", including .* in the Inbox", visible_text(panel.call_view.result))


def test_request_of_another_call_is_not_shown_above_this_one(lens: Lens) -> None:
    panel = lens.connect(requesting_server("one"))
    lens.window.show_tab("tools")
    call = lens.app.bridge.ask(lambda engine: engine.tool_caller.call("one", ToolCall("asks", {})))
    lens.app.bridge.start("direct call", call)
    lens.until(lambda: waiting(lens, "one") == 1)
    assert not panel.call_view.pending_strip.isVisible(), "no call is running"
    assert panel.choose("waits")
    lens.do("tool.call")
    assert not panel.call_view.pending_strip.isVisible()
    lens.do("tool.cancel")
    lens.until(lambda: not panel.call_view.is_running)
    inbox_request = begin(lens)
    lens.press("Reply", panel.call_view.pending_strip)
    lens.until(lambda: shown_request(lens.workspace.panel(INBOX)) == inbox_request.id)
    assert inbox_request.id == 2, "the first one was sent before this call"


def test_traffic_row_links_to_its_request_and_the_request_to_its_call(lens: Lens) -> None:
    lens.connect(requesting_server("one"))
    inbox_request = begin(lens)
    traffic = lens.window.traffic
    lens.settle()
    assert inbox_request.row is not None
    assert inbox_request.operation is not None
    traffic.go_to(inbox_request.operation)
    assert not lens.actions["traffic.inbox"].isEnabled()
    traffic.go_to(inbox_request.row)
    lens.do("traffic.inbox")
    panel = lens.workspace.panel(INBOX)
    lens.until(lambda: shown_request(panel) == inbox_request.id)
    lens.press("Show call", panel)
    assert traffic.current_number() == inbox_request.operation
    accept(lens, panel, inbox_request)
    lens.settle()
    response = lens.app.bridge.log.partner(inbox_request.row)
    assert response is not None
    lens.window.show_tab("tools")
    traffic.go_to(response)
    lens.do("traffic.inbox")
    assert panel.isVisible(), "also from the reply, after the end"
    lens.until(lambda: shown_request(panel) == inbox_request.id)


def demo(name: str, era: str) -> StdioEntry:
    args = ("-P", "-m", "inspector.demo", "everything")
    return StdioEntry(name=name, command=sys.executable, args=args, era=era)


@pytest.mark.parametrize("is_last_first", [False, True])
def test_session_and_stateless_demo_servers_send_requests_at_once_and_each_gets_its_reply(
    lens: Lens, is_last_first: bool
) -> None:
    eras = ("2025-11-25", "2026-07-28")
    inbox_requests = []
    for era in eras:
        lens.connect(demo(era, era))
        lens.window.show_tab("tools")
        inbox_requests.append(begin(lens, "elicit_password"))
        assert lens.tools.call_view.pending_strip.text == "Waiting for you: form elicitation"
    assert [inbox_request.round for inbox_request in inbox_requests] == [0, 1]
    assert len(inboxes(lens).toasts.shown) == 2
    for inbox_request in inbox_requests[::-1] if is_last_first else inbox_requests:
        lens.choose(inbox_request.server)
        lens.press("Reply", lens.tools.call_view.pending_strip)
        panel = lens.workspace.panel(INBOX)
        lens.until(lambda: shown_request(panel) == inbox_request.id)  # noqa: B023
        lens.press("Decline", panel)
        view = lens.tools.call_view
        lens.until(lambda: not view.is_running)  # noqa: B023
        lens.window.show_tab("tools")
        lens.until(lambda: "in the Inbox" in visible_text(view.result))  # noqa: B023
    assert not inboxes(lens).toasts.isVisible()
    assert strip(lens) == ""


def test_server_can_be_removed_while_its_request_is_shown(lens: Lens) -> None:
    first, second = two_pending(lens)
    lens.do("view.inbox")
    lens.until(lambda: shown_request(lens.workspace.panel(INBOX)) == second.id)
    lens.do("server.remove")
    lens.until(lambda: lens.window.servers.model.row_of("two") is None)
    lens.settle()
    lens.do("app.inbox")
    panel = inboxes(lens).overall
    lens.until(lambda: panel.count == 1)
    assert panel.show_request(second.id), "it ended with its server and can be read"
    accept(lens, panel, first)


def test_long_request_text_is_truncated_and_does_not_widen_the_window(lens: Lens) -> None:
    lens.connect(requesting_server("a server with an unusually long name that goes on and on and on " * 3))
    before = lens.window.minimumSizeHint().width()
    call_directly(lens, lens.workspace.view.name, "asks_nonsense")
    lens.until(lambda: strip(lens))
    assert len(strip(lens)) < 110
    assert lens.window.strips.isVisible()
    assert lens.window.minimumSizeHint().width() == before
    lens.press("Dismiss", lens.window.strips)
    assert not lens.window.strips.isVisible()

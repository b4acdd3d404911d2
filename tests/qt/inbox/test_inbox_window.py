"""What servers ask, seen from the window: counts, toasts, the ways to a card and from it."""

from __future__ import annotations

import sys

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QCursor
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QAbstractButton, QApplication

from inspector.base.json.values import JSONObject
from inspector.config.servers.entries import StdioEntry
from inspector.engine.inbox.views import InboxRequest
from inspector.qt.models.servers import WaitingRole
from inspector.qt.panels.inbox.panel import InboxPanel
from inspector.qt.widgets.notices.toasts import Toasts
from inspector.qt.window.inbox import InboxController
from inspector.qt.window.workspace import TABS
from tests.qt.lens_driver import Lens, scripted, words_on

pytestmark = pytest.mark.qt_log_ignore("This plugin does not support")


def asking(name: str) -> StdioEntry:
    names = ("asks", "takes_back", "asks_nonsense", "waits")
    return scripted(name, tools=[{"name": each, "inputSchema": {"type": "object"}} for each in names])


def inboxes(lens: Lens) -> InboxController:
    lens.until(lambda: "inboxes" in vars(lens.window))
    return lens.window.inboxes


def begin(lens: Lens, tool: str = "asks", arguments: JSONObject | None = None) -> InboxRequest:
    """Call a tool of the server in front that asks, and wait for its card."""
    before = lens.window.inboxes.cards.count if "inboxes" in vars(lens.window) else 0
    assert lens.tools.choose(tool)
    lens.tools.call_view.arguments.set_arguments(arguments or {})
    lens.do("tool.call")
    lens.until(lambda: inboxes(lens).cards.count == before + 1)
    return inboxes(lens).cards.of(lens.workspace.view.name)[-1]


def tell(lens: Lens, server: str, tool: str) -> None:
    """Call a tool behind the panel's back."""
    lens.run(lens.app.bridge.call_tool(server, tool, {}, lambda progress: None))
    lens.settle()


def waiting(lens: Lens, server: str) -> int:
    model = lens.window.servers.model
    row = model.row_of(server)
    assert row is not None
    count = model.data(model.index(row), WaitingRole)
    assert isinstance(count, int)
    return count


def tab_text(lens: Lens, server: str) -> str:
    return lens.window.workspaces[server].tabs.tabText(TABS.index("inbox"))


def accept(lens: Lens, panel: InboxPanel, card: InboxRequest) -> None:
    assert panel.show_card(card.id)
    lens.press("Accept", panel)
    lens.until(lambda: inboxes(lens).cards.card(card.id) is None)


def shown_card(panel: InboxPanel) -> int | None:
    return panel.card_view.card.id if panel.card_view is not None else None


def two_ask(lens: Lens) -> tuple[InboxRequest, InboxRequest]:
    lens.connect(asking("one"))
    lens.window.show_tab("tools")
    first = begin(lens, arguments={"message": "First?"})
    lens.connect(asking("two"))
    lens.window.show_tab("tools")
    return first, begin(lens, arguments={"message": "Second?"})


def strip(lens: Lens) -> str:
    return lens.window.strips.text("inbox")


# ------------------------------------------------------------------ counts


@pytest.mark.parametrize("is_last_first", [False, True])
def test_two_servers_ask_at_once_and_are_answered_in_either_order(lens: Lens, is_last_first: bool) -> None:
    cards = two_ask(lens)
    assert [waiting(lens, name) for name in ("one", "two")] == [1, 1]
    assert lens.window.servers.inbox.count == 2
    assert [tab_text(lens, name) for name in ("one", "two")] == ["Inbox 1", "Inbox 1"]
    lens.do("app.inbox")
    panel = inboxes(lens).overall
    lens.until(lambda: panel.count == 2)
    order = cards[::-1] if is_last_first else cards
    accept(lens, panel, order[0])
    assert (waiting(lens, order[0].server), waiting(lens, order[1].server)) == (0, 1)
    assert tab_text(lens, order[0].server) == "Inbox"
    assert lens.window.servers.inbox.count == 1
    accept(lens, panel, order[1])
    assert lens.window.servers.inbox.count == 0
    for name in ("one", "two"):
        result = lens.window.workspaces[name].tools.call_view.result
        lens.until(lambda: result.badge.text == "result")  # noqa: B023
        assert "in the Inbox" in words_on(result)


def test_pending_requests_are_exposed_to_screen_readers(lens: Lens) -> None:
    lens.connect(asking("one"))
    begin(lens)
    model = lens.window.servers.model
    spoken = str(model.data(model.index(0), Qt.ItemDataRole.AccessibleTextRole))
    assert spoken.endswith("1 question in the Inbox")
    assert lens.window.servers.inbox.accessibleDescription() == "1 question waits for you"


def test_workspace_created_later_shows_pending_requests(lens: Lens) -> None:
    lens.connect(asking("one"))
    lens.add(asking("two"))
    lens.app.bridge.connect_server("two")
    lens.until(lambda: lens.view("two").agreement is not None)
    call = lens.app.bridge.call_tool("two", "asks", {}, lambda progress: None)
    lens.app.bridge.start("ask behind", call)
    lens.until(lambda: waiting(lens, "two") == 1)
    assert "two" not in lens.window.workspaces
    lens.choose("two")
    assert tab_text(lens, "two") == "Inbox 1"


# ------------------------------------------------------------------ the way there and back


def test_global_inbox_comes_to_the_front_and_the_previous_server_returns(lens: Lens) -> None:
    lens.connect(scripted())
    lens.do("app.inbox")
    servers = lens.window.servers
    assert inboxes(lens).overall.isVisible()
    assert lens.window.workspace() is None
    assert lens.window.windowTitle() == "Inbox — MCP Lens"
    assert not lens.actions["server.disconnect"].isEnabled(), "no server is in front"
    assert not servers.list.selectionModel().hasSelection()
    QTest.mouseClick(
        servers.list.viewport(),
        Qt.MouseButton.LeftButton,
        pos=servers.list.visualRect(servers.model.index(0)).center(),
    )
    assert lens.workspace.isVisible()
    assert lens.actions["server.disconnect"].isEnabled()
    QTest.mouseClick(servers.inbox, Qt.MouseButton.LeftButton)
    assert servers.inbox.isChecked()
    lens.do("view.console")
    assert lens.workspace.tabs.currentIndex() == TABS.index("console")
    assert not servers.inbox.isChecked()
    assert servers.list.selectionModel().hasSelection()


def test_server_activity_does_not_leave_the_global_inbox(lens: Lens) -> None:
    lens.add(scripted("one"))
    lens.add(scripted("two"))
    lens.choose("one")
    lens.do("app.inbox")
    lens.app.bridge.connect_server("one")
    lens.until(lambda: lens.view("one").agreement is not None)
    lens.run(lens.app.bridge.remove_server("one"))
    lens.until(lambda: lens.window.servers.model.row_of("one") is None)
    assert inboxes(lens).overall.isVisible()
    lens.run(lens.app.bridge.remove_server("two"))
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
    assert lens.workspace.inbox.isVisible()
    assert "Nobody asks anything" in words_on(lens.workspace.inbox)


# ------------------------------------------------------------------ toasts


def test_toast_names_the_server_and_its_request_and_opens_the_card(lens: Lens) -> None:
    first, second = two_ask(lens)
    toasts = inboxes(lens).toasts
    assert [toast.key for toast in toasts.shown] == [first.id, second.id]
    said = words_on(toasts)
    for words in ("one", "two", "Asks you to fill in a form", "First?", "Second?", "tool asks"):
        assert words in said.splitlines()
    lens.press("Answer", toasts.shown[1])
    panel = lens.workspace.inbox
    assert panel.isVisible(), "its server is in front"
    lens.until(lambda: shown_card(panel) == second.id)
    assert [toast.key for toast in toasts.shown] == [first.id]
    lens.press("Answer", toasts.shown[0])
    panel = inboxes(lens).overall
    assert panel.isVisible(), "its server is behind"
    lens.until(lambda: shown_card(panel) == first.id)
    assert not toasts.isVisible()


def test_toast_disappears_when_its_request_is_cancelled_and_the_window_says_so(lens: Lens) -> None:
    lens.connect(asking("one"))
    card = begin(lens)
    assert inboxes(lens).toasts.isVisible()
    tell(lens, "one", "takes_back")
    lens.until(lambda: not inboxes(lens).toasts.isVisible())
    assert strip(lens) == "one took its question back (form)."
    assert waiting(lens, "one") == 0
    lens.press("Show in Inbox", lens.window.strips)
    assert strip(lens) == ""
    panel = lens.workspace.inbox
    lens.until(lambda: shown_card(panel) == card.id)
    assert "Too late." in words_on(panel)


def test_requests_that_ended_unseen_are_counted_and_dismissed(lens: Lens) -> None:
    lens.connect(asking("one"))
    tell(lens, "one", "asks_nonsense")
    lens.until(lambda: strip(lens))
    assert strip(lens) == "A question of one was refused without asking you (form)."
    begin(lens)
    lens.do("server.disconnect")
    lens.until(lambda: "1 more before it" in strip(lens))
    assert strip(lens).startswith("one is gone, and its question with it (form).")
    lens.press("Dismiss", lens.window.strips)
    assert strip(lens) == ""


def test_visible_request_needs_no_toast_and_no_banner(lens: Lens) -> None:
    lens.connect(asking("one"))
    lens.window.show_tab("inbox")
    call = lens.app.bridge.call_tool("one", "asks", {}, lambda progress: None)
    lens.app.bridge.start("ask behind", call)
    lens.until(lambda: lens.workspace.inbox.count == 1)
    assert not inboxes(lens).toasts.isVisible()
    tell(lens, "one", "takes_back")
    lens.until(lambda: lens.workspace.inbox.count == 0)
    assert strip(lens) == ""


def test_opening_a_server_inbox_dismisses_only_its_toasts(lens: Lens) -> None:
    first, _ = two_ask(lens)
    lens.do("view.inbox")
    assert [toast.key for toast in inboxes(lens).toasts.shown] == [first.id]
    lens.do("app.inbox")
    assert not inboxes(lens).toasts.isVisible()


def test_toast_sits_in_the_corner_and_does_not_take_the_focus(lens: Lens) -> None:
    lens.connect(asking("one"))
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


# ------------------------------------------------------------------ toasts by themselves


@pytest.fixture
def toasts(lens: Lens) -> Toasts:
    return Toasts(lens.window._theme, lens.window)


def put(toasts: Toasts, *keys: int) -> None:
    for key in keys:
        toasts.put(key, f"server {key}", "Asks", "About", "tool x", act="Answer")


def test_toasts_beyond_three_are_counted_and_move_up(lens: Lens, toasts: Toasts) -> None:
    asked: list[bool] = []
    toasts.all_requested.connect(lambda: asked.append(True))
    put(toasts, 1, 2, 3, 4, 5)
    assert [toast.key for toast in toasts.shown] == [1, 2, 3]
    assert "2 more" in words_on(toasts)
    assert not toasts._toasts[4].timer.isActive(), "its time begins when it is shown"
    lens.press("2 more", toasts)
    assert asked == [True]
    lens.press("Later", toasts.shown[0])
    assert [toast.key for toast in toasts.shown] == [2, 3, 4]
    assert "1 more" in words_on(toasts)
    toasts.take_back(5)
    assert "more" not in words_on(toasts)
    toasts.take_all_back()
    assert not toasts.isVisible()


def test_toast_expires_unless_it_is_about_to_be_used(lens: Lens, toasts: Toasts) -> None:
    put(toasts, 1, 2)
    lens.window.activateWindow()
    QCursor.setPos(lens.window.mapToGlobal(QPoint(5, 5)))
    first, second = toasts.shown
    first.findChildren(QAbstractButton)[0].setFocus(Qt.FocusReason.TabFocusReason)
    second.timer.timeout.emit()
    assert len(toasts.shown) == 2, "the stack would move under the person's hand"
    assert second.timer.isActive(), "it is looked at again"
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
    place = toasts.shown[0].mapToGlobal(QPoint(20, 20))
    toasts.take_all_back()
    QCursor.setPos(place)
    put(toasts, 2)
    toasts.shown[0].timer.timeout.emit()
    assert not toasts.shown, "nobody pointed at it: it came to where the pointer was"
    put(toasts, 3)
    QCursor.setPos(place + QPoint(3, 3))
    toasts.shown[0].timer.timeout.emit()
    assert toasts.shown
    monkeypatch.setattr("inspector.qt.widgets.notices.toasts._RESTS_MS", 0)
    toasts.shown[0].timer.timeout.emit()
    assert not toasts.shown, "whoever pointed at it has gone"


def test_toast_shows_server_text_as_plain_text(lens: Lens, toasts: Toasts) -> None:
    toasts.put(1, "<b>bold</b>" * 50, "<img src='x'>", "a\nb", "tool " + "y" * 5_000, act="Answer")
    said = words_on(toasts)
    assert "<img src='x'>" in said
    assert toasts.width() < 400


# ------------------------------------------------------------------ links


def test_pending_call_says_so_and_links_to_its_card(lens: Lens) -> None:
    panel = lens.connect(asking("one"))
    lens.window.show_tab("tools")
    card = begin(lens)
    asked = panel.call_view.asked
    assert asked.isVisible()
    assert asked.words == "Waiting for you: form"
    lens.press("Answer", asked)
    inbox = lens.workspace.inbox
    lens.until(lambda: shown_card(inbox) == card.id)
    accept(lens, inbox, card)
    lens.until(lambda: not panel.call_view.is_running)
    assert not asked.isVisibleTo(panel)
    assert ", of these " in words_on(panel.call_view.result)


def test_request_of_another_call_is_not_shown_above_this_one(lens: Lens) -> None:
    panel = lens.connect(asking("one"))
    lens.window.show_tab("tools")
    call = lens.app.bridge.call_tool("one", "asks", {}, lambda progress: None)
    lens.app.bridge.start("ask behind", call)
    lens.until(lambda: waiting(lens, "one") == 1)
    assert not panel.call_view.asked.isVisible(), "nothing runs here"
    assert panel.choose("waits")
    lens.do("tool.call")
    assert not panel.call_view.asked.isVisible()
    lens.do("tool.cancel")
    lens.until(lambda: not panel.call_view.is_running)
    card = begin(lens)
    lens.press("Answer", panel.call_view.asked)
    lens.until(lambda: shown_card(lens.workspace.inbox) == card.id)
    assert card.id == 2, "the first one was asked before this call began"


def test_traffic_row_links_to_its_card_and_the_card_to_its_call(lens: Lens) -> None:
    lens.connect(asking("one"))
    card = begin(lens)
    traffic = lens.window.traffic
    lens.settle()
    assert card.row is not None
    assert card.operation is not None
    traffic.go_to(card.operation)
    assert not lens.actions["traffic.inbox"].isEnabled()
    traffic.go_to(card.row)
    lens.do("traffic.inbox")
    panel = lens.workspace.inbox
    lens.until(lambda: shown_card(panel) == card.id)
    lens.press("Show call", panel)
    assert traffic.current_number() == card.operation
    accept(lens, panel, card)
    lens.settle()
    answer = lens.app.bridge.log.partner(card.row)
    assert answer is not None
    lens.window.show_tab("tools")
    traffic.go_to(answer)
    lens.do("traffic.inbox")
    assert panel.isVisible(), "also from the answer, when it has ended"
    lens.until(lambda: shown_card(panel) == card.id)


def demo(name: str, era: str) -> StdioEntry:
    args = ("-P", "-m", "inspector.demo", "everything")
    return StdioEntry(name=name, command=sys.executable, args=args, era=era)


@pytest.mark.parametrize("is_last_first", [False, True])
def test_session_and_stateless_demo_servers_ask_at_once_and_each_call_gets_its_reply(
    lens: Lens, is_last_first: bool
) -> None:
    eras = ("2025-11-25", "2026-07-28")
    cards = []
    for era in eras:
        lens.connect(demo(era, era))
        lens.window.show_tab("tools")
        cards.append(begin(lens, "elicit_password"))
        assert lens.tools.call_view.asked.words == "Waiting for you: form"
    assert [card.round for card in cards] == [0, 1]
    assert len(inboxes(lens).toasts.shown) == 2
    for card in cards[::-1] if is_last_first else cards:
        lens.choose(card.server)
        lens.press("Answer", lens.tools.call_view.asked)
        panel = lens.workspace.inbox
        lens.until(lambda: shown_card(panel) == card.id)  # noqa: B023
        lens.press("Decline", panel)
        view = lens.tools.call_view
        lens.until(lambda: not view.is_running)  # noqa: B023
        lens.window.show_tab("tools")
        lens.until(lambda: "in the Inbox" in words_on(view.result))  # noqa: B023
    assert not inboxes(lens).toasts.isVisible()
    assert strip(lens) == ""


def test_server_can_be_removed_while_its_card_is_shown(lens: Lens) -> None:
    first, second = two_ask(lens)
    lens.do("view.inbox")
    lens.until(lambda: shown_card(lens.workspace.inbox) == second.id)
    lens.do("server.remove")
    lens.until(lambda: lens.window.servers.model.row_of("two") is None)
    lens.settle()
    lens.do("app.inbox")
    panel = inboxes(lens).overall
    lens.until(lambda: panel.count == 1)
    assert panel.show_card(second.id), "it ended with its server, and can be looked at"
    accept(lens, panel, first)


def test_long_request_text_is_truncated_and_does_not_widen_the_window(lens: Lens) -> None:
    lens.connect(asking("a server with a name that is longer than anybody would give one " * 3))
    before = lens.window.minimumSizeHint().width()
    tell(lens, lens.workspace.view.name, "asks_nonsense")
    lens.until(lambda: strip(lens))
    assert len(strip(lens)) < 110
    assert lens.window.strips.isVisible()
    assert lens.window.minimumSizeHint().width() == before
    lens.press("Dismiss", lens.window.strips)
    assert not lens.window.strips.isVisible()

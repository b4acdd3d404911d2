"""Plain widgets: labels, tool tips, badges, headers, empty states and facts show server text as text."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from PySide6.QtCore import QEvent, QObject, QPoint, QSize, Qt
from PySide6.QtGui import QAction, QGuiApplication, QHelpEvent, QIcon, QImage, QPalette, QTextDocument
from PySide6.QtWidgets import QApplication, QLabel, QMenu, QToolTip, QVBoxLayout, QWidget
from pytestqt.qtbot import QtBot

from inspector.qt.theme import DARK, LIGHT, Scheme, Theme, Tone
from inspector.qt.widgets.inputs.controls import ActionButton, ActionToolButton
from inspector.qt.widgets.layout import PanelHeader
from inspector.qt.widgets.notices.empty_state import EmptyState
from inspector.qt.widgets.text.badge import Badge, DotShape, StateDot, dot_icon
from inspector.qt.widgets.text.key_value_list import MAX_FACTS, Fact, KeyValueList
from inspector.qt.widgets.text.labels import LABEL_LIMIT, Heading, MutedLabel, PlainLabel, plain_tooltip

# The offscreen platform warns about raising windows and grabbing keys.
pytestmark = pytest.mark.qt_log_ignore("This plugin does not support")

ICONS = Path(__file__).parents[3] / "resources" / "icons"
MARKUP = '<img src="/etc/hostname"><b>bold</b> & &amp;'
LONG = "a_rather_long_tool_name_" * 20


@pytest.fixture
def theme(qapp: QApplication) -> Iterator[Theme]:
    theme = Theme(ICONS)
    yield theme
    qapp.styleHints().unsetColorScheme()
    qapp.setStyleSheet("")
    qapp.setPalette(QPalette())


def grab(widget: QWidget) -> QImage:
    return widget.grab().toImage().convertToFormat(QImage.Format.Format_RGB32)


@pytest.mark.parametrize(
    "make",
    [
        lambda theme: PlainLabel(theme, MARKUP),
        lambda theme: PlainLabel(theme, MARKUP, wrap=True, selectable=True),
        lambda theme: Heading(theme, MARKUP),
        lambda theme: MutedLabel(theme, MARKUP),
    ],
    ids=["label", "selectable", "heading", "muted"],
)
def test_label_shows_markup_literally(
    theme: Theme, qtbot: QtBot, make: Callable[[Theme], PlainLabel]
) -> None:
    label = make(theme)
    qtbot.addWidget(label)
    assert label.text() == MARKUP
    assert label.textFormat() is Qt.TextFormat.PlainText


def test_every_label_inside_composed_widgets_is_plain(theme: Theme, qtbot: QtBot) -> None:
    header = PanelHeader(theme, MARKUP)
    header.set_detail(MARKUP)
    empty = EmptyState(theme)
    empty.show_failed(MARKUP, MARKUP, MARKUP)
    facts = KeyValueList(theme, [Fact(MARKUP, MARKUP)])
    for widget in (header, empty, facts):
        qtbot.addWidget(widget)
        labels = [label for label in widget.findChildren(QLabel) if label.text()]
        assert len(labels) >= 2
        assert all(label.textFormat() is Qt.TextFormat.PlainText for label in labels)


@pytest.mark.parametrize("text", [MARKUP, "a < b", "x &lt; y", "plain", "two\nlines  and  spaces"])
def test_tooltip_shows_exactly_the_text(qapp: QApplication, text: str) -> None:
    document = QTextDocument()
    document.setHtml(plain_tooltip(text))
    assert document.toPlainText() == text
    assert plain_tooltip(text).startswith("<span")  # a leading tag, else Qt would show the escapes


def test_empty_tooltip_stays_empty() -> None:
    assert plain_tooltip("") == ""


def test_label_shows_hidden_characters(theme: Theme, qtbot: QtBot) -> None:
    label = PlainLabel(theme, "safe\u202egpj.exe\x1b[31m")
    qtbot.addWidget(label)
    assert "\u202e" not in label.text()
    assert "\x1b" not in label.text()


def test_label_length_is_bounded(theme: Theme, qtbot: QtBot) -> None:
    label = PlainLabel(theme, "x" * 5_000_000)
    qtbot.addWidget(label)
    assert len(label.text()) == LABEL_LIMIT


@pytest.mark.parametrize("selectable", [False, True])
def test_word_too_long_for_a_line_wraps(theme: Theme, qtbot: QtBot, selectable: bool) -> None:
    word = "W" * 200
    label = PlainLabel(theme, f"before {word} after", wrap=True, selectable=selectable)
    qtbot.addWidget(label)
    assert label.minimumSizeHint().width() < 400
    lines = label.fontMetrics().horizontalAdvance(word) / 400
    assert label.heightForWidth(400) >= (lines + 1) * label.fontMetrics().height()
    label.resize(400, label.heightForWidth(400))
    last = label.grab().toImage().copy(0, label.height() - label.fontMetrics().height(), 400, 100)
    assert len({last.pixel(x, y) for x in range(400) for y in range(10)}) > 1, "the last line is painted"
    assert label.text() == f"before {word} after", "the text itself is unchanged"


class EventCounter(QObject):
    """Counts the events of some types that a widget receives."""

    def __init__(self, widget: QWidget, *types: QEvent.Type) -> None:
        super().__init__(widget)
        self.count = 0
        self._types = types
        widget.installEventFilter(self)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        self.count += event.type() in self._types
        return False


@pytest.mark.parametrize("selectable", [False, True])
def test_painting_a_label_requests_no_other_paint_or_layout(
    theme: Theme, qtbot: QtBot, qapp: QApplication, selectable: bool
) -> None:
    window = QWidget()
    qtbot.addWidget(window)
    label = PlainLabel(theme, f"before {LONG} after", wrap=True, selectable=selectable)
    column = QVBoxLayout(window)
    column.addWidget(label)
    column.addStretch(1)
    window.resize(300, 400)
    window.show()
    for _ in range(5):
        qapp.processEvents()
    paints = EventCounter(label, QEvent.Type.Paint)
    layouts = EventCounter(window, QEvent.Type.LayoutRequest)
    label.update()
    for _ in range(5):
        qapp.processEvents()
    assert paints.count == 1
    assert layouts.count == 0


def test_long_word_of_a_selectable_label_wraps_after_every_change(
    theme: Theme, qtbot: QtBot, qapp: QApplication
) -> None:
    label = PlainLabel(theme, wrap=True, selectable=True)
    qtbot.addWidget(label)
    label.resize(300, 400)
    label.show()

    def lines() -> int:
        label.grab()
        document = label.findChild(QTextDocument)
        assert document is not None
        return document.firstBlock().layout().lineCount()

    label.setText(LONG)
    of_300 = lines()
    assert of_300 > 2
    label.resize(150, 400)
    assert lines() > of_300
    font = label.font()
    font.setPointSizeF(font.pointSizeF() * 2)
    label.resize(300, 400)
    label.setFont(font)
    assert lines() > of_300


def test_eliding_label_shrinks_and_offers_the_full_text_as_tooltip(theme: Theme, qtbot: QtBot) -> None:
    label = PlainLabel(theme, LONG + "\nend", elide=Qt.TextElideMode.ElideMiddle)
    qtbot.addWidget(label)
    label.resize(100, 20)
    assert label.minimumSizeHint().width() < 100
    assert label.is_elided()
    QApplication.sendEvent(label, QHelpEvent(QHelpEvent.Type.ToolTip, QPoint(1, 1), QPoint(1, 1)))
    assert QToolTip.text() == plain_tooltip(LONG + " end")
    QToolTip.hideText()


def test_label_with_enough_room_has_no_tooltip(theme: Theme, qtbot: QtBot) -> None:
    label = MutedLabel(theme, "short")
    qtbot.addWidget(label)
    label.resize(400, 20)
    assert not label.is_elided()


@pytest.mark.parametrize("tone", ["text", "muted", "accent", "error", "ok", "warn", "inbound"])
@pytest.mark.parametrize("selectable", [False, True])
def test_label_color_follows_the_theme(
    theme: Theme, qapp: QApplication, qtbot: QtBot, tone: Tone, selectable: bool
) -> None:
    theme.apply(qapp, Scheme.LIGHT)
    label = PlainLabel(theme, "███", tone="ok", selectable=selectable)
    qtbot.addWidget(label)
    label.set_tone(tone)
    label.show()
    for scheme, tokens in ((Scheme.LIGHT, LIGHT), (Scheme.DARK, DARK)):
        theme.apply(qapp, scheme)
        qapp.processEvents()
        image = grab(label)
        middle = [image.pixelColor(x, image.height() // 2).name() for x in range(3, 12)]
        assert getattr(tokens, tone) in middle


def test_badge_is_wide_enough_for_its_text(theme: Theme, qtbot: QtBot) -> None:
    badge = Badge(theme, "read\nonly", "ok")
    qtbot.addWidget(badge)
    assert badge.accessibleName() == badge.text == "read only"
    assert badge.sizeHint().width() > badge.fontMetrics().horizontalAdvance("read")


def test_badge_without_text_is_hidden(theme: Theme, qtbot: QtBot) -> None:
    header = PanelHeader(theme, "Tools")
    qtbot.addWidget(header)
    badge = Badge(theme)
    header.add_widget(badge)
    assert badge.isHidden()
    badge.set_text("2", "warn")
    assert not badge.isHidden()
    badge.set_text("")
    assert badge.isHidden()


def test_building_widgets_opens_no_windows(theme: Theme, qtbot: QtBot) -> None:
    made = [
        Badge(theme, "x"), PanelHeader(theme, "x"), EmptyState(theme), ActionButton(QAction("x", theme)),
        KeyValueList(theme, [Fact("a", "b")]), StateDot(theme, DotShape.RING, "wait", "waiting"),
    ]  # fmt: skip
    for widget in made:
        qtbot.addWidget(widget)
    assert not [widget for widget in QApplication.topLevelWidgets() if widget.isVisible()]


def test_state_icons_differ_by_shape_alone(theme: Theme) -> None:
    images = [dot_icon(theme, shape, "ok").pixmap(16, 16).toImage() for shape in DotShape]
    assert all(one != other for position, one in enumerate(images) for other in images[position + 1 :])


def test_state_icon_keeps_its_color_in_a_selected_row(theme: Theme) -> None:
    icon = dot_icon(theme, DotShape.FILLED, "ok")
    assert icon.pixmap(16, 16).toImage() == icon.pixmap(QSize(16, 16), 1.0, QIcon.Mode.Selected).toImage()


def test_state_icon_has_a_text_description(theme: Theme, qtbot: QtBot) -> None:
    dot = StateDot(theme, DotShape.CROSS, "error", "failed: <b>x</b>")
    qtbot.addWidget(dot)
    assert dot.accessibleName() == "failed: <b>x</b>"
    assert "&lt;b&gt;" in dot.toolTip()


def test_state_icon_is_repainted_when_the_theme_changes(
    theme: Theme, qapp: QApplication, qtbot: QtBot
) -> None:
    theme.apply(qapp, Scheme.LIGHT)
    dot = StateDot(theme, DotShape.FILLED, "ok", "connected")
    qtbot.addWidget(dot)
    before = grab(dot)
    theme.apply(qapp, Scheme.DARK)
    assert grab(dot).pixelColor(8, 8).name() == DARK.ok
    assert before.pixelColor(8, 8).name() == LIGHT.ok


def test_header_button_has_the_action_name_and_triggers_it(theme: Theme, qtbot: QtBot) -> None:
    header = PanelHeader(theme, "Tools")
    qtbot.addWidget(header)
    action = QAction("&Refresh", header)
    button = header.add_action(action)
    assert button.accessibleName() == "Refresh"
    with qtbot.waitSignal(action.triggered):
        button.click()


def test_header_requests_its_full_height_from_a_dock(theme: Theme, qtbot: QtBot) -> None:
    header = PanelHeader(theme, "Tools")
    qtbot.addWidget(header)
    assert header.sizeHint().height() == header.minimumHeight() == header.maximumHeight()


def test_empty_state_buttons_mirror_their_actions(theme: Theme, qtbot: QtBot) -> None:
    empty = EmptyState(theme)
    qtbot.addWidget(empty)
    add, demo = QAction("Add server", empty), QAction("Open the demo", empty)
    demo.setEnabled(False)
    empty.show_empty("server", "No servers yet", "Add one.", [add, demo])
    first, second = empty.findChildren(ActionButton)
    assert (first.property("kind"), second.property("kind")) == ("primary", "plain")
    assert not second.isEnabled()
    demo.setEnabled(True)
    assert second.isEnabled()
    with qtbot.waitSignal(add.triggered):
        first.click()


def test_empty_state_drops_the_buttons_of_the_previous_state(theme: Theme, qtbot: QtBot) -> None:
    empty = EmptyState(theme)
    qtbot.addWidget(empty)
    empty.show_failed("Failed", "No such file.", "Check the path.", [QAction("Retry", empty)])
    old = empty.findChild(ActionButton)
    assert old is not None
    with qtbot.waitSignal(old.destroyed):
        empty.show_loading("Connecting…", "Waiting for initialize.")
    assert empty.findChildren(ActionButton) == []


def test_parts_of_an_empty_state_have_their_place_whichever_is_shown_first(
    theme: Theme, qtbot: QtBot
) -> None:
    empty = EmptyState(theme)
    qtbot.addWidget(empty)
    empty.resize(600, 500)
    empty.show()

    def shown() -> list[str]:
        parts = sorted(empty.findChildren(QWidget), key=lambda part: part.y())
        return [
            part.text() if isinstance(part, QLabel | ActionButton) else type(part).__name__
            for part in parts
            if part.isVisible()
        ]

    def wait_for(*texts: str) -> None:
        qtbot.waitUntil(lambda: shown() == list(texts))

    empty.show_empty("server", "No servers yet", "Add one.")
    wait_for("", "No servers yet", "Add one.")
    empty.show_failed("Failed", "It exited.", "Check the path.\nline 1\nline 2", [QAction("Retry", empty)])
    wait_for("", "Failed", "It exited.", "Check the path.", "line 1\nline 2", "Retry")
    empty.show_loading("Connecting…", "Waiting for initialize.", next_step="Restart it.")
    wait_for("Spinner", "Connecting…", "Waiting for initialize.", "Restart it.")
    empty.show_empty("server", "No servers yet", "Add one.")
    wait_for("", "No servers yet", "Add one.")


def test_fact_rows_are_reused_when_only_values_change(theme: Theme, qtbot: QtBot) -> None:
    facts = KeyValueList(theme, [Fact("state", "connecting"), Fact("pid", "1")])
    qtbot.addWidget(facts)
    before = facts.findChildren(PlainLabel)
    facts.set_facts([Fact("state", "connected"), Fact("pid", "1")])
    assert facts.findChildren(PlainLabel) == before
    assert facts.as_text() == "state: connected\npid: 1"


def test_number_of_facts_is_bounded(theme: Theme, qtbot: QtBot) -> None:
    facts = KeyValueList(theme, [Fact(str(n), "x") for n in range(MAX_FACTS + 50)])
    qtbot.addWidget(facts)
    assert len(facts.facts) == MAX_FACTS


def test_fact_is_copied_verbatim_from_the_context_menu(theme: Theme, qtbot: QtBot) -> None:
    facts = KeyValueList(theme, [Fact("name", "a\u200bb")])
    qtbot.addWidget(facts)
    value = next(label for label in facts.findChildren(PlainLabel) if label.accessibleName() == "name")
    value.customContextMenuRequested.emit(QPoint(1, 1))
    menu = facts.findChild(QMenu)
    assert menu is not None
    next(action for action in menu.actions() if action.text() == "Copy value").trigger()
    assert QGuiApplication.clipboard().text() == "a\u200bb"
    menu.close()


def test_tool_button_follows_its_action_without_connecting_again(qtbot: QtBot, theme: Theme) -> None:
    action = QAction("Copy")
    button = ActionToolButton(action)
    qtbot.addWidget(button)
    connections = action.receivers("2changed()")
    for number in range(10):
        action.setText(f"Copy {number}")
        action.setToolTip(f"Tip {number}")
    action.setCheckable(True)
    action.setChecked(True)
    action.setEnabled(False)
    action.setIcon(theme.icon("copy"))
    assert action.receivers("2changed()") == connections  # QToolButton adds one per change
    assert (button.text(), button.toolTip()) == ("Copy 9", "Tip 9")
    assert button.isChecked()
    assert not button.isEnabled()
    assert not button.icon().isNull()
    action.setEnabled(True)
    button.click()
    assert not action.isChecked()
    assert not button.isChecked()


def test_no_other_tool_button_has_a_default_action() -> None:
    modules = (Path(__file__).parents[3] / "inspector").rglob("*.py")
    found = {path.name for path in modules if "setDefaultAction(" in path.read_text(encoding="utf-8")}
    assert found == {"controls.py"}

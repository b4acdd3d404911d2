"""The message of a row in its forms, alone and beside the other message of its exchange."""

from __future__ import annotations

import base64
import json
import struct
import zlib
from collections.abc import Iterator
from pathlib import Path

import pytest
from PySide6.QtCore import QBuffer, QIODevice, QPoint, Qt
from PySide6.QtGui import QGuiApplication, QImage, QPalette
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QFileDialog, QPushButton, QWidget
from pytestqt.qtbot import QtBot

from inspector.base.errors import UserError
from inspector.base.json.values import JSON
from inspector.qt.panels.traffic.detail.detail_view import DetailView
from inspector.qt.panels.traffic.detail.message_forms import DecodedView
from inspector.qt.panels.traffic.detail.message_view import Form
from inspector.qt.theme import Scheme, Theme
from inspector.qt.widgets.inputs.controls import Segments
from tests.qt.lens_driver import visible_text
from tests.qt.traffic.detail.detail_stage import Stage

pytestmark = pytest.mark.qt_log_ignore("This plugin does not support")

ICONS = Path(__file__).parents[4] / "resources" / "icons"
JWT = "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.SflKxwRJSMeKKF2QT4fwpMeJf36POk6yJV"


@pytest.fixture
def theme(qapp: QApplication) -> Iterator[Theme]:
    theme = Theme(ICONS)
    theme.prepare(qapp, Scheme.LIGHT)
    yield theme
    qapp.styleHints().unsetColorScheme()
    qapp.setPalette(QPalette())


@pytest.fixture
def stage() -> Stage:
    return Stage(is_live=True)


@pytest.fixture
def view(stage: Stage, theme: Theme, qtbot: QtBot) -> DetailView:
    view = DetailView(stage.source, stage.bridge.as_bridge(), theme)
    qtbot.addWidget(view)
    view.resize(640, 480)
    view.show()
    return view


def forms(view: DetailView) -> list[str]:
    """Return the visible labels of the form switch."""
    return [line for line in visible_text(view.message).splitlines() if line.upper() in Form.__members__]


def png() -> bytes:
    buffer = QBuffer()
    buffer.open(QIODevice.OpenModeFlag.WriteOnly)
    image = QImage(4, 3, QImage.Format.Format_RGB32)
    image.fill(0xFF336699)
    image.save(buffer, "PNG")  # type: ignore[call-overload]
    return bytes(buffer.data().data())


def png_claiming(width: int, height: int) -> bytes:
    """Return a small image whose header declares another size."""
    raw = png()
    head = b"IHDR" + struct.pack(">II", width, height) + raw[24:29]
    return raw[:12] + head + struct.pack(">I", zlib.crc32(head)) + raw[33:]


def test_view_is_kept_from_row_to_row_and_falls_back_to_text(view: DetailView, stage: Stage) -> None:
    first, second = stage.request("ping"), stage.request("ping", id=2)
    stray = stage.received(b"*** hello ***")
    view.message.set_form(Form.TREE)
    view.show_row(first)
    assert view.message.own.form() is Form.TREE
    view.show_row(stray)
    assert view.message.own.form() is Form.TEXT
    assert forms(view) == ["Text", "Bytes"]
    view.show_row(second)
    assert view.message.own.form() is Form.TREE
    assert forms(view) == ["Tree", "Pretty", "Text", "Bytes"]


def test_json_that_is_not_a_message_is_offered_as_json(view: DetailView, stage: Stage) -> None:
    view.show_row(stage.received(b'[{"a":1}]'))
    assert "Tree" in forms(view)
    view.show_row(stage.received(b'{"a":'))
    assert forms(view) == ["Text", "Bytes"]
    assert view.message.shown_text() == '{"a":'


def test_big_message_is_readable_immediately_and_to_its_end(view: DetailView, stage: Stage) -> None:
    row = stage.result({"content": [{"type": "text", "text": "x" * 3_000_000 + " the end"}]})
    view.show_row(row)
    assert view.message.shown_text().startswith('{\n  "jsonrpc": "2.0",')
    pretty = view.message.own.text_view(Form.PRETTY)
    for _ in range(20):
        pretty.show_more()
    assert pretty.shown_text().rstrip().endswith("}")
    assert "the end" in pretty.shown_text()
    view.text.show_end()
    assert view.text.shown_text().endswith('the end"}]}}')


def test_message_is_saved_in_full_at_the_chosen_path(
    view: DetailView, stage: Stage, qtbot: QtBot, tmp_path: Path
) -> None:
    row = stage.result({"text": "x" * 3_000_000})
    view.show_row(row)
    view.message.save_action.trigger()
    dialog = view.findChild(QFileDialog)
    assert dialog is not None
    dialog.fileSelected.emit(str(tmp_path / "saved.json"))
    dialog.close()
    qtbot.waitUntil(lambda: "Saved" in visible_text(view.message))
    assert (tmp_path / "saved.json").read_bytes() == stage.log.raw(row)


def test_arrow_keys_skip_views_the_row_does_not_have(view: DetailView, stage: Stage) -> None:
    view.show_row(stage.request("ping"))
    view.message.set_form(Form.BYTES)
    switch = view.findChild(Segments)
    assert switch is not None
    QTest.keyClick(switch, Qt.Key.Key_Right)
    assert view.message.own.form() is Form.TREE
    QTest.keyClick(switch, Qt.Key.Key_Left)
    assert view.message.own.form() is Form.BYTES


def choose(view: DetailView, *positions: int) -> None:
    """Make a row of the tree current, by its positions from the root."""
    tree = view.message.own.tree
    index = tree.model.index(positions[0], 0)
    for position in positions[1:]:
        index = tree.model.index(position, 0, index)
    tree.view.setCurrentIndex(index)


@pytest.mark.parametrize(
    ("positions", "path", "value"),
    [
        ((2,), "method", "tools/call"),
        ((1,), "id", 1),
        ((3, 1, 0), "args.path", "/etc"),
        ((3, 1, 1, 0), 'args."a b"[0]', 1.5),
        ((3, 1, 2), "args.on", False),
        ((3, 0), "params.name", "read"),
    ],
)
def test_value_in_the_tree_becomes_a_filter(
    view: DetailView, stage: Stage, qtbot: QtBot, positions: tuple[int, ...], path: str, value: JSON
) -> None:
    arguments: JSON = {"path": "/etc", "a b": [1.5], "on": False}
    view.show_row(stage.request("tools/call", {"name": "read", "arguments": arguments}))
    choose(view, *positions)
    with qtbot.waitSignal(view.filter_requested) as requested:
        view.message.own.tree.filter_on_value()
    assert requested.args == [path, value, False]
    with qtbot.waitSignal(view.filter_requested) as requested:
        view.message.own.tree.exclude_value()
    assert requested.args == [path, value, True]
    view.message.own.tree.copy_path()
    assert QGuiApplication.clipboard().text() == path


def test_row_menu_offers_the_available_actions(view: DetailView, stage: Stage) -> None:
    view.show_row(stage.request("tools/call", {"name": "read"}))
    choose(view, 3)
    labels = [action.text() for action in view.message.own.tree.menu().actions()]
    assert "Filter by this value" not in labels
    choose(view, 2)
    labels = [action.text() for action in view.message.own.tree.menu().actions()]
    assert {"Copy value", "Copy path", "Filter by this value", "Exclude this value"} <= set(labels)


def test_scalars_are_copied_as_values_and_containers_as_json(view: DetailView, stage: Stage) -> None:
    view.show_row(stage.received(b'{"jsonrpc":"2.0","method":"a\\nb","params":{"n":1.10,"x":[1e400]}}'))
    choose(view, 1)
    view.message.own.tree.copy_value()
    assert QGuiApplication.clipboard().text() == "a\nb"
    choose(view, 2)
    view.message.own.tree.copy_value()
    assert "".join(QGuiApplication.clipboard().text().split()) == '{"n":1.10,"x":[1e400]}'


def test_long_text_is_shown_in_full_below_the_tree(view: DetailView, stage: Stage) -> None:
    text = "first line\nsecond " + "x" * 500
    view.show_row(stage.request(text))
    view.message.set_form(Form.TREE)
    choose(view, 2)
    tree = view.message.own.tree
    shown = tree.view.currentIndex().data()
    assert "518 characters" in shown
    assert "\n" not in shown
    tree.view.activated.emit(tree.view.currentIndex())
    assert tree.full_text() == text
    tree.hide_full_value()
    assert tree.full_text() == ""
    tree.show_full_value()
    view.show_row(stage.request("ping", id=2))
    assert view.message.own.tree.full_text() == ""


def test_tree_of_a_big_message_is_built_in_the_background(
    view: DetailView, stage: Stage, qtbot: QtBot
) -> None:
    stage.bridge.holds = True
    row = stage.result({"content": [{"type": "text", "text": "x" * 200_000}]})
    view.message.set_form(Form.TREE)
    view.show_row(row)
    assert "Building the tree" in visible_text(view.message)
    stage.bridge.release()
    assert "Building the tree" not in visible_text(view.message)
    assert view.message.own.tree.model.rowCount() == 3


def test_work_for_a_deselected_row_is_cancelled(view: DetailView, stage: Stage) -> None:
    stage.bridge.holds = True
    big, small = stage.result({"text": "x" * 200_000}), stage.request("ping", id=5)
    view.message.set_form(Form.TREE)
    view.show_row(big)
    assert stage.bridge.held
    view.show_row(small)
    assert not stage.bridge.held


def test_tree_that_cannot_be_built_says_why_and_links_to_the_text(
    view: DetailView, stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fail(*_: object) -> None:
        raise UserError("Reading the message took more than 60 s.")

    monkeypatch.setattr(stage.bridge, "ask", fail)
    view.message.set_form(Form.TREE)
    view.show_row(stage.result({"text": "x" * 200_000}))
    assert "more than 60 s" in visible_text(view.message)
    view.message.own.form_requested.emit(Form.PRETTY)
    assert view.message.own.form() is Form.PRETTY


def decoded(view: DetailView) -> DecodedView:
    found = view.message.findChild(DecodedView)
    assert found is not None
    return found


def test_decoded_view_is_not_offered_when_there_is_nothing_to_decode(view: DetailView, stage: Stage) -> None:
    view.show_row(stage.request("ping"))
    assert "Decoded" not in forms(view)


def test_json_in_text_and_images_are_decoded(view: DetailView, stage: Stage) -> None:
    content: JSON = [
        {"type": "text", "text": json.dumps({"number": 4711})},
        {"type": "image", "mimeType": "image/png", "data": base64.b64encode(png()).decode()},
        {"type": "image", "mimeType": "image/png", "data": base64.b64encode(png()[:40]).decode()},
        {
            "type": "image",
            "mimeType": "image/png",
            "data": base64.b64encode(png_claiming(90_000, 90_000)).decode(),
        },
    ]
    view.show_row(stage.result({"content": content}))
    view.message.set_form(Form.DECODED)
    found = decoded(view)
    assert '"number": 4711' in found.text.shown_text()
    found.list.setCurrentRow(1)
    assert "4 × 3 pixels" in visible_text(found)
    found.list.setCurrentRow(2)
    assert "damaged" in visible_text(found)
    found.list.setCurrentRow(3)
    assert "too large to show" in visible_text(found)


def test_image_with_a_wrong_declared_type_is_not_decoded_as_that_type(view: DetailView, stage: Stage) -> None:
    svg = base64.b64encode(b"<svg xmlns='http://www.w3.org/2000/svg'><image href='/etc/x'/></svg>").decode()
    view.show_row(stage.result({"content": [{"type": "image", "mimeType": "image/png", "data": svg}]}))
    view.message.set_form(Form.DECODED)
    assert "<svg" in decoded(view).text.shown_text()
    assert not decoded(view).image.isVisibleTo(view)


def test_token_is_hidden_until_requested(view: DetailView, stage: Stage) -> None:
    view.show_row(stage.result({"token": JWT}))
    view.message.set_form(Form.DECODED)
    found = decoded(view)
    assert "Hidden" in visible_text(found)
    assert "1234567890" not in found.text.shown_text()
    found._reveal.trigger()
    assert "1234567890" in found.text.shown_text()
    view.show_row(stage.result({"token": JWT}, id=2))
    assert "Hidden" in visible_text(decoded(view))


def test_decoded_view_appears_later_for_a_big_message(view: DetailView, stage: Stage) -> None:
    stage.bridge.holds = True
    view.show_row(stage.result({"text": json.dumps({"a": "x" * 50_000})}))
    assert "Decoded" not in forms(view)
    stage.bridge.release()
    assert "Decoded" in forms(view)


def other_text(view: DetailView) -> str | None:
    """Return the text of the other side; None while it is not shown."""
    other = view.message.other
    return None if other is None else other.shown_text()


def left_edge(view: DetailView, message: QWidget) -> int:
    return message.mapTo(view, QPoint()).x()


def test_request_and_response_are_side_by_side(view: DetailView, stage: Stage, qtbot: QtBot) -> None:
    request = stage.request("tools/call", {"name": "echo"})
    response = stage.after(0.1).result({"content": ["hello"]})
    view.show_row(response)
    assert other_text(view) is None
    view.message.both_action.trigger()
    assert "tools/call" in (other_text(view) or "")
    assert view.message.other is not None
    assert left_edge(view, view.message.own) > left_edge(view, view.message.other)
    button = next(each for each in view.findChildren(QPushButton) if each.text() == f"#{request + 1}")
    with qtbot.waitSignal(view.row_requested) as requested:
        button.click()
    assert requested.args == [request]
    view.show_row(request)
    assert "hello" in (other_text(view) or "")


def test_wide_view_shows_both_by_default_until_changed(view: DetailView, stage: Stage) -> None:
    request = stage.request("ping")
    stage.result({})
    view.resize(1200, 480)
    view.show_row(request)
    assert other_text(view) is not None
    view.message.both_action.trigger()
    assert other_text(view) is None
    view.show_row(None)
    view.show_row(request)
    assert other_text(view) is None


def test_pending_request_shows_its_age_and_then_its_response(view: DetailView, stage: Stage) -> None:
    row = stage.request("tools/call", {"name": "slow"})
    view.show_row(row)
    view.message.both_action.trigger()
    assert "No response yet" in visible_text(view.message)
    stage.after(1).result({"content": ["at last"]})
    view.refresh()
    assert "at last" in (other_text(view) or "")


def test_row_without_an_exchange_is_shown_alone(view: DetailView, stage: Stage) -> None:
    view.message.both_action.trigger()
    view.show_row(stage.received({"jsonrpc": "2.0", "method": "notifications/message", "params": {}}))
    assert other_text(view) is None
    assert not view.message.both_action.isVisible()


def test_row_of_a_closed_capture_is_never_pending(theme: Theme, qtbot: QtBot) -> None:
    stage = Stage()
    view = DetailView(stage.source, stage.bridge.as_bridge(), theme)
    qtbot.addWidget(view)
    view.message.both_action.trigger()
    view.show_row(stage.request("ping"))
    assert "capture ended" in visible_text(view)

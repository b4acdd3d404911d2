"""Captures in the window: open, save, export, manage, interrupted ones, paused recording."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest
from PySide6.QtCore import QMimeData, QPoint, QPointF, Qt, QUrl
from PySide6.QtGui import QDragEnterEvent, QDropEvent
from PySide6.QtWidgets import QApplication, QFileDialog

from inspector.engine.exports import ExportFormat
from inspector.qt.dialogs.traffic.captures import CapturesDialog, UnsavedRowsDialog
from inspector.qt.dialogs.traffic.export import ExportDialog
from inspector.qt.panels.traffic.panel import TrafficPanel
from inspector.traffic.captures.recording import Recording, RecordingState
from inspector.traffic.log import TrafficLog
from inspector.traffic.masking.masker import SecretScan
from inspector.traffic.records import Direction, RecordKind, RowNote
from tests.helpers.ownedcapture import open_own_capture
from tests.qt.lens_driver import Lens, scripted, visible_text

SECRET = "Bearer abcdefghijklmnop0123456789"


def make_capture(path: Path, count: int = 3, text: str = "hello") -> Path:
    log = TrafficLog()
    server = log.add_server("elsewhere")
    for number in range(count):
        message = {"jsonrpc": "2.0", "method": "notifications/message", "params": {"data": text, "n": number}}
        raw = json.dumps(message).encode()
        log.append(
            server, RecordKind.NOTIFICATION, Direction.IN, number, number, raw, "notifications/message"
        )
    log.publish()
    recording = Recording(log, path)
    recording.close()
    return path


def make_interrupted(path: Path) -> Path:
    """Create a capture as a killed process leaves it: not closed, its recorder gone."""
    make_capture(path)
    with sqlite3.connect(path) as connection:
        connection.execute("DELETE FROM about WHERE key = 'closed_at'")
        connection.execute("UPDATE about SET value = '4194000 1.0' WHERE key = 'recorder'")
    connection.close()
    return path


def opened(lens: Lens, path: Path) -> TrafficPanel:
    count = len(lens.window.captures.all)
    lens.window.captures.open([path])
    lens.until(lambda: len(lens.window.captures.all) == count + 1)
    return lens.window.captures.all[-1].panel


def test_capture_is_opened_beside_the_live_traffic_without_any_server(lens: Lens) -> None:
    panel = opened(lens, make_capture(lens.folder / "one.mcpcap", 5))
    assert panel.model.rowCount() == 5
    assert lens.window.traffic_in_front() is panel
    assert lens.window.traffic.model.rowCount() == 0


def test_several_captures_can_be_open_at_once(lens: Lens) -> None:
    first = opened(lens, make_capture(lens.folder / "one.mcpcap", 1))
    second = opened(lens, make_capture(lens.folder / "two.mcpcap", 2))
    lens.do("capture.side_by_side")
    docks = [each.dock for each in lens.window.captures.all]
    assert [lens.window.tabifiedDockWidgets(dock) for dock in docks] == [[], []]
    lens.until(lambda: len({first.mapToGlobal(QPoint()).y(), second.mapToGlobal(QPoint()).y()}) == 1)
    assert first.mapToGlobal(QPoint()).x() < second.mapToGlobal(QPoint()).x()
    lens.do("capture.side_by_side")
    assert len(lens.window.tabifiedDockWidgets(lens.window.captures.all[0].dock)) == 2


def test_commands_apply_to_the_capture_in_front_and_not_to_the_live_traffic(lens: Lens) -> None:
    panel = opened(lens, make_capture(lens.folder / "one.mcpcap", 5))
    lens.do("traffic.clear")
    assert panel.model.rowCount() == 0
    assert not lens.window.traffic.model.is_cleared


def test_closed_capture_leaves_the_window_and_keeps_its_file(lens: Lens) -> None:
    path = make_capture(lens.folder / "one.mcpcap")
    opened(lens, path)
    lens.do("capture.close")
    assert lens.window.captures.all == []
    assert lens.window.traffic_in_front() is lens.window.traffic
    assert not lens.actions["capture.close"].isEnabled()
    assert path.exists()


def test_file_that_is_not_a_capture_is_named_in_the_error(lens: Lens) -> None:
    path = lens.folder / "image.mcpcap"
    path.write_bytes(b"\x89PNG" * 100)
    lens.window.captures.open([path])
    lens.until(lambda: "image.mcpcap" in lens.window.notices.text())
    assert lens.window.captures.all == []


def test_dropped_captures_are_opened_and_other_files_rejected(lens: Lens) -> None:
    path = make_capture(lens.folder / "dropped.mcpcap")
    data = QMimeData()
    for name, is_accepted in (("notes.txt", False), (path.name, True)):
        data = QMimeData()
        data.setUrls([QUrl.fromLocalFile(str(lens.folder / name))])
        enter = QDragEnterEvent(
            QPointF(9, 9).toPoint(),
            Qt.DropAction.CopyAction,
            data,
            Qt.MouseButton.LeftButton,
            Qt.KeyboardModifier.NoModifier,
        )
        enter.setAccepted(False)
        QApplication.sendEvent(lens.window, enter)
        assert enter.isAccepted() is is_accepted
    drop = QDropEvent(
        QPointF(9, 9),
        Qt.DropAction.CopyAction,
        data,
        Qt.MouseButton.LeftButton,
        Qt.KeyboardModifier.NoModifier,
    )
    QApplication.sendEvent(lens.window, drop)
    lens.until(lambda: len(lens.window.captures.all) == 1)


def test_saved_live_traffic_can_be_reopened_as_a_capture(lens: Lens) -> None:
    lens.ask(lambda engine: engine.captures.begin())
    lens.connect(scripted())
    copy = lens.folder / "copy.mcpcap"
    lens.window.captures.save(None, copy)
    lens.until(copy.exists)
    panel = opened(lens, copy)
    log, live = panel.source.log, lens.app.bridge.log
    assert 0 < len(log) <= len(live)
    assert [log.raw(row) for row in range(len(log))] == [live.raw(row) for row in range(len(log))]


def test_mark_in_an_opened_capture_is_saved_to_its_file(lens: Lens) -> None:
    path = make_capture(lens.folder / "one.mcpcap")
    panel = opened(lens, path)
    panel.source.log.set_note(1, RowNote(is_marked=True, comment="here"))
    lens.until(lambda: not panel.source.log.notes_changed)
    lens.do("capture.close")
    again = opened(lens, path)
    assert again.source.log.note(1) == RowNote(is_marked=True, comment="here")


class EndlessScan:
    """Replaces the scan for secrets by one that only ends when it is cancelled, or with the test."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.started = self.running = 0
        self.is_over = False
        monkeypatch.setattr(SecretScan, "steps", lambda scan: self._steps())

    def has_started(self, count: int) -> bool:
        return self.started == count

    def _steps(self) -> Iterator[int]:
        self.started += 1
        self.running += 1
        try:
            while not self.is_over:
                yield 0
        finally:
            self.running -= 1


@pytest.fixture
def endless_scan(monkeypatch: pytest.MonkeyPatch) -> Iterator[EndlessScan]:
    scan = EndlessScan(monkeypatch)
    yield scan
    scan.is_over = True


@pytest.mark.parametrize("end", ["close", "reject", "choose"])
def test_scan_of_an_export_ends_with_its_dialog_or_with_another_choice(
    endless_scan: EndlessScan, lens: Lens, end: str
) -> None:
    opened(lens, make_capture(lens.folder / "one.mcpcap"))
    lens.do("capture.export")
    dialog = lens.dialog(ExportDialog)
    lens.until(lambda: endless_scan.running == 1)
    if end == "choose":
        dialog.scopes.choose(1)
        lens.until(lambda: endless_scan.started == 2 and endless_scan.running == 1)
    getattr(dialog, "close" if end == "choose" else end)()
    lens.until(lambda: endless_scan.running == 0)


def test_export_shows_what_it_masks_and_writes_no_secret(lens: Lens) -> None:
    opened(lens, make_capture(lens.folder / "one.mcpcap", text=f"Authorization: {SECRET}"))
    lens.do("capture.export")
    dialog = lens.dialog(ExportDialog)
    lens.until(dialog.export_action.isEnabled)
    assert dialog.secrets.topLevelItemCount() == 1
    target = lens.folder / "out.jsonl"
    dialog.export_to(target)
    lens.until(target.exists)
    assert SECRET not in target.read_text()
    lens.until(lambda: "1 secret masked" in lens.window.strips.text("message"))


def test_unchecked_secret_is_written_unmasked(lens: Lens) -> None:
    opened(lens, make_capture(lens.folder / "one.mcpcap", text=f"Authorization: {SECRET}"))
    lens.do("capture.export")
    dialog = lens.dialog(ExportDialog)
    lens.until(dialog.export_action.isEnabled)
    item = dialog.secrets.topLevelItem(0)
    assert item is not None
    item.setCheckState(0, Qt.CheckState.Unchecked)
    target = lens.folder / "out.md"
    dialog.formats.choose(list(ExportFormat).index(ExportFormat.MARKDOWN))
    dialog.export_to(target)
    lens.until(target.exists)
    assert SECRET in target.read_text()


def test_saved_captures_are_listed_opened_and_deleted(lens: Lens) -> None:
    path = make_capture(lens.folder / "captures" / "old.mcpcap")
    lens.do("capture.kept")
    dialog = lens.dialog(CapturesDialog)
    lens.until(lambda: dialog.list.topLevelItemCount() == 1)
    item = dialog.list.topLevelItem(0)
    assert item is not None
    item.setSelected(True)
    dialog.open_action.trigger()
    lens.until(lambda: len(lens.window.captures.all) == 1)
    dialog.delete_action.trigger()
    lens.until(lambda: "is open" in dialog.error_text())
    lens.window.captures.close(lens.window.captures.all[0].panel)
    lens.settle()
    dialog.delete_action.setEnabled(True)
    lens.until(lambda: dialog.list.topLevelItemCount() == 1)
    first = dialog.list.topLevelItem(0)
    assert first is not None
    first.setSelected(True)
    dialog.delete_action.trigger()
    lens.until(lambda: dialog.list.topLevelItemCount() == 0)
    assert not path.exists()


def test_capture_limits_are_edited_in_the_captures_dialog(lens: Lens) -> None:
    lens.do("capture.kept")
    dialog = lens.dialog(CapturesDialog)
    lens.until(lambda: dialog.days.value() == 30)
    dialog.days.setValue(7)
    dialog.record.setChecked(False)
    dialog.close()
    file = lens.folder / "preferences.json"
    lens.until(file.exists)
    assert json.loads(file.read_text())["captures"]["keepDays"] == 7


@pytest.mark.parametrize("opens", [True, False])
def test_interrupted_capture_is_offered_once(lens: Lens, opens: bool) -> None:
    make_interrupted(lens.folder / "captures" / "killed.mcpcap")
    lens.window.capture_notice.offer_interrupted()
    lens.until(lambda: "interrupted" in lens.window.strips.text("interrupted"))
    lens.press("Open capture" if opens else "Dismiss", lens.window.strips)
    if opens:
        lens.until(lambda: len(lens.window.captures.all) == 1)
    lens.until(lambda: not lens.ask(lambda engine: engine.captures.interrupted()))
    assert lens.window.strips.text("interrupted") == ""


def test_paused_recording_says_why_until_it_resumes(lens: Lens) -> None:
    signal, path = lens.app.thread.engine.captures.recording_changed, lens.folder / "x.mcpcap"
    paused = RecordingState(path, is_paused=True, reason="The disk is full.", next_step="Make room.")
    signal.emit(paused)
    lens.until(lambda: "The disk is full. Make room." in lens.window.strips.text("recording"))
    signal.emit(RecordingState(path))
    lens.until(lambda: not lens.window.strips.text("recording"))


def pause_recording(lens: Lens) -> None:
    """Pause the recording, with rows that are only in memory."""
    lens.ask(lambda engine: engine.captures.begin())
    (path,) = (lens.folder / "captures").glob("*.mcpcap")
    path.rename(lens.folder / "moved.mcpcap")
    lens.connect(scripted())
    lens.until(lens.window.capture_notice.unsaved_rows)


def test_closing_with_rows_that_could_not_be_recorded_asks_first(lens: Lens) -> None:
    pause_recording(lens)
    window, closed = lens.window, list[bool]()
    window.closing.connect(lambda: closed.append(True))
    assert not window.close()
    assert not window.close()  # asks once
    dialog = lens.dialog(UnsavedRowsDialog)
    rows = window.capture_notice.unsaved_rows()
    assert f"Close without saving {rows} rows?" in visible_text(dialog)
    assert "no longer exists" in visible_text(dialog)
    dialog.cancel_action.trigger()
    assert window.isVisible()
    assert not closed
    assert not window.close()
    lens.dialog(UnsavedRowsDialog).discard_action.trigger()
    assert closed


def test_rows_that_could_not_be_recorded_are_saved_elsewhere_before_closing(lens: Lens) -> None:
    pause_recording(lens)
    window, target, closed = lens.window, lens.folder / "saved.mcpcap", list[bool]()
    window.closing.connect(lambda: closed.append(True))
    window.close()
    lens.dialog(UnsavedRowsDialog).save_action.trigger()
    chooser = lens.dialog(QFileDialog)
    chooser.fileSelected.emit(str(target))
    chooser.close()
    lens.until(lambda: closed)
    assert len(open_own_capture(target).log) == len(lens.app.bridge.log)


def test_failed_save_before_closing_keeps_the_window_open(lens: Lens) -> None:
    pause_recording(lens)
    window, closed = lens.window, list[bool]()
    window.closing.connect(lambda: closed.append(True))
    window.close()
    lens.dialog(UnsavedRowsDialog).save_action.trigger()
    chooser = lens.dialog(QFileDialog)
    chooser.fileSelected.emit(str(lens.folder / "missing" / "saved.mcpcap"))
    chooser.close()
    lens.until(lambda: "missing" in window.notices.text())
    assert not closed
    assert window.isVisible()


def test_signal_that_ends_the_process_asks_nothing(lens: Lens) -> None:
    pause_recording(lens)
    lens.window.close_unasked()
    assert not lens.window.isVisible()
    assert lens.dialogs(UnsavedRowsDialog) == []


def test_window_closes_without_a_question_once_recording_has_resumed(lens: Lens) -> None:
    pause_recording(lens)
    state = lens.window.capture_notice.recording
    assert state is not None
    (lens.folder / "moved.mcpcap").rename(state.path)
    lens.until(lambda: not lens.window.capture_notice.unsaved_rows())
    assert lens.window.close()

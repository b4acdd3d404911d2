"""A closed capture leaves nothing in memory: no log, model, widget, timer or thread."""

from __future__ import annotations

import asyncio
import gc
import threading
import weakref
from collections.abc import Callable
from pathlib import Path

import pytest
from PySide6.QtCore import QCoreApplication, QEvent, QPoint, QTimer
from PySide6.QtWidgets import QApplication, QDialog

from inspector.qt.models.traffic.columns import Column
from inspector.qt.panels.traffic.detail.detail_view import Tab
from inspector.qt.panels.traffic.detail.message_view import Form
from inspector.qt.panels.traffic.panel import TrafficPanel
from inspector.qt.panels.traffic.view_stack import View
from tests.qt.lens_driver import Lens
from tests.qt.traffic.test_captures_window import make_capture, opened

USES: dict[str, Callable[[Lens, TrafficPanel], object]] = {
    "nothing": lambda lens, panel: None,
    "detail": lambda lens, panel: look_at_details(lens, panel),
    "views": lambda lens, panel: show_all_views(panel),
    "filter": lambda lens, panel: search(lens, panel),
    "notes": lambda lens, panel: note(panel),
    "selected for compare": lambda lens, panel: select_for_compare(panel),
    "menu": lambda lens, panel: panel._on_bar_clicked(0, QPoint(5, 5)),
    "export": lambda lens, panel: lens.do("capture.export"),
    "compare": lambda lens, panel: panel.compare_requested.emit([0, 1]),
    "color rules": lambda lens, panel: panel.rules_requested.emit(),
}


def show_all_views(panel: TrafficPanel) -> None:
    for view in View:
        panel.show_view(view)


def look_at_details(lens: Lens, panel: TrafficPanel) -> None:
    panel.choose(0)
    for form in Form:
        panel.detail.message.set_form(form)
    for tab in Tab:
        panel.detail.tabs.setCurrentIndex(tab)
    panel.choose(1)


def search(lens: Lens, panel: TrafficPanel) -> None:
    panel.filter_bar.set_text("hello")
    lens.until(lambda: not panel.model.search.is_searching)
    panel.model.sort(Column.SIZE)


def note(panel: TrafficPanel) -> None:
    panel.choose(0)
    panel.local_actions["traffic.mark"].trigger()


def select_for_compare(panel: TrafficPanel) -> None:
    panel.choose(0)
    panel.local_actions["traffic.left_side"].trigger()


def close_capture(lens: Lens) -> None:
    for dialog in lens.window.findChildren(QDialog):
        dialog.close()
    popup = QApplication.activePopupWidget()
    if popup is not None:
        popup.close()
    lens.do("capture.close")
    tasks = asyncio.all_tasks
    lens.until(lambda: not any(task.get_name().startswith("close") for task in tasks(lens.app.loop)))


def delete_closed() -> None:
    """Delete what Qt deletes when the test has left its event; then collect, as between two events."""
    QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)
    gc.collect()


def use_capture(lens: Lens, path: Path, use: str) -> dict[str, weakref.ref[object]]:
    """Open a capture and do something with it; return references to what must be freed."""
    panel = opened(lens, path)
    lens.until(lambda: panel.model.rowCount() > 1)
    USES[use](lens, panel)
    log = panel.source.log
    parts = {"panel": panel, "model": panel.model, "search": panel.model.search, "log": log}
    return {name: weakref.ref(part) for name, part in {**parts, "columns": log.columns}.items()}


@pytest.mark.parametrize("use", USES)
def test_closed_capture_is_freed(lens: Lens, use: str) -> None:
    kept = use_capture(lens, make_capture(lens.folder / "one.mcpcap", 50), use)
    close_capture(lens)
    delete_closed()
    lens.settle()
    delete_closed()
    assert [name for name, ref in kept.items() if ref() is not None] == []


def test_five_captures_leave_no_widgets_timers_or_threads(lens: Lens) -> None:
    def count() -> tuple[int, int, list[str]]:
        delete_closed()
        # A pool starts its threads one by one, up to its limit.
        threads = [each.name for each in threading.enumerate() if not each.name.startswith("asyncio_")]
        return len(QApplication.allWidgets()), len(lens.window.findChildren(QTimer)), sorted(threads)

    def open_and_close(path: Path) -> None:
        use_capture(lens, path, "detail")
        lens.do("capture.export")
        close_capture(lens)

    paths = [make_capture(lens.folder / f"{number}.mcpcap", 20) for number in range(6)]
    open_and_close(paths[0])  # makes what is made once
    lens.settle()
    before = count()
    for path in paths[1:]:
        open_and_close(path)
    lens.settle()
    assert count() == before

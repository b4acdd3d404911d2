"""Connections: what is closed leaves none at what stays, such as the theme, the bridge and the window.

A connection to a lambda or to a method of a plain object is kept by the sender, with everything it refers to.
"""

from __future__ import annotations

import gc
from collections import Counter

import pytest
import shiboken6
from PySide6.QtCore import QCoreApplication, QEvent, QMetaMethod, QObject
from PySide6.QtWidgets import QApplication, QDialog

from inspector.base.signals import Signal
from inspector.qt.window.tabs import TAB_IDS
from tests.qt.lens_driver import Lens, scripted
from tests.qt.traffic.test_capture_release import close_capture, look_at_details
from tests.qt.traffic.test_captures_window import make_capture, opened

TOOL = {"name": "echo", "inputSchema": {"type": "object", "properties": {"text": {"type": "string"}}}}
DIALOGS = (
    *("app.settings", "app.secrets", "app.answers", "call.manage", "call.variables"),
    *("server.add", "server.edit", "server.export", "server.drift"),
    *("traffic.colors", "traffic.compare", "traffic.resend"),
    *("capture.export", "capture.kept", "capture.compare"),
    *("help.manual", "help.news", "help.about"),
)


def use_server(lens: Lens, name: str) -> None:
    lens.connect(scripted(name, tools=[TOOL]))
    for tab in TAB_IDS:
        lens.window.show_tab(tab)
    lens.window.show_tab("tools")
    lens.call("echo", {"text": "hello"})
    workspace = lens.workspace
    lens.do("server.remove")

    def is_deleted() -> bool:  # a panel in each turn of the event loop
        delete_closed()
        return not shiboken6.isValid(workspace)

    lens.until(is_deleted)


def use_dialogs(lens: Lens, name: str) -> None:
    for id in DIALOGS:
        if lens.actions[id].isEnabled():
            lens.do(id)
            lens.until(lambda: lens.window.findChildren(QDialog))
            for dialog in lens.window.findChildren(QDialog):
                dialog.close()
            delete_closed()
    lens.do("app.palette")
    popup = lens.window.command_palette.popup
    assert popup is not None
    popup.close()


def use_capture(lens: Lens, name: str) -> None:
    panel = opened(lens, make_capture(lens.folder / f"{name}.mcpcap", 20))
    look_at_details(lens, panel)
    close_capture(lens)


def delete_closed() -> None:
    QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)
    gc.collect()


def connections(objects: list[QObject], signals: dict[str, Signal[object]]) -> Counter[str]:
    """Return how many connections each signal has, summed by class."""
    found: Counter[str] = Counter()
    for each in objects:
        meta = each.metaObject()
        for number in range(meta.methodCount()):
            method = meta.method(number)
            if method.methodType() is QMetaMethod.MethodType.Signal:
                text = bytes(method.methodSignature().data()).decode()
                found[f"{type(each).__name__}.{text}"] += each.receivers(f"2{text}")
    for name, signal in signals.items():
        found[name] += len(signal._receivers)
    return found


def plain_signals(lens: Lens) -> dict[str, Signal[object]]:
    """Return the signals of the objects of the engine, and of the log."""
    engine = lens.app.thread.engine
    owners = [lens.app.bridge.log, engine, *vars(engine).values()]
    return {
        f"{type(owner).__name__}.{name}": value
        for owner in owners
        if hasattr(owner, "__dict__")
        for name, value in vars(owner).items()
        if isinstance(value, Signal)
    }


@pytest.mark.parametrize("use", [use_server, use_dialogs, use_capture])
def test_what_is_closed_leaves_no_connection_to_what_stays(lens: Lens, use: object) -> None:
    assert callable(use)
    lens.connect(scripted("stays", tools=[TOOL]))
    lens.call("echo", {"text": "hello"})
    lens.window.traffic.go_to(0)
    for name in ("first", "second"):  # the second time, all that is made once exists
        use(lens, name)
        lens.choose("stays")
        lens.settle()
        delete_closed()
    signals = plain_signals(lens)
    objects = [each for each in shiboken6.getAllValidWrappers() if isinstance(each, QObject)]
    before = connections(objects, signals)

    for name in ("third", "fourth"):
        use(lens, name)
        lens.choose("stays")
        lens.settle()
        delete_closed()

    after = connections([each for each in objects if shiboken6.isValid(each)], signals)
    assert dict(after - before) == {}
    assert QApplication.activeModalWidget() is None

"""Modules and Qt classes that the window loads after its first paint, or only when they are used.

`python -m tests.bench startup` measures the start; these tests keep modules and classes out of it, and
make sure that the first paint is complete.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

SHOW = """
import sys
WIDTH = 1440
from pathlib import Path
from inspector.cli.commands.window import load_window
load_window()
from inspector.app.frontend import make_frontend
frontend = make_frontend(Path(sys.argv[1], "layout.ini"))
frontend.window.resize(WIDTH, 900)
frontend.window.show()
frontend.qt.processEvents()
"""
LOAD_BACKEND = "import inspector.app.backend, inspector.qt.window.workspace\n"
PRINT_LOADED = """
import os
names = set(sys.argv[2:])
print([each for each in sys.modules if each in names or each.startswith(tuple(f"{name}." for name in names))])
sys.stdout.flush()
os._exit(0)
"""
# PySide adds a class to its module, and creates all enums of the class, when it is first used.
PRINT_CLASSES = """
import os
from PySide6 import QtCore, QtGui, QtWidgets
print([name for module in (QtCore, QtGui, QtWidgets) for name in vars(module) if name in sys.argv[2:]])
sys.stdout.flush()
os._exit(0)
"""
PRINT_LATE_ICONS = """
import os
from PySide6.QtWidgets import QAbstractButton
buttons = [each for each in frontend.window.findChildren(QAbstractButton) if each.isVisible()]
before = [each.icon().cacheKey() for each in buttons]
frontend.theme.apply_deferred_icons()
after = [each.icon().cacheKey() for each in buttons]
print([each.accessibleName() for each, old, new in zip(buttons, before, after) if old != new])
sys.stdout.flush()
os._exit(0)
"""

# Loaded after the first paint: on a thread, or for the first server that is shown.
AFTER_THE_PAINT = (
    *("asyncio", "qasync", "ssl", "socket", "subprocess", "sqlite3", "psutil", "httpx2"),
    *("dataclasses", "datetime", "decimal", "hashlib", "html", "PySide6.QtSvg"),
    *("inspector.app.backend", "inspector.demo", "inspector.oauth", "inspector.schema", "inspector.session"),
    *("inspector.transport", "inspector.engine.engine", "inspector.engine.server_view"),
    *("inspector.traffic.captures.capture", "inspector.traffic.export", "inspector.traffic.filter.matcher"),
    *("inspector.config.servers",),
    *("inspector.qt.window.workspace", "inspector.qt.dialogs", "inspector.qt.forms"),
    *("inspector.qt.panels.overview", "inspector.qt.panels.tools", "inspector.qt.panels.console"),
    *("inspector.qt.panels.traffic.detail.detail_view", "inspector.qt.panels.traffic.timeline.timeline_view"),
    *("inspector.qt.panels.traffic.statistics", "inspector.qt.widgets.code.code_edit"),
)
# Used to paint rows, to edit values or to show progress; many have large enums.
CLASSES_AFTER_THE_PAINT = (
    *("QStyle", "QStyleOption", "QStyleOptionViewItem", "QXmlStreamReader", "QTextCursor", "QTextDocument"),
    *("QFileDialog", "QProgressBar", "QScrollArea", "QSpinBox", "QTabWidget", "QTreeView"),
)
# Loaded when a panel is shown, a server sends a request, or a secret is stored.
WHEN_USED = (
    *("keyring", "cryptography", "inspector.config.secrets.store", "inspector.qt.dialogs"),
    *("inspector.qt.panels.inbox", "inspector.qt.models.inbox"),
    *("inspector.qt.window.inbox", "inspector.qt.widgets.notices.toasts"),
    *("inspector.qt.panels.resources", "inspector.qt.panels.prompts", "inspector.qt.panels.tasks"),
    *("inspector.qt.panels.client", "inspector.qt.panels.login"),
    *("inspector.qt.window.notices", "inspector.qt.window.status_bar"),
    *("inspector.oauth.login.flow", "inspector.oauth.login.steps", "inspector.oauth.http"),
)


@pytest.mark.parametrize(
    ("program", "later"),
    [(SHOW, AFTER_THE_PAINT), (SHOW + LOAD_BACKEND, WHEN_USED)],
    ids=["until it is painted", "until it is used"],
)
def test_window_imports_nothing_it_does_not_need(
    program: str, later: tuple[str, ...], tmp_path: Path
) -> None:
    command = [sys.executable, "-c", program + PRINT_LOADED, str(tmp_path), *later]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.stdout.strip() == "[]", done.stderr


def test_first_paint_uses_no_qt_class_that_it_does_not_need(tmp_path: Path) -> None:
    command = [sys.executable, "-c", SHOW + PRINT_CLASSES, str(tmp_path), *CLASSES_AFTER_THE_PAINT]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.stdout.strip() == "[]", done.stderr


@pytest.mark.parametrize("width", [1440, 640])
def test_no_visible_icon_appears_after_the_first_paint(width: int, tmp_path: Path) -> None:
    program = SHOW.replace("WIDTH = 1440", f"WIDTH = {width}") + PRINT_LATE_ICONS
    done = subprocess.run([sys.executable, "-c", program, str(tmp_path)], capture_output=True, text=True)
    assert done.stdout.strip() == "[]", done.stderr

"""A server with resources and prompts, and helpers that open its panels."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QLineEdit

from inspector.config.servers.entries import Entry, StdioEntry
from inspector.engine.views import ServerStatus
from inspector.qt.panels.prompts.panel import PromptsPanel
from inspector.qt.panels.resources.panel import ResourcesPanel
from inspector.qt.window.tabs import PROMPTS, RESOURCES
from tests.qt.lens_driver import Lens

_SERVER = Path(__file__).with_name("feature_server.py")


def feature_server(name: str = "features", **script: Any) -> StdioEntry:
    """Return a scripted server; see `feature_server.py` for the script."""
    args = ("-I", "-S", str(_SERVER), json.dumps(script))
    return StdioEntry(name=name, command=sys.executable, args=args, era="2025-11-25")


def connect(lens: Lens, entry: Entry) -> None:
    lens.add(entry)
    lens.choose(entry.name)
    lens.do("server.connect")
    lens.wait_for(entry.name, ServerStatus.CONNECTED)


def open_resources(lens: Lens, entry: Entry) -> ResourcesPanel:
    """Connect and wait until the lists are loaded."""
    connect(lens, entry)
    lens.do("view.resources")
    panel = lens.workspace.panel(RESOURCES)
    lens.until(lambda: panel.lists.isVisibleTo(panel))
    lens.settle()
    return panel


def open_prompts(lens: Lens, entry: Entry) -> PromptsPanel:
    connect(lens, entry)
    lens.do("view.prompts")
    panel = lens.workspace.panel(PROMPTS)
    lens.until(lambda: panel.list.isVisibleTo(panel))
    lens.settle()
    return panel


def type_into(line: QLineEdit, text: str) -> None:
    line.setFocus()
    line.clear()
    QTest.keyClicks(line, text)


def search(line: QLineEdit, text: str) -> None:
    type_into(line, text)
    QTest.keyClick(line, Qt.Key.Key_Return)

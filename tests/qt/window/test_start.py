"""What the window's start does not wait for: the one list of modules that are loaded later, or when used.

`python -m tests.bench startup` tells how long it takes; this says what must not creep in again.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

SHOW = """
import sys
from pathlib import Path
from inspector.cli.commands.window import load_window
load_window()
from inspector.app.frontend import make_frontend as make_front
front = make_front(Path(sys.argv[1], "layout.ini"))
front.window.show()
front.qt.processEvents()
"""
LOAD_THE_REST = "import inspector.app.backend, inspector.qt.window.workspace\n"
SAY_WHICH = """
import os
names = set(sys.argv[2:])
print([each for each in sys.modules if each in names or each.startswith(tuple(f"{name}." for name in names))])
sys.stdout.flush()
os._exit(0)
"""

# Loaded when the window has been painted: on a thread, or for the first server that is looked at.
AFTER_THE_PAINT = (
    *("asyncio", "qasync", "ssl", "socket", "subprocess", "sqlite3", "psutil", "httpx2"),
    *("datetime", "decimal", "html"),
    *("inspector.app.backend", "inspector.demo", "inspector.oauth", "inspector.schema", "inspector.session"),
    *("inspector.transport", "inspector.engine.engine", "inspector.traffic.captures.capture"),
    *("inspector.traffic.export", "inspector.traffic.filter.matcher"),
    *("inspector.qt.window.workspace", "inspector.qt.dialogs", "inspector.qt.forms"),
    *("inspector.qt.panels.overview", "inspector.qt.panels.tools", "inspector.qt.panels.console"),
    *("inspector.qt.panels.traffic.detail.detail_view", "inspector.qt.panels.traffic.timeline.timeline_view"),
    *("inspector.qt.panels.traffic.statistics", "inspector.qt.widgets.code.code_edit"),
)
# Loaded when somebody looks there, asks something or keeps a secret.
WHEN_USED = (
    *("keyring", "cryptography", "inspector.config.secrets.store", "inspector.qt.dialogs"),
    *("inspector.qt.panels.inbox", "inspector.qt.models.inbox", "inspector.qt.models.inbox"),
    *("inspector.qt.models.inbox", "inspector.qt.models.inbox"),
    *("inspector.qt.window.inbox", "inspector.qt.widgets.notices.toasts"),
    *("inspector.qt.panels.resources", "inspector.qt.panels.prompts", "inspector.qt.panels.tasks"),
    *("inspector.qt.panels.client", "inspector.qt.panels.login", "inspector.qt.window.notices"),
    *("inspector.oauth.login.flow", "inspector.oauth.login.steps", "inspector.oauth.http"),
)


@pytest.mark.parametrize(
    ("program", "later"),
    [(SHOW, AFTER_THE_PAINT), (SHOW + LOAD_THE_REST, WHEN_USED)],
    ids=["until it is painted", "until it is used"],
)
def test_window_imports_nothing_it_does_not_need(
    program: str, later: tuple[str, ...], tmp_path: Path
) -> None:
    command = [sys.executable, "-c", program + SAY_WHICH, str(tmp_path), *later]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.stdout.strip() == "[]", done.stderr

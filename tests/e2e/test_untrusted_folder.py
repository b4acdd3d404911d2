"""Started in an untrusted folder: no file in it is executed."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import inspector

# Called as modules that Python loads for `-m`, and as libraries that we load: at the start, for a URL, for a
# command, in another process, for a demo.
_SHADOWS = (
    "importlib",
    "types",
    "warnings",
    "contextlib",
    "collections",
    "httpx2",
    "pydantic",
    "websockets",
    "psutil",
    "platformdirs",
    "argparse",
    "shlex",
    "email",
    "uvicorn",
)


@pytest.fixture
def listener() -> Iterator[socket.socket]:
    """A port that records connections: they wait until they are accepted."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.setblocking(False)
        yield listener


@pytest.fixture
def folder(tmp_path: Path, listener: socket.socket) -> Path:
    """A folder in which each file writes a mark and ends the process that imports it."""
    folder = tmp_path / "repo"
    folder.mkdir()
    marker = tmp_path / "marker"
    for name in _SHADOWS:
        code = f"import os\nopen({str(marker)!r}, 'a').write({name!r})\nos._exit(99)\n"
        (folder / f"{name}.py").write_text(code)
    servers = {
        "runs": {"command": "touch", "args": [str(marker)]},
        "calls": {"url": f"http://127.0.0.1:{listener.getsockname()[1]}/mcp"},
    }
    (folder / ".mcp.json").write_text(json.dumps({"mcpServers": servers}))
    return folder


MODULE = (sys.executable, "-P", "-m", "inspector")
COMMAND = (str(Path(sys.executable).with_name("mcp-lens")),)


def run(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    env = {**os.environ, "HOME": str(folder.parent), "QT_QPA_PLATFORM": "offscreen"}
    env.pop("PYTHONSAFEPATH", None)
    return subprocess.run(words, cwd=folder, env=env, capture_output=True, text=True, timeout=60, check=False)


@pytest.mark.parametrize("launcher", [COMMAND, MODULE], ids=["command", "module"])
@pytest.mark.parametrize(
    ("words", "code"),
    [
        (["--version"], 0),
        (["list", "tools", "--url", "http://127.0.0.1:9/mcp"], 2),
        (["list", "tools", "--", *COMMAND, "demo", "faulty"], 0),
        (["servers"], 0),
    ],
)
def test_modules_in_the_folder_are_not_imported(
    folder: Path, launcher: tuple[str, ...], words: list[str], code: int
) -> None:
    """T6: Python imports modules from the untrusted working directory."""
    done = run(folder, *launcher, *words)
    assert not (folder.parent / "marker").exists(), (folder.parent / "marker").read_text()
    assert done.returncode == code, done.stderr


@pytest.mark.parametrize(("module", "word"), [("inspector", "--version"), ("inspector.demo", "--list")])
def test_start_that_imports_from_the_folder_is_refused(tmp_path: Path, module: str, word: str) -> None:
    """T6: Python itself imports from the working directory for `-m`, before any code of ours runs."""
    done = run(tmp_path, sys.executable, "-m", module, word)
    assert (done.returncode, done.stdout) == (64, "")
    assert f"Run mcp-lens, or python -P -m {module}." in done.stderr
    done = run(Path(inspector.__file__).parents[1], sys.executable, "-m", module, word)
    assert done.returncode == 0, done.stderr


def test_planted_module_would_be_detected(folder: Path) -> None:
    done = run(folder, sys.executable, "-c", "import sys; sys.path.insert(0, ''); import httpx2")
    assert done.returncode == 99
    assert (folder.parent / "marker").read_text() == "httpx2"


def test_the_window_starts_there_and_neither_runs_nor_contacts_what_it_finds(
    folder: Path, listener: socket.socket
) -> None:
    """T1: a configuration file in a cloned folder starts a program or contacts a URL."""
    code = (
        "import asyncio\n"
        "from pathlib import Path\n"
        "from inspector.app.backend import open_first_servers, shut_down\n"
        "from inspector.app.main import build\n"
        "from inspector.config.paths import Files\n"
        "files = Files(server_list=Path('../own.json'), trust=Path('../trust.json'))\n"
        "app = build(files, Path('../layout.ini'))\n"
        "async def live():\n"
        "    await open_first_servers(app, demo=False)\n"
        "    found = app.thread.engine.discovery.report\n"
        "    names = sorted(view.name for view in found.servers if view.source.scope == 'folder')\n"
        "    await shut_down(app)\n"
        "    return names\n"
        "print(app.loop.run_until_complete(live()))\n"
    )
    done = run(folder, sys.executable, "-P", "-c", code)
    assert done.stdout.strip() == "['calls', 'runs']", done.stderr
    assert not (folder.parent / "marker").exists(), (folder.parent / "marker").read_text()
    with pytest.raises(BlockingIOError):
        listener.accept()

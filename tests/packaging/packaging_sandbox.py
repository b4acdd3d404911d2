"""A copied project tree on a simulated machine, to run the real scripts of `packaging/`.

The machine has only the commands in `bin`: the plain tools that the scripts use, and fakes of Python,
apt-get, find, id and ldd that read files in `machine` and write what they do to `calls`. Nothing here
touches the real .venv, apt or the network, and a test describes the machine in one line.
"""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[2]
STANDINS = Path(__file__).parent / "standins"
PLAIN_TOOLS = (
    "awk",
    "bash",
    "cat",
    "cksum",
    "cp",
    "dirname",
    "env",
    "ln",
    "mkdir",
    "rm",
    "sed",
    "sort",
    "tr",
)


class Sandbox:
    """A complete tree on a healthy machine: Python 3.11 with venv, not root, apt-get, a font."""

    def __init__(self, folder: Path) -> None:
        self.tree = folder / "my project"  # the space is on purpose
        self.work = folder / "elsewhere"
        self.machine = folder / "machine"
        self.bin = self.machine / "bin"
        self._copy_tree()
        self.bin.mkdir(parents=True)
        self.work.mkdir()
        for tool in PLAIN_TOOLS:
            path = shutil.which(tool)
            assert path is not None, f"the tests need {tool}"
            (self.bin / tool).symlink_to(path)
        for standin in ("apt-get", "find", "id", "ldd", "tool"):
            shutil.copy(STANDINS / standin, self.bin / standin)
        self.python("python3")

    def _copy_tree(self) -> None:
        self.tree.mkdir()
        for name in ("packaging", ".ci"):
            shutil.copytree(PROJECT / name, self.tree / name, ignore=shutil.ignore_patterns("__pycache__"))
        for name in ("pyproject.toml", "uv.lock"):
            shutil.copy(PROJECT / name, self.tree / name)

    def python(self, name: str, *, version: str = "3.11", modules: str = "complete") -> Path:
        """Put a Python into `bin`; `modules` is `bare` for one without venv and ensurepip."""
        path = self.bin / name
        shutil.copy(STANDINS / "python", path)
        self.notify(f"{name}.version", version)
        self.notify(f"{name}.modules", modules)
        return path

    def notify(self, fact: str, value: str) -> None:
        """Set a property of the machine that a fake reads, such as `uid` or `missing-libraries`."""
        (self.machine / fact).write_text(f"{value}\n")

    def forget(self, fact: str) -> None:
        (self.machine / fact).unlink()

    def run(self, script: str, *args: str, **environment: str) -> subprocess.CompletedProcess[str]:
        """Run a script of the tree from another folder with only `environment` set."""
        return subprocess.run(
            [str(self.tree / script), *args],
            cwd=self.work,
            env={
                "PATH": str(self.bin),
                "HOME": str(self.machine),
                "MACHINE": str(self.machine),
                **environment,
            },
            capture_output=True,
            text=True,
            timeout=60,
        )

    def calls(self) -> list[str]:
        """Return what the fakes did to the machine since the last call."""
        log = self.machine / "calls"
        lines = log.read_text().splitlines() if log.exists() else []
        log.unlink(missing_ok=True)
        return lines

    @property
    def venv(self) -> Path:
        return self.tree / ".venv"

    @property
    def stamp(self) -> Path:
        return self.venv / "mcp-lens-setup"

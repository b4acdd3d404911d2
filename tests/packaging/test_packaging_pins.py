"""uv.lock: in step with pyproject.toml, free of the PySide6 that aborts, and readable by pip."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from pathlib import Path

from tests.packaging.packaging_sandbox import PROJECT

PINS = PROJECT / "packaging/setup/pins.py"
LOCK = PROJECT / "uv.lock"


def pins(lock: Path) -> list[str]:
    command = [sys.executable, "-I", str(PINS), str(lock)]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()


def requirement(text: str) -> tuple[str, frozenset[str]]:
    """`Some-Name>=1,<2` as its plain name and its bounds."""
    match = re.fullmatch(r"([\w.-]+)(?:\[[\w,-]+\])?([^;]*)", text)
    assert match is not None, text
    return match[1].lower(), frozenset(match[2].split(","))


def test_pyside_version_that_aborts_is_never_chosen() -> None:
    project = tomllib.loads((PROJECT / "pyproject.toml").read_text())["project"]
    (pyside,) = [line for line in project["dependencies"] if line.startswith("PySide6")]
    assert "!=6.12.0" in pyside
    locked = [pin for pin in pins(LOCK) if pin.startswith(("pyside6", "shiboken6"))]
    assert len(locked) == 2
    assert not any(pin.endswith("==6.12.0") for pin in locked)


def test_lock_covers_the_project_requirements() -> None:
    """When this fails: `uv lock`, and commit uv.lock with the change of pyproject.toml."""
    project = tomllib.loads((PROJECT / "pyproject.toml").read_text())["project"]
    wanted = [
        *project["dependencies"],
        *(line for extra in project["optional-dependencies"].values() for line in extra),
    ]
    (locked,) = [p for p in tomllib.loads(LOCK.read_text())["package"] if p["name"] == "mcp-lens"]
    known = {
        (r["name"], frozenset(r.get("specifier", "").split(","))) for r in locked["metadata"]["requires-dist"]
    }
    assert {requirement(line) for line in wanted if not line.startswith("mcp-lens[")} == known


def test_the_lock_names_only_the_public_index() -> None:
    assert set(re.findall(r"\w+://[^/\"]+", LOCK.read_text())) == {
        "https://pypi.org",
        "https://files.pythonhosted.org",
    }


def test_every_package_in_the_lock_is_pinned_exactly() -> None:
    lines = pins(LOCK)
    assert len(lines) == LOCK.read_text().count("[[package]]") - 1  # all but the project itself
    assert [line for line in lines if not re.fullmatch(r"[a-z0-9-]+==[0-9][\w.]*( ; .+)?", line)] == []


def test_a_package_locked_at_several_versions_keeps_the_markers_of_each(tmp_path: Path) -> None:
    lock = tmp_path / "uv.lock"
    lock.write_text(FORKED_LOCK)
    assert pins(lock) == ["forked==2 ; (python_version < '3.12') or (sys_platform == 'win32')", "forked==3"]


FORKED_LOCK = """
[[package]]
name = "mcp-lens"
source = { editable = "." }

[[package]]
name = "forked"
version = "2"
source = { registry = "an index" }
resolution-markers = ["python_version < '3.12'", "sys_platform == 'win32'"]

[[package]]
name = "forked"
version = "3"
source = { registry = "an index" }
"""

"""uv.lock matches pyproject.toml, avoids the PySide6 that aborts, and is readable by pip."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from tests.packaging.packaging_sandbox import PROJECT

SCRIPT = PROJECT / "packaging/setup/requirements.py"
LOCK = PROJECT / "uv.lock"


def requirements(lock: Path, extra: str, *system: str) -> list[str]:
    command = [sys.executable, "-I", str(SCRIPT), str(lock), extra, *system]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()


def requirement(text: str) -> tuple[str, frozenset[str]]:
    """Return the normalized name and the bounds of `Some-Name>=1,<2`."""
    match = re.fullmatch(r"([\w.-]+)(?:\[[\w,-]+\])?([^;]*)", text)
    assert match is not None, text
    return match[1].lower(), frozenset(match[2].split(","))


def test_pyside_version_that_aborts_is_never_chosen() -> None:
    project = tomllib.loads((PROJECT / "pyproject.toml").read_text())["project"]
    (pyside,) = [line for line in project["dependencies"] if line.startswith("PySide6")]
    assert "!=6.12.0" in pyside
    lines = requirements(LOCK, "demo")
    locked = [line.partition(" ")[0] for line in lines if line.startswith(("pyside6", "shiboken6"))]
    assert len(locked) == 2
    assert not any(pin.endswith("==6.12.0") for pin in locked)


def test_lock_covers_the_project_requirements() -> None:
    """If this fails, run `uv lock` and commit uv.lock together with pyproject.toml."""
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


@pytest.mark.parametrize("extra", ["demo", "test"])
def test_every_required_package_is_pinned_exactly_with_hashes(extra: str) -> None:
    lines = requirements(LOCK, extra)
    pattern = r"[a-z0-9-]+==[0-9][\w.]*( --hash=sha256:[0-9a-f]{64})+"
    assert [line for line in lines if not re.fullmatch(pattern, line)] == []
    project = tomllib.loads((PROJECT / "pyproject.toml").read_text())["project"]
    direct = [*project["dependencies"], *project["optional-dependencies"][extra], "hatchling"]
    names = {requirement(line)[0] for line in direct if ";" not in line} - {"mcp-lens"}
    assert names <= {line.partition("==")[0] for line in lines}


def test_markers_choose_the_version_of_a_package_locked_at_several_versions(tmp_path: Path) -> None:
    lock = tmp_path / "uv.lock"
    lock.write_text(FORKED_LOCK)
    assert requirements(lock, "test") == ["backend==1 --hash=sha256:0", "forked==3 --hash=sha256:3"]


def test_packages_for_windows_are_those_of_its_markers() -> None:
    names = {line.partition("==")[0] for line in requirements(LOCK, "test", "windows")}
    assert {"pywin32-ctypes", "colorama", "pytest", "pyside6-essentials"} <= names
    assert names.isdisjoint({"secretstorage", "jeepney"})


FORKED_LOCK = """
[[package]]
name = "mcp-lens"
source = { editable = "." }
dependencies = [{ name = "forked" }, { name = "absent", marker = "python_version < '3.11'" }]

[package.dev-dependencies]
build = [{ name = "backend" }]

[[package]]
name = "absent"
version = "1"

[[package]]
name = "backend"
version = "1"
wheels = [{ hash = "sha256:0" }]

[[package]]
name = "forked"
version = "2"
resolution-markers = ["python_version < '3.11'"]
wheels = [{ hash = "sha256:2" }]

[[package]]
name = "forked"
version = "3"
resolution-markers = ["python_version >= '3.11'"]
wheels = [{ hash = "sha256:3" }]
"""

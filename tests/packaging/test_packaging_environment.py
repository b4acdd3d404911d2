"""The environment in .venv: created once, kept while it is valid, recreated otherwise."""

from __future__ import annotations

import os
import re
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.packaging.packaging_sandbox import Sandbox

UPDATED = ["pip install -r [demo]", "pip install ."]
CREATED = ["venv", *UPDATED]


@pytest.fixture
def sandbox(tmp_path: Path) -> Sandbox:
    return Sandbox(tmp_path)


@pytest.fixture
def ready(sandbox: Sandbox) -> Sandbox:
    """A tree in which `packaging/run` has run once."""
    assert sandbox.run("packaging/run").returncode == 0
    assert sandbox.calls() == CREATED
    return sandbox


def test_second_run_starts_immediately(ready: Sandbox) -> None:
    (ready.bin / "python3").unlink()  # nothing may need it any more
    result = ready.run("packaging/run")
    assert result.returncode == 0
    assert result.stdout.startswith("mcp-lens ")
    assert ready.calls() == []


@pytest.mark.parametrize("name", ["pyproject.toml", "uv.lock"])
def test_changed_requirements_are_installed(ready: Sandbox, name: str) -> None:
    with (ready.tree / name).open("a") as file:
        file.write("# changed\n")
    assert ready.run("packaging/run").returncode == 0
    assert ready.calls() == UPDATED


def test_packages_changed_by_another_installer_are_repaired(ready: Sandbox) -> None:
    later = ready.stamp.stat().st_mtime + 60
    os.utime(ready.venv / "lib/python3.11/site-packages", (later, later))
    ready.run("packaging/run")
    assert ready.calls() == UPDATED


def test_test_environment_also_runs_the_app(sandbox: Sandbox) -> None:
    sandbox.run("packaging/test")
    assert sandbox.calls() == ["venv", "pip install -r [test]", "pip install ."]
    sandbox.run("packaging/run")
    assert sandbox.calls() == []


def test_demo_environment_is_extended_into_the_test_environment(ready: Sandbox) -> None:
    ready.run("packaging/test")
    assert ready.calls() == ["pip install -r [test]", "pip install ."]


def test_interrupted_setup_starts_over(sandbox: Sandbox) -> None:
    sandbox.notify("pip-failure", "ERROR: half way")
    sandbox.run("packaging/run")
    assert sandbox.stamp.read_text().startswith("installing\n")
    sandbox.forget("pip-failure")
    sandbox.calls()
    result = sandbox.run("packaging/run")
    assert "Recreating .venv" in result.stderr
    assert sandbox.calls() == CREATED


def test_environment_whose_python_is_gone_is_recreated(ready: Sandbox) -> None:
    python = ready.venv / "bin/python"
    python.unlink()
    python.symlink_to("/nowhere/python3.11")
    assert ready.run("packaging/run").returncode == 0
    assert ready.calls() == CREATED


def test_moved_environment_is_recreated(ready: Sandbox) -> None:
    moved = ready.tree.with_name("moved")
    ready.tree.rename(moved)
    ready.tree = moved
    assert ready.run("packaging/run").returncode == 0
    assert ready.calls() == CREATED


def test_manually_created_environment_is_kept(ready: Sandbox) -> None:
    ready.stamp.unlink()
    ready.run("packaging/run")
    assert ready.calls() == UPDATED


@pytest.mark.parametrize(
    ("log", "cause"),
    [
        (
            "Retrying after connection broken by 'NewConnectionError(...)': /simple/x/\nERROR: No",
            "cannot be reached",
        ),
        (
            "SSLError([SSL: CERTIFICATE_VERIFY_FAILED] self-signed)",
            "certificate of the package index is not trusted",
        ),
        ("ERROR: [Errno 28] No space left on device", "the disk is full; free some space"),
        (
            "ERROR: No matching distribution found for qasync==0.28 (from -r file)\nmore",
            "finds no package for qasync==0.28; check",
        ),
        ("ERROR: odd things\nmore", 'pip reported "odd things"; fix that'),
        (
            "ERROR: THESE PACKAGES DO NOT MATCH THE HASHES FROM THE REQUIREMENTS FILE.",
            "does not match its hash in uv.lock",
        ),
    ],
)
def test_pip_failure_is_one_sentence_with_cause_fix_and_log(sandbox: Sandbox, log: str, cause: str) -> None:
    sandbox.notify("pip-failure", log)
    result = sandbox.run("packaging/run")
    sentence = result.stderr.splitlines()[-1]
    assert result.returncode == 1
    assert sentence.startswith("mcp-lens: Could not install MCP Lens: ")
    assert cause in sentence
    assert "and run this again." in sentence
    named_log = Path(sentence.rpartition("pip's log: ")[2])
    assert named_log.read_text() == f"{log}\n"
    assert result.stdout == ""


@pytest.fixture
def real_python(sandbox: Sandbox) -> Sandbox:
    """A tree whose .venv uses this Python and its pip."""
    if find_spec("pip") is None:
        pytest.skip("this Python has no pip")
    python = sandbox.venv / "bin/python"
    python.parent.mkdir(parents=True)
    python.write_text(f'#!/usr/bin/env bash\nexec "{sys.executable}" "$@"\n')
    python.chmod(0o755)
    return sandbox


def test_unreadable_lock_file_is_named_with_the_fix(real_python: Sandbox) -> None:
    (real_python.tree / "uv.lock").write_text("<<<<<<< HEAD\n")
    result = real_python.run("packaging/run")
    assert result.returncode == 1
    assert result.stderr.splitlines()[1:] == [
        "mcp-lens: Could not read uv.lock; restore it with: git checkout uv.lock"
    ]


def test_modules_in_the_current_folder_do_not_affect_a_real_python(real_python: Sandbox) -> None:
    """With the real pip, without an index and in dry-run mode: it gets as far as failing."""
    for module in ("pip", "tomllib", "httpx2"):
        (real_python.work / f"{module}.py").write_text("raise SystemExit('taken from the current folder')")
    no_index = {
        "PIP_NO_INDEX": "1",
        "PIP_DRY_RUN": "1",
        "PIP_IGNORE_INSTALLED": "1",
        "PIP_CONFIG_FILE": os.devnull,
    }
    result = real_python.run("packaging/run", PYTHONPATH=str(real_python.work), **no_index)
    assert result.returncode == 1
    assert (real_python.venv / "requirements.txt").read_text().count("==") > 20
    assert re.search(r"pip finds no package for [a-z0-9-]+==[0-9.]+;", result.stderr)
    assert "current folder" not in result.stderr + (real_python.venv / "pip.log").read_text()

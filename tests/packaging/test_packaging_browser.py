"""The browser for the login tests: part of their setup, but optional."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.helpers import browser
from tests.packaging.packaging_sandbox import PROJECT, Sandbox

INSTALLS = "apt-get -qq -y install --no-install-recommends chromium"
UPDATES = "apt-get -qq -y update"


@pytest.fixture
def sandbox(tmp_path: Path) -> Sandbox:
    return Sandbox(tmp_path)


@pytest.fixture
def root(sandbox: Sandbox) -> Sandbox:
    sandbox.notify("uid", "0")
    return sandbox


def test_root_installs_the_browser(root: Sandbox) -> None:
    result = root.run("packaging/test", "-q")
    assert root.calls()[-1] == INSTALLS
    assert result.stderr.splitlines()[-1] == "mcp-lens: Installing with apt-get: chromium"
    assert result.stdout == f"pytest -q [offscreen] in {root.tree}\n"
    root.run("packaging/test", "-q")
    assert root.calls() == []


@pytest.mark.parametrize("name", browser.NAMES)
def test_existing_browser_is_enough(root: Sandbox, name: str) -> None:
    (root.bin / name).hardlink_to(root.bin / "tool")
    assert root.run("packaging/test", "-q").returncode == 0
    assert INSTALLS not in root.calls()


def test_the_app_itself_needs_no_browser(root: Sandbox) -> None:
    assert root.run("packaging/run", DISPLAY=":0").returncode == 0
    assert root.calls() == ["venv", "pip install -r [demo]", "pip install ."]


def test_failed_install_does_not_stop_the_tests_and_is_tried_once(root: Sandbox) -> None:
    root.notify("no-packages", "yes")
    result = root.run("packaging/test", "-q")
    assert result.returncode == 0
    assert root.calls()[-2:] == [INSTALLS, UPDATES]
    assert result.stderr.splitlines()[-1] == (
        "mcp-lens: No browser found, so the login tests that need one are skipped. "
        "To run them, install one with: apt-get install -y chromium"
    )
    again = root.run("packaging/test", "-q")
    assert (again.returncode, again.stderr, root.calls()) == (0, "", [])


def test_non_root_user_is_shown_the_command_once(sandbox: Sandbox) -> None:
    result = sandbox.run("packaging/test", "-q")
    assert result.returncode == 0
    assert result.stderr.splitlines()[-1].endswith("install one with: sudo apt-get install -y chromium")
    assert sandbox.run("packaging/test", "-q").stderr == ""


def test_without_apt_the_browser_is_named(sandbox: Sandbox) -> None:
    (sandbox.bin / "apt-get").unlink()
    result = sandbox.run("packaging/test", "-q")
    assert result.returncode == 0
    assert result.stderr.splitlines()[-1].endswith("To run them, install Chromium")


def test_setup_and_tests_look_for_the_same_browser_names() -> None:
    script = (PROJECT / "packaging/setup/browser.sh").read_text()
    found = re.search(r"BROWSER_NAMES=\((.*)\)", script)
    assert found is not None
    assert tuple(found[1].split()) == browser.NAMES

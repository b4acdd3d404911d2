"""Doctor names environment variables that were not passed to the server and fit the failure."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest

from inspector.config.servers.entries import StdioEntry
from inspector.engine.doctor.check_run import apply_fix
from inspector.engine.doctor.results import Action, ActionKind, Diagnosis
from inspector.engine.doctor.rules.variables import name_variables
from tests.unit.engine.doctor.doctor_stage import checked, make_program, path_with, python

FAILS = "import sys; sys.stderr.write(sys.argv[1]); sys.exit(1)"


@pytest.mark.parametrize(
    "text",
    [
        "Error: GITHUB_TOKEN is not set",
        "Usage: server\nEnvironment: GITHUB_TOKEN is needed",
        "Traceback (most recent call last):\nKeyError: 'GITHUB_TOKEN'",
    ],
)
async def test_variable_that_is_set_but_was_not_passed_is_named(
    monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    monkeypatch.setenv("GITHUB_TOKEN", "ghp_12345678")
    report = await checked(python(FAILS, text))
    assert report.failure.id == "variable-not-passed"
    assert report.failure.cause == (
        "The environment variable GITHUB_TOKEN is set for MCP Lens, but not passed to the server, whose "
        "output mentions it."
    )
    assert "Pass my whole environment" in report.failure.fix
    assert report.failure.action == Action(ActionKind.ADD_VARIABLES, "Pass GITHUB_TOKEN", "GITHUB_TOKEN")
    assert "ghp_12345678" not in report.text


async def test_variable_that_is_not_set_anywhere_is_reported_as_missing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("GITHUB_TOKEN", raising=False)
    report = await checked(python(FAILS, "Error: GITHUB_TOKEN is not set"))
    assert report.failure.id == "variable-missing"


async def test_variable_that_was_passed_is_not_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GITHUB_TOKEN", "ghp_12345678")
    entry = python(FAILS, "Error: GITHUB_TOKEN is not set")
    for passed in (replace(entry, env={"GITHUB_TOKEN": "x"}), replace(entry, inherit_environment=True)):
        assert (await checked(passed)).failure.id == "variable-missing"


def test_fix_passes_the_variables_by_reference() -> None:
    entry = StdioEntry(name="srv", command="x", env={"MODE": "fast"})
    fixed = apply_fix(entry, Action(ActionKind.ADD_VARIABLES, "Pass A_B, C_D", "A_B C_D"), None)
    assert isinstance(fixed, StdioEntry)
    assert fixed.env == {"MODE": "fast", "A_B": "${A_B}", "C_D": "${C_D}"}


@pytest.mark.parametrize(
    ("id", "name"),
    [
        ("installer-distrusts", "NPM_CONFIG_CAFILE"),
        ("installer-offline", "NPM_CONFIG_REGISTRY"),
        ("docker-down", "DOCKER_HOST"),
    ],
)
def test_network_failure_names_the_variables_that_fit(id: str, name: str) -> None:
    diagnosis = Diagnosis(id, "handshake", "It failed.", "Fix it.")
    named = name_variables(diagnosis, [], "npx", {name: "x", "OTHER_KEY": "x"}, {"PATH": "x"})
    assert f"It failed. The environment variable {name} is set for MCP Lens" in named.cause
    assert named.action is not None
    assert name_variables(diagnosis, [], "npx", {name: "x"}, {name: "x"}) == diagnosis


@pytest.mark.parametrize(
    ("command", "passed", "needed"),
    [
        ("npx", "SSL_CERT_FILE", "NODE_EXTRA_CA_CERTS"),
        ("/usr/bin/node", "SSL_CERT_FILE", "NODE_EXTRA_CA_CERTS"),
        ("uvx", "NODE_EXTRA_CA_CERTS", "SSL_CERT_FILE"),
    ],
)
def test_certificate_failure_names_the_variable_that_the_runtime_reads(
    command: str, passed: str, needed: str
) -> None:
    diagnosis = Diagnosis("installer-distrusts", "handshake", "It failed.", "Fix it.")
    environment = {passed: "/etc/ca.pem"}
    named = name_variables(diagnosis, [], command, environment, environment)
    assert f"{passed} is passed to it, but" in named.cause
    assert f"reads {needed}." in named.cause
    assert f"{needed} with the value ${{{passed}}}" in named.fix


async def test_certificate_error_of_npx_is_explained_by_a_variable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in os.environ:
        if "CERT" in name or "CA_" in name or "CAINFO" in name or "cafile" in name.lower():
            monkeypatch.delenv(name)
    monkeypatch.setenv("NPM_CONFIG_CAFILE", "/etc/company.pem")
    make_program(tmp_path, "npx", "sys.exit('npm error code SELF_SIGNED_CERT_IN_CHAIN')")
    entry = StdioEntry(name="srv", command="npx", args=("-y", "x"), env=path_with(tmp_path))
    failure = (await checked(entry)).failure
    assert failure.id == "variable-not-passed"
    assert "NPM_CONFIG_CAFILE is set for MCP Lens" in failure.cause


async def test_report_lists_the_names_of_inherited_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTPS_PROXY", "http://me:pr0xy-password@proxy:3128")
    monkeypatch.setenv("GITHUB_TOKEN", "ghp_12345678")
    report = await checked(python("print('not JSON')"))
    details = "\n".join(report.results["settings"].details)
    assert "HTTPS_PROXY" in details
    assert "GITHUB_TOKEN" not in details
    assert "pr0xy-password" not in report.text


async def test_installer_is_named_while_it_downloads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("inspector.engine.doctor.program_probe._VERSION_TIMEOUT", 0.5)
    make_program(tmp_path, "npx", "sys.stdin.read()")
    entry = StdioEntry(name="srv", command="npx", args=("-y", "x"), env=path_with(tmp_path))
    failure = (await checked(entry, limit=0.5)).failure
    assert failure.id == "still-installing"
    assert "npx was still downloading or installing" in failure.cause
    assert "--connect-timeout" in failure.fix

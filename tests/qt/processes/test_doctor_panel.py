"""Doctor tab: the checks of a failing server, and the buttons that fix it."""

from __future__ import annotations

import asyncio
import shlex
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QApplication

from inspector.config.servers.entries import HttpEntry, StdioEntry
from inspector.engine.doctor.results import Action, ActionKind, CheckResult, CheckState, Diagnosis
from inspector.engine.views import ServerStatus
from inspector.qt.panels.doctor.panel import DoctorPanel
from inspector.qt.panels.doctor.steps import FindingView, StepList
from inspector.qt.theme import Theme
from inspector.qt.window.tabs import DOCTOR
from tests.qt.lens_driver import Lens, faulty, visible_text
from tests.qt.widgets.test_hostile_text import HOSTILE, assert_harmless
from tests.unit.engine.doctor.broken_hosts import Broken, with_tools
from tests.unit.engine.doctor.self_signed import self_signed

ICONS = Path(__file__).parents[3] / "resources" / "icons"


@pytest.fixture
def theme(qapp: QApplication) -> Theme:
    return Theme(ICONS)


@contextmanager
def served(server: Broken) -> Iterator[Broken]:
    """Serve in a separate thread with its own loop: the window's loop is busy with the test."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    asyncio.run_coroutine_threadsafe(server.__aenter__(), loop).result()
    try:
        yield server
    finally:
        asyncio.run_coroutine_threadsafe(server.stop(), loop).result()
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


def missing(name: str = "broken") -> StdioEntry:
    args = ("-I", "-S", "-c", "import no_such_module")
    return StdioEntry(name=name, command=sys.executable, args=args, era="2025-11-25")


def run_doctor(lens: Lens, entry: StdioEntry | HttpEntry) -> DoctorPanel:
    """Return the Doctor tab of a server after a run."""
    lens.add(entry)
    lens.choose(entry.name)
    lens.do("server.doctor")
    panel = lens.workspace.panel(DOCTOR)
    ended(lens, panel)
    return panel


def ended(lens: Lens, panel: DoctorPanel) -> None:
    lens.until(lambda: panel.report is not None and not panel.report.is_running)


def test_no_check_runs_before_it_is_requested(lens: Lens) -> None:
    lens.add(faulty("srv"))
    lens.choose("srv")
    lens.do("view.doctor")
    assert "Not checked yet" in visible_text(lens.workspace.panel(DOCTOR))
    assert lens.view("srv").pid is None


def test_working_server_is_reported_and_can_be_connected_from_here(lens: Lens) -> None:
    panel = run_doctor(lens, faulty("srv"))
    assert panel.summary.text() == "Everything works."
    assert panel.findings == []
    assert {row.result.state for row in panel.steps.rows.values()} == {CheckState.OK}
    assert "Connect" in visible_text(panel)
    lens.do("server.connect")
    lens.until(lambda: lens.view("srv").status is ServerStatus.CONNECTED)
    lens.settle()
    assert "starts a second instance" in visible_text(panel)


def test_failure_is_shown_with_its_step_cause_and_fix(lens: Lens) -> None:
    panel = run_doctor(lens, missing())
    assert panel.summary.text() == "Failed at “MCP handshake”."
    (finding,) = panel.findings
    assert "no_such_module" in finding.cause.text()
    assert "virtual environment" in finding.fix.text()
    assert "ModuleNotFoundError" in finding.evidence.text()
    assert panel.steps.rows["handshake"].result.state is CheckState.FAILED
    assert "skipped" in panel.steps.rows["list"].found.text()


def test_folder_of_a_missing_interpreter_is_added_to_the_path_of_the_server(
    lens: Lens, tmp_path: Path
) -> None:
    """As for npx of nvm, which needs node from its folder."""
    real = faulty("srv")
    node = f"#!/bin/sh\nexec {shlex.join((real.command, *real.args))}\n"
    for name, text in (("lens-npx", "#!/usr/bin/env lens-node\n"), ("lens-node", node)):
        (tmp_path / name).write_text(text)
        (tmp_path / name).chmod(0o755)
    panel = run_doctor(lens, StdioEntry(name="srv", command=str(tmp_path / "lens-npx")))
    assert panel.summary.text() == "Failed at “Command”."
    (finding,) = panel.findings
    assert finding.apply_action.text() == "Add this folder to the server's PATH"
    assert str(tmp_path) in finding.cause.text()
    finding.apply_action.trigger()
    lens.until(
        lambda: panel.report is not None and not panel.report.is_running and not panel.report.diagnoses
    )
    assert panel.summary.text() == "Everything works."
    assert lens.view("srv").path_source == "set for this server, then as MCP Lens was started"


def test_check_can_be_cancelled(lens: Lens) -> None:
    lens.add(faulty("srv", "silent"))
    lens.choose("srv")
    lens.do("server.doctor")
    panel = lens.workspace.panel(DOCTOR)
    lens.until(lambda: "output" in panel.steps.rows)
    assert "Doctor is running" in panel.summary.text()
    panel.stop_action.trigger()
    ended(lens, panel)
    assert panel.summary.text() == "Doctor was stopped."
    assert "Run Doctor again" in visible_text(panel)


@pytest.mark.usefixtures("checks_failed_servers")
def test_failing_server_in_front_is_checked_and_a_link_opens_the_doctor(lens: Lens) -> None:
    lens.add(missing())
    lens.choose("broken")
    lens.do("server.connect")
    lens.until(lambda: lens.workspace.strips.text("doctor"))
    assert "no_such_module" in lens.workspace.strips.text("doctor")
    lens.window.doctor_notice._show_diagnosis.trigger()
    panel = lens.workspace.panel(DOCTOR)
    lens.until(lambda: panel.findings)  # the tab shows findings from before it was created
    assert lens.workspace.is_at("doctor")
    assert lens.workspace.strips.text("doctor") == ""


def test_automatic_checks_can_be_disabled(lens: Lens) -> None:
    lens.add(missing())
    lens.choose("broken")
    lens.do("server.connect")
    lens.wait_for("broken", ServerStatus.FAILED)
    lens.settle()
    assert lens.ask(lambda engine: engine.doctor.latest("broken")) is None


@pytest.mark.usefixtures("checks_failed_servers")
def test_background_server_is_not_checked(lens: Lens) -> None:
    lens.add(missing())
    lens.add(faulty("other"))
    lens.choose("broken")
    lens.choose("other")
    lens.ask(lambda engine: engine.servers.connector.connect_soon("broken"))
    lens.until(lambda: lens.view("broken").status is ServerStatus.FAILED)
    lens.settle()
    assert lens.ask(lambda engine: engine.doctor.latest("broken")) is None


def test_certificate_is_trusted_after_confirmation_and_the_server_then_works(
    lens: Lens, tmp_path: Path
) -> None:
    (tmp_path / "tls").mkdir()
    with served(Broken(with_tools, tls=self_signed(tmp_path / "tls"))) as server:
        panel = run_doctor(lens, HttpEntry(name="web", url=server.url()))
        (finding,) = panel.findings
        assert finding.diagnosis.id == "certificate-self-signed"
        assert "SHA-256" in finding.evidence.text()
        finding.apply_action.trigger()
        assert "compare the fingerprint" in finding.confirmation.text("trust")
        assert lens.ask(lambda engine: engine.doctor.latest("web")) is panel.report
        finding.trust_action.trigger()
        lens.until(lambda: panel.summary.text() == "Everything works.")


def test_rejecting_the_confirmation_changes_nothing(theme: Theme) -> None:
    wanted: list[Action] = []
    action = Action(ActionKind.TRUST_CERTIFICATE, "Trust this certificate…", "pem")
    view = FindingView(theme, Diagnosis("x", "tls", "A cause.", "A fix.", action=action))
    view.action_requested.connect(wanted.append)
    view.apply_action.trigger()
    view.cancel_action.trigger()
    assert wanted == []
    assert view.confirmation.text("trust") == ""


def test_required_login_opens_the_auth_tab(lens: Lens) -> None:
    from tests.unit.engine.doctor.test_doctor_urls import FULL, Guarded

    with served(Guarded(FULL)) as server:  # type: ignore[arg-type]
        panel = run_doctor(lens, HttpEntry(name="web", url=server.url()))
        (finding,) = panel.findings
        finding.apply_action.trigger()
        assert lens.workspace.is_at("auth")


def test_the_report_is_copied_as_text_without_secrets(lens: Lens) -> None:
    code = "import os, sys; sys.exit('no: ' + os.environ['API_KEY'])"
    secret = "tr0ub4dor-and-3"
    entry = StdioEntry(
        name="srv", command=sys.executable, args=("-I", "-S", "-c", code), env={"API_KEY": secret}
    )
    panel = run_doctor(lens, entry)
    QGuiApplication.clipboard().clear()
    panel.copy_action.trigger()
    lens.until(lambda: QGuiApplication.clipboard().text())
    text = QGuiApplication.clipboard().text()
    assert "[XX] MCP handshake" in text
    assert "no: •••" in text
    assert secret not in text
    assert secret not in visible_text(panel)


def test_step_details_are_shown_on_click(theme: Theme) -> None:
    steps = StepList(theme)
    steps.show_results((CheckResult("tls", CheckState.OK, "TLSv1.3", 5, ("one", "two")),))
    row = steps.rows["tls"]
    assert "one" not in visible_text(steps)
    row.more.click()
    assert row.details is not None
    assert row.details.text() == "one\ntwo"
    steps.show_results((CheckResult("tls", CheckState.OK, "TLSv1.3", 5, ("three",)),))
    assert row.details.text() == "three"
    steps.show_results(())
    assert steps.rows == {}


def test_server_text_stays_plain_text(theme: Theme) -> None:
    text = HOSTILE
    finding = FindingView(
        theme, Diagnosis("x", "tls", text, text, (text,), Action(ActionKind.USE_URL, "Use", ""))
    )
    steps = StepList(theme)
    steps.show_results((CheckResult("tls", CheckState.FAILED, text, 5, (text,)),))
    steps.rows["tls"].more.click()
    assert_harmless(finding)
    assert_harmless(steps)

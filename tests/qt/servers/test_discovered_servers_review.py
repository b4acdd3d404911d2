"""Check of a discovered server before it is trusted: findings without running anything."""

from __future__ import annotations

from pathlib import Path

from inspector.config.foreign.discovery import DiscoveredFile, Source
from inspector.engine.servers.views import DiscoveryReport, Trust
from inspector.qt.models.discovered_servers import configured_text, summary_text
from tests.qt.lens_driver import Lens, visible_text
from tests.qt.servers.test_discovered_servers_panel import choose, local, names, open_panel, view, write


def test_missing_command_is_reported_before_it_is_trusted(project: Path, lens: Lens) -> None:
    write(project, broken={"command": "no-such-program-anywhere", "args": ["--token", "hunter2hunter2"]})
    panel = open_panel(lens)
    choose(panel, "broken")
    panel.review.check_action.trigger()
    lens.until(
        lambda: "Could not start no-such-program-anywhere: not found on PATH." in visible_text(panel.alert)
    )
    assert "full path" in visible_text(panel.alert)
    assert "hunter2" not in visible_text(panel.alert)


def test_existing_command_is_reported_as_found_and_not_started(project: Path, lens: Lens) -> None:
    marker = project / "ran"
    write(project, fine={"command": "/bin/sh", "args": ["-c", f"touch {marker}"]})
    panel = open_panel(lens)
    choose(panel, "fine")
    panel.review.check_action.trigger()
    lens.until(lambda: "/bin/sh" in visible_text(panel.alert))
    assert "not started" in visible_text(panel.alert)
    assert view(panel, "fine").trust is not Trust.GIVEN
    assert not marker.exists()
    assert names(lens) == []


def test_check_result_is_hidden_when_another_server_is_selected(project: Path, lens: Lens) -> None:
    write(project, broken={"command": "no-such-program-anywhere"}, fine=local())
    panel = open_panel(lens)
    choose(panel, "broken")
    panel.review.check_action.trigger()
    lens.until(lambda: "no-such-program-anywhere" in visible_text(panel.alert))
    choose(panel, "fine")
    assert "no-such-program-anywhere" not in visible_text(panel.alert)


def test_summary_counts_unreadable_files_separately(lens: Lens, tmp_path: Path) -> None:
    broken = DiscoveredFile(Source("Cursor", "user", tmp_path / "mcp.json"), problem="line 1: no")
    readable = DiscoveredFile(Source("Codex", "user", tmp_path / "config.toml"))
    report = DiscoveryReport(files=(broken, readable))
    assert summary_text(report) == "0 servers in 1 file, 1 file could not be read"
    assert configured_text(report).endswith(" 1 file could not be read.")

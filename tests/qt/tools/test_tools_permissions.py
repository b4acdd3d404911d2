"""Claude Code's permission rules, shown in the header of the selected tool."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from inspector.base.json.values import JSON
from inspector.config.foreign.discovery import ConfigLocation
from tests.qt.lens_driver import Lens, scripted, visible_text


@pytest.fixture
def settings(project: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The only file that is searched. Request it before `lens`."""
    path = project / "settings.json"
    location = ConfigLocation("Claude Code", "folder", path, "claude-settings", project, has_rules=True)
    monkeypatch.setattr("inspector.app.backend.local_locations", lambda folder=None: (location,))
    return path


def _write(path: Path, **permissions: JSON) -> None:
    path.write_text(json.dumps({"permissions": permissions}))


def _scan(lens: Lens) -> None:
    lens.ask(lambda engine: engine.discovery.scan())


def test_rule_of_claude_code_is_shown_on_the_tool_with_its_file(settings: Path, lens: Lens) -> None:
    _write(settings, ask=["mcp__my_server__*"], deny=["mcp__my_server__waits"])
    _scan(lens)
    panel = lens.connect(scripted("my server"))
    badge = panel.call_view.head.permission
    lens.until(lambda: badge.text == "Claude Code: asks")
    assert "Claude Code: asks" in visible_text(panel)
    assert "Claude Code asks before every call of this tool." in badge.toolTip()
    assert f"Rule: ask “mcp__my_server__*” in project settings, {settings}" in badge.toolTip()
    assert str(settings) in badge.accessibleDescription()
    panel.choose("waits")
    assert badge.text == "Claude Code: denies"
    assert "Also: ask “mcp__my_server__*”" in badge.toolTip()


def test_rules_are_updated_by_the_next_search(settings: Path, lens: Lens) -> None:
    panel = lens.connect(scripted("my server"))
    badge = panel.call_view.head.permission
    _write(settings, allow=["mcp__my_server"])
    _scan(lens)
    lens.until(lambda: badge.text == "Claude Code: allows")
    _write(settings, allow=["mcp__<b>other</b>"])
    _scan(lens)
    lens.until(lambda: badge.text == "")
    assert not badge.isVisibleTo(panel)
    _write(settings, allow=["mcp__*"])
    _scan(lens)
    lens.until(lambda: badge.text == "Claude Code: rule skipped")
    assert "Claude Code applies no rule to this tool." in badge.toolTip()

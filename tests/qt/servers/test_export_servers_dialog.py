"""Export servers dialog: selection, preview, copy and save without secrets."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication

from inspector.config.foreign.discovery import ConfigLocation
from inspector.config.foreign.export import EXPORT_FORMAT_NAMES
from inspector.config.foreign.paste import read_pasted
from inspector.config.servers.entries import HttpEntry, SecretRef, StdioEntry
from inspector.qt.dialogs.servers.export_servers import ExportServersDialog
from tests.qt.lens_driver import Lens, visible_text

TOKEN = "s3cret-Zq9-marker"
FILES = StdioEntry(
    name="files",
    command="npx",
    args=("-y", "server-files", "${HOME}/x"),
    env={"API_KEY": SecretRef("env/files/API_KEY")},
    cwd="/srv",
)
REMOTE = HttpEntry(name="remote", url="https://mcp.example.com/mcp", headers={"X-API-Key": TOKEN})


def open_dialog(lens: Lens) -> ExportServersDialog:
    for entry in (FILES, REMOTE):
        lens.ask(lambda engine: engine.servers.save_with_secrets(entry, {}))  # noqa: B023
    lens.until(lambda: lens.window.servers.model.rowCount() == 2)
    lens.choose("files")
    lens.do("server.export")
    dialog = lens.dialog(ExportServersDialog)
    lens.until(dialog.copy_action.isEnabled)
    return dialog


def choose(lens: Lens, dialog: ExportServersDialog, text: str) -> None:
    """Choose the format whose label starts with this text."""
    labels = [dialog.format.itemText(row) for row in range(dialog.format.count())]
    dialog.format.setCurrentIndex(next(row for row, label in enumerate(labels) if label.startswith(text)))
    lens.settle()


def test_current_server_is_checked_and_others_can_be_added(lens: Lens) -> None:
    dialog = open_dialog(lens)
    assert dialog.chosen() == ["files"]
    dialog.all_action.trigger()
    lens.until(lambda: '"remote"' in dialog.preview.text())
    assert set(json.loads(dialog.preview.text())["mcpServers"]) == {"files", "remote"}
    dialog.none_action.trigger()
    assert "No servers selected" in visible_text(dialog)
    assert not dialog.copy_action.isEnabled()
    dialog.close()


def test_each_format_previews_a_readable_file_without_secrets(lens: Lens) -> None:
    dialog = open_dialog(lens)
    assert dialog.format.count() == len(EXPORT_FORMAT_NAMES) + 1
    dialog.all_action.trigger()
    lens.until(dialog.copy_action.isEnabled)
    for row in (*range(1, dialog.format.count()), 0):
        dialog.format.setCurrentIndex(row)
        if "registry" in dialog.format.currentText():
            dialog.servers.item(1).setCheckState(Qt.CheckState.Unchecked)  # it takes one
        lens.until(dialog.copy_action.isEnabled)
        assert TOKEN not in dialog.preview.text()
        found = read_pasted(dialog.preview.text())
        assert any(isinstance(each.entry, StdioEntry) for each in found), dialog.format.currentText()
    dialog.close()


def test_fields_a_format_does_not_support_are_listed(lens: Lens) -> None:
    dialog = open_dialog(lens)
    choose(lens, dialog, "Claude Desktop")
    lens.until(lambda: "Omitted (unsupported by Claude Desktop): cwd" in visible_text(dialog))
    choose(lens, dialog, "MCP registry")
    dialog.all_action.trigger()
    lens.until(lambda: "describes only one server" in visible_text(dialog))
    assert not dialog.save_action.isEnabled()
    dialog.close()


def test_preview_is_what_is_copied_and_saved(lens: Lens, tmp_path: Path) -> None:
    dialog = open_dialog(lens)
    dialog.copy_action.trigger()
    assert QGuiApplication.clipboard().text() == dialog.preview.text()
    path = tmp_path / "mine.json"
    dialog.save_to(path)
    assert path.read_text() == dialog.preview.text()
    assert str(path) in dialog.alert.text("saved")
    dialog.save_to(tmp_path)
    assert "not" in dialog.alert.text("saved")
    dialog.close()


def test_file_of_another_client_is_not_written(
    lens: Lens, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    theirs = tmp_path / ".mcp.json"
    theirs.write_text("{}")
    position = ConfigLocation("Claude Code", "user", theirs, "mcp.json")
    monkeypatch.setattr("inspector.qt.dialogs.servers.export_servers.local_locations", lambda: (position,))
    dialog = open_dialog(lens)
    dialog.save_to(tmp_path / "." / ".mcp.json")
    assert "it is another client's configuration file, which MCP Lens never changes." in dialog.alert.text(
        "saved"
    )
    assert theirs.read_text() == "{}"
    dialog.close()

"""Discovered servers panel: nothing runs before the user trusts it, and then exactly that runs."""

from __future__ import annotations

import gc
import json
import sys
import weakref
from pathlib import Path

import pytest
from PySide6.QtCore import QEvent, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QLineEdit, QPlainTextEdit, QWidget

from inspector.base.json.values import JSON, JSONObject
from inspector.engine.servers.views import DiscoveredServerView, DiscoveryReport, Trust
from inspector.engine.views import ServerStatus
from inspector.qt.panels.discovered_servers.panel import DiscoveredServersPanel, DiscoveredServersTree
from inspector.qt.theme import Theme
from tests.qt.lens_driver import Lens, scripted, visible_text

ARGS = scripted().args
ICONS = Path(__file__).parents[3] / "resources" / "icons"


def write(project: Path, **servers: JSONObject) -> None:
    (project / ".mcp.json").write_text(json.dumps({"mcpServers": servers}))


def local(*more: str, **members: object) -> JSONObject:
    return {"command": sys.executable, "args": [*ARGS, *more], **members}  # type: ignore[dict-item]


def open_panel(lens: Lens) -> DiscoveredServersPanel:
    lens.ask(lambda engine: engine.discovery.scan())
    lens.until(lambda: not lens.window.servers.discovered.isHidden())
    QTest.mouseClick(lens.window.servers.discovered, Qt.MouseButton.LeftButton)
    panel = lens.window.discovered_servers
    lens.until(lambda: panel.report.files)
    return panel


def view(panel: DiscoveredServersPanel, name: str) -> DiscoveredServerView:
    return next(each for each in panel.report.servers if each.name == name)


def choose(panel: DiscoveredServersPanel, name: str) -> None:
    assert panel.tree.choose(view(panel, name).id)


def names(lens: Lens) -> list[str]:
    return [each.name for each in lens.window.servers.model.views()]


def all_text(panel: DiscoveredServersPanel) -> str:
    """Return the visible text, including text that is scrolled out of view."""
    boxes = panel.review.findChildren(QPlainTextEdit)
    return "\n".join([visible_text(panel.review), *(box.toPlainText() for box in boxes)])


def test_discovered_server_is_shown_in_full_and_nothing_is_run(project: Path, lens: Lens) -> None:
    marker = project / "touched"
    long = "x" * 4_000
    write(project, evil={"command": "touch", "args": [str(marker), "; rm -rf /", long]})
    panel = open_panel(lens)
    choose(panel, "evil")
    box = panel.review.findChild(QPlainTextEdit)
    assert box is not None
    assert box.toPlainText().split("\n") == ["touch", str(marker), "; rm -rf /", long]
    assert "not trusted" in visible_text(panel)
    assert names(lens) == []
    assert not marker.exists()


def test_trusted_server_is_connected_and_comes_to_the_front(project: Path, lens: Lens) -> None:
    write(project, mine=local())
    panel = open_panel(lens)
    choose(panel, "mine")
    panel.review.trust_action.trigger()
    lens.until(lambda: names(lens) == ["mine"])
    lens.wait_for("mine", ServerStatus.CONNECTED)
    lens.until(lambda: lens.workspace.view.name == "mine")
    assert lens.view("mine").origin
    assert not lens.actions["server.edit"].isEnabled(), "the file is somebody else's"
    assert not lens.server_list.exists()


def test_change_after_trusting_is_shown_and_not_started(project: Path, lens: Lens) -> None:
    write(project, mine=local())
    panel = open_panel(lens)
    choose(panel, "mine")
    panel.review.trust_action.trigger()
    lens.until(lambda: names(lens) == ["mine"])
    lens.wait_for("mine", ServerStatus.CONNECTED)
    lens.do("server.disconnect")
    lens.wait_for("mine", ServerStatus.IDLE)
    write(project, mine=local("--and-something-else"))
    lens.do("server.connect")
    lens.wait_for("mine", ServerStatus.FAILED)
    panel.search_action.trigger()
    lens.until(lambda: view(panel, "mine").trust is Trust.CHANGED)
    lens.window.servers.choose_discovered()
    choose(panel, "mine")
    text = visible_text(panel.review)
    assert "Changes since you trusted it" in text
    assert "--and-something-else" in text


def test_trust_covers_only_what_was_shown(project: Path, lens: Lens) -> None:
    write(project, mine=local())
    panel = open_panel(lens)
    choose(panel, "mine")
    write(project, mine=local("--swapped"))
    panel.review.trust_action.trigger()
    lens.until(lambda: panel.alert.text("failed"))
    assert names(lens) == []


def test_import_makes_an_independent_copy(project: Path, lens: Lens) -> None:
    write(project, mine=local())
    before = (project / ".mcp.json").read_bytes()
    panel = open_panel(lens)
    choose(panel, "mine")
    panel.review.import_action.trigger()
    lens.until(lambda: names(lens) == ["mine"])
    assert json.loads(lens.server_list.read_text())["mcpServers"]["mine"]["command"] == sys.executable
    assert lens.view("mine").status is ServerStatus.IDLE
    assert (project / ".mcp.json").read_bytes() == before


def test_variables_are_substituted_one_by_one_as_they_are_checked(
    project: Path, lens: Lens, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LENS_SECRET", "s3cret")
    write(project, mine=local("${LENS_SECRET}"))
    panel = open_panel(lens)
    choose(panel, "mine")
    assert list(panel.review.variables) == ["LENS_SECRET"]
    assert not panel.review.variables["LENS_SECRET"].isChecked()
    panel.review.trust_action.trigger()
    lens.until(lambda: names(lens) == ["mine"])
    lens.wait_for("mine", ServerStatus.FAILED)
    assert "LENS_SECRET" in lens.view("mine").reason


def test_inputs_are_asked_for_and_stored_as_secrets(project: Path, lens: Lens) -> None:
    document = {
        "mcpServers": {"mine": local("${input:key}")},
        "inputs": [{"type": "promptString", "id": "key", "description": "Your key", "password": True}],
    }
    (project / ".mcp.json").write_text(json.dumps(document))
    panel = open_panel(lens)
    choose(panel, "mine")
    field = panel.review.inputs["key"]
    assert isinstance(field, QLineEdit)
    QTest.keyClicks(field, "s3cret-input")
    panel.review.trust_action.trigger()
    lens.until(lambda: names(lens) == ["mine"])
    lens.wait_for("mine", ServerStatus.CONNECTED)
    for path in lens.folder.rglob("*"):
        if path.is_file():
            assert b"s3cret-input" not in path.read_bytes(), path


def test_revoking_trust_removes_the_server(project: Path, lens: Lens) -> None:
    write(project, mine=local())
    panel = open_panel(lens)
    choose(panel, "mine")
    panel.review.trust_action.trigger()
    lens.until(lambda: names(lens) == ["mine"])
    lens.wait_for("mine", ServerStatus.CONNECTED)
    lens.window.servers.choose_discovered()
    choose(panel, "mine")
    panel.review.distrust_action.trigger()
    lens.until(lambda: names(lens) == [])
    lens.until(lambda: view(panel, "mine").trust is Trust.NONE)


def test_broken_file_is_shown_with_its_path_and_broken_server_beside_good_ones(
    project: Path, lens: Lens
) -> None:
    write(project, good=local(), bad={"args": ["x"]})
    panel = open_panel(lens)
    choose(panel, "bad")
    assert "command" in visible_text(panel.review)
    assert not panel.review.trust_action.isEnabled()
    choose(panel, "good")
    assert panel.review.trust_action.isEnabled()
    (project / ".mcp.json").write_text('{"mcpServers": {\n  "a": {,}\n}}')
    panel.search_action.trigger()
    lens.until(lambda: panel.report.files[0].problem)
    assert "line 2" in visible_text(panel.review)


def test_hidden_characters_of_a_command_are_visible(project: Path, lens: Lens) -> None:
    write(project, odd={"command": "run", "args": ["a\u202eb", "two\nlines"]})
    panel = open_panel(lens)
    choose(panel, "odd")
    box = panel.review.findChild(QPlainTextEdit)
    assert box is not None
    assert box.toPlainText().split("\n") == ["run", "a⟨U+202E⟩b", "two␊lines"]


def test_nothing_found_says_where_it_was_searched(project: Path, lens: Lens) -> None:
    lens.do("app.found")
    panel = lens.window.discovered_servers
    lens.until(lambda: "No servers found" in visible_text(panel))
    assert ".mcp.json" in visible_text(panel)


def test_last_of_many_variables_is_shown_like_the_first(project: Path, lens: Lens) -> None:
    """A malicious variable would be hidden behind hundreds of harmless ones."""
    harmless: JSONObject = {f"HARMLESS_{number}": "1" for number in range(300)}
    write(project, mine=local(env={**harmless, "LD_PRELOAD": "/tmp/evil.so"}))
    panel = open_panel(lens)
    choose(panel, "mine")
    assert "LD_PRELOAD = /tmp/evil.so" in all_text(panel).splitlines()
    assert "It sets LD_PRELOAD, which can make programs run other code." in all_text(panel)


def test_last_of_many_changes_is_shown_like_the_first(project: Path, lens: Lens) -> None:
    before: JSONObject = {f"V_{number}": "1" for number in range(150)}
    write(project, mine=local(env=before))
    panel = open_panel(lens)
    choose(panel, "mine")
    panel.review.trust_action.trigger()
    lens.until(lambda: names(lens) == ["mine"])
    write(project, mine=local(env=dict.fromkeys(before, "2") | {"NODE_OPTIONS": "-r /tmp/x"}))
    lens.window.servers.choose_discovered()
    panel.search_action.trigger()
    lens.until(lambda: view(panel, "mine").trust is Trust.CHANGED)
    choose(panel, "mine")
    lines = all_text(panel).splitlines()
    assert "env.V_149: 1 → 2" in lines
    assert "env.NODE_OPTIONS: not present → -r /tmp/x" in lines


def test_argument_looks_like_one_whatever_it_contains(project: Path, lens: Lens) -> None:
    write(project, spoof={"command": "node", "args": ["a\u2029--inspect\u2028b\n--c"]})
    panel = open_panel(lens)
    choose(panel, "spoof")
    box = panel.review.findChild(QPlainTextEdit)
    assert box is not None
    assert box.toPlainText().split("\n") == ["node", "a⟨U+2029⟩--inspect⟨U+2028⟩b␊--c"]


def test_long_argument_is_not_hidden_in_a_single_line_field(project: Path, lens: Lens) -> None:
    write(project, long={"command": "node", "args": ["x " * 1000 + "--evil"]}, short={"command": "node"})
    panel = open_panel(lens)
    heights: dict[str, int] = {}
    for name in ("short", "long"):
        choose(panel, name)
        box = panel.review.findChildren(QPlainTextEdit)[-1]
        assert box.isVisible()
        heights[name] = box.height()
        assert name == "long" or box.verticalScrollBar().maximum() == 0
    assert heights["long"] > 5 * heights["short"]


def test_variable_used_in_a_header_is_shown(project: Path, lens: Lens) -> None:
    write(
        project, far={"url": "https://h.example/mcp", "headers": {"Authorization": "Bearer ${GITHUB_TOKEN}"}}
    )
    panel = open_panel(lens)
    choose(panel, "far")
    assert "Authorization = Bearer ${GITHUB_TOKEN}" in all_text(panel)


def test_copy_is_possible_once_all_its_variables_are_checked(project: Path, lens: Lens) -> None:
    write(project, mine=local("${LENS_SECRET:-x}"))
    panel = open_panel(lens)
    choose(panel, "mine")
    panel.review.import_action.trigger()
    lens.until(lambda: "LENS_SECRET" in panel.alert.text("failed"))
    assert names(lens) == []
    panel.review.variables["LENS_SECRET"].setChecked(True)
    panel.review.import_action.trigger()
    lens.until(lambda: names(lens) == ["mine"])


def test_program_beside_the_file_is_not_trusted_but_can_be_imported(project: Path, lens: Lens) -> None:
    write(project, mine={"command": "./run.sh"})
    panel = open_panel(lens)
    choose(panel, "mine")
    assert not panel.review.trust_action.isEnabled()
    assert "Import a copy" in all_text(panel)
    panel.review.import_action.trigger()
    lens.until(lambda: names(lens) == ["mine"])


def test_review_of_an_enormous_server_does_not_hold_up_the_window(project: Path, lens: Lens) -> None:
    wants: list[JSON] = [f"${{V{number}}}" for number in range(20_000)]
    named: JSONObject = {"command": "node"}
    write(
        project,
        first={"command": "node"},
        wants={"command": "node", "args": wants},
        long={"command": "node", "args": ["x" * 4_000_000]},
        many={"command": "node", "env": {f"V{number}": "x" * 50 for number in range(20_000)}},
        **{"n" * 2_000_000: named},
    )
    panel = open_panel(lens)
    for name in ("wants", "long", "many", "n" * 2_000_000):
        choose(panel, name)
        panel.review.grab()
        assert len(all_text(panel)) < 1_000_000
        assert len(panel.review.findChildren(QWidget)) < 1_000
        assert not panel.review.trust_action.isEnabled()
        assert not panel.review.import_action.isEnabled()


def test_deleted_tree_frees_its_report_while_the_theme_lives(qapp: QApplication) -> None:
    theme = Theme(ICONS)
    tree = DiscoveredServersTree(theme)
    tree.show_report(DiscoveryReport())
    freed = weakref.ref(tree)
    tree.deleteLater()
    QApplication.sendPostedEvents(tree, QEvent.Type.DeferredDelete)
    del tree
    gc.collect()
    assert freed() is None
    theme.changed.emit()

"""Manual edits of the server list file: announced, shown field by field, applied."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

from PySide6.QtCore import QModelIndex

from inspector.engine.views import ServerStatus
from inspector.qt.dialogs.servers.server_list_changes import ServerListChangesDialog
from inspector.qt.window.tabs import OVERVIEW
from tests.qt.lens_driver import Lens, scripted, visible_text


def change(lens: Lens, edit: Callable[[dict[str, Any]], object]) -> None:
    """Edit the file like a text editor, and wait until the watch has seen it."""
    document = json.loads(lens.server_list.read_text())
    edit(document["mcpServers"])
    lens.server_list.write_text(json.dumps(document))
    lens.ask(lambda engine: engine.server_list_watch.reload())
    lens.settle()


def rows(dialog: ServerListChangesDialog) -> list[tuple[str, ...]]:
    model = dialog.tree.model()

    def within(parent: QModelIndex) -> Iterator[tuple[str, ...]]:
        for row in range(model.rowCount(parent)):
            yield tuple(str(model.index(row, column, parent).data() or "") for column in range(3))
            yield from within(model.index(row, 0, parent))

    return list(within(QModelIndex()))


def test_manual_edit_is_announced_and_shown_field_by_field(lens: Lens) -> None:
    for name in ("one", "two"):
        lens.keep(scripted(name))
    lens.choose("one")
    lens.do("server.connect")
    lens.wait_for("one", ServerStatus.CONNECTED)

    def edit(servers: dict[str, Any]) -> None:
        servers["one"]["args"].append("--more")
        servers["one"]["env"] = {"API_KEY": "sk-marker-123456"}
        servers["three"] = {"command": "somewhere"}
        del servers["two"]

    change(lens, edit)
    lens.until(lambda: lens.window.strips.text("server_list"))
    assert lens.window.strips.text("server_list") == (
        "servers.json changed on disk: 1 added, 1 removed, 1 changed."
    )
    lens.press("Show…", lens.window.strips)
    shown = rows(lens.dialog(ServerListChangesDialog))
    assert ("+ three", "", "added") in shown
    assert ("− two", "", "removed") in shown
    assert (f"args[{len(scripted().args)}]", "not present", "--more") in shown
    assert "sk-marker" not in str(shown), "no secret is shown"
    assert [view.name for view in lens.window.servers.model.views()] == ["one", "three"]
    assert lens.view("one").status is ServerStatus.CONNECTED, "it goes on as it was"
    assert "The configuration changed" in lens.workspace.panel(OVERVIEW).alert.text("outdated")

    change(lens, lambda servers: servers.pop("three"))
    lens.until(lambda: "1 removed" in lens.window.strips.text("server_list"))
    dialog = lens.dialog(ServerListChangesDialog)
    assert ("− three", "", "removed") in rows(dialog), "an open dialog goes along"
    dialog.close()
    lens.press("Dismiss", lens.window.strips)
    assert lens.window.strips.text("server_list") == ""


def test_writes_of_mcp_lens_are_not_announced(lens: Lens) -> None:
    lens.keep(scripted("one"))
    lens.choose("one")
    lens.do("server.enable")
    lens.wait_for("one", ServerStatus.DISABLED)
    change(lens, lambda servers: None)
    assert lens.window.strips.text("server_list") == ""
    assert "changed by hand" not in visible_text(lens.window)


def test_selected_server_stays_selected_when_renamed_in_the_file(lens: Lens) -> None:
    for name in ("one", "two", "three"):
        lens.keep(scripted(name, notes=name))
    lens.choose("two")
    lens.do("server.connect")
    lens.wait_for("two", ServerStatus.CONNECTED)

    def edit(servers: dict[str, Any]) -> None:
        before = list(servers.items())
        servers.clear()
        servers.update({"second" if name == "two" else name: value for name, value in before})

    change(lens, edit)
    lens.wait_for("second", ServerStatus.CONNECTED)
    view = lens.window.current_view()
    assert view is not None
    assert view.name == "second"
    lens.until(lambda: lens.window.strips.text("server_list"))
    assert lens.window.strips.text("server_list") == "servers.json changed on disk: 1 renamed."
    lens.press("Show…", lens.window.strips)
    assert ("≠ two", "", "renamed to second") in rows(lens.dialog(ServerListChangesDialog))


def test_broken_file_is_reported_until_fixed_and_disables_nothing(lens: Lens) -> None:
    lens.keep(scripted("one"))
    lens.choose("one")
    whole = lens.server_list.read_text()
    lens.server_list.write_text(whole[:-4])
    lens.ask(lambda engine: engine.server_list_watch.reload())
    lens.until(lambda: "is not valid JSON" in lens.window.notices.text())
    lens.actions["server.enable"].trigger()
    lens.until(lambda: lens.actions["server.enable"].isChecked())
    assert lens.view("one").status is ServerStatus.IDLE
    assert "before" not in visible_text(lens.window.notices), "the same problem counts once"
    lens.server_list.write_text(whole)
    lens.ask(lambda engine: engine.server_list_watch.reload())
    lens.until(lambda: not lens.window.notices.isVisible())

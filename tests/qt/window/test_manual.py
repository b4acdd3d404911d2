"""The manual: its pages, search, links, and F1 at the page of the focused panel."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from PySide6.QtCore import Qt, QUrl
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QWidget

from inspector.config.paths import resource_folder
from inspector.qt.actions import shortcuts_page
from inspector.qt.dialogs.help import PAGES, ManualDialog, read_pages
from inspector.qt.dialogs.servers.add_server import AddServerDialog
from inspector.qt.window.tabs import TAB_IDS, TOOLS
from tests.qt.lens_driver import Lens, scripted

FOLDER = resource_folder() / "help"


def test_every_help_file_is_a_page_of_the_manual() -> None:
    files = {path.stem for path in FOLDER.glob("*.md")}
    assert files - {"changelog"} == set(PAGES)
    titles = [page.title for page in read_pages(FOLDER)]
    assert len(set(titles)) == len(PAGES)


@pytest.mark.parametrize("name", PAGES)
def test_links_lead_to_other_pages(name: str) -> None:
    links = re.findall(r"\]\(([^)]+)\)", (FOLDER / f"{name}.md").read_text(encoding="utf-8"))
    assert [link for link in links if Path(link).stem not in PAGES or Path(link).suffix != ".md"] == []


def test_shortcuts_page_lists_the_commands() -> None:
    page = (FOLDER / "shortcuts.md").read_text(encoding="utf-8")
    assert page == shortcuts_page(), "write shortcuts_page() to resources/help/shortcuts.md"


def test_search_lists_matching_pages_and_marks_the_words(lens: Lens) -> None:
    lens.do("help.manual")
    dialog = lens.dialog(ManualDialog)
    assert dialog.list.count() == len(PAGES)
    dialog.search.setText("Regression expected")
    lens.until(lambda: dialog.list.count() < len(PAGES))
    assert dialog.page() == "tools"
    assert dialog.text.extraSelections()
    assert dialog.text.textCursor().selectedText().casefold() in ("regression", "expected")
    dialog.search.setText("no page has qwxyz")
    lens.until(lambda: dialog.list.count() == 0)
    assert "No matches" in dialog.text.toPlainText()
    dialog.open_page("login")
    assert dialog.page() == "login"
    assert dialog.search.text() == ""
    dialog.close()


def test_link_opens_the_page_in_the_manual(lens: Lens) -> None:
    lens.do("help.manual")
    dialog = lens.dialog(ManualDialog)
    dialog.text.anchorClicked.emit(QUrl("troubleshooting.md"))
    assert dialog.page() == "troubleshooting"
    dialog.text.anchorClicked.emit(QUrl("https://example.com/login.md"))
    assert dialog.page() == "troubleshooting"
    dialog.close()


def test_f1_opens_the_page_of_the_focused_panel(lens: Lens) -> None:
    lens.connect(scripted())
    lens.window.traffic.search.setFocus()
    assert press_f1(lens) == "traffic"
    lens.window.show_tab("tools")
    workspace = lens.window.workspace()
    assert workspace is not None
    workspace.panel(TOOLS).list.setFocus()
    assert press_f1(lens) == "tools"


def test_f1_works_in_a_dialog(lens: Lens) -> None:
    lens.do("server.add")
    dialog = lens.dialog(AddServerDialog)
    lens.until(lambda: QApplication.activeWindow() is dialog)
    QTest.keyClick(dialog, Qt.Key.Key_F1)
    manual = lens.dialog(ManualDialog)
    assert manual.page() == "servers"
    manual.close()
    dialog.close()


def test_every_tab_names_its_page(lens: Lens) -> None:
    lens.connect(scripted())
    workspace = lens.window.workspace()
    assert workspace is not None
    for tab in TAB_IDS:
        lens.window.show_tab(tab)
        panels = [workspace.tabs.currentWidget(), *workspace.tabs.currentWidget().findChildren(QWidget)]
        pages = {getattr(panel, "help_page", "") for panel in panels} - {""}
        assert pages <= set(PAGES), tab
        assert pages, tab


def press_f1(lens: Lens) -> str:
    QTest.keyClick(lens.window, Qt.Key.Key_F1)
    dialog = lens.dialog(ManualDialog)
    page = dialog.page()
    dialog.close()
    return page

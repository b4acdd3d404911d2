"""Tabs that come and go."""

from __future__ import annotations

from PySide6.QtWidgets import QTabWidget


def show_tab(tabs: QTabWidget, place: int, is_shown: bool) -> None:
    """Show or hide a tab.

    Without a change, QTabBar.setTabVisible makes the bar skip a pending layout: the gap of a hidden tab
    would stay.
    """
    if tabs.isTabVisible(place) != is_shown:
        tabs.setTabVisible(place, is_shown)

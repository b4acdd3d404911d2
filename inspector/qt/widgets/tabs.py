"""Tabs that come and go."""

from __future__ import annotations

from PySide6.QtWidgets import QTabWidget


def show_tab(tabs: QTabWidget, place: int, is_shown: bool) -> None:
    """Show a tab or hide it. QTabBar.setTabVisible without a change makes the bar forget to lay out a change
    that came just before: the gap of a hidden tab would stay."""
    if tabs.isTabVisible(place) != is_shown:
        tabs.setTabVisible(place, is_shown)

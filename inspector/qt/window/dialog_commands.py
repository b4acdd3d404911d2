"""Dialogs of the whole application: settings, secrets, call variables, saved calls, rules, help.

Each is imported when it is first opened; none of them is modal.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, QSettings
from PySide6.QtWidgets import QApplication

from inspector.qt.bridge import Bridge
from inspector.qt.theme import Scheme, Theme
from inspector.qt.window.tabs import TOOLS

if TYPE_CHECKING:
    from inspector.qt.panels.traffic.panel import TrafficPanel
    from inspector.qt.window.main_window import MainWindow


class DialogCommands(QObject):
    """Opens the dialogs. `layout` is the settings file of the window, `help_folder` holds the help texts."""

    def __init__(
        self, window: MainWindow, bridge: Bridge, theme: Theme, layout: QSettings, help_folder: Path
    ) -> None:
        super().__init__(window)
        self._window = window
        self._bridge = bridge
        self._theme = theme
        self._layout = layout
        self._help_folder = help_folder

    def open_variables(self) -> None:
        from inspector.qt.dialogs.variables import VariablesDialog

        workspace = self._window.workspace()
        tools = workspace.existing(TOOLS) if workspace is not None else None
        folder = tools.call_view.folder if tools is not None else None
        dialog = VariablesDialog(self._bridge, self._theme, self._window, folder=folder)
        dialog.saved.connect(self._on_variables_saved)
        dialog.show()

    def open_saved_calls(self) -> None:
        from inspector.qt.dialogs.saved_calls import SavedCallsDialog

        dialog = SavedCallsDialog(self._bridge, self._theme, self._window)
        dialog.open_requested.connect(self._window.command_palette.open_saved)
        dialog.show()

    def open_reply_rules(self) -> None:
        from inspector.qt.dialogs.inbox.reply_rules import ReplyRulesDialog

        language = self._window.traffic.language
        ReplyRulesDialog(self._bridge, self._theme, language.complete, language.check, self._window).show()

    def open_secrets(self) -> None:
        from inspector.qt.dialogs.secrets import SecretsDialog

        SecretsDialog(self._bridge, self._theme, self._window).show()

    def open_settings(self) -> None:
        """Open the settings, or raise the window if it is already open."""
        from inspector.qt.dialogs.settings import OwnSetting, SettingsDialog

        window = self._window
        for dialog in window.findChildren(SettingsDialog):
            if dialog.isVisible():
                dialog.raise_()
                dialog.activateWindow()
                return
        scheme = OwnSetting(lambda: self._theme.scheme.value, lambda value: window.set_scheme(Scheme(value)))
        SettingsDialog(
            self._bridge,
            self._theme,
            window.actions_table.__getitem__,
            {"look.scheme": scheme},
            {"layout": Path(self._layout.fileName())},
            window,
        ).show()

    def open_server_secrets(self) -> None:
        from inspector.qt.dialogs.servers.server_secrets import ServerSecretsDialog

        view = self._window.current_view()
        if view is not None:
            ServerSecretsDialog(self._bridge, view, self._theme, self._window).show()

    def open_whats_new(self) -> None:
        from inspector.qt.dialogs.help import WhatsNewDialog

        WhatsNewDialog(self._theme, self._help_folder / "changelog.md", self._window).show()

    def open_manual(self, page: str = "") -> None:
        """Open the manual at `page`, by default that of the focused panel."""
        from inspector.qt.dialogs.help import ManualDialog, page_about

        page = page or page_about(QApplication.focusWidget() or QApplication.activeWindow())
        open_ones = [each for each in self._window.findChildren(ManualDialog) if each.isVisible()]
        dialog = open_ones[0] if open_ones else ManualDialog(self._theme, self._help_folder, self._window)
        dialog.open_page(page)
        dialog.show()
        dialog.raise_()
        dialog.activateWindow()

    def open_filter_help(self) -> None:
        self.open_manual("filters")

    def open_shortcuts(self) -> None:
        self.open_manual("shortcuts")

    def open_color_rules(self, panel: TrafficPanel) -> None:
        """Edit the color rules of all traffic panels; suggestions are for this one."""
        from inspector.qt.dialogs.traffic.color_rules import ColorRulesDialog

        language = panel.language
        options = self._window.traffic_options
        ColorRulesDialog(options, self._theme, language.complete, language.check, self._window).show()

    def open_about(self) -> None:
        from inspector.qt.dialogs.help import AboutDialog

        AboutDialog(self._theme, self._window).show()

    def _on_variables_saved(self) -> None:
        for workspace in self._window.workspaces.values():
            if (tools := workspace.existing(TOOLS)) is not None:
                tools.call_view.refresh_variables()

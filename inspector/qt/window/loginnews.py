"""Logins in a window: the browser is opened for them, and one that waits for the person says so."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject
from PySide6.QtGui import QAction

from inspector.base.errors import UserError
from inspector.base.plaintext import one_line
from inspector.base.weblink import may_open, read_link
from inspector.engine.logins import LoginWanted
from inspector.oauth.occasions import Occasion
from inspector.oauth.steps import LoginView
from inspector.qt.opener import Opener

if TYPE_CHECKING:
    from inspector.qt.window.mainwindow import MainWindow


class LoginNews(QObject):
    """Reports logins that are not in view. Created for the first login."""

    def __init__(self, window: MainWindow) -> None:
        super().__init__(window)
        self._window = window
        self.opener = Opener()
        self._shows: dict[str, QAction] = {}

    def put(self, login: LoginView) -> None:
        """Handle a changed login."""
        name = one_line(login.server)
        if login.is_over or self._is_in_view(login.server):
            self._take_back(login.server)
        elif login.question is not None:
            self._say(login.server, f"The login of {name} has a question.")
        elif login.waiting is not None:
            self._say(login.server, f"{name} waits until you have logged in in the browser.")
        else:
            self._take_back(login.server)

    def want(self, wanted: LoginWanted) -> None:
        """Report that a server in use requires a login. On connect, the server's state shows it."""
        if wanted.occasion is not Occasion.CONNECT and not self._is_in_view(wanted.server):
            self._say(wanted.server, f"{one_line(wanted.server)}: {one_line(wanted.reason)}")

    def open_page(self, url: str) -> None:
        """Open a login page after the user started the login. Raises UserError.

        Without a browser the login continues all the same: the user may have one elsewhere.
        """
        try:
            self.opener.open(url)
        except UserError as exc:
            if may_open(read_link(url)):  # returns why not
                raise
            self._window.notices.show_problem(f"{exc.summary} {exc.next_step}".strip())

    # --------------------------------------------------------------

    def _is_in_view(self, server: str) -> bool:
        workspace = self._window.workspaces.get(server)
        return workspace is not None and workspace.is_at("auth")

    def _say(self, server: str, words: str) -> None:
        if server not in self._shows:
            self._shows[server] = QAction("Show login", self)
            self._shows[server].triggered.connect(partial(self._show, server))
        self._window.strips.say(_about(server), words, self._shows[server])

    def _take_back(self, server: str) -> None:
        self._window.strips.take_back(_about(server))

    def _show(self, server: str) -> None:
        self._window.servers.choose(server)
        self._window.show_tab("auth")
        self._take_back(server)


def _about(server: str) -> str:
    return f"login {server}"

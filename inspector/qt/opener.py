"""The one place that hands an address to the system. Every link of the application goes through it.

An address from a server can be `file:`, a command of some installed program, or a host that two readers
read differently. So: only http and https (`base.weblink`), only what Qt reads exactly as we showed it,
written in plain letters, with no shell, and only from a click.
"""

from __future__ import annotations

from collections.abc import Callable
from ipaddress import ip_address
from pathlib import Path

from PySide6.QtCore import QUrl
from PySide6.QtGui import QDesktopServices

from inspector.base.errors import UserError
from inspector.base.weblink import Link, may_open, read_link


class Opener:
    """Opens web addresses, vetted. `launch` is what really does it; tests hand in another."""

    def __init__(self, launch: Callable[[QUrl], bool] = QDesktopServices.openUrl) -> None:
        self._launch = launch

    def open(self, url: str) -> None:
        """Open an address in the system's browser. Raises UserError when it must not or cannot be opened."""
        target = _vetted(read_link(url))
        if not self._launch(target):
            raise UserError("The system could not open a browser.", "Copy the address instead.")

    def open_folder(self, folder: Path) -> None:
        """Show a folder of ours in the system's file manager. Never a file: some program would start, or be
        started. Raises UserError."""
        if not folder.is_dir():
            raise UserError(
                f"There is no folder {folder} yet.", "It is made when there is something to keep."
            )
        if not self._launch(QUrl.fromLocalFile(str(folder.resolve()))):
            raise UserError("The system could not open a file manager.", "Copy the path instead.")


def _vetted(link: Link) -> QUrl:
    reason = may_open(link)
    if reason:
        raise UserError(f"This address is not opened. {reason}", "Ask whoever runs the server for another.")
    target = QUrl(link.encoded(), QUrl.ParsingMode.StrictMode)
    if not _is_same(link, target):
        raise UserError(
            "This address is not opened. Programs read it in different ways: nobody can say where it leads.",
            "Ask whoever runs the server for another.",
        )
    return target


def _is_same(link: Link, target: QUrl) -> bool:
    """Does Qt see the place that the person saw, in what is opened and in the address as it was written?"""
    return (
        target.isValid()
        and target.scheme() == link.scheme
        and target.port() == (-1 if link.port is None else link.port)
        and bool(target.userInfo()) == bool(link.user)
        and _host(target) == _host(QUrl(link.url)) == link.ascii_host
    )


def _host(url: QUrl) -> str:
    host = url.host(QUrl.ComponentFormattingOption.FullyEncoded)
    try:
        return str(ip_address(host))  # Qt writes some of them in another way
    except ValueError:
        return host

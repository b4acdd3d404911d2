"""Opens vetted URLs and folders; the only module that hands them to the operating system.

A URL from a server may be a `file:` URL, use a custom scheme that starts an installed program, or have a
host that parsers disagree about. Therefore only http and https are opened (`base.web_link`), only if Qt
parses the URL to the same destination that the user was shown, in ASCII encoding and without a shell.
Callers open server URLs only on a user action. Files are never opened, only MCP Lens's own folders.
"""

from __future__ import annotations

from collections.abc import Callable
from ipaddress import ip_address
from pathlib import Path

from PySide6.QtCore import QUrl
from PySide6.QtGui import QDesktopServices

from inspector.base.errors import UserError
from inspector.base.web_link import Link, read_link


class LinkOpener:
    """Opens vetted URLs. `launch` does the actual opening; tests replace it."""

    def __init__(self, launch: Callable[[QUrl], bool] = QDesktopServices.openUrl) -> None:
        self._launch = launch

    def open(self, url: str) -> None:
        """Open a URL in the system browser. Raises UserError if it is not allowed or fails."""
        target = _vetted(read_link(url))
        if not self._launch(target):
            raise UserError("Could not open a browser.", "Copy the URL instead.")

    def open_folder(self, folder: Path) -> None:
        """Show an MCP Lens folder in the system's file manager. Raises UserError.

        Never opens a file: that would launch its default application, or execute the file.
        """
        if folder.exists() and not folder.is_dir():
            raise UserError(
                f"Could not open {folder}: it is a file, not a folder.",
                "Move or rename the file. The folder is created when there is something to save.",
            )
        if not folder.is_dir():
            raise UserError(
                f"The folder {folder} does not exist yet.", "It is created when there is something to save."
            )
        if not self._launch(QUrl.fromLocalFile(str(folder.resolve()))):
            raise UserError("Could not open a file manager.", "Copy the path instead.")


def _vetted(link: Link) -> QUrl:
    reason = link.problem
    if reason:
        raise UserError(f"MCP Lens blocked this URL. {reason}", "Ask the server's operator for another URL.")
    target = QUrl(link.encoded(), QUrl.ParsingMode.StrictMode)
    if not _has_same_destination(link, target):
        raise UserError(
            "MCP Lens blocked this URL. Its host is ambiguous: URL parsers disagree about it.",
            "Ask the server's operator for another URL.",
        )
    return target


def _has_same_destination(link: Link, target: QUrl) -> bool:
    """Return whether Qt parses the URL, as opened and as written, to the destination shown."""
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
        return str(ip_address(host))  # Qt formats some IP addresses differently
    except ValueError:
        return host

"""All servers out of what was pasted, one below the other, each to be ticked."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from PySide6.QtCore import QEvent, QObject, Qt, QTimer, Signal
from PySide6.QtWidgets import QFrame, QScrollArea, QVBoxLayout, QWidget

from inspector.base.errors import ConfigError
from inspector.base.jsonvalue import shorten
from inspector.base.plaintext import one_line
from inspector.config.entries import Entry
from inspector.config.finding import FoundServer
from inspector.qt.forms.pastedserver import PastedServer
from inspector.qt.theme import SPACE_2, SPACE_4, Theme

_SLICE = 4  # servers shown per step: a file may hold hundreds


class PastedList(QScrollArea):
    """The servers found in pasted text. `servers` are those already shown; more follow shortly.

    Signals:
        changed: More servers were shown, or the user ticked or typed something.
        laid_out: The content may need another height.
    """

    changed = Signal()
    laid_out = Signal()

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._found: tuple[FoundServer, ...] = ()
        self._taken: Collection[str] = ()
        self._is_typed = True
        self.servers: list[PastedServer] = []
        self._inside = QWidget()
        self._column = QVBoxLayout(self._inside)
        self._column.setContentsMargins(0, 0, SPACE_2, 0)
        self._column.setSpacing(SPACE_4)
        self._column.addStretch(1)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setWidgetResizable(True)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setWidget(self._inside)
        self._inside.installEventFilter(self)
        self._more = QTimer(self, interval=0)
        self._more.timeout.connect(self._show_more)

    @property
    def is_complete(self) -> bool:
        """True once all servers are shown."""
        return len(self.servers) == len(self._found)

    def chosen(self) -> list[PastedServer]:
        return [server for server in self.servers if server.is_chosen]

    def show_servers(self, found: tuple[FoundServer, ...], taken: Collection[str], *, is_typed: bool) -> None:
        """Replace the servers; `taken` names are not suggested."""
        self._found, self._taken, self._is_typed = found, taken, is_typed
        for surplus in self.servers[len(found) :]:
            self._column.removeWidget(surplus)
            surplus.hide()
            surplus.deleteLater()
        del self.servers[len(found) :]
        self._show_some(0)

    def wanted_height(self, width: int) -> int:
        """Return the height at which nothing has to scroll, for this width."""
        if not self.servers:
            return 0
        self._column.activate()
        by_width = self._column.totalHeightForWidth(width)
        return max(by_width, self._column.totalMinimumSize().height())

    def read(self, *, with_inputs: bool) -> list[tuple[Entry, dict[str, str]]]:
        """Return the ticked servers with their secrets.

        Raises ConfigError, also for a missing input value.
        """
        chosen: list[tuple[Entry, dict[str, str]]] = []
        for server in self.chosen():
            missing = server.missing() if with_inputs else None
            if missing is not None:
                what = shorten(one_line(missing.description or missing.id), 200)
                raise ConfigError(
                    f"{server.name_in_words()} asks for a value: {what}.",
                    "Give it, or add the server without connecting.",
                )
            entry, secrets = server.read()
            if entry.name in [each.name for each, _ in chosen]:
                words = f"Two servers are called {server.name_in_words()}."
                raise ConfigError(words, "Give one another name.")
            chosen.append((entry, secrets))
        return chosen

    def untick(self, names: Sequence[str]) -> None:
        for server in self.servers:
            if server.shown_name() in names:
                server.tick.setChecked(False)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if watched is self._inside and event.type() is QEvent.Type.LayoutRequest:
            self.laid_out.emit()
        return super().eventFilter(watched, event)

    # --------------------------------------------------------------

    def _show_more(self) -> None:
        self._show_some(len(self.servers))
        self.changed.emit()

    def _show_some(self, start: int) -> None:
        end = min(max(start + _SLICE, len(self.servers)), len(self._found))
        names = {*self._taken, *(server.suggested for server in self.servers[:start])}
        for place in range(start, end):
            if place == len(self.servers):
                self._add_server()
            suggested = _free(self._found[place].name, names)
            names.add(suggested)
            self.servers[place].show_server(
                self._found[place],
                suggested,
                is_alone=len(self._found) == 1,
                is_typed=self._is_typed,
            )
        if end < len(self._found):
            self._more.start()
        else:
            self._more.stop()

    def _add_server(self) -> None:
        server = PastedServer(self._theme)
        server.changed.connect(self.changed)
        self.servers.append(server)
        self._column.insertWidget(len(self.servers) - 1, server)
        server.show()


def _free(name: str, taken: Collection[str]) -> str:
    """Return the name, with a number appended if it is taken."""
    if name not in taken:
        return name
    return next(each for number in range(2, len(taken) + 3) if (each := f"{name} {number}") not in taken)

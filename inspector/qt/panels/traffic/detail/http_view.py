"""HTTP exchange of a message: request and response with headers, secrets masked."""

from __future__ import annotations

from functools import partial

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QCheckBox, QWidget

from inspector.base.errors import UserError
from inspector.base.json.values import JSON
from inspector.base.redaction import Redactor, is_secret_name, masked_url
from inspector.base.units import duration, size
from inspector.qt.theme import SPACE_3, Theme, Tone
from inspector.qt.widgets.code.json_view import JsonView
from inspector.qt.widgets.layout import hbox, vbox
from inspector.qt.widgets.notices.empty_state import ContentStack
from inspector.qt.widgets.text.key_value_list import Fact, KeyValueList
from inspector.traffic.filter.tree import Member, Path, path_text
from inspector.traffic.masking.masker import decoded, encoded, masked_excerpt
from inspector.traffic.records import HttpExchange

_SESSION_HEADER = "mcp-session-id"


class HttpView(QWidget):
    """Headers as text with secrets masked: the log has them, but screens are often shared.

    `secrets` reveals them; it is off for every new row.

    Signals:
        filter_requested: Filter for a value, or exclude it; as in `DetailView`.
    """

    filter_requested = Signal(str, object, bool)

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._exchange: HttpExchange | None = None
        self.facts = KeyValueList(theme)
        self.secrets = secrets_switch()
        self.secrets.toggled.connect(self._show_text)
        self.text = JsonView(theme, "HTTP headers")
        self.text.line_actions = self._line_actions
        self.facts.filter_requested.connect(self.filter_requested)
        page = QWidget()
        head = hbox(
            None, (self.facts, 1), (self.secrets, 0, Qt.AlignmentFlag.AlignTop), gap=-1, margin=(SPACE_3, 0)
        )
        vbox(page, head, (self.text, 1), margin=(0, SPACE_3, 0, 0))
        self._gate = ContentStack(theme, page)
        vbox(self, self._gate)

    def begin_row(self) -> None:
        """Prepare for another row: revealed secrets are masked again."""
        self._exchange = None
        self.secrets.setChecked(False)

    def show_exchange(self, exchange: HttpExchange | None) -> None:
        """Show an exchange; None if the row had no HTTP exchange or it is no longer known."""
        if exchange is not None and exchange == self._exchange:
            return
        self._exchange = exchange
        if exchange is None:
            sentence = "The message was sent over stdio, or its HTTP exchange is not in this capture."
            self._gate.explain("empty", "info", "No HTTP exchange", sentence)
            return
        self.facts.set_facts(_facts(exchange))
        self.secrets.setVisible(has_secrets(exchange))
        self._show_text()
        self._gate.open()

    def show_failure(self, error: UserError) -> None:
        """Show why the exchange cannot be read."""
        self._exchange = None
        self._gate.explain("failed", "", "Could not be read", error.summary, error.next_step)

    def _line_actions(self, line: int) -> list[QAction]:
        """Return a header's filter actions; none for a masked one, since the filter would show it."""
        header = header_at(self._exchange, line) if self._exchange is not None else None
        if header is None or (_is_masked(*header) and not self.secrets.isChecked()):
            return []
        # A line break in a value, invalid on the wire but possible in a file, moves the lines below it.
        shown = self.text.shown_text().split("\n")[line : line + 1]
        if not (shown and shown[0][2:].startswith(f"{header[0]}:")):
            return []
        path, actions = path_text(Path("http.header", (Member(header[0].lower()),))), []
        for text, exclude in (("Filter by this header", False), ("Exclude this header", True)):
            action = QAction(text)
            action.triggered.connect(partial(self.filter_requested.emit, path, header[1], exclude))
            actions.append(action)
        return actions

    def _show_text(self) -> None:
        if self._exchange is not None:
            text = exchange_text(self._exchange, show_secrets=self.secrets.isChecked())
            self.text.set_secret(self.secrets.isChecked())
            self.text.set_text(text, "text")


def secrets_switch() -> QCheckBox:
    switch = QCheckBox("Show secrets")
    switch.setToolTip("Show tokens, cookies and keys unmasked")
    return switch


def has_secrets(exchange: HttpExchange) -> bool:
    if any(_is_masked(*header) for header in (*exchange.request_headers, *exchange.response_headers)):
        return True
    return masked_url(exchange.url) != exchange.url or masked_excerpt(exchange.body) != exchange.body


def header_at(exchange: HttpExchange, line: int) -> tuple[str, str] | None:
    """Return the header at a line of `exchange_text`, counted from 0."""
    sent, received = exchange.request_headers, exchange.response_headers
    if 1 <= line <= len(sent):
        return sent[line - 1]
    first = len(sent) + len(_body_note(">", exchange.request_size)) + 3
    has_header = exchange.status is not None and first <= line < first + len(received)
    return received[line - first] if has_header else None


def exchange_text(exchange: HttpExchange, *, show_secrets: bool = False) -> str:
    """Return the headers of both sides, secrets masked, and a body that is not a message."""
    redactor = None if show_secrets else Redactor()
    url = exchange.url if show_secrets else masked_url(exchange.url)
    lines = [
        f"> {exchange.method} {url}",
        *_header_lines(">", exchange.request_headers, redactor),
        *_body_note(">", exchange.request_size),
        "",
    ]
    if exchange.status is not None:
        lines.append(f"< {exchange.http_version} {exchange.status}")
        lines += _header_lines("<", exchange.response_headers, redactor)
        lines += _body_note("<", 0 if exchange.body else exchange.response_size)
    elif not exchange.is_over:
        lines.append("< no response yet")
    if exchange.error:
        lines += ["", exchange.error]
    if exchange.body:
        body = exchange.body if show_secrets else masked_excerpt(exchange.body)
        lines += ["", body.decode(errors="replace")]
    return "\n".join(lines)


def _header_lines(mark: str, headers: tuple[tuple[str, str], ...], redactor: Redactor | None) -> list[str]:
    return [f"{mark} {name}: {_header_value(name, value, redactor)}" for name, value in headers]


def _header_value(name: str, value: str, redactor: Redactor | None) -> str:
    if redactor is None:
        return value
    return redactor.mask(value) if is_secret_name(name) else decoded(masked_excerpt(encoded(value)))


def _is_masked(name: str, value: str) -> bool:
    """Return whether a header is masked. Not only `Authorization`: `Location` may hold a secret."""
    return is_secret_name(name) or masked_excerpt(encoded(value)) != encoded(value)


def _body_note(mark: str, count: int) -> list[str]:
    return [f"{mark} … {size(count)} body: its messages have their own rows"] if count else []


def _facts(exchange: HttpExchange) -> list[Fact]:
    facts = [
        Fact("Status", *_status(exchange), term=_status_term(exchange)),
        Fact("Size", f"{size(exchange.request_size)} out, {size(exchange.response_size)} in"),
    ]
    if exchange.total_ns is not None:
        facts.append(Fact("Total", duration(exchange.total_ns), mono=True))
    if exchange.is_over and exchange.connect_ns is None:
        facts.append(Fact("Connection", "reused", tone="muted"))
    return [*facts, *_session_facts(exchange), *_redirect_facts(exchange)]


def _session_facts(exchange: HttpExchange) -> list[Fact]:
    sent, received = (
        _header(exchange.request_headers, _SESSION_HEADER),
        _header(exchange.response_headers, _SESSION_HEADER),
    )
    if received and received != sent:
        return [Fact("Session", "started by this response" if not sent else "ID differs from the one sent")]
    return [Fact("Session", "continued")] if sent else []


def _redirect_facts(exchange: HttpExchange) -> list[Fact]:
    target = _header(exchange.response_headers, "location")
    is_redirect = exchange.status is not None and 300 <= exchange.status < 400
    return [Fact("Redirected to", masked_url(target), mono=True)] if is_redirect and target else []


def _header(headers: tuple[tuple[str, str], ...], name: str) -> str:
    return next((value for each, value in headers if each.lower() == name), "")


def _status(exchange: HttpExchange) -> tuple[str, bool, Tone]:
    if exchange.status is None:
        return ("failed" if exchange.is_over else "pending"), True, "error" if exchange.is_over else "wait"
    tone: Tone = "ok" if exchange.status < 300 else "warn" if exchange.status < 400 else "error"
    return f"{exchange.status}", True, tone


def _status_term(exchange: HttpExchange) -> tuple[str, JSON] | None:
    return None if exchange.status is None else ("http.status", exchange.status)

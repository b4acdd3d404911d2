"""The HTTP exchange behind a message: request and answer with their headers, and where the time went."""

from __future__ import annotations

from PySide6.QtWidgets import QVBoxLayout, QWidget

from inspector.base.redact import Redactor, is_secret_name, masked_url
from inspector.base.units import duration, size
from inspector.qt.theme import SPACE_2, SPACE_3, Theme, Tone
from inspector.qt.widgets.jsonview import JsonView
from inspector.qt.widgets.keyvalue import Fact, KeyValueList
from inspector.traffic.records import HttpExchange


class HttpView(QWidget):
    """Headers as text, secrets masked: they are whole in the log, and a screen is often shared."""

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.facts = KeyValueList(theme)
        self.text = JsonView(theme, "HTTP headers")
        column = QVBoxLayout(self)
        column.setContentsMargins(0, SPACE_3, 0, 0)
        column.setSpacing(SPACE_2)
        padded = QVBoxLayout()
        padded.setContentsMargins(SPACE_3, 0, SPACE_3, 0)
        padded.addWidget(self.facts)
        column.addLayout(padded)
        column.addWidget(self.text, 1)

    def show_exchange(self, exchange: HttpExchange) -> None:
        self.facts.set_facts(_facts(exchange))
        self.text.set_text(exchange_text(exchange), "text")


def exchange_text(exchange: HttpExchange) -> str:
    """Both heads as they went over the wire, but for masked secrets, and the body that was no message."""
    redactor = Redactor()
    lines = [
        f"> {exchange.method} {masked_url(exchange.url)}",
        *_header_lines(">", exchange.request_headers, redactor),
        "",
    ]
    if exchange.status is not None:
        lines.append(f"< {exchange.http_version} {exchange.status}")
        lines += _header_lines("<", exchange.response_headers, redactor)
    elif not exchange.is_over:
        lines.append("< no answer yet")
    if exchange.error:
        lines += ["", exchange.error]
    if exchange.body:
        lines += ["", exchange.body.decode(errors="replace")]
    return "\n".join(lines)


def _header_lines(mark: str, headers: tuple[tuple[str, str], ...], redactor: Redactor) -> list[str]:
    return [
        f"{mark} {name}: {redactor.mask(value) if is_secret_name(name) else value}" for name, value in headers
    ]


def _facts(exchange: HttpExchange) -> list[Fact]:
    facts = [
        Fact("Status", *_status(exchange)),
        Fact("Sent", size(exchange.request_size), mono=True),
        Fact("Received", size(exchange.response_size), mono=True),
    ]
    times = {
        "DNS": exchange.dns_ns,
        "Connect": exchange.connect_ns,
        "TLS": exchange.tls_ns,
        "First byte": exchange.first_byte_ns,
        "Total": exchange.total_ns,
    }
    facts += [Fact(words, duration(time), mono=True) for words, time in times.items() if time is not None]
    if exchange.is_over and exchange.connect_ns is None:
        facts.append(Fact("Connection", "used before", tone="muted"))
    return facts


def _status(exchange: HttpExchange) -> tuple[str, bool, Tone]:
    if exchange.status is None:
        return ("failed" if exchange.is_over else "waiting"), True, "error" if exchange.is_over else "wait"
    tone: Tone = "ok" if exchange.status < 300 else "warn" if exchange.status < 400 else "error"
    return f"{exchange.status}", True, tone

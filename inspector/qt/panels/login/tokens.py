"""Token view of a login: expiry, scopes and claims; refresh, log out, delete."""

from __future__ import annotations

import time
from collections.abc import Callable

from PySide6.QtCore import Qt, QTimer, Signal
from PySide6.QtGui import QAction, QHideEvent, QShowEvent
from PySide6.QtWidgets import QFrame, QScrollArea, QVBoxLayout, QWidget

from inspector.base.json.values import pretty
from inspector.base.plain_text import one_line
from inspector.base.units import duration
from inspector.oauth.login.steps import TokenInfo
from inspector.protocol.auth.jwt import JwtView, read_jwt, times_of
from inspector.qt.panels.login.step_parts import SecretValue
from inspector.qt.theme import SPACE_3, SPACE_4, Theme, Tone
from inspector.qt.widgets.inputs.controls import ActionButton
from inspector.qt.widgets.layout import STRETCH, discard, hbox, vbox
from inspector.qt.widgets.notices.empty_state import ContentStack
from inspector.qt.widgets.notices.notices import Alert
from inspector.qt.widgets.text.key_value_list import Fact, KeyValueList
from inspector.qt.widgets.text.labels import Heading, MutedLabel, PlainLabel

_TICK_MS = 1_000
_EXPIRES_SOON_S = 60  # seconds left at which a token is refreshed
_MAX_CLAIMS_LENGTH = 12_000


class TokenView(QWidget):
    """The tokens of a server. `now` returns seconds since 1970.

    Signals:
        refresh_requested: Refresh the token now.
        log_out_requested: Revoke and delete the tokens.
        delete_requested: Delete the tokens here without revoking them.
    """

    refresh_requested = Signal()
    log_out_requested = Signal()
    delete_requested = Signal()

    def __init__(
        self, theme: Theme, now: Callable[[], float] = time.time, parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self._theme = theme
        self._now = now
        self._token: TokenInfo | None = None
        self._is_busy = False
        self.facts = KeyValueList(theme)
        self.alert = Alert(theme)
        self.refresh_action = self._action("Refresh now", "Request a new token with the refresh token")
        self.log_out_action = self._action("Log out", "Revoke the tokens and delete them")
        self.delete_action = self._action("Delete tokens", "Delete the tokens here without revoking them")
        self.refresh_action.triggered.connect(self.refresh_requested)
        self.log_out_action.triggered.connect(self.log_out_requested)
        self.delete_action.triggered.connect(self.delete_requested)
        self._secrets_widget: QWidget | None = None
        self._timer = QTimer(self, interval=_TICK_MS)
        self._timer.timeout.connect(self._show_facts)
        self._stack = ContentStack(theme, self._make_page())
        vbox(self, self._stack)
        self.show_token(None)

    def show_token(self, token: TokenInfo | None) -> None:
        if token is None:
            self._token = None
            sentence = "After a login, the token, its scopes and its expiry appear here."
            self._stack.explain("empty", "key", "No token", sentence)
            return
        if token == self._token:
            return
        self._token = token
        self._update_actions()
        if token.is_saved:
            self.alert.close_all()
        else:
            self.alert.show_message(
                "storage", "Stored in memory only; lost when you close MCP Lens.", tone="wait"
            )
        self._show_facts()
        self._show_secrets(token)
        self._stack.open()

    def set_busy(self, is_busy: bool) -> None:
        """Allow one operation at a time: a token being revoked must not be refreshed."""
        self._is_busy = is_busy
        self._update_actions()

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self._timer.start()

    def hideEvent(self, event: QHideEvent) -> None:
        self._timer.stop()
        super().hideEvent(event)

    def _update_actions(self) -> None:
        has_refresh = self._token is not None and bool(self._token.refresh_token)
        self.refresh_action.setEnabled(has_refresh and not self._is_busy)
        self.log_out_action.setEnabled(not self._is_busy)
        self.delete_action.setEnabled(not self._is_busy)

    def _show_facts(self) -> None:
        if self._token is not None:
            self.facts.set_facts(token_facts(self._token, self._now()))

    def _show_secrets(self, token: TokenInfo) -> None:
        secrets = QWidget()
        column = vbox(secrets)
        texts = {
            "Access token": token.access_token,
            "Refresh token": token.refresh_token,
            "ID token": token.id_token,
        }
        for name, text in texts.items():
            if text:
                column.addWidget(Heading(self._theme, name))
                column.addWidget(SecretValue(self._theme, name.lower(), text))
                self._add_claims(column, text)
        if self._secrets_widget is not None:
            discard(self._secrets_widget)
        self._secrets_widget = secrets
        self._column.insertWidget(self._column.count() - 1, secrets)
        secrets.show()

    def _add_claims(self, column: QVBoxLayout, text: str) -> None:
        token = read_jwt(text)
        if token is None:
            column.addWidget(MutedLabel(self._theme, "Opaque token (not a JWT); this is allowed.", wrap=True))
            return
        column.addWidget(MutedLabel(self._theme, "A JWT. Its signature was not verified.", wrap=True))
        if facts := jwt_times(token, self._now()):
            column.addWidget(KeyValueList(self._theme, facts))
        shown = f"{pretty(token.header)}\n{pretty(token.claims)}"[:_MAX_CLAIMS_LENGTH]
        column.addWidget(PlainLabel(self._theme, shown, mono=True, wrap=True, selectable=True))

    def _action(self, text: str, tip: str) -> QAction:
        action = QAction(text, self)
        action.setToolTip(tip)
        return action

    def _make_page(self) -> QWidget:
        content = QWidget()
        buttons = hbox(
            None,
            ActionButton(self.refresh_action),
            ActionButton(self.log_out_action),
            ActionButton(self.delete_action, "danger"),
            STRETCH,
        )
        self._column = vbox(
            content, buttons, self.facts, STRETCH, gap=SPACE_3, margin=(SPACE_4, SPACE_3, SPACE_4, SPACE_4)
        )
        area = QScrollArea()
        area.setFrameShape(QFrame.Shape.NoFrame)
        area.setWidgetResizable(True)
        area.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        area.setWidget(content)
        page = QWidget()
        vbox(page, self.alert, (area, 1), gap=0)
        return page


def token_facts(token: TokenInfo, now: float) -> list[Fact]:
    """Return everything that is not secret."""
    text, tone = expiry_text(token.expires_at, now)
    facts = [
        Fact("Type", token.token_type or "not specified", mono=True),
        Fact("Expires", text, tone=tone),
        Fact("Scopes granted", " ".join(token.scopes) or "not specified", mono=True),
        Fact("Scopes requested", " ".join(token.requested) or "none", mono=True),
    ]
    missing = [scope for scope in token.requested if token.scopes and scope not in token.scopes]
    added = [scope for scope in token.scopes if scope not in token.requested]
    if missing:
        facts.append(Fact("Not granted", " ".join(missing), mono=True, tone="warn"))
    if added and token.requested:
        facts.append(Fact("Granted but not requested", " ".join(added), mono=True, tone="warn"))
    return [
        *facts,
        Fact("Refresh token", "yes" if token.refresh_token else "none; log in again when the token expires"),
        Fact("Issuer", one_line(token.issuer), mono=True),
        Fact("Client ID", one_line(token.client_id), mono=True),
        Fact("Resource", one_line(token.resource or "none"), mono=True),
        Fact("Received", _local(token.received_at)),
    ]


def expiry_text(expires_at: float | None, now: float) -> tuple[str, Tone]:
    """Return the expiry and the time left: `in 59 min 12 s (14:03:07)`."""
    if expires_at is None:
        return "not specified", "muted"
    left = round(expires_at - now)
    span = _span(abs(left))
    if left <= 0:
        return f"{span} ago ({_local(expires_at)})", "error"
    return f"in {span} ({_local(expires_at)})", "warn" if left <= _EXPIRES_SOON_S else "text"


def jwt_times(token: JwtView, now: float) -> list[Fact]:
    facts = []
    for name, meaning, moment in times_of(token.claims):
        if moment is None:
            facts.append(Fact(f"{name}: {meaning}", "not a valid time", tone="warn"))
            continue
        seconds = moment.timestamp()
        tone: Tone = "error" if name == "exp" and seconds <= now else "text"
        if name in ("iat", "nbf") and seconds > now + _EXPIRES_SOON_S:
            tone = "warn"  # the server's clock is ahead, or the token is not valid yet
        facts.append(Fact(f"{name}: {meaning}", f"{_local(seconds)} ({_from_now(seconds, now)})", tone=tone))
    return facts


def _from_now(seconds: float, now: float) -> str:
    left = round(seconds - now)
    return f"in {_span(left)}" if left > 0 else f"{_span(-left)} ago"


def _span(seconds: int) -> str:
    """Format a time span: 12 s, 3 min 05 s, 5 h 02 min, 3 days."""
    if seconds < 60:
        return f"{seconds} s"
    if seconds < 3600:
        return duration(seconds * 1_000_000_000)
    hours, rest = divmod(seconds, 3600)
    return f"{hours} h {rest // 60:02d} min" if hours < 48 else f"{hours // 24:,} days"


def _local(seconds: float) -> str:
    try:
        return time.strftime("%Y-%m-%d %H:%M:%S %z", time.localtime(seconds))
    except (OverflowError, ValueError, OSError):
        return f"Unix time {seconds:g}"

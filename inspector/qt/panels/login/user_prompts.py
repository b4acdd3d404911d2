"""Prompts of a login: allow hosts, enter the client, and wait for the browser.

While the login waits for the browser, the callback URL can be pasted instead.
"""

from __future__ import annotations

from PySide6.QtCore import Qt, QTimer, Signal
from PySide6.QtGui import QAction, QFont, QGuiApplication, QHideEvent, QShowEvent
from PySide6.QtWidgets import QLineEdit, QWidget

from inspector.base.clock import Clock, SystemClock
from inspector.base.plain_text import one_line
from inspector.base.units import duration, plural, time_of_day
from inspector.base.web_link import read_link
from inspector.oauth.login.steps import BrowserWait, LoginPrompt, LoginPromptKind
from inspector.qt.theme import SPACE_1, SPACE_2, SPACE_3, Theme
from inspector.qt.widgets.inputs.controls import ActionButton
from inspector.qt.widgets.inputs.secret_fields import secret_line
from inspector.qt.widgets.layout import STRETCH, hbox, vbox
from inspector.qt.widgets.notices.empty_state import Spinner
from inspector.qt.widgets.notices.notices import Alert
from inspector.qt.widgets.text.labels import MutedLabel, PlainLabel

_TICK_MS = 500
_MAX_HITS = 5


class LoginPromptBar(QWidget):
    """The prompt that the login is waiting for. To decline it, cancel the login.

    Signals:
        hosts_decided: Carries whether the hosts may be contacted.
        client_entered: The client to use; carries its ID and its secret, which may be empty.
    """

    hosts_decided = Signal(bool)
    client_entered = Signal(str, str)

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._prompt: LoginPrompt | None = None
        self.text = PlainLabel(theme, wrap=True, selectable=True)
        self.issuer = MutedLabel(theme, wrap=True)
        self.hosts = PlainLabel(theme, mono=True, wrap=True, selectable=True)
        self.client_id = QLineEdit()
        self.client_id.setPlaceholderText("Client ID")
        self.client_id.setAccessibleName("Client ID")
        self.secret = secret_line("Client secret (optional)")
        self.allow_action = QAction("Allow hosts", self)
        self.use_client_action = QAction("Use this client", self)
        self.use_client_action.setEnabled(False)
        self.block_action = QAction("Block hosts", self)
        self._host_buttons = self._make_host_buttons()
        self._client = self._make_client()
        self._lay_out()
        self.allow_action.triggered.connect(lambda: self.hosts_decided.emit(True))
        self.block_action.triggered.connect(lambda: self.hosts_decided.emit(False))
        self.use_client_action.triggered.connect(self._on_use_client)
        self.client_id.textChanged.connect(lambda text: self.use_client_action.setEnabled(bool(text.strip())))
        self.client_id.returnPressed.connect(self._on_use_client)
        self.secret.returnPressed.connect(self._on_use_client)
        self.hide()

    @property
    def shown(self) -> LoginPrompt | None:
        """The prompt shown."""
        return self._prompt

    def show_prompt(self, prompt: LoginPrompt | None) -> None:
        if prompt == self._prompt:
            return
        self._prompt = prompt
        self.setVisible(prompt is not None)
        self.client_id.clear()
        self.secret.clear()
        if prompt is None:
            return
        self.text.setText(prompt.text)
        self.issuer.setText(f"Issuer: {one_line(prompt.issuer)}")
        self.issuer.setVisible(bool(prompt.issuer))
        self.hosts.setText("\n".join(one_line(host) for host in prompt.hosts))
        has_hosts = prompt.kind is not LoginPromptKind.CLIENT
        is_issuer = prompt.kind is LoginPromptKind.ISSUER
        self.allow_action.setText("Trust issuer" if is_issuer else "Allow hosts")
        self.block_action.setText("Reject issuer" if is_issuer else "Block hosts")
        self.hosts.setVisible(bool(prompt.hosts))
        self._host_buttons.setVisible(has_hosts)
        self._client.setVisible(not has_hosts)

    def _on_use_client(self) -> None:
        client_id = self.client_id.text().strip()
        if client_id:
            self.client_entered.emit(client_id, self.secret.text())
            self.secret.clear()

    def _make_client(self) -> QWidget:
        client = QWidget()
        hbox(client, (self.client_id, 2), (self.secret, 2), ActionButton(self.use_client_action))
        return client

    def _make_host_buttons(self) -> QWidget:
        judging = QWidget()
        hbox(judging, *(ActionButton(action) for action in (self.allow_action, self.block_action)), STRETCH)
        return judging

    def _lay_out(self) -> None:
        vbox(
            self,
            self.text,
            self.issuer,
            self.hosts,
            self._host_buttons,
            self._client,
            gap=SPACE_1,
            margin=(SPACE_3, SPACE_2),
        )


class BrowserWaitBox(QWidget):
    """Shown while waiting for the browser.

    The login opens the page once; this only opens it again on a click.

    Signals:
        open_requested: Open the page (again); carries its URL.
        pasted: The user pasted the URL at which the browser ended; carries it.
    """

    open_requested = Signal(str)
    pasted = Signal(str)

    def __init__(self, theme: Theme, clock: Clock | None = None, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._clock = clock or SystemClock()
        self._waiting: BrowserWait | None = None
        self.host = _HostLabel(theme, elide=Qt.TextElideMode.ElideMiddle)
        self.warnings = Alert(theme)
        self.time_left = PlainLabel(theme, tone="muted")
        self.redirect_uri = PlainLabel(theme, tone="muted", wrap=True, selectable=True)
        self.hits = PlainLabel(theme, tone="muted", wrap=True, selectable=True)
        self.open_action = QAction("Open in browser", self)
        self.copy_action = QAction("Copy URL", self)
        self.copy_action.setToolTip("Copy the login URL to open it in another browser")
        self.paste_field = QLineEdit()
        self.paste_field.setFont(theme.mono_font(0.95))
        self.paste_field.setPlaceholderText("Paste callback URL")
        self.paste_field.setAccessibleName("Callback URL, from the browser's address bar after the login")
        self.paste_field.setToolTip(
            "If the browser is on another machine: the full URL it ended at, even if that shows an error"
        )
        self.paste_action = QAction("Submit callback URL", self)
        self.paste_action.setEnabled(False)
        self._timer = QTimer(self, interval=_TICK_MS)
        self._lay_out()
        self._connect()
        self.hide()

    def show_waiting(self, waiting: BrowserWait | None) -> None:
        """Show what is waited for; None hides the box."""
        before, self._waiting = self._waiting, waiting
        self.setVisible(waiting is not None)
        if waiting is None:
            self.paste_field.clear()
            self.warnings.close_all()
            return
        if before is None or before.authorization_url != waiting.authorization_url:
            self._show_url(waiting.authorization_url)
        self.redirect_uri.setText(f"Waiting for the callback at {one_line(waiting.redirect_uri)}")
        self._show_hits(waiting)
        self._on_tick()

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self._timer.start()

    def hideEvent(self, event: QHideEvent) -> None:
        self._timer.stop()
        super().hideEvent(event)

    def _show_url(self, url: str) -> None:
        link = read_link(url)
        self.warnings.close_all()
        self.host.setText(link.ascii_host or "no URL yet")
        self.open_action.setEnabled(bool(url) and not link.problem)
        self.copy_action.setEnabled(bool(url))
        if url and (reason := link.problem):
            self.warnings.show_message("url", f"MCP Lens blocked this URL. {reason}", tone="error")
        for number, warning in enumerate(link.warnings):
            self.warnings.show_message(str(number), warning)

    def _show_hits(self, waiting: BrowserWait) -> None:
        lines = [
            f"{time_of_day(hit.at)}  {hit.shown}  {hit.refusal or 'callback received'}"
            for hit in waiting.hits[-_MAX_HITS:]
        ]
        if waiting.hit_count > len(lines):
            lines.insert(0, f"{plural(waiting.hit_count, 'request')} received; the latest:")
        self.hits.setText("\n".join(lines))
        self.hits.setVisible(bool(lines))

    def _on_tick(self) -> None:
        ends_at = self._waiting.ends_at if self._waiting is not None else None
        if ends_at is None:
            self.time_left.setText("")
            return
        left = max(ends_at - self._clock.monotonic_ns(), 0)
        seconds = -(-left // 1_000_000_000)
        text = f"{seconds} s" if seconds < 60 else duration(seconds * 1_000_000_000)
        self.time_left.setText(f"{text} left")

    def _on_open(self) -> None:
        if self._waiting is not None:
            self.open_requested.emit(self._waiting.authorization_url)

    def _on_copy(self) -> None:
        if self._waiting is not None:
            QGuiApplication.clipboard().setText(self._waiting.authorization_url)

    def _on_paste(self) -> None:
        text = self.paste_field.text().strip()
        if text:
            self.pasted.emit(text)

    def _connect(self) -> None:
        self.open_action.triggered.connect(self._on_open)
        self.copy_action.triggered.connect(self._on_copy)
        self.paste_action.triggered.connect(self._on_paste)
        self.paste_field.returnPressed.connect(self._on_paste)
        self.paste_field.textChanged.connect(lambda text: self.paste_action.setEnabled(bool(text.strip())))
        self._timer.timeout.connect(self._on_tick)

    def _lay_out(self) -> None:
        head = hbox(
            None,
            Spinner(self._theme),
            MutedLabel(self._theme, "Log in at"),
            (self.host, 1),
            self.time_left,
            ActionButton(self.open_action),
            ActionButton(self.copy_action),
        )
        paste = hbox(None, (self.paste_field, 1), ActionButton(self.paste_action))
        inner = vbox(None, head, self.redirect_uri, paste, self.hits, gap=SPACE_1, margin=(SPACE_3, SPACE_2))
        vbox(self, self.warnings, inner, gap=0)


class _HostLabel(PlainLabel):
    """The host in a large font: it is what the user must check."""

    def _label_font(self) -> QFont:
        return self._theme.ui_font(1.4, QFont.Weight.DemiBold)

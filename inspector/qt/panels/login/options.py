"""Options for the next login: protocol rules, client, scope and resource, redirect URI.

They are saved for the server, except secrets. The form edits the JSON of `write_overrides`.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from urllib.parse import parse_qsl, urlencode

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QFrame, QScrollArea, QWidget

from inspector.base.errors import UserError
from inspector.base.json.values import JSONObject
from inspector.oauth.login.steps import Overrides, read_overrides, write_overrides
from inspector.protocol.auth.authorization_request import extra_problem
from inspector.protocol.auth.client_registration import Strategy
from inspector.protocol.revisions import R2, R3, R4, R5
from inspector.qt.forms.schema.plain_editors import Hint, PlainEditor, PlainSecret, Row, choice, switch, text
from inspector.qt.forms.schema.plain_form import PlainForm
from inspector.qt.panels.login.grant_form import LABEL_WIDTH, GrantForm
from inspector.qt.theme import SPACE_3, SPACE_4, Theme
from inspector.qt.widgets.inputs.controls import ActionButton
from inspector.qt.widgets.layout import STRETCH, hbox, vbox
from inspector.qt.widgets.text.labels import MutedLabel
from inspector.schema.fields import ChoiceField, IntegerField

_REVISIONS: dict[str | None, str] = {None: "Automatic", **{str(each): str(each) for each in (R5, R4, R3, R2)}}
_STRATEGIES = {
    Strategy.AUTO.value: "Automatic",
    Strategy.PRE_REGISTERED.value: "Pre-registered",
    Strategy.DOCUMENT.value: "Client ID metadata document",
    Strategy.DYNAMIC.value: "Dynamic client registration",
}
_AUTH_METHODS = ("none", "client_secret_basic", "client_secret_post", "private_key_jwt")
_METHODS = {"": "Automatic", **{each: each for each in _AUTH_METHODS}}
_DPOP = {None: "As configured", True: "On", False: "Off"}
_HOSTS = {"": "127.0.0.1", "localhost": "localhost"}
_MODE_TIP = "Observe records violations and continues where that is safe; Strict stops at them"
_line = partial(text, is_mono=True)
_NOTE = "Applies at the next login. Saved for this server, except secrets."


# The members of `Overrides`; "no_scope" and "no_resource" stand for "" instead of the default.
FIELDS: dict[str, Row] = {
    "revision": choice(
        "Protocol version", _REVISIONS, name="Protocol version whose rules apply", group="Rules"
    ),
    "is_strict": choice(
        "Mode", {False: "Observe", True: "Strict"}, name="Mode: Observe or Strict", tip=_MODE_TIP
    ),
    "issuer": _line("Authorization server", "the first one the server lists", name="Issuer"),
    "tolerates_slash": switch("Accept an issuer that differs only in a trailing /"),
    "strategy": choice("Registration", _STRATEGIES, name="Client registration", group="Client"),
    "client_id": _line("Client ID", "from the configuration, or registered"),
    "client_secret": _line("Client secret", "from the configuration, or registered", editor=PlainSecret),
    "client_document": _line(
        "Metadata document", "https://…/client.json", name="Client ID metadata document URL"
    ),
    "method": choice("Token endpoint auth", _METHODS, name="Client authentication method"),
    "uses_dpop": choice("DPoP", _DPOP, name="DPoP: bind tokens to a key"),
    "forgets_client": switch("Ignore the stored client", tip="Do not use the previously registered client"),
    "scope": _line("Scope", "as requested by the server", group="Request"),
    "no_scope": switch("Do not send", beside=True),
    "resource": _line("Resource", "the server's URL"),
    "no_resource": switch("Do not send", beside=True),
    "extras": _line(
        "Extra parameters", "prompt=login&audience=…", name="Extra authorization request parameters"
    ),
    "redirect_host": choice("Redirect URI", _HOSTS, name="Redirect URI host", group="Redirect", width=96),
    "redirect_port": (
        IntegerField(title="Port", minimum=0, maximum=65_535, default=0),
        Hint(name="Redirect URI port", zero_text="any free port", beside=True),
    ),
    "redirect_path": _line("Path", "/callback", name="Redirect URI path", beside=True),
}


class OptionsForm(QScrollArea):
    """Options for the next login; `overrides` returns them.

    Signals:
        editing_finished: The user finished changing an option: save it.
    """

    editing_finished = Signal()

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self.grants = GrantForm(theme)
        self.form = PlainForm(theme, FIELDS, label_width=LABEL_WIDTH)
        self.reset_action = QAction("Restore defaults", self)
        self.reset_action.triggered.connect(self.reset)
        self._lay_out()
        self.form.value_changed.connect(self._on_changed)
        self.form.editing_finished.connect(self.editing_finished)
        self._on_changed()

    def overrides(self) -> Overrides:
        """Return the options. Raises UserError for invalid input."""
        value = {**self.form.value()}
        for name in ("scope", "resource"):
            if value.get(f"no_{name}"):
                value[name] = ""
        value["redirect_path"] = _path(str(value.get("redirect_path", "")))
        value["extras"] = [list(pair) for pair in _extra_parameters(str(value.get("extras", "")))]
        return replace(
            read_overrides(value),
            client_secret=str(value.get("client_secret", "")),
            forgets_client=value.get("forgets_client") is True,
        )

    def show_overrides(self, overrides: Overrides) -> None:
        """Show the saved options. Secrets are not among them and stay as they are."""
        value: JSONObject = {
            **write_overrides(overrides),
            "client_secret": self.form.value().get("client_secret", ""),
            "forgets_client": overrides.forgets_client,
            "no_scope": overrides.scope == "",
            "no_resource": overrides.resource == "",
            "extras": urlencode(overrides.extras),
        }
        for name, (field, _) in FIELDS.items():
            if isinstance(field, ChoiceField) and value.get(name) not in field.choices:
                value.pop(name, None)  # the file may come from elsewhere
        self.form.set_value(value)
        self._on_changed()

    @property
    def is_default(self) -> bool:
        """Whether all options have their defaults."""
        try:
            return self.overrides() == Overrides()
        except UserError:
            return False

    def reset(self) -> None:
        self.form.set_value({})
        self._on_changed()
        self.editing_finished.emit()

    def _on_changed(self) -> None:
        value = self.form.value()
        for name in ("scope", "resource"):
            self.form.editor(name, PlainEditor).widget.setEnabled(not value.get(f"no_{name}"))
        self.reset_action.setEnabled(not self.is_default)

    def _lay_out(self) -> None:
        page = QWidget()
        head = hbox(
            None, (MutedLabel(self._theme, _NOTE, wrap=True), 1), ActionButton(self.reset_action), gap=-1
        )
        vbox(
            page, self.grants, SPACE_3, head, self.form, STRETCH, margin=(SPACE_4, SPACE_3, SPACE_4, SPACE_4)
        )
        page.setMaximumWidth(760)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setWidgetResizable(True)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setWidget(page)


def _path(text: str) -> str:
    if text and not text.startswith("/"):
        raise UserError("The redirect URI path must start with /.", "Use a path like /callback.")
    return text


def _extra_parameters(text: str) -> tuple[tuple[str, str], ...]:
    if not text:
        return ()
    try:
        pairs = tuple(parse_qsl(text, keep_blank_values=True, strict_parsing=True))
    except ValueError as exc:
        raise UserError(
            "Could not parse the extra authorization request parameters.",
            "Use the form prompt=login&name=value.",
        ) from exc
    problem = next(filter(None, (extra_problem(name) for name, _ in pairs)), "")
    if problem:
        raise UserError(problem, "Remove it from “Extra parameters”.")
    return pairs

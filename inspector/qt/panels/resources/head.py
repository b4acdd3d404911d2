"""What a resource or a template says about itself, and the values that make a URI of a template."""

from __future__ import annotations

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QHBoxLayout, QSizePolicy, QVBoxLayout, QWidget

from inspector.base.plaintext import one_line
from inspector.protocol.types import Malformed, Resource, ResourceTemplate
from inspector.qt.bridge import Bridge
from inspector.qt.forms.completing import Completing
from inspector.qt.forms.namedvalues import Named, NamedValues
from inspector.qt.models.offered import Item
from inspector.qt.models.resources import facts_of
from inspector.qt.theme import SPACE_1, SPACE_2, SPACE_3, Theme
from inspector.qt.widgets.alert import Alert
from inspector.qt.widgets.badge import Badge
from inspector.qt.widgets.labels import Heading, PlainLabel
from inspector.schema.uritemplates import UriTemplate, Variable

_LONGEST_DESCRIPTION = 600
_MOST_FORM = 260  # pixels; more scrolls


class ResourceHead(QWidget):
    """Shows one item. For a template it has a form, and `uri` follows the input.

    Signals:
        uri_changed: `uri` changed.
    """

    uri_changed = Signal()

    def __init__(self, bridge: Bridge, server: str, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._item: Item | None = None
        self._template: UriTemplate | None = None
        self._typed: dict[str, dict[str, str | None]] = {}
        self.completes = False
        self._title = Heading(theme)
        self.badge = Badge(theme)
        self._uri = PlainLabel(theme, mono=True, wrap=True, selectable=True)
        self._description = PlainLabel(theme, tone="muted", wrap=True, selectable=True)
        self._facts = PlainLabel(theme, tone="muted", wrap=True, selectable=True)
        self._alert = Alert(theme)
        self.form = NamedValues(theme)
        self._completing = Completing(bridge, server, self.form)
        self._lay_out()
        self.form.changed.connect(self._on_values_changed)

    @property
    def uri(self) -> str:
        """The URI that would be read; "" if there is none."""
        if self._template is not None:
            return self._template.expand(self.form.values())
        return self._item.uri if isinstance(self._item, Resource) else ""

    @property
    def item(self) -> Item | None:
        return self._item

    def show_item(self, item: Item | None) -> None:
        """Show an item, or a new version of it. What was typed for a template is restored."""
        self._keep_typed()
        self._item = item
        self._template = UriTemplate(item.uri_template) if isinstance(item, ResourceTemplate) else None
        self._alert.close_all()
        if isinstance(item, Malformed):
            self._show_words("Not usable", f"{item.reason}.", [])
        elif isinstance(item, Resource | ResourceTemplate):
            title = item.title or item.name or self._written_uri()
            self._show_words(title, item.description, facts_of(item.source))
        else:
            self._show_words("", "", [])
        self._show_form()
        self._show_uri()
        self.uri_changed.emit()

    # --------------------------------------------------------------

    def _written_uri(self) -> str:
        item = self._item
        return item.uri_template if isinstance(item, ResourceTemplate) else self.uri

    def _show_words(self, title: str, description: str, facts: list[tuple[str, str]]) -> None:
        self._title.setText(one_line(title))
        self._description.setText(description.strip()[:_LONGEST_DESCRIPTION])
        self._description.setVisible(bool(description.strip()))
        self._facts.setText("  ·  ".join(f"{label}\u00a0 {one_line(value)}" for label, value in facts))
        self._facts.setVisible(bool(facts))

    def _show_form(self) -> None:
        template, item = self._template, self._item
        self.form.setVisible(template is not None)
        if template is None or not isinstance(item, ResourceTemplate):
            self._completing.set_ref({})
            return
        self._completing.set_ref({"type": "ref/resource", "uri": item.uri_template})
        rows = [_row(variable) for variable in template.variables]
        self.form.set_rows(rows, "This template has no variables: it is one URI.", completes=self.completes)
        self.form.set_texts(self._typed.get(item.uri_template, dict.fromkeys(self.form.rows)))
        if template.problems:
            said = "; ".join(template.problems)
            self._alert.say("template", f"The template cannot be used as it is meant: {said}.")

    def _keep_typed(self) -> None:
        if isinstance(self._item, ResourceTemplate):
            self._typed[self._item.uri_template] = self.form.texts()

    def _show_uri(self) -> None:
        uri = self.uri
        self._uri.setText(one_line(uri))
        self._uri.setAccessibleName("URI")
        self._uri.setVisible(bool(uri))

    def _on_values_changed(self) -> None:
        if self._template is not None:
            self._show_uri()
            self.uri_changed.emit()

    def _lay_out(self) -> None:
        self.form.setMaximumHeight(_MOST_FORM)
        self.form.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Maximum)
        title = QHBoxLayout()
        title.setSpacing(SPACE_2)
        title.addWidget(self._title, 1)
        title.addWidget(self.badge)
        head = QVBoxLayout()
        head.setContentsMargins(SPACE_3, SPACE_2, SPACE_3, SPACE_1)
        head.setSpacing(SPACE_1)
        head.addLayout(title)
        head.addWidget(self._facts)
        head.addWidget(self._description)
        shown = QVBoxLayout()
        shown.setContentsMargins(SPACE_3, SPACE_1, SPACE_3, 0)
        shown.addWidget(self._uri)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addLayout(head)
        column.addWidget(self._alert)
        column.addWidget(self.form)
        column.addLayout(shown)


def _row(variable: Variable) -> Named:
    hints = [variable.place, f"first {variable.longest} characters" if variable.longest else ""]
    return Named(variable.name, takes_list=variable.takes_list, hint=", ".join(filter(None, hints)))

"""What a server's file leaves to the person: a field for each `${input:id}`."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtWidgets import QComboBox, QLineEdit, QVBoxLayout, QWidget

from inspector.base.jsonvalue import shorten
from inspector.base.plaintext import one_line
from inspector.config.finding import InputSpec
from inspector.qt.theme import SPACE_1, SPACE_2, Theme
from inspector.qt.widgets.labels import Heading, Muted, PlainLabel


class InputFields(QWidget):
    """Input fields; `fields` maps input ids to them. The caller stores the values as secrets."""

    def __init__(self, theme: Theme, inputs: Sequence[InputSpec], parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.fields: dict[str, QLineEdit | QComboBox] = {}
        self._options: dict[str, tuple[str, ...]] = {}
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(SPACE_2)
        column.addWidget(Heading(theme, "Values that it asks you for"))
        for spec in inputs:
            field = self.fields[spec.id] = self._make(spec)
            inner = QVBoxLayout()
            inner.setSpacing(SPACE_1)
            inner.addWidget(
                PlainLabel(theme, shorten(one_line(spec.description or spec.id), 1_000), wrap=True)
            )
            inner.addWidget(field)
            column.addLayout(inner)
        column.addWidget(Muted(theme, "They are kept in the secret store.", wrap=True))

    def given(self) -> dict[str, str]:
        """Return what was typed or chosen, by input id."""
        return {id: text for id in self.fields if (text := self._text(id))}

    def _text(self, id: str) -> str:
        field = self.fields[id]
        if isinstance(field, QComboBox):  # its label may differ from the option's exact text
            return self._options[id][field.currentIndex()] if field.currentIndex() >= 0 else ""
        return field.text()

    def _make(self, spec: InputSpec) -> QLineEdit | QComboBox:
        if spec.options:
            self._options[spec.id] = spec.options
            choice = QComboBox()
            choice.addItems([one_line(option) for option in spec.options])
            choice.setCurrentText(one_line(spec.default))
            choice.setAccessibleName(one_line(spec.id))
            return choice
        line = QLineEdit(spec.default)
        line.setAccessibleName(one_line(spec.id))
        if spec.is_password:
            line.setEchoMode(QLineEdit.EchoMode.Password)
        return line

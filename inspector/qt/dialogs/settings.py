"""Settings dialog: all settings by section or by search, and the rows that show them.

Values are saved as soon as they are chosen. A row is a value with its editor, a command that opens
another dialog, or the path of a file or folder.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import shiboken6
from PySide6.QtCore import QEvent, Qt, Signal
from PySide6.QtGui import QAction, QCloseEvent, QFont
from PySide6.QtWidgets import (
    QDialog,
    QFrame,
    QGridLayout,
    QLineEdit,
    QListWidget,
    QScrollArea,
    QWidget,
)

from inspector.base.errors import UserError
from inspector.base.json.values import JSON
from inspector.config.preferences.settings import SETTINGS, Kind, Setting
from inspector.qt.bridge import Bridge
from inspector.qt.forms.schema.plain_editors import (
    Hint,
    PlainEditor,
    PlainNames,
    PlainSegments,
    Row,
    choice,
    make_editor,
)
from inspector.qt.link_opener import LinkOpener
from inspector.qt.theme import SPACE_1, SPACE_2, SPACE_3, SPACE_4, SPACE_6, Theme
from inspector.qt.widgets.inputs.controls import ActionButton, Segments, bind_keys
from inspector.qt.widgets.inputs.search import SearchField
from inspector.qt.widgets.item_views import style_list, style_sidebar
from inspector.qt.widgets.layout import hbox, vbox
from inspector.qt.widgets.notices.notices import Alert, reported
from inspector.qt.widgets.text.labels import Heading, MutedLabel, PlainLabel
from inspector.schema.fields import (
    ABSENT,
    BooleanField,
    ChoiceField,
    IntegerField,
    ListField,
    NumberField,
    TextField,
)
from inspector.schema.values import Draft

_SECTIONS_WIDTH = 190
_MAX_PAGE_WIDTH = 760
_TEXT_WIDTH = 260
SECTIONS = tuple(dict.fromkeys(setting.section for setting in SETTINGS))
_TOP_RIGHT = Qt.AlignmentFlag.AlignTop | Qt.AlignmentFlag.AlignRight


class OwnSetting(NamedTuple):
    """A setting of the window, unknown to the engine."""

    get: Callable[[], JSON]
    set: Callable[[JSON], None]


class SettingsDialog(QDialog):
    """The application's settings.

    `own` are the window's settings by id, `locations` the files only the window knows, and `command_of`
    returns the commands that open their own windows.
    """

    def __init__(
        self,
        bridge: Bridge,
        theme: Theme,
        command_of: Callable[[str], QAction],
        own: Mapping[str, OwnSetting],
        locations: Mapping[str, Path],
        parent: QWidget | None = None,
        opener: LinkOpener | None = None,
    ) -> None:
        super().__init__(parent)
        self._bridge, self._theme = bridge, theme
        self._command_of = command_of
        self._own = own
        self._locations = dict(locations)
        self._saving: Counter[str] = Counter()
        self._last_saved: dict[str, int] = {}  # value of `_save_count` at the last save, by id
        self._save_count = 0
        self._opener = opener or LinkOpener()
        self.rows: dict[str, SettingRow] = {}
        self._heads: dict[str, Heading] = {}
        self.search = SearchField(theme, "Search settings")
        self.sections = QListWidget()
        self.no_matches = MutedLabel(theme, "No matches")
        self.alert = Alert(theme)
        self._column = vbox(None, gap=0, margin=(SPACE_6, SPACE_4))
        self._lay_out()
        self.search.text_settled.connect(lambda _: self._apply_filter())
        self.sections.currentRowChanged.connect(self._on_section_chosen)
        self.sections.itemClicked.connect(self._on_section_chosen)  # also when it is already current
        bind_keys(self, "Ctrl+F", self.search.setFocus)
        self._make_rows()
        self.sections.setCurrentRow(0)
        self.search.setFocus()
        bridge.start_when_attached("settings", self._load(is_first=True))

    def value_row(self, id: str) -> ValueRow:
        row = self.rows[id]
        assert isinstance(row, ValueRow)
        return row

    def _apply_filter(self) -> None:
        """Show the settings of the selected section, or all matches while searching."""
        text = self.search.text().split()
        chosen = SECTIONS[max(0, self.sections.currentRow())]
        shown: set[str] = set()
        for row in self.rows.values():
            setting = row.setting
            is_shown = setting.matches(text) if text else setting.section == chosen
            row.setVisible(is_shown and self._is_available(setting))
            if not row.isHidden():
                shown.add(setting.section)
        for section, head in self._heads.items():
            head.setVisible(section in shown)
        item = self.sections.currentItem()
        if item is not None:  # a search covers all sections
            item.setSelected(not text)
        self.no_matches.setVisible(not shown)
        self._scroll.verticalScrollBar().setValue(0)

    def _is_available(self, setting: Setting) -> bool:
        return setting.kind is not Kind.FILE or setting.target in self._locations

    def _on_section_chosen(self, chosen: object) -> None:
        self.search.clear()
        self.search.settle()
        self._apply_filter()

    async def _load(self, *, is_first: bool = False) -> None:
        """Load the values; changes that the user makes meanwhile win."""
        save_count = self._save_count
        values = await self._bridge.ask(lambda engine: engine.settings.values())
        locations = await self._bridge.ask(lambda engine: engine.settings.locations()) if is_first else {}
        if not shiboken6.isValid(self):
            return
        if locations:
            self._show_locations(locations)
        for id, own in self._own.items():
            self.value_row(id).show_value(own.get())
        for id, value in values.items():
            if not self._saving[id] and self._last_saved.get(id, 0) <= save_count:
                self.value_row(id).show_value(value)

    def _show_locations(self, locations: Mapping[str, Path]) -> None:
        self._locations |= locations
        for row in self.rows.values():
            if isinstance(row, FileRow) and row.setting.target in self._locations:
                row.path.setText(str(self._locations[row.setting.target]))
        self._apply_filter()

    def _on_edited(self, setting: Setting, value: JSON) -> None:
        self.alert.close_topic(setting.id)
        own = self._own.get(setting.id)
        if own is not None:
            own.set(value)
            self.value_row(setting.id).show_value(own.get())
        else:
            self._saving[setting.id] += 1
            self._bridge.save(f"set {setting.id}", self._save(setting, value))

    async def _save(self, setting: Setting, value: JSON) -> None:
        try:
            await self._bridge.ask(lambda engine: engine.settings.set(setting.id, value))
        except UserError as exc:
            if not shiboken6.isValid(self):
                raise
            is_named = setting.title in exc.summary
            text = exc.summary if is_named else f"“{setting.title}” was not changed. {exc.summary}"
            self.alert.show_message(setting.id, text, exc.next_step, tone="error")
        finally:
            self._save_count += 1
            self._last_saved[setting.id] = self._save_count
            self._saving[setting.id] -= 1
        values = await self._bridge.ask(lambda engine: engine.settings.values())
        # The user may have chosen another value meanwhile.
        if shiboken6.isValid(self) and (row := self.value_row(setting.id)).value == value:
            row.show_value(values[setting.id])

    def _on_folder_requested(self, target: str) -> None:
        path = self._locations[target]
        with reported(self.alert, "folder"):
            self._opener.open_folder(path if path.is_dir() else path.parent)

    def event(self, event: QEvent) -> bool:
        """Reload on activation: some settings can be changed elsewhere in the app."""
        if event.type() is QEvent.Type.WindowActivate and self._bridge.is_attached:
            self._finish()
            self._bridge.start("settings", self._load(), self)
        return super().event(event)

    def closeEvent(self, event: QCloseEvent) -> None:
        self._finish()
        super().closeEvent(event)

    def done(self, result: int) -> None:
        self._finish()
        super().done(result)

    def _finish(self) -> None:
        """Apply pending input."""
        for row in self.rows.values():
            if isinstance(row, ValueRow) and row.isEnabled():
                row.finish()

    def _make_rows(self) -> None:
        for section in SECTIONS:
            head = self._heads[section] = Heading(self._theme, section)
            head.setContentsMargins(0, SPACE_2, 0, SPACE_2)
            self._column.addWidget(head)
            for setting in SETTINGS:
                if setting.section == section:
                    row = self.rows[setting.id] = self._make_row(setting)
                    self._column.addWidget(row)
        self._column.addWidget(self.no_matches)
        self._column.addStretch(1)

    def _make_row(self, setting: Setting) -> SettingRow:
        if setting.kind is Kind.COMMAND:
            return CommandRow(setting, self._theme, self._command_of(setting.target))
        if setting.kind is Kind.FILE:
            file_row = FileRow(setting, self._theme, str(self._locations.get(setting.target, "")))
            file_row.folder_requested.connect(partial(self._on_folder_requested, setting.target))
            return file_row
        row = ValueRow(setting, self._theme)
        row.edited.connect(partial(self._on_edited, setting))
        return row

    def _lay_out(self) -> None:
        self.setWindowTitle("Settings")
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.resize(900, 620)
        right = vbox(None, self.alert, (self._make_page(), 1), gap=0)
        hbox(self, self._make_side(), (right, 1), gap=0)

    def _make_side(self) -> QWidget:
        side = QWidget()
        side.setFixedWidth(_SECTIONS_WIDTH)
        style_sidebar(side)
        style_list(self.sections, self._theme)
        self.sections.addItems(list(SECTIONS))
        self.sections.setAccessibleName("Sections")
        self.sections.setFrameShape(QFrame.Shape.NoFrame)
        boxed = vbox(None, self.search, gap=-1, margin=(SPACE_2, SPACE_3, SPACE_2, SPACE_2))
        vbox(side, boxed, (self.sections, 1), gap=0)
        return side

    def _make_page(self) -> QScrollArea:
        page = QWidget()
        page.setMaximumWidth(_MAX_PAGE_WIDTH)
        page.setLayout(self._column)
        self._scroll = QScrollArea()
        self._scroll.setFrameShape(QFrame.Shape.NoFrame)
        self._scroll.setWidgetResizable(True)
        self._scroll.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self._scroll.setWidget(page)
        return self._scroll


class SettingRow(QWidget):
    """A setting's title and description; `_add_controls` adds controls on the right."""

    def __init__(self, setting: Setting, theme: Theme) -> None:
        super().__init__()
        self.setting = setting
        self._grid = QGridLayout(self)
        self._grid.setContentsMargins(0, SPACE_2, 0, SPACE_3)
        self._grid.setHorizontalSpacing(SPACE_4)
        self._grid.setVerticalSpacing(SPACE_1)
        self._grid.setColumnStretch(0, 1)
        self._grid.addWidget(_Title(theme, setting.title), 0, 0)
        self._grid.addWidget(MutedLabel(theme, setting.description, wrap=True), 1, 0)

    def _add_controls(self, *widgets: QWidget) -> None:
        holder = QWidget()
        hbox(holder, *widgets)
        self._grid.addWidget(holder, 0, 1, 2, 1, _TOP_RIGHT)


class ValueRow(SettingRow):
    """A setting with a value. A value other than the default can be reset.

    Signals:
        edited: The user chose another value; carries it.
    """

    edited = Signal(object)

    def __init__(self, setting: Setting, theme: Theme) -> None:
        super().__init__(setting, theme)
        self.value: JSON = None
        self.editor: PlainEditor = make_editor(theme, *_field_of(setting), lambda: None)
        self.editor.on_finished = self._on_finished
        self._shown: Draft = ABSENT
        self.reset_action = QAction("Reset", self)
        self.reset_action.setToolTip("Restore default")
        self.reset_button = _button(self.reset_action, "quiet")
        self.reset_button.setAccessibleName(f"Reset: {setting.title}")
        policy = self.reset_button.sizePolicy()
        policy.setRetainSizeWhenHidden(True)  # keeps the editors aligned
        self.reset_button.setSizePolicy(policy)
        self._add_controls(self.reset_button, self.editor.widget)
        self.reset_action.triggered.connect(lambda: self._on_edited(setting.default))
        self.setEnabled(False)

    def show_value(self, value: JSON) -> None:
        self.value = value
        self.editor.set_draft(value)
        self._shown = self.editor.draft()
        self.reset_button.setVisible(value != self.setting.default)
        self.setEnabled(True)

    def finish(self) -> None:
        """Apply what is being typed."""
        self.editor.finish()
        self._on_finished()

    def _on_finished(self) -> None:
        draft: Any = self.editor.draft()
        if draft != self._shown:  # which may be rounded
            self._shown = draft
            self._on_edited(draft)

    def _on_edited(self, value: JSON) -> None:
        if value != self.value:
            self.value = value  # the next value is compared with this one
            self.edited.emit(value)


class PathEditor(PlainSegments):
    """The choices of a PATH; the last segment shows a field for another PATH."""

    def make_widget(self) -> QWidget:
        assert isinstance(self.field, ChoiceField)
        self._value: Draft = self.field.choices[0]
        self._custom = len(self.field.choices)
        self.segments = Segments(self.theme, [*self.field.labels, "Custom"])
        self.line = QLineEdit()
        self.line.setPlaceholderText(self.hint.placeholder)
        self.line.setAccessibleName(f"{self.field.title}: custom")
        self.line.setFixedWidth(self.hint.width)
        self.line.setVisible(False)
        self.segments.chosen.connect(self._on_chosen)
        self.line.editingFinished.connect(lambda: self.on_finished())
        holder = QWidget()
        vbox(holder, (self.segments, 0, Qt.AlignmentFlag.AlignRight), self.line, gap=SPACE_1)
        holder.setFocusProxy(self.segments)
        return holder

    @property
    def _is_custom(self) -> bool:
        return self.segments.index() == self._custom

    def draft(self) -> Draft:
        return self.line.text().strip() or self._value if self._is_custom else super().draft()

    def set_draft(self, draft: Draft) -> bool:
        if self._is_custom and not self.line.text().strip() and draft == self._value:
            return True  # the user chose Custom and has not written the PATH yet
        self._value = draft
        if not super().set_draft(draft):
            self.segments.choose(self._custom)
            self.line.setText(str(draft))
        self.line.setVisible(self._is_custom)
        return True

    def _on_chosen(self) -> None:
        self.line.setVisible(self._is_custom)
        if self._is_custom:
            self.line.setFocus()
        else:
            self._value = super().draft()  # also until the choice is saved
        self.on_finished()


def _field_of(setting: Setting) -> Row:
    """Return the form field of a setting."""
    title, default = setting.title, setting.default
    match setting.kind:
        case Kind.FLAG:
            return BooleanField(title=title, default=default), Hint(text="On")
        case Kind.NUMBER:
            kind = IntegerField if setting.is_integer else NumberField
            limits = kind(title=title, default=default, minimum=setting.minimum, maximum=setting.maximum)
            return limits, Hint(unit=setting.unit, zero_text=setting.zero_text)
        case Kind.NAMES:
            hint = Hint(PlainNames, "none", width=_TEXT_WIDTH)
            return ListField(title=title, default=default, item=TextField()), hint
    labels = dict(setting.choices)
    if setting.kind is Kind.PATH:
        example = f"/opt/tools/bin{os.pathsep}${{PATH}}"
        return choice(title, labels, editor=PathEditor, placeholder=example, width=_TEXT_WIDTH)
    return choice(title, labels, editor=PlainSegments)


class CommandRow(SettingRow):
    """A setting with its own window."""

    def __init__(self, setting: Setting, theme: Theme, action: QAction) -> None:
        super().__init__(setting, theme)
        self.button = _button(action, "plain")
        self._add_controls(self.button)


class FileRow(SettingRow):
    """The path of a file or folder of MCP Lens; hidden if there is none.

    Signals:
        folder_requested: The user wants to see the folder.
    """

    folder_requested = Signal()

    def __init__(self, setting: Setting, theme: Theme, path: str) -> None:
        super().__init__(setting, theme)
        self.path = PlainLabel(theme, path, wrap=True, selectable=True, mono=True)
        self._grid.addWidget(self.path, 2, 0)
        self.open_action = QAction("Open folder", self)
        self.open_action.triggered.connect(lambda: self.folder_requested.emit())
        button = _button(self.open_action, "plain")
        button.setAccessibleName(f"Open folder: {setting.title}")
        self._add_controls(button)


class _Title(PlainLabel):
    def __init__(self, theme: Theme, text: str) -> None:
        super().__init__(theme, text, wrap=True)

    def _label_font(self) -> QFont:
        return self._theme.ui_font(1.0, QFont.Weight.DemiBold)


def _button(action: QAction, kind: str) -> ActionButton:
    button = ActionButton(action, "quiet" if kind == "quiet" else "plain")
    button.setAutoDefault(False)  # Return in a field must not press it
    return button

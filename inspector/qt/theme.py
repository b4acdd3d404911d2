"""Theme: color tokens for light and dark, fonts, spacing, tinted icons and the style sheet.

Read `Tokens` first: every color on screen has a name there, and widgets refer to colors by that name.
The app creates one `Theme` and passes it to each widget; it follows the system's color scheme and emits
`changed` when the tokens change. This module does not import QtWidgets: the application object is styled
through the `ThemeTarget` protocol, and the app selects the Fusion style itself.
"""

from __future__ import annotations

import weakref
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from string import Template
from typing import Literal, Protocol, TypeAlias, get_args

import shiboken6
from PySide6.QtCore import QByteArray, QDir, QObject, QRectF, Qt, Signal
from PySide6.QtGui import (
    QColor,
    QFont,
    QFontDatabase,
    QFontMetrics,
    QGuiApplication,
    QIcon,
    QPainter,
    QPalette,
    QPixmap,
    QStyleHints,
)
from PySide6.QtSvg import QSvgRenderer

# Spacing comes in steps of four.
SPACE_1, SPACE_2, SPACE_3, SPACE_4, SPACE_6, SPACE_8 = 4, 8, 12, 16, 24, 32
ROW_HEIGHT = 24
HEADER_HEIGHT = 36
ICON_SIZE = 16

# A token name: passed to widgets instead of a color.
Tone: TypeAlias = Literal[
    "surface", "raised", "sunken", "line", "edge", "hover", "text", "muted", "accent", "on_accent",
    "selection", "ok", "warn", "error", "wait", "inbound", "outbound", "key", "string", "number", "literal",
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class Tokens:
    """The colors of one scheme, as `#rrggbb`.

    `surface` is the content's background, `raised` that of floating or editable parts, `sunken` that of the
    frame around them. `line` separates, `edge` outlines a control. `selection` keeps `text` readable, so
    selected rows need no second text color. `key string number literal` color code.
    """

    name: Literal["light", "dark"]
    surface: str
    raised: str
    sunken: str
    line: str
    edge: str
    hover: str
    text: str
    muted: str
    accent: str
    on_accent: str
    selection: str
    ok: str
    warn: str
    error: str
    wait: str
    inbound: str
    outbound: str
    key: str
    string: str
    number: str
    literal: str

    def color(self, tone: Tone) -> QColor:
        return QColor(str(getattr(self, tone)))

    def tint(self, tone: Tone, share: float = 0.12, over: Tone = "surface") -> QColor:
        """Blend `share` of a tone over another: the subtle background of badges and notices."""
        top, ground = self.color(tone), self.color(over)
        mixed = [t * share + g * (1 - share) for t, g in zip(_rgb(top), _rgb(ground), strict=True)]
        return QColor(*(round(channel) for channel in mixed))


def _rgb(color: QColor) -> tuple[int, int, int]:
    return color.red(), color.green(), color.blue()


LIGHT = Tokens(
    name="light",
    surface="#fdfdfe", raised="#ffffff", sunken="#f4f5f7", line="#e4e6ea", edge="#ced2d9", hover="#eceef2",
    text="#1d2026", muted="#5b6270", accent="#3654cf", on_accent="#ffffff", selection="#dfe6fc",
    ok="#0f6b3c", warn="#855000", error="#b81d2c", wait="#6a3fc0", inbound="#086b6f", outbound="#2a55b8",
    key="#274bb0", string="#166534", number="#9a4208", literal="#7a35a8",
)  # fmt: skip
DARK = Tokens(
    name="dark",
    surface="#191b1f", raised="#22252a", sunken="#131417", line="#2a2d33", edge="#3b3f47", hover="#2a2d34",
    text="#e3e6eb", muted="#9ba3b0", accent="#8ea2ff", on_accent="#10142b", selection="#2b3560",
    ok="#5fce99", warn="#e8b858", error="#ff8f8b", wait="#bda6ff", inbound="#5accc2", outbound="#8ab6ff",
    key="#93b7ff", string="#92d3a2", number="#f0b07a", literal="#cfa8f5",
)  # fmt: skip


class Scheme(Enum):
    """The user's choice; SYSTEM follows the desktop as it changes."""

    SYSTEM = "system"
    LIGHT = "light"
    DARK = "dark"


def palette(tokens: Tokens) -> QPalette:
    """Return the tokens as a QPalette. Without focus, a selection fades to `hover`."""
    role = QPalette.ColorRole
    roles: dict[QPalette.ColorRole, Tone] = {
        role.Window: "surface", role.WindowText: "text", role.Base: "surface", role.AlternateBase: "sunken",
        role.Text: "text", role.PlaceholderText: "muted", role.Button: "raised", role.ButtonText: "text",
        role.BrightText: "error", role.ToolTipBase: "raised", role.ToolTipText: "text",
        role.Highlight: "selection", role.HighlightedText: "text", role.Accent: "accent",
        role.Link: "accent", role.LinkVisited: "accent", role.Light: "raised", role.Midlight: "line",
        role.Mid: "edge", role.Dark: "edge", role.Shadow: "sunken",
    }  # fmt: skip
    result = QPalette()
    for each, tone in roles.items():
        result.setColor(each, tokens.color(tone))
    result.setColor(QPalette.ColorGroup.Inactive, role.Highlight, tokens.color("hover"))
    for each in (role.WindowText, role.Text, role.ButtonText, role.HighlightedText):
        result.setColor(QPalette.ColorGroup.Disabled, each, tokens.tint("muted", 0.6))
    return result


def stylesheet(tokens: Tokens) -> str:
    """Return the application's style sheet, for the Fusion style.

    Arrows and ticks come from the `glyphs:` search path set by `Theme`.
    """
    values = {tone: tokens.color(tone).name() for tone in get_args(Tone)}
    return Template(_SHEET).substitute(
        values,
        name=tokens.name,
        faint=tokens.tint("muted", 0.6).name(),
        pressed=tokens.tint("text", 0.14).name(),
        accent_hover=tokens.tint("accent", 0.88, over="text").name(),
        danger=tokens.tint("error", 0.10).name(),
        thumb=tokens.tint("muted", 0.35).name(),
    )


class HasIcon(Protocol):
    """An object with an icon, such as an action or a button."""

    def setIcon(self, icon: QIcon, /) -> None: ...


class ThemeTarget(Protocol):
    """The part of QApplication that `Theme` uses."""

    def setPalette(self, palette: QPalette, /) -> None: ...
    def setStyleSheet(self, sheet: str, /) -> None: ...
    def styleHints(self) -> QStyleHints: ...


class Theme(QObject):
    """The current theme: tokens, fonts and tinted icons.

    `icon_folder` holds `<name>.svg` drawn with `currentColor`, and `glyphs/<scheme>/` for the style sheet.

    Signals:
        changed: The tokens changed; the palette and the style sheet are already set.
    """

    changed = Signal()

    def __init__(self, icon_folder: Path, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._icon_folder = icon_folder
        self._scheme = Scheme.SYSTEM
        self._tokens = LIGHT
        self._app: ThemeTarget | None = None
        self._sheet_tokens: Tokens | None = None
        self._is_preparing = False
        self._glyphs: dict[tuple[str, int, float], QPixmap] = {}
        self._icons: dict[tuple[str, Tone], QIcon] = {}
        self._icon_targets: weakref.WeakKeyDictionary[HasIcon, tuple[str, Tone]] = weakref.WeakKeyDictionary()
        self._deferred: weakref.WeakKeyDictionary[HasIcon, tuple[str, Tone]] = weakref.WeakKeyDictionary()
        QDir.setSearchPaths("glyphs", [str(icon_folder / "glyphs")])

    @property
    def tokens(self) -> Tokens:
        return self._tokens

    @property
    def scheme(self) -> Scheme:
        """The user's choice, which may be SYSTEM; `tokens.name` is what is shown."""
        return self._scheme

    @property
    def icon_folder(self) -> Path:
        return self._icon_folder

    def color(self, tone: Tone) -> QColor:
        return self._tokens.color(tone)

    def prepare(self, app: ThemeTarget, scheme: Scheme) -> None:
        """Like `apply`, but without the style sheet, which slows down widget creation.

        Call `apply` once the widgets exist.
        """
        self._is_preparing = True
        self.apply(app, scheme)
        self._is_preparing = False
        self._sheet_tokens = None

    def apply(self, app: ThemeTarget, scheme: Scheme) -> None:
        """Style the application, now and when the system's scheme changes. Can be called again."""
        hints = app.styleHints()
        if self._app is None:
            hints.colorSchemeChanged.connect(self._on_system_scheme_changed)
        self._app, self._scheme = app, scheme
        # Setting the scheme in Qt also switches native title bars and file dialogs.
        hints.setColorScheme(_QT_SCHEME[scheme])
        self._apply_tokens(self._tokens_for(hints.colorScheme()))

    def icon(self, name: str, tone: Tone = "text") -> QIcon:
        """Return a tinted icon, sharp at 1x and 2x. After `changed`, get a new one, or use `set_icon`."""
        key = (name, tone)
        if key not in self._icons:
            self._icons[key] = self._make_icon(name, tone)
        return self._icons[key]

    def app_icon(self) -> QIcon:
        """Return the application's icon, untinted."""
        return QIcon(str(self._icon_folder / "app.svg"))

    def set_icon(self, target: HasIcon, name: str, tone: Tone = "text") -> None:
        """Set the icon of `target`, and re-tint it after each theme change as long as it lives."""
        self._icon_targets[target] = (name, tone)
        target.setIcon(self.icon(name, tone))

    def set_icon_later(self, target: HasIcon, name: str, tone: Tone = "text") -> None:
        """Like `set_icon`, but deferred to `apply_icon` or `apply_deferred_icons`.

        Most commands are only seen in a menu; drawing their icons would take a tenth of the startup.
        """
        self._deferred[target] = (name, tone)

    def apply_icon(self, target: HasIcon) -> None:
        """Set a deferred icon now, because the target is about to be shown."""
        icon = self._deferred.pop(target, None)
        if icon is not None:
            self.set_icon(target, *icon)

    def apply_deferred_icons(self) -> None:
        """Set all deferred icons, when the application is idle."""
        for target in list(self._deferred):
            if shiboken6.isValid(target):
                self.apply_icon(target)

    def pixmap(self, name: str, tone: Tone, size: int, ratio: float = 1.0) -> QPixmap:
        """Return an icon at one size, for painting; `ratio` is the device pixel ratio."""
        return self._render(name, self.color(tone), size, ratio)

    def ui_font(self, scale: float = 1.0, weight: QFont.Weight = QFont.Weight.Normal) -> QFont:
        """Return the system's UI font, scaled."""
        return _scaled(QFontDatabase.systemFont(QFontDatabase.SystemFont.GeneralFont), scale, weight)

    def mono_font(self, scale: float = 1.0) -> QFont:
        """Return the system's monospace font, for wire data, as tall as the UI font."""
        font = QFontDatabase.systemFont(QFontDatabase.SystemFont.FixedFont)
        font.setStyleHint(QFont.StyleHint.Monospace)
        _copy_size(self.ui_font(), font)
        return _scaled(font, scale, QFont.Weight.Normal)

    def row_height(self) -> int:
        """Return the height of a dense row: 24 px, or more if the system's text is large."""
        return max(ROW_HEIGHT, QFontMetrics(self.ui_font()).height() + 6)

    def _on_system_scheme_changed(self, scheme: Qt.ColorScheme) -> None:
        self._apply_tokens(self._tokens_for(scheme))

    def _tokens_for(self, system: Qt.ColorScheme) -> Tokens:
        if self._scheme is Scheme.SYSTEM:
            return DARK if system is Qt.ColorScheme.Dark else LIGHT
        return DARK if self._scheme is Scheme.DARK else LIGHT

    def _apply_tokens(self, tokens: Tokens) -> None:
        assert self._app is not None
        self._app.setPalette(palette(tokens))
        if tokens is self._sheet_tokens:
            return  # Qt resets the palette when the scheme is set; style sheet and icons are still valid
        is_changed = tokens is not self._tokens or self._is_preparing
        self._tokens = self._sheet_tokens = tokens
        if is_changed:
            self._icons.clear()
        if not self._is_preparing:
            self._app.setStyleSheet(stylesheet(tokens))
        if is_changed:
            self._apply_icons()
            self.changed.emit()

    def _apply_icons(self) -> None:
        for target, (name, tone) in list(self._icon_targets.items()):
            if shiboken6.isValid(target):
                target.setIcon(self.icon(name, tone))

    def _make_icon(self, name: str, tone: Tone) -> QIcon:
        icon = QIcon()
        for ratio in _screen_ratios():
            drawn = self._render(name, self.color(tone), ICON_SIZE, ratio)
            icon.addPixmap(drawn, QIcon.Mode.Normal)
            # Without this, Qt tints a selected row's icon with the selection color.
            icon.addPixmap(drawn, QIcon.Mode.Selected)
            faint = self._render(name, self._tokens.tint("muted", 0.5), ICON_SIZE, ratio)
            icon.addPixmap(faint, QIcon.Mode.Disabled)
        return icon

    def _render(self, name: str, color: QColor, size: int, ratio: float) -> QPixmap:
        """Render the glyph, filled with `color`."""
        pixmap = QPixmap(self._glyph(name, size, ratio))
        painter = QPainter(pixmap)
        painter.setCompositionMode(QPainter.CompositionMode.CompositionMode_SourceIn)
        painter.fillRect(pixmap.rect(), color)
        painter.end()
        return pixmap

    def _glyph(self, name: str, size: int, ratio: float) -> QPixmap:
        """Return the untinted drawing, cached: parsing the SVG is the slow part."""
        key = (name, size, ratio)
        if key not in self._glyphs:
            path = self._icon_folder / f"{name}.svg"
            renderer = QSvgRenderer(QByteArray(path.read_bytes()))
            if not renderer.isValid():
                raise ValueError(f"Invalid icon file: {path}")
            pixmap = QPixmap(round(size * ratio), round(size * ratio))
            pixmap.fill(Qt.GlobalColor.transparent)
            painter = QPainter(pixmap)
            renderer.render(painter, QRectF(pixmap.rect()))
            painter.end()
            pixmap.setDevicePixelRatio(ratio)
            self._glyphs[key] = pixmap
        return self._glyphs[key]


_QT_SCHEME = {
    Scheme.SYSTEM: Qt.ColorScheme.Unknown,
    Scheme.LIGHT: Qt.ColorScheme.Light,
    Scheme.DARK: Qt.ColorScheme.Dark,
}


def _screen_ratios() -> list[float]:
    """Return the pixel ratios in use: drawing for an unused one takes 15 ms at startup."""
    return sorted({1.0, *(2.0 for screen in QGuiApplication.screens() if screen.devicePixelRatio() > 1)})


def _scaled(font: QFont, scale: float, weight: QFont.Weight) -> QFont:
    if font.pointSizeF() > 0:
        font.setPointSizeF(font.pointSizeF() * scale)
    else:  # some desktops use pixel sizes
        font.setPixelSize(round(font.pixelSize() * scale))
    font.setWeight(weight)
    return font


def _copy_size(source: QFont, target: QFont) -> None:
    if source.pointSizeF() > 0:
        target.setPointSizeF(source.pointSizeF())
    else:
        target.setPixelSize(source.pixelSize())


# Item views get no `::item` rules for tables: the style sheet engine would then paint every cell.
# A focus ring replaces one pixel of padding, so that nothing moves when focus does.
_SHEET = """
QToolTip { background: $raised; color: $text; border: 1px solid $edge; padding: 2px; }
QMainWindow::separator { background: $line; width: 1px; height: 1px; }
QMainWindow::separator:hover, QSplitter::handle:hover { background: $accent; }
QSplitter::handle { background: $line; }
QSplitter::handle:horizontal { width: 1px; }
QSplitter::handle:vertical { height: 1px; }
QStatusBar { background: $sunken; color: $muted; border-top: 1px solid $line; }
QStatusBar::item { border: 0; }

QDockWidget { color: $muted; titlebar-close-icon: url(glyphs:$name/close.svg);
    titlebar-normal-icon: url(glyphs:$name/float.svg); }
QDockWidget::title { background: $surface; padding: 8px 12px; text-align: left;
    border-bottom: 1px solid $line; }
QDockWidget::close-button, QDockWidget::float-button { border: 0; border-radius: 4px; padding: 1px; }
QDockWidget::close-button:hover, QDockWidget::float-button:hover { background: $hover; }

QMenuBar { background: $surface; border-bottom: 1px solid $line; padding: 2px 4px; }
QMenuBar::item { background: transparent; padding: 4px 8px; border-radius: 4px; }
QMenuBar::item:selected { background: $hover; }
QMenu { background: $raised; border: 1px solid $edge; padding: 4px; }
QMenu::item { padding: 5px 24px 5px 8px; border-radius: 4px; }
QMenu::item:selected { background: $selection; }
QMenu::item:disabled { color: $faint; }
QMenu::separator { height: 1px; background: $line; margin: 4px 0; }
QMenu::icon { padding-left: 8px; }
QMenu::indicator { width: 16px; height: 16px; left: 6px; }
QMenu::indicator:checked { image: url(glyphs:$name/check-muted.svg); }

QPushButton { background: $raised; color: $text; border: 1px solid $edge; border-radius: 5px;
    padding: 4px 12px; min-height: 16px; }
QPushButton:hover { background: $hover; }
QPushButton:pressed, QPushButton:checked { background: $pressed; }
QPushButton:focus { border: 2px solid $accent; padding: 3px 11px; }
QPushButton:disabled { background: $surface; color: $faint; border-color: $line; }
QPushButton[kind="primary"] { background: $accent; color: $on_accent; border-color: $accent; }
QPushButton[kind="primary"]:hover, QPushButton[kind="primary"]:pressed { background: $accent_hover; }
QPushButton[kind="primary"]:focus { border-color: $text; }
QPushButton[kind="primary"]:disabled { background: $hover; color: $faint; border-color: $line; }
QPushButton[kind="danger"] { color: $error; }
QPushButton[kind="danger"]:hover { background: $danger; }
QPushButton[kind="danger"]:disabled, QPushButton[kind="quiet"]:disabled { color: $faint; }
QPushButton[kind="quiet"] { background: transparent; border-color: transparent; color: $accent; }
QPushButton[kind="quiet"]:hover { background: $hover; }
QPushButton[kind="quiet"]:focus { border-color: $accent; }
QToolButton { background: transparent; border: 1px solid transparent; border-radius: 5px; padding: 3px; }
QToolButton:hover { background: $hover; }
QToolButton:pressed, QToolButton:checked { background: $pressed; }
QToolButton:focus { border-color: $accent; }
QToolButton:disabled { color: $faint; }
QToolButton::menu-indicator { image: none; }

QLineEdit, QAbstractSpinBox, QComboBox, QTextEdit[kind="input"], QPlainTextEdit[kind="input"] {
    background: $raised; color: $text; border: 1px solid $edge; border-radius: 5px; padding: 3px 7px;
    placeholder-text-color: $muted; selection-background-color: $selection; selection-color: $text; }
QLineEdit, QAbstractSpinBox, QComboBox { min-height: 18px; }
QLineEdit:focus, QAbstractSpinBox:focus, QComboBox:focus, QTextEdit[kind="input"]:focus,
QPlainTextEdit[kind="input"]:focus { border: 2px solid $accent; padding: 2px 6px; }
QLineEdit:disabled, QAbstractSpinBox:disabled, QComboBox:disabled { background: $sunken; color: $faint;
    border-color: $line; }
QLineEdit[state="error"], QAbstractSpinBox[state="error"], QComboBox[state="error"],
QPlainTextEdit[state="error"] { border-color: $error; }
QLineEdit QToolButton { padding: 0; }
QComboBox QLineEdit, QComboBox QLineEdit:focus { border: 0; padding: 0; background: transparent; }
QAbstractSpinBox::up-button, QAbstractSpinBox::down-button { border: 0; background: transparent;
    width: 18px; }
QAbstractSpinBox::up-arrow, QHeaderView::up-arrow { image: url(glyphs:$name/chevron-up.svg); width: 12px; }
QAbstractSpinBox::down-arrow, QHeaderView::down-arrow { image: url(glyphs:$name/chevron-down.svg);
    width: 12px; }
QComboBox::drop-down { border: 0; width: 22px; }
QComboBox::down-arrow { image: url(glyphs:$name/chevron-down.svg); width: 16px; height: 16px; }
QComboBox QAbstractItemView { background: $raised; border: 1px solid $edge; padding: 4px; }
QCheckBox, QRadioButton { spacing: 8px; }
QCheckBox::indicator, QRadioButton::indicator, QAbstractItemView::indicator { width: 14px; height: 14px;
    border: 1px solid $edge; border-radius: 4px; background: $raised; }
QRadioButton::indicator { border-radius: 8px; }
QCheckBox::indicator:hover, QRadioButton::indicator:hover { border-color: $muted; }
QCheckBox::indicator:focus, QRadioButton::indicator:focus { border-color: $accent; }
QCheckBox:focus, QRadioButton:focus { color: $accent; }
QCheckBox::indicator:checked, QAbstractItemView::indicator:checked { background: $accent;
    border-color: $accent; image: url(glyphs:$name/check.svg); }
QCheckBox::indicator:indeterminate, QAbstractItemView::indicator:indeterminate { background: $accent;
    border-color: $accent; image: url(glyphs:$name/dash.svg); }
QRadioButton::indicator:checked { border: 5px solid $accent; width: 6px; height: 6px;
    background: $on_accent; }

QAbstractScrollArea { border: 0; }
QAbstractItemView { background: $surface; border: 0; outline: 0; selection-background-color: $selection;
    selection-color: $text; }
*[place="sidebar"], *[place="sidebar"] QAbstractItemView { background: $sunken; }
QTableView { gridline-color: transparent; }
QTreeView::branch { background: transparent; }
QTreeView::branch:has-children:closed { image: url(glyphs:$name/chevron-right.svg); }
QTreeView::branch:has-children:open { image: url(glyphs:$name/chevron-down.svg); }
QHeaderView { background: $surface; border: 0; }
QHeaderView::section { background: $surface; color: $muted; border: 0; border-bottom: 1px solid $line;
    padding: 0 4px; min-height: 25px; }
QHeaderView::section:hover { color: $text; background: $hover; }
QTableCornerButton::section { background: $surface; border: 0; }

QTabWidget::pane { border: 0; border-top: 1px solid $line; }
QTabBar { background: transparent; }
QTabBar::tab { background: transparent; color: $muted; border: 0; border-bottom: 2px solid transparent;
    padding: 7px 2px 6px 2px; margin: 0 8px; }
QTabBar::tab:hover { color: $text; }
QTabBar::tab:selected { color: $text; border-bottom-color: $accent; }
QTabBar::tab:focus { background: $hover; }
QTabBar::tab:disabled { color: $faint; }

QScrollBar { background: transparent; border: 0; }
QScrollBar:vertical { width: 10px; }
QScrollBar:horizontal { height: 10px; }
QScrollBar::handle { background: $thumb; border-radius: 3px; margin: 2px; }
QScrollBar::handle:hover { background: $muted; }
QScrollBar::handle:vertical { min-height: 32px; }
QScrollBar::handle:horizontal { min-width: 32px; }
QScrollBar::add-line, QScrollBar::sub-line { width: 0; height: 0; }
QScrollBar::add-page, QScrollBar::sub-page { background: transparent; }
QAbstractScrollArea::corner { background: transparent; }

QProgressBar { background: $hover; border: 0; border-radius: 2px; max-height: 4px; min-height: 4px;
    color: transparent; }
QProgressBar::chunk { background: $accent; border-radius: 2px; }
QGroupBox { border: 0; border-top: 1px solid $line; margin-top: 20px; padding-top: 8px; }
QGroupBox::title { subcontrol-origin: margin; color: $muted; padding: 0 8px 4px 0; }
"""

"""Theme: color tokens for light and dark, fonts, spacing, tinted icons and the style sheet.

Read `Tokens` first: every color on screen has a name there, and widgets refer to colors by that name.
The app creates one `Theme` and passes it to each widget; it follows the system's color scheme and emits
`changed` when the tokens change. This module does not import QtWidgets: the application object is styled
through the `ThemeTarget` protocol, and the app selects the Fusion style itself.

The style sheet is set once and refers to the palette, because setting another one restyles every widget:
0.8 ms each, or many seconds with ten servers. A theme change sets the palette and restyles what is visible;
hidden parts are restyled when they are shown (`style_sheet.py`).
"""

from __future__ import annotations

import sys
import weakref
from collections.abc import Sequence
from enum import Enum
from pathlib import Path
from typing import Literal, NamedTuple, Protocol, TypeAlias

import shiboken6
from PySide6.QtCore import QDir, QObject, QSize, Qt, Signal
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

from inspector.qt.style_sheet import Restyler, StyledWidget, stylesheet

# Spacing comes in steps of four.
SPACE_1, SPACE_2, SPACE_3, SPACE_4, SPACE_6, SPACE_8 = 4, 8, 12, 16, 24, 32
ROW_HEIGHT = 24
# Windows calls Courier New its monospace font, which is thin and wide. The second is on every Windows.
_WINDOWS_MONO_FONTS = ("Cascadia Mono", "Consolas")
HEADER_HEIGHT = 36
ICON_SIZE = 16

# A token name: passed to widgets instead of a color.
Tone: TypeAlias = Literal[
    "surface", "raised", "sunken", "line", "edge", "hover", "text", "muted", "accent", "on_accent",
    "selection", "ok", "warn", "error", "wait", "inbound", "outbound", "key", "string", "number", "literal",
]  # fmt: skip


class Tokens(NamedTuple):
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
    """Return the tokens as a QPalette. Without focus, a selection fades to `hover`.

    The style sheet needs more colors than there are roles for them: `LinkVisited` is the text on `Link`, and
    `Shadow` the accent under the mouse.
    """
    role = QPalette.ColorRole
    roles: dict[QPalette.ColorRole, Tone] = {
        role.Window: "surface", role.WindowText: "text", role.Base: "surface", role.AlternateBase: "sunken",
        role.Text: "text", role.PlaceholderText: "muted", role.Button: "raised", role.ButtonText: "text",
        role.BrightText: "error", role.ToolTipBase: "raised", role.ToolTipText: "text",
        role.Highlight: "selection", role.HighlightedText: "text", role.Accent: "accent",
        role.Link: "accent", role.LinkVisited: "on_accent", role.Light: "raised", role.Midlight: "line",
        role.Mid: "edge", role.Dark: "edge",
    }  # fmt: skip
    result = QPalette()
    for each, tone in roles.items():
        result.setColor(each, tokens.color(tone))
    result.setColor(role.Shadow, tokens.tint("accent", 0.88, over="text"))
    result.setColor(QPalette.ColorGroup.Inactive, role.Highlight, tokens.color("hover"))
    for each in (role.WindowText, role.Text, role.ButtonText, role.HighlightedText):
        result.setColor(QPalette.ColorGroup.Disabled, each, tokens.tint("muted", 0.6))
    return result


class HasIcon(Protocol):
    """An object with an icon, such as an action or a button."""

    def setIcon(self, icon: QIcon, /) -> None: ...


class ThemeTarget(Protocol):
    """The part of QApplication that `Theme` uses."""

    def setPalette(self, palette: QPalette, /) -> None: ...
    def setStyleSheet(self, sheet: str, /) -> None: ...
    def styleSheet(self) -> str: ...
    def styleHints(self) -> QStyleHints: ...
    def topLevelWidgets(self) -> Sequence[StyledWidget]: ...


class Theme(QObject):
    """The current theme: tokens, fonts and tinted icons.

    `icon_folder` holds `<name>.svg` drawn with `currentColor`, and `glyphs/` for the style sheet.

    Signals:
        changed: The tokens changed; the palette is already set.
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
        self._restyler = Restyler(self)
        self._glyphs: dict[tuple[str, int, float], QPixmap] = {}
        self._icons: dict[tuple[str, str, Tone], QIcon] = {}
        self._pixmaps: dict[tuple[str, str, Tone, int, float], QPixmap] = {}
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
        key = (self._tokens.name, name, tone)
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
        """Return an icon at one size, for painting; `ratio` is the device pixel ratio.

        The same one each time: Qt caches what it derives from a pixmap, up to 10 MB.
        """
        key = (self._tokens.name, name, tone, size, ratio)
        if key not in self._pixmaps:
            self._pixmaps[key] = self._render(name, self.color(tone), size, ratio)
        return self._pixmaps[key]

    def ui_font(self, scale: float = 1.0, weight: QFont.Weight = QFont.Weight.Normal) -> QFont:
        """Return the system's UI font, scaled."""
        return _scaled(QFontDatabase.systemFont(QFontDatabase.SystemFont.GeneralFont), scale, weight)

    def mono_font(self, scale: float = 1.0, platform: str = sys.platform) -> QFont:
        """Return the system's monospace font, for wire data, as tall as the UI font."""
        font = QFontDatabase.systemFont(QFontDatabase.SystemFont.FixedFont)
        if platform == "win32":
            font.setFamilies([*_WINDOWS_MONO_FONTS, *font.families()])
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
        if not self._is_preparing:
            self._style(self._app)
        if is_changed:
            self._apply_icons()
            self.changed.emit()

    def _style(self, app: ThemeTarget) -> None:
        windows = app.topLevelWidgets()
        for window in windows:
            window.setProperty("scheme", self._tokens.name)  # selects the glyphs of the style sheet
        sheet = stylesheet()
        if app.styleSheet() != sheet:
            app.setStyleSheet(sheet)  # styles everything
        else:
            self._restyler.restyle(windows)

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
            if not path.is_file():
                raise FileNotFoundError(f"Missing icon file: {path}")
            pixmap = QIcon(str(path)).pixmap(QSize(size, size), ratio)
            if pixmap.isNull():
                raise ValueError(f"Invalid icon file: {path}")
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

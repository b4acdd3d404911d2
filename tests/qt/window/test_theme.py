"""Theme: readable in both schemes; icons exist and follow the colors."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import get_args

import pytest
from PySide6.QtCore import QObject, Qt
from PySide6.QtGui import QAction, QColor, QIcon, QImage, QPalette, QPixmap
from PySide6.QtWidgets import QApplication, QLineEdit, QTabWidget, QVBoxLayout, QWidget
from pytestqt.qtbot import QtBot

from inspector.qt import style_sheet
from inspector.qt.style_sheet import stylesheet
from inspector.qt.theme import DARK, LIGHT, Scheme, Theme, Tokens, Tone, palette
from inspector.qt.widgets.text.labels import PlainLabel

ICONS = Path(__file__).parents[3] / "resources" / "icons"
INKS: tuple[Tone, ...] = (
    "text", "muted", "accent", "ok", "warn", "error", "wait", "inbound", "outbound",
    "key", "string", "number", "literal",
)  # fmt: skip
GROUNDS: tuple[Tone, ...] = ("surface", "raised", "sunken", "hover", "selection")
NAMES = [
    "server", "plug", "unplug", "refresh", "play", "stop", "plus", "trash", "search", "close", "filter",
    "copy", "save", "tool", "resource", "prompt", "tasks", "inbox", "key", "console", "traffic", "timeline",
    "arrow-in", "arrow-out", "warning", "error", "check", "info", "settings", "pause", "clear",
    "chevron-right", "chevron-down", "sun", "moon", "more", "edit", "pin", "json", "form", "link", "wrap",
    "chevron-up",
]  # fmt: skip

both = pytest.mark.parametrize("tokens", [LIGHT, DARK], ids=["light", "dark"])


@pytest.fixture
def theme(qapp: QApplication) -> Iterator[Theme]:
    """A theme on the real application, reset afterwards."""
    theme = Theme(ICONS)
    theme.apply(qapp, Scheme.LIGHT)
    yield theme
    qapp.styleHints().unsetColorScheme()
    qapp.setStyleSheet("")
    qapp.setPalette(QPalette())


def luminance(color: QColor) -> float:
    """WCAG 2.1: relative luminance."""
    parts = [
        value / 12.92 if value <= 0.03928 else ((value + 0.055) / 1.055) ** 2.4
        for value in (color.redF(), color.greenF(), color.blueF())
    ]
    return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2]


def contrast(ink: QColor, ground: QColor) -> float:
    dark, light = sorted((luminance(ink), luminance(ground)))
    return (light + 0.05) / (dark + 0.05)


def inked(pixmap: QPixmap) -> int:
    """Return how many pixels the drawing visibly covers."""
    image = pixmap.toImage().convertToFormat(QImage.Format.Format_ARGB32)
    return sum(
        image.pixelColor(x, y).alpha() > 100 for x in range(image.width()) for y in range(image.height())
    )


def main_color(icon: QIcon) -> QColor:
    image = icon.pixmap(16, 16).toImage()
    pixels = [image.pixelColor(x, y) for x in range(image.width()) for y in range(image.height())]
    return max(pixels, key=lambda pixel: pixel.alpha())


@both
@pytest.mark.parametrize("ground", GROUNDS)
@pytest.mark.parametrize("ink", INKS)
def test_text_is_readable_on_every_background(tokens: Tokens, ink: Tone, ground: Tone) -> None:
    assert contrast(tokens.color(ink), tokens.color(ground)) >= 4.5


@both
@pytest.mark.parametrize("ink", INKS)
def test_text_is_readable_on_a_tint_of_its_own_color(tokens: Tokens, ink: Tone) -> None:
    assert contrast(tokens.color(ink), tokens.tint(ink)) >= 4.5


@both
def test_accent_supports_text_and_a_visible_focus_ring(tokens: Tokens) -> None:
    assert contrast(tokens.color("on_accent"), tokens.color("accent")) >= 4.5
    assert all(contrast(tokens.color("accent"), tokens.color(ground)) >= 3 for ground in GROUNDS)


def test_every_token_has_a_tone_and_a_valid_color() -> None:
    names = [name for name in Tokens._fields if name != "name"]
    assert sorted(names) == sorted(get_args(Tone))
    for tokens in (LIGHT, DARK):
        assert all(re.fullmatch("#[0-9a-f]{6}", getattr(tokens, name)) for name in names)


@both
def test_palette_keeps_selected_text_readable(tokens: Tokens) -> None:
    colors = palette(tokens)
    for group in (QPalette.ColorGroup.Active, QPalette.ColorGroup.Inactive):
        ink = colors.color(group, QPalette.ColorRole.HighlightedText)
        assert contrast(ink, colors.color(group, QPalette.ColorRole.Highlight)) >= 4.5


def test_stylesheet_placeholders_are_filled_in_and_its_glyphs_exist() -> None:
    sheet = stylesheet()
    assert "$" not in sheet
    glyphs = re.findall(r"url\(glyphs:(.+?)\)", sheet)
    assert glyphs
    assert all((ICONS / "glyphs" / glyph).is_file() for glyph in glyphs)


def test_stylesheet_has_no_color_of_one_scheme_only() -> None:
    assert not re.findall("#[0-9a-f]{6}", stylesheet())


@both
def test_glyphs_are_visible_in_the_scheme(tokens: Tokens) -> None:
    for path in (ICONS / "glyphs").glob("*.svg"):
        for color in re.findall("#[0-9a-f]{6}", path.read_text()):
            grounds = (tone for tone in GROUNDS if tone != "selection")
            assert all(contrast(QColor(color), tokens.color(ground)) >= 3 for ground in grounds), path.name
    for path in (ICONS / "glyphs" / tokens.name).glob("*.svg"):
        assert set(re.findall("#[0-9a-f]{6}", path.read_text())) == {tokens.on_accent}, path.name


def test_stylesheet_is_accepted_by_qt_without_a_warning(theme: Theme, qapp: QApplication) -> None:
    # pytest fails on the warning Qt prints for a sheet it cannot read
    theme.apply(qapp, Scheme.DARK)
    assert qapp.styleSheet() == stylesheet()


def color_at(widget: QWidget, x: int, y: int) -> str:
    return widget.grab().toImage().pixelColor(x, y).name()


def test_style_sheet_is_set_once_and_visible_widgets_follow_the_theme(
    theme: Theme, qapp: QApplication, qtbot: QtBot, monkeypatch: pytest.MonkeyPatch
) -> None:
    field = QLineEdit()
    qtbot.addWidget(field)
    field.show()
    assert color_at(field, 10, 5) == LIGHT.raised
    sheets: list[str] = []
    monkeypatch.setattr(QApplication, "setStyleSheet", lambda app, sheet: sheets.append(sheet))
    theme.apply(qapp, Scheme.DARK)
    assert color_at(field, 10, 5) == DARK.raised
    theme.apply(qapp, Scheme.LIGHT)
    assert color_at(field, 10, 5) == LIGHT.raised
    assert not sheets


def test_hidden_widgets_follow_the_theme_when_they_are_shown(
    theme: Theme, qapp: QApplication, qtbot: QtBot
) -> None:
    tabs = QTabWidget()
    qtbot.addWidget(tabs)
    page = QWidget()
    column = QVBoxLayout(page)
    field, hidden = QLineEdit(), QLineEdit()
    label = PlainLabel(theme, "███", tone="ok")
    for widget in (field, hidden, label):
        column.addWidget(widget)
    hidden.hide()
    tabs.addTab(page, "first")
    tabs.addTab(QWidget(), "second")
    tabs.show()
    tabs.setCurrentIndex(1)
    theme.apply(qapp, Scheme.DARK)
    tabs.setCurrentIndex(0)
    assert color_at(field, 10, 5) == DARK.raised
    assert label.palette().windowText().color().name() == DARK.ok
    theme.apply(qapp, Scheme.LIGHT)
    theme.apply(qapp, Scheme.DARK)
    hidden.show()
    assert color_at(hidden, 10, 5) == DARK.raised


def test_theme_change_polishes_no_hidden_widget(
    theme: Theme, qapp: QApplication, qtbot: QtBot, monkeypatch: pytest.MonkeyPatch
) -> None:
    window = QWidget()
    qtbot.addWidget(window)
    shown, hidden = QLineEdit(window), QWidget(window)
    inside = QLineEdit(hidden)
    hidden.hide()
    window.show()
    polished: list[QWidget] = []
    monkeypatch.setattr(style_sheet, "_polish", polished.append)
    theme.apply(qapp, Scheme.DARK)
    assert shown in polished
    assert hidden not in polished
    hidden.show()
    assert inside in polished


@pytest.mark.parametrize("name", NAMES)
def test_icon_draws_something_at_1x_and_2x_in_both_schemes(
    theme: Theme, qapp: QApplication, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # As on a machine with a screen of each kind; sizes that no screen shows are not drawn.
    monkeypatch.setattr("inspector.qt.theme._screen_ratios", lambda: [1.0, 2.0])
    for scheme in (Scheme.LIGHT, Scheme.DARK):
        theme.apply(qapp, scheme)
        for ratio in (1, 2):
            pixmap = theme.icon(name).pixmap(theme.icon(name).availableSizes()[0], float(ratio))
            assert pixmap.width() == 16 * ratio
            assert inked(pixmap) >= 8 * ratio


@pytest.mark.parametrize("path", sorted(ICONS.glob("*.svg")), ids=lambda path: path.stem)
def test_icon_files_leave_the_color_to_the_theme(path: Path) -> None:
    source = path.read_text(encoding="utf-8")
    assert ("currentColor" in source) == (path.stem != "app")
    assert "href" not in source
    assert "<style" not in source


def test_icon_takes_the_color_of_its_tone(theme: Theme) -> None:
    assert main_color(theme.icon("stop", "error")).name() == LIGHT.error
    assert main_color(theme.icon("stop")).name() == LIGHT.text


def test_app_icon_keeps_its_own_colors(theme: Theme) -> None:
    image = theme.app_icon().pixmap(64, 64).toImage()
    colors = {image.pixelColor(x, y).name() for x in range(image.width()) for y in range(image.height())}
    assert {"#3450c8", "#ffffff"} <= colors


def test_icon_is_made_once(theme: Theme) -> None:
    assert theme.icon("play").cacheKey() == theme.icon("play").cacheKey()


def test_pixmap_is_made_once_per_scheme(theme: Theme, qapp: QApplication) -> None:
    light = theme.pixmap("error", "error", 24).cacheKey()
    assert theme.pixmap("error", "error", 24).cacheKey() == light
    theme.apply(qapp, Scheme.DARK)
    assert theme.pixmap("error", "error", 24).cacheKey() != light
    theme.apply(qapp, Scheme.LIGHT)
    assert theme.pixmap("error", "error", 24).cacheKey() == light


def test_unknown_icon_is_an_error_and_not_an_empty_image(theme: Theme) -> None:
    with pytest.raises(FileNotFoundError):
        theme.icon("no-such-icon")


def test_themed_action_changes_its_icon_with_the_scheme(theme: Theme, qapp: QApplication) -> None:
    action = QAction("Stop")
    theme.set_icon(action, "stop")
    theme.apply(qapp, Scheme.DARK)
    assert main_color(action.icon()).name() == DARK.text


def test_deleted_themed_action_is_forgotten(theme: Theme, qapp: QApplication) -> None:
    owner = QObject()
    action = QAction("Stop", owner)
    theme.set_icon(action, "stop")
    del owner  # takes the C++ action with it while Python still holds the name
    theme.apply(qapp, Scheme.DARK)
    assert theme.tokens is DARK


def test_scheme_change_restyles_the_application_before_it_is_announced(
    theme: Theme, qapp: QApplication, qtbot: QtBot
) -> None:
    seen: list[str] = []
    theme.changed.connect(lambda: seen.append(qapp.palette().color(QPalette.ColorRole.Window).name()))
    theme.apply(qapp, Scheme.DARK)
    assert seen == [DARK.surface]


def test_applying_the_same_scheme_again_changes_nothing(theme: Theme, qapp: QApplication) -> None:
    seen: list[None] = []
    theme.changed.connect(lambda: seen.append(None))
    theme.apply(qapp, Scheme.LIGHT)
    assert seen == []


def test_system_scheme_is_followed_only_when_chosen(theme: Theme, qapp: QApplication) -> None:
    hints = qapp.styleHints()
    hints.colorSchemeChanged.emit(Qt.ColorScheme.Dark)
    assert theme.tokens is LIGHT
    theme.apply(qapp, Scheme.SYSTEM)
    hints.colorSchemeChanged.emit(Qt.ColorScheme.Dark)
    assert theme.tokens is DARK
    hints.colorSchemeChanged.emit(Qt.ColorScheme.Light)
    assert theme.tokens is LIGHT


def test_fonts_share_a_size_and_scale(theme: Theme) -> None:
    assert theme.mono_font().pointSizeF() == theme.ui_font().pointSizeF()
    assert theme.ui_font(2.0).pointSizeF() == pytest.approx(2 * theme.ui_font().pointSizeF())
    assert theme.row_height() >= 22


def test_windows_has_a_better_monospace_font_than_courier_new(theme: Theme) -> None:
    system, windows = theme.mono_font(platform="linux"), theme.mono_font(platform="win32")
    assert windows.families() == ["Cascadia Mono", "Consolas", *system.families()]
    assert windows.pointSizeF() == theme.ui_font().pointSizeF()


def test_placeholder_text_is_readable_too(theme: Theme, qtbot: QtBot) -> None:
    line = QLineEdit()
    qtbot.addWidget(line)
    line.ensurePolished()
    # a style sheet's `color` alone would leave the placeholder half transparent
    assert line.palette().color(QPalette.ColorRole.PlaceholderText).name(QColor.NameFormat.HexArgb) == (
        "#ff" + LIGHT.muted[1:]
    )

"""Color rules: the first that matches sets the tint, on which all text is readable."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import get_args

import pytest
from PySide6.QtGui import QColor
from PySide6.QtWidgets import QApplication

from inspector.config.preferences.traffic import TINTS, ColorRule
from inspector.qt.models.traffic.columns import STATUS_TONES
from inspector.qt.models.traffic.row_search import Matcher
from inspector.qt.models.traffic.view_options import TINT_STRENGTH, TONES, RowColors
from inspector.qt.panels.traffic.filter import FilterLanguage
from inspector.qt.theme import DARK, LIGHT, Theme, Tokens, Tone
from inspector.traffic.log import TrafficLog
from inspector.traffic.records import RecordKind, Status

ICONS = Path(__file__).parents[3] / "resources" / "icons"


def contrast(one: QColor, other: QColor) -> float:
    """Return the contrast ratio as defined by WCAG."""

    def part(value: float) -> float:
        return float(value / 12.92 if value <= 0.03928 else ((value + 0.055) / 1.055) ** 2.4)

    def light(color: QColor) -> float:
        return 0.2126 * part(color.redF()) + 0.7152 * part(color.greenF()) + 0.0722 * part(color.blueF())

    dark, bright = sorted((light(one), light(other)))
    return (bright + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("tokens", [LIGHT, DARK], ids=lambda tokens: tokens.name)
def test_row_text_is_readable_on_every_tint(tokens: Tokens) -> None:
    assert set(TONES) == set(TINTS)
    assert set(TONES.values()) <= set(get_args(Tone))
    text_tones: set[Tone] = {"text", "muted", *STATUS_TONES.values()}
    for tint in TONES.values():
        for tone in text_tones:
            assert contrast(tokens.color(tone), tokens.tint(tint, TINT_STRENGTH)) >= 4.5, (tone, tint)


@pytest.fixture
def log() -> TrafficLog:
    """A request that failed, and a notification with a big body."""
    log = TrafficLog()
    server = log.add_server("one")
    request = log.append(server, RecordKind.REQUEST, 2, 0, 0, b"{}", "ping", "", 1)
    response = log.append(server, RecordKind.ERROR, 1, 1, 1, b'{"needle":1}', "ping", "", 1)
    log.link(request, response, Status.ERROR)
    log.append(
        server, RecordKind.NOTIFICATION, 1, 2, 2, b'"needle"' + b" " * 300_000, "notifications/message"
    )
    log.publish()
    return log


@pytest.fixture
def theme(qapp: QApplication) -> Theme:
    return Theme(ICONS)


@pytest.fixture
def tints(log: TrafficLog, theme: Theme) -> Callable[..., RowColors]:
    def make(*rules: ColorRule) -> RowColors:
        tints = RowColors(log, theme, FilterLanguage(log).matcher)
        tints.set_rules(rules)
        return tints

    return make


def test_first_matching_enabled_rule_gives_the_tint(tints: Callable[..., RowColors], theme: Theme) -> None:
    made = tints(
        ColorRule("status:error", "ok", is_on=False),
        ColorRule("no such ) filter", "ok"),
        ColorRule("kind:error", "warn"),
        ColorRule("status:error", "error"),
    )
    tone = theme.tokens.tint
    assert [made.color(row) for row in range(3)] == [
        tone("error", TINT_STRENGTH),
        tone("warn", TINT_STRENGTH),
        None,
    ]


def test_rule_that_reads_bodies_leaves_big_ones_alone(tints: Callable[..., RowColors]) -> None:
    made = tints(ColorRule("needle", "ok"))
    assert made.color(1) is not None
    assert made.color(2) is None
    assert tints(ColorRule("size>100k", "ok")).color(2) is not None


def test_row_tints_are_cached_until_the_row_changes(log: TrafficLog, theme: Theme) -> None:
    requested: list[int] = []

    class Counting:
        is_cheap = True

        def rows(self, numbers: range) -> range:
            return numbers

        def matches(self, number: int) -> bool:
            requested.append(number)
            return log.status(number) is Status.ERROR

    def compile(text: str) -> Matcher:
        return Counting()

    tints = RowColors(log, theme, compile)
    tints.set_rules([ColorRule("any", "error")])
    for _ in range(2):
        assert tints.color(0) is not None
    assert requested == [0]
    tints.forget([0])
    tints.color(0)
    assert requested == [0, 0]

"""Saved filters and color rules of the traffic view, as the settings `filters` and `colorRules` store them.

An invalid entry is skipped and reported. Imported at start-up: keep it light.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from inspector.base.json.values import JSON, JSONObject

FILTERS, COLOR_RULES = "filters", "colorRules"

# Row backgrounds that a rule can set, as named in the file.
TINTS = ("error", "warn", "ok", "wait", "inbound", "outbound")


class ColorRule(NamedTuple):
    """Tints rows that match the filter, unless an earlier rule matches."""

    filter: str
    tint: str
    is_on: bool = True


DEFAULT_RULES = (
    ColorRule('status in (error, "not sent") or finding:*', "error"),
    ColorRule('status="tool error"', "warn"),
    ColorRule("dur>5s", "wait", is_on=False),
    ColorRule("dir:in kind:request", "inbound", is_on=False),
)


def read_filters(value: JSON) -> tuple[dict[str, str], list[str]]:
    """Return the saved filters by name, and what is wrong with the others."""
    filters = value if isinstance(value, dict) else {}
    problems = [
        f"The saved filter {name!r} must be a string. It is ignored."
        for name, text in filters.items()
        if not isinstance(text, str)
    ]
    return {name: text for name, text in filters.items() if isinstance(text, str)}, problems


def read_rules(value: JSON) -> tuple[Sequence[ColorRule], list[str]]:
    """Return the color rules in evaluation order, and what is wrong with the others."""
    if not isinstance(value, list):
        return DEFAULT_RULES, []
    rules, problems = [_read_rule(entry) for entry in value], list[str]()
    for number, rule in enumerate(rules, 1):
        if rule is None:
            problems.append(f"Color rule {number} needs a “filter” and a known “tint”. It is ignored.")
    return tuple(rule for rule in rules if rule is not None), problems


def written_rules(rules: Sequence[ColorRule], saved: JSON) -> JSON:
    """Return the rules as JSON, keeping unknown members of those that are `saved`."""
    return [_written(rule, saved) for rule in rules]


def _read_rule(entry: JSON) -> ColorRule | None:
    if not isinstance(entry, dict):
        return None
    text, tint = entry.get("filter"), entry.get("tint")
    if not isinstance(text, str) or not isinstance(tint, str) or tint not in TINTS:
        return None
    return ColorRule(text, tint, entry.get("on", True) is not False)


def _written(rule: ColorRule, known: JSON) -> JSONObject:
    """Return the rule as JSON, keeping unknown members of the rule with the same filter."""
    before: JSONObject = {}
    for entry in known if isinstance(known, list) else []:
        if isinstance(entry, dict) and entry.get("filter") == rule.filter:
            before = entry
    return {**before, "filter": rule.filter, "tint": rule.tint, "on": rule.is_on}

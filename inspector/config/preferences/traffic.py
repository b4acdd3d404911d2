"""Saved filters and color rules of the traffic view, in the preferences file.

Unknown members are preserved when it is written; an invalid entry is skipped and reported. Imported at
start-up: keep it light.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

from inspector.base.errors import ConfigError
from inspector.base.json.values import JSON, JSONObject

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


class TrafficPrefs(NamedTuple):
    """Saved filters by name, and color rules in evaluation order."""

    filters: Mapping[str, str] = MappingProxyType({})
    rules: Sequence[ColorRule] = DEFAULT_RULES


class TrafficPrefsFile:
    """The `TrafficPrefs` sections of the preferences file."""

    def __init__(self, path: Path) -> None:
        from inspector.config.json_file import JsonDocument  # on most starts no file is read yet

        self._file = JsonDocument(path)

    def load(self) -> tuple[TrafficPrefs, list[str]]:
        """Return the preferences and one sentence per problem. Never raises."""
        try:
            document = self._file.read()
        except ConfigError as exc:
            return TrafficPrefs(), [str(exc)]
        problems: list[str] = []
        rules = document.get("colorRules", document.get("colourRules"))
        return TrafficPrefs(
            self._filters(document.get("filters", {}), problems),
            DEFAULT_RULES if rules is None else self._rules(rules, problems),
        ), problems

    def save(self, prefs: TrafficPrefs) -> None:
        """Write the preferences. Raises ConfigError."""
        with self._file.locked():
            document = self._file.read()
            known = document.get("colorRules", document.pop("colourRules", None))
            document["filters"] = dict(prefs.filters)
            document["colorRules"] = [_written(rule, known) for rule in prefs.rules]
            self._file.write(document)

    def _filters(self, section: JSON, problems: list[str]) -> dict[str, str]:
        if not isinstance(section, dict):
            problems.append(self._problem("“filters” must be an object with string values"))
            return {}
        wrong = [name for name, text in section.items() if not isinstance(text, str)]
        problems += [self._problem(f"the filter {name!r} must be a string") for name in wrong]
        return {name: text for name, text in section.items() if isinstance(text, str)}

    def _rules(self, section: JSON, problems: list[str]) -> tuple[ColorRule, ...]:
        if not isinstance(section, list):
            problems.append(self._problem("“colorRules” must be an array"))
            return DEFAULT_RULES
        rules: list[ColorRule] = []
        for number, entry in enumerate(section, 1):
            rule = _read_rule(entry)
            if rule is None:
                problems.append(self._problem(f"color rule {number} needs a “filter” and a known “tint”"))
            else:
                rules.append(rule)
        return tuple(rules)

    def _problem(self, text: str) -> str:
        return f"{self._file.path.name}: {text}. It is ignored."


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

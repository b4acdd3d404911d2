"""Sections of the preferences file: `calls`, `inbox` and `captures`.

    {"inbox": {"answerWithin": 300}, …}

`answerWithin` is the Inbox timeout in seconds; a request that is pending for longer gets the reply
"cancel", or an error where there is no such reply. Without the member there is no timeout. Unknown
sections and members are preserved; an invalid one falls back to its default and is reported.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path

from inspector.base.errors import ConfigError
from inspector.base.json.values import JSON, JSONObject
from inspector.config.json_file import JsonDocument

_SECTION = "calls"


@dataclass(frozen=True, slots=True)
class CallPrefs:
    """Preferences for calling tools by hand.

    `folders` hold saved calls besides our own. `environment` lists the variables that `${env:NAME}` may
    read: saved calls can come from anyone, so it is empty by default.
    """

    keep_history: bool = True
    keep_secrets: bool = False
    folders: tuple[str, ...] = ()
    environment: tuple[str, ...] = ()


class CallPrefsFile:
    """The `CallPrefs` section of the preferences file."""

    def __init__(self, path: Path) -> None:
        self._file = JsonDocument(path)

    def load(self) -> tuple[CallPrefs, list[str]]:
        """Return the settings and one sentence per problem. Never raises."""
        try:
            section = self._file.read().get(_SECTION, {})
        except ConfigError as exc:
            return CallPrefs(), [str(exc)]
        if not isinstance(section, dict):
            return CallPrefs(), [self._problem("", "an object")]
        problems: list[str] = []
        default = CallPrefs()
        prefs = CallPrefs(
            self._flag(section, "keepHistory", default.keep_history, problems),
            self._flag(section, "keepSecrets", default.keep_secrets, problems),
            self._texts(section, "folders", problems),
            self._texts(section, "environment", problems),
        )
        return prefs, problems

    def save(self, prefs: CallPrefs) -> None:
        """Write the preferences. Raises ConfigError."""
        with self._file.changing():
            document = self._file.read()
            section = document.get(_SECTION)
            document[_SECTION] = {
                **(section if isinstance(section, dict) else {}),
                "keepHistory": prefs.keep_history,
                "keepSecrets": prefs.keep_secrets,
                "folders": list(prefs.folders),
                "environment": list(prefs.environment),
            }
            self._file.write(document)

    def _flag(self, section: JSONObject, member: str, otherwise: bool, problems: list[str]) -> bool:
        value: JSON = section.get(member, otherwise)
        if isinstance(value, bool):
            return value
        problems.append(self._problem(member, "a boolean"))
        return otherwise

    def _texts(self, section: JSONObject, member: str, problems: list[str]) -> tuple[str, ...]:
        value = section.get(member, [])
        if isinstance(value, list) and all(isinstance(item, str) and item for item in value):
            return tuple(str(item) for item in value)
        problems.append(self._problem(member, "an array of strings"))
        return ()

    def _problem(self, member: str, wanted: str) -> str:
        location = f"{_SECTION}.{member}" if member else _SECTION
        return f"{self._file.path.name}: “{location}” must be {wanted}. The default is used."


_SECTION_INBOXPREFS, _MEMBER = "inbox", "answerWithin"


@dataclass(frozen=True, slots=True)
class InboxPrefs:
    """Inbox preferences. `answer_within` is in seconds; None is unlimited."""

    answer_within: float | None = None


class InboxPrefsFile:
    """The `InboxPrefs` section of the preferences file."""

    def __init__(self, path: Path) -> None:
        self._file = JsonDocument(path)

    def load(self) -> tuple[InboxPrefs, list[str]]:
        """Return the settings and one sentence per problem. Never raises."""
        try:
            section = self._file.read().get(_SECTION_INBOXPREFS, {})
        except ConfigError as exc:
            return InboxPrefs(), [str(exc)]
        if not isinstance(section, dict):
            return InboxPrefs(), [self._problem(_SECTION_INBOXPREFS, "an object")]
        within = section.get(_MEMBER)
        if within is None:
            return InboxPrefs(), []
        if isinstance(within, bool) or not isinstance(within, int | float) or not 0 < within < math.inf:
            return InboxPrefs(), [
                self._problem(f"{_SECTION_INBOXPREFS}.{_MEMBER}", "a number of seconds greater than 0")
            ]
        return InboxPrefs(within), []

    def save(self, prefs: InboxPrefs) -> None:
        """Write the preferences. Raises ConfigError."""
        with self._file.changing():
            document = self._file.read()
            section = document.get(_SECTION_INBOXPREFS)
            kept = dict(section) if isinstance(section, dict) else {}
            kept.pop(_MEMBER, None)
            if prefs.answer_within is not None:
                kept[_MEMBER] = prefs.answer_within
            self._file.write({**document, _SECTION_INBOXPREFS: kept})

    def _problem(self, location: str, wanted: str) -> str:
        return f"{self._file.path.name}: “{location}” must be {wanted}. Server requests never time out."


_SECTION_PREFERENCES = "captures"
_MIB = 1024 * 1024


@dataclass(frozen=True, slots=True)
class KeepCaptures:
    """Retention of automatic captures, by age in days and by total size.

    With `is_on` false nothing is written to disk at all.
    """

    days: int = 30
    mebibytes: int = 2048
    is_on: bool = True

    @property
    def bytes(self) -> int:
        return self.mebibytes * _MIB


class Preferences:
    """The preferences file. Invalid members fall back to their default and are reported."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._file = JsonDocument(path)

    def captures(self) -> tuple[KeepCaptures, list[str]]:
        """Return the retention settings and one sentence per problem. Never raises."""
        try:
            section = self._file.read().get(_SECTION_PREFERENCES, {})
        except ConfigError as exc:
            return KeepCaptures(), [str(exc)]
        if not isinstance(section, dict):
            return KeepCaptures(), [
                f"{self.path.name}: “{_SECTION_PREFERENCES}” must be an object. The defaults are used."
            ]
        return self._read_captures(section)

    def save_captures(self, chosen: KeepCaptures) -> None:
        """Write the retention settings. Raises ConfigError."""
        with self._file.changing():
            document = self._file.read()
            section = document.get(_SECTION_PREFERENCES)
            document[_SECTION_PREFERENCES] = {
                **(section if isinstance(section, dict) else {}),
                "record": chosen.is_on,
                "keepDays": chosen.days,
                "keepMebibytes": chosen.mebibytes,
            }
            self._file.write(document)

    def _read_captures(self, section: JSONObject) -> tuple[KeepCaptures, list[str]]:
        default, problems = KeepCaptures(), []

        def number(member: str, otherwise: int) -> int:
            value: JSON = section.get(member, otherwise)
            if type(value) is int and value >= 1:
                return value
            text = f"{self.path.name}: “{_SECTION_PREFERENCES}.{member}” must be an integer of at least 1"
            problems.append(f"{text}. Using {otherwise}.")
            return otherwise

        is_on = section.get("record", True)
        if not isinstance(is_on, bool):
            problems.append(
                f"{self.path.name}: “{_SECTION_PREFERENCES}.record” must be true or false. Using true."
            )
        days, mebibytes = number("keepDays", default.days), number("keepMebibytes", default.mebibytes)
        return KeepCaptures(days, mebibytes, is_on is not False), problems

"""Sections of the preferences file: `calls`, `inbox` and `captures`.

    {"calls": {"keepHistory": true, "keepSecrets": false, "folders": ["…"], "environment": ["HOME"]},
     "inbox": {"answerWithin": 300},
     "captures": {"record": true, "keepDays": 30, "keepMebibytes": 2048}}

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

_CALLS = "calls"
_INBOX, _INBOX_TIMEOUT = "inbox", "answerWithin"
_CAPTURES = "captures"
_MIB = 1024 * 1024


@dataclass(frozen=True, slots=True)
class CallPrefs:
    """Preferences for calling tools by hand.

    `folders` hold saved calls besides MCP Lens's own folder. `environment` lists the variables that
    `${env:NAME}` may read: saved calls can come from anyone, so it is empty by default.
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
        """Return the preferences and one sentence per problem. Never raises."""
        default = CallPrefs()
        try:
            section = self._file.read().get(_CALLS, {})
        except ConfigError as exc:
            return default, [str(exc)]
        if not isinstance(section, dict):
            return default, [self._problem(_CALLS, "an object")]
        problems: list[str] = []
        prefs = CallPrefs(
            self._flag(section, "keepHistory", default.keep_history, problems),
            self._flag(section, "keepSecrets", default.keep_secrets, problems),
            self._strings(section, "folders", problems),
            self._strings(section, "environment", problems),
        )
        return prefs, problems

    def save(self, prefs: CallPrefs) -> None:
        """Write the preferences. Raises ConfigError."""
        with self._file.locked():
            document = self._file.read()
            document[_CALLS] = {
                **_section(document, _CALLS),
                "keepHistory": prefs.keep_history,
                "keepSecrets": prefs.keep_secrets,
                "folders": list(prefs.folders),
                "environment": list(prefs.environment),
            }
            self._file.write(document)

    def _flag(self, section: JSONObject, member: str, default: bool, problems: list[str]) -> bool:
        value: JSON = section.get(member, default)
        if isinstance(value, bool):
            return value
        problems.append(self._problem(f"{_CALLS}.{member}", "true or false"))
        return default

    def _strings(self, section: JSONObject, member: str, problems: list[str]) -> tuple[str, ...]:
        value = section.get(member, [])
        if isinstance(value, list) and all(isinstance(item, str) and item for item in value):
            return tuple(str(item) for item in value)
        problems.append(self._problem(f"{_CALLS}.{member}", "an array of strings"))
        return ()

    def _problem(self, location: str, expected: str) -> str:
        return f"{self._file.path.name}: “{location}” must be {expected}. The default is used."


@dataclass(frozen=True, slots=True)
class InboxPrefs:
    """Inbox preferences. `timeout` is in seconds; None is unlimited."""

    timeout: float | None = None


class InboxPrefsFile:
    """The `InboxPrefs` section of the preferences file."""

    def __init__(self, path: Path) -> None:
        self._file = JsonDocument(path)

    def load(self) -> tuple[InboxPrefs, list[str]]:
        """Return the preferences and one sentence per problem. Never raises."""
        try:
            section = self._file.read().get(_INBOX, {})
        except ConfigError as exc:
            return InboxPrefs(), [str(exc)]
        if not isinstance(section, dict):
            return InboxPrefs(), [self._problem(_INBOX, "an object")]
        timeout = section.get(_INBOX_TIMEOUT)
        if timeout is None:
            return InboxPrefs(), []
        if isinstance(timeout, bool) or not isinstance(timeout, int | float) or not 0 < timeout < math.inf:
            location = f"{_INBOX}.{_INBOX_TIMEOUT}"
            return InboxPrefs(), [self._problem(location, "a number of seconds greater than 0")]
        return InboxPrefs(timeout), []

    def save(self, prefs: InboxPrefs) -> None:
        """Write the preferences. Raises ConfigError."""
        with self._file.locked():
            document = self._file.read()
            section = _section(document, _INBOX)
            section.pop(_INBOX_TIMEOUT, None)
            if prefs.timeout is not None:
                section[_INBOX_TIMEOUT] = prefs.timeout
            self._file.write({**document, _INBOX: section})

    def _problem(self, location: str, expected: str) -> str:
        return f"{self._file.path.name}: “{location}” must be {expected}. Server requests never time out."


@dataclass(frozen=True, slots=True)
class CapturePrefs:
    """Retention of automatic captures, by age in days and by total size.

    With `is_on` false nothing is written to disk at all.
    """

    days: int = 30
    mebibytes: int = 2048
    is_on: bool = True

    @property
    def bytes(self) -> int:
        return self.mebibytes * _MIB


class CapturePrefsFile:
    """The `CapturePrefs` section of the preferences file."""

    def __init__(self, path: Path) -> None:
        self._file = JsonDocument(path)

    def load(self) -> tuple[CapturePrefs, list[str]]:
        """Return the preferences and one sentence per problem. Never raises."""
        default = CapturePrefs()
        try:
            section = self._file.read().get(_CAPTURES, {})
        except ConfigError as exc:
            return default, [str(exc)]
        if not isinstance(section, dict):
            return default, [self._problem(_CAPTURES, "an object", "The defaults are used.")]
        problems: list[str] = []
        days = self._number(section, "keepDays", default.days, problems)
        mebibytes = self._number(section, "keepMebibytes", default.mebibytes, problems)
        is_on = section.get("record", True)
        if not isinstance(is_on, bool):
            problems.append(self._problem(f"{_CAPTURES}.record", "true or false", "Using true."))
        return CapturePrefs(days, mebibytes, is_on is not False), problems

    def save(self, prefs: CapturePrefs) -> None:
        """Write the preferences. Raises ConfigError."""
        with self._file.locked():
            document = self._file.read()
            document[_CAPTURES] = {
                **_section(document, _CAPTURES),
                "record": prefs.is_on,
                "keepDays": prefs.days,
                "keepMebibytes": prefs.mebibytes,
            }
            self._file.write(document)

    def _number(self, section: JSONObject, member: str, default: int, problems: list[str]) -> int:
        value: JSON = section.get(member, default)
        if type(value) is int and value >= 1:
            return value
        location = f"{_CAPTURES}.{member}"
        problems.append(self._problem(location, "an integer of at least 1", f"Using {default}."))
        return default

    def _problem(self, location: str, expected: str, consequence: str) -> str:
        return f"{self._file.path.name}: “{location}” must be {expected}. {consequence}"


def _section(document: JSONObject, name: str) -> JSONObject:
    """Return a copy of the section; an invalid one counts as empty."""
    section = document.get(name)
    return dict(section) if isinstance(section, dict) else {}

"""Sections of the preferences file: `calls`, `inbox` and `captures`.

    {"calls": {"keepHistory": true, "keepSecrets": false, "folders": ["…"], "environment": ["HOME"]},
     "inbox": {"timeout": 300},
     "captures": {"record": true, "keepDays": 30, "keepMebibytes": 2048}}

`timeout` is the Inbox timeout in seconds; after that, elicitations are cancelled and sampling requests
are rejected. Without the member there is no timeout. Version 0.1.0 called it `answerWithin`, which is
still read. Unknown sections and members are preserved; an invalid one falls back to its default and is
reported.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path

from inspector.base.errors import ConfigError
from inspector.base.json.values import JSON, JSONObject
from inspector.config.json_file import JsonDocument

_CALLS = "calls"
_INBOX, _INBOX_TIMEOUT, _OLD_INBOX_TIMEOUT = "inbox", "timeout", "answerWithin"
_CAPTURES = "captures"
_MIB = 1024 * 1024


@dataclass(frozen=True, slots=True)
class CallPrefs:
    """Preferences for calling tools by hand.

    `folders` are additional folders with saved calls. `environment` lists the variables that
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
        """Return the preferences and warnings about invalid values. Never raises."""
        default = CallPrefs()
        try:
            section = self._file.read().get(_CALLS, {})
        except ConfigError as exc:
            return default, [str(exc)]
        if not isinstance(section, dict):
            return default, [invalid_value(self._file.path, _CALLS, "an object")]
        warnings: list[str] = []
        prefs = CallPrefs(
            self._flag(section, "keepHistory", default.keep_history, warnings),
            self._flag(section, "keepSecrets", default.keep_secrets, warnings),
            self._strings(section, "folders", warnings),
            self._strings(section, "environment", warnings),
        )
        return prefs, warnings

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

    def _flag(self, section: JSONObject, member: str, default: bool, warnings: list[str]) -> bool:
        value: JSON = section.get(member, default)
        if isinstance(value, bool):
            return value
        used = "true" if default else "false"
        warnings.append(invalid_value(self._file.path, f"{_CALLS}.{member}", "true or false", used))
        return default

    def _strings(self, section: JSONObject, member: str, warnings: list[str]) -> tuple[str, ...]:
        value = section.get(member, [])
        if isinstance(value, list) and all(isinstance(item, str) and item for item in value):
            return tuple(str(item) for item in value)
        location = f"{_CALLS}.{member}"
        warnings.append(invalid_value(self._file.path, location, "an array of strings", "none"))
        return ()


@dataclass(frozen=True, slots=True)
class InboxPrefs:
    """Inbox preferences. `timeout` is in seconds; None is unlimited."""

    timeout: float | None = None


class InboxPrefsFile:
    """The `InboxPrefs` section of the preferences file."""

    def __init__(self, path: Path) -> None:
        self._file = JsonDocument(path)

    def load(self) -> tuple[InboxPrefs, list[str]]:
        """Return the preferences and warnings about invalid values. Never raises."""
        try:
            section = self._file.read().get(_INBOX, {})
        except ConfigError as exc:
            return InboxPrefs(), [str(exc)]
        if not isinstance(section, dict):
            return InboxPrefs(), [invalid_value(self._file.path, _INBOX, "an object")]
        member = _INBOX_TIMEOUT if _INBOX_TIMEOUT in section else _OLD_INBOX_TIMEOUT
        timeout = section.get(member)
        if timeout is None:
            return InboxPrefs(), []
        if isinstance(timeout, bool) or not isinstance(timeout, int | float) or not 0 < timeout < math.inf:
            expected = "a number of seconds greater than 0"
            return InboxPrefs(), [
                invalid_value(self._file.path, f"{_INBOX}.{member}", expected, "no timeout")
            ]
        return InboxPrefs(timeout), []

    def save(self, prefs: InboxPrefs) -> None:
        """Write the preferences. Raises ConfigError."""
        with self._file.locked():
            document = self._file.read()
            section = _section(document, _INBOX)
            for member in (_INBOX_TIMEOUT, _OLD_INBOX_TIMEOUT):
                section.pop(member, None)
            if prefs.timeout is not None:
                section[_INBOX_TIMEOUT] = prefs.timeout
            self._file.write({**document, _INBOX: section})


@dataclass(frozen=True, slots=True)
class CapturePrefs:
    """Retention of automatic captures, by age in days and by total size.

    If `is_on` is false, no captures are written.
    """

    max_days: int = 30
    max_mebibytes: int = 2048
    is_on: bool = True

    @property
    def max_bytes(self) -> int:
        return self.max_mebibytes * _MIB


class CapturePrefsFile:
    """The `CapturePrefs` section of the preferences file."""

    def __init__(self, path: Path) -> None:
        self._file = JsonDocument(path)

    def load(self) -> tuple[CapturePrefs, list[str]]:
        """Return the preferences and warnings about invalid values. Never raises."""
        default = CapturePrefs()
        try:
            section = self._file.read().get(_CAPTURES, {})
        except ConfigError as exc:
            return default, [str(exc)]
        if not isinstance(section, dict):
            return default, [invalid_value(self._file.path, _CAPTURES, "an object")]
        warnings: list[str] = []
        days = self._number(section, "keepDays", default.max_days, warnings)
        mebibytes = self._number(section, "keepMebibytes", default.max_mebibytes, warnings)
        is_on = section.get("record", True)
        if not isinstance(is_on, bool):
            location = f"{_CAPTURES}.record"
            warnings.append(invalid_value(self._file.path, location, "true or false", "true"))
        return CapturePrefs(days, mebibytes, is_on is not False), warnings

    def save(self, prefs: CapturePrefs) -> None:
        """Write the preferences. Raises ConfigError."""
        with self._file.locked():
            document = self._file.read()
            document[_CAPTURES] = {
                **_section(document, _CAPTURES),
                "record": prefs.is_on,
                "keepDays": prefs.max_days,
                "keepMebibytes": prefs.max_mebibytes,
            }
            self._file.write(document)

    def _number(self, section: JSONObject, member: str, default: int, warnings: list[str]) -> int:
        value: JSON = section.get(member, default)
        if type(value) is int and value >= 1:
            return value
        location = f"{_CAPTURES}.{member}"
        warnings.append(invalid_value(self._file.path, location, "a positive integer", str(default)))
        return default


def invalid_value(path: Path, location: str, expected: str, default: str = "") -> str:
    """Return the warning about a member that must be `expected`; without a `default`, about a section."""
    used = f"Using the default ({default})." if default else "Using the defaults."
    return f"{path.name}: “{location}” must be {expected}. {used}"


def _section(document: JSONObject, name: str) -> JSONObject:
    """Return a copy of the section; an invalid one counts as empty."""
    section = document.get(name)
    return dict(section) if isinstance(section, dict) else {}

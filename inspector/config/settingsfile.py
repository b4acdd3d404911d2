"""The limits and times in `Settings`, in the preferences file: those that are not as usual.

    {"connections": {"connectTimeout": 30}, "lists": {"askForLists": false}}

Sections and members that we do not know are kept; one that cannot be used has its default, and a sentence
says so.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from inspector.base.errors import ConfigError
from inspector.base.jsonvalue import JSON, JSONObject
from inspector.config.document import JsonDocument
from inspector.config.settings import Settings
from inspector.config.settingstable import MEBIBYTE, Setting, checked, setting_of, wanted_of

# By setting id: the field of `Settings`, and the factor from the file's unit to the field's.
_FIELDS = {
    "connections.connectTimeout": ("connect_timeout", 1),
    "connections.requestTimeout": ("request_timeout", 1),
    "connections.longestRequest": ("longest_request", 1),
    "connections.keepAlive": ("keep_alive", 1),
    "connections.lineCapMebibytes": ("line_cap", MEBIBYTE),
    "connections.mostPages": ("most_pages", 1),
    "connections.examineFailures": ("examine_failures", 1),
    "lists.remember": ("remember_lists", 1),
    "lists.askForLists": ("ask_for_lists", 1),
}
IDS = tuple(_FIELDS)


def value_of(settings: Settings, id: str) -> JSON:
    """Return the value as written in the file."""
    field, unit = _FIELDS[id]
    value: JSON = getattr(settings, field)
    return value if unit == 1 else int(getattr(settings, field)) // unit


def with_value(settings: Settings, id: str, value: JSON) -> Settings:
    """Return the settings with one value changed. Raises ConfigError if it is invalid."""
    field, unit = _FIELDS[id]
    fine: Any = checked(setting_of(id), value)
    if setting_of(id).is_whole:
        fine = int(fine) * unit
    return replace(settings, **{field: fine})


class SettingsFile:
    """The `Settings` sections of the preferences file."""

    def __init__(self, path: Path) -> None:
        self._file = JsonDocument(path)

    def load(self) -> tuple[Settings, list[str]]:
        """Return the settings and one sentence per problem. Never raises."""
        try:
            return self._settings(self._file.read())
        except ConfigError as exc:
            return Settings(), [str(exc)]

    def set(self, id: str, value: JSON) -> Settings:
        """Write one setting and return all of them. Raises ConfigError.

        A default is not written, so that it follows the app. Manual edits made meanwhile are kept and take
        effect.
        """
        with self._file.changing():
            document = self._file.read()
            _put(document, setting_of(id), value_of(with_value(Settings(), id, value), id))
            self._file.write(document)
        return self._settings(document)[0]

    def _settings(self, document: JSONObject) -> tuple[Settings, list[str]]:
        settings, problems = Settings(), list[str]()
        for section in dict.fromkeys(setting_of(id).json_section for id in IDS):
            if not isinstance(document.get(section, {}), dict):
                problems.append(self._problem(f"“{section}” must be an object"))
        for id in IDS:
            setting = setting_of(id)
            members = document.get(setting.json_section)
            if isinstance(members, dict) and setting.member in members:
                try:
                    settings = with_value(settings, id, members[setting.member])
                except ConfigError:
                    problems.append(self._problem(f"“{id}” must be {wanted_of(setting)}"))
        return settings, problems

    def _problem(self, words: str) -> str:
        return f"{self._file.path.name}: {words}. Its default is used."


def _put(document: JSONObject, setting: Setting, value: JSON) -> None:
    section = document.get(setting.json_section)
    members = dict(section) if isinstance(section, dict) else {}
    members.pop(setting.member, None)
    if value != setting.default:
        members[setting.member] = value
    if members:
        document[setting.json_section] = members
    else:
        document.pop(setting.json_section, None)

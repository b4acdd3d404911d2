"""The store of all settings: one file, one validation, one signal for changes.

A setting takes effect at once or on reconnect; the table (`config.preferences.settings`) says which.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from inspector.base.errors import ConfigError
from inspector.base.json.values import JSON, to_wire
from inspector.base.signals import Signal
from inspector.config.json_file import JsonDocument
from inspector.config.paths import Files
from inspector.config.preferences.settings import (
    SETTINGS,
    ConnectionSettings,
    Setting,
    checked_value,
    read_settings,
    setting_of,
    with_setting,
)


class SettingsStore:
    """All settings except the window layout's. Without a preferences file they last for the session.

    `files` are the files and folders in use. `defaults` replace those of the table in this run.

    Signals:
        changed: A setting has another value; carries its id and the value.
        problem_found: Something in the file cannot be used; carries a sentence.
    """

    def __init__(self, files: Files | None = None, defaults: Mapping[str, JSON] | None = None) -> None:
        self.changed: Signal[str, JSON] = Signal()
        self.problem_found: Signal[str] = Signal()
        self.defaults = dict(defaults or {})
        self._files = files or Files()
        self._file = JsonDocument(self._files.preferences) if self._files.preferences is not None else None
        self._values: dict[str, JSON] = {}
        self._lock = asyncio.Lock()  # one at a time: each builds on the previous result

    def load(self) -> None:
        """Read the file; what is wrong with it is reported."""
        if self._file is None:
            return
        try:
            values, problems = read_settings(self._file.read())
        except ConfigError as exc:
            self.problem_found.emit(str(exc))
            return
        self._apply(values)
        for problem in problems:
            self.problem_found.emit(f"{self._file.path.name}: {problem}")

    def get(self, id: str) -> Any:
        """Return the value of a setting, of the type that the table says. Any thread may call this."""
        return _value(self._values, self.defaults, id)

    def connection(self) -> ConnectionSettings:
        return ConnectionSettings.of(self.get)

    def values(self) -> Mapping[str, JSON]:
        """Return the values in the settings dialog by id, except the window's own."""
        return {setting.id: self.get(setting.id) for setting in SETTINGS if setting.is_stored}

    async def set(self, id: str, value: JSON) -> None:
        """Change a setting. Raises ConfigError, leaving it unchanged."""
        await self.update(id, lambda _: value)

    async def update(self, id: str, change: Callable[[Any], JSON]) -> None:
        """Set what `change` makes of the saved value, which another process may have written.

        `change` runs on a thread and must not modify its argument. Manual edits of the file are kept and
        take effect. Raises ConfigError.
        """
        setting = setting_of(id)
        if not setting.is_stored:
            raise ConfigError(f"The setting {id!r} cannot be changed here.", "Change it in the window.")
        async with self._lock:
            if self._file is not None:
                self._apply(await asyncio.to_thread(self._write, self._file, setting, change))
            else:
                value = checked_value(setting, change(self.get(setting.id)))
                self._apply({**self._values, setting.id: value})

    def locations(self) -> Mapping[str, Path]:
        """Return the files and folders in use, by their names in `Files`."""
        return {name: path for name, path in self._files._asdict().items() if path is not None}

    def _write(self, file: JsonDocument, setting: Setting, change: Callable[[Any], JSON]) -> dict[str, JSON]:
        with file.locked():
            before = file.read()
            value = change(_value(read_settings(before)[0], self.defaults, setting.id))
            after = with_setting(before, setting, checked_value(setting, value))
            if to_wire(after) != to_wire(before):
                file.write(after)
        return read_settings(after)[0]

    def _apply(self, values: dict[str, JSON]) -> None:
        before, self._values = self._values, values
        for id in dict.fromkeys((*before, *values)):
            if (value := self.get(id)) != _value(before, self.defaults, id):
                self.changed.emit(id, value)


def _value(values: Mapping[str, JSON], defaults: Mapping[str, JSON], id: str) -> Any:
    if id in values:
        return values[id]
    return defaults[id] if id in defaults else setting_of(id).default

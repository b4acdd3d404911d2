"""All settings in one place, each delegated to the part of the engine that owns it.

Every part keeps its own section of the preferences file; this module only knows which part that is. A
setting takes effect at once or on reconnect; the table (`config.preferences.settings`) says which.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from inspector.base.errors import ConfigError
from inspector.base.json.values import JSON
from inspector.base.signals import Signal
from inspector.config.paths import Files
from inspector.config.preferences.settings import (
    IDS,
    SettingsFile,
    checked_value,
    setting_of,
    value_of,
    with_value,
)

if TYPE_CHECKING:
    from inspector.engine.engine import Engine

_CAPTURES = {
    "captures.record": "is_on",
    "captures.keepDays": "max_days",
    "captures.keepMebibytes": "max_mebibytes",
}
_CALLS = {
    "calls.keepHistory": "keep_history",
    "calls.keepSecrets": "keep_secrets",
    "calls.environment": "environment",
}
_REPLY_TIMEOUT = "inbox.timeout"


class SettingsStore:
    """All settings, delegated to the parts of the engine that own them.

    `files` are the files and folders in use.

    Signals:
        problem_found: Something in the file cannot be used; carries a sentence.
    """

    def __init__(self, engine: Engine, files: Files) -> None:
        self.problem_found: Signal[str] = Signal()
        self._engine = engine
        self._files = files
        self._file = SettingsFile(files.preferences) if files.preferences is not None else None
        self._lock = asyncio.Lock()  # one at a time: each builds on the previous result

    async def begin(self) -> None:
        """Apply the saved settings; warnings about the file are reported."""
        if self._file is not None:
            settings, warnings = await asyncio.to_thread(self._file.load)
            self._engine.use_settings(settings)
            for warning in warnings:
                self.problem_found.emit(warning)

    async def values(self) -> Mapping[str, JSON]:
        """Return all settings by id, except the window's own."""
        engine = self._engine
        limits, prefs = await asyncio.to_thread(engine.captures.limits), await engine.calls.prefs()
        return {
            **{id: value_of(engine.settings, id) for id in IDS},
            **{id: getattr(limits, field) for id, field in _CAPTURES.items()},
            **{id: _as_json(getattr(prefs, field)) for id, field in _CALLS.items()},
            _REPLY_TIMEOUT: engine.inbox.reply_timeout,
        }

    async def set(self, id: str, value: JSON) -> None:
        """Change a setting. Raises ConfigError, leaving it unchanged."""
        async with self._lock:
            await self._set(id, value)

    async def _set(self, id: str, value: JSON) -> None:
        id = setting_of(id).id
        if id in IDS:
            await self._set_setting(id, value)
            return
        checked: Any = checked_value(setting_of(id), value)
        if id in _CAPTURES:
            limits = await asyncio.to_thread(self._engine.captures.limits)
            await self._engine.captures.set_limits(_with(limits, _CAPTURES[id], checked))
        elif id in _CALLS:
            prefs = await self._engine.calls.prefs()
            await self._engine.calls.set_prefs(_with(prefs, _CALLS[id], _as_field(checked)))
        elif id == _REPLY_TIMEOUT:
            self._engine.inbox.set_reply_timeout(checked or None)
        else:
            raise ConfigError(f"The setting {id!r} cannot be changed here.", "Change it in the window.")

    async def locations(self) -> Mapping[str, Path]:
        """Return the files and folders in use, by their names in `Files`."""
        return {name: path for name, path in self._files._asdict().items() if path is not None}

    async def _set_setting(self, id: str, value: JSON) -> None:
        if self._file is not None:
            settings = await asyncio.to_thread(self._file.set, id, value)
        else:
            settings = with_value(self._engine.settings, id, value)
        self._engine.use_settings(settings)


def _with(prefs: Any, field: str, value: Any) -> Any:
    """Return CapturePrefs or CallPrefs with one field changed."""
    return replace(prefs, **{field: int(value) if type(value) is float else value})


def _as_json(value: Any) -> JSON:
    return list(value) if isinstance(value, tuple) else value


def _as_field(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value

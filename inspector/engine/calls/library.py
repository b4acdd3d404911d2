"""The call library: history, saved calls in several folders, and variables.

All file access runs on threads. Methods raise ConfigError if something cannot be written. Values of
secret variables are stored in the secret store, not in a folder's files.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeVar

from inspector.base.errors import ConfigError
from inspector.base.json.values import JSON, JSONObject, parse, shorten, to_wire
from inspector.base.plain_text import one_line
from inspector.base.signals import Signal
from inspector.base.units import plural
from inspector.config.calls.history import CallHistory, ToolHistory
from inspector.config.calls.saved_calls import (
    ALLOWED_CALLS_FILE_NAME,
    AllowedCalls,
    DeletedCall,
    LoadedCalls,
    SavedCall,
    SavedCallFolder,
    read_expected,
    write_expected,
)
from inspector.config.calls.variables import IN_SECRETS, Variables, VariablesFile, is_secret
from inspector.config.secrets.records import SecretsUnavailable, make_name
from inspector.engine.secrets import Secrets
from inspector.engine.settings import SettingsStore

T = TypeVar("T")

OWN_NAME = "My calls"


@dataclass(frozen=True, slots=True)
class SavedFolder:
    """A folder of saved calls. `is_own` is the one in our own data; users can add others."""

    path: Path
    is_own: bool
    loaded: LoadedCalls

    @property
    def name(self) -> str:
        """Display name."""
        return OWN_NAME if self.is_own else one_line(self.path.name or str(self.path))


class CallLibrary:
    """Call history, saved calls and variables.

    `history` and `saved` are our own folders; without one, that kind is not stored. With `secrets`, values
    of secret variables are stored there and not in a folder's files.

    Signals:
        problem_found: Something is wrong with a file; carries a sentence. Emitted on any thread.
    """

    def __init__(
        self,
        history: Path | None = None,
        saved: Path | None = None,
        settings: SettingsStore | None = None,
        secrets: Secrets | None = None,
    ) -> None:
        self.problem_found: Signal[str] = Signal()
        self.history = CallHistory(history)
        self.history.problem_found.connect(self.problem_found.emit)
        self._secrets = secrets
        self._own = saved
        self._allowed = AllowedCalls(saved / ALLOWED_CALLS_FILE_NAME if saved is not None else None)
        self._settings = settings or SettingsStore()
        self._settings.changed.connect(lambda id, value: self._apply_settings())
        self._apply_settings()

    def _apply_settings(self) -> None:
        """Turning the history off keeps what is stored; `forget_all` deletes it."""
        self.history.is_on = self._settings.get("calls.keepHistory")
        self.history.keep_secrets = self._settings.get("calls.keepSecrets")

    async def end(self) -> None:
        """Write the rest of the history."""
        await asyncio.to_thread(self.history.close)

    async def history_of(self, server: str, tool: str) -> ToolHistory:
        return await asyncio.to_thread(self.history.of, server, tool)

    async def remember(self, server: str, tool: str, arguments: JSONObject) -> None:
        """Save the current form contents, called or not."""
        self.history.set_last(server, tool, arguments)

    async def forget(self, server: str, tool: str) -> None:
        await asyncio.to_thread(self.history.forget, server, tool)

    async def forget_all(self) -> None:
        await asyncio.to_thread(self.history.forget_all)

    async def rename_server(self, before: str, after: str) -> None:
        """Update the history and our own saved calls after a server was renamed.

        Shared folders are not modified; calls there that name the old server are reported.
        """
        await asyncio.to_thread(self.history.rename_server, before, after)
        for warning in await asyncio.to_thread(self._rename_server, before, after):
            self.problem_found.emit(warning)

    def _rename_server(self, before: str, after: str) -> list[str]:
        warnings: list[str] = []
        for folder in self._load():
            calls = [call for call in folder.loaded.calls if call.server == before]
            if calls and not folder.is_own:
                are = "is" if len(calls) == 1 else "are"
                text = f"{plural(len(calls), 'saved call')} in {one_line(str(folder.path))}"
                warnings.append(
                    f"{text} {are} still assigned to {before!r}: files in that folder are not changed."
                )
                continue
            for call in calls:
                try:
                    self._folder(folder.path).save(replace(call, server=after))
                except ConfigError as exc:
                    warnings.append(
                        f"The saved call “{shorten(call.name, 60)}” is still assigned to {before!r}: {exc}"
                    )
        return warnings

    async def saved(self) -> tuple[SavedFolder, ...]:
        """Return all saved calls, our own folder first. Errors are in each folder's `problems`."""
        return await asyncio.to_thread(self._load)

    async def changed(self, shown: Sequence[SavedFolder]) -> tuple[SavedFolder, ...] | None:
        """Return all saved calls if a file changed since `shown`, else None. Cheap to poll."""
        return await self.saved() if await asyncio.to_thread(self._has_changed, shown) else None

    async def save(
        self, call: SavedCall, folder: Path | None = None, *, overwrite: bool = False
    ) -> SavedCall:
        """Save a call in `folder`, else in its own, else in ours. Return the call as on disk."""
        location = self._folder(folder or call.folder)
        return await asyncio.to_thread(lambda: location.save(call, overwrite=overwrite))

    async def set_regression(self, call: SavedCall, is_regression: bool) -> SavedCall:
        """Set whether a call is rerun when its server's files change. Return the updated call."""
        saved = await self.save(replace(call, is_regression=is_regression))
        if is_regression:
            await self.allow(saved)
        return saved

    async def rename(self, call: SavedCall, name: str) -> SavedCall:
        return await asyncio.to_thread(self._folder(call.folder).rename, call, name)

    async def delete(self, call: SavedCall) -> DeletedCall | None:
        """Delete a call and return what can be restored; None if the file was already gone."""
        return await asyncio.to_thread(self._folder(call.folder).delete, call)

    async def restore(self, deleted: DeletedCall) -> SavedCall:
        return await asyncio.to_thread(self._folder(deleted.call.folder).restore, deleted)

    async def expected(self, call: SavedCall) -> bytes | None:
        """Return a call's expected result, None if not set."""
        path = self._path_of(call)
        return await asyncio.to_thread(read_expected, path)

    async def set_expected(self, call: SavedCall, result: bytes) -> None:
        """Save a call's expected result next to it."""
        path = self._path_of(call)
        is_private = self._folder(call.folder).path == self._own
        await asyncio.to_thread(lambda: write_expected(path, result, is_private=is_private))

    async def allowed_variables(self, call: SavedCall) -> Variables | None:
        """Return the variables of a regression call that may run automatically, None if it may not.

        Calls in our own folder may; others need the user's permission, for exactly these variables.
        """
        values = await self._values_in_files(call.folder)
        if call.folder != self._own and not await asyncio.to_thread(self._allowed.has, call, values):
            return None
        return Variables(await self._with_secrets(call.folder, values), self._environment())

    async def allow(self, *calls: SavedCall) -> None:
        """Allow these calls to run automatically; the user has reviewed them."""
        others = [call for call in calls if call.folder != self._own]
        if others:
            values = [await self._values_in_files(call.folder) for call in others]
            await asyncio.to_thread(self._allowed.add, list(zip(others, values, strict=True)))

    def _path_of(self, call: SavedCall) -> Path:
        self._folder(call.folder)
        if call.path is None:
            raise ConfigError(f"{call.name!r} is not saved in a file.", "Save it first.")
        return call.path

    async def folders(self) -> tuple[Path, ...]:
        return tuple(self._paths())

    async def add_folder(self, folder: Path) -> None:
        """Add a folder of saved calls, permanently. It must exist; its path is absolute."""
        if not await asyncio.to_thread(folder.is_dir):
            raise ConfigError(f"{one_line(str(folder))} is not a folder.", "Choose a folder.")
        if folder not in self._paths():
            await self._settings.update("calls.folders", lambda added: [*added, str(folder)])

    async def remove_folder(self, folder: Path) -> None:
        """Stop reading calls from a folder; its files stay."""
        await self._settings.update(
            "calls.folders", lambda added: [text for text in added if _path(text) != folder]
        )

    def _load(self) -> tuple[SavedFolder, ...]:
        return tuple(
            SavedFolder(path, path == self._own, self._folder(path).load()) for path in self._paths()
        )

    def _has_changed(self, shown: Sequence[SavedFolder]) -> bool:
        if [folder.path for folder in shown] != self._paths():
            return True
        return any(self._folder(one.path).has_changed(one.loaded.snapshot) for one in shown)

    def _paths(self) -> list[Path]:
        added = [_path(text) for text in self._settings.get("calls.folders")]
        own = [self._own] if self._own is not None else []
        return list(dict.fromkeys([*own, *(path for path in added if path.is_absolute())]))

    def _folder(self, path: Path | None) -> SavedCallFolder:
        """Return a folder; raises ConfigError for one that the user did not add."""
        path = path or self._own
        if path is None or path not in self._paths():
            raise ConfigError("No folder is set for saved calls.", "Add one under Manage saved calls.")
        return SavedCallFolder(path, is_private=path == self._own)

    async def variables(self, folder: Path | None = None) -> Variables:
        """Return the call variables, `${name}`, of this folder.

        These are the variables of the folder, and the environment variables that the user allowed.
        """
        return Variables(await self.variable_values(folder), self._environment())

    async def variable_values(self, folder: Path | None = None) -> dict[str, JSON]:
        """Return the variables in the folder's files; warnings are reported."""
        return await self._with_secrets(folder, await self._values_in_files(folder))

    async def _values_in_files(self, folder: Path | None) -> dict[str, JSON]:
        """Return the variables as written; those in the secret store are `IN_SECRETS`."""
        location = folder or self._own
        if location is None:
            return {}
        values, warnings = await asyncio.to_thread(VariablesFile(location).load)
        for warning in warnings:
            self.problem_found.emit(warning)
        return values

    async def set_variable(self, name: str, value: JSON, folder: Path | None = None) -> None:
        """Set a variable. If its name is secret, the value goes to the secret store."""
        stored = value
        if self._secrets is not None and is_secret(name) and value not in ("", None):
            location = _secret_name(self._folder(folder).path, name)
            try:
                await self._secrets.put(location, to_wire(value).decode())
            except SecretsUnavailable as exc:
                await self._secrets.put(location, to_wire(value).decode(), in_memory=True)
                self.problem_found.emit(f"The call variable {name} is not saved (this session only): {exc}")
            stored = IN_SECRETS
        await self._with_variables(folder, lambda file: file.set(name, stored))

    async def remove_variable(self, name: str, folder: Path | None = None) -> None:
        await self._with_variables(folder, lambda file: file.remove(name))
        if self._secrets is not None and is_secret(name):
            await self._secrets.delete(_secret_name(self._folder(folder).path, name))

    async def _with_secrets(self, folder: Path | None, values: dict[str, JSON]) -> dict[str, JSON]:
        """Fill in values from the secret store; those that are missing there are dropped."""
        location = folder or self._own
        for name in [name for name, value in values.items() if value == IN_SECRETS]:
            text = None
            if self._secrets is not None and location is not None:
                text = await self._secrets.get(_secret_name(location, name))
            if text is None:
                del values[name]
            else:
                values[name] = parse(text)
        return values

    async def _with_variables(self, folder: Path | None, work: Callable[[VariablesFile], T]) -> T:
        return await asyncio.to_thread(work, VariablesFile(self._folder(folder).path))

    def _environment(self) -> dict[str, str]:
        names = self._settings.get("calls.environment")
        return {name: os.environ[name] for name in names if name in os.environ}


def _secret_name(folder: Path, name: str) -> str:
    return make_name("variable", str(folder), name)


def _path(text: str) -> Path:
    return Path(text).expanduser()

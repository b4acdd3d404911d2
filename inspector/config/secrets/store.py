"""The user's secret store on this machine: get, put, delete, and where secrets are stored.

While the store cannot be opened, reads behave as if it were empty and writes raise with the reason. Every
method may block on the keychain, the disk or another process: call it on a thread. The file is read again
each time, so that two running instances see each other's secrets. `RefreshLocks` lets only one process at
a time refresh a token.
"""

from __future__ import annotations

import contextlib
import hashlib
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

from inspector.base.errors import ConfigError
from inspector.base.signals import Signal
from inspector.base.units import size
from inspector.config.json_file import FileLock
from inspector.config.secrets.keychain import Keychain
from inspector.config.secrets.records import (
    SecretsState,
    SecretsUnavailable,
    StorageKind,
    StorageStatus,
    StoredSecret,
    display_name,
    is_below,
    require_name,
)
from inspector.config.secrets.vault_file import KeyDerivationCost, Vault, VaultFile, VaultTampered
from inspector.config.secrets.vault_keys import VaultKeys, locked

MAX_VALUE_LENGTH = 256 * 1024
MIN_PASSPHRASE_LENGTH = 8
_LOCK_TIMEOUT = 30.0


class SecretStore:
    """The user's secrets on this machine.

    Without a `folder`, secrets are in memory only.

    Signals:
        changed: The state of the store changed; carries a SecretsState. Emitted on any thread.
        problem_found: A secret cannot be used; carries a sentence. Emitted on any thread.
    """

    def __init__(
        self,
        folder: Path | None = None,
        keychain: Keychain | None = None,
        cost: KeyDerivationCost | None = None,
    ) -> None:
        self.changed: Signal[SecretsState] = Signal()
        self.problem_found: Signal[str] = Signal()
        self._file = VaultFile(folder / "vault.json") if folder is not None else None
        self._keychain = keychain or Keychain()
        self._keys = VaultKeys(self._keychain, cost or KeyDerivationCost())
        self._refresh_locks = RefreshLocks(folder)
        self._memory: dict[str, str] = {}
        self._reported: set[tuple[str, str]] = set()
        self._guard = threading.RLock()
        self._state = self._state_of(None, None, is_tried=False)

    @property
    def state(self) -> SecretsState:
        """The last known state. Does not block."""
        return self._state

    def get(self, name: str) -> str | None:
        """Return the secret; None if absent or not readable now (see `state` and `problem_found`)."""
        with self._guard:
            if name in self._memory:
                return self._memory[name]
            vault = self._vault_or_none()
            if vault is None or name not in vault.records:
                return None
            try:
                value = self._keys.open(vault, name)
            except SecretsUnavailable as exc:
                self._set_status(vault, exc)
                return None
            except VaultTampered:
                self._report_damaged(vault, name)
                return None
            self._set_status(vault)
            return value

    def put(self, name: str, value: str, *, in_memory: bool = False) -> None:
        """Store a secret, replacing an older one; `in_memory` stores it in memory only.

        Raises ConfigError, or SecretsUnavailable if it cannot be stored now; nothing is changed then.
        """
        require_name(name)
        _require_value(value)
        with self._guard:
            if in_memory or self._file is None:
                self._put_into_memory(name, value)
            else:
                with self._writing() as file:
                    self._put(file, name, value)

    def delete(self, name: str) -> bool:
        """Delete a secret; return whether it existed. Needs no key. Raises ConfigError."""
        return self._delete(lambda each: each == name) > 0

    def delete_below(self, prefix: str) -> int:
        """Delete all secrets below a prefix, e.g. those of a server; return the count.

        Raises ConfigError.
        """
        return self._delete(lambda each: is_below(each, prefix))

    def stored(self) -> tuple[StoredSecret, ...]:
        """Return the stored secrets by name, without their values. Needs no key."""
        with self._guard:
            vault = self._vault_or_none()
            records = vault.records if vault is not None else {}
            listed = {name: StoredSecret(name, True, record.changed) for name, record in records.items()}
            listed.update((name, StoredSecret(name, False)) for name in self._memory)
            return tuple(sorted(listed.values(), key=lambda secret: secret.name))

    def try_lock(self, name: str) -> RefreshLock | None:
        """Lock a secret across processes, to refresh it; None if it is locked already.

        Reread the secret after locking it: the previous holder may have refreshed it. Raises ConfigError.
        """
        try:
            if self._file is not None:
                self._file.prepare_folder()
            return self._refresh_locks.try_lock(name)
        except OSError as exc:
            raise _cannot_lock(exc) from exc

    def read_state(self) -> SecretsState:
        """Read the file's state without asking the keychain."""
        with self._guard:
            try:
                vault = self._read()
            except SecretsUnavailable as exc:
                self._set_status(None, exc)
            else:
                self._set_status(vault, self._last_problem(vault))
            return self._state

    def open(self) -> SecretsState:
        """Ask the keychain, if it is or would be used. Problems are reported in the state."""
        with self._guard:
            vault: Vault | None = None
            try:
                vault = self._read()
                if vault is not None:
                    self._keys.fetch(vault)
                elif self._file is not None:
                    self._keys.probe()
            except SecretsUnavailable as exc:
                self._set_status(vault, exc)
            else:
                self._set_status(vault, is_tried=True)
            return self._state

    def unlock(self, passphrase: str) -> None:
        """Unlock until exit or `lock`. Raises ConfigError for a wrong passphrase."""
        with self._guard:
            vault = self._read()
            if vault is None or vault.level is not StorageKind.PASSPHRASE:
                raise ConfigError("The secrets are not encrypted with a passphrase.")
            if not self._keys.unlock(vault, passphrase):
                raise ConfigError("Wrong passphrase.", "Try again. Nothing was changed.")
            self._set_status(vault)

    def lock(self) -> None:
        """Drop the key: the passphrase is required again."""
        with self._guard:
            self._keys.drop()
            self.read_state()

    def move_to(self, level: StorageKind, passphrase: str = "", *, unprotected: bool = False) -> None:
        """Move all secrets to another storage level, including those in memory, and re-encrypt each.

        `unprotected` confirms that the user knows what a plain file means. Raises ConfigError, leaving
        everything unchanged.
        """
        if level is StorageKind.PLAIN and not unprotected:
            raise ConfigError("A plain file gives no protection.", "Confirm that you want this.")
        if level is StorageKind.PASSPHRASE:
            _require_passphrase(passphrase)
        with self._guard, self._writing() as file:
            before = self._read()
            values = {**self._keys.open_all(before), **self._memory}
            vault = created = self._keys.make_vault(level, passphrase)
            if level is not StorageKind.MEMORY:
                for name, value in values.items():
                    vault = self._keys.with_secret(vault, name, value)
            self._write(file, vault, created=created)
            self._memory = values if level is StorageKind.MEMORY else {}
            self._keys.discard(before)
            self._set_status(vault)

    def reset(self) -> None:
        """Delete every secret and the key, so that copies of the file cannot be decrypted either.

        Raises ConfigError.
        """
        with self._guard:
            if self._file is not None:
                with self._writing() as file:
                    before = self._vault_or_none()
                    file.delete()
                    self._keys.discard(before)
            self._memory.clear()
            self._reported.clear()
            self._keys.drop()
            self._set_status(None)

    def close(self) -> None:
        """Unblock all callers waiting for the keychain. Thread-safe."""
        self._keychain.close()

    def _put(self, file: VaultFile, name: str, value: str) -> None:
        vault = existing = self._read()
        try:
            if vault is None:
                vault = self._first_vault()
            if vault is None or vault.level is StorageKind.MEMORY:
                self._put_into_memory(name, value)
                return
            vault = self._keys.with_secret(vault, name, value)
        except SecretsUnavailable as exc:
            self._set_status(vault, exc)
            raise
        self._write(file, vault, created=vault if existing is None else None)
        self._memory.pop(name, None)
        self._reported.discard((vault.id, name))
        self._set_status(vault)

    def _put_into_memory(self, name: str, value: str) -> None:
        self._memory[name] = value
        self.read_state()

    def _first_vault(self) -> Vault | None:
        """Create a vault in the keychain, or None (in memory) if there is none.

        A keychain that fails does not count as none.
        """
        try:
            return self._keys.make_vault(StorageKind.KEYCHAIN)
        except SecretsUnavailable as exc:
            if exc.status is not StorageStatus.ABSENT:
                raise
            self._set_status(None, exc)
            return None

    def _write(self, file: VaultFile, vault: Vault, created: Vault | None) -> None:
        """Write the vault; on failure, discard the key of the vault `created` for this write."""
        try:
            file.write(vault)
        except ConfigError:
            self._keys.discard(created)
            raise

    def _delete(self, matches: Callable[[str], bool]) -> int:
        with self._guard:
            names = {secret.name for secret in self.stored() if matches(secret.name)}
            if names and self._file is not None:
                with self._writing() as file:
                    vault = self._vault_or_none()  # delete those in memory in any case
                    if vault is not None and names & vault.records.keys():
                        file.write(vault.without(names))
            for name in names:
                self._memory.pop(name, None)
            self.read_state()
            return len(names)

    def _read(self) -> Vault | None:
        return self._file.read() if self._file is not None else None

    def _vault_or_none(self) -> Vault | None:
        try:
            return self._read()
        except SecretsUnavailable as exc:
            self._set_status(None, exc)
            return None

    @contextlib.contextmanager
    def _writing(self) -> Iterator[VaultFile]:
        """Hold the file lock, across processes. Raises ConfigError."""
        if self._file is None:
            raise ConfigError("Secrets are stored in memory only, until MCP Lens exits.")
        lock = FileLock(self._file.path.with_name("vault.lock"))
        try:
            self._file.prepare_folder()
            is_acquired = lock.acquire(_LOCK_TIMEOUT)
        except OSError as exc:
            raise _cannot_lock(exc) from exc
        if not is_acquired:
            raise ConfigError("Another MCP Lens is using the secrets.", "Try again in a moment.")
        try:
            yield self._file
        finally:
            lock.release()

    def _last_problem(self, vault: Vault | None) -> SecretsUnavailable | None:
        """Return the last problem, unless there is evidence that it is gone."""
        state = self._state
        is_solved = vault is not None and (vault.level is not state.level or self._keys.holds(vault))
        if state.can_read or state.status is StorageStatus.UNREADABLE or is_solved:
            return None
        return SecretsUnavailable(state.status, state.text, state.next_step)

    def _set_status(
        self, vault: Vault | None, problem: SecretsUnavailable | None = None, *, is_tried: bool = False
    ) -> None:
        if problem is None and vault is not None and vault.level is StorageKind.PASSPHRASE:
            problem = None if self._keys.holds(vault) else locked()
        state = self._state_of(vault, problem, is_tried=is_tried)
        if state != self._state:
            self._state = state
            self.changed.emit(state)

    def _state_of(
        self, vault: Vault | None, problem: SecretsUnavailable | None, *, is_tried: bool
    ) -> SecretsState:
        is_open = is_tried or self._file is None or (vault is not None and self._keys.holds(vault))
        status = StorageStatus.UNLOCKED if is_open else StorageStatus.UNTRIED
        return SecretsState(
            self._level(vault, problem),
            problem.status if problem is not None else status,
            problem.summary if problem is not None else "",
            problem.next_step if problem is not None else "",
            len(vault.records) if vault is not None else 0,
            len(self._memory),
            self._file.path if self._file is not None else None,
            vault is not None,
        )

    def _level(self, vault: Vault | None, problem: SecretsUnavailable | None) -> StorageKind:
        if vault is not None:
            return vault.level
        is_absent = problem is not None and problem.status is StorageStatus.ABSENT
        return StorageKind.MEMORY if self._file is None or is_absent else StorageKind.KEYCHAIN

    def _report_damaged(self, vault: Vault, name: str) -> None:
        if (vault.id, name) not in self._reported:
            self._reported.add((vault.id, name))
            self.problem_found.emit(
                f"The secret “{display_name(name)}” was changed outside MCP Lens and is not used. Enter "
                "it again, or delete it under Secrets."
            )


def _cannot_lock(error: OSError) -> ConfigError:
    why = error.strerror or error
    return ConfigError(f"Could not use the secrets folder: {why}.", "Check its permissions.")


def _require_value(value: str) -> None:
    try:
        length = len(value.encode())
    except UnicodeEncodeError as exc:
        raise ConfigError(
            "This secret contains characters that cannot be stored.", "Enter it again."
        ) from exc
    if not value or length > MAX_VALUE_LENGTH:
        raise ConfigError(f"A secret must be between 1 character and {size(MAX_VALUE_LENGTH)} long.")


def _require_passphrase(passphrase: str) -> None:
    if len(passphrase) < MIN_PASSPHRASE_LENGTH:
        raise ConfigError(
            "This passphrase is too short: anyone with the file could guess it.",
            f"Use at least {MIN_PASSPHRASE_LENGTH} characters, ideally several words.",
        )


class RefreshLocks:
    """Cross-process locks on secrets. Without a folder, they hold in this process only."""

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder
        self._held: set[str] = set()

    def try_lock(self, name: str) -> RefreshLock | None:
        """Return the lock of a secret, or None while it is held elsewhere. Raises OSError."""
        if name in self._held:
            return None
        lock = FileLock(self._folder / _file_name(name)) if self._folder is not None else None
        if lock is not None and not lock.try_acquire():
            return None
        self._held.add(name)
        return RefreshLock(self._held, name, lock)


class RefreshLock:
    """A lock on a secret, held until released or until the process exits."""

    def __init__(self, held: set[str], name: str, lock: FileLock | None) -> None:
        self._held = held
        self._name = name
        self._lock = lock

    def release(self) -> None:
        self._held.discard(self._name)
        if self._lock is not None:
            self._lock.release()


def _file_name(name: str) -> str:
    return f"claim-{hashlib.sha256(name.encode()).hexdigest()[:32]}.lock"

"""System keychain: macOS Keychain, Windows Credential Manager, Secret Service, KWallet.

The keychain may prompt the user to unlock it and blocks until then. Each call therefore runs on its own
thread with a time limit; a result that arrives late is used by the next call.
"""

from __future__ import annotations

import contextlib
import importlib
import sys
import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from inspector.base.json.values import shorten
from inspector.base.plain_text import one_line
from inspector.base.redaction import MASK
from inspector.config.secrets.records import SecretsUnavailable, StorageStatus
from inspector.config.secrets.vault_file import KEY_BYTES, from_text, to_text

if TYPE_CHECKING:
    from keyring.backend import KeyringBackend

SERVICE = "mcp-lens"
_TIMEOUT = 30.0  # seconds; long enough to type a password into the keychain's dialog
# An environment variable or config file can make keyring use any class, even plain files. Only these are
# what users consider a keychain.
ALLOWED = (
    "keyring.backends.macOS.Keyring",
    "keyring.backends.Windows.WinVaultKeyring",
    "keyring.backends.SecretService.Keyring",
    "keyring.backends.libsecret.Keyring",
    "keyring.backends.kwallet.DBusKeyring",
    "keyring.backends.kwallet.DBusKeyringKWallet4",
)
_START_HINTS = {"linux": "Start one, such as GNOME Keyring or KWallet."}
_WITHOUT = "Without a keychain, you can encrypt secrets with a passphrase or store them in memory only."


def find_backend() -> KeyringBackend:
    """Return the keychain that keyring would use, if it is an allowed one.

    Raises SecretsUnavailable.
    """
    try:
        import keyring
        from keyring.backends import fail
        from keyring.backends.chainer import ChainerBackend
        from keyring.errors import KeyringError
    except ImportError as exc:
        raise SecretsUnavailable(
            StorageStatus.ABSENT,
            f"Keychain support is not installed: {_error_text(exc)}.",
            _WITHOUT,
        ) from exc
    try:
        found = keyring.get_keyring()
        candidates = list(found.backends) if isinstance(found, ChainerBackend) else [found]
        if isinstance(found, fail.Keyring):
            candidates += _running_backends()
    except (KeyringError, RuntimeError, ImportError, AttributeError, ValueError) as exc:
        raise SecretsUnavailable(
            StorageStatus.ABSENT,
            f"The keychain configured in keyring is not available: {_error_text(exc)}.",
            _WITHOUT,
        ) from exc
    for backend in candidates:
        if _class_name(backend) in ALLOWED:
            return _prepared(backend)
    raise _absent([_class_name(backend) for backend in candidates])


class Keychain:
    """Stores master keys in the system keychain, one per account.

    All methods block, and raise SecretsUnavailable.
    """

    def __init__(self, find: Callable[[], KeyringBackend] = find_backend, timeout: float = _TIMEOUT) -> None:
        self._find = find
        self._timeout = timeout
        self._guard = threading.Lock()
        self._pending: _Call | None = None
        self._is_closed = False

    def read(self, account: str) -> bytes | None:
        """Return the key, None if there is none. A malformed key counts as none."""
        text = self._call(("read", account), lambda backend: backend.get_password(SERVICE, account))
        try:
            key = from_text(text) if text else b""
        except ValueError:
            return None
        return key if len(key) == KEY_BYTES else None

    def write(self, account: str, key: bytes) -> None:
        """Store a key and read it back: some keychains accept what they do not save."""
        text = to_text(key)

        def work(backend: KeyringBackend) -> str | None:
            try:
                backend.set_password(SERVICE, account, text)
                return backend.get_password(SERVICE, account)
            except Exception as exc:
                # The keychain's error text is shown: it must not contain the key.
                exc.args = tuple(str(each).replace(text, MASK) for each in exc.args)
                raise

        if self._call(("write", account), work) != text:
            raise SecretsUnavailable(
                StorageStatus.FAILED, "The keychain did not store the value written to it.", _WITHOUT
            )

    def delete(self, account: str) -> None:
        """Delete a key, if present."""

        def work(backend: KeyringBackend) -> str | None:
            if backend.get_password(SERVICE, account) is not None:
                backend.delete_password(SERVICE, account)
            return None

        self._call(("delete", account), work)

    def close(self) -> None:
        """Unblock all waiting callers. A thread blocked in the keychain does not keep the app alive."""
        with self._guard:
            self._is_closed = True
            if self._pending is not None:
                self._pending.ended.set()

    def _call(self, operation: tuple[str, str], work: Callable[[KeyringBackend], str | None]) -> str | None:
        call = self._start(operation, work)
        call.ended.wait(max(0.0, call.deadline - time.monotonic()))
        with self._guard:
            if self._is_closed or not call.is_done:
                raise _silent()
            if self._pending is call:
                self._pending = None
        if call.error is not None:
            raise _unavailable(call.error) from call.error
        return call.response

    def _start(self, operation: tuple[str, str], work: Callable[[KeyringBackend], str | None]) -> _Call:
        with self._guard:
            pending = self._pending
            if self._is_closed or (
                pending is not None and not pending.is_done and pending.operation != operation
            ):
                raise _silent()
            if (
                pending is not None
                and pending.operation == operation
                and (pending.response or not pending.is_done)
            ):
                return pending  # already started; reuse its result
            call = self._pending = _Call(operation, time.monotonic() + self._timeout)
        threading.Thread(target=call.run, args=(self._find, work), name="keychain", daemon=True).start()
        return call


class _Call:
    """A keychain call, run on its own thread."""

    def __init__(self, operation: tuple[str, str], deadline: float) -> None:
        self.operation = operation
        self.deadline = deadline
        self.ended = threading.Event()
        self.is_done = False
        self.response: str | None = None
        self.error: Exception | None = None

    def run(self, find: Callable[[], KeyringBackend], work: Callable[[KeyringBackend], str | None]) -> None:
        try:
            self.response = work(find())
        except Exception as exc:  # not only KeyringError: backends let all their exceptions through
            self.error = exc
        self.is_done = True
        self.ended.set()


def _running_backends() -> list[KeyringBackend]:
    """Return keychains available now; keyring itself only looks once per process."""
    found: list[KeyringBackend] = []
    for name in ALLOWED:
        module, _, class_name = name.rpartition(".")
        with contextlib.suppress(Exception):  # each reports its absence differently
            backend_class = getattr(importlib.import_module(module), class_name)
            if backend_class.priority > 0:
                found.append(backend_class())
    return found


def _prepared(backend: KeyringBackend) -> KeyringBackend:
    if _class_name(backend) == "keyring.backends.Windows.WinVaultKeyring":
        # By default Windows roams credentials to the user's other machines; the vault file does not roam.
        backend.persist = "local machine"  # type: ignore[attr-defined]
    return backend


def _class_name(backend: object) -> str:
    return f"{type(backend).__module__}.{type(backend).__qualname__}"


def _unavailable(error: Exception) -> SecretsUnavailable:
    from keyring.errors import InitError, KeyringLocked, NoKeyringError

    if isinstance(error, SecretsUnavailable):
        return error
    if isinstance(error, NoKeyringError):
        return _absent([])
    if isinstance(error, KeyringLocked):
        return SecretsUnavailable(StorageStatus.LOCKED, "The keychain is locked.", "Unlock it and try again.")
    if isinstance(error, InitError):
        return SecretsUnavailable(
            StorageStatus.FAILED,
            f"Could not open the keychain: {_error_text(error)}.",
            "Unlock it or start its service, and try again.",
        )
    return SecretsUnavailable(StorageStatus.FAILED, f"Keychain error: {_error_text(error)}.", _WITHOUT)


def _absent(others: list[str]) -> SecretsUnavailable:
    configured = [name for name in others if name != "keyring.backends.fail.Keyring"]
    if configured:
        shown = one_line(shorten(", ".join(configured), 200))
        return SecretsUnavailable(
            StorageStatus.ABSENT,
            f"keyring is configured to use {shown}, which is not the system keychain.",
            f"Change this in the keyring configuration. {_WITHOUT}",
        )
    start = _START_HINTS.get(sys.platform, "")
    return SecretsUnavailable(StorageStatus.ABSENT, "No keychain is running.", f"{start} {_WITHOUT}".strip())


def _silent() -> SecretsUnavailable:
    return SecretsUnavailable(
        StorageStatus.UNRESPONSIVE,
        "The keychain does not respond.",
        "It may be waiting for you: find its window, unlock it, and try again.",
    )


def _error_text(error: Exception) -> str:
    return one_line(shorten(str(error) or type(error).__name__, 200)).rstrip(".")

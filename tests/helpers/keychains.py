"""Keychains for tests: keyring backends that behave like those of operating systems."""

from __future__ import annotations

import threading

from keyring.backend import KeyringBackend
from keyring.errors import KeyringLocked, PasswordDeleteError


class MemoryKeychain(KeyringBackend):
    """A working keychain with the limit of Windows: 2560 bytes of UTF-16, with its own error."""

    priority = 0.1

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.entries: dict[tuple[str, str], str] = {}

    def get_password(self, service: str, username: str) -> str | None:
        return self.entries.get((service, username))

    def set_password(self, service: str, username: str, password: str) -> None:
        if len(password.encode("utf-16-le")) > 2560:
            raise OSError(1783, "CredWrite", "The stub received bad data")
        self.entries[service, username] = password

    def delete_password(self, service: str, username: str) -> None:
        if self.entries.pop((service, username), None) is None:
            raise PasswordDeleteError("No such password!")


class FailingKeychain(MemoryKeychain):
    """Raises the given error in every call."""

    def __init__(self, error: Exception | None = None) -> None:
        super().__init__()
        self.error: Exception | None = error or KeyringLocked("Failed to unlock the collection!")

    def get_password(self, service: str, username: str) -> str | None:
        self._fail()
        return super().get_password(service, username)

    def set_password(self, service: str, username: str, password: str) -> None:
        self._fail()
        super().set_password(service, username, password)

    def _fail(self) -> None:
        if self.error is not None:
            raise self.error


class WaitingKeychain(MemoryKeychain):
    """Waits like a keychain that prompts the user, until `release_bodies` is set."""

    def __init__(self) -> None:
        super().__init__()
        self.is_requested = threading.Event()
        self.release_bodies = threading.Event()

    def get_password(self, service: str, username: str) -> str | None:
        self.is_requested.set()
        self.release_bodies.wait()
        return super().get_password(service, username)

    def set_password(self, service: str, username: str, password: str) -> None:
        self.is_requested.set()
        self.release_bodies.wait()
        super().set_password(service, username, password)


class ForgetfulKeychain(MemoryKeychain):
    """Accepts everything and stores nothing, like keyring's `null`."""

    def set_password(self, service: str, username: str, password: str) -> None:
        pass

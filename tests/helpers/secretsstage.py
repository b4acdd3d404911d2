"""A secret store with a folder and a keychain that survive restarts of the app."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from keyring.backend import KeyringBackend

from inspector.config.secrets.keychain import Keychain
from inspector.config.secrets.records import StorageStatus
from inspector.config.secrets.store import SecretStore
from inspector.config.secrets.vault_file import KeyDerivationCost
from tests.helpers.keychains import MemoryKeychain

CHEAP = KeyDerivationCost(2**14, 8, 1)
NAME = "header/My%20server/X-Key"
VALUE = "s3cret-value-of-the-marker"
PASSPHRASE = "correct horse battery"


def status(store: SecretStore) -> StorageStatus:
    return store.state.status


class Run:
    """One session of the app: a store and its reported problems."""

    def __init__(self, folder: Path, backend: KeyringBackend, timeout: float = 10.0) -> None:
        self.keychain = Keychain(lambda: backend, timeout)
        self.store = SecretStore(folder, self.keychain, CHEAP)
        self.problems: list[str] = []
        self.store.problem_found.connect(self.problems.append)


class Machine:
    """A folder and a keychain that survive restarts."""

    def __init__(self, folder: Path, backend: KeyringBackend | None = None) -> None:
        self.folder = folder / "secrets"
        self.path = self.folder / "vault.json"
        self.backend = backend or MemoryKeychain()

    def run(self, timeout: float = 10.0) -> Run:
        return Run(self.folder, self.backend, timeout)

    @property
    def store(self) -> SecretStore:
        """Return the store of a new session."""
        return self.run().store

    def document(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.path.read_text())
        return found

    def rewrite(self, document: dict[str, Any]) -> None:
        self.path.write_text(json.dumps(document))

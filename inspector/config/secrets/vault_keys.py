"""Master keys of vaults, held in memory; encrypts and decrypts secrets with them."""

from __future__ import annotations

import contextlib

from inspector.base.errors import ConfigError
from inspector.base.units import plural
from inspector.config.secrets.keychain import Keychain
from inspector.config.secrets.records import SecretsUnavailable, StorageKind, StorageStatus, display_name
from inspector.config.secrets.vault_file import (
    KeyDerivationCost,
    Vault,
    VaultTampered,
    decrypt,
    derive_key,
    encrypt,
    new_id,
    new_key,
    new_salt,
)

_CHECK_TEXT = "mcp-lens"
_KEYLESS = (StorageKind.PLAIN, StorageKind.MEMORY)


class VaultKeys:
    """Keys of vaults, held in memory by vault id."""

    def __init__(self, keychain: Keychain, cost: KeyDerivationCost) -> None:
        self._keychain = keychain
        self._cost = cost
        self._held: dict[str, bytes] = {}

    def holds(self, vault: Vault) -> bool:
        """True if the vault can be opened without keychain or passphrase."""
        return vault.level in _KEYLESS or vault.id in self._held

    def probe(self) -> None:
        """Check that the keychain is usable. Raises SecretsUnavailable."""
        self._keychain.read("probe")

    def fetch(self, vault: Vault) -> None:
        """Get the vault's key from the keychain unless held. Raises SecretsUnavailable."""
        if self.holds(vault):
            return
        if vault.level is StorageKind.PASSPHRASE:
            raise locked()
        key = self._keychain.read(_account(vault))
        if key is None or not _matches(key, vault):
            raise SecretsUnavailable(
                StorageStatus.KEY_LOST,
                "The keychain has no key for these secrets, or a different one.",
                "If they were encrypted with another keychain, use that one. Otherwise delete all secrets.",
            )
        self._held[vault.id] = key

    def unlock(self, vault: Vault, passphrase: str) -> bool:
        """Unlock the vault; return False if the passphrase is wrong."""
        key = derive_key(passphrase, vault.salt, vault.cost)
        if not _matches(key, vault):
            return False
        self._held[vault.id] = key
        return True

    def drop(self) -> None:
        """Forget all keys, locking the vaults."""
        self._held.clear()

    def make_vault(self, level: StorageKind, passphrase: str = "") -> Vault:
        """Create an empty vault and hold its key. Raises SecretsUnavailable."""
        if level in _KEYLESS:
            return Vault(level, new_id())
        id, salt, key = new_id(), b"", new_key()
        if level is StorageKind.PASSPHRASE:
            salt = new_salt()
            key = derive_key(passphrase, salt, self._cost)
        vault = Vault(level, id, encrypt(key, id, "", _CHECK_TEXT), salt, self._cost)
        if level is StorageKind.KEYCHAIN:
            self._keychain.write(_account(vault), key)
        self._held[id] = key
        return vault

    def discard(self, vault: Vault | None) -> None:
        """Delete the key of a deleted vault. Never fails: a key left in the keychain decrypts nothing."""
        if vault is None:
            return
        self._held.pop(vault.id, None)
        if vault.level is StorageKind.KEYCHAIN:
            with contextlib.suppress(SecretsUnavailable):
                self._keychain.delete(_account(vault))

    def with_secret(self, vault: Vault, name: str, value: str) -> Vault:
        """Return the vault with a secret added. Raises SecretsUnavailable."""
        is_plain = vault.level is StorageKind.PLAIN
        return vault.with_record(
            name, value if is_plain else encrypt(self._key(vault), vault.id, name, value)
        )

    def open(self, vault: Vault, name: str) -> str:
        """Decrypt a secret. Raises SecretsUnavailable, VaultTampered."""
        record = vault.records[name]
        if record.is_encrypted == (vault.level in _KEYLESS):
            raise VaultTampered  # a plain record among encrypted ones was put there by someone else
        return decrypt(self._key(vault), vault.id, name, record.text) if record.is_encrypted else record.text

    def open_all(self, vault: Vault | None) -> dict[str, str]:
        """Decrypt all secrets, to move them. Raises ConfigError rather than lose one."""
        values: dict[str, str] = {}
        damaged: list[str] = []
        if vault is not None:
            for name in vault.records:
                try:
                    values[name] = self.open(vault, name)
                except VaultTampered:
                    damaged.append(name)
        if damaged:
            raise ConfigError(
                f"{plural(len(damaged), 'secret')} cannot be decrypted and would be lost, including "
                f"“{display_name(damaged[0])}”.",
                "Delete the secrets that cannot be decrypted, then try again.",
            )
        return values

    def _key(self, vault: Vault) -> bytes:
        self.fetch(vault)
        return self._held[vault.id]


def locked() -> SecretsUnavailable:
    return SecretsUnavailable(
        StorageStatus.LOCKED,
        "The secrets are locked.",
        "Enter the passphrase under Secrets, once each time MCP Lens starts.",
    )


def _matches(key: bytes, vault: Vault) -> bool:
    try:
        return decrypt(key, vault.id, "", vault.check) == _CHECK_TEXT
    except VaultTampered:
        return False


def _account(vault: Vault) -> str:
    return f"vault-{vault.id}"

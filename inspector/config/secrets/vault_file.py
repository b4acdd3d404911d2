"""The encrypted secrets file: its format, its reads and writes, and the encryption.

    {"version": 1, "kept": "keychain", "id": "…", "check": "…",
     "scrypt": {"salt": "…", "n": 131072, "r": 8, "p": 1},        only for a passphrase
     "records": {"header/My%20server/X-Key": {"sealed": "…", "changed": 1794830400}}}

Each secret is encrypted with AES-256-GCM under its own key, bound to its name and to the file's `id`: a
value that was modified, or moved to another name or file, does not decrypt. Deletion of a secret, or its
replacement by an older value, cannot be detected.

Whenever secrets move to another storage level, a new file with a new `id` is written, and the keychain
stores its key under that id: an interruption at any time leaves a file with its matching key.
"""

from __future__ import annotations

import base64
import binascii
import os
import secrets
import stat
import time
import unicodedata
from dataclasses import dataclass, field, replace
from pathlib import Path

from inspector.base.atomic_file import replace_file
from inspector.base.errors import ConfigError
from inspector.base.json.values import JSON, JSONError, JSONObject, compact, parse, pretty
from inspector.base.plain_text import one_line
from inspector.base.units import size
from inspector.config.secrets.records import SecretsUnavailable, StorageKind, StorageStatus, is_name

VERSION = 1
MAX_BYTES = 16 * 1024 * 1024
KEY_BYTES = 32
_NONCE_BYTES = 12
_MAX_MEMORY = 512 * 1024 * 1024
_NO_FOLLOW = getattr(os, "O_NOFOLLOW", 0)
_KNOWN_MEMBERS = ("version", "kept", "id", "check", "scrypt", "records")


class VaultTampered(Exception):
    """Decryption failed: wrong key, or the data was modified."""


@dataclass(frozen=True, slots=True)
class KeyDerivationCost:
    """Cost of one passphrase attempt (scrypt): 128 MiB and a few tenths of a second."""

    n: int = 2**17
    r: int = 8
    p: int = 1

    @property
    def is_acceptable(self) -> bool:
        """True if the parameters are acceptable: neither too cheap nor exhausting the memory.

        They may come from a file that someone else wrote.
        """
        is_power = self.n > 0 and self.n & (self.n - 1) == 0
        return (
            is_power and self.n >= 2**14 and self.r >= 8 and 1 <= self.p <= 4 and self._memory <= _MAX_MEMORY
        )

    @property
    def _memory(self) -> int:
        return 128 * self.n * self.r


@dataclass(frozen=True, slots=True)
class Record:
    """A secret in the file, encrypted or plain."""

    text: str = field(repr=False)
    is_encrypted: bool
    changed: int


@dataclass(frozen=True, slots=True)
class Vault:
    """Content of the vault file. `unknown` members are preserved."""

    level: StorageKind
    id: str
    check: str = ""  # encrypted with an empty name: verifies the key
    salt: bytes = b""
    cost: KeyDerivationCost = field(default_factory=KeyDerivationCost)
    records: dict[str, Record] = field(default_factory=dict)
    unknown: JSONObject = field(default_factory=dict)

    def with_record(self, name: str, text: str) -> Vault:
        record = Record(text, self.level is not StorageKind.PLAIN, int(time.time()))
        return replace(self, records={**self.records, name: record})

    def without(self, names: set[str]) -> Vault:
        remaining = {name: record for name, record in self.records.items() if name not in names}
        return replace(self, records=remaining)


def new_id() -> str:
    return secrets.token_hex(16)


class VaultFile:
    """The vault file, replaced atomically.

    It must belong to the user, be readable by no other user, and not be a symlink.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    def read(self) -> Vault | None:
        """Read the vault, None if there is no file. Raises SecretsUnavailable."""
        try:
            data = self._data()
        except FileNotFoundError:
            return None
        except OSError as exc:
            raise self._unreadable(f"cannot be read: {exc.strerror or exc}") from exc
        try:
            document = parse(data.decode())
        except (UnicodeDecodeError, JSONError) as exc:
            raise self._unreadable("is damaged: it is not valid JSON") from exc
        return self._vault(document)

    def write(self, vault: Vault) -> None:
        """Replace the file. Raises ConfigError, leaving the file unchanged."""
        data = (pretty(_document(vault)) + "\n").encode()
        if len(data) > MAX_BYTES:
            raise ConfigError(f"Secrets are limited to {size(MAX_BYTES)} in total.", "Delete some of them.")
        try:
            self.prepare_folder()
            replace_file(self.path, data, is_private=True)
        except OSError as exc:
            why = exc.strerror or exc
            raise ConfigError(
                f"Could not write {self._display_path}: {why}.", "The file was not changed."
            ) from exc

    def delete(self) -> None:
        """Delete the file. Raises ConfigError."""
        try:
            self.path.unlink(missing_ok=True)
        except OSError as exc:
            raise ConfigError(f"Could not delete {self._display_path}: {exc.strerror or exc}.") from exc

    def prepare_folder(self) -> None:
        """Create the folder, accessible to the user only. Raises OSError."""
        folder = self.path.parent
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        if os.name == "posix":
            status = folder.stat()
            if status.st_uid != os.geteuid():
                raise OSError(0, f"the folder {one_line(str(folder))} belongs to another user")
            if status.st_mode & 0o077:
                folder.chmod(0o700)

    def _data(self) -> bytes:
        if not _NO_FOLLOW and self.path.is_symlink():
            raise OSError(0, "it is a symbolic link")
        # Non-blocking: opening a FIFO would wait for a writer.
        flags = os.O_RDONLY | _NO_FOLLOW | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
        try:
            handle = os.open(self.path, flags)
        except OSError as exc:
            if self.path.is_symlink():
                raise OSError(0, "it is a symbolic link") from exc
            raise
        with os.fdopen(handle, "rb") as file:
            _require_own_file(handle)
            data = file.read(MAX_BYTES + 1)
        if len(data) > MAX_BYTES:
            raise OSError(0, f"it is larger than {size(MAX_BYTES)}")
        return data

    def _vault(self, document: JSON) -> Vault:
        if not isinstance(document, dict) or not isinstance(version := document.get("version"), int):
            raise self._unreadable("is damaged: it is not a secrets file")
        if version > VERSION:
            raise SecretsUnavailable(
                StorageStatus.UNREADABLE,
                f"{self._display_path} was written by a newer version of MCP Lens.",
                "Use that version. The file was not changed.",
            )
        id, check, records = document.get("id"), document.get("check", ""), document.get("records", {})
        try:
            level = StorageKind(document.get("kept"))
            salt, cost = b"", KeyDerivationCost()
            if level is StorageKind.PASSPHRASE:
                salt, cost = _scrypt(document.get("scrypt"))
        except ValueError as exc:
            raise self._unreadable("is damaged: it does not say how it is encrypted") from exc
        if not (
            isinstance(id, str) and id.isalnum() and isinstance(check, str) and isinstance(records, dict)
        ):
            raise self._unreadable("is damaged: parts of it are missing")
        unknown = {name: value for name, value in document.items() if name not in _KNOWN_MEMBERS}
        return Vault(level, id, check, salt, cost, _records(records), unknown)

    def _unreadable(self, text: str) -> SecretsUnavailable:
        return SecretsUnavailable(
            StorageStatus.UNREADABLE,
            f"{self._display_path} {text}.",
            "Restore a good copy, or delete all secrets and start over.",
        )

    @property
    def _display_path(self) -> str:
        return one_line(str(self.path))


def _require_own_file(handle: int) -> None:
    status = os.fstat(handle)
    if not stat.S_ISREG(status.st_mode):
        raise OSError(0, "it is not a regular file")
    if os.name != "posix":
        return
    if status.st_uid != os.geteuid():
        raise OSError(0, "it belongs to another user")
    if status.st_mode & 0o077:
        os.fchmod(handle, 0o600)


def _scrypt(value: JSON) -> tuple[bytes, KeyDerivationCost]:
    """Parse salt and cost. Raises ValueError."""
    if not isinstance(value, dict):
        raise ValueError("no parameters")
    salt, numbers = value.get("salt"), [value.get(name) for name in ("n", "r", "p")]
    if not isinstance(salt, str) or not all(type(number) is int for number in numbers):
        raise ValueError("no parameters")
    n, r, p = (int(str(number)) for number in numbers)
    cost = KeyDerivationCost(n, r, p)
    if not cost.is_acceptable:
        raise ValueError("unacceptable cost")
    return from_text(salt), cost


def _records(members: JSONObject) -> dict[str, Record]:
    """Parse the records. Malformed ones become undecryptable records, so that they can be deleted."""
    return {name: _record(value) for name, value in members.items() if is_name(name)}


def _record(value: JSON) -> Record:
    members = value if isinstance(value, dict) else {}
    encrypted, plain, changed = members.get("sealed"), members.get("plain"), members.get("changed")
    when = changed if type(changed) is int and 0 <= changed < 2**40 else 0
    if isinstance(plain, str):
        return Record(plain, False, when)
    return Record(encrypted if isinstance(encrypted, str) else "", True, when)


def _document(vault: Vault) -> JSONObject:
    document: JSONObject = {"version": VERSION, "kept": vault.level.value, "id": vault.id}
    if vault.check:
        document["check"] = vault.check
    if vault.level is StorageKind.PASSPHRASE:
        cost = vault.cost
        document["scrypt"] = {"salt": to_text(vault.salt), "n": cost.n, "r": cost.r, "p": cost.p}
    document["records"] = {
        name: {"sealed" if record.is_encrypted else "plain": record.text, "changed": record.changed}
        for name, record in vault.records.items()
    }
    return {**vault.unknown, **document}


def new_key() -> bytes:
    return os.urandom(KEY_BYTES)


def new_salt() -> bytes:
    return os.urandom(16)


def derive_key(passphrase: str, salt: bytes, cost: KeyDerivationCost) -> bytes:
    """Derive a key from a passphrase with scrypt, slow on purpose.

    The passphrase is normalized to NFC, so that the keyboard does not matter.
    """
    from cryptography.hazmat.primitives.kdf.scrypt import Scrypt

    text = unicodedata.normalize("NFC", passphrase).encode("utf-8", "surrogatepass")
    return Scrypt(salt=salt, length=KEY_BYTES, n=cost.n, r=cost.r, p=cost.p).derive(text)


def encrypt(key: bytes, vault: str, name: str, value: str) -> str:
    """Encrypt a value, bound to this key, vault and name."""
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

    nonce = os.urandom(_NONCE_BYTES)
    encrypted = AESGCM(_secret_key(key, vault, name)).encrypt(nonce, value.encode(), _context(vault, name))
    return to_text(nonce + encrypted)


def decrypt(key: bytes, vault: str, name: str, text: str) -> str:
    """Decrypt a value. Raises VaultTampered."""
    from cryptography.exceptions import InvalidTag
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

    try:
        data = from_text(text)
        nonce, encrypted = data[:_NONCE_BYTES], data[_NONCE_BYTES:]
        return AESGCM(_secret_key(key, vault, name)).decrypt(nonce, encrypted, _context(vault, name)).decode()
    except (InvalidTag, ValueError) as exc:
        raise VaultTampered from exc


def to_text(data: bytes) -> str:
    return base64.b64encode(data).decode()


def from_text(text: str) -> bytes:
    """Decode base64. Raises ValueError."""
    try:
        return base64.b64decode(text, validate=True)
    except binascii.Error as exc:
        raise ValueError(str(exc)) from exc


def _secret_key(key: bytes, vault: str, name: str) -> bytes:
    from cryptography.hazmat.primitives.hashes import SHA256
    from cryptography.hazmat.primitives.kdf.hkdf import HKDF

    return HKDF(SHA256(), KEY_BYTES, salt=None, info=b"mcp-lens secret " + _context(vault, name)).derive(key)


def _context(vault: str, name: str) -> bytes:
    return compact([VERSION, vault, name]).encode()

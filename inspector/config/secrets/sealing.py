"""Sealing one secret: AES-256-GCM under a key of its own, bound to its name and to its file.

A sealed text that was changed, or moved under another name or into another file, does not open. What this
cannot show is that a secret was deleted, or that an older state of it was put back.
"""

from __future__ import annotations

import base64
import binascii
import os
import unicodedata
from dataclasses import dataclass

from inspector.base.jsonvalue import compact

VERSION = 1
KEY_BYTES = 32
_NONCE_BYTES = 12
_MOST_MEMORY = 512 * 1024 * 1024


class Tampered(Exception):
    """Decryption failed: wrong key, or the data was modified."""


@dataclass(frozen=True, slots=True)
class Cost:
    """Cost of one passphrase attempt (scrypt): 128 MiB and a few tenths of a second."""

    n: int = 2**17
    r: int = 8
    p: int = 1

    @property
    def is_bearable(self) -> bool:
        """True if the parameters are acceptable: neither too cheap nor exhausting our memory.

        They may come from a file that someone else wrote.
        """
        is_power = self.n > 0 and self.n & (self.n - 1) == 0
        return (
            is_power and self.n >= 2**14 and self.r >= 8 and 1 <= self.p <= 4 and self._memory <= _MOST_MEMORY
        )

    @property
    def _memory(self) -> int:
        return 128 * self.n * self.r


def new_key() -> bytes:
    return os.urandom(KEY_BYTES)


def new_salt() -> bytes:
    return os.urandom(16)


def key_of_passphrase(passphrase: str, salt: bytes, cost: Cost) -> bytes:
    """Derive the key, slowly on purpose. Normalized to NFC, so the keyboard does not matter."""
    from cryptography.hazmat.primitives.kdf.scrypt import Scrypt

    text = unicodedata.normalize("NFC", passphrase).encode("utf-8", "surrogatepass")
    return Scrypt(salt=salt, length=KEY_BYTES, n=cost.n, r=cost.r, p=cost.p).derive(text)


def seal(key: bytes, vault: str, name: str, value: str) -> str:
    """Encrypt a value, bound to this key, vault and name."""
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

    nonce = os.urandom(_NONCE_BYTES)
    sealed = AESGCM(_own_key(key, vault, name)).encrypt(nonce, value.encode(), _bound_to(vault, name))
    return to_text(nonce + sealed)


def unseal(key: bytes, vault: str, name: str, text: str) -> str:
    """Decrypt a value. Raises Tampered."""
    from cryptography.exceptions import InvalidTag
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

    try:
        data = from_text(text)
        nonce, sealed = data[:_NONCE_BYTES], data[_NONCE_BYTES:]
        return AESGCM(_own_key(key, vault, name)).decrypt(nonce, sealed, _bound_to(vault, name)).decode()
    except (InvalidTag, ValueError) as exc:
        raise Tampered from exc


def to_text(data: bytes) -> str:
    return base64.b64encode(data).decode()


def from_text(text: str) -> bytes:
    """Decode base64. Raises ValueError."""
    try:
        return base64.b64decode(text, validate=True)
    except binascii.Error as exc:
        raise ValueError(str(exc)) from exc


def _own_key(key: bytes, vault: str, name: str) -> bytes:
    from cryptography.hazmat.primitives.hashes import SHA256
    from cryptography.hazmat.primitives.kdf.hkdf import HKDF

    return HKDF(SHA256(), KEY_BYTES, salt=None, info=b"mcp-lens secret " + _bound_to(vault, name)).derive(key)


def _bound_to(vault: str, name: str) -> bytes:
    return compact([VERSION, vault, name]).encode()

"""Where secrets are kept, and how that stands: what the window shows."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from pathlib import Path

from inspector.base.errors import ConfigError


class Rung(Enum):
    """Where secrets are kept, the best place first. Only the person goes down to the last one."""

    KEYCHAIN = "keychain"
    PASSPHRASE = "passphrase"  # noqa: S105
    MEMORY = "memory"
    PLAIN = "plain"


class Standing(Enum):
    """Can they be read now, and why not?"""

    UNTRIED = "untried"  # nobody has asked the keychain yet: most runs never need to
    OPEN = "open"
    LOCKED = "locked"  # the person can unlock it
    ABSENT = "absent"  # there is no keychain
    SILENT = "silent"  # the keychain does not answer; it may be asking the person something
    FAILED = "failed"  # the keychain answers with an error
    KEY_LOST = "key lost"  # the keychain has no key for this file, or another one
    UNREADABLE = "unreadable"  # the file cannot be used


class SecretsUnavailable(ConfigError):
    """Secrets cannot be read or written now; `standing` is why."""

    def __init__(self, standing: Standing, summary: str, next_step: str = "") -> None:
        super().__init__(summary, next_step)
        self.standing = standing


@dataclass(frozen=True, slots=True)
class StoredSecret:
    """One of those that are there; never its value. `changed` is in seconds since 1970, 0 if unknown."""

    name: str
    is_kept: bool  # False: it is in memory only, and gone when we end
    changed: int = 0


@dataclass(frozen=True, slots=True)
class SecretsState:
    """`words` and `next_step` say what is wrong; empty when nothing is."""

    rung: Rung
    standing: Standing
    words: str = ""
    next_step: str = ""
    kept: int = 0
    in_memory: int = 0
    path: Path | None = None
    is_chosen: bool = False  # the file says so; else it is what we would use

    @property
    def can_read(self) -> bool:
        """As far as is known: an untried keychain mostly opens."""
        return self.standing in (Standing.OPEN, Standing.UNTRIED)

"""Where secrets are kept, and how that stands: what the window shows."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from pathlib import Path

from inspector.base.errors import ConfigError


class Rung(Enum):
    """Where secrets are stored, best first. Only the user can choose the last one."""

    KEYCHAIN = "keychain"
    PASSPHRASE = "passphrase"  # noqa: S105
    MEMORY = "memory"
    PLAIN = "plain"


class Standing(Enum):
    """Whether secrets can be read now, and if not, why."""

    UNTRIED = "untried"  # keychain not asked yet: most runs never need it
    OPEN = "open"
    LOCKED = "locked"  # the user can unlock it
    ABSENT = "absent"  # there is no keychain
    SILENT = "silent"  # the keychain does not respond; it may be prompting the user
    FAILED = "failed"  # the keychain returned an error
    KEY_LOST = "key lost"  # the keychain has no key, or the wrong one, for this file
    UNREADABLE = "unreadable"  # the file cannot be used


class SecretsUnavailable(ConfigError):
    """Secrets cannot be read or written now; `standing` says why."""

    def __init__(self, standing: Standing, summary: str, next_step: str = "") -> None:
        super().__init__(summary, next_step)
        self.standing = standing


@dataclass(frozen=True, slots=True)
class StoredSecret:
    """A stored secret, without its value. `changed` is in seconds since 1970, 0 if unknown."""

    name: str
    is_kept: bool  # False: in memory only, lost at exit
    changed: int = 0


@dataclass(frozen=True, slots=True)
class SecretsState:
    """State of the secret store. `words` and `next_step` describe a problem; empty if none."""

    rung: Rung
    standing: Standing
    words: str = ""
    next_step: str = ""
    kept: int = 0
    in_memory: int = 0
    path: Path | None = None
    is_chosen: bool = False  # chosen in the file; otherwise the default

    @property
    def can_read(self) -> bool:
        """True as far as is known: an untried keychain usually opens."""
        return self.standing in (Standing.OPEN, Standing.UNTRIED)

"""Names of secrets, and the values that describe the state of the secret store.

Names are paths: `header/<server>/<name>`, `oauth/<issuer>/…`, `answers/endpoint/<id>`. The first part is
the kind; the others are percent-encoded, so that a server may have any name and an issuer may be a URL.
Names are not secret: they are displayed and stored in plain text.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from urllib.parse import quote, unquote

from inspector.base.errors import ConfigError
from inspector.base.json.values import shorten
from inspector.base.plain_text import one_line

_MAX_LENGTH = 2000


def make_name(kind: str, *parts: str) -> str:
    """Return the name of a secret, e.g. `make_name("header", "My server", "X-Key")`."""
    # JSON can contain a lone surrogate, even in a name.
    return "/".join([kind, *(quote(part, safe="", errors="surrogatepass") for part in parts)])


def parts_of(name: str) -> tuple[str, ...]:
    """Return the kind and the parts of a name, for display."""
    return tuple(unquote(part, errors="replace") for part in name.split("/"))


def display_name(name: str) -> str:
    """Return the name for display: header › My server › X-Key."""
    return one_line(" › ".join(parts_of(name)))


def is_below(name: str, prefix: str) -> bool:
    """True for the prefix itself and for any name below it."""
    return name == prefix or name.startswith(f"{prefix}/")


def is_name(name: str) -> bool:
    return 0 < len(name) <= _MAX_LENGTH and name.isprintable() and all(name.split("/"))


def require_name(name: str) -> None:
    """Raise ConfigError unless the name is valid."""
    if not is_name(name):
        raise ConfigError(
            f"{one_line(shorten(name, 60))!r} is not a valid secret name.",
            f"Use at most {_MAX_LENGTH} printable characters, with single slashes between parts.",
        )


class StorageKind(Enum):
    """Where secrets are stored, most secure first. PLAIN is never chosen automatically."""

    KEYCHAIN = "keychain"
    PASSPHRASE = "passphrase"  # noqa: S105
    MEMORY = "memory"
    PLAIN = "plain"


class StorageStatus(Enum):
    """Whether secrets can be read now, and if not, why."""

    UNTRIED = "untried"  # keychain not accessed yet: it is often never needed
    UNLOCKED = "unlocked"
    LOCKED = "locked"  # the user can unlock it
    ABSENT = "absent"  # there is no keychain
    UNRESPONSIVE = "unresponsive"  # the keychain does not respond; it may be prompting the user
    FAILED = "failed"  # the keychain returned an error
    KEY_LOST = "key lost"  # the keychain has no key, or the wrong one, for this file
    UNREADABLE = "unreadable"  # the file cannot be used


class SecretsUnavailable(ConfigError):
    """Secrets cannot be read or written now; `status` says why."""

    def __init__(self, status: StorageStatus, summary: str, next_step: str = "") -> None:
        super().__init__(summary, next_step)
        self.status = status


@dataclass(frozen=True, slots=True)
class StoredSecret:
    """A stored secret, without its value. `changed_at` is a Unix timestamp in seconds, 0 if unknown."""

    name: str
    is_saved: bool  # False: in memory only, lost at exit
    changed_at: int = 0


@dataclass(frozen=True, slots=True)
class SecretsState:
    """State of the secret store. `text` and `next_step` describe a problem; empty if none."""

    level: StorageKind
    status: StorageStatus
    text: str = ""
    next_step: str = ""
    saved: int = 0
    in_memory: int = 0
    path: Path | None = None
    is_chosen: bool = False  # chosen in the file; otherwise the default

    @property
    def can_read(self) -> bool:
        """True if secrets can be read. An untried keychain counts as readable."""
        return self.status in (StorageStatus.UNLOCKED, StorageStatus.UNTRIED)

"""Texts about the secret store: status bar, storage locations, and names of secrets."""

from __future__ import annotations

from dataclasses import dataclass

from inspector.base.plain_text import one_line
from inspector.base.units import plural
from inspector.config.secrets.records import SecretsState, StorageKind, StorageStatus, parts_of
from inspector.qt.theme import Tone

_STATUS = {
    StorageKind.KEYCHAIN: "Secrets: keychain",
    StorageKind.PASSPHRASE: "Secrets: passphrase",
    StorageKind.MEMORY: "Secrets: in memory",
    StorageKind.PLAIN: "Secrets: unprotected",
}
_FAILURES = {
    StorageStatus.LOCKED: "Secrets: locked",
    StorageStatus.ABSENT: "Secrets: no keychain",
    StorageStatus.UNRESPONSIVE: "Secrets: keychain not responding",
    StorageStatus.FAILED: "Secrets: keychain failed",
    StorageStatus.KEY_LOST: "Secrets: key lost",
    StorageStatus.UNREADABLE: "Secrets: file unusable",
}
_KINDS = {
    "answers": "Reply rule",
    "bearer": "Bearer token",
    "env": "Environment",
    "header": "Header",
    "login": "Login setting",
    "oauth": "Login",
}


@dataclass(frozen=True, slots=True)
class StorageOption:
    """Where secrets can be stored, as offered to the user."""

    level: StorageKind
    name: str
    description: str


STORAGE_OPTIONS = (
    StorageOption(
        StorageKind.KEYCHAIN,
        "System keychain",
        "Secrets are encrypted in a file; its key is in the system keychain.",
    ),
    StorageOption(
        StorageKind.PASSPHRASE,
        "Passphrase",
        "Secrets are encrypted in a file; you enter the passphrase once per session. A lost passphrase "
        "can't be recovered.",
    ),
    StorageOption(StorageKind.MEMORY, "Memory only", "Secrets are lost when you close MCP Lens."),
    StorageOption(
        StorageKind.PLAIN,
        "Plain file, unprotected",
        "Every program that can read your files or their backups can read the secrets.",
    ),
)


def is_worth_showing(state: SecretsState) -> bool:
    """Return whether to show the state: not before a secret was ever stored."""
    return state.is_chosen or state.in_memory > 0 or state.status is StorageStatus.UNREADABLE


def status_text(state: SecretsState) -> str:
    if state.level is StorageKind.MEMORY:  # then a missing keychain is the reason, not another failure
        return _STATUS[state.level]
    return _FAILURES.get(state.status, _STATUS[state.level])


def status_tone(state: SecretsState) -> Tone:
    if state.level is StorageKind.MEMORY:
        return "muted"
    return "warn" if state.level is StorageKind.PLAIN or state.status in _FAILURES else "muted"


def status_hint(state: SecretsState) -> str:
    """Return the tool tip: where secrets are stored, how many there are, and what failed."""
    storage = next(each for each in STORAGE_OPTIONS if each.level is state.level)
    lines = [f"{storage.name}: {count_text(state)}", state.text, state.next_step]
    return "\n".join(line for line in lines if line)


def count_text(state: SecretsState) -> str:
    if state.status is StorageStatus.UNREADABLE and not state.in_memory:
        return "unknown number of secrets"
    if not state.saved and not state.in_memory:
        return "no secrets"
    saved = plural(state.saved, "secret") if state.saved else ""
    in_memory = f"{plural(state.in_memory, 'secret')} in memory" if state.in_memory else ""
    return " and ".join(text for text in (saved, in_memory) if text)


def kind_of(name: str) -> str:
    kind = parts_of(name)[0]
    return _KINDS.get(kind, one_line(kind))


def purpose_of(name: str) -> str:
    """Return what a secret is for: its name without the kind."""
    return one_line(" › ".join(parts_of(name)[1:]))

"""Secrets dialog and status bar: storage, stored secrets, and errors."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import keyring
import pytest
from keyring.errors import KeyringLocked
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QLineEdit

from inspector.config.secrets import keychain as keychains
from inspector.config.secrets.records import SecretsState, StorageKind, StorageStatus, make_name
from inspector.qt.dialogs.secrets import SecretsDialog
from inspector.qt.models.secrets import is_worth_showing, status_hint, status_text, status_tone
from inspector.qt.window.status_bar import SecretsStatus
from tests.helpers.keychains import FailingKeychain, MemoryKeychain, WaitingKeychain
from tests.helpers.secretsstage import CHEAP
from tests.qt.lens_driver import Lens, visible_text

NAME = make_name("header", "My <b>server</b>", "X-Key")
VALUE = "s3cret-value-of-the-marker"
PASSPHRASE = "correct horse battery"


def use(backend: MemoryKeychain, monkeypatch: pytest.MonkeyPatch) -> None:
    """Use it as the system keychain."""
    name = f"{type(backend).__module__}.{type(backend).__qualname__}"
    monkeypatch.setattr(keychains, "ALLOWED", (name,))
    monkeypatch.setattr(keyring.core, "_keyring_backend", backend)


@pytest.fixture(autouse=True)
def cheap_key_derivation(monkeypatch: pytest.MonkeyPatch) -> None:
    """The real cost, 128 MiB per attempt, is used in `test_profile_compatibility.py`."""
    monkeypatch.setattr("inspector.config.secrets.store.KeyDerivationCost", lambda: CHEAP)


@pytest.fixture
def keychain(monkeypatch: pytest.MonkeyPatch) -> MemoryKeychain:
    backend = MemoryKeychain()
    use(backend, monkeypatch)
    return backend


@pytest.fixture
def waiting(monkeypatch: pytest.MonkeyPatch) -> Iterator[WaitingKeychain]:
    backend = WaitingKeychain()
    use(backend, monkeypatch)
    yield backend
    backend.release_bodies.set()


@pytest.fixture
def failing(monkeypatch: pytest.MonkeyPatch) -> FailingKeychain:
    backend = FailingKeychain(KeyringLocked("locked"))
    use(backend, monkeypatch)
    return backend


def put(lens: Lens, name: str = NAME, value: str = VALUE, *, in_memory: bool = False) -> None:
    lens.ask(lambda engine: engine.secrets.put(name, value, in_memory=in_memory))


def get(lens: Lens, name: str = NAME) -> str | None:
    return lens.ask(lambda engine: engine.secrets.get(name))


def state(lens: Lens) -> SecretsState:
    found = lens.app.thread.engine.secrets.state
    assert found is not None
    return found


def open_dialog(lens: Lens) -> SecretsDialog:
    lens.do("app.secrets")
    dialog = lens.dialog(SecretsDialog)
    lens.until(lambda: "keychain" in dialog._busy_text.text())  # it asks by itself
    settle(lens, dialog)
    return dialog


def settle(lens: Lens, dialog: SecretsDialog) -> None:
    """Wait until no request is running and the list is up to date."""
    lens.until(lambda: dialog._running == 0 and dialog._state == lens.app.thread.engine.secrets.state)
    lens.until(lambda: dialog.list.topLevelItemCount() == state(lens).saved + state(lens).in_memory)
    lens.settle()


def status(lens: Lens) -> SecretsStatus | None:
    return lens.window.secrets_status


def choose(dialog: SecretsDialog, level: StorageKind) -> None:
    dialog.storage.buttons[level].click()


def rows(dialog: SecretsDialog) -> list[list[str]]:
    items = [dialog.list.topLevelItem(row) for row in range(dialog.list.topLevelItemCount())]
    return [[item.text(column) for column in range(3)] for item in items if item is not None]


def on_disk(lens: Lens) -> str:
    return "".join(path.read_text(errors="replace") for path in (lens.folder / "secrets").iterdir())


def test_the_list_shows_names_and_never_values(lens: Lens, keychain: MemoryKeychain) -> None:
    put(lens)
    put(lens, "answers/endpoint/7", "other", in_memory=True)
    dialog = open_dialog(lens)
    lens.until(lambda: len(rows(dialog)) == 2)
    assert rows(dialog) == [
        ["Reply rule", "endpoint › 7", "in memory"],
        ["Header", "My <b>server</b> › X-Key", "in the file"],
    ]
    assert VALUE not in visible_text(dialog)
    assert dialog.storage.level is StorageKind.KEYCHAIN
    assert dialog.storage.buttons[StorageKind.KEYCHAIN].hasFocus()
    assert not dialog.storage.apply_action.isEnabled()
    assert str(lens.folder / "secrets") in visible_text(dialog)


def test_empty_store_says_so(lens: Lens, keychain: MemoryKeychain) -> None:
    dialog = open_dialog(lens)
    lens.until(lambda: "No secrets yet" in visible_text(dialog))
    assert not dialog.delete_all_action.isEnabled()
    assert not dialog.delete_action.isEnabled()


def test_selected_secrets_are_deleted(lens: Lens, keychain: MemoryKeychain) -> None:
    put(lens)
    put(lens, "a/b", "other")
    dialog = open_dialog(lens)
    lens.until(lambda: len(rows(dialog)) == 2)
    item = dialog.list.topLevelItem(1)
    assert item is not None
    item.setSelected(True)
    lens.press("Delete", dialog)
    lens.until(lambda: [row[0] for row in rows(dialog)] == ["a"])
    assert get(lens) is None
    assert get(lens, "a/b") == "other"


def test_a_passphrase_is_set_changed_locked_and_unlocked(lens: Lens, keychain: MemoryKeychain) -> None:
    put(lens)
    dialog = open_dialog(lens)
    choose(dialog, StorageKind.PASSPHRASE)
    QTest.keyClicks(dialog.storage.passphrase, PASSPHRASE)
    QTest.keyClicks(dialog.storage.again, "other")
    assert "The passphrases do not match" in visible_text(dialog)
    assert not dialog.storage.apply_action.isEnabled()
    dialog.storage.again.setText(PASSPHRASE)
    lens.press("Apply", dialog)
    lens.until(lambda: state(lens).level is StorageKind.PASSPHRASE)
    settle(lens, dialog)
    assert keychain.entries == {}
    assert dialog.storage.passphrase.text() == ""
    lens.press("Lock", dialog)
    lens.until(lambda: state(lens).status is StorageStatus.LOCKED)
    settle(lens, dialog)
    assert dialog.passphrase.isVisible()
    assert dialog.passphrase.hasFocus()
    assert not dialog.storage.passphrase.isVisible()
    assert dialog.passphrase.echoMode() is QLineEdit.EchoMode.Password
    QTest.keyClicks(dialog.passphrase, "wrong passphrase")
    QTest.keyClick(dialog.passphrase, Qt.Key.Key_Return)
    lens.until(lambda: "Wrong passphrase" in dialog.alert.text("problem"))
    assert dialog.passphrase.text() == ""
    QTest.keyClicks(dialog.passphrase, PASSPHRASE)
    lens.press("Unlock", dialog)
    lens.until(lambda: state(lens).status is StorageStatus.UNLOCKED)
    settle(lens, dialog)
    assert not dialog.passphrase.isVisible()
    assert dialog.alert.text("problem") == ""
    assert get(lens) == VALUE
    assert dialog.isVisible()


def test_too_short_passphrase_is_rejected_with_the_reason(lens: Lens, keychain: MemoryKeychain) -> None:
    dialog = open_dialog(lens)
    choose(dialog, StorageKind.PASSPHRASE)
    for field in (dialog.storage.passphrase, dialog.storage.again):
        QTest.keyClicks(field, "short")
    lens.press("Apply", dialog)
    lens.until(lambda: "too short" in dialog.alert.text("problem"))
    assert state(lens).is_chosen is False


def test_typed_input_survives_added_and_removed_secrets(lens: Lens, keychain: MemoryKeychain) -> None:
    put(lens)
    dialog = open_dialog(lens)
    choose(dialog, StorageKind.PASSPHRASE)
    QTest.keyClicks(dialog.storage.passphrase, PASSPHRASE)
    put(lens, "a/b", "other")
    lens.until(lambda: len(rows(dialog)) == 2)
    assert dialog.storage.level is StorageKind.PASSPHRASE
    assert dialog.storage.passphrase.text() == PASSPHRASE


def test_plain_text_file_needs_a_second_confirmation(lens: Lens, keychain: MemoryKeychain) -> None:
    put(lens)
    dialog = open_dialog(lens)
    choose(dialog, StorageKind.PLAIN)
    assert not dialog.storage.apply_action.isEnabled()
    dialog.storage.unprotected.click()
    lens.press("Apply", dialog)
    lens.until(lambda: state(lens).level is StorageKind.PLAIN)
    settle(lens, dialog)
    assert VALUE in on_disk(lens)
    choose(dialog, StorageKind.KEYCHAIN)
    lens.press("Apply", dialog)
    lens.until(lambda: state(lens).level is StorageKind.KEYCHAIN)
    settle(lens, dialog)
    assert VALUE not in on_disk(lens)
    assert get(lens) == VALUE


def test_moving_stored_secrets_into_memory_needs_confirmation(lens: Lens, keychain: MemoryKeychain) -> None:
    put(lens)
    dialog = open_dialog(lens)
    choose(dialog, StorageKind.MEMORY)
    lens.press("Apply", dialog)
    assert "1 secret would be lost" in dialog.alert.text("ask")
    assert state(lens).level is StorageKind.KEYCHAIN
    lens.press("Store in memory only", dialog)
    lens.until(lambda: state(lens).level is StorageKind.MEMORY)
    settle(lens, dialog)
    assert get(lens) == VALUE
    assert rows(dialog)[0][2] == "in memory"


def test_deleting_everything_needs_confirmation_and_removes_the_key(
    lens: Lens, keychain: MemoryKeychain
) -> None:
    put(lens)
    dialog = open_dialog(lens)
    lens.until(lambda: rows(dialog))
    lens.press("Delete all…", dialog)
    lens.press("Cancel", dialog)
    assert dialog.alert.text("ask") == ""
    assert rows(dialog)
    lens.press("Delete all…", dialog)
    lens.press("Delete all secrets", dialog)
    lens.until(lambda: not rows(dialog) and "No secrets yet" in visible_text(dialog))
    assert keychain.entries == {}
    assert get(lens) is None


def test_locked_keychain_is_reported_and_can_be_retried(lens: Lens, failing: FailingKeychain) -> None:
    dialog = open_dialog(lens)
    assert "The keychain is locked." in dialog.alert.text("state")
    failing.error = None
    lens.press("Retry", dialog)
    lens.until(lambda: state(lens).status is StorageStatus.UNLOCKED)
    settle(lens, dialog)
    assert dialog.alert.text("state") == ""


def test_window_stays_responsive_while_the_keychain_blocks_and_can_be_closed(
    lens: Lens, waiting: WaitingKeychain
) -> None:
    lens.do("app.secrets")
    dialog = lens.dialog(SecretsDialog)
    lens.until(waiting.is_requested.is_set)
    lens.until(lambda: "Waiting for the keychain…" in visible_text(dialog))
    assert not dialog.storage.apply_action.isEnabled()
    dialog.close()
    lens.settle()  # the window and the engine go on
    # Closing the window is the end of the test: it would wait 30 s if it waited for the keychain.


def test_without_a_keychain_memory_is_used_and_the_reason_shown(lens: Lens) -> None:
    put(lens)
    dialog = open_dialog(lens)
    assert "keyring is configured to use keyring.backends.null.Keyring" in dialog.alert.text("state")
    assert dialog.storage.level is StorageKind.MEMORY
    assert dialog.storage.buttons[StorageKind.MEMORY].hasFocus()
    choose(dialog, StorageKind.PASSPHRASE)
    for field in (dialog.storage.passphrase, dialog.storage.again):
        QTest.keyClicks(field, PASSPHRASE)
    QTest.keyClick(dialog.storage.again, Qt.Key.Key_Return)
    lens.until(lambda: state(lens).level is StorageKind.PASSPHRASE)
    settle(lens, dialog)
    assert dialog.alert.text("state") == ""
    assert (state(lens).saved, state(lens).in_memory) == (1, 0)
    assert VALUE not in on_disk(lens)


def test_unusable_secrets_file_can_be_deleted_from_here(lens: Lens, keychain: MemoryKeychain) -> None:
    put(lens)
    (lens.folder / "secrets" / "vault.json").write_text("{")
    dialog = open_dialog(lens)
    lens.until(lambda: "is damaged" in dialog.alert.text("state"))
    lens.until(lambda: "The secrets file can't be used" in visible_text(dialog))
    assert not dialog.storage.isEnabled()
    assert "no secrets" not in visible_text(dialog)
    lens.press("Delete all…", dialog)
    lens.until(lambda: "Delete all secrets" in visible_text(dialog))
    lens.press("Delete all secrets", dialog)
    lens.until(lambda: state(lens).status is not StorageStatus.UNREADABLE)
    put(lens, value="new")
    assert get(lens) == "new"


def test_status_bar_shows_where_secrets_are_stored_once_there_are_any(
    lens: Lens, keychain: MemoryKeychain
) -> None:
    lens.settle()
    assert status(lens) is None
    put(lens)
    lens.until(lambda: status(lens) is not None)
    shown = status(lens)
    assert shown is not None
    assert shown.isVisible()
    assert shown.text() == "Secrets: keychain"
    assert "1 secret" in shown.toolTip()
    shown.click()
    dialog = lens.dialog(SecretsDialog)
    settle(lens, dialog)
    lens.ask(lambda engine: engine.secrets.reset())
    lens.until(lambda: not shown.isVisible())
    assert not lens.window.statusBar().isVisible()


def test_empty_secret_store_adds_nothing_to_the_status_bar(lens: Lens) -> None:
    dialog = open_dialog(lens)
    assert state(lens).status is StorageStatus.ABSENT
    dialog.close()
    lens.settle()
    assert status(lens) is None


@pytest.mark.parametrize("level", list(StorageKind))
@pytest.mark.parametrize("status", list(StorageStatus))
def test_every_store_state_has_a_description(level: StorageKind, status: StorageStatus) -> None:
    found = SecretsState(level, status, "It is so.", "Do that.", 2, 1, Path("x"), True)
    assert is_worth_showing(found)
    assert status_text(found).startswith("Secrets: ")
    assert "2 secrets and 1 secret in memory" in status_hint(found)
    assert status_tone(found) in ("muted", "warn")

"""Absent, locked, slow and broken keychains: each is reported in the state, and nothing blocks."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import keyring
import pytest
from keyring.backends import fail, null
from keyring.errors import InitError, KeyringLocked, NoKeyringError

from inspector.config.secrets import keychain as keychains
from inspector.config.secrets.keychain import SERVICE, Keychain, find_backend
from inspector.config.secrets.records import SecretsUnavailable, StorageKind, StorageStatus
from inspector.config.secrets.vault_file import new_key, to_text
from tests.helpers.keychains import FailingKeychain, ForgetfulKeychain, MemoryKeychain, WaitingKeychain
from tests.helpers.secretsstage import NAME, VALUE, Machine, status


@pytest.fixture
def waiting() -> Iterator[WaitingKeychain]:
    backend = WaitingKeychain()
    yield backend
    backend.release_bodies.set()


@pytest.fixture
def restored_backend() -> Iterator[None]:
    """Restore the backend of keyring after the test."""
    before = keyring.get_keyring()
    yield
    keyring.set_keyring(before)


@pytest.mark.parametrize(
    ("error", "expected", "text"),
    [
        (KeyringLocked("Failed to unlock the collection!"), StorageStatus.LOCKED, "keychain is locked"),
        (
            InitError("Failed to create the collection: Prompt dismissed.."),
            StorageStatus.FAILED,
            "Prompt dismissed",
        ),
        (OSError(1783, "CredWrite", "The stub received bad data"), StorageStatus.FAILED, "bad data"),
        (RuntimeError(""), StorageStatus.FAILED, "RuntimeError"),
        (RuntimeError("\x1b[31m" + "x" * 9000), StorageStatus.FAILED, "␛"),
    ],
)
def test_failing_keychain_makes_writes_fail_and_reads_return_nothing(
    tmp_path: Path, error: Exception, expected: StorageStatus, text: str
) -> None:
    machine = Machine(tmp_path)
    machine.store.put(NAME, VALUE)
    machine.backend = FailingKeychain(error)
    store = machine.store
    assert store.get(NAME) is None
    assert store.state.status is expected
    assert text in store.state.text
    assert len(store.state.text) < 300
    assert store.state.next_step
    with pytest.raises(SecretsUnavailable, match="keychain"):
        store.put(NAME, "x")
    fresh = Machine(tmp_path / "fresh", machine.backend)
    with pytest.raises(SecretsUnavailable, match="keychain"):
        fresh.store.put(NAME, "x")  # failing is not "none": it must not end up in memory unnoticed
    assert fresh.store.get(NAME) is None


def test_keychain_unlocked_meanwhile_is_used(tmp_path: Path) -> None:
    backend = FailingKeychain()
    backend.error = None
    machine = Machine(tmp_path, backend)
    machine.store.put(NAME, VALUE)
    backend.error = KeyringLocked("locked")
    run = machine.run()
    assert run.store.open().status is StorageStatus.LOCKED
    assert run.store.read_state().status is StorageStatus.LOCKED
    backend.error = None
    assert run.store.open().status is StorageStatus.UNLOCKED
    assert run.store.get(NAME) == VALUE


def test_keychain_that_stores_nothing_is_detected_immediately(tmp_path: Path) -> None:
    machine = Machine(tmp_path, ForgetfulKeychain())
    with pytest.raises(SecretsUnavailable, match="did not store"):
        machine.store.put(NAME, VALUE)
    assert not machine.path.exists()


def test_keychain_error_does_not_reveal_the_key() -> None:
    class Talkative(MemoryKeychain):
        def set_password(self, service: str, username: str, password: str) -> None:
            raise OSError(f"cannot store {password} for {username}")

    key = new_key()
    with pytest.raises(SecretsUnavailable) as caught:
        Keychain(Talkative).write("vault-1", key)
    assert "cannot store" in str(caught.value)
    assert to_text(key) not in str(caught.value)
    assert to_text(key) not in repr(caught.value.__cause__)


def test_unresponsive_keychain_is_reported_and_its_late_response_is_used(
    tmp_path: Path, waiting: WaitingKeychain
) -> None:
    machine = Machine(tmp_path, MemoryKeychain())
    machine.store.put(NAME, VALUE)
    assert isinstance(machine.backend, MemoryKeychain)
    waiting.entries = machine.backend.entries
    machine.backend = waiting
    store = machine.run(timeout=0.05).store
    assert store.get(NAME) is None
    assert status(store) is StorageStatus.UNRESPONSIVE
    assert "unlock" in store.state.next_step
    thread = next(each for each in threading.enumerate() if each.name == "keychain")
    waiting.is_requested.clear()
    assert store.open().status is StorageStatus.UNRESPONSIVE
    assert not waiting.is_requested.is_set()  # the user is not prompted twice
    waiting.release_bodies.set()
    thread.join()
    assert store.get(NAME) == VALUE
    assert status(store) is StorageStatus.UNLOCKED


def test_closing_ends_the_wait_for_a_keychain(tmp_path: Path, waiting: WaitingKeychain) -> None:
    run = Machine(tmp_path, waiting).run(timeout=600)
    failed = threading.Event()

    def put() -> None:
        with pytest.raises(SecretsUnavailable):
            run.store.put(NAME, VALUE)
        failed.set()

    thread = threading.Thread(target=put)
    thread.start()
    assert waiting.is_requested.wait(10)
    run.store.close()
    thread.join()
    assert failed.is_set()
    with pytest.raises(SecretsUnavailable):
        run.store.put(NAME, VALUE)


def test_system_keychain_is_used(restored_backend: None, monkeypatch: pytest.MonkeyPatch) -> None:
    backend = MemoryKeychain()
    monkeypatch.setattr(keychains, "ALLOWED", ("tests.helpers.keychains.MemoryKeychain",))
    keyring.set_keyring(backend)
    assert find_backend() is backend
    key = new_key()
    Keychain().write("vault-1", key)
    assert backend.entries == {(SERVICE, "vault-1"): to_text(key)}
    assert Keychain().read("vault-1") == key


@pytest.mark.parametrize("backend", [MemoryKeychain, null.Keyring, fail.Keyring])
def test_other_keyring_backends_are_not_accepted(
    restored_backend: None, monkeypatch: pytest.MonkeyPatch, backend: type[keyring.backend.KeyringBackend]
) -> None:
    monkeypatch.setattr(keychains, "ALLOWED", ("nowhere.at.All", "keyring.backends.fail.Nothing"))
    keyring.set_keyring(backend())
    with pytest.raises(SecretsUnavailable) as caught:
        find_backend()
    assert caught.value.status is StorageStatus.ABSENT
    assert ("fail" not in backend.__module__) == (backend.__module__ in str(caught.value))


def test_keychain_started_later_is_found(restored_backend: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keychains, "ALLOWED", ("nowhere.at.All", "tests.helpers.keychains.MemoryKeychain"))
    keyring.set_keyring(fail.Keyring())  # type: ignore[no-untyped-call]
    assert isinstance(find_backend(), MemoryKeychain)


def test_missing_keychain_is_absent(tmp_path: Path) -> None:
    store = Machine(tmp_path, FailingKeychain(NoKeyringError("none"))).store
    assert store.open().status is StorageStatus.ABSENT
    assert store.state.level is StorageKind.MEMORY

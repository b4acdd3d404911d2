"""The secret store at every storage level: keychain, passphrase, memory, plain file."""

from __future__ import annotations

import base64
import json
import os
from pathlib import Path
from urllib.parse import quote

import pytest
from keyring.errors import NoKeyringError

from inspector.base.errors import ConfigError
from inspector.config.secrets.records import (
    SecretsState,
    SecretsUnavailable,
    StorageKind,
    StorageStatus,
    make_name,
    parts_of,
)
from inspector.config.secrets.store import MAX_VALUE_LENGTH, SecretStore
from tests.helpers.keychains import FailingKeychain, MemoryKeychain
from tests.helpers.secretsstage import NAME, PASSPHRASE, VALUE, Machine, status


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


@pytest.fixture
def bare(tmp_path: Path) -> Machine:
    """A machine without a keychain."""
    return Machine(tmp_path, FailingKeychain(NoKeyringError("No recommended backend was available.")))


def entries(machine: Machine) -> int:
    assert isinstance(machine.backend, MemoryKeychain)
    return len(machine.backend.entries)


def test_secret_is_available_in_the_next_run(machine: Machine) -> None:
    machine.store.put(NAME, VALUE)
    assert machine.store.get(NAME) == VALUE


@pytest.mark.parametrize("value", ["x", "\x00\n\t ü 😀", "x" * MAX_VALUE_LENGTH])
def test_any_text_round_trips(machine: Machine, value: str) -> None:
    machine.store.put(NAME, value)
    assert machine.store.get(NAME) == value


def test_token_too_long_for_the_keychain_is_stored(machine: Machine) -> None:
    token = "t" * 4096
    machine.store.put("oauth/issuer/token", token)
    assert machine.store.get("oauth/issuer/token") == token


def test_the_keychain_has_one_entry_however_many_secrets_there_are(machine: Machine) -> None:
    for number in range(20):
        machine.store.put(f"header/server/{number}", VALUE)
    assert entries(machine) == 1


@pytest.mark.parametrize("level", [StorageKind.KEYCHAIN, StorageKind.PASSPHRASE, StorageKind.MEMORY])
def test_nothing_on_disk_contains_the_secret_in_any_encoding(machine: Machine, level: StorageKind) -> None:
    """T37: stored tokens are read from the disk."""
    store = machine.store
    store.put(NAME, VALUE)
    store.move_to(level, PASSPHRASE)
    store.put("header/other/name", VALUE + VALUE)
    written = b"".join(path.read_bytes() for path in machine.folder.rglob("*") if path.is_file())
    assert written
    for spelling in (VALUE, quote(VALUE, safe=""), PASSPHRASE, VALUE.encode().hex()):
        assert spelling.encode() not in written
    for shift in range(3):  # base64 of a text depends on where it begins
        inside = base64.b64encode(b"x" * shift + VALUE.encode())[4:-4]
        assert inside not in written


def test_repr_does_not_reveal_a_secret(machine: Machine) -> None:
    store = machine.store
    store.put(NAME, VALUE)
    store.move_to(StorageKind.PLAIN, unprotected=True)
    vault = store._read()
    assert VALUE not in repr((store, store.state, store.stored(), vault))


def test_unknown_name_returns_nothing_without_accessing_the_keychain(tmp_path: Path) -> None:
    backend = FailingKeychain()
    assert Machine(tmp_path, backend).store.get("header/unknown/x") is None
    backend.error = None
    machine = Machine(tmp_path, backend)
    machine.store.put(NAME, VALUE)
    backend.error = RuntimeError("asked")
    run = machine.run()
    assert run.store.get("header/unknown/x") is None
    assert run.store.read_state().status is StorageStatus.UNTRIED


def test_deleting_needs_no_key(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    machine.store.put(NAME, VALUE)
    machine.backend = FailingKeychain()
    store = machine.store
    assert store.delete(NAME) is True
    assert store.delete(NAME) is False
    assert store.stored() == ()


def test_deleting_a_server_deletes_its_secrets_and_no_others(machine: Machine) -> None:
    store = machine.store
    names = [make_name("header", "a", "k"), make_name("header", "a", "l"), make_name("header", "ab", "k")]
    for name in names:
        store.put(name, VALUE)
    store.put(make_name("header", "a", "m"), VALUE, in_memory=True)
    assert store.delete_below(make_name("header", "a")) == 3
    assert [secret.name for secret in store.stored()] == [names[2]]


def test_the_list_has_names_and_times_but_needs_no_key(machine: Machine) -> None:
    machine.store.put(NAME, VALUE)
    machine.backend = FailingKeychain()
    store = machine.store
    store.put("a/b", "only now", in_memory=True)
    first, second = store.stored()
    assert (first.name, first.is_saved) == ("a/b", False)
    assert (second.name, second.is_saved) == (NAME, True)
    assert second.changed_at > 1_700_000_000


@pytest.mark.parametrize("name", ["", "/", "a//b", "a/", "/a", "a\nb", "a\u202eb", "x" * 2001])
def test_name_that_cannot_be_displayed_or_split_is_rejected(machine: Machine, name: str) -> None:
    with pytest.raises(ConfigError, match="is not a valid secret name"):
        machine.store.put(name, VALUE)
    assert not machine.path.exists()


@pytest.mark.parametrize("value", ["", "x" * (MAX_VALUE_LENGTH + 1), "\ud800"])
def test_unstorable_value_is_rejected(machine: Machine, value: str) -> None:
    with pytest.raises(ConfigError):
        machine.store.put(NAME, value)
    assert not machine.path.exists()


def test_name_parts_may_contain_any_text() -> None:
    parts = ("header", "https://issuer/a b", "ü/%2F\n", "\u202e")
    name = make_name(*parts)
    assert name.isprintable()
    assert parts_of(name) == parts
    assert make_name("a", "\ud800").isascii()


def test_keychain_is_not_accessed_before_anything_is_stored(tmp_path: Path) -> None:
    store = Machine(tmp_path, FailingKeychain(RuntimeError("asked"))).store
    assert store.read_state() == store.state
    assert (store.state.level, store.state.status) == (StorageKind.KEYCHAIN, StorageStatus.UNTRIED)
    assert store.state.is_chosen is False


def test_without_a_keychain_secrets_are_in_memory_and_the_state_says_why(bare: Machine) -> None:
    store = bare.store
    store.put(NAME, VALUE)
    assert store.get(NAME) == VALUE
    assert (store.state.level, store.state.status) == (StorageKind.MEMORY, StorageStatus.ABSENT)
    assert store.state.text
    assert store.state.in_memory == 1
    assert not bare.path.exists()
    assert bare.store.get(NAME) is None


def test_a_store_without_a_folder_is_in_memory() -> None:
    store = SecretStore()
    store.put(NAME, VALUE)
    assert store.get(NAME) == VALUE
    assert (store.state.level, store.state.status) == (StorageKind.MEMORY, StorageStatus.UNLOCKED)
    assert store.delete(NAME) is True
    with pytest.raises(ConfigError, match="memory only"):
        store.move_to(StorageKind.PASSPHRASE, PASSPHRASE)


def test_passphrase_unlocks_the_secrets_once_per_run(bare: Machine) -> None:
    first = bare.store
    first.put(NAME, VALUE)
    first.move_to(StorageKind.PASSPHRASE, PASSPHRASE)
    assert first.get(NAME) == VALUE  # what was in memory is moved
    assert first.state.in_memory == 0
    run = bare.run()
    assert run.store.read_state().status is StorageStatus.LOCKED
    assert run.store.get(NAME) is None
    with pytest.raises(SecretsUnavailable, match="locked"):
        run.store.put("a/b", "x")
    with pytest.raises(ConfigError, match="Wrong passphrase"):
        run.store.unlock("wrong horse battery")
    run.store.unlock(PASSPHRASE)
    assert status(run.store) is StorageStatus.UNLOCKED
    assert run.store.get(NAME) == VALUE
    run.store.lock()
    assert status(run.store) is StorageStatus.LOCKED
    assert run.store.get(NAME) is None


def test_passphrase_is_unicode_normalized(bare: Machine) -> None:
    bare.store.move_to(StorageKind.PASSPHRASE, "caf\u00e9 caf\u00e9")
    bare.store.unlock("cafe\u0301 cafe\u0301")


def test_short_passphrase_is_rejected(machine: Machine) -> None:
    with pytest.raises(ConfigError, match="too short"):
        machine.store.move_to(StorageKind.PASSPHRASE, "seven77")


def test_plain_text_file_is_used_only_on_request(bare: Machine) -> None:
    store = bare.store
    store.put(NAME, VALUE)
    with pytest.raises(ConfigError, match="gives no protection"):
        store.move_to(StorageKind.PLAIN)
    assert not bare.path.exists()
    store.move_to(StorageKind.PLAIN, unprotected=True)
    assert bare.document()["records"][NAME]["plain"] == VALUE
    assert bare.store.get(NAME) == VALUE


_ALL = [StorageKind.KEYCHAIN, StorageKind.PASSPHRASE, StorageKind.MEMORY, StorageKind.PLAIN]


@pytest.mark.parametrize("before", _ALL)
@pytest.mark.parametrize("after", _ALL)
def test_every_change_of_location_moves_all_secrets(
    machine: Machine, before: StorageKind, after: StorageKind
) -> None:
    store = machine.store
    store.move_to(before, PASSPHRASE, unprotected=True)
    store.put(NAME, VALUE)
    store.put("a/b", "other")
    old = machine.path.read_text()
    store.move_to(after, "another passphrase", unprotected=True)
    assert (store.get(NAME), store.get("a/b")) == (VALUE, "other")
    assert store.state.level is after
    assert entries(machine) == (1 if after is StorageKind.KEYCHAIN else 0)
    for record in json.loads(old)["records"].values():
        assert "sealed" not in record or record["sealed"] not in machine.path.read_text()
    later = machine.store
    if after is StorageKind.PASSPHRASE:
        later.unlock("another passphrase")
    assert later.get(NAME) == (None if after is StorageKind.MEMORY else VALUE)
    assert later.read_state().level is after  # the choice is saved, also for memory


def test_undecryptable_secrets_are_not_moved_and_nothing_changes(machine: Machine) -> None:
    machine.store.move_to(StorageKind.PASSPHRASE, PASSPHRASE)
    writer = machine.store
    writer.unlock(PASSPHRASE)
    writer.put(NAME, VALUE)
    before = machine.path.read_bytes()
    with pytest.raises(SecretsUnavailable, match="locked"):
        machine.store.move_to(StorageKind.PLAIN, unprotected=True)
    assert machine.path.read_bytes() == before


def test_move_to_a_failing_keychain_changes_nothing(machine: Machine) -> None:
    store = machine.store
    store.move_to(StorageKind.PASSPHRASE, PASSPHRASE)
    store.put(NAME, VALUE)
    before = machine.path.read_bytes()
    machine.backend = FailingKeychain()
    other = machine.store
    other.unlock(PASSPHRASE)
    with pytest.raises(SecretsUnavailable, match="keychain is locked"):
        other.move_to(StorageKind.KEYCHAIN)
    assert machine.path.read_bytes() == before
    assert other.get(NAME) == VALUE


def test_move_with_a_failed_write_changes_nothing(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    store = machine.store
    store.move_to(StorageKind.PASSPHRASE, PASSPHRASE)
    store.put(NAME, VALUE)
    before = machine.path.read_bytes()
    _fill_disk(monkeypatch)
    with pytest.raises(ConfigError, match="No space left"):
        store.move_to(StorageKind.KEYCHAIN)
    assert machine.path.read_bytes() == before
    assert entries(machine) == 0  # the new key was discarded
    assert store.get(NAME) == VALUE  # and the old one still works


def test_deleting_everything_deletes_the_key_too(machine: Machine) -> None:
    store = machine.store
    store.put(NAME, VALUE)
    store.put("a/b", "now", in_memory=True)
    store.reset()
    assert not machine.path.exists()
    assert entries(machine) == 0
    assert store.stored() == ()
    store.put(NAME, "new")
    assert machine.store.get(NAME) == "new"


def test_state_is_signaled_only_when_it_changes(bare: Machine) -> None:
    store = bare.store
    reported: list[SecretsState] = []
    store.changed.connect(reported.append)
    store.read_state()
    assert reported == []
    store.put(NAME, VALUE)
    assert (reported[-1].status, reported[-1].in_memory) == (StorageStatus.ABSENT, 1)
    count = len(reported)
    store.put(NAME, "other")
    assert len(reported) == count


def _fill_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(handle: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)


def test_full_disk_leaves_the_old_file_and_no_other(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine.store.put(NAME, VALUE)
    before = machine.path.read_bytes()
    _fill_disk(monkeypatch)
    with pytest.raises(ConfigError, match="No space left"):
        machine.store.put(NAME, "other")
    assert machine.path.read_bytes() == before
    assert sorted(path.name for path in machine.folder.iterdir()) == ["vault.json", "vault.lock"]


def test_failed_write_of_the_first_secret_leaves_no_key_behind(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    _fill_disk(monkeypatch)
    with pytest.raises(ConfigError):
        machine.store.put(NAME, VALUE)
    assert entries(machine) == 0


@pytest.mark.skipif(os.name != "posix", reason="rights of files are another thing on Windows")
def test_folder_and_files_are_owner_only(machine: Machine) -> None:
    old = os.umask(0)
    try:
        machine.store.put(NAME, VALUE)
    finally:
        os.umask(old)
    assert machine.folder.stat().st_mode & 0o777 == 0o700
    for path in machine.folder.iterdir():
        assert path.stat().st_mode & 0o777 == 0o600


@pytest.mark.skipif(os.name != "posix", reason="rights of files are another thing on Windows")
def test_widened_permissions_are_restricted_again(machine: Machine) -> None:
    machine.store.put(NAME, VALUE)
    machine.path.chmod(0o644)
    machine.folder.chmod(0o755)
    store = machine.store
    assert store.get(NAME) == VALUE
    assert machine.path.stat().st_mode & 0o777 == 0o600
    store.put("a/b", "x")
    assert machine.folder.stat().st_mode & 0o777 == 0o700

"""Secrets files that were written or changed outside MCP Lens."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from inspector.base.errors import ConfigError
from inspector.config.secrets.records import SecretsUnavailable, StorageKind, StorageStatus
from tests.helpers.keychains import MemoryKeychain
from tests.helpers.secretsstage import NAME, PASSPHRASE, VALUE, Machine


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    """A machine with two stored secrets."""
    machine = Machine(tmp_path)
    machine.store.put(NAME, VALUE)
    machine.store.put("a/b", "other")
    return machine


def test_tampered_secret_is_not_used_and_reported_once(machine: Machine) -> None:
    document = machine.document()
    encrypted = document["records"][NAME]["sealed"]
    document["records"][NAME]["sealed"] = ("B" if encrypted[30] != "B" else "C").join(
        (encrypted[:30], encrypted[31:])
    )
    machine.rewrite(document)
    run = machine.run()
    assert run.store.get(NAME) is None
    assert run.store.get(NAME) is None
    assert len(run.problems) == 1
    assert "header › My server › X-Key" in run.problems[0]
    assert VALUE not in run.problems[0]
    assert run.store.get("a/b") == "other"


def test_secrets_with_swapped_names_do_not_decrypt(machine: Machine) -> None:
    document = machine.document()
    records = document["records"]
    records[NAME], records["a/b"] = records["a/b"], records[NAME]
    machine.rewrite(document)
    run = machine.run()
    assert (run.store.get(NAME), run.store.get("a/b")) == (None, None)
    assert len(run.problems) == 2


@pytest.mark.parametrize(
    "record",
    [
        None,
        7,
        "x",
        [],
        {},
        {"sealed": ""},
        {"sealed": "AAAA"},
        {"sealed": "!"},
        {"sealed": 3},
        {"plain": "mine"},
    ],
)
def test_invalid_ciphertext_is_not_used(machine: Machine, record: Any) -> None:
    document = machine.document()
    document["records"][NAME] = record
    machine.rewrite(document)
    run = machine.run()
    assert run.store.get(NAME) is None
    assert len(run.problems) == 1
    assert run.store.get("a/b") == "other"
    run.store.put(NAME, "again")
    assert machine.store.get(NAME) == "again"


def test_damaged_secret_blocks_a_move_until_it_is_deleted(machine: Machine) -> None:
    document = machine.document()
    document["records"][NAME]["sealed"] = "AAAA"
    machine.rewrite(document)
    store = machine.store
    with pytest.raises(ConfigError, match="would be lost"):
        store.move_to(StorageKind.PASSPHRASE, PASSPHRASE)
    store.delete(NAME)
    store.move_to(StorageKind.PASSPHRASE, PASSPHRASE)
    assert store.get("a/b") == "other"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        "null",
        '{"version": "1"}',
        '{"version": 1}',
        '{"version": 1, "kept": "nowhere", "id": "a"}',
        '{"version": 1, "kept": ["keychain"], "id": "a"}',
        '{"version": 1, "kept": "keychain"}',
        '{"version": 1, "kept": "keychain", "id": "../../x"}',
        '{"version": 1, "kept": "keychain", "id": "a", "records": []}',
        '{"version": 1, "kept": "passphrase", "id": "a"}',
        '{"version": 1, "kept": "passphrase", "id": "a", "scrypt": {"salt": 1, "n": 1, "r": 8, "p": 1}}',
        '{"version": 1, "kept": "passphrase", "id": "a", "scrypt": {"salt": "!", "n":65536, "r":8, "p":1}}',
        "[" * 200_000,
    ],
)
def test_foreign_file_is_left_alone_and_reported(machine: Machine, text: str) -> None:
    machine.path.write_text(text)
    store = machine.store
    assert store.get(NAME) is None
    assert store.state.status is StorageStatus.UNREADABLE
    assert "damaged" in store.state.text
    assert str(machine.path) in store.state.text
    with pytest.raises(SecretsUnavailable, match="damaged"):
        store.put(NAME, "x")
    with pytest.raises(SecretsUnavailable, match="damaged"):
        store.move_to(StorageKind.PLAIN, unprotected=True)
    assert machine.path.read_text() == text
    store.put(NAME, "for now", in_memory=True)
    assert store.get(NAME) == "for now"
    assert store.state.status is StorageStatus.UNREADABLE
    store.reset()
    store.put(NAME, "new")
    assert machine.store.get(NAME) == "new"


_MADE_UP = [
    (2**40, 8, 1),
    (2**13, 8, 1),
    (2**17 + 1, 8, 1),
    (2**17, 10**9, 1),
    (2**17, 8, 10**9),
    (0, 8, 1),
    (-(2**17), 8, 1),
    (True, 8, 1),
]


@pytest.mark.parametrize(("n", "r", "p"), _MADE_UP)
def test_passphrase_is_not_tried_with_tampered_kdf_parameters(
    machine: Machine, n: int, r: int, p: int
) -> None:
    machine.store.move_to(StorageKind.PASSPHRASE, PASSPHRASE)
    document = machine.document()
    document["scrypt"] |= {"n": n, "r": r, "p": p}
    machine.rewrite(document)
    with pytest.raises(SecretsUnavailable, match="damaged"):
        machine.store.unlock(PASSPHRASE)


def test_a_file_of_a_newer_version_is_left_alone(machine: Machine) -> None:
    document = machine.document() | {"version": 2}
    machine.rewrite(document)
    store = machine.store
    with pytest.raises(SecretsUnavailable, match="newer version of MCP Lens"):
        store.put(NAME, "x")
    assert machine.document() == document


def test_unknown_members_are_preserved(machine: Machine) -> None:
    machine.rewrite(machine.document() | {"note": {"by": "hand"}})
    machine.store.put(NAME, "other")
    assert machine.document()["note"] == {"by": "hand"}


def test_tampered_plain_header_does_not_expose_encrypted_secrets(machine: Machine) -> None:
    machine.rewrite(machine.document() | {"kept": "plain"})
    run = machine.run()
    assert run.store.get(NAME) is None
    assert len(run.problems) == 1


@pytest.mark.skipif(not hasattr(os, "O_NOFOLLOW"), reason="needs symbolic links")
def test_symlink_to_another_file_is_rejected_and_its_target_left_alone(
    machine: Machine, tmp_path: Path
) -> None:
    alternative = tmp_path / "elsewhere.json"
    machine.path.rename(alternative)
    before = alternative.read_bytes()
    machine.path.symlink_to(alternative)
    store = machine.store
    assert store.get(NAME) is None
    assert "symbolic link" in store.state.text
    with pytest.raises(SecretsUnavailable, match="symbolic link"):
        store.put(NAME, "x")
    assert alternative.read_bytes() == before


@pytest.mark.skipif(os.name != "posix", reason="needs named pipes")
def test_named_pipe_is_rejected_without_blocking(machine: Machine) -> None:
    machine.path.unlink()
    os.mkfifo(machine.path)
    assert machine.store.read_state().status is StorageStatus.UNREADABLE


@pytest.mark.skipif(os.name != "posix", reason="owners of files are another thing on Windows")
def test_file_owned_by_another_user_is_rejected(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    machine.run()
    mine = os.geteuid()
    monkeypatch.setattr(os, "geteuid", lambda: mine + 1)
    assert "belongs to another user" in machine.store.read_state().text
    with pytest.raises(ConfigError, match="belongs to another user"):
        machine.store.put(NAME, "x")


def test_a_file_that_is_too_big_is_not_read(machine: Machine) -> None:
    with machine.path.open("r+b") as file:
        file.truncate(17 * 1024 * 1024)
    assert "larger than" in machine.store.read_state().text


def test_file_without_its_key_is_reported_and_not_overwritten(machine: Machine) -> None:
    before = machine.path.read_bytes()
    machine.backend = MemoryKeychain()
    store = machine.store
    assert store.get(NAME) is None
    assert store.state.status is StorageStatus.KEY_LOST
    with pytest.raises(SecretsUnavailable, match="no key"):
        store.put(NAME, "x")
    assert machine.path.read_bytes() == before


def test_key_planted_in_the_keychain_is_not_used(machine: Machine) -> None:
    assert isinstance(machine.backend, MemoryKeychain)
    for account in machine.backend.entries:
        machine.backend.entries[account] = json.dumps("A" * 42)
    assert machine.store.open().status is StorageStatus.KEY_LOST
    for account in machine.backend.entries:
        machine.backend.entries[account] = "A" * 43 + "="
    assert machine.store.open().status is StorageStatus.KEY_LOST

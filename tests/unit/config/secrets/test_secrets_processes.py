"""Secrets shared by several processes: nothing is lost, and one process at a time refreshes a secret."""

from __future__ import annotations

import subprocess
import sys
import threading
from pathlib import Path

import pytest

from inspector.config.json_file import FileLock
from inspector.config.secrets.records import StorageKind
from inspector.config.secrets.store import SecretStore
from tests.helpers.secretsstage import NAME, PASSPHRASE, VALUE, Machine

_WRITER = """
import sys
from pathlib import Path
from inspector.config.secrets.store import SecretStore

store = SecretStore(Path(sys.argv[1]))
for number in range(25):
    store.put(f"from/{sys.argv[2]}/{number}", sys.argv[2])
"""

_REFRESHER = """
import sys, time
from pathlib import Path
from inspector.config.secrets.store import SecretStore

store = SecretStore(Path(sys.argv[1]))
while (lock := store.try_lock("oauth/token")) is None:
    time.sleep(0.01)
try:
    if store.get("oauth/token") == "old":  # else the other process has refreshed it
        print("granted")
        store.put("oauth/token", "new")
finally:
    lock.release()
print(store.get("oauth/token"))
"""


def _start(program: str, *arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen([sys.executable, "-c", program, *arguments], stdout=subprocess.PIPE, text=True)


def test_two_processes_writing_concurrently_lose_nothing(tmp_path: Path) -> None:
    store = SecretStore(tmp_path / "secrets")
    store.move_to(StorageKind.PLAIN, unprotected=True)
    writers = [_start(_WRITER, str(tmp_path / "secrets"), name) for name in ("a", "b")]
    for number in range(25):
        store.put(f"from/c/{number}", "c")
    for writer in writers:
        writer.communicate(timeout=60)
        assert writer.returncode == 0
    assert len(store.stored()) == 75


def test_two_processes_refresh_a_secret_once(tmp_path: Path) -> None:
    store = SecretStore(tmp_path / "secrets")
    store.move_to(StorageKind.PLAIN, unprotected=True)
    store.put("oauth/token", "old")
    lock = store.try_lock("oauth/token")
    assert lock is not None
    renewers = [_start(_REFRESHER, str(tmp_path / "secrets")) for _ in range(2)]
    lock.release()
    reported = [renewer.communicate(timeout=60)[0].split() for renewer in renewers]
    assert sorted(reported) == [["granted", "new"], ["new"]]


def test_refresh_lock_is_exclusive_per_name(tmp_path: Path) -> None:
    for store in (SecretStore(tmp_path / "secrets"), SecretStore()):
        first = store.try_lock("a")
        assert first is not None
        assert store.try_lock("a") is None
        other = store.try_lock("b")
        assert other is not None
        first.release()
        again = store.try_lock("a")
        assert again is not None
        again.release()
        other.release()


def test_two_stores_in_one_process_exclude_each_other(tmp_path: Path) -> None:
    lock = SecretStore(tmp_path / "s").try_lock("a")
    assert lock is not None
    assert SecretStore(tmp_path / "s").try_lock("a") is None
    lock.release()


def test_process_sees_the_changes_of_another_including_the_storage_location(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    one, other = machine.store, machine.store
    one.put(NAME, VALUE)
    assert other.get(NAME) == VALUE
    one.move_to(StorageKind.PASSPHRASE, PASSPHRASE)
    assert other.get(NAME) is None
    assert "locked" in other.state.text
    other.unlock(PASSPHRASE)
    assert other.get(NAME) == VALUE
    other.move_to(StorageKind.KEYCHAIN)
    assert one.get(NAME) == VALUE
    assert one.read_state().level is StorageKind.KEYCHAIN


def test_two_simultaneous_first_secrets_create_one_file_with_one_key(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    barrier = threading.Barrier(4)

    def put(number: int) -> None:
        store = machine.store
        barrier.wait()
        store.put(f"a/{number}", str(number))

    threads = [threading.Thread(target=put, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    store = machine.store
    assert [store.get(f"a/{number}") for number in range(4)] == ["0", "1", "2", "3"]


def test_wait_for_a_held_lock_is_limited(tmp_path: Path) -> None:
    first, second = FileLock(tmp_path / "lock"), FileLock(tmp_path / "lock")
    assert first.acquire(0)
    assert not second.acquire(0.01)
    first.release()
    assert second.acquire(0)
    second.release()


def test_reading_the_state_imports_neither_keyring_nor_cryptography(tmp_path: Path) -> None:
    program = (
        "import sys; from pathlib import Path; import inspector.engine.engine\n"
        "from inspector.config.secrets.store import SecretStore\n"
        "SecretStore(Path(sys.argv[1])).read_state()\n"
        "print([name for name in ('keyring', 'cryptography') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", program, str(tmp_path)], capture_output=True, text=True)
    assert done.stdout.strip() == "[]", done.stderr


@pytest.mark.parametrize("level", [StorageKind.KEYCHAIN, StorageKind.PASSPHRASE])
def test_same_secret_is_encrypted_differently_each_time(tmp_path: Path, level: StorageKind) -> None:
    machine = Machine(tmp_path)
    store = machine.store
    store.move_to(level, PASSPHRASE)
    store.put("a/1", VALUE)
    store.put("a/2", VALUE)
    first = machine.document()["records"]
    store.put("a/1", VALUE)
    texts = {first["a/1"]["sealed"], first["a/2"]["sealed"], machine.document()["records"]["a/1"]["sealed"]}
    assert len(texts) == 3

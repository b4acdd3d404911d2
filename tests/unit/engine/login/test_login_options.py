"""Login options by server, saved in the preferences file next to other sections."""

from __future__ import annotations

import json
from pathlib import Path

from inspector.config.paths import Files
from inspector.config.servers.entries import HttpEntry
from inspector.engine.engine import Engine
from inspector.engine.login.logins import LoginOptions
from inspector.engine.settings import SettingsStore
from inspector.oauth.login.steps import Overrides

CHOSEN = Overrides(scope="read", is_strict=True)


def store(path: Path) -> SettingsStore:
    """Return the settings in a file, as at startup."""
    settings = SettingsStore(Files(preferences=path))
    settings.load()
    return settings


async def test_options_are_saved_per_server(tmp_path: Path) -> None:
    path = tmp_path / "preferences.json"
    path.write_text('{"captures": {"keepDays": 3}}')
    await LoginOptions(store(path)).save("one", CHOSEN)
    assert await LoginOptions(store(path)).of("one") == CHOSEN
    assert await LoginOptions(store(path)).of("two") == Overrides()
    assert json.loads(path.read_text()) == {
        "captures": {"keepDays": 3},
        "logins": {"one": {"scope": "read", "is_strict": True}},
    }


async def test_secrets_are_in_no_file(tmp_path: Path) -> None:
    path = tmp_path / "preferences.json"
    await LoginOptions(store(path)).save("one", Overrides(client_id="me", client_secret="hush-1"))
    assert "hush-1" not in path.read_text()


async def test_restored_defaults_and_removed_servers_leave_nothing_behind(tmp_path: Path) -> None:
    path = tmp_path / "preferences.json"
    options = LoginOptions(store(path))
    await options.save("one", CHOSEN)
    await options.save("two", CHOSEN)
    await options.save("one", Overrides())
    await options.forget("two")
    assert json.loads(path.read_text()) == {}


async def test_renamed_server_keeps_its_options(tmp_path: Path) -> None:
    options = LoginOptions(store(tmp_path / "preferences.json"))
    await options.save("one", CHOSEN)
    await options.move("one", "other")
    assert await options.of("other") == CHOSEN
    assert await options.of("one") == Overrides()
    await options.move("none", "nothing")
    assert await options.of("nothing") == Overrides()
    await options.move("one", "other")  # as another window does after the same rename
    assert await options.of("other") == CHOSEN


async def test_engine_moves_options_on_rename_and_deletes_them_with_the_server() -> None:
    engine = Engine()
    try:
        engine.servers.add(HttpEntry(name="one", url="http://127.0.0.1:9/mcp"))
        await engine.logins.options.save("one", CHOSEN)
        await engine.servers.update("one", HttpEntry(name="other", url="http://127.0.0.1:9/mcp"))
        assert await engine.logins.options.of("other") == CHOSEN
        await engine.servers.remove("other")
        assert await engine.logins.options.of("other") == Overrides()
    finally:
        await engine.close()


async def test_nothing_is_written_without_a_choice(tmp_path: Path) -> None:
    path = tmp_path / "preferences.json"
    await LoginOptions(store(path)).forget("one")
    assert not path.exists()


async def test_damaged_file_is_left_alone_and_the_defaults_apply(tmp_path: Path) -> None:
    path = tmp_path / "preferences.json"
    path.write_text("{")
    assert await LoginOptions(store(path)).of("one") == Overrides()
    await LoginOptions(store(path)).forget("one")
    assert path.read_text() == "{"


async def test_without_a_file_options_are_session_only() -> None:
    options = LoginOptions(SettingsStore())
    await options.save("one", CHOSEN)
    assert await options.of("one") == CHOSEN

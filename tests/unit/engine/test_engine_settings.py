"""The store of all settings: loaded, validated, changed and saved; parts of the engine follow it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from inspector.base.errors import ConfigError, UserError
from inspector.base.json.values import JSON
from inspector.config.paths import Files
from inspector.config.preferences.settings import SETTINGS, ConnectionSettings
from inspector.engine.calls.library import CallLibrary
from inspector.engine.captures import Captures
from inspector.engine.engine import Engine
from inspector.engine.inbox.inbox import Inbox
from inspector.engine.settings import SettingsStore
from inspector.traffic.log import TrafficLog
from tests.helpers.servers import fault_entry
from tests.qt.lens_driver import scripted


class Run:
    """One session of the app over a folder."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "preferences.json"
        log = TrafficLog()
        self.settings = SettingsStore(Files(preferences=self.path))
        self.engine = Engine(
            settings=self.settings,
            log=log,
            captures=Captures(log, folder / "captures", self.settings),
            calls=CallLibrary(folder / "history", folder / "calls", self.settings),
            inbox=Inbox(settings=self.settings),
        )
        self.problems: list[str] = []
        self.settings.problem_found.connect(self.problems.append)
        self.changes: list[tuple[str, JSON]] = []
        self.settings.changed.connect(lambda id, value: self.changes.append((id, value)))

    def kept(self) -> dict[str, dict[str, object]]:
        document: dict[str, dict[str, object]] = json.loads(self.path.read_text())
        return document


@pytest.fixture
async def run(tmp_path: Path) -> AsyncIterator[Run]:
    run = Run(tmp_path)
    run.engine.begin()
    yield run
    await run.engine.close()


CHOICES: dict[str, JSON] = {
    "connections.connectTimeout": 3.5,
    "connections.requestTimeout": 5,
    "connections.longestRequest": 50,
    "connections.keepAlive": 9,
    "connections.serverPath": "as-started",
    "connections.lineCapMebibytes": 2,
    "connections.mostPages": 3,
    "connections.examineFailures": False,
    "captures.record": False,
    "captures.keepDays": 4,
    "captures.keepMebibytes": 5,
    "inbox.timeout": 60,
    "calls.keepHistory": False,
    "calls.keepSecrets": True,
    "calls.environment": ["HOME", "API_URL"],
    "lists.remember": False,
    "lists.askForLists": False,
}


async def test_every_setting_starts_with_its_default_and_survives_a_restart(run: Run) -> None:
    values = run.settings.values()
    wanted = {setting.id for setting in SETTINGS if setting.has_value}
    wanted -= {"look.scheme"}
    assert set(values) == wanted == set(CHOICES)
    assert values == {setting.id: setting.default for setting in SETTINGS if setting.id in wanted}
    await asyncio.gather(*(run.settings.set(id, value) for id, value in CHOICES.items()))
    assert run.settings.values() == CHOICES
    again = Run(run.path.parent)
    again.engine.begin()
    assert again.settings.values() == CHOICES
    assert not again.problems
    await again.engine.close()


async def test_invalid_value_is_rejected_and_nothing_is_written(run: Run) -> None:
    for id, value in (("connections.mostPages", 0), ("captures.keepDays", 0), ("calls.keepHistory", "yes")):
        with pytest.raises(ConfigError):
            await run.settings.set(id, value)
    with pytest.raises(ConfigError):
        await run.settings.set("look.scheme", "dark")
    assert not run.path.exists()
    assert not run.changes


async def test_failed_write_changes_nothing(run: Run) -> None:
    run.path.write_text("[")
    with pytest.raises(ConfigError, match="line 1"):
        await run.settings.set("connections.connectTimeout", 1)
    assert not run.changes
    assert run.path.read_text() == "["


async def test_errors_in_the_file_are_reported_at_startup(run: Run) -> None:
    run.path.write_text('{"connections": {"mostPages": "all"}}')
    run.settings.load()
    (problem,) = run.problems
    assert problem.startswith("preferences.json: “connections.mostPages” must be an integer")
    run.path.write_text("{")
    run.settings.load()
    assert "line 1" in run.problems[1]


async def test_new_timeout_applies_to_the_next_connection(run: Run) -> None:
    run.engine.servers.add(fault_entry("silent"))
    await run.settings.set("connections.connectTimeout", 0.3)
    with pytest.raises(UserError, match=r"Timed out after [01]\.\d s"):  # with its start
        await run.engine.servers.connector.connect("srv")


async def test_lists_stop_at_the_new_pagination_limit(run: Run) -> None:
    run.engine.servers.add(scripted("srv", page=1))
    await run.engine.servers.connector.connect("srv")
    await run.settings.set("connections.mostPages", 2)
    listing = await run.engine.list_tools("srv")
    assert (listing.pages, listing.incomplete) == (2, "tools/list has more than 2 pages.")


async def test_cleared_timeout_means_unlimited(run: Run) -> None:
    await run.settings.set("inbox.timeout", 5)
    for never in (None, 0):
        await run.settings.set("inbox.timeout", never)
        assert run.settings.values()["inbox.timeout"] is None
        assert run.kept() == {}


async def test_former_id_of_a_setting_is_accepted(run: Run) -> None:
    await run.settings.set("inbox.answerWithin", 5)
    assert run.kept()["inbox"] == {"timeout": 5}


async def test_file_paths_of_this_run_are_known(run: Run) -> None:
    assert run.settings.locations() == {"preferences": run.path}


async def test_changes_are_reported_once(run: Run) -> None:
    run.path.write_text('{"captures": {"keepDays": 3, "record": true}, "connections": {"keepAlive": 0}}')
    run.settings.load()
    run.settings.load()
    assert run.changes == [("captures.keepDays", 3)]
    await run.settings.set("captures.keepDays", 3)
    await run.settings.set("captures.keepDays", 30)
    assert run.changes[1:] == [("captures.keepDays", 30)]


async def test_concurrent_manual_edits_are_preserved_and_applied(run: Run) -> None:
    await run.settings.set("connections.mostPages", 5)
    run.path.write_text(json.dumps({"connections": {"mostPages": 9, "keepAlive": "often"}, "mine": 1.10}))
    await run.settings.set("connections.connectTimeout", 4)
    assert run.settings.connection() == ConnectionSettings(connect_timeout=4, max_pages=9)
    written = {"mostPages": 9, "keepAlive": "often", "connectTimeout": 4}
    assert run.kept() == {"connections": written, "mine": 1.1}


async def test_unusable_value_in_the_file_is_replaced_even_by_the_default(run: Run) -> None:
    run.path.write_text('{"calls": {"keepHistory": 1, "later": 2}}')
    await run.settings.set("calls.keepHistory", True)
    assert run.kept() == {"calls": {"later": 2}}


async def test_recording_follows_the_setting(run: Run) -> None:
    await run.engine.captures.begin()
    await run.settings.set("captures.record", False)
    (capture,) = await run.engine.captures.stored()
    assert not capture.is_recording
    await run.settings.set("captures.record", True)
    (capture,) = await run.engine.captures.stored()
    assert capture.is_recording


async def test_call_history_follows_the_settings(run: Run) -> None:
    calls = run.engine.calls
    await run.settings.set("calls.keepHistory", False)
    await calls.remember("srv", "x", {"n": 1})
    assert (await calls.history_of("srv", "x")).last_text == ""
    await run.settings.set("calls.keepHistory", True)
    await calls.remember("srv", "x", {"n": 1})
    assert (await calls.history_of("srv", "x")).last_arguments() == {"n": 1}
    await calls.forget_all()
    assert (await calls.history_of("srv", "x")).last_text == ""

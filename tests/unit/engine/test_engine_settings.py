"""Settings changed at run time: applied to the part that owns them, and saved."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from inspector.base.errors import ConfigError, UserError
from inspector.base.json.values import JSON
from inspector.config.paths import Files
from inspector.config.preferences.sections import CapturePrefsFile, InboxPrefsFile
from inspector.config.preferences.settings import IN_LAYOUT, SETTINGS, Settings
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
        self.engine = Engine(
            log=log,
            captures=Captures(log, folder / "captures", CapturePrefsFile(self.path)),
            calls=CallLibrary(folder / "history", folder / "calls", self.path),
            inbox=Inbox(prefs=InboxPrefsFile(self.path)),
        )
        self.harness = self.engine.settings_store = SettingsStore(self.engine, Files(preferences=self.path))
        self.problems: list[str] = []
        self.harness.problem_found.connect(self.problems.append)

    async def begin(self) -> None:
        await self.harness.begin()
        await self.engine.calls.begin()
        self.engine.inbox.begin()

    def kept(self) -> dict[str, dict[str, object]]:
        document: dict[str, dict[str, object]] = json.loads(self.path.read_text())
        return document


@pytest.fixture
async def run(tmp_path: Path) -> AsyncIterator[Run]:
    run = Run(tmp_path)
    await run.begin()
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
    values = await run.harness.values()
    wanted = {setting.id for setting in SETTINGS if setting.has_value} - IN_LAYOUT
    assert set(values) == wanted == set(CHOICES)
    assert values == {setting.id: setting.default for setting in SETTINGS if setting.id in wanted}
    await asyncio.gather(*(run.harness.set(id, value) for id, value in CHOICES.items()))
    assert await run.harness.values() == CHOICES
    again = Run(run.path.parent)
    await again.begin()
    assert await again.harness.values() == CHOICES
    assert not again.problems
    await again.engine.close()


async def test_invalid_value_is_rejected_and_nothing_is_written(run: Run) -> None:
    for id, value in (("connections.mostPages", 0), ("captures.keepDays", 0), ("calls.keepHistory", "yes")):
        with pytest.raises(ConfigError):
            await run.harness.set(id, value)
    with pytest.raises(ConfigError):
        await run.harness.set("look.scheme", "dark")
    assert not run.path.exists()
    assert run.engine.settings == Settings()


async def test_failed_write_changes_nothing(run: Run) -> None:
    run.path.write_text("[")
    with pytest.raises(ConfigError, match="line 1"):
        await run.harness.set("connections.connectTimeout", 1)
    assert run.engine.settings == Settings()


async def test_errors_in_the_file_are_reported_at_startup(run: Run) -> None:
    run.path.write_text('{"connections": {"mostPages": "all"}}')
    await run.harness.begin()
    assert "connections.mostPages" in run.problems[0]


async def test_new_timeout_applies_to_the_next_connection(run: Run) -> None:
    run.engine.add(fault_entry("silent"))
    await run.harness.set("connections.connectTimeout", 0.3)
    with pytest.raises(UserError, match=r"Timed out after [01]\.\d s"):  # with its start
        await run.engine.connect("srv")


async def test_lists_stop_at_the_new_pagination_limit(run: Run) -> None:
    run.engine.add(scripted("srv", page=1))
    await run.engine.connect("srv")
    await run.harness.set("connections.mostPages", 2)
    listing = await run.engine.list_tools("srv")
    assert (listing.pages, listing.incomplete) == (2, "tools/list has more than 2 pages.")


async def test_cleared_timeout_means_unlimited(run: Run) -> None:
    await run.harness.set("inbox.timeout", 5)
    for never in (None, 0):
        await run.harness.set("inbox.timeout", never)
        assert (await run.harness.values())["inbox.timeout"] is None
        assert run.kept()["inbox"] == {}


async def test_former_id_of_a_setting_is_accepted(run: Run) -> None:
    await run.harness.set("inbox.answerWithin", 5)
    assert run.kept()["inbox"] == {"timeout": 5}


async def test_file_paths_of_this_run_are_known(run: Run) -> None:
    assert await run.harness.locations() == {"preferences": run.path}

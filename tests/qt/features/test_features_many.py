"""Ten thousand items: processed in slices, whatever the server does with its lists.

What is counted here is how much is done in one turn of the window; how long that takes measures
`python -m tests.bench offered`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator
from functools import partial
from types import SimpleNamespace
from typing import Any

import pytest
from pytestqt.qtbot import QtBot

from inspector.base.json.values import JSONObject
from inspector.engine.calls.tool_calls import ToolCall
from inspector.protocol.types import Listing, Resource, Tool
from inspector.qt.models import feature_list, record_table
from inspector.qt.models.feature_list import FeatureListModel, Item, ToolsModel, change_slices
from inspector.qt.models.palette import MAX_SHOWN, PaletteItem, PaletteModel
from inspector.qt.models.resources import RESOURCES, ResourceTreeModel
from inspector.qt.panels.tools.panel import ToolsPanel
from inspector.qt.widgets.inputs.search import SearchField
from tests.qt.features.feature_stage import feature_server, open_resources
from tests.qt.lens_driver import TIMEOUT, Lens, scripted

MANY = 10_000
MAX_PER_SLICE = 3_000
MAX_ON_SCREEN = 100


class Turns:
    """Counts the work done in each turn of the event loop."""

    def __init__(self) -> None:
        self.counts: list[int] = []

    def begin(self) -> None:
        self.counts.append(0)

    def done(self) -> None:
        self.counts[-1] += 1


class SlicedTools(ToolsModel):
    """Counts the tools that a slice of a search reads for the first time."""

    def __init__(self, turns: Turns) -> None:
        super().__init__()
        self.turns = turns

    def _search_some(self) -> None:
        self.turns.begin()
        super()._search_some()

    def _haystack(self, item: Item) -> tuple[str, str]:
        self.turns.done()
        return super()._haystack(item)


class SlicedPicks(PaletteModel):
    """Counts its slices."""

    def __init__(self, turns: Turns) -> None:
        super().__init__()
        self.turns = turns

    def _search_some(self) -> None:
        self.turns.begin()
        super()._search_some()


@pytest.fixture
def ticking(monkeypatch: pytest.MonkeyPatch) -> None:
    """Advance the clock by 1 ms per call, so that a slice has a fixed number of steps."""

    def inspect(now: list[float]) -> float:
        now[0] += 0.001
        return now[0]

    clock = SimpleNamespace(perf_counter=partial(inspect, [0.0]))
    for module in (feature_list, record_table):
        monkeypatch.setattr(module, "time", clock)


def tools(count: int = MANY) -> tuple[Tool, ...]:
    return tuple(Tool.read({"name": f"tool_{number:05}", "description": "Words."}) for number in range(count))


def resources(count: int = MANY) -> tuple[Resource, ...]:
    return tuple(
        Resource.read({"uri": f"file:///{number % 100}/{number}.txt", "name": f"name {number}"})
        for number in range(count)
    )


async def turns_of(work: asyncio.Future[Any]) -> int:
    """Return how often the event loop ran until the work was done."""
    turns = 0
    while not work.done():
        turns += 1
        await asyncio.sleep(0)
    return turns


@pytest.mark.usefixtures("ticking")
def test_many_tools_are_searched_in_slices_and_parsed_once(qtbot: QtBot) -> None:
    turns = Turns()
    model = SlicedTools(turns)
    model.set_listing(Listing(tools()))
    assert not turns.counts, "an empty query searches nothing"
    for text in ("tool_099", "tool_0999"):
        model.set_text(text)
        qtbot.waitUntil(lambda: not model.is_searching, timeout=TIMEOUT)
    assert sum(turns.counts) == MANY
    assert max(turns.counts) <= MAX_PER_SLICE
    assert len(turns.counts) >= 2 * MANY // MAX_PER_SLICE
    assert model.rowCount() == 10


@pytest.mark.usefixtures("ticking")
def test_many_palette_entries_are_added_and_searched_in_slices(qtbot: QtBot) -> None:
    turns = Turns()

    def coming() -> Iterator[PaletteItem]:
        for number in range(2 * MANY):
            turns.done()
            yield PaletteItem(f"k{number}", f"tool_number_{number}")

    model = SlicedPicks(turns)
    model.set_items(coming())
    for end in range(1, len("tlnum 1999") + 1):  # each search starts while the previous one still runs
        model.set_text("tlnum 1999"[:end])
    qtbot.waitUntil(lambda: not model.is_searching, timeout=TIMEOUT)
    assert sum(turns.counts) == 2 * MANY, "each item is read once"
    assert max(turns.counts) <= MAX_PER_SLICE
    assert "1999" in str(model.index(0).data())
    assert model.rowCount() <= MAX_SHOWN


def test_lists_are_compared_in_slices() -> None:
    turns = Turns()

    def counted(items: Iterable[Tool]) -> Iterator[tuple[str, JSONObject]]:
        for tool in items:
            turns.done()
            yield tool.name, tool.source

    changes = None
    turns.begin()
    for found in change_slices(counted(tools()), counted(tools(MANY + 1))):
        turns.begin()
        changes = found
    assert changes is not None
    assert changes.added == (f"tool_{MANY}",)
    assert max(turns.counts) <= MAX_PER_SLICE


@pytest.mark.usefixtures("ticking")
def test_window_stays_responsive_while_lists_are_compared(qtbot: QtBot) -> None:
    async def compare() -> int:
        model = ToolsModel()
        model.set_listing(Listing(tools()))
        await model.take_changes()
        model.set_listing(Listing(tools(MANY + 1)))
        work = asyncio.ensure_future(model.take_changes())
        turns = await turns_of(work)
        assert work.result().added == (f"tool_{MANY}",)
        return turns

    assert asyncio.run(compare()) >= 2 * MANY // MAX_PER_SLICE


def test_window_stays_responsive_while_a_tree_is_built(qtbot: QtBot) -> None:
    tree = ResourceTreeModel(FeatureListModel(RESOURCES))

    async def learn() -> int:
        return await turns_of(asyncio.ensure_future(tree.split_uris(resources())))

    assert asyncio.run(learn()) >= MANY // MAX_PER_SLICE


@pytest.fixture
def looked_at(monkeypatch: pytest.MonkeyPatch) -> set[int]:
    """Collect the items for which views requested data."""
    seen: set[int] = set()
    item_data = FeatureListModel.item_data

    def counted(model: FeatureListModel, item: Item, role: int) -> object:
        seen.add(id(item))
        return item_data(model, item, role)

    monkeypatch.setattr(FeatureListModel, "item_data", counted)
    return seen


def type_slowly(lens: Lens, field: SearchField, model: FeatureListModel, text: str) -> None:
    """Type letter by letter, each after the matches of the previous ones are shown."""
    for end in range(1, len(text) + 1):
        field.setText(text[:end])
        field.settle()
        lens.until(lambda: not model.is_searching)


def _reports(panel: ToolsPanel, changes: str) -> bool:
    return changes in panel.change_strip.text("tools")


@pytest.mark.parametrize("page", [MANY, 500])
def test_many_tools_are_listed_changed_and_searched(lens: Lens, page: int, looked_at: set[int]) -> None:
    panel = lens.connect(scripted(many=MANY, page=page))
    lens.settle()
    assert len(looked_at) <= MAX_ON_SCREEN, "only rows on screen are read"
    panel.choose("tool_05000")
    form = panel.call_view.arguments.form
    for tool, changes in (("grows", "1 added (new_10000)."), ("alters", "1 changed (tool_09999).")):
        looked_at.clear()
        lens.ask(lambda engine: engine.tool_caller.call("scripted", ToolCall(tool, {})))  # noqa: B023
        lens.until(partial(_reports, panel, changes))
        assert panel.list.currentIndex().data() == "tool_05000"
        assert panel.call_view.arguments.form is form, "the form of an unchanged tool is reused"
        assert len(looked_at) <= 2 * MAX_ON_SCREEN, "rows of the old list and of the new one"
    type_slowly(lens, panel.search, panel.model, "tool_099")
    assert panel.model.rowCount() == 100


@pytest.mark.parametrize("is_tree", [False, True])
def test_many_resources_are_shown_changed_and_searched(
    lens: Lens, is_tree: bool, looked_at: set[int]
) -> None:
    panel = open_resources(lens, feature_server(resources=[{"uri": "file:///0/0.txt", "name": "first"}]))
    if is_tree:
        panel.lists.toggle_tree()
    text = ""
    for count in (MANY, MANY - 1):
        looked_at.clear()
        lens.run(panel._show_listings(Listing(resources()[:count]), Listing()))
        text = panel.change_strip.text("resources")
        panel.change_strip.dismiss()
        assert len(looked_at) <= 2 * MAX_ON_SCREEN
    assert text.endswith(f"1 removed (file:///{(MANY - 1) % 100}/{MANY - 1}.txt).")
    type_slowly(lens, panel.lists.search, panel.lists.resources, "name 99")
    assert panel.lists.resources.rowCount() == 110

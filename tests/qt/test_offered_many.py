"""Ten thousand of everything: the window is never away for long, whatever the server does with its lists."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial

import pytest

from inspector.protocol.types import Listing, Resource
from inspector.qt.models.offered import OfferedModel
from inspector.qt.panels.tools.panel import ToolsPanel
from inspector.qt.widgets.searchfield import SearchField
from tests.bench.heartbeat import Heartbeat
from tests.qt.lens_driver import Lens, scripted
from tests.qt.offering_stage import offering, open_resources

MANY = 10_000
LONGEST_MS = 50


class Work(Heartbeat):
    """Counts what the window's thread worked between two beats, not what it waited for a busy machine."""

    def __init__(self) -> None:
        super().__init__()
        self._worked = 0.0
        self.spells: list[float] = []

    def start(self) -> None:
        self.spells.clear()
        self._worked = time.thread_time()
        super().start()

    def longest_ms(self) -> float:
        return round(max(self.spells) * 1000, 1)

    def _on_beat(self) -> None:
        now = time.thread_time()
        self.spells.append(now - self._worked)
        self._worked = now
        super()._on_beat()


@contextmanager
def no_long_spell(what: str) -> Iterator[Work]:
    work = Work()
    work.start()
    yield work
    work.stop()
    print(f"{what}: worked {work.longest_ms()} ms at a time, away {work.worst_ms()} ms")
    assert work.longest_ms() < LONGEST_MS, what


def type_slowly(lens: Lens, field: SearchField, model: OfferedModel, words: str, work: Work) -> None:
    """Letter by letter, each when the window has shown what fits those before."""
    for end in range(1, len(words) + 1):
        beats = len(work.spells)
        field.setText(words[:end])
        field.settle()
        lens.until(partial(_is_done, model, work, beats))


def _is_done(model: OfferedModel, work: Work, beats: int) -> bool:
    return not model.is_searching and len(work.spells) > beats + 1


def _tells(panel: ToolsPanel, news: str) -> bool:
    return news in panel.news.text("tools")


@pytest.mark.parametrize("page", [MANY, 500])
def test_many_tools_are_listed_changed_and_searched_without_a_gap(lens: Lens, page: int) -> None:
    lens.add(scripted(many=MANY, page=page))
    lens.choose("scripted")
    panel = lens.tools
    with no_long_spell("listing"):
        lens.do("server.connect")
        lens.until(lambda: panel.list.isVisibleTo(panel))
        lens.settle()
    panel.choose("tool_05000")
    for tool, news in (("grows", "1 added: new_10000."), ("alters", "1 changed: tool_09999.")):
        with no_long_spell(tool):
            lens.run(lens.app.bridge.call_tool("scripted", tool, {}, lambda event: None))
            lens.until(partial(_tells, panel, news))
        assert panel.list.currentIndex().data() == "tool_05000"
    with no_long_spell("searching") as work:
        type_slowly(lens, panel.search, panel.model, "tool_099", work)
    assert panel.model.rowCount() == 100


@pytest.mark.parametrize("is_tree", [False, True])
def test_many_resources_are_shown_changed_and_searched_without_a_gap(lens: Lens, is_tree: bool) -> None:
    panel = open_resources(lens, offering(resources=[{"uri": "file:///0/0.txt", "name": "first"}]))
    if is_tree:
        panel.lists.toggle_tree()
    resources = [
        Resource.read({"uri": f"file:///{number % 100}/{number}.txt", "name": f"name {number}"})
        for number in range(MANY)
    ]
    told = ""
    for count in (MANY, MANY - 1):
        with no_long_spell("listing"):
            lens.run(panel._show_listings(Listing(tuple(resources[:count])), Listing()))
        told = panel.news.text("resources")
        panel.news.dismiss()
    assert told.endswith(f"1 removed: file:///{(MANY - 1) % 100}/{MANY - 1}.txt.")
    with no_long_spell("searching") as work:
        type_slowly(lens, panel.lists.search, panel.lists.resources, "name 99", work)
    assert panel.lists.resources.rowCount() == 110

"""Feature list model: rows, search in slices, changes."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import cast

import pytest
from PySide6.QtCore import QAbstractItemModel
from pytestqt.modeltest import ModelTester
from pytestqt.qtbot import QtBot

from inspector.base.json.values import JSONObject
from inspector.protocol.types import Listing, Malformed, Resource, ResourceTemplate, Tool
from inspector.qt.models.feature_list import TOOLS, FeatureListModel, ListChanges
from inspector.qt.models.resources import RESOURCES, TEMPLATES, ResourceTreeModel
from tests.qt.features.resources_stage import rows
from tests.qt.lens_driver import TIMEOUT


def many(count: int) -> list[Resource]:
    return [
        Resource(uri, f"name {number}", "", "", "text/plain", {"uri": uri})
        for number in range(count)
        for uri in [f"file:///{number % 100}/{number}.txt"]
    ]


def test_models_satisfy_the_model_contract(qtmodeltester: ModelTester) -> None:
    model = FeatureListModel(RESOURCES)
    tree = ResourceTreeModel(model)
    model.set_listing(Listing(tuple(many(200)), (Malformed(7, "not an object"),)))
    tree.rebuild()
    tree.index_of("file:///7/107.txt")
    check = cast("Callable[[QAbstractItemModel], None]", qtmodeltester.check)
    check(model)
    check(tree)


def test_long_list_is_searched_in_slices(qtbot: QtBot) -> None:
    model = FeatureListModel(RESOURCES)
    model.set_listing(Listing(tuple(many(60_000))))
    model.set_text("name 59999")
    assert model.is_searching, "the event loop runs between slices"
    qtbot.waitUntil(lambda: not model.is_searching, timeout=TIMEOUT)
    assert rows(model) == ["name 59999"]


def test_first_list_is_not_a_change_and_templates_are_named_by_their_uri_template() -> None:
    model = FeatureListModel(TEMPLATES)
    template = ResourceTemplate("x://{a}", "", "", "", "", {"uriTemplate": "x://{a}"})
    model.set_listing(Listing((template,)))
    assert not asyncio.run(model.take_changes())
    model.set_listing(Listing())
    assert (
        asyncio.run(model.take_changes()).sentence("templates") == "Templates changed: 1 removed (x://{a})."
    )


def changes_of(before: list[JSONObject], after: list[JSONObject]) -> ListChanges:
    model = FeatureListModel(TOOLS)
    model.set_listing(Listing(tuple(Tool.read(tool) for tool in before)))
    assert not asyncio.run(model.take_changes())
    model.set_listing(Listing(tuple(Tool.read(tool) for tool in after)))
    return asyncio.run(model.take_changes())


def test_change_summary_names_what_was_added_removed_and_changed() -> None:
    changes = changes_of(
        [{"name": "a"}, {"name": "b"}, {"name": "c"}],
        [{"name": "b", "title": "B"}, {"name": "c"}, {"name": "d"}],
    )
    assert changes == ListChanges(("d",), ("a",), ("b",))
    assert changes.sentence("tools") == "Tools changed: 1 added (d), 1 removed (a), 1 changed (b)."


def test_reordering_and_duplicate_names_are_not_changes() -> None:
    assert not changes_of(
        [{"name": "a"}, {"name": "b"}], [{"name": "b"}, {"name": "a"}, {"name": "a", "title": "A"}]
    )


def test_changes_accumulate_over_all_lists_since_last_reported() -> None:
    model = FeatureListModel(TOOLS)
    model.set_listing(Listing((Tool.read({"name": "a"}),)))
    assert not asyncio.run(model.take_changes())
    for name in ("b", "c"):
        model.set_listing(Listing((Tool.read({"name": name}),)))
    assert asyncio.run(model.take_changes()) == ListChanges(("c",), ("a",))
    assert not asyncio.run(model.take_changes()), "once"


def test_list_that_failed_at_first_is_not_a_change_when_it_arrives() -> None:
    model = FeatureListModel(TOOLS)
    assert not asyncio.run(model.take_changes())
    model.set_listing(Listing((Tool.read({"name": "a"}),)))
    assert not asyncio.run(model.take_changes())


@pytest.mark.parametrize(
    ("first", "later", "both"),
    [
        (ListChanges(("a",)), ListChanges(("b",)), ListChanges(("a", "b"))),
        (ListChanges(("a",)), ListChanges((), ("a",)), ListChanges()),
        (ListChanges(("a",)), ListChanges((), (), ("a",)), ListChanges(("a",))),
        (ListChanges((), ("a",)), ListChanges(("a",)), ListChanges((), (), ("a",))),
        (ListChanges((), (), ("a",)), ListChanges((), ("a",)), ListChanges((), ("a",))),
        (ListChanges((), (), ("a",)), ListChanges((), (), ("a", "b")), ListChanges((), (), ("a", "b"))),
    ],
)
def test_consecutive_changes_are_merged(first: ListChanges, later: ListChanges, both: ListChanges) -> None:
    assert first.then(later) == both


def test_items_with_equal_names_and_unusable_items_are_distinguished() -> None:
    model = FeatureListModel(TOOLS)
    first, second = Tool.read({"name": "same"}), Tool.read({"name": "same", "title": "Another"})
    bad, worse = Malformed(7, "no object"), Malformed(8, "no object")
    model.set_listing(Listing((first, second), (bad, worse)))
    assert [model.row_of_item(item) for item in (first, second, bad, worse)] == [0, 1, 2, 3]
    assert model.row_of("same") == 0
    assert model.current(Tool.read({"name": "same", "title": "Third"})) is first
    assert model.current(Malformed(9, "no object")) is None


def test_rows_stay_those_of_the_previous_list_while_the_new_one_is_searched(qtbot: QtBot) -> None:
    model = FeatureListModel(RESOURCES)
    model.set_listing(Listing(tuple(many(60_000))))
    model.set_text("name 59999")
    qtbot.waitUntil(lambda: not model.is_searching, timeout=TIMEOUT)
    model.set_listing(Listing(tuple(many(40_000))))
    assert model.is_searching
    assert rows(model) == ["name 59999"]
    assert model.row_of("file:///99/59999.txt") == 0
    assert model.find("file:///99/59999.txt") is None
    qtbot.waitUntil(lambda: not model.is_searching, timeout=TIMEOUT)
    assert rows(model) == []

"""Parts of the detail: JSON tree model, waterfall bars, filter paths, saving."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeAlias, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PySide6.QtCore import QAbstractItemModel, QModelIndex
from PySide6.QtGui import QPalette
from PySide6.QtWidgets import QApplication, QFileDialog
from pytestqt.modeltest import ModelTester
from pytestqt.qtbot import QtBot

from inspector.base.json.values import to_wire
from inspector.engine.content.json_tree import json_tree
from inspector.qt.models.json_tree import JsonTreeModel
from inspector.qt.models.traffic.related import RelatedMessagesModel
from inspector.qt.panels.traffic.detail.message_view import filter_path
from inspector.qt.panels.traffic.detail.operation_view import MAX_BARS, Waterfall, timing_of
from inspector.qt.theme import Scheme, Theme
from inspector.qt.widgets.code.save_file import BodySaver, save_bytes
from inspector.traffic.analysis.related import related_messages
from inspector.traffic.filter.parser import parse as parse_filter
from inspector.traffic.filter.tree import Compare, path_text
from inspector.traffic.records import HttpExchange
from tests.qt.traffic.detail.detail_stage import Stage

ICONS = Path(__file__).parents[4] / "resources" / "icons"
MIB = 1024 * 1024
Check: TypeAlias = Callable[[QAbstractItemModel], None]


@pytest.fixture
def theme(qapp: QApplication) -> Iterator[Theme]:
    theme = Theme(ICONS)
    theme.prepare(qapp, Scheme.LIGHT)
    yield theme
    qapp.styleHints().unsetColorScheme()
    qapp.setPalette(QPalette())


@pytest.fixture
def check(qtmodeltester: ModelTester) -> Check:
    """Checks a model against Qt's contract; pytest-qt has no types for it."""
    return cast(Check, qtmodeltester.check)


def tree_of(raw: bytes) -> JsonTreeModel:
    model = JsonTreeModel()
    model.set_value(json_tree(raw).value)
    return model


def rows(model: QAbstractItemModel, parent: QModelIndex | None = None) -> list[str]:
    parent = parent or QModelIndex()
    return [model.index(row, 0, parent).data() for row in range(model.rowCount(parent))]


def test_tree_model_satisfies_the_model_contract(check: Check) -> None:
    check(tree_of(b'{"a": [1, 2, {"b": null}], "a": "x", "e": {}, "f": []}'))


def test_truncated_tree_and_ranges_satisfy_the_model_contract(check: Check) -> None:
    check(tree_of(to_wire({"a": list(range(50_000))})))
    check(tree_of(to_wire({"a": list(range(2_500))})))


def test_rows_show_the_original_spelling() -> None:
    raw = rb'{"n": 1.10, "big": 1e400, "s": "a\nb", "t": true, "x": null, "o": {}, "l": [1], "l": 2}'
    assert rows(tree_of(raw)) == [
        "n: 1.10",
        "big: 1e400",
        r's: "a\nb"',
        "t: true",
        "x: null",
        "o: {}",
        "l: [ 1 item ]  duplicate key",
        "l: 2  duplicate key",
    ]


def test_hidden_characters_in_names_and_values_are_shown() -> None:
    (row,) = rows(tree_of('{"a\u202eb": "c\u200bd"}'.encode()))
    assert "\u202e" not in row
    assert "\u200b" not in row


def test_big_array_expands_into_ranges_with_continuous_indexes() -> None:
    model = tree_of(to_wire(list(range(2_500))))
    assert rows(model) == ["[0 … 999]", "[1,000 … 1,999]", "[2,000 … 2,499]"]
    last = model.index(2, 0)
    assert model.rowCount(last) == 500
    item = model.index(499, 0, last)
    assert item.data() == "2499: 2499"
    assert model.steps(item) == (2_499,)


def test_children_are_built_on_demand() -> None:
    model = tree_of(to_wire({"a": [[1] * 100] * 100}))
    made = len(model._items)
    assert model.hasChildren(model.index(0, 0))
    assert len(model._items) == made == 1


def test_omitted_items_are_shown_as_a_row() -> None:
    model = tree_of(to_wire([10_000] * 50_000))
    assert rows(model)[-1] == "… 49,000 more: see Pretty or Text"
    assert not model.is_leaf(model.index(1_000, 0))


@pytest.mark.parametrize("raw", [b"12", b'"x"', b"null", b"[]", b"{}"])
def test_scalar_value_is_one_row(raw: bytes) -> None:
    assert rows(tree_of(raw)) == [raw.decode()]


names = st.sampled_from(["a", "params", "arguments", "a b", 'q"\\', "é", "x.y", "", "and", "[0]", "0"])


@given(st.lists(names | st.integers(0, 99), max_size=5))
def test_every_path_can_be_read_by_the_filter_language(steps: list[str | int]) -> None:
    path = filter_path(tuple(steps))
    tree = parse_filter(f"{path}=1")
    assert isinstance(tree, Compare)
    assert path_text(tree.path) == path


def test_paths_use_the_shortest_form() -> None:
    assert filter_path(("params", "arguments", "path")) == "args.path"
    assert filter_path(("params", "name")) == "params.name"
    assert filter_path(("result", "content", 0, "text")) == "result.content[0].text"
    assert filter_path(("jsonrpc",)) == "body.jsonrpc"
    assert filter_path((2, "method"), is_batch=True) == "method"


def bars_of(stage: Stage, row: int) -> list[tuple[str, float, float | None]]:
    timing = timing_of(stage.log, related_messages(stage.log, row))
    return [
        (bar.label, bar.start_ns / 1e6, None if bar.duration_ns is None else bar.duration_ns / 1e6)
        for bar in timing.bars
    ]


def test_stdio_call_is_one_bar_with_its_progress() -> None:
    stage = Stage()
    row = stage.request("tools/call", {"name": "slow", "_meta": {"progressToken": 7}})
    stage.after(0.1).progress(7, 1)
    stage.after(0.2).result({"content": []})
    (bar,) = timing_of(stage.log, related_messages(stage.log, row)).bars
    assert (bar.label, bar.duration_ns, bar.marks) == ("tools/call slow", 300_000_000, (100_000_000,))


def test_phases_of_http_follow_one_another() -> None:
    stage = Stage()
    row = stage.request("ping")
    exchange = stage.http(HttpExchange("POST", "http://x", (), 10), row)
    stage.after(0.1).result({}, exchange=exchange)
    times = {"dns_ns": 10, "connect_ns": 20, "tls_ns": 30, "first_byte_ns": 25}
    stage.http_update(
        exchange,
        status=200,
        total_ns=100_000_000,
        is_over=True,
        **{k: v * 1_000_000 for k, v in times.items()},
    )
    assert bars_of(stage, row) == [
        ("ping", 0, 100),
        ("DNS", 0, 10),
        ("connect", 10, 20),
        ("TLS", 30, 30),
        ("first byte", 60, 25),
        ("send and receive", 85, 15),
    ]


def test_user_time_is_counted_separately() -> None:
    stage = Stage()
    row = stage.request("tools/call", {"name": "ask"})
    stage.after(0.1).received({"jsonrpc": "2.0", "id": "q", "method": "elicitation/create", "params": {}})
    stage.after(2).sent({"jsonrpc": "2.0", "id": "q", "result": {"action": "accept"}})
    stage.after(0.1).result({"content": []})
    timing = timing_of(stage.log, related_messages(stage.log, row))
    assert timing.user_ns == 2_000_000_000
    assert timing.total_ns == 2_200_000_000


def test_pending_request_has_an_open_end() -> None:
    stage = Stage()
    row = stage.request("tools/call", {"name": "slow"})
    timing = timing_of(stage.log, related_messages(stage.log, row))
    assert timing.is_open
    assert timing.bars[0].duration_ns is None


def test_operation_with_thousands_of_steps_draws_only_a_few_bars(theme: Theme, qtbot: QtBot) -> None:
    stage = Stage()
    row = stage.request("tools/call", {"name": "ask"})
    for input_request in range(150):
        stage.after(0.01).received({"jsonrpc": "2.0", "id": input_request, "method": "roots/list"})
    timing = timing_of(stage.log, related_messages(stage.log, row))
    assert len(timing.bars) == MAX_BARS
    assert timing.left_out > 0
    waterfall = Waterfall(theme)
    qtbot.addWidget(waterfall)
    waterfall.set_timing(timing)
    waterfall.resize(220, waterfall.sizeHint().height())
    assert not waterfall.grab().isNull()


def test_omitted_steps_are_shown_between_the_halves(theme: Theme, check: Check) -> None:
    stage = Stage()
    row = stage.request("tools/call", {"name": "slow", "_meta": {"progressToken": 7}})
    for value in range(30):
        stage.progress(7, value)
    model = RelatedMessagesModel(stage.log, theme)
    model.set_related(related_messages(stage.log, row, maximum=10), row)
    assert model.rowCount() == 11
    assert model.number(5) is None
    assert "omitted" in model.index(5, 2).data()
    assert model.number(10) == len(stage.log) - 1
    check(model)


class Zeros:
    """A body of zeros of any length; with `available`, it ends early."""

    def __init__(self, length: int, available: int | None = None) -> None:
        self._length, self._available = length, length if available is None else available

    def __len__(self) -> int:
        return self._length

    def part(self, start: int, length: int) -> bytes:
        return bytes(max(0, min(length, self._available - start)))


@pytest.fixture
def saver(theme: Theme, qtbot: QtBot) -> BodySaver:
    saver = BodySaver(theme)
    qtbot.addWidget(saver)
    return saver


def test_body_is_saved_in_full_in_slices(saver: BodySaver, tmp_path: Path, qtbot: QtBot) -> None:
    path = tmp_path / "body.json"
    with qtbot.waitSignal(saver.ended):
        saver.save(Zeros(20 * MIB + 7), path)
        assert not path.exists()
    assert path.stat().st_size == 20 * MIB + 7
    assert saver.text() == f"Saved 20 MiB to {path}"
    assert list(tmp_path.iterdir()) == [path]


def test_cancelled_save_leaves_nothing_behind(saver: BodySaver, tmp_path: Path) -> None:
    saver.save(Zeros(20 * MIB), tmp_path / "body.json")
    saver.cancel()
    assert list(tmp_path.iterdir()) == []
    assert saver.text() == "Not saved: cancelled."


def test_unwritable_path_is_named(saver: BodySaver, tmp_path: Path) -> None:
    saver.save(Zeros(5), tmp_path / "no such folder" / "body.json")
    assert saver.text().startswith("Could not save ")
    assert "body.json: No such file or directory" in saver.text()


@pytest.mark.skipif(os.name != "posix", reason="links need a privilege elsewhere")
@pytest.mark.parametrize("target", ["victim", "missing"])
def test_saving_replaces_a_planted_link(target: str, saver: BodySaver, tmp_path: Path, qtbot: QtBot) -> None:
    """T28: a link in the folder, at the chosen name or at the predictable one beside it, is not followed."""
    victim = tmp_path / "victim"
    victim.write_bytes(b"precious")
    path = tmp_path / "message.json"
    planted = (path, tmp_path / "message.json.part")
    for link in planted:
        link.symlink_to(tmp_path / target)
    with qtbot.waitSignal(saver.ended):
        saver.save(Zeros(5), path)
    assert saver.text().startswith("Saved 5 B to ")
    assert not path.is_symlink()
    assert path.read_bytes() == bytes(5)
    assert victim.read_bytes() == b"precious"
    assert not (tmp_path / "missing").exists()


@pytest.mark.skipif(os.name != "posix", reason="links need a privilege elsewhere")
def test_saving_a_few_bytes_replaces_a_planted_link(saver: BodySaver, tmp_path: Path) -> None:
    """T28: the same for decoded content and login traces, which are saved at once."""
    path = tmp_path / "decoded.png"
    path.symlink_to(tmp_path / "missing")
    save_bytes(saver, "Save decoded content", "decoded.png", b"from the server")
    dialog = saver.findChild(QFileDialog)
    assert isinstance(dialog, QFileDialog)
    dialog.fileSelected.emit(str(path))
    dialog.close()
    assert not path.is_symlink()
    assert path.read_bytes() == b"from the server"
    assert not (tmp_path / "missing").exists()


def test_truncated_body_is_not_a_successful_save(saver: BodySaver, tmp_path: Path, qtbot: QtBot) -> None:
    with qtbot.waitSignal(saver.ended):
        saver.save(Zeros(10, available=5), tmp_path / "body.json")
    assert "no longer available" in saver.text()
    assert list(tmp_path.iterdir()) == []


def test_overwritten_file_is_kept_until_the_new_one_is_complete(
    saver: BodySaver, tmp_path: Path, qtbot: QtBot
) -> None:
    path = tmp_path / "body.json"
    path.write_bytes(b"old")
    saver.save(Zeros(20 * MIB), path)
    saver.cancel()
    assert path.read_bytes() == b"old"


def test_error_code_in_the_tree_has_its_name() -> None:
    model = tree_of(b'{"id": 1, "error": {"code": -32602, "message": "No"}, "code": -32602}')
    assert rows(model, model.index(1, 0))[0] == "code: -32602  invalid params"
    assert rows(model)[2] == "code: -32602"
    unnamed = tree_of(b'{"error": {"code": 7}}')
    assert rows(unnamed, unnamed.index(0, 0)) == ["code: 7"]

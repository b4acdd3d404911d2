"""Which rows a filter matches: the columns must say what each row says for itself."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from querylogs import NOON, RowSpec, add_row, comparisons, filters, logs, make_log

from inspector.traffic.log import TrafficLog
from inspector.traffic.query.grammar import parse
from inspector.traffic.query.matcher import compile
from inspector.traffic.query.tree import Compare, Node
from inspector.traffic.records import Direction, RecordKind, Remark, Status

K = RecordKind


def _found(text: str, log: TrafficLog) -> list[int]:
    return list(compile(parse(text), log, now_ns=NOON).rows(range(len(log))))


def _findings(row: int) -> list[str]:
    return [f"spec-{row}"] if row % 2 else []


@settings(max_examples=300, deadline=None)
@given(logs, filters, st.integers(0, 30), st.integers(0, 30))
def test_columns_agree_with_every_single_row(log: TrafficLog, node: Node, first: int, last: int) -> None:
    matcher = compile(node, log, now_ns=NOON, finding=_findings)
    window = range(min(first, len(log)), min(last, len(log)))
    assert list(matcher.rows(window)) == [row for row in window if matcher.matches(row)]


@settings(max_examples=300, deadline=None)
@given(logs, comparisons)
def test_every_comparison_agrees_on_its_own(log: TrafficLog, node: Compare) -> None:
    matcher = compile(node, log, now_ns=NOON, finding=_findings)
    window = range(len(log))
    assert list(matcher.rows(window)) == [row for row in window if matcher.matches(row)]

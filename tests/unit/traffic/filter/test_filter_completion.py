"""Completion of filters."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from inspector.traffic.filter.completion import complete
from inspector.traffic.filter.parser import parse
from inspector.traffic.filter.tree import FilterError, Node, to_text
from inspector.traffic.log import TrafficLog
from inspector.traffic.records import RecordKind
from tests.unit.traffic.filter.filter_logs import NOON, RowSpec, filters, logs, make_log, rows_read

LOG = make_log(
    RowSpec(raw=b'{"params":{"arguments":{"path":"/etc","a b":[{"deep":1}]}}}', subject="add issue"),
    RowSpec(raw=b"POST", kind=RecordKind.HTTP, http_status=401, method="POST", server="my files"),
    RowSpec(method="tools/list"),
)


def _offers(text: str, log: TrafficLog = LOG) -> list[str]:
    """Complete a text at the cursor, which is marked in it."""
    cursor = text.index("|")
    return [item.text for item in complete(text.replace("|", ""), cursor, log).items]


def _first_use(text: str, log: TrafficLog = LOG) -> str:
    cursor, text = text.index("|"), text.replace("|", "")
    found = complete(text, cursor, log)
    return text[: found.start] + found.items[0].text + text[found.end :]


@pytest.mark.parametrize(
    ("text", "first"),
    [
        ("me|", "method"),
        ("METH|", "method"),
        ("dur>1s and st|", "status"),
        ("(stat|", "status"),
        ("not sta|", "status"),
        ("method:|", "tools/call"),
        ("method:tools/l|", "tools/list"),
        ("method:list|", "tools/list"),
        ("tool=|", '"add issue"'),
        ('tool="add|', '"add issue"'),
        ("server:m|", '"my files"'),
        ("status:pen|", "pending"),
        ("dir:|", "in"),
        ("kind in (re|", "request"),
        ("kind in (request, no|", "notification"),
        ("dur>500|", "500ms"),
        ("dur>5m|", "5ms"),
        ("size>10|", "10k"),
        ("http.status=|", "401"),
        ("code:-32601|", "-32601"),
        ("version>=2025-1|", "2025-11-25"),
        ("args.p|", "args.path"),
        ('args."a|', 'args."a b"'),
        ("args.path=|", "/etc"),
        ("http.header.cont|", "http.header.content-type"),
        ("method:x a|", "and"),
        ("method |", ":"),
    ],
)
def test_best_suggestion_comes_first(text: str, first: str) -> None:
    assert _offers(text)[0] == first


def test_operators_follow_a_complete_field_and_suit_it() -> None:
    assert _offers("dur|")[:7] == ["dur:", "dur=", "dur!=", "dur>", "dur<", "dur>=", "dur<="]
    assert "method>" not in _offers("method|")
    assert "method in (" in _offers("method|")


@pytest.mark.parametrize("text", ['"free te|', "tool ~ x|", 'method:"x"|', "nobody:x|", "method:x)|"])
def test_nothing_is_suggested_where_anything_is_allowed(text: str) -> None:
    assert _offers(text) == []


@pytest.mark.parametrize(
    ("text", "after"),
    [
        ("met|od and x", "method and x"),
        ("st|at:ok", "status:ok"),
        ("method:tools/l|i and x", "method:tools/list and x"),
        ('tool="ad|d" and x', 'tool="add issue" and x'),
        ("kind in (re|q, error)", "kind in (request, error)"),
    ],
)
def test_whole_token_under_the_cursor_is_replaced(text: str, after: str) -> None:
    assert _first_use(text) == after


def test_array_suggests_the_members_of_its_items() -> None:
    assert 'args."a b"[*].deep' in _offers("args.|")


def test_empty_log_and_empty_text_suggest_the_fields() -> None:
    assert {"method", "status", "not"} <= set(_offers("|", TrafficLog()))
    assert "and" not in _offers("|", TrafficLog())


_ENDINGS = (
    *(
        "",
        ":*",
        " x",
        "x",
        "5",
        '"',
        ">=0",
        ":1s",
        "=ok",
        "=5k",
        ">14:03",
        ":in",
        ":yes",
        ":error",
        "=1",
        ".a:x",
    ),
    *(">2025-06-18", ":handshake", "in", "14:03", "2025-06-18", "ok", "1s", "yes", "stateless", "request"),
)


def _can_be_finished(text: str) -> bool:
    for ending in _ENDINGS:
        for closing in ("", ")", "))", ")))", "))))", ")))))"):
            try:
                parse(text + ending + closing)
            except FilterError:
                continue
            return True
    return False


@settings(max_examples=80, deadline=None)
@given(filters, st.data(), logs)
def test_every_suggestion_can_be_completed_to_a_filter(
    node: Node, data: st.DataObject, log: TrafficLog
) -> None:
    text = to_text(node)
    cursor = data.draw(st.integers(0, len(text)))
    head = text[:cursor]
    found = complete(head, cursor, log)
    assert 0 <= found.start <= found.end == cursor
    for item in found.items[:: max(1, len(found.items) // 6)]:
        assert _can_be_finished(head[: found.start] + item.text), (head, item)


@settings(max_examples=150, deadline=None)
@given(st.text(alphabet='methodparams.[]*"\\:=<>~! (),in and0é\n', max_size=25), st.integers(-2, 30))
def test_any_text_and_cursor_position_is_accepted(text: str, cursor: int) -> None:
    found = complete(text, cursor, LOG)
    assert 0 <= found.start <= found.end <= len(text)


def test_work_is_limited_to_the_latest_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    log = make_log(*(RowSpec(raw=b'{"params":{"p%d":1}}' % n, wall_ns=NOON) for n in range(1000)))
    read = rows_read(log, monkeypatch)
    assert "params.p999" in _offers("params.|", log)
    assert len(read) <= 40

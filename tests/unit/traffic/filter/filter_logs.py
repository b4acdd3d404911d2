"""Random logs and filters for tests of the filter language."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from random import Random

import pytest
from hypothesis import strategies as st

from inspector.base.json.values import JSON
from inspector.traffic.filter.fields import FIELDS
from inspector.traffic.filter.predicates import Type
from inspector.traffic.filter.tree import (
    And,
    Compare,
    Every,
    Index,
    Member,
    Node,
    Not,
    Operator,
    Or,
    Path,
    Step,
    Text,
)
from inspector.traffic.log import NO_ROW_NOTE, TrafficLog
from inspector.traffic.records import Direction, HttpExchange, RecordKind, RowNote, Status

NOON = 1_700_000_000_000_000_000
SERVERS = ("github", "files", "Über")
METHODS = ("", "tools/call", "tools/list", "prompts/get", "resources/read", "notifications/message")
SUBJECTS = ("", "add_issue", "search", "file:///etc/passwd", "error")
PROBLEMS = ("", '"result" must be an object', "unknown id (id 7)")
_HEADERS = (("Content-Type", "application/json"), ("Authorization", "Bearer é"))


@dataclass(frozen=True)
class RowSpec:
    """The values of a row that a test sets."""

    raw: bytes = b"{}"
    server: str = "github"
    kind: int = RecordKind.REQUEST
    direction: int = Direction.OUT
    wall_ns: int = NOON
    method: str = "tools/call"
    subject: str = ""
    id: int | str | None = None
    problem: str = ""
    status: int = Status.NONE
    duration: int = -1
    size: int = -1
    revision: str = ""
    operation: int = -1
    http_status: int | None = None
    carrier: int = -1
    note: RowNote = NO_ROW_NOTE


def make_log(*specs: RowSpec) -> TrafficLog:
    log = TrafficLog()
    for spec in specs:
        add_row(log, spec)
    log.publish()
    return log


def add_row(log: TrafficLog, spec: RowSpec) -> int:
    row = log.append(
        log.add_server(spec.server),
        spec.kind,
        spec.direction,
        spec.wall_ns,
        spec.wall_ns,
        spec.raw,
        spec.method,
        spec.subject,
        spec.id,
        spec.problem,
        spec.size,
        log.add_revision(spec.revision),
    )
    log.columns.status[row] = spec.status
    if spec.kind == RecordKind.HTTP:
        log.set_http(
            row, HttpExchange("POST", "http://x", _HEADERS[1:], 1, spec.http_status, "", _HEADERS[:1])
        )
    log.columns.duration[row] = spec.duration
    if 0 <= spec.operation <= row:
        log.set_operation(row, spec.operation)
    if 0 <= spec.carrier < row:
        log.set_carrier(row, spec.carrier)
    if spec.note != NO_ROW_NOTE:
        log.set_note(row, spec.note)
    return row


def rows_read(log: TrafficLog, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Return a list to which every row is added whose body is read from now on."""
    read: list[int] = []
    raw = log.raw

    def noting(number: int) -> bytes:
        read.append(number)
        return raw(number)

    monkeypatch.setattr(log, "raw", noting)
    return read


_LEAVES: tuple[JSON, ...] = (
    "a",
    "/etc/passwd",
    "Ärger",
    'say "x"',
    "line\nbreak",
    5,
    15,
    -3,
    2.5,
    10_000,
    True,
    None,
    "5",
    "true",
)
_NAMES = ("a", "b", "x y", "taskId", "code", "task")
_NO_JSON = (b"", b"plain text", b"\xff\xfe", "größe".encode(), b'"', b"[" * 5000)


def random_log(seed: int) -> TrafficLog:
    """Rows of every kind in random order."""
    pick = Random(seed)
    return make_log(*(_random_row(pick) for _ in range(pick.randint(1, 30))))


def _random_row(pick: Random) -> RowSpec:
    return RowSpec(
        raw=_random_body(pick),
        server=pick.choice(SERVERS),
        kind=pick.choice([*RecordKind, RecordKind.ERROR, RecordKind.BATCH, RecordKind.HTTP]),
        direction=pick.choice(list(Direction)),
        wall_ns=NOON + pick.randint(-(10**9), 10**9) * 1_000_000,
        method=pick.choice(METHODS),
        subject=pick.choice(SUBJECTS),
        id=pick.choice([None, None, 0, 7, 70, -1, 2**70, "7", "abc"]),
        problem=pick.choice(PROBLEMS),
        status=pick.choice(list(Status)),
        duration=pick.choice([-1, 0, 400_000_000, 500_000_000, 2_000_000_000]),
        size=pick.choice([-1, 10_000, 10_240, 50_000_000]),
        revision=pick.choice(["", "2024-11-05", "2025-06-18", "2026-07-28", "draft"]),
        operation=pick.randint(-1, 5),
        http_status=pick.choice([None, 200, 401, 404]),
        carrier=pick.randint(-1, 5),
        note=pick.choice([NO_ROW_NOTE, NO_ROW_NOTE, RowNote(True), RowNote(False, "look here")]),
    )


def _random_body(pick: Random) -> bytes:
    value = _random_value(pick)
    bodies: list[JSON] = [
        {"params": value},
        {"params": {"arguments": value}},
        {"result": value},
        {"error": value},
        [{"params": value}, {"error": {"code": 5}}],
    ]
    raw = json.dumps(pick.choice(bodies), ensure_ascii=pick.random() < 0.5).encode()
    return pick.choice([raw, raw, raw, raw, raw, raw[:-1], pick.choice(_NO_JSON)])


def _random_value(pick: Random, depth: int = 0) -> JSON:
    shape = pick.random() if depth < 3 else 1
    if shape < 0.4:
        return {name: _random_value(pick, depth + 1) for name in pick.sample(_NAMES, 2)}
    if shape < 0.6:
        return [_random_value(pick, depth + 1) for _ in range(pick.randint(0, 2))]
    return pick.choice(_LEAVES)


logs = st.integers(0, 10_000).map(random_log)


_VALUES = {
    "server": ("git", "github", "*Ü*", "nobody"),
    "method": ("tools", "tools/*", "tools/call", "TOOLS/LIST", ""),
    "tool": ("search", "add*", "", "file"),
    "resource": ("etc", "file:*"),
    "prompt": ("search", "error"),
    "subject": ("error", "*", ""),
    "id": ("7", "0", "70", "7*", "abc", "-1", str(2**70)),
    "dir": ("in", "OUT"),
    "kind": ("request", "message", "frame", "event", "response", "answer", "error", "http"),
    "status": ("error", "ok", "tool error", "pending", "waiting"),
    "code": ("5", "-3", "2.5", "1*"),
    "dur": ("0", "500ms", "0.4s", "1h"),
    "size": ("10k", "10KiB", "1", "50MB"),
    "time": ("22:13", "22:13:20.000", "2023-11-14", "2023-11-14T22:13Z", "-5m", "00:00"),
    "number": ("1", "3", "2.5", "1*", "1e400"),
    "op": ("1", "3", "*"),
    "task": ("a", "*", "5"),
    "text": ("etc", "ä", "plain", '"', "", "Größe"),
    "finding": ("id", "*", "result"),
    "mark": ("yes", "no"),
    "comment": ("LOOK", "*"),
    "version": ("2025-06-18", "2026-07-28"),
    "mode": ("handshake", "stateless"),
    "http.status": ("200", "4*", "401", "0"),
    "http.header": ("json", "*bearer*", "é"),
    "params": ("a", "5", "*", "10k", "true", "/ETC"),
    "args": ("a", "5", "*", "etc", "null"),
    "result": ("a", "5", "ärger"),
    "error": ("code", "5", "{*"),
    "body": ("batch", "jsonrpc", "*5*"),
}
_LIKE = ("^a", "5", "e", "[", ".*x", "ä")
_STEPS: tuple[tuple[Step, ...], ...] = (
    (),
    (Member("a"),),
    (Member("a"), Member("b")),
    (Every(),),
    (Member("b"), Every()),
    (Index(0),),
    (Member("x y"), Index(-1)),
    (Member("code"),),
)
_HEADER_STEPS: tuple[tuple[Step, ...], ...] = ((), (Member("content-type"),), (Member("x"),))


@st.composite
def _comparisons(draw: st.DrawFn) -> Compare:
    word = draw(st.sampled_from(sorted(FIELDS)))
    field = FIELDS[word]
    steps = draw(st.sampled_from(_STEPS)) if field.has_members else ()
    if word == "http.header":
        steps = draw(st.sampled_from(_HEADER_STEPS))
    operator = draw(st.sampled_from(field.operators))
    source = _LIKE if operator is Operator.MATCHES else _VALUES[word]
    maximum = 3 if operator is Operator.IN else 1
    values = draw(st.lists(st.sampled_from(source), min_size=1, max_size=maximum))
    return Compare(Path(word, steps), operator, tuple(values))


def _suits(node: Compare) -> bool:
    operator = Operator.IS if node.operator is Operator.IS_NOT else node.operator
    try:
        for value in node.values:
            FIELDS[node.path.field].test(operator, (value,))
    except ValueError:
        return False
    return True


def every_comparison(word: str) -> Iterator[Compare]:
    """Yield each operator of a field with each suitable value, and with paths if the field has any."""
    field = FIELDS[word]
    options = _STEPS if field.type is Type.JSON else (_HEADER_STEPS if field.has_members else ((),))
    for steps in options:
        for operator in field.operators:
            values = _LIKE if operator is Operator.MATCHES else _VALUES[word]
            nodes = [Compare(Path(word, steps), operator, (value,)) for value in values]
            yield from filter(_suits, nodes)
            if operator is Operator.IN:
                yield Compare(Path(word, steps), operator, tuple(n.value for n in nodes if _suits(n)))


_suiting = _comparisons().filter(_suits)
_texts = st.sampled_from(["error", "ä", "/etc", "x y", "a", '"', "tools/call", "LINE\nbreak"]).map(Text)


def _combined(inner: st.SearchStrategy[Node]) -> st.SearchStrategy[Node]:
    several = st.lists(inner, min_size=2, max_size=3).map(tuple)
    return st.one_of(several.map(And), several.map(Or), inner.map(Not))


filters: st.SearchStrategy[Node] = st.recursive(st.one_of(_suiting, _texts), _combined, max_leaves=5)

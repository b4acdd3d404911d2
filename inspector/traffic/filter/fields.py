"""The table of filter fields: meaning, type, and where in a row the value is.

A new field is one row of this table. It is also part of the manual (`manual.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import TypeAlias

from inspector.protocol.revisions import REVISIONS, Era
from inspector.traffic.filter import row_values
from inspector.traffic.filter.predicates import OPERATORS, OfJSON, Type, value_test
from inspector.traffic.filter.row_values import ROOTS, Read
from inspector.traffic.filter.tree import Member, Operator, Path
from inspector.traffic.log import TrafficLog
from inspector.traffic.records import DIRECTION_LABELS, KIND_LABELS, STATUS_ALIASES, STATUS_LABELS


@dataclass(frozen=True, slots=True)
class Coded:
    """A one-byte column; `spellings` maps a code to its words."""

    column: str
    spellings: Callable[[TrafficLog, int], tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class Worded:
    """A column of word indices; if `methods` is given, only for rows with one of them."""

    column: str
    methods: frozenset[str] | None = None


@dataclass(frozen=True, slots=True)
class Named:
    """The column of server numbers."""


@dataclass(frozen=True, slots=True)
class Counted:
    """A numeric column; values below `minimum` mean none, and `shift` is added for display."""

    column: str
    minimum: int = 0
    shift: int = 0


class Special(Enum):
    """Columns that only one field uses."""

    ID = 0
    NUMBER = 1
    TIME = 2
    HTTP_STATUS = 3
    REMARK = 4


@dataclass(frozen=True, slots=True)
class Row:
    """Not in a column: the row itself must be read, if its kind is one of these."""

    kinds: frozenset[int] | None = None


Where: TypeAlias = Coded | Worded | Named | Counted | Special | Row


@dataclass(frozen=True, slots=True)
class Field:
    """A field of the filter language."""

    word: str
    type: Type
    description: str
    example: str
    where: Where
    read: Read
    choices: tuple[str, ...] = ()
    aliases: tuple[str, ...] = ()  # also accepted, but not offered
    has_members: bool = False

    @property
    def operators(self) -> tuple[Operator, ...]:
        """The operators, in manual order."""
        return tuple(operator for operator in Operator if operator in OPERATORS[self.type])

    def test(self, operator: Operator, values: Sequence[str], now_ns: int = 0) -> OfJSON:
        """Return the test of one value of a row. Raises ValueError with a sentence."""
        return value_test(self.type, operator, values, (*self.choices, *self.aliases), now_ns)


_RESOURCE_METHODS = frozenset(
    (
        "resources/read",
        "resources/subscribe",
        "resources/unsubscribe",
        "notifications/resources/updated",
    )
)
_TOOL_METHODS, _PROMPT_METHODS = frozenset(("tools/call",)), frozenset(("prompts/get",))


def _text(
    word: str, description: str, example: str, column: str, read: Callable[[TrafficLog, int], str]
) -> Field:
    return Field(word, Type.TEXT, description, example, Worded(column), row_values.column_of_text(read))


def _subject(word: str, description: str, example: str, methods: frozenset[str]) -> Field:
    return Field(
        word, Type.TEXT, description, example, Worded("subject", methods), row_values.subject_of(methods)
    )


def _json(word: str, description: str, example: str) -> Field:
    return Field(
        word, Type.JSON, description, example, Row(_MESSAGES), row_values.json_path(word), has_members=True
    )


_MESSAGES = frozenset(range(1, 7))
_MAY_BE_ERROR = frozenset((4, 5))


_FIELDS = (
    Field(
        "server",
        Type.TEXT,
        "Server name",
        "server:github",
        Named(),
        row_values.column_of_text(TrafficLog.server_name),
    ),
    _text(
        "method",
        "Method; for a response, that of its request",
        "method:tools/*",
        "method",
        TrafficLog.method,
    ),
    _subject("tool", "Tool being called", "tool=add_issue", _TOOL_METHODS),
    _subject("resource", "Resource being read or subscribed to", "resource:file://*.md", _RESOURCE_METHODS),
    _subject("prompt", "Prompt being requested", "prompt:review", _PROMPT_METHODS),
    _text(
        "subject",
        "Tool, resource, prompt or log level of the message; login for all messages of a login",
        "subject:error",
        "subject",
        TrafficLog.subject,
    ),
    Field(
        "id",
        Type.ID,
        'Id of a request and its response; 7 matches 7 and "7"',
        "id=7",
        Special.ID,
        row_values.id,
    ),
    Field(
        "dir",
        Type.CHOICE,
        "From the server (in) or to it (out)",
        "dir:in",
        Coded("direction", lambda log, code: row_values.words_of_direction(code)),
        row_values.direction,
        tuple(word for word in DIRECTION_LABELS.values() if word),
    ),
    Field(
        "kind",
        Type.CHOICE,
        "Kind of row. Groups: frame (everything sent or received), event (everything else), answer "
        "(result or error)",
        "kind in (result, error)",
        Coded("kind", lambda log, code: row_values.words_of_kind(code)),
        row_values.kind,
        (*KIND_LABELS.values(), "frame", "event", "answer"),
    ),
    Field(
        "status",
        Type.CHOICE,
        'Status of a request, also on its response; status:error also matches "tool error"',
        "status:error",
        Coded("status", lambda log, code: row_values.words_of_status(code)),
        row_values.status,
        tuple(word for word in STATUS_LABELS.values() if word),
        aliases=tuple(STATUS_ALIASES),
    ),
    Field(
        "code",
        Type.NUMBER,
        "JSON-RPC error code",
        "code=-32602",
        Row(_MAY_BE_ERROR),
        row_values.code,
    ),
    Field(
        "dur",
        Type.DURATION,
        "From a request to its response, on both; for an HTTP exchange, its full duration",
        "dur>500ms",
        Counted("duration"),
        row_values.duration,
    ),
    Field("size", Type.SIZE, "Bytes on the wire", "size>10k", Counted("size"), row_values.size),
    Field(
        "time", Type.TIME, "When it was sent or received", "time>14:03", Special.TIME, row_values.wall_time
    ),
    Field(
        "number",
        Type.NUMBER,
        "Row number, as shown in the table",
        "number>=1000",
        Special.NUMBER,
        row_values.number,
    ),
    Field(
        "op",
        Type.NUMBER,
        "Everything that belongs to one operation: the number of its first request",
        "op=12",
        Counted("operation", shift=1),
        row_values.operation,
    ),
    Field("task", Type.TEXT, "Task id", "task:786512e2", Row(_MESSAGES), row_values.task),
    Field(
        "text",
        Type.BODY,
        "Message body only; free text also searches method, subject and problem",
        'text:"not found"',
        Row(),
        lambda source, row, steps: (),
    ),
    _text("problem", "What is wrong with a message", "problem:id", "problem", TrafficLog.problem),
    Field(
        "mark",
        Type.CHOICE,
        "Whether you marked the row",
        "mark:yes",
        Special.REMARK,
        row_values.mark,
        ("yes", "no"),
    ),
    Field(
        "comment",
        Type.TEXT,
        "Your comment on the row",
        "comment:todo",
        Special.REMARK,
        row_values.comment,
    ),
    Field(
        "rev",
        Type.REVISION,
        "Protocol version negotiated at that time",
        "rev>=2025-06-18",
        Coded("revision", lambda log, code: row_values.words_of_revision(_revision(log, code))),
        row_values.revision,
        tuple(map(str, REVISIONS)),
    ),
    Field(
        "era",
        Type.CHOICE,
        "Whether the protocol version has sessions (handshake) or is stateless",
        "era:stateless",
        Coded("revision", lambda log, code: row_values.words_of_era(_revision(log, code))),
        row_values.era,
        tuple(era.value for era in Era),
    ),
    Field(
        "http.status",
        Type.NUMBER,
        "HTTP status of an exchange, also on the messages it carried",
        "http.status:4*",
        Special.HTTP_STATUS,
        row_values.http_status,
    ),
    Field(
        "http.header",
        Type.TEXT,
        "HTTP header as `name: value`; `http.header.NAME` is the value of one header",
        "http.header.content-type:json",
        Row(),
        row_values.http_headers,
        has_members=True,
    ),
    Field("finding", Type.TEXT, "Findings about a row", "finding:*", Row(), row_values.finding),
    _json("params", "Path in the params of a request or notification", "params.cursor:*"),
    _json("args", "Path in the arguments of a call; short for `params.arguments`", 'args.path ~ "^/etc"'),
    _json("result", "Path in a result", "result.content[*].type=image"),
    _json("error", "Path in an error", "error.data.reason:denied"),
    _json("body", "Path in the whole message", "body.jsonrpc!=2.0"),
)

FIELDS = {field.word: field for field in _FIELDS}
assert all(root in FIELDS for root in ROOTS)


def _revision(log: TrafficLog, code: int) -> str:
    return log.revisions[code] if code < len(log.revisions) else ""


def resolve(names: Sequence[str]) -> tuple[Field, int] | None:
    """Return the field with the longest matching dotted name, and how many names it takes."""
    for count in range(len(names), 0, -1):
        field = FIELDS.get(".".join(names[:count]).lower())
        if field is not None:
            return field, count
    return None


def members_problem(path: Path) -> str:
    """Return why a path cannot continue after its field; "" if it can."""
    field = FIELDS[path.word]
    if path.steps and not field.has_members:
        return f"{path.word} has no properties."
    if path.word == "http.header" and (
        len(path.steps) > 1 or not all(isinstance(s, Member) for s in path.steps)
    ):
        return "Expected the name of one header, such as http.header.content-type."
    return ""

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
from inspector.traffic.filter.predicates import OPERATORS, Predicate, Type, value_predicate
from inspector.traffic.filter.row_values import ROOTS, Read
from inspector.traffic.filter.tree import Member, Operator, Path
from inspector.traffic.log import TrafficLog
from inspector.traffic.records import (
    DIRECTION_LABELS,
    KIND_ALIASES,
    KIND_GROUPS,
    KIND_LABELS,
    STATUS_ALIASES,
    STATUS_LABELS,
)


@dataclass(frozen=True, slots=True)
class CodeColumn:
    """A one-byte column; `labels` returns the labels of a code."""

    column: str
    labels: Callable[[TrafficLog, int], tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class TextColumn:
    """A column of string indices; if `methods` is given, only for rows with one of them."""

    column: str
    methods: frozenset[str] | None = None


@dataclass(frozen=True, slots=True)
class ServerColumn:
    """The column of server numbers, compared by server name."""


@dataclass(frozen=True, slots=True)
class NumberColumn:
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
    NOTE = 4


@dataclass(frozen=True, slots=True)
class RowValue:
    """Not in a column: the row must be read, if its kind is one of these."""

    kinds: frozenset[int] | None = None


Where: TypeAlias = CodeColumn | TextColumn | ServerColumn | NumberColumn | Special | RowValue


@dataclass(frozen=True, slots=True)
class Field:
    """A field of the filter language."""

    name: str
    type: Type
    description: str
    example: str
    where: Where
    read: Read
    choices: tuple[str, ...] = ()
    aliases: tuple[str, ...] = ()  # choices that are accepted, but not suggested
    old_names: tuple[str, ...] = ()  # of earlier versions: accepted, but not suggested
    has_members: bool = False

    @property
    def operators(self) -> tuple[Operator, ...]:
        """The operators, in manual order."""
        return tuple(operator for operator in Operator if operator in OPERATORS[self.type])

    def test(self, operator: Operator, values: Sequence[str], now_ns: int = 0) -> Predicate:
        """Return the test of one value of a row. Raises ValueError with a sentence."""
        return value_predicate(self.type, operator, values, (*self.choices, *self.aliases), now_ns)


_RESOURCE_METHODS = frozenset(
    (
        "resources/read",
        "resources/subscribe",
        "resources/unsubscribe",
        "notifications/resources/updated",
    )
)
_TOOL_METHODS, _PROMPT_METHODS = frozenset(("tools/call",)), frozenset(("prompts/get",))

_MESSAGES = frozenset(range(1, 7))
_MAY_BE_ERROR = frozenset((4, 5))


def _text(
    name: str,
    description: str,
    example: str,
    column: str,
    read: Callable[[TrafficLog, int], str],
    old_names: tuple[str, ...] = (),
) -> Field:
    return Field(
        name,
        Type.TEXT,
        description,
        example,
        TextColumn(column),
        row_values.column_of_text(read),
        old_names=old_names,
    )


def _subject(name: str, description: str, example: str, methods: frozenset[str]) -> Field:
    return Field(
        name, Type.TEXT, description, example, TextColumn("subject", methods), row_values.subject_of(methods)
    )


def _json(name: str, description: str, example: str) -> Field:
    return Field(
        name,
        Type.JSON,
        description,
        example,
        RowValue(_MESSAGES),
        row_values.json_path(name),
        has_members=True,
    )


_FIELDS = (
    Field(
        "server",
        Type.TEXT,
        "Server name",
        "server:github",
        ServerColumn(),
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
        'ID of a request and its response; 7 matches 7 and "7"',
        "id=7",
        Special.ID,
        row_values.id,
    ),
    Field(
        "dir",
        Type.CHOICE,
        "From the server (in) or to it (out)",
        "dir:in",
        CodeColumn("direction", lambda log, code: row_values.labels_of_direction(code)),
        row_values.direction,
        tuple(label for label in DIRECTION_LABELS.values() if label),
    ),
    Field(
        "kind",
        Type.CHOICE,
        "Kind of row. Groups: message (everything sent or received), event (everything else), response "
        "(result or error)",
        "kind in (result, error)",
        CodeColumn("kind", lambda log, code: row_values.labels_of_kind(code)),
        row_values.kind,
        (*KIND_LABELS.values(), *KIND_GROUPS),
        aliases=tuple(KIND_ALIASES.values()),
    ),
    Field(
        "status",
        Type.CHOICE,
        "Status of a request, set on its response, too; late: a response to a request that was cancelled or "
        'timed out. status:error also matches "tool error"',
        "status:error",
        CodeColumn("status", lambda log, code: row_values.labels_of_status(code)),
        row_values.status,
        tuple(label for label in STATUS_LABELS.values() if label),
        aliases=tuple(STATUS_ALIASES),
    ),
    Field(
        "code",
        Type.NUMBER,
        "JSON-RPC error code",
        "code=-32602",
        RowValue(_MAY_BE_ERROR),
        row_values.code,
    ),
    Field(
        "dur",
        Type.DURATION,
        "Time from a request to its response; set on both. For an HTTP exchange, its full duration",
        "dur>500ms",
        NumberColumn("duration"),
        row_values.duration,
    ),
    Field("size", Type.SIZE, "Bytes on the wire", "size>10k", NumberColumn("size"), row_values.size),
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
        NumberColumn("operation", shift=1),
        row_values.operation,
    ),
    Field("task", Type.TEXT, "Task ID", "task:786512e2", RowValue(_MESSAGES), row_values.task),
    Field(
        "text",
        Type.BODY,
        "Message body only; free text also searches method, subject and finding",
        'text:"not found"',
        RowValue(),
        lambda log, row, steps: (),
    ),
    _text(
        "finding",
        "Finding about a message, such as a protocol violation",
        "finding:*",
        "problem",
        TrafficLog.problem,
        old_names=("problem",),
    ),
    Field(
        "mark",
        Type.CHOICE,
        "Whether you marked the row",
        "mark:yes",
        Special.NOTE,
        row_values.mark,
        ("yes", "no"),
    ),
    Field(
        "comment",
        Type.TEXT,
        "Your comment on the row",
        "comment:todo",
        Special.NOTE,
        row_values.comment,
    ),
    Field(
        "version",
        Type.REVISION,
        "Protocol version negotiated at that time",
        "version>=2025-06-18",
        CodeColumn("revision", lambda log, code: row_values.labels_of_revision(_revision(log, code))),
        row_values.revision,
        tuple(map(str, REVISIONS)),
        old_names=("rev",),
    ),
    Field(
        "mode",
        Type.CHOICE,
        "Whether the protocol version has sessions or is stateless",
        "mode:stateless",
        CodeColumn("revision", lambda log, code: row_values.labels_of_era(_revision(log, code))),
        row_values.era,
        tuple(era.value for era in Era),
        aliases=("handshake",),
        old_names=("era",),
    ),
    Field(
        "http.status",
        Type.NUMBER,
        "HTTP status of an exchange; set on the messages it carried, too",
        "http.status:4*",
        Special.HTTP_STATUS,
        row_values.http_status,
    ),
    Field(
        "http.header",
        Type.TEXT,
        "HTTP header as `name: value`; `http.header.NAME` is the value of one header",
        "http.header.content-type:json",
        RowValue(),
        row_values.http_headers,
        has_members=True,
    ),
    _json("params", "Path in the params of a request or notification", "params.cursor:*"),
    _json("args", "Path in the arguments of a call; short for `params.arguments`", 'args.path ~ "^/etc"'),
    _json("result", "Path in a result", "result.content[*].type=image"),
    _json("error", "Path in an error", "error.data.reason:denied"),
    _json("body", "Path in the whole message", "body.jsonrpc!=2.0"),
)

FIELDS = {field.name: field for field in _FIELDS}
assert all(root in FIELDS for root in ROOTS)
_BY_NAME = FIELDS | {name: field for field in _FIELDS for name in field.old_names}


def _revision(log: TrafficLog, code: int) -> str:
    return log.revisions[code] if code < len(log.revisions) else ""


def resolve(names: Sequence[str]) -> tuple[Field, int] | None:
    """Return the field with the longest matching dotted name, and how many names it takes.

    Names of earlier versions are accepted, because saved filters and rules may contain them.
    """
    for count in range(len(names), 0, -1):
        field = _BY_NAME.get(".".join(names[:count]).lower())
        if field is not None:
            return field, count
    return None


def path_error(path: Path) -> str:
    """Return why a path cannot continue after its field; "" if it can."""
    field = FIELDS[path.field]
    if path.steps and not field.has_members:
        return f"{path.field} has no properties."
    if path.field == "http.header" and (
        len(path.steps) > 1 or not all(isinstance(s, Member) for s in path.steps)
    ):
        return "Expected the name of one header, such as http.header.content-type."
    return ""

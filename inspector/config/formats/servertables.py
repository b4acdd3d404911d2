"""The servers of one document: each is read by itself, so that a bad one does not cost the others."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TypeAlias

from inspector.base.jsonvalue import JSON, JSONObject, JSONProblem
from inspector.base.units import plural
from inspector.config.finding import FoundServer, InputSpec, Source
from inspector.config.formats.dialects import to_entry
from inspector.config.formats.document import Document
from inspector.config.formats.forms import TablePath, inputs_of, table_at

MOST_SERVERS = 1000
_MOST_LINES = 8  # shown at most
_INPUT = re.compile(r"\$\{input:([^}]+)\}")
_NO_LINES: Mapping[str, list[int]] = {}
_Placed: TypeAlias = tuple[int, InputSpec]  # position in the file, and the input


def servers_at(
    document: Document, path: TablePath, source: Source
) -> tuple[tuple[FoundServer, ...], tuple[str, ...]]:
    """Return the servers of a table, and remarks about it."""
    table = table_at(document.value, path)
    if not isinstance(table, dict):
        return (), (f"“{'.'.join(path)}” must be an object.",)
    try:
        lines = document.lines_of(path)
    except JSONProblem:  # parsed before, so only pathological text gets here
        lines = _NO_LINES
    specs = inputs_of(document.value, path) if path else ()
    inputs = {spec.id: (place, spec) for place, spec in enumerate(specs)}
    items = [(name, raw) for name, raw in table.items() if path or isinstance(raw, dict)]
    servers = tuple(
        _server(name, raw, source, lines.get(name, ()), inputs) for name, raw in items[:MOST_SERVERS]
    )
    too_many = f"Only the first {plural(MOST_SERVERS, 'server')} of {len(items)} are shown."
    return servers, (too_many,) if len(items) > MOST_SERVERS else ()


def _server(
    name: str, raw: JSON, source: Source, lines: Sequence[int], inputs: Mapping[str, _Placed]
) -> FoundServer:
    entry, problem, remarks = to_entry(name, raw, source.tool)
    if len(lines) > 1:
        places = ", ".join(map(str, lines[:_MOST_LINES])) + (", …" if len(lines) > _MOST_LINES else "")
        remarks = (f"Its name is there {len(lines)} times (lines {places}): the last one counts.", *remarks)
    return FoundServer(
        name=name,
        source=source,
        raw=raw if isinstance(raw, dict) else {},
        entry=entry,
        problem=problem,
        remarks=remarks,
        inputs=_in_order([inputs[id] for id in inputs_named(raw) & inputs.keys()]),
        line=lines[-1] if lines else 0,
    )


def _in_order(inputs: list[_Placed]) -> tuple[InputSpec, ...]:
    return tuple(spec for _, spec in sorted(inputs, key=lambda each: each[0]))


def inputs_named(value: JSON) -> set[str]:
    """Return the ids of all `${input:…}` in a value."""
    if isinstance(value, str):
        return set(_INPUT.findall(value))
    children = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return {name for child in children for name in inputs_named(child)}


def as_found(name: str, raw: JSONObject, source: Source) -> FoundServer:
    """Return a single server that is not part of a table."""
    return _server(name, raw, source, (), {})

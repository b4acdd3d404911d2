"""`x-mcp-header`: tool arguments that are mirrored into HTTP headers in the stateless era.

A property of a tool's input schema that carries `"x-mcp-header": "Region"` has its value sent as
`Mcp-Param-Region` too. One annotation that breaks the rules makes the whole tool unusable over HTTP:
"clients MUST exclude the invalid tool from the result of tools/list".
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias

from inspector.base.jsonvalue import JSON, JSONObject, excerpt
from inspector.base.plaintext import one_line
from inspector.protocol.httprules import Headers, encode_header_value, header_text

ANNOTATION = "x-mcp-header"

_TOKEN = re.compile(r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+")  # RFC 9110, section 5.6.2
_TYPES = ("string", "integer", "boolean")

# Keywords whose values are schemas, by the shape of the value. Values that are data (`default`, `examples`,
# `enum`, `const`) are skipped, and references are not followed.
_ARRAY_SCHEMAS = ("items", "additionalItems", "unevaluatedItems", "contains")
_OBJECT_SCHEMAS = ("additionalProperties", "unevaluatedProperties", "propertyNames")
_ONE_SCHEMA = frozenset((*_ARRAY_SCHEMAS, *_OBJECT_SCHEMAS, "not", "if", "then", "else", "contentSchema"))
_LISTS_OF_SCHEMAS = frozenset(("allOf", "anyOf", "oneOf", "prefixItems", "items"))
_MAPS_OF_SCHEMAS = frozenset(
    ("$defs", "definitions", "patternProperties", "dependentSchemas", "dependencies")
)

Path: TypeAlias = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ParamHeaders:
    """The mirrored arguments of a tool: header names, each with the path to its value."""

    paths: tuple[tuple[str, Path], ...] = ()

    def headers_for(self, arguments: JSONObject) -> Headers:
        """Return the headers of a call. Absent, null and non-scalar values have none."""
        found = ((name, header_text(_value_at(path, arguments))) for name, path in self.paths)
        return tuple((name, encode_header_value(text)) for name, text in found if text is not None)


def read_param_headers(schema: JSON) -> ParamHeaders | str:
    """Read the annotations of an input schema; a string is why the tool must be dropped."""
    paths: dict[str, tuple[str, Path]] = {}
    for path, position in _positions(schema):
        if ANNOTATION not in position:
            continue
        name = position[ANNOTATION]
        problem = _problem(path, position, name)
        if problem or path is None or not isinstance(name, str):
            return problem
        if name.lower() in paths:
            return f"{_where(path)}: {ANNOTATION} “{name}” is used twice; upper and lower case are one"
        paths[name.lower()] = (f"Mcp-Param-{name}", path)
    return ParamHeaders(tuple(paths.values()))


def _problem(path: Path | None, position: JSONObject, name: JSON) -> str:
    if not path:
        return f"{ANNOTATION} stands where “properties” alone do not lead from the root of the schema"
    if not isinstance(name, str):
        return f"{_where(path)}: {ANNOTATION} must be a string"
    if not name:
        return f"{_where(path)}: {ANNOTATION} is empty"
    if not _TOKEN.fullmatch(name):
        return f"{_where(path)}: {ANNOTATION} “{_shown(name)}” has characters that no header name may have"
    if position.get("type") not in _TYPES:
        type_ = _shown(position.get("type"))
        return f"{_where(path)}: {ANNOTATION} may stand on a string, integer or boolean, not on type {type_}"
    return ""


def _positions(schema: JSON) -> Iterator[tuple[Path | None, JSONObject]]:
    """Yield every subschema in document order, with its path of property names.

    The path is None below any keyword other than `properties`. Uses an explicit stack: a hostile schema may
    exceed Python's recursion limit.
    """
    stack: list[tuple[Path | None, JSON]] = [((), schema)]
    while stack:
        path, position = stack.pop()
        if isinstance(position, dict):
            yield path, position
            stack += reversed(list(_children(path, position)))


def _children(path: Path | None, schema: JSONObject) -> Iterator[tuple[Path | None, JSON]]:
    for keyword, value in schema.items():
        if keyword == "properties" and isinstance(value, dict):
            for name, child in value.items():
                yield None if path is None else (*path, name), child
        elif keyword in _MAPS_OF_SCHEMAS and isinstance(value, dict):
            yield from ((None, child) for child in value.values())
        elif keyword in _LISTS_OF_SCHEMAS and isinstance(value, list):
            yield from ((None, child) for child in value)
        elif keyword in _ONE_SCHEMA:
            yield None, value


def _value_at(path: Path, arguments: JSONObject) -> JSON:
    here: JSON = arguments
    for name in path:
        here = here.get(name) if isinstance(here, dict) else None
    return here


def _where(path: Path) -> str:
    return f"property “{_shown('.'.join(path))}”"


def _shown(value: JSON) -> str:
    return one_line(excerpt(value, 60))

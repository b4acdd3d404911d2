"""Tool definitions as model APIs take them: Anthropic, OpenAI, Gemini, and MCP itself.

Each API restricts names, descriptions and schemas in its own way. `tool_definitions` returns definitions that
it accepts; what had to be changed for that is in the notes. Numbers keep their spelling.

Sources: Messages API of Anthropic (`tools`), Chat Completions API of OpenAI (`tools`, not strict), Gemini API
v1beta (`FunctionDeclaration`, whose `parameters` are a subset of OpenAPI 3.0 schemas). Schemas come from
untrusted servers: nothing is fetched, and depth and size are bounded.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from inspector.base.json.values import JSON, JSONObject, quote_names, quote_value, shorten
from inspector.protocol.types import Tool, namespaced
from inspector.schema import keywords
from inspector.schema.references import REFERENCES, Document, UnusableSchema
from inspector.schema.tool_names import MAX_GEMINI_NAME_LENGTH, MAX_NAME_LENGTH, offered_names

# By the name on the command line, the name in the interface.
FORMATS = {"anthropic": "Anthropic", "openai": "OpenAI", "gemini": "Gemini", "mcp": "MCP"}

_MAX_OPENAI_DESCRIPTION = 1024  # characters
_MAX_DEPTH = 48
_MAX_PARTS = 5_000  # of one converted schema: references can multiply
_COMBINATIONS = ("allOf", "anyOf", "oneOf")
# OpenAI: a schema must "not have 'oneOf'/'anyOf'/'allOf'/'enum'/'not' at the top level".
_OPENAI_ROOT = (*_COMBINATIONS, "enum", "not")
_PROPERTY_NAME = re.compile(r"[a-zA-Z0-9_.-]{1,64}")
_GEMINI_PROPERTY_NAME = re.compile(r"[a-zA-Z_][a-zA-Z0-9_]{0,63}")
_GEMINI_KEYWORDS = frozenset((
    "type", "format", "title", "description", "nullable", "enum", "maxItems", "minItems", "properties",
    "required", "minProperties", "maxProperties", "minLength", "maxLength", "pattern", "example", "anyOf",
    "propertyOrdering", "default", "items", "minimum", "maximum",
))  # fmt: skip
_GEMINI_TYPES = ("string", "number", "integer", "boolean", "array", "object")
_GEMINI_FORMATS = {
    "string": ("enum", "date-time"),
    "number": ("float", "double"),
    "integer": ("int32", "int64"),
}
# Dropped without a note: they say nothing about a value.
_SILENT = frozenset(("$schema", "$id", "$defs", "definitions", "$comment", "$anchor", "examples"))
_MAPS = ("properties", "patternProperties", "$defs", "definitions", "dependentSchemas")
_SINGLE = ("items", "additionalProperties", "not", "if", "then", "else", "contains", "propertyNames")
_LISTS = ("prefixItems", *_COMBINATIONS)


@dataclass(frozen=True, slots=True)
class ToolDefinition:
    """A tool in the format of a model API. `notes` are sentences about what was changed for it."""

    value: JSONObject
    notes: tuple[str, ...] = ()


def tool_definitions(tools: Sequence[tuple[str, Tool]], format: str) -> Iterator[ToolDefinition]:
    """Yield the definition of each tool, given with the name of its server, in one of the `FORMATS`."""
    limit = MAX_GEMINI_NAME_LENGTH if format == "gemini" else MAX_NAME_LENGTH
    names = offered_names([(server, tool.name) for server, tool in tools], limit)
    make = _MAKERS[format]
    for (server, tool), name in zip(tools, names, strict=True):
        description = tool.description.strip() or tool.title.strip()
        definition = make(name, description or f"Tool {tool.name} of the MCP server {server}.", tool)
        if name != namespaced(server, tool.name):
            original = f"{quote_value(tool.name)} of {quote_value(server)}"
            note = f"{name}: the name was shortened or made unique; it is the tool {original}."
            definition = ToolDefinition(definition.value, (note, *definition.notes))
        yield definition


def tools_text(definitions: Sequence[str], format: str) -> str:
    """Return definitions, each written as JSON, as the `tools` member of a request has them."""
    margin = "    " if format == "gemini" else "  "
    items = ",\n".join(textwrap.indent(text, margin) for text in definitions)
    if format == "gemini":
        return f'[{{"functionDeclarations": [\n{items}\n]}}]' if items else '[{"functionDeclarations": []}]'
    return f"[\n{items}\n]" if items else "[]"


def _anthropic(name: str, description: str, tool: Tool) -> ToolDefinition:
    schema = _Schema(tool, "Anthropic")
    value: JSONObject = {"name": name, "description": description}
    value["input_schema"] = schema.object_root(_COMBINATIONS)
    schema.check_names(_PROPERTY_NAME)
    return ToolDefinition(value, schema.notes(name))


def _openai(name: str, description: str, tool: Tool) -> ToolDefinition:
    schema = _Schema(tool, "OpenAI")
    if len(description) > _MAX_OPENAI_DESCRIPTION:
        schema.changes.append(f"the description was cut at {_MAX_OPENAI_DESCRIPTION:,} characters")
        description = shorten(description, _MAX_OPENAI_DESCRIPTION)
    parameters = schema.with_items(schema.object_root(_OPENAI_ROOT))
    function: JSONObject = {"name": name, "description": description, "parameters": parameters}
    return ToolDefinition({"type": "function", "function": function}, schema.notes(name))


def _gemini(name: str, description: str, tool: Tool) -> ToolDefinition:
    schema = _Schema(tool, "Gemini")
    value: JSONObject = {"name": name, "description": description}
    parameters = schema.openapi(schema.object_root(_COMBINATIONS), 0, ())
    if parameters.get("properties"):  # "for function with no parameters, this can be left unset"
        value["parameters"] = parameters
    schema.check_names(_GEMINI_PROPERTY_NAME)
    return ToolDefinition(value, schema.notes(name))


def _mcp(name: str, description: str, tool: Tool) -> ToolDefinition:
    schema = _Schema(tool, "MCP")
    fixed: JSONObject = {"name": name, "description": description, "inputSchema": schema.object_root(())}
    return ToolDefinition(tool.source | fixed, schema.notes(name))


_MAKERS: dict[str, Callable[[str, str, Tool], ToolDefinition]] = {
    "anthropic": _anthropic,
    "openai": _openai,
    "gemini": _gemini,
    "mcp": _mcp,
}


class _Schema:
    """The input schema of one tool, converted for one API. `changes` lists what was changed."""

    def __init__(self, tool: Tool, api: str) -> None:
        self._api = api
        self._root = tool.input_schema
        self._document = Document(tool.input_schema)
        self._parts = 0
        self._removed: dict[str, None] = {}
        self._property_names: dict[str, None] = {}
        self.changes: list[str] = []
        if not isinstance(tool.source.get("inputSchema"), dict):
            self.changes.append('"inputSchema" is missing; an empty object was used')

    def notes(self, name: str) -> tuple[str, ...]:
        """Return one sentence about the changes, if there are any."""
        changes = list(dict.fromkeys(self.changes))
        if self._removed:
            changes.append(f"left out, as {self._api} does not support it: {', '.join(self._removed)}")
        return (f"{name}: {'; '.join(changes)}.",) if changes else ()

    def check_names(self, allowed: re.Pattern[str]) -> None:
        """Note property names that the API rejects. They cannot be changed: the server expects them."""
        for key in keywords.named(self._root, "properties"):
            self._property_names[key] = None
        if bad := [name for name in self._property_names if not allowed.fullmatch(name)]:
            self.changes.append(f"{self._api} rejects the property names {quote_names(bad)}")

    def object_root(self, unsupported: Sequence[str]) -> JSONObject:
        """Return the schema with the type `object`, without `unsupported` keywords at the top level."""
        root = dict(self._root)
        if self._root and root.get("type") != "object":
            self.changes.append("the type “object” was set at the top level")
        root = root if root.get("type") == "object" else {"type": "object"} | root | {"type": "object"}
        if any(key in root for key in unsupported):
            for key in _COMBINATIONS:
                if key in root and key in unsupported:
                    root = self._merged(root, key)
            root = {key: value for key, value in root.items() if key not in unsupported}
            found = [key for key in unsupported if key in self._root]
            self.changes.append(
                f"removed, as {self._api} does not allow it at the top level: {', '.join(found)}"
            )
        return root if unsupported == () or "properties" in root else root | {"properties": {}}

    def _merged(self, schema: JSONObject, key: str) -> JSONObject:
        """Merge the variants of a combination into the properties: required is what all of them require."""
        variants = [self._target(variant) for variant in keywords.schemas(schema, key)]
        properties = dict(keywords.named(schema, "properties"))
        for variant in variants:
            for name, part in keywords.named(variant, "properties").items():
                before = properties.get(name, part)
                properties[name] = _both(before, part) if key == "allOf" else _either(before, part)
        self._property_names.update(dict.fromkeys(properties))
        needed = [keywords.names(variant, "required") for variant in variants]
        common = (
            frozenset().union(*needed) if key == "allOf" else frozenset.intersection(*needed or [frozenset()])
        )
        required = [*dict.fromkeys([*_strings(schema.get("required")), *sorted(common)])]
        merged = schema | {"properties": properties}
        return merged | {"required": list[JSON](required)} if required else merged

    def _target(self, part: JSON) -> JSONObject:
        """Return a schema, or what it refers to."""
        for _ in range(8):
            if not isinstance(part, dict) or "$ref" not in part:
                break
            try:
                part = self._document.target(part["$ref"])
            except UnusableSchema:
                break
        return part if isinstance(part, dict) else {}

    def with_items(self, part: JSONObject, depth: int = 0) -> JSONObject:
        """Return a schema in which every array has an object as `items`, which OpenAI requires."""
        self._parts += 1
        if depth > _MAX_DEPTH or self._parts > _MAX_PARTS:
            return part
        made = dict(part)
        for key, value in part.items():
            if key in _MAPS and isinstance(value, dict):
                made[key] = {name: self._any_with_items(inner, depth) for name, inner in value.items()}
            elif key in _LISTS and isinstance(value, list):
                made[key] = [self._any_with_items(inner, depth) for inner in value]
            elif key in _SINGLE and isinstance(value, dict):
                made[key] = self.with_items(value, depth + 1)
        if "array" in keywords.types(made) and not isinstance(made.get("items"), dict):
            made["items"] = self._items_of(made)
        return made

    def _any_with_items(self, part: JSON, depth: int) -> JSON:
        if isinstance(part, bool):
            self.changes.append("a schema that is true or false became {}")
            return {}
        return self.with_items(part, depth + 1) if isinstance(part, dict) else part

    def _items_of(self, array: JSONObject) -> JSONObject:
        """Return `items` for an array without: any of the items of a tuple, else anything."""
        self.changes.append("“items” was added to an array without")
        variants = keywords.schemas(array, "items") or keywords.schemas(array, "prefixItems")
        return {"anyOf": variants} if variants else {}

    def openapi(self, part: JSON, depth: int, trail: tuple[str, ...]) -> JSONObject:
        """Return a schema with the keywords that Gemini supports. `trail` are the references followed."""
        self._parts += 1
        if depth > _MAX_DEPTH or self._parts > _MAX_PARTS:
            self.changes.append("parts that are too deep or too large were left out")
            return {"type": "object"}
        if not isinstance(part, dict):
            return self._untyped({})
        part = _without_null(part)
        reference = next((part[key] for key in REFERENCES if key in part), None)
        if reference is not None:
            return self._inlined(part, reference, depth, trail)
        for key in ("allOf", "oneOf"):
            if key in part:
                part = self._without_combination(part, key)
        return self._supported(part, depth, trail)

    def _inlined(self, part: JSONObject, reference: JSON, depth: int, trail: tuple[str, ...]) -> JSONObject:
        """Replace a reference by its target; Gemini has none. A recursive one ends as an object."""
        rest = {key: value for key, value in part.items() if key not in REFERENCES}
        try:
            target = self._document.target(reference)
        except UnusableSchema as exc:
            self.changes.append(str(exc).rstrip("."))
            return self._supported(rest, depth, trail)
        name = str(reference)
        if name in trail:
            self.changes.append(f"the recursion of {shorten(name, 60)} was cut")
            return {"type": "object"}
        return self.openapi((target | rest) if isinstance(target, dict) else rest, depth + 1, (*trail, name))

    def _without_combination(self, part: JSONObject, key: str) -> JSONObject:
        """Merge `allOf`; write `oneOf` as `anyOf`."""
        rest = {name: value for name, value in part.items() if name != key}
        if key == "oneOf":
            self.changes.append("oneOf was written as anyOf")
            return rest | {"anyOf": [*keywords.schemas(part, "anyOf"), *keywords.schemas(part, key)]}
        merged = self._merged(part, key)
        others: JSONObject = {}
        for variant in keywords.schemas(part, key):
            others |= self._target(variant)
        return {**others, **{name: value for name, value in merged.items() if name != key}}

    def _supported(self, part: JSONObject, depth: int, trail: tuple[str, ...]) -> JSONObject:
        part = self._with_single_type(self._with_enum(part))
        if "array" in keywords.types(part) and not isinstance(part.get("items"), dict):
            part = part | {"items": self._items_of(part) or {"type": "string"}}
        made: JSONObject = {}
        for key, value in part.items():
            if key not in _GEMINI_KEYWORDS:
                if key not in _SILENT:
                    self._removed[key] = None
            elif key == "properties":
                properties = keywords.named(part, key)
                self._property_names.update(dict.fromkeys(properties))
                made[key] = {name: self.openapi(each, depth + 1, trail) for name, each in properties.items()}
            elif key == "items":
                made[key] = self.openapi(value, depth + 1, trail)
            elif key == "anyOf":
                made[key] = [self.openapi(each, depth + 1, trail) for each in keywords.schemas(part, key)]
            else:
                made[key] = value
        return self._consistent(made)

    def _consistent(self, made: JSONObject) -> JSONObject:
        """Drop what Gemini rejects in a schema of this type."""
        made = {key: value for key, value in made.items() if value or key not in ("properties", "anyOf")}
        kind = made.get("type")
        if "format" in made and made["format"] not in _GEMINI_FORMATS.get(str(kind), ()):
            self._removed[f"format {shorten(str(made['format']), 40)}"] = None
            made = {key: value for key, value in made.items() if key != "format"}
        if "required" in made:
            known = keywords.named(made, "properties")
            required = [name for name in _strings(made["required"]) if name in known]
            made = {key: value for key, value in made.items() if key != "required"}
            made |= {"required": list[JSON](required)} if required else {}
        return made if "type" in made or "anyOf" in made else self._untyped(made)

    def _untyped(self, part: JSONObject) -> JSONObject:
        """Set a type, which Gemini requires."""
        implied = keywords.implied_types(part)
        if not implied and "enum" not in part:
            self.changes.append("a value without a type became a string")
        allowed = {key: value for key, value in part.items() if key in _GEMINI_KEYWORDS}
        return {"type": implied[0] if implied else "string"} | allowed

    def _with_enum(self, part: JSONObject) -> JSONObject:
        """Write `const` as an `enum`, of which Gemini supports strings only."""
        if "const" in part:
            part = {key: value for key, value in part.items() if key != "const"} | {"enum": [part["const"]]}
        if "enum" not in part:
            return part
        values = keywords.schemas(part, "enum")
        texts: list[JSON] = [value for value in values if isinstance(value, str)]
        part = {key: value for key, value in part.items() if key != "enum"}
        if None in values:
            part["nullable"] = True
        if len(texts) + values.count(None) < len(values):
            self._removed["enum of values that are not strings"] = None
            return part if "type" in part else part | {"type": _type_of(values)}
        return part | {"type": "string", "enum": texts} if texts else part

    def _with_single_type(self, part: JSONObject) -> JSONObject:
        """Write several types as `anyOf`, and null as `nullable`."""
        types = keywords.types(part)
        names = [name for name in dict.fromkeys(types) if name in _GEMINI_TYPES]
        part = {key: value for key, value in part.items() if key != "type"}
        if "null" in types:
            part["nullable"] = True
        if len(names) > 1 and "anyOf" not in part:
            return part | {"anyOf": [{"type": name} for name in names]}
        return {"type": names[0], **part} if len(names) == 1 else part


def _without_null(part: JSONObject) -> JSONObject:
    """Write a variant that is null as `nullable`; the variant that is left alone replaces the union."""
    key = next((key for key in ("anyOf", "oneOf") if {"type": "null"} in keywords.schemas(part, key)), "")
    if not key:
        return part
    variants = [variant for variant in keywords.schemas(part, key) if variant != {"type": "null"}]
    rest = {name: value for name, value in part.items() if name != key} | {"nullable": True}
    alone = variants[0] if len(variants) == 1 else None
    return {**alone, **rest} if isinstance(alone, dict) else rest | {key: variants}


def _both(one: JSON, other: JSON) -> JSON:
    return one | other if isinstance(one, dict) and isinstance(other, dict) else other


def _either(one: JSON, other: JSON) -> JSON:
    if one == other:
        return one
    variants = one["anyOf"] if isinstance(one, dict) and list(one) == ["anyOf"] else [one]
    assert isinstance(variants, list)
    return {"anyOf": variants if other in variants else [*variants, other]}


def _type_of(values: Sequence[JSON]) -> str:
    if all(isinstance(value, bool) for value in values):
        return "boolean"
    if all(isinstance(value, int) for value in values):
        return "integer"
    return "number" if all(isinstance(value, int | float) for value in values) else "string"


def _strings(value: JSON) -> list[str]:
    return [item for item in value if isinstance(item, str)] if isinstance(value, list) else []

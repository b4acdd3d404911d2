"""Tools for every kind of argument, which echo what arrived, for trying out argument forms."""

from __future__ import annotations

import json

from inspector.demo.toolbox import Call, DemoTool, Outcome, Schema, schema, structured, text, tool

NUMBER: Schema = {"type": "number"}
STRING: Schema = {"type": "string"}

SIMPLE = schema(
    ["text", "whole"],
    text={
        "type": "string",
        "title": "Text",
        "description": "One to forty characters.",
        "minLength": 1,
        "maxLength": 40,
    },
    whole={"type": "integer", "description": "Integer from 0 to 100.", "minimum": 0, "maximum": 100},
    real={"type": "number", "description": "Any number greater than 0.", "exclusiveMinimum": 0},
    flag={"type": "boolean", "description": "True or false."},
)

NESTED = schema(
    ["person"],
    person=schema(
        ["name", "address"],
        name={**STRING, "description": "Full name."},
        address=schema(
            ["city"],
            street=STRING,
            city=STRING,
            position=schema(
                ["latitude", "longitude"],
                latitude={**NUMBER, "minimum": -90, "maximum": 90},
                longitude={**NUMBER, "minimum": -180, "maximum": 180},
            ),
        ),
    ),
)

UNION = schema(
    ["target"],
    target={
        "description": "Where to look: a file, a web page, or a line range in a file.",
        "oneOf": [
            schema(["kind", "path"], kind={"const": "file"}, path=STRING) | {"title": "File"},
            schema(["kind", "url"], kind={"const": "web"}, url={**STRING, "format": "uri"})
            | {"title": "Web page"},
            schema(
                ["kind", "path", "first", "last"],
                kind={"const": "lines"},
                path=STRING,
                first={"type": "integer", "minimum": 1},
                last={"type": "integer", "minimum": 1},
            )
            | {"title": "Line range"},
        ],
    },
    limit={
        "description": "Maximum number of results: an integer, or the string “all”.",
        "anyOf": [{"type": "integer", "minimum": 1}, {"const": "all"}],
        "default": "all",
    },
)

ENUM = schema(
    ["color"],
    color={"type": "string", "enum": ["red", "green", "blue"], "description": "One of three values."},
    size={
        "type": "string",
        "description": "One of three values, each with a title.",
        "oneOf": [
            {"const": "s", "title": "Small"},
            {"const": "m", "title": "Medium"},
            {"const": "l", "title": "Large"},
        ],
        "default": "m",
    },
    level={"type": "integer", "enum": [1, 2, 3, 5, 8], "description": "An enum of integers."},
    toppings={
        "type": "array",
        "items": {"type": "string", "enum": ["cheese", "mushrooms", "olives", "onions"]},
        "uniqueItems": True,
        "description": "Any of four values, without duplicates.",
    },
)

ARRAY = schema(
    ["tags"],
    tags={
        "type": "array",
        "items": STRING,
        "minItems": 1,
        "maxItems": 5,
        "description": "One to five words.",
    },
    points={
        "type": "array",
        "items": schema(["x", "y"], x=NUMBER, y=NUMBER, label=STRING),
        "description": "Points in the plane.",
    },
    matrix={"type": "array", "items": {"type": "array", "items": NUMBER}, "description": "Rows of numbers."},
)

OPTIONAL = schema(
    ["name"],
    name={**STRING, "description": "The only required property."},
    note={**STRING, "description": "Optional: omitting it differs from an empty string."},
    nickname={"type": ["string", "null"], "description": "Nullable."},
    age={
        "anyOf": [{"type": "integer", "minimum": 0}, {"type": "null"}],
        "default": None,
        "description": "Nullable.",
    },
    language={**STRING, "default": "en", "description": "Defaults to English."},
    retries={"type": "integer", "default": 3, "minimum": 0, "maximum": 10},
    verbose={"type": "boolean", "default": False},
    labels={"type": "array", "items": STRING, "default": ["new"]},
)

FORMATS = schema(
    day={**STRING, "format": "date"},
    moment={**STRING, "format": "date-time"},
    email={**STRING, "format": "email"},
    link={**STRING, "format": "uri"},
    code={
        **STRING,
        "pattern": "^[A-Z]{2}-[0-9]{3}$",
        "examples": ["AB-123"],
        "description": "Example: AB-123",
    },
    script={**STRING, "contentMediaType": "text/x-python", "description": "Multi-line text."},
)

TREE: Schema = {
    "type": "object",
    "properties": {"root": {"$ref": "#/$defs/node"}},
    "required": ["root"],
    "additionalProperties": False,
    "$defs": {
        "node": schema(
            ["name"],
            name=STRING,
            children={"type": "array", "items": {"$ref": "#/$defs/node"}, "default": []},
        )
    },
}

ANYTHING: Schema = {"type": "object", "additionalProperties": True}


async def _echo_text(call: Call) -> Outcome:
    return text("Received:\n" + json.dumps(call.arguments, ensure_ascii=False, indent=2))


async def _echo(call: Call) -> Outcome:
    return text(call.arguments["message"])


async def _add(call: Call) -> Outcome:
    return structured({"sum": call.arguments["a"] + call.arguments["b"]})


def argument_tools() -> list[DemoTool]:
    message = schema(["message"], message=STRING)
    two_numbers = schema(["a", "b"], a=NUMBER, b=NUMBER)
    total = schema(["sum"], sum=NUMBER)
    return [
        tool("echo", "Echo", "Returns the message.", _echo, message),
        tool("add_numbers", "Add numbers", "Adds two numbers.", _add, two_numbers, output_schema=total),
        tool("args_none", "No arguments", "Takes no arguments.", _echo_text),
        tool(
            "args_simple",
            "Simple arguments",
            "A string, an integer, a number and a boolean.",
            _echo_text,
            SIMPLE,
        ),
        tool("args_nested", "Nested arguments", "Objects nested in objects.", _echo_text, NESTED),
        tool("args_union", "Union arguments", "oneOf with a discriminator, and anyOf.", _echo_text, UNION),
        tool("args_enum", "Enumerations", "Plain, titled, numeric and multi-select enums.", _echo_text, ENUM),
        tool("args_array", "Arrays", "Arrays of strings, of objects and of arrays.", _echo_text, ARRAY),
        tool(
            "args_optional",
            "Optional arguments",
            "Optional properties, nullable properties and defaults.",
            _echo_text,
            OPTIONAL,
        ),
        tool(
            "args_formats",
            "String formats",
            "Dates, an email address, a URI, a pattern and long text.",
            _echo_text,
            FORMATS,
        ),
        tool(
            "args_recursive",
            "Recursive arguments",
            "A tree whose schema references itself with $ref.",
            _echo_text,
            TREE,
        ),
        tool(
            "args_anything",
            "Any arguments",
            "An object whose schema describes no properties.",
            _echo_text,
            ANYTHING,
        ),
    ]

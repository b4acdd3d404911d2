"""Tools for every kind of argument, which echo what arrived, and for every kind of content.

The first group is for trying out argument forms, the second (`result_tools`) for result views.
"""

from __future__ import annotations

import json

import mcp_types as types

from inspector.demo.everything.resources import CITIES, as_base64, png, wav
from inspector.demo.toolbox import Call, DemoTool, Outcome, Schema, failure, schema, structured, text, tool

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
        "description": "For example AB-123.",
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


_FORECAST = schema(
    ["city", "temperature", "conditions", "days"],
    city=STRING,
    temperature={**NUMBER, "description": "Degrees Celsius."},
    conditions={"type": "string", "enum": ["sunny", "cloudy", "rain"]},
    days={"type": "array", "items": schema(["day", "high", "low"], day=STRING, high=NUMBER, low=NUMBER)},
)


def _image() -> types.ImageContent:
    return types.ImageContent(data=as_base64(png()), mime_type="image/png")


def _audio() -> types.AudioContent:
    return types.AudioContent(data=as_base64(wav()), mime_type="audio/wav")


def _link() -> types.ResourceLink:
    return types.ResourceLink(
        uri="demo://readme",
        name="readme",
        title="About this server",
        description="A link: read it with resources/read.",
        mime_type="text/markdown",
    )


def _embedded() -> types.EmbeddedResource:
    contents = types.TextResourceContents(
        uri="demo://notes/embedded",
        mime_type="text/markdown",
        text="# Embedded\n\nThis came *inside* the result.",
    )
    return types.EmbeddedResource(
        resource=contents, annotations=types.Annotations(audience=["user"], priority=0.8)
    )


async def _return_text(call: Call) -> Outcome:
    return text(*(f"Block {number} of text." for number in range(1, call.arguments["blocks"] + 1)))


async def _return_image(call: Call) -> Outcome:
    return types.CallToolResult(content=[_image()])


async def _return_audio(call: Call) -> Outcome:
    return types.CallToolResult(content=[_audio()])


async def _return_link(call: Call) -> Outcome:
    return types.CallToolResult(content=[_link()])


async def _return_embedded(call: Call) -> Outcome:
    blob = types.BlobResourceContents(uri="demo://logo.png", mime_type="image/png", blob=as_base64(png()))
    return types.CallToolResult(content=[_embedded(), types.EmbeddedResource(resource=blob)])


async def _return_mixed(call: Call) -> Outcome:
    text = types.TextContent(text="One of each:")
    return types.CallToolResult(content=[text, _image(), _audio(), _link(), _embedded()])


async def _forecast(call: Call) -> Outcome:
    city = call.arguments["city"]
    if city not in CITIES:
        return failure(f"No forecast for {city!r}. Known cities: {', '.join(CITIES)}.")
    base = float(CITIES[city]["temperature"])
    days = [
        {"day": day, "high": base + step, "low": base - 6 + step}
        for step, day in enumerate(("today", "tomorrow", "the day after"))
    ]
    return structured({"city": city, "temperature": base, "conditions": "sunny", "days": days})


def result_tools() -> list[DemoTool]:
    blocks = schema(blocks={"type": "integer", "default": 1, "minimum": 1, "maximum": 50})
    city = schema(["city"], city={"type": "string", "description": "For example Lisbon."})
    return [
        tool("return_text", "Text", "One or more blocks of text.", _return_text, blocks),
        tool("return_image", "Image", "A small PNG.", _return_image),
        tool("return_audio", "Audio", "A short WAV tone.", _return_audio),
        tool("return_resource_link", "Resource link", "A link to a resource of this server.", _return_link),
        tool(
            "return_embedded",
            "Embedded resources",
            "One text resource and one binary resource.",
            _return_embedded,
        ),
        tool("return_mixed", "Mixed content", "Every content type in one result.", _return_mixed),
        tool(
            "forecast",
            "Forecast",
            "Structured content with an output schema.",
            _forecast,
            city,
            output_schema=_FORECAST,
        ),
    ]

"""Tools that return every kind of content, for trying out result views."""

from __future__ import annotations

import mcp_types as types

from inspector.demo.everything.argument_tools import NUMBER, STRING
from inspector.demo.everything.resources import CITIES, as_base64, png, wav
from inspector.demo.toolbox import Call, DemoTool, Outcome, failure, schema, structured, text, tool

_FORECAST = schema(
    ["city", "temperature", "conditions", "days"],
    city=STRING,
    temperature={**NUMBER, "description": "Degrees Celsius."},
    conditions={"type": "string", "enum": ["sunny", "cloudy", "rain"]},
    days={"type": "array", "items": schema(["day", "high", "low"], day=STRING, high=NUMBER, low=NUMBER)},
)


def result_tools() -> list[DemoTool]:
    blocks = schema(blocks={"type": "integer", "default": 1, "minimum": 1, "maximum": 50})
    city = schema(["city"], city={"type": "string", "description": "Example: Lisbon"})
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
            "Returns structured content that matches the output schema.",
            _forecast,
            city,
            output_schema=_FORECAST,
        ),
    ]


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

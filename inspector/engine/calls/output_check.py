"""Validation of a tool result against the tool's `outputSchema`.

Schema and result are both untrusted, and a schema can be made to evaluate forever: `check_packed` runs in
the worker process under a time limit. References are never fetched.
"""

from __future__ import annotations

import pickle
from dataclasses import dataclass
from enum import Enum

from inspector.base.json.values import JSON, JSONError, JSONObject, parse, shorten
from inspector.base.plain_text import one_line
from inspector.base.units import plural
from inspector.protocol.jsonrpc import Kind, read, with_exact_numbers
from inspector.schema.validation import validate

MAX_DIFFERENCES = 100
TIME_LIMIT = 5.0
_MAX_MESSAGE_LENGTH = 300
_MAX_LISTED = 5


class OutputState(Enum):
    """Result of an output check; the values are display text."""

    NOT_DECLARED = "no output schema"
    FITS = "matches the output schema"
    DIFFERS = "does not match the output schema"
    MISSING = "structured content is missing"
    NOT_EXPECTED = "no structured content (allowed for errors)"  # isError, or no result
    UNCHECKED = "not checked"


@dataclass(frozen=True, slots=True)
class Difference:
    """A schema violation.

    `pointer` is a JSON pointer into the structured content; "" is all of it. `message` completes a sentence
    that starts with the location.
    """

    pointer: str
    message: str


@dataclass(frozen=True, slots=True)
class OutputCheck:
    """Result of validating structured content.

    `reason` says why all or part of it was not checked. `notes` are about things that are allowed but not
    recommended. Each is a sentence.
    """

    state: OutputState
    differences: tuple[Difference, ...] = ()
    has_more: bool = False  # more than listed
    reason: str = ""
    notes: tuple[str, ...] = ()


def pack(response: bytes, output_schema: JSON) -> bytes:
    """Return the input of `check_packed`; `output_schema` is None if none is declared."""
    return pickle.dumps((response, output_schema))


def check_packed(data: bytes) -> OutputCheck:
    response, schema = pickle.loads(data)  # noqa: S301  # packed by ourselves, a moment ago
    return check_output(response, schema)


def check_output(response: bytes, output_schema: JSON) -> OutputCheck:
    """Check a tools/call response against the tool's schema. Never raises for its content."""
    try:
        message = with_exact_numbers(read(response))
        result: JSONObject = {"isError": True} if message.kind is Kind.ERROR else message.result
    except JSONError as exc:
        return OutputCheck(OutputState.UNCHECKED, reason=f"Could not parse the response: {exc}.")
    has_content = "structuredContent" in result
    notes = _mirror_remarks(result) if has_content else ()
    if output_schema is None:
        return OutputCheck(OutputState.NOT_DECLARED, notes=notes)
    if not has_content:
        is_error = result.get("isError") is True
        return OutputCheck(OutputState.NOT_EXPECTED if is_error else OutputState.MISSING)
    verdict = validate(output_schema, result["structuredContent"])
    found = [Difference(error.pointer, _cut(error.problem)) for error in verdict.errors]
    if not found and verdict.unchecked:
        return OutputCheck(OutputState.UNCHECKED, reason=verdict.unchecked, notes=notes)
    return OutputCheck(
        OutputState.DIFFERS if found else OutputState.FITS,
        tuple(found[:MAX_DIFFERENCES]),
        len(found) > MAX_DIFFERENCES,
        verdict.unchecked,
        notes,
    )


def check_text(check: OutputCheck) -> str:
    """Return what is wrong, place by place; "" if nothing is."""
    match check.state:
        case OutputState.DIFFERS:
            text = _differences(check)
        case OutputState.MISSING:
            text = "The tool declares an outputSchema, but this result has no structured content."
        case OutputState.UNCHECKED:
            text = "The structured content was not checked."
        case _:
            text = ""
    return " ".join(part for part in (text, check.reason) if part)


def _differences(check: OutputCheck) -> str:
    count = len(check.differences)
    counted = f"more than {MAX_DIFFERENCES} places" if check.has_more else plural(count, "place")
    listed = "\n".join(f"•  {_difference_text(each)}" for each in check.differences[:_MAX_LISTED])
    rest = f"\n…  and {count - _MAX_LISTED:,} more" if count > _MAX_LISTED else ""
    return f"Structured content does not match the output schema in {counted}:\n{listed}{rest}"


def _difference_text(difference: Difference) -> str:
    position = one_line(shorten(difference.pointer, 80)) or "entire value"
    return f"{position}: {one_line(difference.message)}"


def _cut(text: str) -> str:
    return shorten(one_line(text[: 2 * _MAX_MESSAGE_LENGTH]), _MAX_MESSAGE_LENGTH)


def _mirror_remarks(result: JSONObject) -> tuple[str, ...]:
    """Check for a text copy of the structured content.

    "For backwards compatibility, a tool that returns structured content SHOULD also return the serialized
    JSON in a TextContent block." (2025-06-18, Tools.)
    """
    content = result.get("content")
    texts = (
        [text for block in content if (text := _text_of(block)) is not None]
        if isinstance(content, list)
        else []
    )
    if not texts:
        return ("No text block repeats the structured content; older clients do not see it.",)
    if any(_is_mirror(text, result["structuredContent"]) for text in texts):
        return ()
    return ("No text block repeats the structured content as JSON; older clients see something else.",)


def _text_of(block: JSON) -> str | None:
    text = block.get("text") if isinstance(block, dict) and block.get("type") == "text" else None
    return text if isinstance(text, str) else None


def _is_mirror(text: str, value: JSON) -> bool:
    try:
        return parse(text) == value
    except (JSONError, RecursionError):
        return False

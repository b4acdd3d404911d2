"""What is said about structured content: whether it is what the tool's output schema promises."""

from __future__ import annotations

from inspector.base.jsonvalue import shorten
from inspector.base.plaintext import one_line
from inspector.base.units import plural
from inspector.engine.outputcheck import MOST_DIFFERENCES, Difference, OutputCheck, OutputState
from inspector.qt.theme import Tone

_MOST_NAMED = 5
_BADGES: dict[OutputState, tuple[str, Tone]] = {
    OutputState.FITS: ("fits schema", "ok"),
    OutputState.DIFFERS: ("differs from schema", "warn"),
    OutputState.MISSING: ("not structured", "warn"),
    OutputState.UNCHECKED: ("schema not checked", "muted"),
}


def check_badge(check: OutputCheck) -> tuple[str, Tone]:
    """Return a short label; "" if there is nothing to report."""
    return _BADGES.get(check.state, ("", "muted"))


def check_sentence(check: OutputCheck) -> str:
    """Return what is wrong, place by place; "" if nothing is."""
    match check.state:
        case OutputState.DIFFERS:
            words = _differences(check)
        case OutputState.MISSING:
            words = "The tool promises structured content (outputSchema), and this result has none."
        case OutputState.UNCHECKED:
            words = "The structured content was not checked."
        case _:
            words = ""
    return " ".join(part for part in (words, check.reason) if part)


def _differences(check: OutputCheck) -> str:
    count = len(check.differences)
    counted = f"more than {MOST_DIFFERENCES} places" if check.has_more else plural(count, "place")
    named = "\n".join(f"•  {_named(each)}" for each in check.differences[:_MOST_NAMED])
    rest = f"\n…  and {count - _MOST_NAMED:,} more" if count > _MOST_NAMED else ""
    return f"Structured content differs from the output schema in {counted}:\n{named}{rest}"


def _named(difference: Difference) -> str:
    place = one_line(shorten(difference.pointer, 80)) or "the whole value"
    return f"{place}: {one_line(difference.message)}"

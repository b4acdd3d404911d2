"""A frame laid out for a glance: pretty JSON, or the text that it is. A pure function of bytes.

It runs on the engine's thread for small frames and in the worker process for big ones, so what it gives is
bounded: the head of the text, with its whole length.
"""

from __future__ import annotations

from dataclasses import dataclass

from inspector.base.jsonpretty import reindent
from inspector.base.jsonvalue import JSONProblem, parse

HEAD = 1024 * 1024


@dataclass(frozen=True, slots=True)
class PrettyText:
    """The first part of a text of `length` characters; `problem` says why it is not JSON."""

    text: str
    length: int
    is_json: bool
    problem: str = ""


def pretty_text(raw: bytes) -> PrettyText:
    """Return a message indented if it is JSON, else as it came."""
    text = raw.decode(errors="replace").removeprefix("\ufeff")
    try:
        parse(text)
    except JSONProblem as exc:
        if not exc.is_too_deep:
            return PrettyText(text[:HEAD], len(text), is_json=False, problem=str(exc))
    shown = reindent(text, HEAD)
    return PrettyText(shown[:HEAD], max(len(text), len(shown)), is_json=True)

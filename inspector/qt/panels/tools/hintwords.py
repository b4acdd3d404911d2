"""What a tool's annotations say, as a few words with a tip each."""

from __future__ import annotations

from dataclasses import dataclass

from inspector.engine.toolhints import ToolHints
from inspector.qt.theme import Tone


@dataclass(frozen=True, slots=True)
class HintWord:
    text: str
    tip: str
    tone: Tone = "muted"


_CLAIM = "The server's claim, which nobody has checked."


def hint_words(hints: ToolHints) -> list[HintWord]:
    """Return the tool's claims; without any, one entry with the specification's defaults."""
    words = [*_changing(hints), *_world(hints)]
    rest = _defaults(hints)
    if not words:
        return [HintWord("no hints", f"The tool says nothing about what it does. {rest}")]
    return [HintWord(word.text, f"{word.tip} {_CLAIM} {rest}".strip(), word.tone) for word in words]


def _changing(hints: ToolHints) -> list[HintWord]:
    if hints.is_read_only:
        return [HintWord("read-only", "It changes nothing (readOnlyHint).", "ok")]
    words = []
    if hints.destructive is True:
        words.append(HintWord("destructive", "It may delete or overwrite (destructiveHint).", "warn"))
    elif hints.destructive is False:
        words.append(HintWord("additive", "It adds, and destroys nothing (destructiveHint is false)."))
    if hints.idempotent is True:
        tip = "Calling it again with the same arguments changes nothing more (idempotentHint)."
        words.append(HintWord("idempotent", tip))
    return words


def _world(hints: ToolHints) -> list[HintWord]:
    if hints.open_world is None:
        return []
    if hints.open_world:
        return [HintWord("open world", "It reaches things outside, such as the web (openWorldHint).")]
    return [HintWord("closed world", "It stays within what the server has (openWorldHint is false).")]


def _defaults(hints: ToolHints) -> str:
    """Return what the specification says about the missing hints."""
    unsaid = []
    if not hints.is_read_only:
        unsaid += ["it may change things"] if hints.read_only is None else []
        unsaid += ["it may destroy"] if hints.destructive is None else []
        unsaid += ["it is not idempotent"] if hints.idempotent is None else []
    unsaid += ["it is open world"] if hints.open_world is None else []
    return f"By the specification's defaults, {', '.join(unsaid)}." if unsaid else ""

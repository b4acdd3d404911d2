"""What prompts say about themselves."""

from __future__ import annotations

from inspector.base.units import plural
from inspector.protocol.types import Prompt
from inspector.qt.models.offered import Describe, Item


def _name(item: Item) -> str:
    return item.name if isinstance(item, Prompt) else ""


def _note(item: Item) -> str:
    """Return the number of arguments; computed only for visible rows."""
    arguments = item.source.get("arguments") if isinstance(item, Prompt) else None
    return plural(len(arguments), "argument") if isinstance(arguments, list) and arguments else ""


def _rest(item: Item) -> str:
    return f"{item.title}\n{item.description}" if isinstance(item, Prompt) else ""


PROMPTS = Describe(_name, _name, _note, _rest)

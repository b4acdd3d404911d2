"""What is different in a list that was fetched again: the same words for tools, resources and prompts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from inspector.base.jsonvalue import JSONObject, shorten
from inspector.base.plaintext import one_line

# A list as it was: each item by what names it (a tool's name, a resource's URI), as it was sent.
Sources: TypeAlias = Mapping[str, JSONObject]

_MOST_NAMED = 3
_LONGEST_NAME = 40


@dataclass(frozen=True, slots=True)
class ListNews:
    """The names of what was added, removed and changed. False when nothing was."""

    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.added or self.removed or self.changed)

    def sentence(self) -> str:
        """`2 added: a, b. 1 removed: c.`"""
        parts = (("added", self.added), ("removed", self.removed), ("changed", self.changed))
        return " ".join(f"{len(names):,} {word}: {_named(names)}." for word, names in parts if names)


def list_news(before: Sources, after: Sources) -> ListNews:
    """What became of a list."""
    return ListNews(
        tuple(name for name in after if name not in before),
        tuple(name for name in before if name not in after),
        tuple(name for name, source in after.items() if name in before and before[name] != source),
    )


def _named(names: Sequence[str]) -> str:
    shown = [one_line(shorten(name, _LONGEST_NAME)) for name in names[:_MOST_NAMED]]
    rest = len(names) - len(shown)
    return ", ".join(shown) + (f" and {rest:,} more" if rest else "")

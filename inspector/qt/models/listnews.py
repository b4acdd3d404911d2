"""What is different in a list that was fetched again: the same words for tools, resources and prompts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from inspector.base.jsonvalue import JSONObject, shorten
from inspector.base.plaintext import one_line

_MOST_NAMED = 3
_LONGEST_NAME = 40
_SLICE = 200


@dataclass(frozen=True, slots=True)
class ListNews:
    """The names of the added, removed and changed items of a list. Falsy if nothing changed."""

    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.added or self.removed or self.changed)

    def then(self, later: ListNews) -> ListNews:
        """Merge with a later change."""
        came, went = {*self.added}, {*self.removed}
        back = tuple(name for name in later.added if name in went)  # it may not be as it was
        new = tuple(name for name in later.added if name not in went)
        gone, now_gone = {*later.removed}, tuple(name for name in later.removed if name not in came)
        changed = dict.fromkeys((*self.changed, *back, *later.changed))
        return ListNews(
            (*(name for name in self.added if name not in gone), *new),
            (*(name for name in self.removed if name not in {*back}), *now_gone),
            tuple(name for name in changed if name not in gone and name not in came),
        )

    def sentence(self) -> str:
        """Return a summary such as `2 added: a, b. 1 removed: c.`."""
        parts = (("added", self.added), ("removed", self.removed), ("changed", self.changed))
        return " ".join(f"{len(names):,} {word}: {_named(names)}." for word, names in parts if names)


def news_slices(
    before: Iterable[tuple[str, JSONObject]], after: Iterable[tuple[str, JSONObject]]
) -> Iterator[ListNews | None]:
    """Compare two lists of (name, source) in slices; yields None until the result is known.

    Of several items with the same name the first one is used, as everywhere.
    """
    old: dict[str, JSONObject] = {}
    seen: set[str] = set()
    added: list[str] = []
    changed: list[str] = []
    for count, (name, source) in enumerate(before, 1):
        old.setdefault(name, source)
        if count % _SLICE == 0:
            yield None
    for count, (name, source) in enumerate(after, 1):
        if name in seen:
            continue
        seen.add(name)
        if name not in old:
            added.append(name)
        elif old[name] is not source and old[name] != source:
            changed.append(name)
        if count % _SLICE == 0:
            yield None
    removed = tuple(name for name in old if name not in seen)
    yield ListNews(tuple(added), removed, tuple(changed))


def _named(names: Sequence[str]) -> str:
    shown = [one_line(shorten(name, _LONGEST_NAME)) for name in names[:_MOST_NAMED]]
    rest = len(names) - len(shown)
    return ", ".join(shown) + (f" and {rest:,} more" if rest else "")

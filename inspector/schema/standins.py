"""Texts that stand for another value when they are sent, like `${name}`: what is checked is that value."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import TypeAlias

from inspector.base.jsonvalue import JSON
from inspector.schema.drafts import Draft, Pairs, Picked
from inspector.schema.values import FieldError, child, readable

_HIDDEN = "stands for a value that does not fit here"
_MARK = "${"


@dataclass(frozen=True, slots=True)
class Meaning:
    """What a text stands for, or the problem in plain words. Secret values appear in no message."""

    value: JSON = None
    problem: str = ""
    is_secret: bool = False


Resolve: TypeAlias = Callable[[str], Meaning]
"""What a text stands for that may hold `${name}`."""


@dataclass(frozen=True, slots=True)
class Resolved:
    """A draft with each such text replaced, and the meanings of the texts by JSON pointer."""

    draft: Draft
    meanings: dict[str, Meaning]

    def errors(self, found: Iterable[FieldError]) -> list[FieldError]:
        """Return the errors at the places where the texts were written, unresolved texts first."""
        if not self.meanings:
            return list(found)
        own = [FieldError(at, each.problem) for at, each in self.meanings.items() if each.problem]
        unknown = {error.pointer for error in own}
        lifted = (self._lifted(error) for error in found)
        return [*own, *(error for error in lifted if error.pointer not in unknown)]

    def _lifted(self, error: FieldError) -> FieldError:
        for place in _upwards(error.pointer):
            meaning = self.meanings.get(place)
            if meaning is None:
                continue
            if meaning.is_secret:
                return FieldError(place, _HIDDEN)
            inside = readable(error.pointer.removeprefix(place))
            return FieldError(place, f"{inside}: {error.problem}") if inside else error
        return error


def resolve_draft(draft: Draft, resolve: Resolve | None) -> Resolved:
    """Replace texts by their meanings.

    A text without a meaning is unchanged; so is everything that is nested too deeply.
    """
    meanings: dict[str, Meaning] = {}
    if resolve is None:
        return Resolved(draft, meanings)
    try:
        return Resolved(_replaced(draft, "", resolve, meanings), meanings)
    except RecursionError:
        return Resolved(draft, {})


def _replaced(draft: Draft, pointer: str, resolve: Resolve, meanings: dict[str, Meaning]) -> Draft:
    match draft:
        case str():
            return _meant(draft, pointer, resolve, meanings) if _MARK in draft else draft
        case Picked(draft=str() as text) if _MARK in text:
            # The variant was picked for the text; its value may need another one.
            meant = _meant(text, pointer, resolve, meanings)
            return replace(draft, draft=meant) if isinstance(meant, str) else meant
        case Picked():
            return replace(draft, draft=_replaced(draft.draft, pointer, resolve, meanings))
        case Pairs():
            rows = (
                (key, _replaced(part, child(pointer, key), resolve, meanings)) for key, part in draft.rows
            )
            return Pairs(tuple(rows))
        case dict():
            return {
                key: _replaced(part, child(pointer, key), resolve, meanings) for key, part in draft.items()
            }
        case list():
            return [_replaced(part, child(pointer, at), resolve, meanings) for at, part in enumerate(draft)]
    return draft


def _meant(text: str, pointer: str, resolve: Resolve, meanings: dict[str, Meaning]) -> Draft:
    meaning = meanings[pointer] = resolve(text)
    return text if meaning.problem else meaning.value


def _upwards(pointer: str) -> Iterator[str]:
    """Yield the pointer itself, then those of its ancestors."""
    while pointer:
        yield pointer
        pointer = pointer.rpartition("/")[0]

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
    """What a text stands for; or the problem, in plain words. A secret value is in no message."""

    value: JSON = None
    problem: str = ""
    is_secret: bool = False


Resolve: TypeAlias = Callable[[str], Meaning]
"""What a text stands for that may hold `${name}`."""


@dataclass(frozen=True, slots=True)
class Resolved:
    """A draft with each such text replaced, and what the texts meant, by their JSON pointers."""

    draft: Draft
    meanings: dict[str, Meaning]

    def errors(self, found: Iterable[FieldError]) -> list[FieldError]:
        """What was found wrong, told at the place where it was written; first what has no value at all."""
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
    """A text without a meaning stays as it is; so does all of what is nested too deeply to be looked at."""
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
            # The variant was picked for a text: for what it stands for, another may be the right one.
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
    """The place itself, then those that it is inside of."""
    while pointer:
        yield pointer
        pointer = pointer.rpartition("/")[0]

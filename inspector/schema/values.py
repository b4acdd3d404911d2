"""Form entries and the JSON they stand for.

A form holds a *draft*: JSON in which a place may also be ABSENT (not sent) or Unreadable (JSON text that
does not parse). `finish` makes the JSON of it, `check.check` finds what does not fit the fields.

The text of a single-line entry and its value convert without loss, in both directions:

- number fields: a text that is a JSON number is that number, digit for digit (see `numbers.py`); no text
  is ABSENT; any other text is kept as a string, so that it can be reported, shown and sent on purpose;
- whatever an entry cannot show exactly (the string "5" in a number field) is left to a raw JSON editor.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from inspector.base.errors import ConfigError
from inspector.base.jsonvalue import JSON, JSONObject
from inspector.base.numbers import read_number, write_number
from inspector.schema.absent import ABSENT as ABSENT
from inspector.schema.absent import Absent as Absent
from inspector.schema.fields import Field, ListField, ObjectField
from inspector.schema.jsontext import JSONTextError, read


@dataclass(frozen=True, slots=True)
class Unreadable:
    """JSON text that does not parse, and why."""

    text: str
    problem: str


Draft: TypeAlias = (
    "bool | int | float | str | Absent | Unreadable | Sequence[Draft] | Mapping[str, Draft] | None"
)


@dataclass(frozen=True, slots=True)
class FieldError:
    """What is wrong at one place, named by its JSON pointer (RFC 6901; "" is the whole)."""

    pointer: str
    problem: str

    def __str__(self) -> str:
        return f"{readable(self.pointer)}: {self.problem}" if self.pointer else self.problem


class FormError(ConfigError, ValueError):
    """The entries cannot be sent as they are; the text says where and why, one line for each error."""

    def __init__(self, errors: Sequence[FieldError]) -> None:
        super().__init__("\n".join(map(str, errors)))
        self.errors = tuple(errors)


def child(pointer: str, key: str | int) -> str:
    """The pointer of a member or an item."""
    return f"{pointer}/{str(key).replace('~', '~0').replace('/', '~1')}"


def readable(pointer: str) -> str:
    """A pointer as people write it: filter.tags[2]."""
    path = ""
    for part in pointer.split("/")[1:]:
        name = part.replace("~1", "/").replace("~0", "~")
        path += f"[{name}]" if path and name.isdecimal() else f".{name}"
    return path.removeprefix(".")


def number_from_text(text: str) -> int | float | str | Absent:
    """What stands in a number entry: a number, nothing, or a text that is no number."""
    text = text.strip()
    if not text:
        return ABSENT
    number = read_number(text)
    return text if number is None else number


def text_from_number(value: int | float | str) -> str:
    """The text that `number_from_text` reads as this value, wherever there is one."""
    return value if isinstance(value, str) else write_number(value)


def json_from_text(text: str) -> JSON | Absent | Unreadable:
    """What stands in a raw JSON entry; no text at all is ABSENT."""
    if not text.strip():
        return ABSENT
    try:
        return read(text)
    except JSONTextError as exc:
        return Unreadable(text, str(exc))


def finish(field: Field, draft: Draft) -> JSON | Absent:
    """The JSON of a draft: what is ABSENT left out; raises FormError when a part is unreadable.

    Follows the field tree, so its depth is the form's and not that of what was pasted into it.
    """
    unreadable: list[FieldError] = []
    value = _finished(field, draft, "", unreadable)
    if unreadable:
        raise FormError(unreadable)
    return value


def _finished(field: Field, draft: Draft, pointer: str, unreadable: list[FieldError]) -> JSON | Absent:
    if isinstance(draft, Unreadable):
        unreadable.append(FieldError(pointer, draft.problem))
        return ABSENT
    if isinstance(field, ListField) and isinstance(draft, list):
        done = [_finished(field.item, item, child(pointer, i), unreadable) for i, item in enumerate(draft)]
        return [item for item in done if item is not ABSENT]
    if isinstance(field, ObjectField) and isinstance(draft, dict):
        return _finished_object(field, draft, pointer, unreadable)
    return draft  # type: ignore[return-value]  # below a leaf field there is only JSON


def _finished_object(
    field: ObjectField, draft: dict[str, Draft], pointer: str, unreadable: list[FieldError]
) -> JSONObject:
    known = {member.name: member.field for member in field.members}
    done: JSONObject = {}
    for name, part in draft.items():
        value = (
            _finished(known.get(name, field), part, child(pointer, name), unreadable)
            if name in known
            else part
        )
        if value is not ABSENT:
            done[name] = value  # type: ignore[assignment]  # a key the form does not know is JSON already
    return done

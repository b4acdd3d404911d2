"""The manual of the filter language, as Markdown: the grammar's docstring with the table of words in it.

`resources/help/filters.md` is what `manual` gives; a test holds the two together.
"""

from __future__ import annotations

from inspector.traffic.query import grammar
from inspector.traffic.query.comparing import Type
from inspector.traffic.query.fields import FIELDS, Field

_PLACE = "(The table of fields.py.)"


def manual() -> str:
    """The whole text, with a heading."""
    text = grammar.__doc__ or ""
    assert _PLACE in text
    return f"# Filters\n\n{text.strip().replace(_PLACE, words_table())}\n"


def words_table() -> str:
    """Each word, what it takes, and what it is about."""
    rows = ["| word | takes | meaning | example |", "|---|---|---|---|"]
    return "\n".join([*rows, *map(_row, FIELDS.values())])


def _row(field: Field) -> str:
    return f"| `{field.word}` | {_takes(field)} | {field.description} | `{field.example}` |"


def _takes(field: Field) -> str:
    if field.type is Type.CHOICE:
        return ", ".join(field.choices)
    return str(field.type.value)

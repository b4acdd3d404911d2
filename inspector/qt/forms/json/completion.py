"""Schema-based completion for JSON text: suggestions, the popup, positions in the text.

Suggests missing keys and matching values. `locate` maps JSON pointers to ranges of the text, `context_at`
maps a position to what is being written there. Both accept incomplete JSON and understand it up to the
first error. Texts over 256 KiB get no suggestions: they would be parsed on each key press.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from PySide6.QtCore import QEvent, QPoint, Qt, QTimer
from PySide6.QtGui import QKeyEvent, QTextCursor

from inspector.base.json.text import write_line
from inspector.base.json.values import JSON
from inspector.qt.theme import Theme
from inspector.qt.widgets.inputs.completion import Suggestion, SuggestionList
from inspector.qt.widgets.text.text_box import text_offset
from inspector.schema.fields import (
    BooleanField,
    ChoiceField,
    Field,
    ListField,
    MapField,
    ObjectField,
    TextField,
    TupleField,
    UnionField,
    summary,
)
from inspector.schema.values import ABSENT, child

if TYPE_CHECKING:
    from inspector.qt.forms.json.json_edit import JsonEdit

MAX_SUGGESTIONS = 100
MAX_TEXT_LENGTH = 256 * 1024
_MAX_FIELDS = 60
_MAX_LOOKAHEAD = 20_000
_STEPS = {Qt.Key.Key_Down: 1, Qt.Key.Key_Up: -1, Qt.Key.Key_PageDown: 8, Qt.Key.Key_PageUp: -8}
_ACCEPT_KEYS = (Qt.Key.Key_Tab, Qt.Key.Key_Return, Qt.Key.Key_Enter)
# A string may lack its closing quote while it is being typed.
_TOKEN = re.compile(r'"(?:[^"\\\n]|\\.)*"?|[{}\[\]:,]|[^\s{}\[\]:,"]+')
_REST_OF_STRING = re.compile(r'[\w.-]*"?')
Completer = Callable[[str, int], Sequence[Suggestion]]


class CompletionPopup:
    """The completion list of a `JsonEdit`.

    Opens at quotes and colons, and on Ctrl+Space; Tab or Enter accepts an entry.
    """

    def __init__(self, edit: JsonEdit, theme: Theme) -> None:
        self._edit = edit
        self._theme = theme
        self._list: SuggestionList | None = None
        self.completer: Completer | None = None
        self._delay = QTimer(edit, singleShot=True, interval=0)
        self._delay.timeout.connect(self.show_suggestions)

    def shown(self) -> Sequence[Suggestion]:
        return self._list.suggestions if self._list is not None and self._list.isVisible() else ()

    def show_suggestions(self) -> None:
        """Show completions at the cursor."""
        if self.completer is None or self._edit.document().characterCount() > MAX_TEXT_LENGTH:
            return
        rows = self._edit.rows()
        position = python_column(rows, self._edit.textCursor().position())
        options = self.completer(self._edit.text(), text_offset(rows, position))
        if not options:
            self.close()
            return
        if self._list is None:
            self._list = SuggestionList(self._theme, self._edit)
            self._list.chosen.connect(self._accept)
        corner = self._edit.viewport().mapToGlobal(self._edit.cursorRect().bottomLeft() + QPoint(0, 2))
        self._list.show_under(corner, options)
        self._list.step(1)

    def close(self) -> None:
        if self._list is not None:
            self._list.hide()

    def on_typed(self, text: str) -> None:
        """Open the list where keys and values begin, and update it while typing."""
        if text in ('"', ":") or (self.shown() and text):
            self._delay.start()
        elif self.shown():
            self.close()  # the cursor moved away

    def handle_key(self, event: QKeyEvent) -> bool:
        """Let the list handle a key; return whether it did."""
        if not self.shown() or self._list is None:
            return False
        key = Qt.Key(event.key())
        if event.type() is QEvent.Type.ShortcutOverride and key == Qt.Key.Key_Escape:
            event.accept()  # Escape only closes the list
            return True
        if event.type() is not QEvent.Type.KeyPress:
            return False
        if key in _STEPS:
            self._list.step(_STEPS[key])
        elif key == Qt.Key.Key_Escape:
            self.close()
        elif key in _ACCEPT_KEYS and not event.modifiers():
            self._accept(self._list.current() or self._list.suggestions[0])
        else:
            return False
        return True

    def _accept(self, suggestion: Suggestion) -> None:
        self.close()
        cursor = self._edit.cursor_at(suggestion.start)
        end = self._edit.cursor_at(suggestion.end).position()
        cursor.setPosition(end, QTextCursor.MoveMode.KeepAnchor)
        cursor.insertText(suggestion.text)
        if suggestion.text in ('""', "{}", "[]"):
            cursor.movePosition(QTextCursor.MoveOperation.Left)
        self._edit.setTextCursor(cursor)
        if suggestion.text.endswith(": "):
            self._delay.start()  # complete the value


def python_column(text: str, position: int) -> int:
    """Convert Qt's UTF-16 position to a Python index: non-BMP characters count as one."""
    if text.isascii():
        return position
    units = text.encode("utf-16-le", "surrogatepass")[: 2 * position]
    return len(units.decode("utf-16-le", "surrogatepass"))


def suggestions(field: ObjectField, text: str, offset: int) -> list[Suggestion]:
    """Return completions at `offset`; none in a text too long to parse on each key."""
    if len(text) > MAX_TEXT_LENGTH:
        return []
    context = context_at(text, offset)
    if context is None:
        return []
    fields = _plain([field.union or field])
    for step in context.path:
        fields = _plain([inner for one in fields for inner in _inside(one, step)])
    start, end = context.replaced.start, context.replaced.end
    typed = text[start:offset].strip('"').casefold()
    options = _keys(fields, context.keys, text, end) if context.is_key else _values(fields)
    unique = dict(options)
    matching = [(option, note) for option, note in unique.items() if typed in option.casefold()]
    matching.sort(key=lambda one: not one[0].casefold().lstrip('"').startswith(typed))
    whole = text[start:end]
    return [
        Suggestion(option, start, end, note) for option, note in matching[:MAX_SUGGESTIONS] if option != whole
    ]


def _plain(fields: list[Field]) -> list[Field]:
    """Flatten unions into their variants."""
    found: list[Field] = []
    left = fields[::-1]
    while left and len(found) < _MAX_FIELDS:
        one = left.pop()
        found.append(one)  # a union too, for its default and examples
        if isinstance(one, UnionField):
            left.extend(variant.field for variant in reversed(one.variants[:_MAX_FIELDS]))
    return found


def _inside(field: Field, step: str | int) -> Iterator[Field]:
    match field:
        case ObjectField():
            named = [member.field for one in _shapes(field) for member in one.members if member.name == step]
            yield from named[:_MAX_FIELDS]
            if not named and field.rest is not None:
                yield from _inside(field.rest, step)
        case MapField() if isinstance(step, str) and (inner := field.value_for(step)) is not None:
            yield inner
        case ListField() if isinstance(step, int):
            yield field.item
        case TupleField() if isinstance(step, int) and (position := field.item_at(step)) is not None:
            yield position


def _shapes(field: ObjectField) -> list[ObjectField]:
    """Return an object's shapes: as is, with all conditions met, and with none."""
    shapes = [field]
    for outcome in (True, False):
        under = field.under((outcome,) * len(field.conditions)) if field.under is not None else field
        shapes += [one for one in _plain([under]) if isinstance(one, ObjectField)]
    return shapes


def _keys(fields: list[Field], existing: frozenset[str], text: str, end: int) -> Iterator[tuple[str, str]]:
    has_colon = text[end : end + 20].lstrip().startswith(":")
    for one in fields:
        for shape in _shapes(one) if isinstance(one, ObjectField) else ():
            for member in shape.members:
                if member.name in existing:
                    continue
                quoted = json.dumps(member.name, ensure_ascii=False)
                note = f"{summary(member.field)}{', required' if member.required else ''}"
                yield (quoted if has_colon else f"{quoted}: "), note


def _values(fields: list[Field]) -> Iterator[tuple[str, str]]:
    for one in fields:
        if one.default is not ABSENT:
            yield write_line(one.default), "default"
        yield from ((write_line(value), note) for value, note in _typical_values(one))
        yield from ((write_line(value), "example") for value in one.examples)
        if one.nullable:
            yield "null", ""


def _typical_values(field: Field) -> Iterator[tuple[JSON, str]]:
    match field:
        case ChoiceField():
            labels = field.labels or ("",) * len(field.choices)
            yield from zip(field.choices, labels, strict=True)
        case BooleanField():
            yield from ((True, ""), (False, ""))
        case ObjectField() | MapField():
            yield {}, "object"
        case ListField() | TupleField():
            yield [], "array"
        case TextField():
            yield "", "string"


@dataclass(frozen=True, slots=True)
class TextRange:
    """A range of characters of the text."""

    start: int
    end: int


@dataclass(slots=True)
class _OpenContainer:
    """A list or object that has been opened."""

    is_list: bool
    start: int
    pointer: str
    step: str | int
    keys: list[str] = field(default_factory=list)
    wants_key: bool = False


@dataclass(frozen=True, slots=True)
class Context:
    """What is being written at a position: a key or a value, and in which list or object.

    `path` leads to the value being written, or to the object whose key is. `keys` are the object's other
    keys.
    """

    path: tuple[str | int, ...]
    is_key: bool
    replaced: TextRange
    keys: frozenset[str] = frozenset()


class _TokenWalker:
    """Walks the tokens and tracks the open lists and objects."""

    def __init__(self) -> None:
        self.open: list[_OpenContainer] = []

    def pointer(self) -> str:
        """Return the pointer of the next value."""
        return child(self.open[-1].pointer, self.open[-1].step) if self.open else ""

    def begin(self, bracket: str, start: int) -> None:
        is_list = bracket == "["
        self.open.append(
            _OpenContainer(is_list, start, self.pointer(), 0 if is_list else "", wants_key=not is_list)
        )

    def read_key(self, piece: str) -> None:
        self.open[-1].step = _unquoted(piece)
        self.open[-1].keys.append(str(self.open[-1].step))
        self.open[-1].wants_key = False

    def next_item(self) -> None:
        """Handle a comma."""
        inner = self.open[-1]
        if inner.is_list and isinstance(inner.step, int):
            inner.step += 1
        else:
            inner.wants_key = True


def locate(text: str, pointers: Collection[str]) -> dict[str, TextRange]:
    """Return the places of the values at these pointers; values not in the text are omitted."""
    wanted, found = set(pointers), dict[str, TextRange]()
    walker = _TokenWalker()
    for match in _TOKEN.finditer(text):
        if wanted <= found.keys():
            break
        piece = match[0]
        if piece in "{[":
            walker.begin(piece, match.start())
        elif piece in "}]":
            if not walker.open:
                break
            done = walker.open.pop()
            _record(done.pointer, TextRange(done.start, match.end()), wanted, found)
        elif piece == ",":
            if not walker.open:
                break
            walker.next_item()
        elif piece[0] == '"' and walker.open and walker.open[-1].wants_key:
            walker.read_key(piece)
        elif piece != ":":
            _record(walker.pointer(), TextRange(match.start(), match.end()), wanted, found)
    return found


def _record(pointer: str, position: TextRange, wanted: set[str], found: dict[str, TextRange]) -> None:
    if pointer in wanted:
        found[pointer] = position


def context_at(text: str, offset: int) -> Context | None:
    """Return what is being written at `offset`; None where nothing can be, e.g. after a value."""
    walker = _TokenWalker()
    before, replaced = "", TextRange(offset, offset)
    for match in _TOKEN.finditer(text):
        piece = match[0]
        is_inside = match.start() < offset < match.end() or (offset == match.end() and piece not in "{}[]:,")
        if is_inside and piece not in "{}[]:,":
            replaced = TextRange(match.start(), _end_of(text, match, offset))
            break
        if match.start() >= offset:
            break
        if piece in "{[":
            walker.begin(piece, match.start())
        elif piece in "}]" and walker.open:
            walker.open.pop()
        elif piece == "," and walker.open:
            walker.next_item()
        elif piece[0] == '"' and walker.open and walker.open[-1].wants_key:
            walker.read_key(piece)
        before = piece
    return _context(text, walker, before, replaced)


def _end_of(text: str, match: re.Match[str], offset: int) -> int:
    """Return the end of the word being written; an unclosed string would swallow the rest."""
    rest = _REST_OF_STRING.match(text, offset) if match[0][0] == '"' else None
    return min(rest.end(), match.end()) if rest is not None else match.end()


def _context(text: str, walker: _TokenWalker, before: str, replaced: TextRange) -> Context | None:
    if not walker.open:
        return Context((), False, replaced) if not before else None
    inner = walker.open[-1]
    steps = tuple(one.step for one in walker.open[:-1])
    if inner.wants_key:
        if before not in ("{", ","):
            return None
        later = _keys_after(text, replaced.end)
        return Context(steps, True, replaced, frozenset(inner.keys) | later)
    is_due = before in ("[", ",") if inner.is_list else before == ":"
    return Context((*steps, inner.step), False, replaced) if is_due else None


def _keys_after(text: str, offset: int) -> frozenset[str]:
    """Return the keys of the same object after `offset`, up to a limit."""
    depth, last, keys = 0, "", set()
    for match in _TOKEN.finditer(text, offset, min(len(text), offset + _MAX_LOOKAHEAD)):
        piece = match[0]
        if piece in "{[":
            depth += 1
        elif piece in "}]":
            depth -= 1
            if depth < 0:
                break
        elif piece == ":" and depth == 0 and last.startswith('"'):
            keys.add(_unquoted(last))
        last = piece
    return frozenset(keys)


def _unquoted(piece: str) -> str:
    try:
        return str(json.loads(piece))
    except ValueError:
        return piece.strip('"')

"""Changes of what a server offers, item by item, with renames recognized.

A server that was trusted once can offer something else later: a changed tool description is a way to
manipulate a model. So every member counts, except the order of a list and what a resource says about its
current contents (size and modification time).
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from enum import Enum
from typing import NamedTuple, TypeAlias

from inspector.base.json.values import JSON, JSONObject, shorten
from inspector.base.plain_text import hidden_tokens, one_line
from inspector.base.units import plural

SERVER = "server"
# The lists remembered per server, and the member that identifies an item of each. The server's own
# description is a list of one.
LISTS = {"tools": "name", "resources": "uri", "templates": "uriTemplate", "prompts": "name"}
NOUNS = {
    SERVER: "server",
    "tools": "tool",
    "resources": "resource",
    "templates": "resource template",
    "prompts": "prompt",
}
FeatureLists: TypeAlias = Mapping[str, Sequence[JSONObject]]  # items as sent, by SERVER and LISTS

_Key: TypeAlias = tuple[str, int]  # the name, and its index among duplicates
_MAX_TOKENS = 5
_ESCAPE = re.compile(r"\\[ubfr]")
_CARRIAGE_RETURN = "\u240d"  # as displayed; harmless: many texts have Windows line endings


class ChangeKind(Enum):
    """Kind of a change; the values are display text."""

    CHANGED = "changed"
    RENAMED = "renamed"
    ADDED = "added"
    REMOVED = "removed"


class ItemChange(NamedTuple):
    """A change of one item.

    A named tuple, as ten thousand may be unpickled from another process. `number` distinguishes items of
    the same name, from 0. `fields` are the members that differ; `hidden` are new invisible characters in
    it, as text: users cannot see them, but models read them.
    """

    kind: str
    change_kind: ChangeKind
    name: str
    number: int = 0
    old_name: str = ""
    old_number: int = 0
    fields: tuple[str, ...] = ()
    hidden: str = ""


def compare_features(before: FeatureLists, after: FeatureLists) -> tuple[ItemChange, ...]:
    """Compare the lists that both have; one missing on a side was not fetched there."""
    changes: list[ItemChange] = []
    for kind in (SERVER, *LISTS):
        if kind in before and kind in after:
            changes += _compare_list(kind, before[kind], after[kind])
    return tuple(changes)


def keyed(kind: str, items: Sequence[JSONObject]) -> dict[_Key, JSONObject]:
    """Return items by name and index; duplicates are numbered in order."""
    counts: Counter[str] = Counter()
    found: dict[_Key, JSONObject] = {}
    for item in items:
        name = SERVER if kind == SERVER else item.get(LISTS[kind])
        if isinstance(name, str):
            found[name, counts[name]] = item
            counts[name] += 1
    return found


def changes_text(changes: Sequence[ItemChange]) -> str:
    """Return e.g. `2 tools changed, 1 prompt added`."""
    counts = Counter((change.kind, change.change_kind) for change in changes)
    order = {kind: position for position, kind in enumerate((*LISTS, SERVER))}
    parts = []
    for kind, change_kind in sorted(
        counts, key=lambda pair: (order[pair[0]], list(ChangeKind).index(pair[1]))
    ):
        parts.append(
            "server information changed"
            if kind == SERVER
            else f"{plural(counts[kind, change_kind], NOUNS[kind])} {change_kind.value}"
        )
    return ", ".join(parts)


def _compare_list(kind: str, before: Sequence[JSONObject], after: Sequence[JSONObject]) -> list[ItemChange]:
    old, new = keyed(kind, before), keyed(kind, after)
    changes = [
        _change(kind, ChangeKind.CHANGED, key, key, old[key], new[key], fields)
        for key in new
        if key in old and (fields := _differing(kind, old[key], new[key]))
    ]
    removed = {key: item for key, item in old.items() if key not in new}
    added = {key: item for key, item in new.items() if key not in old}
    for left, right in _renames(kind, removed, added):
        old_item, new_item = removed.pop(left), added.pop(right)
        changes.append(
            _change(
                kind,
                ChangeKind.RENAMED,
                left,
                right,
                old_item,
                new_item,
                _differing(kind, old_item, new_item),
            )
        )
    changes += [_change(kind, ChangeKind.ADDED, key, key, {}, item) for key, item in added.items()]
    changes += [ItemChange(kind, ChangeKind.REMOVED, *key) for key in removed]
    return changes


def _change(
    kind: str,
    change_kind: ChangeKind,
    old_key: _Key,
    key: _Key,
    before: JSONObject,
    after: JSONObject,
    fields: tuple[str, ...] = (),
) -> ItemChange:
    old_name, old_number = old_key if change_kind is ChangeKind.RENAMED else ("", 0)
    return ItemChange(kind, change_kind, *key, old_name, old_number, fields, _new_hidden(before, after))


def _differing(kind: str, before: JSONObject, after: JSONObject) -> tuple[str, ...]:
    """Return the members that differ, in the order sent."""
    if _is_same_text(before, after):  # fast path: true for nearly all of ten thousand
        return ()
    before, after = _comparable(kind, before), _comparable(kind, after)
    names = dict.fromkeys((*after, *before))
    return tuple(name for name in names if not _is_same_member(name, before, after))


def _is_same_member(name: str, before: JSONObject, after: JSONObject) -> bool:
    if (name in before) != (name in after):
        return False
    left, right = before.get(name), after.get(name)
    return _is_same_text(left, right) or _canonical(left) == _canonical(right)


def _comparable(kind: str, item: JSONObject) -> JSONObject:
    """Ignore what does not describe the item: size and modification time of a resource."""
    if kind != "resources":
        return item
    rest = {name: value for name, value in item.items() if name != "size"}
    annotations = rest.get("annotations")
    if isinstance(annotations, dict) and "lastModified" in annotations:
        others = {name: value for name, value in annotations.items() if name != "lastModified"}
        rest["annotations"] = others
        if not others:
            del rest["annotations"]
    return rest


def _is_same_text(before: JSON, after: JSON) -> bool:
    """Compare as JSON, not with `==`: in Python 1 equals True."""
    try:
        return _encode(before) == _encode(after)
    except RecursionError:
        return False


def _canonical(value: JSON) -> str:
    """Return equal text for equivalent values: order of members and `required` is ignored."""
    try:
        return _encode(_sorted_sets(value) if isinstance(value, dict | list) else value)
    except RecursionError:
        return repr(type(value))  # nothing can read such a value anyway


def _sorted_sets(value: JSON) -> JSON:
    if isinstance(value, list):
        return [_sorted_sets(item) if isinstance(item, dict | list) else item for item in value]
    if not isinstance(value, dict):
        return value
    return {
        name: sorted(child, key=str)
        if name == "required" and isinstance(child, list) and all(isinstance(each, str) for each in child)
        else _sorted_sets(child)
        if isinstance(child, dict | list)
        else child
        for name, child in value.items()
    }


_encode = json.JSONEncoder(ensure_ascii=False, sort_keys=True, separators=(",", ":")).encode


def _renames(
    kind: str, removed: Mapping[_Key, JSONObject], added: Mapping[_Key, JSONObject]
) -> Iterator[tuple[_Key, _Key]]:
    """Yield pairs of removed and added items that are renames.

    They are equal except for the name, or they share a match key that is unique on both sides.
    """
    left, right = dict(removed), dict(added)
    for match_key in _match_keys(kind):
        old_keys, new_keys = _group_by(match_key, left), _group_by(match_key, right)
        for value, keys in old_keys.items():
            others = new_keys.get(value, [])
            is_sure = match_key is _body or len(keys) == len(others) == 1
            for pair in zip(keys, others, strict=False) if is_sure else ():
                yield pair
                del left[pair[0]], right[pair[1]]


def _group_by(
    match_key: Callable[[JSONObject], str], items: Mapping[_Key, JSONObject]
) -> dict[str, list[_Key]]:
    found: dict[str, list[_Key]] = {}
    for key, item in items.items():
        if value := match_key(item):
            found.setdefault(value, []).append(key)
    return found


def _body(item: JSONObject) -> str:
    """Return the item's canonical text without its name; "" if that is too little to match by."""
    body = {
        name: value for name, value in item.items() if name not in ("name", "title", "uri", "uriTemplate")
    }
    has_substance = bool(body.get("description")) or bool(_properties(item)) or "arguments" in body
    return _canonical(body) if has_substance else ""


def _description(item: JSONObject) -> str:
    text = item.get("description")
    return text if isinstance(text, str) else ""


def _schema(item: JSONObject) -> str:
    return _canonical(item.get("inputSchema")) if _properties(item) else ""


def _arguments(item: JSONObject) -> str:
    arguments = item.get("arguments")
    return _canonical(arguments) if isinstance(arguments, list) and arguments else ""


def _resource_name(item: JSONObject) -> str:
    name = item.get("name")
    return name if isinstance(name, str) else ""


def _properties(item: JSONObject) -> JSON:
    schema = item.get("inputSchema")
    return schema.get("properties") if isinstance(schema, dict) else None


def _match_keys(kind: str) -> tuple[Callable[[JSONObject], str], ...]:
    if kind == "tools":
        return (_body, _description, _schema)
    if kind == "prompts":
        return (_body, _description, _arguments)
    return (_body, _resource_name, _description)


def _new_hidden(before: JSONObject, after: JSONObject) -> str:
    """Return e.g. `description: ⟨U+200B⟩ ⟨U+202E⟩` for invisible characters that are new."""
    if not _may_hide(after):
        return ""
    known = Counter(token for _, tokens in _hidden_in(before) for token in tokens)
    parts: list[str] = []
    for member, tokens in _hidden_in(after):
        new = []
        for token in tokens:
            if known[token] > 0:
                known[token] -= 1
            else:
                new.append(token)
        if new:
            kinds = list(dict.fromkeys(new))
            more = " …" if len(kinds) > _MAX_TOKENS else ""
            parts.append(f"{member}: {' '.join(kinds[:_MAX_TOKENS])}{more}")
    return "; ".join(parts)


def _may_hide(item: JSONObject) -> bool:
    """Quick pre-check for invisible characters, false for nearly all items.

    Control characters are escapes in JSON.
    """
    try:
        text = _encode(item)
    except RecursionError:
        return True
    return _ESCAPE.search(text) is not None or bool(hidden_tokens(text))


def _hidden_in(item: JSONObject) -> Iterator[tuple[str, list[str]]]:
    """Yield members with invisible characters at any depth, with those characters as displayed."""
    for member, value in item.items():
        found = (token for text in _texts(member, value) for token in hidden_tokens(text))
        tokens = [token for token in found if token != _CARRIAGE_RETURN]
        if tokens:
            yield one_line(shorten(member, 40)), tokens


def _texts(name: str, value: JSON) -> Iterator[str]:
    stack: list[JSON] = [name, value]
    while stack:
        one = stack.pop()
        if isinstance(one, str):
            yield one
        elif isinstance(one, list):
            stack += one
        elif isinstance(one, dict):
            stack += one.values()
            stack += one

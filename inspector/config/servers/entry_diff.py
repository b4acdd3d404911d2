"""Differences between two versions of an entry or a server list, with secrets masked."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from inspector.base.json.values import JSON, JSONObject, to_wire
from inspector.base.redaction import MASK, is_secret_name, masked_command, masked_url
from inspector.config.servers.entries import Entry
from inspector.config.servers.server_list import write_entry

_PLACEHOLDER_ONLY = re.compile(r"(?:(?i:bearer|basic|token) +)?\$\{(?:(?:env|input):)?[A-Za-z_][\w-]*\}")


@dataclass(frozen=True, slots=True)
class FieldChange:
    """A changed value.

    `field` is its path in the file (`args[1]`, `env.KEY`); None means absent. Secrets are masked, so both
    texts may look alike although the values differ.
    """

    field: str
    before: str | None
    after: str | None


@dataclass(frozen=True, slots=True)
class EntryChange:
    """A server whose settings changed."""

    name: str
    fields: tuple[FieldChange, ...]


@dataclass(frozen=True, slots=True)
class ServerListDiff:
    """Differences between two versions of the server list."""

    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    changed: tuple[EntryChange, ...] = ()
    is_reordered: bool = False
    renamed: tuple[tuple[str, str], ...] = ()  # (old, new); otherwise unchanged

    def __bool__(self) -> bool:
        return bool(self.added or self.removed or self.changed or self.renamed or self.is_reordered)


def is_same_connection(one: Entry | None, other: Entry) -> bool:
    """True if connecting would do the same for both entries."""
    return one is not None and type(one) is type(other) and _connection_part(one) == _connection_part(other)


def compare_entries(before: Sequence[Entry], after: Sequence[Entry]) -> ServerListDiff:
    """Compare two versions of the server list."""
    old, new = ({entry.name: entry for entry in entries} for entries in (before, after))
    renamed = _renamed(old, new)
    old_names, new_names = dict(renamed), {name for _, name in renamed}
    common = [name for name in old if name in new]
    changes = (
        EntryChange(name, compare_content(write_entry(old[name]), write_entry(new[name])))
        for name in common
        if old[name] != new[name]
    )
    return ServerListDiff(
        tuple(name for name in new if name not in old and name not in new_names),
        tuple(name for name in old if name not in new and name not in old_names),
        tuple(changes),
        is_reordered=common != [name for name in new if name in old],
        renamed=renamed,
    )


def _renamed(old: Mapping[str, Entry], new: Mapping[str, Entry]) -> tuple[tuple[str, str], ...]:
    """Return servers that only changed their name. Ambiguous matches are skipped."""
    removed = [entry for name, entry in old.items() if name not in new]
    added = [entry for name, entry in new.items() if name not in old]
    pairs: list[tuple[str, str]] = []
    for entry in removed:
        equal_added = [each.name for each in added if replace(each, name=entry.name) == entry]
        equal_removed = [each for each in removed if replace(each, name=entry.name) == entry]
        if len(equal_added) == len(equal_removed) == 1:
            pairs.append((entry.name, equal_added[0]))
    return tuple(pairs)


def compare_content(before: JSONObject, after: JSONObject) -> tuple[FieldChange, ...]:
    """Return the changed fields, in file order."""
    old, new = dict(_leaves(before)), dict(_leaves(after))
    shown_old, shown_new = dict(flattened(masked(before))), dict(flattened(masked(after)))
    locations = [*old, *(location for location in new if location not in old)]
    return tuple(
        FieldChange(location, shown_old.get(location), shown_new.get(location))
        for location in locations
        if not _is_same(old, new, location)
    )


def flattened(value: JSON) -> Iterator[tuple[str, str]]:
    """Yield each leaf value as text, with its path: `args[1]`, `env.KEY`, `network.verify`."""
    for location, leaf in _leaves(value):
        yield location, leaf if isinstance(leaf, str) else to_wire(leaf).decode()


def _leaves(value: JSON, location: str = "") -> Iterator[tuple[str, JSON]]:
    if isinstance(value, dict) and value:
        for name, item in value.items():
            yield from _leaves(item, f"{location}.{name}" if location else name)
    elif isinstance(value, list) and value:
        for number, item in enumerate(value):
            yield from _leaves(item, f"{location}[{number}]")
    else:
        yield location, value


def _is_same(old: dict[str, JSON], new: dict[str, JSON], location: str) -> bool:
    """Compare by JSON text: "1" is not 1, and null is not absent."""
    return location in old and location in new and to_wire(old[location]) == to_wire(new[location])


def masked(content: JSONObject, mask: Callable[[str], str] = lambda value: MASK) -> JSONObject:
    """Return a server's settings with secrets masked by `mask`, for display or storage."""
    shown: JSONObject = {}
    for name, value in content.items():
        if name in ("env", "headers") and isinstance(value, dict):
            shown[name] = {key: _masked_value(key, item, mask) for key, item in value.items()}
        elif name == "args" and isinstance(value, list):
            shown[name] = _masked_args([str(word) for word in value], mask)
        elif name == "url" and isinstance(value, str):
            shown[name] = _masked_address(value, mask)
        elif name == "network" and isinstance(value, dict) and isinstance(value.get("proxy"), str):
            shown[name] = {**value, "proxy": _masked_address(str(value["proxy"]), mask)}
        else:
            shown[name] = value
    return shown


def _masked_address(url: str, mask: Callable[[str], str]) -> str:
    hidden = masked_url(url)
    return url if hidden == url else f"{hidden} {_mask_suffix(mask, url)}".rstrip()


def _masked_value(name: str, value: JSON, mask: Callable[[str], str]) -> JSON:
    if isinstance(value, str) and _PLACEHOLDER_ONLY.fullmatch(value):
        return value  # a placeholder is not a secret, and shows which one is meant
    is_plain = isinstance(value, str) and value and masked_command([value]) == [value]
    is_secret = isinstance(value, str) and value and (is_secret_name(name) or not is_plain)
    return mask(value) if is_secret and isinstance(value, str) else value


def _masked_args(words: list[str], mask: Callable[[str], str]) -> list[JSON]:
    shown: list[JSON] = []
    for word, hidden in zip(words, masked_command(words), strict=True):
        if hidden == word:
            shown.append(word)
        else:
            shown.append(mask(word) if hidden == MASK else f"{hidden} {_mask_suffix(mask, word)}".rstrip())
    return shown


def _mask_suffix(mask: Callable[[str], str], value: str) -> str:
    """Return what `mask` appends to distinguish secrets."""
    return mask(value).removeprefix(MASK).strip()


def _connection_part(entry: Entry) -> Entry:
    """Return the entry without fields that do not affect the connection.

    Client capabilities are compared elsewhere (`engine.server_view.ClientSide`).
    """
    return replace(
        entry,
        name="",
        enabled=True,
        auto_restart=False,
        auto_connect=False,
        watch=(),
        notes="",
        color="",
        roots=(),
        capabilities=None,
        exact_capabilities=False,
    )

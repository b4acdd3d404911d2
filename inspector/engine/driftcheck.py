"""What is done with a baseline, as functions of bytes: long lists are compared in another process.

The bytes are lines of JSON: what is wanted first, then the items of each list. What comes back is light,
however much changed: one item is looked at when somebody chooses it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from inspector.base.errors import ConfigError
from inspector.base.jsonvalue import JSON, JSONObject, JSONProblem, parse, to_wire
from inspector.config.baselines import Baseline, baseline_path, prune, read_baseline, write_baseline
from inspector.protocol.drift import Became, ItemChange, compare_offers, keyed
from inspector.traffic.compare.diff import Diff
from inspector.traffic.compare.texts import compare_packed, pack

_SLICE = 200


@dataclass(frozen=True, slots=True)
class Place:
    """Which baseline, and where it is."""

    folder: Path
    server: str
    identity: str

    @property
    def path(self) -> Path:
        return baseline_path(self.folder, self.server, self.identity)


@dataclass(frozen=True, slots=True)
class Checked:
    """Changes of the lists since `taken_ns`; `digest` is a fingerprint of the current lists.

    `problem` says why the changes are unknown.
    """

    taken_ns: int
    changes: tuple[ItemChange, ...] = ()
    digest: str = ""
    problem: str = ""


@dataclass(frozen=True, slots=True)
class ItemDiff:
    """One change, member by member, or why it cannot be shown."""

    diff: Diff | None
    problem: str = ""


def packed(
    place: Place, now_ns: int, offer: Mapping[str, Sequence[JSONObject]], seen: str = ""
) -> Iterator[bytes]:
    """Yield the input of `check` and `accept` in pieces, so that the caller can pause between.

    `seen` is the digest of the lists that the user accepts.
    """
    counts: JSONObject = {kind: len(items) for kind, items in offer.items()}
    yield to_wire({**_head(place), "now": now_ns, "counts": counts, "seen": seen})
    for items in offer.values():
        for start in range(0, len(items), _SLICE):
            yield b"".join(b"\n" + _line(item) for item in items[start : start + _SLICE])


def packed_item(place: Place, change: ItemChange, item: JSONObject | None) -> bytes:
    """Return the input of `item_diff`; `item` is the current version."""
    if change.became is Became.RENAMED:
        old: list[JSON] = [change.old_name, change.old_number]
    else:
        old = [change.name, change.number]
    head: JSONObject = {
        **_head(place),
        "kind": change.kind,
        "old": old,
        "wasThere": change.became is not Became.ADDED,
    }
    return to_wire(head) + b"\n" + (_line(item) if item is not None else b"")


def check(data: bytes) -> Checked:
    """Compare with the baseline. Where there is none yet, these lists become it."""
    place, now_ns, offer = _unpacked(data)
    digest = _digest_of(data)
    try:
        known = read_baseline(place.path)
        if known is None:
            _write(place, now_ns, offer)
            return Checked(now_ns, digest=digest)
        if missing := {kind: items for kind, items in offer.items() if kind not in known.offer}:
            _write(place, known.taken_ns, {**known.offer, **missing})
    except ConfigError as exc:
        return Checked(0, digest=digest, problem=str(exc))
    return Checked(known.taken_ns, compare_offers(known.offer, offer), digest)


def accept(data: bytes) -> Checked:
    """Make these lists the baseline if they are the ones seen; lists not fetched are kept."""
    place, now_ns, offer = _unpacked(data)
    digest = _digest_of(data)
    if _object(data.partition(b"\n")[0])["seen"] != digest:
        return Checked(0, problem="The server offers something else by now. Look at what changed again.")
    try:
        known = read_baseline(place.path)
    except ConfigError:  # unreadable, and about to be replaced
        known = None
    try:
        _write(place, now_ns, {**(known.offer if known is not None else {}), **offer})
    except ConfigError as exc:
        return Checked(0, problem=str(exc))
    return Checked(now_ns, digest=digest)


def item_diff(data: bytes) -> ItemDiff:
    """Return the changes of one item; an added or removed one is compared with nothing."""
    first, _, now = data.partition(b"\n")
    head = _object(first)
    kind, (name, number) = str(head["kind"]), _pair(head["old"])
    old = b""
    if head["wasThere"]:
        try:
            known = read_baseline(_place(head).path)
        except ConfigError as exc:
            return ItemDiff(None, str(exc))
        item = keyed(kind, known.offer.get(kind, ())).get((name, number)) if known is not None else None
        old = _line(item) if item is not None else b""
    if not old and not now:
        return ItemDiff(None, "This is not known any more: the lists or the baseline changed again.")
    return ItemDiff(compare_packed(pack(old or b"{}", now or b"{}")))


def _digest_of(data: bytes) -> str:
    """Return a digest of the lists that is independent of order."""
    return hashlib.sha256(b"\n".join(sorted(data.split(b"\n")[1:]))).hexdigest()


def _write(place: Place, taken_ns: int, offer: Mapping[str, Sequence[JSONObject]]) -> None:
    write_baseline(place.path, Baseline(place.server, place.identity, taken_ns, offer))
    prune(place.folder)


def _head(place: Place) -> JSONObject:
    return {"folder": str(place.folder), "server": place.server, "identity": place.identity}


def _place(head: JSONObject) -> Place:
    return Place(Path(str(head["folder"])), str(head["server"]), str(head["identity"]))


def _unpacked(data: bytes) -> tuple[Place, int, dict[str, list[JSONObject]]]:
    first, *lines = data.split(b"\n")
    head = _object(first)
    counts, now_ns = head["counts"], head["now"]
    assert isinstance(counts, dict)  # we wrote it
    assert isinstance(now_ns, int)
    offer: dict[str, list[JSONObject]] = {}
    at = 0
    for kind, count in counts.items():
        assert isinstance(count, int)
        offer[kind] = [_object(line) for line in lines[at : at + count]]
        at += count
    return _place(head), now_ns, offer


def _object(line: bytes) -> JSONObject:
    value = parse(line.decode())
    assert isinstance(value, dict)
    return value


def _pair(value: JSON) -> tuple[str, int]:
    assert isinstance(value, list)
    name, number = value
    assert isinstance(number, int)
    return str(name), number


def _line(item: JSONObject) -> bytes:
    try:
        return to_wire(item)
    except JSONProblem:  # nested too deeply: write a stub that at least shows it exists
        return to_wire({name: value for name, value in item.items() if isinstance(value, str)})

"""Earlier calls of a tool, as things to pick from."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from inspector.base.jsonvalue import shorten
from inspector.base.plaintext import one_line
from inspector.base.units import duration, full_time, time_of_day
from inspector.config.callhistory import KeptCall
from inspector.qt.models.palette import Pick
from inspector.qt.theme import Tone

_LONGEST = 160
_TONES: dict[str, Tone] = {"result": "muted", "tool error": "warn", "error": "error", "failed": "error"}

_OPTIONS = {"task": "task", "capabilities": "capabilities", "meta": "_meta"}


def history_picks(calls: Sequence[KeptCall], today: str) -> Iterator[Pick]:
    """Yield past calls, newest first; the key is the number.

    `today` is a date such as 2026-11-16.
    """
    for number, call in enumerate(calls):
        when = full_time(call.at_ns)
        moment = time_of_day(call.at_ns)[:8] if when.startswith(today) else when[:16]
        arguments = one_line(shorten(call.text, _LONGEST)) or "(too long to be kept)"
        said = call.said() or {}
        how = " · ".join(word for name, word in _OPTIONS.items() if name in said)
        note = f"{how} · " if how else ""
        note += f"{call.outcome} · {duration(call.elapsed_ns)} · {moment}"
        tone = _TONES.get(call.outcome, "muted")
        yield Pick(str(number), arguments, note, "", tone, f"{when}\n{arguments}")

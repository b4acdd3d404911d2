"""Progress of a call: one line on stderr that is written anew, when a person looks at it."""

from __future__ import annotations

import shutil
import sys
import time

from inspector.base.jsonvalue import shorten
from inspector.base.plaintext import one_line
from inspector.cli import output
from inspector.protocol.connection import Progressed

_ERASE = "\r\x1b[K"
_PAUSE = 0.05  # seconds between updates: a flood of progress must not flood the output


class ProgressLine:
    """Progress display on stderr; prints nothing if stderr is not a terminal."""

    def __init__(self) -> None:
        self._is_wanted = output.is_terminal(sys.stderr)
        self._is_shown = False
        self._next = 0.0

    def show(self, event: Progressed) -> None:
        now = time.monotonic()
        if self._is_wanted and now >= self._next:
            self._next = now + _PAUSE
            self._is_shown = True
            width = shutil.get_terminal_size().columns
            output.write_stderr(_ERASE + shorten(in_words(event), width - 1))

    def clear(self) -> None:
        if self._is_shown:
            output.write_stderr(_ERASE)


def in_words(event: Progressed) -> str:
    """Format progress: 3 of 10 (30 %) Step three."""
    done = f"{event.progress:g}"
    if event.total:
        done += f" of {event.total:g} ({event.progress / event.total:.0%})"
    return f"{done} {one_line(event.message)}".rstrip()

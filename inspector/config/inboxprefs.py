"""What people chose about the Inbox, in the preferences file: one section of it.

    {"inbox": {"answerWithin": 300}}

A question that waits for longer than so many seconds is answered with "cancel", or refused where there is no
such answer. Without the member a question waits for ever. Members that we do not know are kept.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path

from inspector.base.errors import ConfigError
from inspector.config.document import JsonDocument

_SECTION, _MEMBER = "inbox", "answerWithin"


@dataclass(frozen=True, slots=True)
class InboxPrefs:
    """Inbox preferences. `answer_within` is in seconds; None is unlimited."""

    answer_within: float | None = None


class InboxPrefsFile:
    """The `InboxPrefs` section of the preferences file."""

    def __init__(self, path: Path) -> None:
        self._file = JsonDocument(path)

    def load(self) -> tuple[InboxPrefs, list[str]]:
        """Return the settings and one sentence per problem. Never raises."""
        try:
            section = self._file.read().get(_SECTION, {})
        except ConfigError as exc:
            return InboxPrefs(), [str(exc)]
        if not isinstance(section, dict):
            return InboxPrefs(), [self._problem(_SECTION, "an object")]
        within = section.get(_MEMBER)
        if within is None:
            return InboxPrefs(), []
        if isinstance(within, bool) or not isinstance(within, int | float) or not 0 < within < math.inf:
            return InboxPrefs(), [self._problem(f"{_SECTION}.{_MEMBER}", "a number of seconds above 0")]
        return InboxPrefs(within), []

    def save(self, prefs: InboxPrefs) -> None:
        """Write the preferences. Raises ConfigError."""
        with self._file.changing():
            document = self._file.read()
            section = document.get(_SECTION)
            kept = dict(section) if isinstance(section, dict) else {}
            kept.pop(_MEMBER, None)
            if prefs.answer_within is not None:
                kept[_MEMBER] = prefs.answer_within
            self._file.write({**document, _SECTION: kept})

    def _problem(self, place: str, wanted: str) -> str:
        return f"{self._file.path.name}: “{place}” must be {wanted}. Questions wait for ever."

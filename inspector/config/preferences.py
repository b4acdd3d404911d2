"""What people chose about traffic: how long automatic captures are kept. One JSON file beside the servers.

Sections and members that we do not know are kept when it is written.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from inspector.base.errors import ConfigError
from inspector.base.jsonvalue import JSON, JSONObject
from inspector.config.document import JsonDocument

_SECTION = "captures"
_MIB = 1024 * 1024


@dataclass(frozen=True, slots=True)
class KeepCaptures:
    """Retention of automatic captures, by age in days and by total size.

    With `is_on` false nothing is written to disk at all.
    """

    days: int = 30
    mebibytes: int = 2048
    is_on: bool = True

    @property
    def bytes(self) -> int:
        return self.mebibytes * _MIB


class Preferences:
    """The preferences file. Invalid members fall back to their default and are reported."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._file = JsonDocument(path)

    def captures(self) -> tuple[KeepCaptures, list[str]]:
        """Return the retention settings and one sentence per problem. Never raises."""
        try:
            section = self._file.read().get(_SECTION, {})
        except ConfigError as exc:
            return KeepCaptures(), [str(exc)]
        if not isinstance(section, dict):
            return KeepCaptures(), [
                f"{self.path.name}: “{_SECTION}” must be an object. Its defaults are used."
            ]
        return self._read_captures(section)

    def save_captures(self, chosen: KeepCaptures) -> None:
        """Write the retention settings. Raises ConfigError."""
        with self._file.changing():
            document = self._file.read()
            section = document.get(_SECTION)
            document[_SECTION] = {
                **(section if isinstance(section, dict) else {}),
                "record": chosen.is_on,
                "keepDays": chosen.days,
                "keepMebibytes": chosen.mebibytes,
            }
            self._file.write(document)

    def _read_captures(self, section: JSONObject) -> tuple[KeepCaptures, list[str]]:
        default, problems = KeepCaptures(), []

        def number(member: str, otherwise: int) -> int:
            value: JSON = section.get(member, otherwise)
            if type(value) is int and value >= 1:
                return value
            words = f"{self.path.name}: “{_SECTION}.{member}” must be a whole number from 1 on"
            problems.append(f"{words}. {otherwise} is used.")
            return otherwise

        is_on = section.get("record", True)
        if not isinstance(is_on, bool):
            problems.append(f"{self.path.name}: “{_SECTION}.record” must be true or false. True is used.")
        days, mebibytes = number("keepDays", default.days), number("keepMebibytes", default.mebibytes)
        return KeepCaptures(days, mebibytes, is_on is not False), problems

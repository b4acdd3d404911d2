"""What people chose about calling by hand, in the preferences file: one section of it.

Members that we do not know are kept when it is written; one that cannot be used has its default, and a
sentence says so.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from inspector.base.errors import ConfigError
from inspector.base.jsonvalue import JSON, JSONObject
from inspector.config.document import JsonDocument

_SECTION = "calls"


@dataclass(frozen=True, slots=True)
class CallPrefs:
    """Preferences for calling tools by hand.

    `folders` hold saved calls besides our own. `environment` lists the variables that `${env:NAME}` may
    read: saved calls can come from anyone, so it is empty by default.
    """

    keep_history: bool = True
    keep_secrets: bool = False
    folders: tuple[str, ...] = ()
    environment: tuple[str, ...] = ()


class CallPrefsFile:
    """The `CallPrefs` section of the preferences file."""

    def __init__(self, path: Path) -> None:
        self._file = JsonDocument(path)

    def load(self) -> tuple[CallPrefs, list[str]]:
        """Return the settings and one sentence per problem. Never raises."""
        try:
            section = self._file.read().get(_SECTION, {})
        except ConfigError as exc:
            return CallPrefs(), [str(exc)]
        if not isinstance(section, dict):
            return CallPrefs(), [self._problem("", "an object")]
        problems: list[str] = []
        default = CallPrefs()
        prefs = CallPrefs(
            self._flag(section, "keepHistory", default.keep_history, problems),
            self._flag(section, "keepSecrets", default.keep_secrets, problems),
            self._texts(section, "folders", problems),
            self._texts(section, "environment", problems),
        )
        return prefs, problems

    def save(self, prefs: CallPrefs) -> None:
        """Write the preferences. Raises ConfigError."""
        with self._file.changing():
            document = self._file.read()
            section = document.get(_SECTION)
            document[_SECTION] = {
                **(section if isinstance(section, dict) else {}),
                "keepHistory": prefs.keep_history,
                "keepSecrets": prefs.keep_secrets,
                "folders": list(prefs.folders),
                "environment": list(prefs.environment),
            }
            self._file.write(document)

    def _flag(self, section: JSONObject, member: str, otherwise: bool, problems: list[str]) -> bool:
        value: JSON = section.get(member, otherwise)
        if isinstance(value, bool):
            return value
        problems.append(self._problem(member, "true or false"))
        return otherwise

    def _texts(self, section: JSONObject, member: str, problems: list[str]) -> tuple[str, ...]:
        value = section.get(member, [])
        if isinstance(value, list) and all(isinstance(item, str) and item for item in value):
            return tuple(str(item) for item in value)
        problems.append(self._problem(member, "a list of texts"))
        return ()

    def _problem(self, member: str, wanted: str) -> str:
        place = f"{_SECTION}.{member}" if member else _SECTION
        return f"{self._file.path.name}: “{place}” must be {wanted}. Its default is used."

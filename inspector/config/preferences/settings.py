"""The table of all settings, and the limits and timeouts stored in the preferences file.

    {"connections": {"connectTimeout": 30}, "lists": {"askForLists": false}}

The settings dialog, its search, "restore default" and the file reader all use the table. A setting's id
is its path in the preferences file: `connections.connectTimeout` is that member of that section. The
settings in `IN_LAYOUT` are stored with the window layout; settings without a value only run a command or
show a file.

The file holds non-default values only. Unknown members are preserved; an invalid one falls back to its
default and is reported.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import Enum
from pathlib import Path
from typing import Any

from inspector.base.errors import ConfigError
from inspector.base.json.values import JSON, JSONObject, compact, excerpt
from inspector.base.plain_text import one_line
from inspector.base.search_path import AS_STARTED, LOGIN_SHELL, is_path_list
from inspector.config.json_file import JsonDocument
from inspector.config.preferences.sections import CallPrefs, CapturePrefs, invalid_value
from inspector.protocol.framing import DEFAULT_LINE_CAP


@dataclass(frozen=True, slots=True)
class Settings:
    """Limits and timeouts. Times in seconds, sizes in bytes."""

    connect_timeout: float = 15.0
    request_timeout: float = 120.0
    total_timeout: float = 3600.0  # upper limit when progress extends a request's timeout
    keep_alive: float = 0.0  # ping interval; 0: off
    line_cap: int = DEFAULT_LINE_CAP
    max_pages: int = 10_000
    server_path: str = LOGIN_SHELL  # where the PATH of commands comes from, or a PATH
    diagnose_failures: bool = True  # run Doctor when connecting fails
    save_baselines: bool = True  # store baselines to detect changes
    fetch_all_lists: bool = True  # also fetch lists that are not shown, to compare them


_MIB = 1024 * 1024
_DAY = 86_400.0
_MAX_NAMES = 1_000


class Kind(Enum):
    """The kind of a setting: its editor and value type."""

    FLAG = "flag"  # true or false
    NUMBER = "number"
    CHOICE = "choice"  # one of `choices`
    PATH = "path"  # one of `choices`, or a list of folders as in PATH
    NAMES = "names"  # a list of environment variable names
    COMMAND = "command"  # no value: runs the window command `target`
    FILE = "file"  # no value: shows the file or folder `target` (`config.paths.Files`)


@dataclass(frozen=True, slots=True)
class Setting:
    """A setting.

    `zero_text` is shown for 0 where it has a special meaning. `choices` are pairs of value and label.
    """

    id: str
    section: str
    title: str
    description: str
    kind: Kind
    default: JSON = None
    minimum: float = 0.0
    maximum: float = math.inf
    is_integer: bool = False
    unit: str = ""
    zero_text: str = ""
    choices: tuple[tuple[str, str], ...] = ()
    target: str = ""

    @property
    def has_value(self) -> bool:
        return self.kind not in (Kind.COMMAND, Kind.FILE)

    @property
    def json_section(self) -> str:
        return self.id.partition(".")[0]

    @property
    def member(self) -> str:
        return self.id.partition(".")[2]

    def matches(self, words: Sequence[str]) -> bool:
        """True if the section, title, description and ID contain all search words."""
        text = f"{self.section} {self.title} {self.description} {self.id}".casefold()
        return all(word.casefold() in text for word in words)


_ON_RECONNECT = "Takes effect on reconnect."
_PER_SERVER = "Can be overridden per server."
_defaults, _captures, _calls = Settings(), CapturePrefs(), CallPrefs()

SETTINGS = (
    Setting("connections.connectTimeout", "Connections", "Connection timeout",
            "Maximum time to connect; for a process it counts from its first output, at the latest 10 s "
            f"after its start. {_PER_SERVER} {_ON_RECONNECT}",
            Kind.NUMBER, _defaults.connect_timeout, 0.1, 3600, unit="s"),
    Setting("connections.requestTimeout", "Connections", "Request timeout",
            f"Maximum time without a response or progress. {_PER_SERVER} {_ON_RECONNECT}",
            Kind.NUMBER, _defaults.request_timeout, 0.1, _DAY, unit="s"),
    Setting("connections.longestRequest", "Connections", "Total request timeout",
            f"Maximum time for a request, regardless of progress. {_PER_SERVER} {_ON_RECONNECT}",
            Kind.NUMBER, _defaults.total_timeout, 1, 7 * _DAY, unit="s"),
    Setting("connections.keepAlive", "Connections", "Keep-alive interval",
            f"How often a ping is sent. Pings appear in Traffic. {_PER_SERVER} {_ON_RECONNECT}",
            Kind.NUMBER, _defaults.keep_alive, 0, _DAY, unit="s", zero_text="never"),
    Setting("connections.lineCapMebibytes", "Connections", "Maximum message size",
            f"Larger messages are skipped and reported. A message must fit into memory. {_ON_RECONNECT}",
            Kind.NUMBER, _defaults.line_cap // _MIB, 1, 2048, is_integer=True, unit="MiB"),
    Setting("connections.mostPages", "Connections", "Pagination limit",
            "Maximum number of pages fetched for one list, in case a server never stops paginating. "
                f"{_ON_RECONNECT}",
            Kind.NUMBER, _defaults.max_pages, 1, 1_000_000, is_integer=True, unit="pages"),
    Setting("connections.examineFailures", "Connections", "Diagnose failed connections automatically",
            "Runs Doctor when a connection fails; this starts a command again. If off, run Doctor "
                "yourself. Takes effect immediately.",
            Kind.FLAG, _defaults.diagnose_failures),
    Setting("connections.serverPath", "Connections", "PATH for servers",
            "Where commands are looked up. Login shell: if MCP Lens was not started from a terminal, the "
                f"folders of your login shell are appended. {_ON_RECONNECT}",
            Kind.PATH, LOGIN_SHELL,
            choices=((LOGIN_SHELL, "Login shell"), (AS_STARTED, "As started"))),
    Setting("captures.record", "Traffic and captures", "Record traffic automatically",
            "Writes all traffic to a capture while MCP Lens is running. Takes effect immediately.",
            Kind.FLAG, _captures.is_on),
    Setting("captures.keepDays", "Traffic and captures", "Keep captures for",
            "Older captures are deleted, immediately and at every startup.",
            Kind.NUMBER, _captures.max_days, 1, 3650, is_integer=True, unit="days"),
    Setting("captures.keepMebibytes", "Traffic and captures", "Maximum total size of captures",
            "When all captures together exceed this size, the oldest are deleted, immediately and at "
                "every startup.",
            Kind.NUMBER, _captures.max_mebibytes, 1, 1024 * 1024, is_integer=True, unit="MiB"),
    Setting("window.keptCaptures", "Traffic and captures", "Manage captures",
            "Open or delete saved captures.", Kind.COMMAND, target="capture.kept"),
    Setting("window.colorRules", "Traffic and captures", "Color rules",
            "Highlight matching rows in Traffic.", Kind.COMMAND, target="traffic.colors"),
    Setting("inbox.timeout", "Inbox", "Inbox timeout",
            "After this time, elicitations are cancelled and sampling requests are rejected. Applies "
                "to new server requests.",
            Kind.NUMBER, None, 0, 7 * _DAY, unit="s", zero_text="no limit"),
    Setting("window.answerRules", "Inbox", "Reply rules",
            "Reply to server requests automatically.",
            Kind.COMMAND, target="app.answers"),
    Setting("calls.keepHistory", "Calls", "Save call history",
            "Saves the arguments of your calls for each tool. Turning this off keeps the existing history.",
            Kind.FLAG, _calls.keep_history),
    Setting("calls.keepSecrets", "Calls", "Save secrets in call history",
            "Also saves arguments that look like passwords or keys, in plain text. Applies to new calls.",
            Kind.FLAG, _calls.keep_secrets),
    Setting("calls.environment", "Calls", "Environment variables available to calls",
            "Only these can be used as ${env:NAME} in arguments, because saved calls may come from "
                "others. Separate names with commas.",
            Kind.NAMES, []),
    Setting("window.savedCalls", "Calls", "Saved calls",
            "Rename, describe and delete saved calls; choose their folders.",
            Kind.COMMAND, target="call.manage"),
    Setting("window.variables", "Calls", "Call variables",
            "Values for ${name} in arguments.", Kind.COMMAND, target="call.variables"),
    Setting("lists.remember", "Change detection", "Save baselines",
            f"Compares tools, resources and prompts with the baseline and reports changes. {_ON_RECONNECT}",
            Kind.FLAG, _defaults.save_baselines),
    Setting("lists.askForLists", "Change detection", "Fetch all lists on connect",
            "If off, only the lists you open are compared. The requests appear in Traffic.",
            Kind.FLAG, _defaults.fetch_all_lists),
    Setting("look.scheme", "Appearance", "Theme", "Light, dark, or system theme. Takes effect immediately.",
            Kind.CHOICE, "system", choices=(("system", "System"), ("light", "Light"), ("dark", "Dark"))),
    Setting("window.secrets", "Secrets", "Secret storage",
            "Store keys and tokens in the system keychain, in a file encrypted with a passphrase, or "
                "in memory only.",
            Kind.COMMAND, target="app.secrets"),
    Setting("files.server_list", "Files", "Servers", "Your server list (JSON).",
            Kind.FILE, target="server_list"),
    Setting("files.preferences", "Files", "Settings", "These settings, filters and color rules (JSON).",
            Kind.FILE, target="preferences"),
    Setting("files.answers", "Files", "Reply rules", "Your reply rules (JSON).",
            Kind.FILE, target="reply_rules"),
    Setting("files.captures", "Files", "Captures", "Captured traffic, one file per capture.",
            Kind.FILE, target="captures"),
    Setting("files.calls", "Files", "Saved calls", "Your saved calls and variables, one JSON file each.",
            Kind.FILE, target="calls"),
    Setting("files.history", "Files", "Call history", "Past calls, one file per tool.",
            Kind.FILE, target="history"),
    Setting("files.baselines", "Files", "Baselines",
            "Baselines used to detect changes, one file per server.",
            Kind.FILE, target="baselines"),
    Setting("files.trust", "Files", "Trusted servers",
            "Servers from other clients that you trust, and exactly what you approved (JSON).",
            Kind.FILE, target="trust"),
    Setting("files.secrets", "Files", "Secrets", "Keys and tokens, encrypted.",
            Kind.FILE, target="secrets"),
    Setting("files.layout", "Files", "Layout", "Window layout: sizes, columns, theme.",
            Kind.FILE, target="layout"),
)  # fmt: skip

IN_LAYOUT = frozenset({"look.scheme"})
_BY_ID = {setting.id: setting for setting in SETTINGS}
_OLD_IDS = {"inbox.answerWithin": "inbox.timeout"}
_ENVIRONMENT_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_()]*")


def setting_of(id: str) -> Setting:
    """Return a setting by its current or former id. Raises ConfigError."""
    try:
        return _BY_ID[_OLD_IDS.get(id, id)]
    except KeyError:
        raise ConfigError(f"Unknown setting {id!r}.") from None


def checked_value(setting: Setting, value: JSON) -> JSON:
    """Return the value if it is valid. Raises ConfigError whose summary says what is expected."""
    if value is None and setting.default is None:
        return None
    choices = [choice for choice, _ in setting.choices]
    is_valid = {
        Kind.FLAG: lambda: isinstance(value, bool),
        Kind.NUMBER: lambda: _is_number(setting, value),
        Kind.CHOICE: lambda: value in choices,
        Kind.PATH: lambda: isinstance(value, str) and (value in choices or is_path_list(value)),
        Kind.NAMES: lambda: _is_name_list(value),
    }.get(setting.kind)
    if is_valid is None or not is_valid():
        raise ConfigError(
            f"“{setting.title}” must be {expected_text(setting)}, not {one_line(excerpt(value))}."
        )
    return value


def expected_text(setting: Setting) -> str:
    """Describe the valid values, as the end of a sentence."""
    if setting.kind is Kind.FLAG:
        return "true or false"
    if setting.kind is Kind.CHOICE:
        return f"one of {', '.join(value for value, _ in setting.choices)}"
    if setting.kind is Kind.PATH:
        values = ", ".join(value for value, _ in setting.choices)
        return f"{values}, or absolute folders separated by “{os.pathsep}”"
    if setting.kind is Kind.NAMES:
        return "a list of environment variable names"
    number = "an integer" if setting.is_integer else "a number"
    return f"{number} from {setting.minimum:g} to {setting.maximum:,.10g}"


def _default_text(setting: Setting) -> str:
    is_number = isinstance(setting.default, int | float) and not isinstance(setting.default, bool)
    return f"{setting.default:,.10g}" if is_number else compact(setting.default)


def _is_number(setting: Setting, value: JSON) -> bool:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return setting.minimum <= value <= setting.maximum and (not setting.is_integer or value == int(value))


def _is_name_list(value: JSON) -> bool:
    if not isinstance(value, list) or len(value) > _MAX_NAMES:
        return False
    return all(isinstance(name, str) and _ENVIRONMENT_NAME.fullmatch(name) for name in value)


# By setting id: the field of `Settings`, and the factor from the file's unit to the field's.
_FIELDS = {
    "connections.connectTimeout": ("connect_timeout", 1),
    "connections.requestTimeout": ("request_timeout", 1),
    "connections.longestRequest": ("total_timeout", 1),
    "connections.keepAlive": ("keep_alive", 1),
    "connections.lineCapMebibytes": ("line_cap", _MIB),
    "connections.mostPages": ("max_pages", 1),
    "connections.serverPath": ("server_path", 1),
    "connections.examineFailures": ("diagnose_failures", 1),
    "lists.remember": ("save_baselines", 1),
    "lists.askForLists": ("fetch_all_lists", 1),
}
IDS = tuple(_FIELDS)


def value_of(settings: Settings, id: str) -> JSON:
    """Return the value as written in the file."""
    field, factor = _FIELDS[id]
    value: JSON = getattr(settings, field)
    return value if factor == 1 else int(getattr(settings, field)) // factor


def with_value(settings: Settings, id: str, value: JSON) -> Settings:
    """Return the settings with one value changed. Raises ConfigError if it is invalid."""
    field, factor = _FIELDS[id]
    valid: Any = checked_value(setting_of(id), value)
    if setting_of(id).is_integer:
        valid = int(valid) * factor
    return replace(settings, **{field: valid})


class SettingsFile:
    """The `Settings` sections of the preferences file."""

    def __init__(self, path: Path) -> None:
        self._file = JsonDocument(path)

    def load(self) -> tuple[Settings, list[str]]:
        """Return the settings and warnings about invalid values. Never raises."""
        try:
            return self._settings(self._file.read())
        except ConfigError as exc:
            return Settings(), [str(exc)]

    def set(self, id: str, value: JSON) -> Settings:
        """Write one setting and return all of them. Raises ConfigError.

        A default is not written, so that it follows the app. Manual edits made meanwhile are kept and take
        effect.
        """
        with self._file.locked():
            document = self._file.read()
            _put(document, setting_of(id), value_of(with_value(Settings(), id, value), id))
            self._file.write(document)
        return self._settings(document)[0]

    def _settings(self, document: JSONObject) -> tuple[Settings, list[str]]:
        settings, warnings = Settings(), list[str]()
        for section in dict.fromkeys(setting_of(id).json_section for id in IDS):
            if not isinstance(document.get(section, {}), dict):
                warnings.append(invalid_value(self._file.path, section, "an object"))
        for id in IDS:
            setting = setting_of(id)
            members = document.get(setting.json_section)
            if isinstance(members, dict) and setting.member in members:
                try:
                    settings = with_value(settings, id, members[setting.member])
                except ConfigError:
                    expected, default = expected_text(setting), _default_text(setting)
                    warnings.append(invalid_value(self._file.path, id, expected, default))
        return settings, warnings


def _put(document: JSONObject, setting: Setting, value: JSON) -> None:
    section = document.get(setting.json_section)
    members = dict(section) if isinstance(section, dict) else {}
    members.pop(setting.member, None)
    if value != setting.default:
        members[setting.member] = value
    if members:
        document[setting.json_section] = members
    else:
        document.pop(setting.json_section, None)

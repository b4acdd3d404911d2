"""The table of all settings, and their validation in the preferences file.

    {"connections": {"connectTimeout": 30}, "lists": {"askForLists": false}}

The settings dialog, its search, "restore default" and the reader of the file all use the table. A setting's
id is its path in the file: `connections.connectTimeout` is that member of that section. Settings without a
value only run a command or show a file.

The file holds non-default values only. Unknown members are preserved; an invalid one falls back to its
default and is reported.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

from inspector.base.errors import ConfigError
from inspector.base.json.values import JSON, JSONObject, compact, excerpt
from inspector.base.plain_text import one_line
from inspector.base.search_path import AS_STARTED, LOGIN_SHELL, is_path_list
from inspector.protocol.framing import DEFAULT_LINE_CAP

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
    FOLDERS = "folders"  # a list of paths
    LIST = "list"  # a JSON array; its owner validates the items
    OBJECT = "object"  # a JSON object; its owner validates the members
    COMMAND = "command"  # no value: runs the window command `target`
    FILE = "file"  # no value: shows the file or folder `target` (`config.paths.Files`)


@dataclass(frozen=True, slots=True)
class Setting:
    """A setting.

    `zero_text` is shown for 0 where it has a special meaning. `choices` are pairs of value and label. One
    that is `in_layout` is stored with the window layout. `old_id` is where earlier versions stored it.
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
    in_layout: bool = False
    old_id: str = ""

    @property
    def has_value(self) -> bool:
        return self.kind not in (Kind.COMMAND, Kind.FILE)

    @property
    def is_stored(self) -> bool:
        """True if its value is in the preferences file."""
        return self.has_value and not self.in_layout

    def matches(self, words: Sequence[str]) -> bool:
        """True if the section, title, description and ID contain all search words."""
        text = f"{self.section} {self.title} {self.description} {self.id}".casefold()
        return all(word.casefold() in text for word in words)


_ON_RECONNECT = "Takes effect on reconnect."
_PER_SERVER = "Can be overridden per server."

SETTINGS = (
    Setting("connections.connectTimeout", "Connections", "Connection timeout",
            "Maximum time to connect; for a process it counts from its first output, at the latest 10 s "
            f"after its start. {_PER_SERVER} {_ON_RECONNECT}",
            Kind.NUMBER, 15, 0.1, 3600, unit="s"),
    Setting("connections.requestTimeout", "Connections", "Request timeout",
            f"Maximum time without a response or progress. {_PER_SERVER} {_ON_RECONNECT}",
            Kind.NUMBER, 120, 0.1, _DAY, unit="s"),
    Setting("connections.longestRequest", "Connections", "Total request timeout",
            f"Maximum time for a request, regardless of progress. {_PER_SERVER} {_ON_RECONNECT}",
            Kind.NUMBER, 3600, 1, 7 * _DAY, unit="s"),
    Setting("connections.keepAlive", "Connections", "Keep-alive interval",
            f"How often a ping is sent. Pings appear in Traffic. {_PER_SERVER} {_ON_RECONNECT}",
            Kind.NUMBER, 0, 0, _DAY, unit="s", zero_text="never"),
    Setting("connections.lineCapMebibytes", "Connections", "Maximum message size",
            f"Larger messages are skipped and reported. A message must fit into memory. {_ON_RECONNECT}",
            Kind.NUMBER, DEFAULT_LINE_CAP // _MIB, 1, 2048, is_integer=True, unit="MiB"),
    Setting("connections.mostPages", "Connections", "Pagination limit",
            "Maximum number of pages fetched for one list, in case a server never stops paginating. "
                f"{_ON_RECONNECT}",
            Kind.NUMBER, 10_000, 1, 1_000_000, is_integer=True, unit="pages"),
    Setting("connections.examineFailures", "Connections", "Diagnose failed connections automatically",
            "Runs Doctor when a connection fails; this starts a command again. If off, run Doctor "
                "yourself. Takes effect immediately.",
            Kind.FLAG, True),
    Setting("connections.serverPath", "Connections", "PATH for servers",
            "Where commands are looked up. Login shell: if MCP Lens was not started from a terminal, the "
                f"folders of your login shell are appended. {_ON_RECONNECT}",
            Kind.PATH, LOGIN_SHELL,
            choices=((LOGIN_SHELL, "Login shell"), (AS_STARTED, "As started"))),
    Setting("captures.record", "Traffic and captures", "Record traffic automatically",
            "Writes all traffic to a capture while MCP Lens is running. Takes effect immediately.",
            Kind.FLAG, True),
    Setting("captures.keepDays", "Traffic and captures", "Keep captures for",
            "Older captures are deleted, immediately and at every startup.",
            Kind.NUMBER, 30, 1, 1_000_000, is_integer=True, unit="days"),
    Setting("captures.keepMebibytes", "Traffic and captures", "Maximum total size of captures",
            "When all captures together exceed this size, the oldest are deleted, immediately and at "
                "every startup.",
            Kind.NUMBER, 2048, 1, 1_000_000_000, is_integer=True, unit="MiB"),
    Setting("window.keptCaptures", "Traffic and captures", "Manage captures",
            "Open or delete saved captures.", Kind.COMMAND, target="capture.kept"),
    Setting("window.colorRules", "Traffic and captures", "Color rules",
            "Highlight matching rows in Traffic.", Kind.COMMAND, target="traffic.colors"),
    Setting("inbox.timeout", "Inbox", "Inbox timeout",
            "After this time, elicitations are cancelled and sampling requests are rejected. Applies "
                "to new server requests.",
            Kind.NUMBER, None, 0, 7 * _DAY, unit="s", zero_text="no limit", old_id="inbox.answerWithin"),
    Setting("window.answerRules", "Inbox", "Reply rules",
            "Reply to server requests automatically.",
            Kind.COMMAND, target="app.answers"),
    Setting("calls.keepHistory", "Calls", "Save call history",
            "Saves the arguments of your calls for each tool. Turning this off keeps the existing history.",
            Kind.FLAG, True),
    Setting("calls.keepSecrets", "Calls", "Save secrets in call history",
            "Also saves arguments that look like passwords or keys, in plain text. Applies to new calls.",
            Kind.FLAG, False),
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
            Kind.FLAG, True),
    Setting("lists.askForLists", "Change detection", "Fetch all lists on connect",
            "If off, only the lists you open are compared. The requests appear in Traffic.",
            Kind.FLAG, True),
    Setting("look.scheme", "Appearance", "Theme", "Light, dark, or system theme. Takes effect immediately.",
            Kind.CHOICE, "system", choices=(("system", "System"), ("light", "Light"), ("dark", "Dark")),
            in_layout=True),
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

# Edited in dialogs and panels of their own.
EDITED_ELSEWHERE = (
    Setting("calls.folders", "", "Folders with saved calls", "", Kind.FOLDERS, []),
    Setting("filters", "", "Saved filters", "", Kind.OBJECT, {}),
    Setting("colorRules", "", "Color rules", "", Kind.LIST, old_id="colourRules"),
    Setting("logins", "", "Login options of servers", "", Kind.OBJECT, {}),
)

_STORED = tuple(setting for setting in (*SETTINGS, *EDITED_ELSEWHERE) if setting.is_stored)
_BY_ID = {
    id: setting for setting in (*SETTINGS, *EDITED_ELSEWHERE) for id in (setting.id, setting.old_id) if id
}
_ENVIRONMENT_NAME = re.compile(r"[^\s,;=]+")


def setting_of(id: str) -> Setting:
    """Return a setting by its current or former id. Raises ConfigError."""
    try:
        return _BY_ID[id]
    except KeyError:
        raise ConfigError(f"Unknown setting {id!r}.") from None


def checked_value(setting: Setting, value: JSON) -> JSON:
    """Return the value if it is valid. Raises ConfigError whose summary says what is expected."""
    if value is None and setting.default is None:
        return None
    if not _is_valid(setting, value):
        raise ConfigError(
            f"“{setting.title}” must be {expected_text(setting)}, not {one_line(excerpt(value))}."
        )
    if setting.kind is Kind.NUMBER and setting.default is None and not value:
        return None
    return int(value) if setting.is_integer and isinstance(value, float) else value


def _is_valid(setting: Setting, value: JSON) -> bool:
    choices = [choice for choice, _ in setting.choices]
    match setting.kind:
        case Kind.FLAG:
            return isinstance(value, bool)
        case Kind.NUMBER:
            return _is_number(setting, value)
        case Kind.CHOICE:
            return value in choices
        case Kind.PATH:
            return isinstance(value, str) and (value in choices or is_path_list(value))
        case Kind.NAMES:
            return _is_list_of(value, lambda name: bool(_ENVIRONMENT_NAME.fullmatch(name)))
        case Kind.FOLDERS:
            return _is_list_of(value, bool)
        case Kind.LIST:
            return isinstance(value, list)
        case Kind.OBJECT:
            return isinstance(value, dict)
    return False


def expected_text(setting: Setting) -> str:
    """Describe the valid values, as the end of a sentence."""
    match setting.kind:
        case Kind.FLAG:
            return "true or false"
        case Kind.CHOICE:
            return f"one of {', '.join(value for value, _ in setting.choices)}"
        case Kind.PATH:
            values = ", ".join(value for value, _ in setting.choices)
            return f"{values}, or absolute folders separated by “{os.pathsep}”"
        case Kind.NAMES:
            return "a list of environment variable names"
        case Kind.FOLDERS:
            return "a list of folders"
        case Kind.LIST:
            return "an array"
        case Kind.OBJECT:
            return "an object"
    number = "an integer" if setting.is_integer else "a number"
    return f"{number} from {setting.minimum:g} to {setting.maximum:,.10g}"


def _is_number(setting: Setting, value: JSON) -> bool:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return setting.minimum <= value <= setting.maximum and (not setting.is_integer or value == int(value))


def _is_list_of(value: JSON, is_valid: Callable[[str], bool]) -> bool:
    if not isinstance(value, list) or len(value) > _MAX_NAMES:
        return False
    return all(isinstance(item, str) and is_valid(item) for item in value)


def read_settings(document: JSONObject) -> tuple[dict[str, JSON], list[str]]:
    """Return the values in a preferences file by id, and what is wrong with the others."""
    values: dict[str, JSON] = {}
    problems: list[str] = []
    for section in dict.fromkeys(setting.id.partition(".")[0] for setting in _STORED if "." in setting.id):
        if not isinstance(document.get(section, {}), dict):
            problems.append(f"“{section}” must be an object. Using the defaults.")
    for setting in _STORED:
        id = next((id for id in (setting.id, setting.old_id) if id and _has(document, id)), None)
        if id is not None:
            section, _, member = id.rpartition(".")
            try:
                values[setting.id] = checked_value(setting, _members(document, section)[member])
            except ConfigError:
                problems.append(f"“{id}” must be {expected_text(setting)}. {_default_text(setting)}")
    return values, problems


def with_setting(document: JSONObject, setting: Setting, value: JSON) -> JSONObject:
    """Return a preferences file with this value. A default is left out, so that it follows the app."""
    for id in filter(None, (setting.old_id, setting.id)):
        section, _, member = id.rpartition(".")
        members = {key: each for key, each in _members(document, section).items() if key != member}
        if id == setting.id and value != setting.default:
            members[member] = value
        document = {**document, section: members} if section else members
        if not members and section:
            del document[section]
    return document


def _members(document: JSONObject, section: str) -> JSONObject:
    """Return the members of a section; an invalid section counts as empty."""
    members = document.get(section) if section else document
    return members if isinstance(members, dict) else {}


def _has(document: JSONObject, id: str) -> bool:
    section, _, member = id.rpartition(".")
    return member in _members(document, section)


def _default_text(setting: Setting) -> str:
    if setting.default is None:
        return "Using the default (none)."
    is_number = isinstance(setting.default, int | float) and not isinstance(setting.default, bool)
    return f"Using the default ({f'{setting.default:,.10g}' if is_number else compact(setting.default)})."


@dataclass(frozen=True, slots=True)
class ConnectionSettings:
    """The settings of a connection. Times in seconds, sizes in bytes."""

    connect_timeout: float = 15.0
    request_timeout: float = 120.0
    total_timeout: float = 3600.0  # upper limit when progress extends a request's timeout
    keep_alive: float = 0.0  # ping interval; 0: off
    line_cap: int = DEFAULT_LINE_CAP
    max_pages: int = 10_000

    @classmethod
    def of(cls, get: Callable[[str], Any]) -> ConnectionSettings:
        """Return the settings that `get` returns by id."""
        return cls(
            get("connections.connectTimeout"),
            get("connections.requestTimeout"),
            get("connections.longestRequest"),
            get("connections.keepAlive"),
            get("connections.lineCapMebibytes") * _MIB,
            get("connections.mostPages"),
        )

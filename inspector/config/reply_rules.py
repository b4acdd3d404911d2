"""Reply rules file: which server requests are answered automatically, and how.

    {"rules": [
      {"id": "1f", "name": "Always yes", "on": true, "filter": "server:demo method:elicitation/create",
       "kind": "canned", "answer": {"action": "accept", "content": {"sure": true}}},
      {"name": "Prepared replies", "kind": "script", "script": "answers.jsonl", "loop": true},
      {"name": "A model", "kind": "endpoint", "endpoint": {"url": "http://localhost:11434/v1", "model": "…",
       "key": "answers/endpoint/1f", "timeout": 60, "perMinute": 20, "extra": {"seed": 7}}},
      {"name": "Echo", "kind": "echo"}
    ]}

A reply ("answer") is a string (the text of a sampling result), {"error": {"code": …, "message": …}}, or
any other object: the result, sent unchanged. A rule without "on": true is disabled. Unknown members are
preserved, and so are members that belong to other kinds of rules; an invalid rule stays in the file and is
reported.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import TypeAlias

from inspector.base.errors import ConfigError
from inspector.base.json.values import JSON, JSONError, JSONObject, shorten
from inspector.base.plain_text import one_line
from inspector.config.json_file import read_exactly, read_file, read_text, write_file
from inspector.config.secrets.records import is_below, make_name

MAX_RULES = 1_000
DEFAULT_TIMEOUT = 60.0
DEFAULT_PER_MINUTE = 20
MAX_PER_MINUTE = 6_000
KEY_KIND = "answers"  # rules can only use secrets stored under this kind

Stamp: TypeAlias = tuple[int, int]  # (mtime, size) of the file


class RuleKind(Enum):
    """How a rule produces its reply. The values are written to the file."""

    CANNED = "canned"
    ECHO = "echo"
    SCRIPT = "script"
    ENDPOINT = "endpoint"


@dataclass(frozen=True, slots=True)
class Endpoint:
    """An OpenAI-compatible chat endpoint.

    `key` is the name of a secret ("" for none). `timeout` is in seconds. `per_minute` limits automatic
    requests: a server that asks in a loop spends the user's money.
    """

    url: str = ""
    model: str = ""
    key: str = ""
    timeout: float = DEFAULT_TIMEOUT
    extra: JSONObject = field(default_factory=dict)
    per_minute: int = DEFAULT_PER_MINUTE


@dataclass(frozen=True, slots=True)
class ReplyRule:
    """A reply rule.

    It has the fields of every kind, so that switching the kind and back loses nothing. `source` is the rule
    as read from the file, including unknown members.
    """

    id: str
    name: str = ""
    kind: RuleKind = RuleKind.CANNED
    filter: str = ""
    is_on: bool = False
    reply: JSON = ""
    script: str = ""
    loops: bool = False
    endpoint: Endpoint = field(default_factory=Endpoint)
    source: JSONObject = field(default_factory=dict, compare=False)

    @property
    def title(self) -> str:
        """Display name for replies, notes and lists."""
        return one_line(shorten(self.name.strip(), 80)) or "Unnamed rule"

    @property
    def key_name(self) -> str:
        """Name of the endpoint's secret, existing or to be created."""
        return self.endpoint.key or make_name(KEY_KIND, "endpoint", self.id)


@dataclass(frozen=True, slots=True)
class LoadedRules:
    """Rules in evaluation order, plus one sentence per problem found in the file."""

    rules: tuple[ReplyRule, ...] = ()
    problems: tuple[str, ...] = ()
    stamp: Stamp | None = None


class ReplyRulesFile:
    """The reply rules file. It may not exist yet and may be edited externally."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def stamp(self) -> Stamp | None:
        try:
            status = self.path.stat()
        except OSError:
            return None
        return status.st_mtime_ns, status.st_size

    def load(self) -> LoadedRules:
        """Read the rules. Never raises: an unreadable file yields no rules."""
        stamp = self.stamp()
        try:
            entries = _entries(read_file(self.path))
        except FileNotFoundError:
            return LoadedRules()
        except ConfigError as exc:
            return LoadedRules(problems=(str(exc),), stamp=stamp)
        except ValueError as exc:
            return LoadedRules(problems=(self._problem(str(exc), "Fix it in the file."),), stamp=stamp)
        rules: dict[str, ReplyRule] = {}
        problems: list[str] = []
        for number, entry in enumerate(entries[:MAX_RULES], 1):
            try:
                rule = read_rule(entry, number, taken=rules)
            except ValueError as exc:
                problems.append(self._problem(f"rule {number:,}: {exc}", "This rule is ignored."))
            else:
                rules[rule.id] = rule
        if len(entries) > MAX_RULES:
            problems.append(self._problem(f"only the first {MAX_RULES:,} rules are used"))
        return LoadedRules(tuple(rules.values()), tuple(problems), stamp)

    def save(self, rules: Sequence[ReplyRule]) -> None:
        """Replace the rules in the file. Raises ConfigError.

        Entries that could not be parsed stay in the file, after these rules.
        """
        try:
            document = read_file(self.path)
            entries = _entries(document)
        except FileNotFoundError:
            document, entries = {}, []
        except ValueError as exc:
            raise ConfigError(self._problem(str(exc)), "Fix it in the file. Nothing was changed.") from exc
        unusable = [
            entry for number, entry in enumerate(entries) if number >= MAX_RULES or not _is_usable(entry)
        ]
        written: list[JSON] = [write_rule(rule) for rule in rules]
        write_file(self.path, {**document, "rules": written + unusable}, is_private=True)

    def _problem(self, text: str, consequence: str = "") -> str:
        return f"{one_line(self.path.name)}: {text}. {consequence}".strip()


def _entries(document: JSONObject) -> list[JSON]:
    entries = document.get("rules", [])
    if not isinstance(entries, list):
        raise ValueError("“rules” must be an array")
    return entries


def read_rule(entry: JSON, number: int, taken: dict[str, ReplyRule]) -> ReplyRule:
    """Parse one rule. Raises ValueError.

    A rule without an id gets one that is stable across reads.
    """
    if not isinstance(entry, dict):
        raise ValueError("it must be an object")
    name, reply = _text(entry, "name"), entry.get("answer", "")
    if problem := reply_problem(reply):
        raise ValueError(problem)
    id = _text(entry, "id") or name or f"rule {number}"
    return ReplyRule(
        id=id if id not in taken else f"{id} ({number})",
        name=name,
        kind=_kind(entry),
        filter=_text(entry, "filter"),
        is_on=entry.get("on") is True,
        reply=reply,
        script=_text(entry, "script"),
        loops=entry.get("loop") is True,
        endpoint=_endpoint(entry.get("endpoint", {})),
        source=entry,
    )


def write_rule(rule: ReplyRule) -> JSONObject:
    """Return the rule's JSON; empty members are written only if they were already present."""
    endpoint = rule.source.get("endpoint")
    before = endpoint if isinstance(endpoint, dict) else {}
    values: JSONObject = {
        "answer": rule.reply,
        "script": rule.script,
        "loop": rule.loops,
        "endpoint": {**before, **_written_endpoint(rule.endpoint, before)},
    }
    empty: JSONObject = {"answer": "", "script": "", "loop": False, "endpoint": {}}
    members = {name: value for name, value in values.items() if value != empty[name] or name in rule.source}
    head: JSONObject = {"id": rule.id, "name": rule.name, "on": rule.is_on, "filter": rule.filter}
    return {**rule.source, **head, "kind": rule.kind.value, **members}


def reply_problem(reply: JSON) -> str:
    """Return what is wrong with a reply, as the end of a sentence; "" if it is valid."""
    if isinstance(reply, str):
        return ""
    if not isinstance(reply, dict):
        return "a reply must be a string or an object"
    if list(reply) != ["error"]:
        return ""
    error = reply["error"]
    code = error.get("code") if isinstance(error, dict) else None
    message = error.get("message") if isinstance(error, dict) else None
    if not isinstance(code, int) or isinstance(code, bool) or not isinstance(message, str):
        return "an “error” needs an integer “code” and a string “message”"
    return ""


def _is_usable(entry: JSON) -> bool:
    try:
        read_rule(entry, 1, {})
    except ValueError:
        return False
    return True


def _kind(entry: JSONObject) -> RuleKind:
    value = entry.get("kind")
    try:
        return RuleKind(value)
    except ValueError:
        kinds = ", ".join(kind.value for kind in RuleKind)
        raise ValueError(f"its “kind” must be one of {kinds}") from None


def _endpoint(value: JSON) -> Endpoint:
    if not isinstance(value, dict):
        raise ValueError("“endpoint” must be an object")
    extra = value.get("extra", {})
    if not isinstance(extra, dict):
        raise ValueError("“extra” must be an object")
    key = _text(value, "key")
    if key and not is_below(key, KEY_KIND):
        raise ValueError(f"its “key” must be the name of a secret that starts with {KEY_KIND}/")
    url, model = _text(value, "url"), _text(value, "model")
    return Endpoint(url, model, key, _seconds(value), extra, _per_minute(value))


def _written_endpoint(endpoint: Endpoint, before: JSONObject) -> JSONObject:
    values: JSONObject = {
        "url": endpoint.url,
        "model": endpoint.model,
        "key": endpoint.key,
        "timeout": endpoint.timeout,
        "perMinute": endpoint.per_minute,
        "extra": endpoint.extra,
    }
    defaults: JSONObject = {
        "url": "",
        "model": "",
        "key": "",
        "timeout": DEFAULT_TIMEOUT,
        "perMinute": DEFAULT_PER_MINUTE,
        "extra": {},
    }
    return {name: value for name, value in values.items() if value != defaults[name] or name in before}


def _text(source: JSONObject, name: str) -> str:
    value = source.get(name, "")
    if not isinstance(value, str):
        raise ValueError(f"“{name}” must be a string")
    return value


def _seconds(source: JSONObject) -> float:
    value = source.get("timeout", DEFAULT_TIMEOUT)
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < math.inf:
        raise ValueError("“timeout” must be a number of seconds greater than 0")
    return value


def _per_minute(source: JSONObject) -> int:
    value = source.get("perMinute", DEFAULT_PER_MINUTE)
    if type(value) is not int or not 1 <= value <= MAX_PER_MINUTE:
        raise ValueError(f"“perMinute” must be an integer from 1 to {MAX_PER_MINUTE:,}")
    return value


def read_script(path: Path) -> list[JSON]:
    """Read the replies of a script file: a JSON array, or one per line. Raises ConfigError."""
    try:
        text = read_text(path)
    except (OSError, UnicodeDecodeError) as exc:
        why = exc.strerror if isinstance(exc, OSError) and exc.strerror else exc
        raise ConfigError(f"Could not read the script {_display(path)}: {why}.", "Check the path.") from exc
    replies = _read_array(path, text) if text.lstrip().startswith("[") else _read_lines(path, text)
    for number, reply in enumerate(replies, 1):
        if problem := reply_problem(reply):
            raise ConfigError(
                f"Reply {number:,} in {_display(path)} is invalid: {problem}.", "Fix it in the file."
            )
    return replies


def _read_array(path: Path, text: str) -> list[JSON]:
    try:
        value = read_exactly(text)
    except JSONError as exc:
        raise ConfigError(f"{_display(path)} is not valid JSON: {exc}.", "Fix it in the file.") from exc
    assert isinstance(value, list)  # the text starts with "["
    return value


def _read_lines(path: Path, text: str) -> list[JSON]:
    replies: list[JSON] = []
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        try:
            replies.append(read_exactly(line))
        except JSONError as exc:
            raise ConfigError(
                f"Line {number:,} of {_display(path)} is not valid JSON: {exc}.",
                "Write one reply per line, with strings in quotation marks, or all replies in one array.",
            ) from exc
    return replies


def _display(path: Path) -> str:
    return one_line(shorten(str(path), 200))

"""Permission rules for MCP tools in Claude Code's settings: which it allows, asks about or denies.

The rules of all its settings files apply together. A deny rule wins over an ask rule, and that over an allow
rule, in whichever file and however specific they are. Rules for other tools (`Bash(npm *)`) are left out.
Also reads a list of objects, `[{"tool": "mcp__github__*", "action": "ask"}]`, which Claude Code rejects.
No I/O.

https://code.claude.com/docs/en/permissions
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias, cast, get_args

from inspector.base.json.values import JSON, JSONObject
from inspector.base.plain_text import one_line
from inspector.base.units import plural
from inspector.config.foreign.discovery import Source
from inspector.protocol.types import namespaced

Action: TypeAlias = Literal["deny", "ask", "allow"]

MAX_RULES = 1000  # per file
_MAX_LENGTH = 1000  # of a rule, and of a tool name
_MAX_SHOWN = 8
_ACTIONS: tuple[Action, ...] = get_args(Action)  # the first match wins
_VERBS = {"deny": "denies", "ask": "asks", "allow": "allows"}
_EFFECTS = {
    "deny": "Claude Code does not offer this tool to the model.",
    "ask": "Claude Code asks before every call of this tool.",
    "allow": "Claude Code calls this tool without asking.",
}
_PREFIX = "mcp__"


@dataclass(frozen=True, slots=True)
class PermissionRule:
    """One rule as written in a file; with a `problem`, Claude Code does not apply it.

    `is_listed`: it is an object in a list.
    """

    action: Action
    pattern: str
    source: Source
    problem: str = ""
    is_listed: bool = False

    @property
    def scope(self) -> str:
        """The name of the scope in Claude Code's documentation."""
        path = self.source.path
        if self.source.scope == "folder":
            return "local" if path is not None and path.name == "settings.local.json" else "project"
        return "managed" if self.source.scope == "system" else "user"

    def matches(self, server: str, tool: str) -> bool:
        """True if it names this tool, a set of tools that includes it, or its whole server."""
        name, prefix = namespaced(server, tool), namespaced(server, "")
        pattern = self.pattern.partition("(")[0]
        if "*" not in pattern:
            return pattern in (name, prefix.removesuffix("__"))
        if self.action == "allow" and not self.problem and not pattern.startswith(prefix):
            return False  # of two servers `a` and `a__b`, `mcp__a__*` allows only the first
        return _matches_glob(pattern, name)


@dataclass(frozen=True, slots=True)
class ToolPermission:
    """The rules that match a tool, at least one: the decisive first, those not applied last."""

    rules: tuple[PermissionRule, ...]

    @property
    def action(self) -> Action | None:
        """What the rules decide; None if Claude Code applies none of them."""
        first = self.rules[0]
        return None if first.problem else first.action

    @property
    def label(self) -> str:
        """A short text, e.g. `Claude Code: asks`."""
        if self.action is None:
            return "Claude Code: rule skipped"
        client = "Permission rule" if self.rules[0].is_listed else "Claude Code"
        return f"{client}: {_VERBS[self.action]}"

    @property
    def details(self) -> tuple[str, ...]:
        """The effect, and a line for each rule with its file."""
        first, *others = self.rules[:_MAX_SHOWN]
        lines = [self._effect(), f"Rule: {_rule_text(first)}"]
        lines += [f"Also: {_rule_text(rule)}" for rule in others]
        if len(self.rules) > _MAX_SHOWN:
            lines.append(f"And {plural(len(self.rules) - _MAX_SHOWN, 'other rule')}.")
        return tuple(lines)

    def _effect(self) -> str:
        if self.action is None:
            return "Claude Code applies no rule to this tool."
        if self.rules[0].is_listed:
            return f"A rule {_VERBS[self.action]} this tool, but current Claude Code rejects rules in a list."
        return _EFFECTS[self.action]


def permission_for(rules: Iterable[PermissionRule], server: str, tool: str) -> ToolPermission | None:
    """Return what the rules say about a tool; `server` is its name in Claude Code. None without a match."""
    if len(server) + len(tool) > _MAX_LENGTH:
        return None
    found = [rule for rule in rules if rule.matches(server, tool)]
    found.sort(key=lambda rule: (bool(rule.problem), rule.is_listed, _ACTIONS.index(rule.action)))
    return ToolPermission(tuple(found)) if found else None


def rules_in(value: JSONObject, source: Source) -> tuple[tuple[PermissionRule, ...], tuple[str, ...]]:
    """Return the rules for MCP tools in a settings file, and notes about what could not be read."""
    permissions = value.get("permissions")
    if permissions is None:
        return (), ()
    if not isinstance(permissions, dict | list):
        return (), ("“permissions” must be an object.",)
    notes: list[str] = []
    if isinstance(permissions, list):
        items = [_listed_rule(item, source) for item in permissions]
    else:
        items = [*_rules_of(permissions, source, notes)]
    if unreadable := sum(item is None for item in items):
        notes.append(
            f"{plural(unreadable, 'permission rule')} could not be read: each must be text of at most "
            f"{_MAX_LENGTH:,} characters."
        )
    rules = [item for item in items if item is not None and _can_match_mcp(item.pattern)]
    if len(rules) > MAX_RULES:
        notes.append(f"Only the first {MAX_RULES:,} permission rules of {len(rules):,} are used.")
    return tuple(replace(rule, problem=_problem(rule)) for rule in rules[:MAX_RULES]), tuple(notes)


def has_only_managed_rules(value: JSONObject) -> bool:
    """True if a managed settings file turns off the rules of all other files."""
    return value.get("allowManagedPermissionRulesOnly") is True


def without_unmanaged(rules: Sequence[PermissionRule], managed: Source) -> tuple[PermissionRule, ...]:
    """Return the rules, with those outside managed settings marked as not applied."""
    problem = f"{one_line(str(managed.path))} allows only managed rules"
    return tuple(
        rule if rule.source.scope == "system" or rule.problem else replace(rule, problem=problem)
        for rule in rules
    )


def _rules_of(permissions: JSONObject, source: Source, notes: list[str]) -> Iterator[PermissionRule | None]:
    for action in _ACTIONS:
        patterns = permissions.get(action, [])
        if not isinstance(patterns, list):
            notes.append(f"“permissions.{action}” must be a list.")
            continue
        for pattern in patterns:
            yield PermissionRule(action, str(pattern), source) if _is_pattern(pattern) else None


def _listed_rule(item: JSON, source: Source) -> PermissionRule | None:
    if not isinstance(item, dict) or item.get("action") not in _ACTIONS or not _is_pattern(item.get("tool")):
        return None
    return PermissionRule(cast(Action, item["action"]), str(item["tool"]), source, is_listed=True)


def _is_pattern(value: JSON) -> bool:
    return isinstance(value, str) and len(value) <= _MAX_LENGTH


def _can_match_mcp(pattern: str) -> bool:
    start, star, _ = pattern.partition("*")
    return start.startswith(_PREFIX) or (bool(star) and _PREFIX.startswith(start))


def _problem(rule: PermissionRule) -> str:
    if "(" in rule.pattern:
        return "Claude Code skips a rule for an MCP tool with parentheses"
    start, star, _ = rule.pattern.partition("*")
    names_server = start.startswith(_PREFIX) and "__" in start[len(_PREFIX) + 1 :]
    if rule.action == "allow" and star and not names_server:
        return "Claude Code skips an allow rule with a wildcard before or in the server name"
    return ""


def _matches_glob(pattern: str, text: str) -> bool:
    """True if `text` matches; `*` is any text. Linear: a pattern comes from an untrusted file."""
    first, *middle, last = pattern.split("*")
    end = len(text) - len(last)
    if end < len(first) or not text.startswith(first) or not text.endswith(last):
        return False
    start = len(first)
    for part in middle:
        found = text.find(part, start, end)
        if found < 0:
            return False
        start = found + len(part)
    return True


def _rule_text(rule: PermissionRule) -> str:
    skipped = f" (not applied: {rule.problem})" if rule.problem else ""
    where = f"{rule.scope} settings, {one_line(str(rule.source.path))}"
    return f"{rule.action} “{one_line(rule.pattern)}” in {where}{skipped}"

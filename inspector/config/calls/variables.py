"""Call variables: `${name}` in the arguments of a call, and the files with their values.

    "${n}"                 alone in a string: the variable's value itself, also a number or an object
    "page ${n} of ${all}"  within a string: the value as text
    "${env:HOME}"          from the environment, if the user allowed that name
    "$${n}"                sent as ${n}

Expanded when a call is sent, stored unexpanded everywhere else. Only what the user typed or saved is
expanded, never text from a server and never a variable's own value. `expand` does no I/O; `VariablesFile`
holds the values of one folder.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from inspector.base.errors import ConfigError, UserError
from inspector.base.json.values import JSON, JSONObject, shorten, to_wire
from inspector.base.plain_text import one_line
from inspector.base.redaction import secrecy
from inspector.config.json_file import read_file, write_file

FILE_NAME = "variables.json"
LOCAL_FILE_NAME = "variables.local.json"  # next to it and overrides it; for what must not be committed

# Placeholder for a value in the secret store: the folder's files are shared and may be public.
IN_SECRETS: JSONObject = {"mcp-lens:secret": True}

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]*")
_ENVIRONMENT = "env:"
_REFERENCE = re.compile(rf"\$\$\{{|\$\{{(?P<name>(?:{_ENVIRONMENT})?{_NAME.pattern})\}}")
_MAX_LISTED = 8


@dataclass(frozen=True, slots=True)
class Variables:
    """Values for placeholders. `environment` holds only the variables that the user allowed."""

    values: Mapping[str, JSON] = field(default_factory=dict)
    environment: Mapping[str, str] = field(default_factory=dict)


class UnknownVariables(UserError):
    """These names have no value; nothing was sent."""

    def __init__(self, names: tuple[str, ...]) -> None:
        super().__init__(_unknown_summary(names), _unknown_next_step(names))
        self.names = names


def expand(value: JSON, variables: Variables) -> JSON:
    """Replace every `${name}` in the strings of a value; member names stay as they are.

    Raises UnknownVariables listing all names without a value, and UserError if nested too deeply.
    """
    unknown = tuple(name for name in names_in(value) if not is_known(name, variables))
    if unknown:
        raise UnknownVariables(unknown)
    try:
        return _expanded(value, variables)
    except RecursionError:
        raise UserError("The arguments are nested too deeply to send.", "Nothing was sent.") from None


def expand_object(value: JSONObject, variables: Variables) -> JSONObject:
    """Like `expand`, for arguments."""
    expanded = expand(value, variables)
    assert isinstance(expanded, dict)
    return expanded


def names_in(value: JSON) -> tuple[str, ...]:
    """Return the variables that a value refers to, without duplicates, in order."""
    names: dict[str, None] = {}
    stack = [value]
    while stack:
        item = stack.pop()
        if isinstance(item, str):
            names.update((match["name"], None) for match in _REFERENCE.finditer(item) if match["name"])
        elif isinstance(item, dict | list):
            stack += reversed(list(item.values()) if isinstance(item, dict) else item)
    return tuple(names)


def escape(text: str) -> str:
    """Escape a string so that it is sent verbatim."""
    return text.replace("${", "$${")


def is_reference(value: JSON) -> bool:
    """True if the value is a string that consists of a single variable."""
    match = _REFERENCE.fullmatch(value) if isinstance(value, str) else None
    return match is not None and match["name"] is not None


def is_secret(name: str) -> bool:
    """True if the value must not be shown. Environment variables always count as secret."""
    return name.startswith(_ENVIRONMENT) or bool(secrecy(name))


def is_known(name: str, variables: Variables) -> bool:
    return _lookup(name, variables) is not _NO_VALUE


def is_name(text: str) -> bool:
    return _NAME.fullmatch(text) is not None


class _NoValue:
    """Type of the "no value" sentinel, as null is a valid value."""


_NO_VALUE = _NoValue()


def _lookup(name: str, variables: Variables) -> JSON | _NoValue:
    if name.startswith(_ENVIRONMENT):
        return variables.environment.get(name.removeprefix(_ENVIRONMENT), _NO_VALUE)
    return variables.values.get(name, _NO_VALUE)


def _expanded(value: JSON, variables: Variables) -> JSON:
    if isinstance(value, dict):
        return {name: _expanded(child, variables) for name, child in value.items()}
    if isinstance(value, list):
        return [_expanded(child, variables) for child in value]
    if not isinstance(value, str) or "${" not in value:
        return value
    if is_reference(value):
        return _value(value[2:-1], variables)

    def replacement(match: re.Match[str]) -> str:
        return _as_text(_value(match["name"], variables)) if match["name"] else "${"

    return _REFERENCE.sub(replacement, value)


def _value(name: str, variables: Variables) -> JSON:
    value = _lookup(name, variables)
    assert not isinstance(value, _NoValue)  # `expand` has checked all names
    return value


def _as_text(value: JSON) -> str:
    return value if isinstance(value, str) else to_wire(value).decode()


def _unknown_summary(names: tuple[str, ...]) -> str:
    listed = ", ".join(f"${{{shorten(name, 60)}}}" for name in names[:_MAX_LISTED])
    more = f" and {len(names) - _MAX_LISTED} more" if len(names) > _MAX_LISTED else ""
    verb = "has" if len(names) == 1 else "have"
    return f"{listed}{more} {verb} no value, so nothing was sent."


def _unknown_next_step(names: Iterable[str]) -> str:
    if any(name.startswith(_ENVIRONMENT) for name in names):
        return "Allow the environment variable in Settings, or write $${ to send a literal ${."
    return "Set a value under Call variables, or write $${ to send a literal ${."


class VariablesFile:
    """The variables of a folder: a JSON object of names and values."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / FILE_NAME
        self._local = folder / LOCAL_FILE_NAME

    def load(self) -> tuple[dict[str, JSON], list[str]]:
        """Return the values and one sentence per problem. Never raises."""
        values: dict[str, JSON] = {}
        problems: list[str] = []
        for path in (self.path, self._local):
            try:
                document = read_file(path)
            except FileNotFoundError:
                continue
            except ConfigError as exc:
                problems.append(str(exc))
                continue
            problems += (_name_problem(path, name) for name in document if not is_name(name))
            values.update((name, value) for name, value in document.items() if is_name(name))
        return values, problems

    def set(self, name: str, value: JSON) -> None:
        """Set a variable. Raises ConfigError."""
        if not is_name(name):
            raise ConfigError(
                f"{one_line(shorten(name, 60))!r} is not a valid variable name.",
                "Start with a letter, followed by letters, digits, _, . or -.",
            )
        path, document = self._file_with(name)
        write_file(path, {**document, name: value}, is_private=path == self._local)

    def remove(self, name: str) -> None:
        """Remove a variable from all files. Raises ConfigError."""
        for path in (self.path, self._local):
            document = _read_or_empty(path)
            if name in document:
                del document[name]
                write_file(path, document, is_private=path == self._local)

    def _file_with(self, name: str) -> tuple[Path, JSONObject]:
        """Return the file to write to: a value in the local file (not in git) stays there."""
        local = _read_or_empty(self._local)
        return (self._local, local) if name in local else (self.path, _read_or_empty(self.path))


def _read_or_empty(path: Path) -> JSONObject:
    try:
        return read_file(path)
    except FileNotFoundError:
        return {}


def _name_problem(path: Path, name: str) -> str:
    return (
        f"{path.name}: {one_line(shorten(name, 60))!r} is not a valid variable name. It is ignored; "
        "names start with a letter, followed by letters, digits, _, . or -."
    )

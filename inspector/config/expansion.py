"""`${name}` in the settings of a server: replaced when it is connected, kept as written everywhere else.

    ${NAME}  ${env:NAME}         a variable of the environment
    ${NAME:-text}                … or this text, when there is none or it is empty
    ${input:id}                  a value that the person gave for this server; it is in the secret store
    ${userHome}                  the home folder; likewise ${workspaceFolder}, ${workspaceFolderBasename},
                                 ${cwd}, ${pathSeparator} and ${/}, as other clients have them
    $${NAME}                     stays as ${NAME}

In the command, its arguments, variables and working folder, or in the URL, the headers and the proxy. What
was put in is never expanded again, and no shell is asked. Nothing here reads anything: who calls gives the
values.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from inspector.base.errors import ConfigError
from inspector.config.auth import SecretRef
from inspector.config.entries import Entry, Given, StdioEntry, check_url
from inspector.config.entrysecrets import check_header_value
from inspector.config.secrets.names import make_name

INPUT = "input"
"""What the values of inputs are called by in the secret store: `input/<server>/<id>`."""

KNOWN = ("userHome", "workspaceFolder", "workspaceFolderBasename", "cwd", "pathSeparator", "/")

_NAME = r"[A-Za-z_][A-Za-z0-9_]*"
_REFERENCE = re.compile(
    r"\$\$\{|\$\{(?:"
    r"input:(?P<input>[^{}:]+)"
    rf"|(?P<known>{'|'.join(map(re.escape, KNOWN))})"
    rf"|(?:env:)?(?P<variable>{_NAME})(?::-(?P<default>[^{{}}]*))?"
    r")\}"
)


@dataclass(frozen=True, slots=True)
class Values:
    """Values for placeholders. `withheld` are variables that exist but not for this server."""

    environment: Mapping[str, str] = field(default_factory=dict)
    inputs: Mapping[str, str] = field(default_factory=dict)
    known: Mapping[str, str] = field(default_factory=dict)
    withheld: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Names:
    """Placeholders in a server's settings, without duplicates, in order of appearance."""

    variables: tuple[str, ...] = ()
    inputs: tuple[str, ...] = ()
    known: tuple[str, ...] = ()

    @property
    def shown(self) -> tuple[str, ...]:
        """The names as written between the braces: HOME, input:key, workspaceFolder."""
        return (*self.variables, *(f"{INPUT}:{each}" for each in self.inputs), *self.known)

    def __bool__(self) -> bool:
        return bool(self.variables or self.inputs or self.known)


def names_in(entry: Entry) -> Names:
    """Return the placeholders that connecting to this server would resolve."""
    found: dict[str, dict[str, None]] = {"variable": {}, "input": {}, "known": {}}
    for _, text in _texts(entry):
        for match in _REFERENCE.finditer(text):
            if match.lastgroup is not None:
                kind = next(kind for kind in found if match[kind] is not None)
                found[kind][match[kind]] = None
    return Names(*(tuple(names) for names in found.values()))


def is_expanded(text: str) -> bool:
    """True if the text contains a placeholder or escape, i.e. is not sent verbatim."""
    return _REFERENCE.search(text) is not None


def needs_expansion(entry: Entry) -> bool:
    return any(is_expanded(text) for _, text in _texts(entry))


def expand(entry: Entry, values: Values) -> Entry:
    """Return the server with all placeholders replaced.

    Raises ConfigError for a name without a value, saying where it is used.
    """

    def put(place: str, text: str) -> str:
        return _REFERENCE.sub(lambda match: _value(match, place, values), text)

    expanded = _with_texts(entry, put)
    if not isinstance(expanded, StdioEntry):
        if expanded != entry:
            check_url(expanded.url)
        for name, value in expanded.headers.items():
            if isinstance(value, str) and value != entry.headers[name]:  # type: ignore[union-attr]
                check_header_value(value)
    return expanded


def expand_known(entry: Entry, values: Values, *, uses_defaults: bool = True) -> Entry:
    """Replace the placeholders that have a value; leave the others as they are.

    A variable's default counts as a value only with `uses_defaults`.
    """

    def value(match: re.Match[str], place: str) -> str:
        is_later = match["default"] is not None and not values.environment.get(match["variable"])
        try:
            if match.lastgroup is None or (is_later and not uses_defaults):
                return match[0]
            return _value(match, place, values)
        except ConfigError:
            return match[0]

    return _with_texts(entry, lambda place, text: _REFERENCE.sub(lambda match: value(match, place), text))


def input_secret(server: str, id: str) -> str:
    """Return the secret name under which an input's value is stored."""
    return make_name(INPUT, server, id)


# ------------------------------------------------------------------


def _value(match: re.Match[str], place: str, values: Values) -> str:
    if match.lastgroup is None:
        return "${"  # escaped
    if (id := match["input"]) is not None:
        value = values.inputs.get(id)
        if value is None:
            raise ConfigError(
                f"{place}: the input “{id}” has no value.",
                "Give it one under Server ▸ Secrets of this server….",
            )
        return value
    if (known := match["known"]) is not None:
        value = values.known.get(known)
        if value is None:
            raise ConfigError(f"{place}: nothing is known of ${{{known}}} here.", "Write it out instead.")
        return value
    return _variable(match["variable"], match["default"], place, values)


def _variable(name: str, default: str | None, place: str, values: Values) -> str:
    value = values.environment.get(name)
    if value or (value is not None and default is None):
        return value
    if default is not None:
        return default
    if name in values.withheld:
        raise ConfigError(
            f"{place}: the variable {name} is not for this server: you did not agree to that.",
            "Review the server, and agree to it there.",
        )
    raise ConfigError(
        f"{place}: the environment has no variable {name}.",
        f"Set it before MCP Lens is started, or write ${{{name}:-a default}}.",
    )


_Put: TypeAlias = Callable[[str, str], str]


def _texts(entry: Entry) -> Iterator[tuple[str, str]]:
    """Yield every text that may contain placeholders, with its location."""
    texts: list[tuple[str, str]] = []

    def note(place: str, text: str) -> str:
        texts.append((place, text))
        return text

    _with_texts(entry, note)
    yield from texts


def _with_texts(entry: Entry, put: _Put) -> Entry:
    if isinstance(entry, StdioEntry):
        return replace(
            entry,
            command=put("command", entry.command),
            args=tuple(put(f"argument {number}", text) for number, text in enumerate(entry.args, 1)),
            env=_with_given(entry.env, "variable", put),
            cwd=put("cwd", entry.cwd),
        )
    return replace(
        entry,
        url=put("url", entry.url),
        headers=_with_given(entry.headers, "header", put),
        network=replace(entry.network, proxy=put("proxy", entry.network.proxy)),
    )


def _with_given(given: Mapping[str, Given], what: str, put: _Put) -> dict[str, Given]:
    """Expand the plain values; secret references are left alone, their values are sent verbatim."""
    return {
        name: value if isinstance(value, SecretRef) else put(f"{what} {name}", value)
        for name, value in given.items()
    }

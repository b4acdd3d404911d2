"""Placeholders (`${name}`) in server settings, and secrets that they can replace.

    ${NAME}  ${env:NAME}         an environment variable
    ${NAME:-text}                … or this text if it is unset or empty
    ${input:id}                  a value that the user entered for this server; it is in the secret store
    ${userHome}                  the home folder; likewise ${workspaceFolder}, ${workspaceFolderBasename},
                                 ${cwd}, ${pathSeparator} and ${/}, as in other clients
    $${NAME}                     sent as ${NAME}

Allowed in the command, its arguments, environment variables and working directory, or in the URL, the
headers and the proxy. Expanded when connecting, stored unexpanded. Inserted values are never expanded
again, and no shell is involved. No I/O: the caller supplies the values.

A secret inside an argument, a URL or a proxy URL cannot be a reference like a header value, as it is only
part of a text. `with_inputs` replaces it with `${input:id}`, so that what is sent stays the same.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from inspector.base.errors import ConfigError
from inspector.base.plain_text import one_line
from inspector.base.redaction import (
    is_secret_name,
    is_secret_parameter,
    looks_secret,
    secret_header,
    url_start,
)
from inspector.config.secrets.records import make_name
from inspector.config.servers.entries import Entry, EntryValue, SecretRef, StdioEntry, check_url
from inspector.config.servers.entry_secrets import (
    check_header_value,
    named_secrets_of,
    plain_values,
    secret_references,
    with_references,
)

INPUT = "input"  # kind of the secrets that hold inputs: `input/<server>/<id>`, see InputOwner

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
    """Values for placeholders. `unapproved` variables exist but may not be used by this server."""

    environment: Mapping[str, str] = field(default_factory=dict)
    inputs: Mapping[str, str] = field(default_factory=dict)
    known: Mapping[str, str] = field(default_factory=dict)
    unapproved: frozenset[str] = frozenset()


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


def inputs_in(text: str) -> tuple[str, ...]:
    """Return the ids of the inputs in a text."""
    return tuple(match["input"] for match in _REFERENCE.finditer(text) if match["input"] is not None)


def has_placeholders(text: str) -> bool:
    """True if the text contains a placeholder or escape, i.e. is not sent verbatim."""
    return _REFERENCE.search(text) is not None


def needs_expansion(entry: Entry) -> bool:
    return any(has_placeholders(text) for _, text in _texts(entry))


def expand(entry: Entry, values: Values) -> Entry:
    """Return the server with all placeholders replaced.

    Raises ConfigError for a name without a value, saying where it is used.
    """

    def expand_text(location: str, text: str) -> str:
        return _REFERENCE.sub(lambda match: _value(match, location, values), text)

    expanded = _with_texts(entry, expand_text)
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

    def value(match: re.Match[str], location: str) -> str:
        needs_default = match["default"] is not None and not values.environment.get(match["variable"])
        try:
            if match.lastgroup is None or (needs_default and not uses_defaults):
                return match[0]
            return _value(match, location, values)
        except ConfigError:
            return match[0]

    return _with_texts(
        entry, lambda location, text: _REFERENCE.sub(lambda match: value(match, location), text)
    )


@dataclass(frozen=True, slots=True)
class InputOwner:
    """The server that stored input values belong to.

    A server of the server list is known by its name. Any file may use the same names, so the values of a
    server in another client's file also depend on where it is and what it contains: `location` and `content`
    are digests of those.
    """

    server: str
    location: str = ""
    content: str = ""

    @property
    def place(self) -> str:
        """The prefix of all values that were stored for this server, whatever its content was."""
        return make_name(INPUT, self.server, *filter(None, (self.location,)))

    @property
    def prefix(self) -> str:
        """The prefix of the values that this server may use."""
        return make_name(INPUT, *self._parts())

    def secret(self, id: str) -> str:
        """Return the secret name under which an input's value is stored."""
        return make_name(INPUT, *self._parts(), id)

    def _parts(self) -> tuple[str, ...]:
        return (self.server, *filter(None, (self.location, self.content)))


def input_secret(server: str, id: str) -> str:
    """Return the secret name of an input of a server in the server list."""
    return InputOwner(server).secret(id)


def _value(match: re.Match[str], location: str, values: Values) -> str:
    if match.lastgroup is None:
        return "${"  # escaped
    if (id := match["input"]) is not None:
        value = values.inputs.get(id)
        if value is None:
            raise ConfigError(
                f"{location}: the input “{id}” has no value.",
                "Set it under Server ▸ Server secrets….",
            )
        return value
    if (known := match["known"]) is not None:
        value = values.known.get(known)
        if value is None:
            raise ConfigError(
                f"{location}: ${{{known}}} is not available here.", "Use a literal value instead."
            )
        return value
    return _variable(match["variable"], match["default"], location, values)


def _variable(name: str, default: str | None, location: str, values: Values) -> str:
    value = values.environment.get(name)
    if value or (value is not None and default is None):
        return value
    if default is not None:
        return default
    if name in values.unapproved:
        raise ConfigError(
            f"{location}: you have not approved the environment variable {name} for this server.",
            "Review the server and approve the variable there.",
        )
    raise ConfigError(
        f"{location}: the environment variable {name} is not set.",
        f"Set it before you start MCP Lens, or use ${{{name}:-a default}}.",
    )


_Replace: TypeAlias = Callable[[str, str], str]  # (location, text) -> new text


def _texts(entry: Entry) -> Iterator[tuple[str, str]]:
    """Yield every text that may contain placeholders, with its location."""
    texts: list[tuple[str, str]] = []

    def collect(location: str, text: str) -> str:
        texts.append((location, text))
        return text

    _with_texts(entry, collect)
    yield from texts


def _with_texts(entry: Entry, replace_text: _Replace) -> Entry:
    if isinstance(entry, StdioEntry):
        return replace(
            entry,
            command=replace_text("command", entry.command),
            args=tuple(replace_text(f"argument {number}", text) for number, text in enumerate(entry.args, 1)),
            env=_with_values(entry.env, "variable", replace_text),
            cwd=replace_text("cwd", entry.cwd),
        )
    return replace(
        entry,
        url=replace_text("url", entry.url),
        headers=_with_values(entry.headers, "header", replace_text),
        network=replace(entry.network, proxy=replace_text("proxy", entry.network.proxy)),
    )


def _with_values(
    values: Mapping[str, EntryValue], what: str, replace_text: _Replace
) -> dict[str, EntryValue]:
    """Expand the plain values; secret references are left alone, their values are sent verbatim."""
    return {
        name: value if isinstance(value, SecretRef) else replace_text(f"{what} {name}", value)
        for name, value in values.items()
    }


_USER = re.compile(
    r"[a-zA-Z][a-zA-Z0-9+.-]*://(?P<user>(?:\$\{[^}]*\}|[^/?#@:])*)(?::(?P<password>[^/?#]*))?@"
)
_PARAMETER = re.compile(r"(?<=[?&])([^=&#]+)=([^&#]+)")
_URL_INDEX, _PROXY_INDEX = -1, -2


@dataclass(frozen=True, slots=True)
class TextSecret:
    """A secret in a server's texts.

    `label` describes it ("argument --token") and `id` is the input to replace it with. `location` is the
    index of an argument, or stands for the URL or the proxy URL; `start` and `end` are offsets in that
    text.
    """

    label: str
    id: str
    location: int
    start: int
    end: int


def text_secrets_of(entry: Entry) -> tuple[TextSecret, ...]:
    """Return what looks like a secret in the texts.

    Placeholders do not count: their values are stored elsewhere.
    """
    labels: set[str] = set()
    ids: set[str] = set(names_in(entry).inputs)
    secrets: list[TextSecret] = []
    for secret in _find_secrets(entry):
        if _is_plain(entry, secret):
            label, id = _unique(secret.label, labels, " "), _unique(secret.id, ids, "-")
            labels.add(label)
            ids.add(id)
            secrets.append(replace(secret, label=label, id=id))
    return tuple(secrets)


def plain_secrets_of(entry: Entry) -> tuple[str, ...]:
    """Return all plain-text secrets: names of headers or variables, and secrets in texts."""
    named = [name for name in named_secrets_of(entry) if not has_placeholders(plain_values(entry)[name])]
    return (*named, *(each.label for each in text_secrets_of(entry)))


def stored_secrets_of(entry: Entry, owner: InputOwner | None = None) -> dict[str, str]:
    """Return stored secret names by display name (a header, a variable, `input:id`)."""
    owner = owner or InputOwner(entry.name)
    inputs = {f"{INPUT}:{id}": owner.secret(id) for id in names_in(entry).inputs}
    return {name: reference.ref for name, reference in secret_references(entry).items()} | inputs


def moved_to_store(entry: Entry, names: Collection[str]) -> tuple[Entry, dict[str, str]]:
    """Move these plain secrets out of the server; also return the values by secret name."""
    entry, referenced = with_references(entry, names)
    entry, inputs = with_inputs(entry, names)
    return entry, referenced | inputs


def with_inputs(entry: Entry, labels: Collection[str]) -> tuple[Entry, dict[str, str]]:
    """Replace the secrets with these labels by inputs; also return the values by secret name."""
    values: dict[str, str] = {}
    chosen = [each for each in text_secrets_of(entry) if each.label in labels]
    for each in sorted(chosen, key=lambda each: each.start, reverse=True):  # reversed: keeps offsets valid
        text = _text(entry, each.location)
        values[input_secret(entry.name, each.id)] = text[each.start : each.end]
        changed = f"{text[: each.start]}${{input:{each.id}}}{text[each.end :]}"
        entry = _with_text(entry, each.location, changed)
    return entry, values


def _find_secrets(entry: Entry) -> Iterator[TextSecret]:
    if isinstance(entry, StdioEntry):
        yield from _in_arguments(entry.args)
        return
    yield from _in_url(entry.url, _URL_INDEX, "URL")
    yield from _in_url(entry.network.proxy, _PROXY_INDEX, "proxy")


def _in_arguments(args: tuple[str, ...]) -> Iterator[TextSecret]:
    option = ""  # the preceding option, if it takes a secret
    for location, word in enumerate(args):
        name, equals, _ = word.partition("=")
        bare, start = name.lstrip("-"), len(name) + 1
        if option and not word.startswith("-"):
            yield TextSecret(f"argument {option}", _id(option), location, 0, len(word))
        elif header := secret_header(word):
            name = header["name"]
            yield TextSecret(f"argument {one_line(name)}", _id(name), location, *header.span("value"))
        elif (begin := url_start(word)) >= 0:
            yield from _in_url(word, location, f"argument {location + 1}", begin)
        elif equals and is_secret_name(bare):
            yield TextSecret(f"argument {one_line(name)}", _id(bare), location, start, len(word))
        elif looks_secret(word):
            yield TextSecret(f"argument {location + 1}", f"argument-{location + 1}", location, 0, len(word))
        is_option = word.startswith("-") and not equals and is_secret_name(bare)
        option = one_line(word) if is_option else ""


def _in_url(url: str, location: int, what: str, begin: int = 0) -> Iterator[TextSecret]:
    """Yield secrets in a URL that starts at offset `begin` of the text."""
    if match := _USER.match(url, begin):
        # A user without a password is just a user name, or a token in its place.
        kind = "password" if match["password"] is not None else "user" if looks_secret(match["user"]) else ""
        if kind:
            yield TextSecret(f"{what} {kind}", _id(f"{what}-{kind}"), location, *match.span(kind))
    for match in _PARAMETER.finditer(url, begin):
        if is_secret_parameter(match[1]) and "#" not in url[: match.start()]:
            label = f"{what} parameter {one_line(match[1])}"
            yield TextSecret(label, _id(match[1]), location, *match.span(2))


def _is_plain(entry: Entry, secret: TextSecret) -> bool:
    value = _text(entry, secret.location)[secret.start : secret.end]
    return bool(value) and not has_placeholders(value)


def _id(label: str) -> str:
    """Return a valid id for `input:`."""
    return re.sub(r"[^A-Za-z0-9_.]+", "-", label).strip("-").lower() or "secret"


def _unique(name: str, taken: Collection[str], separator: str) -> str:
    """Return the name, numbered if taken."""
    number, text = 1, name
    while text in taken:
        number += 1
        text = f"{name}{separator}{number}"
    return text


def _text(entry: Entry, location: int) -> str:
    if isinstance(entry, StdioEntry):
        return entry.args[location]
    return entry.url if location == _URL_INDEX else entry.network.proxy


def _with_text(entry: Entry, location: int, text: str) -> Entry:
    if isinstance(entry, StdioEntry):
        return replace(entry, args=(*entry.args[:location], text, *entry.args[location + 1 :]))
    if location == _URL_INDEX:
        return replace(entry, url=text)
    return replace(entry, network=replace(entry.network, proxy=text))

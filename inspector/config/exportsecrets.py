"""A server as it may leave the machine: a name stands wherever a secret would.

A reference to the secret store becomes `${NAME}`, and so does a value that stands plainly in the catalogue
where a secret is to be expected.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from inspector.base.redact import MASK, is_secret_name, is_secret_parameter, masked_words
from inspector.config.auth import BearerSettings
from inspector.config.entries import Entry, Given, HttpEntry, StdioEntry
from inspector.config.expansion import is_expanded


@dataclass(slots=True)
class _Names:
    """Gives each secret of a server a name of its own."""

    server: str
    given: list[str]

    def name(self, what: str) -> str:
        wanted = variable_name(what)
        name, number = wanted, 1
        while name in self.given:
            number += 1
            name = f"{wanted}_{number}"
        self.given.append(name)
        return f"${{{name}}}"

    def own(self, what: str) -> str:
        return self.name(f"{self.server}_{what}")


def without_secrets(entry: Entry) -> tuple[Entry, tuple[str, ...]]:
    """The server with `${NAME}` for every secret, and these names."""
    names = _Names(entry.name, [])
    if isinstance(entry, StdioEntry):
        command, *args = _words([entry.command, *entry.args], names)
        env = {name: _value(name, value, names) for name, value in entry.env.items()}
        return replace(entry, command=command, args=tuple(args), env=env), tuple(names.given)
    headers: Mapping[str, Given] = {
        name: _header(name, value, names) for name, value in entry.headers.items()
    }
    url = _url(entry.url, names)
    if isinstance(entry, HttpEntry) and isinstance(entry.auth, BearerSettings):
        headers = {**headers, "Authorization": f"Bearer {names.own('token')}"}
        entry = replace(entry, auth=None)
    return replace(entry, url=url, headers=headers), tuple(names.given)


def variable_name(text: str) -> str:
    """A name that every shell takes: `My server_X-Key` is MY_SERVER_X_KEY."""
    name = re.sub(r"[^A-Z0-9]+", "_", text.upper()).strip("_")
    return name if re.match(r"[A-Z_]", name) else f"_{name}" if name else "SECRET"


def _value(name: str, value: Given, names: _Names) -> str:
    if not isinstance(value, str):
        return _same_name(name, names)
    if not value or is_expanded(value):
        return value
    if is_secret_name(name):
        return _same_name(name, names)
    masked = masked_words([value])[0]
    return value if masked == value else masked.replace(MASK, _same_name(name, names))


def _same_name(name: str, names: _Names) -> str:
    """A variable is handed on under the name that the server reads it by, where a shell can have it."""
    if re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name) and name not in names.given:
        names.given.append(name)
        return f"${{{name}}}"
    return names.name(name)


def _header(name: str, value: Given, names: _Names) -> str:
    if not isinstance(value, str):
        return names.own(name)
    if not value or is_expanded(value):
        return value
    if not is_secret_name(name) and masked_words([value])[0] == value:
        return value
    scheme = re.match(r"(?:Bearer|Basic|Token) ", value, re.IGNORECASE)
    return f"{scheme[0]}{names.own('token')}" if scheme is not None else names.own(name)


def _words(words: Sequence[str], names: _Names) -> list[str]:
    shown: list[str] = []
    for word, masked in zip(words, masked_words(words), strict=True):
        if "://" in word and is_expanded(word):
            shown.append(_url(word, names))
        elif masked == word or is_expanded(word):
            shown.append(word)
        else:
            before = words[len(shown) - 1].lstrip("-") if masked == MASK and shown else ""
            what = before if is_secret_name(before) else word.partition("=")[0].lstrip("-")
            shown.append(masked.replace(MASK, names.own(what if is_secret_name(what) else "secret")))
    return shown


def _url(url: str, names: _Names) -> str:
    """Parameter by parameter, since some may be names already."""
    address, question, rest = url.partition("?")
    if not question:
        return url
    return f"{address}?{re.sub(r'([^&#=]+)=([^&#]+)', lambda match: _parameter(match, names), rest)}"


def _parameter(match: re.Match[str], names: _Names) -> str:
    if not is_secret_parameter(match[1]) or is_expanded(match[2]):
        return match[0]
    return f"{match[1]}={names.own(match[1])}"

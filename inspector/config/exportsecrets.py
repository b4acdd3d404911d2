"""A server as it may leave the machine: a name stands wherever a secret would.

A reference to the secret store becomes `${NAME}`, and so does a value that stands plainly in the catalogue
where a secret is to be expected.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace

from inspector.base.redact import MASK, is_secret_name, masked_words
from inspector.config.auth import BearerSettings
from inspector.config.entries import Entry, Given, HttpEntry, StdioEntry
from inspector.config.expansion import is_expanded
from inspector.config.textsecrets import text_secrets_of, with_inputs

_INPUT = re.compile(r"(?<!\$)\$\{input:([^{}:]+)\}")


class SecretNames:
    """Placeholder names of one export, each for one secret, unique across servers."""

    def __init__(self) -> None:
        self._stands_for: dict[str, object] = {}

    def claim(self, wanted: str, secret: object) -> str:
        """Return `wanted`, numbered if it already stands for a different secret."""
        name, number = wanted, 1
        while self._stands_for.setdefault(name, secret) != secret:
            number += 1
            name = f"{wanted}_{number}"
        return name


class _Names:
    """Placeholder names of one server."""

    def __init__(self, server: str, all_names: SecretNames) -> None:
        self.given: list[str] = []
        self._server = server
        self._all = all_names

    def own(self, what: str, secret: object) -> str:
        return self._put(variable_name(f"{self._server}_{what}"), secret)

    def variable(self, name: str, secret: object) -> str:
        """Use the variable's own name as placeholder if it is a valid shell name."""
        is_usable = re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name) is not None
        return self._put(name if is_usable else variable_name(name), secret)

    def _put(self, wanted: str, secret: object) -> str:
        name = self._all.claim(wanted, secret)
        if name not in self.given:
            self.given.append(name)
        return f"${{{name}}}"


def without_secrets(entry: Entry, all_names: SecretNames | None = None) -> tuple[Entry, tuple[str, ...]]:
    """Return the server with `${NAME}` for every secret, and those names."""
    names = _Names(entry.name, all_names or SecretNames())
    entry, _ = with_inputs(entry, [each.words for each in text_secrets_of(entry)])
    entry = _without_inputs(entry, names)
    if isinstance(entry, StdioEntry):
        env = {name: _value(name, value, names) for name, value in entry.env.items()}
        return replace(entry, env=env), tuple(names.given)
    headers: Mapping[str, Given] = {
        name: _header(name, value, names) for name, value in entry.headers.items()
    }
    if isinstance(entry, HttpEntry) and isinstance(entry.auth, BearerSettings):
        headers = {**headers, "Authorization": f"Bearer {names.own('token', entry.auth.token)}"}
        entry = replace(entry, auth=None)
    return replace(entry, headers=headers), tuple(names.given)


def _without_inputs(entry: Entry, names: _Names) -> Entry:
    """Replace `${input:id}`: its value is in the secret store like any other secret."""

    def named(match: re.Match[str]) -> str:
        return names.own(match[1], (entry.name, match[1]))

    def text(value: str) -> str:
        return _INPUT.sub(named, value)

    def given(values: Mapping[str, Given]) -> dict[str, Given]:
        return {name: text(value) if isinstance(value, str) else value for name, value in values.items()}

    if isinstance(entry, StdioEntry):
        args = tuple(map(text, entry.args))
        return replace(
            entry, command=text(entry.command), args=args, env=given(entry.env), cwd=text(entry.cwd)
        )
    return replace(entry, url=text(entry.url), headers=given(entry.headers))


def variable_name(text: str) -> str:
    """Return a valid shell variable name: `My server_X-Key` becomes MY_SERVER_X_KEY."""
    name = re.sub(r"[^A-Z0-9]+", "_", text.upper()).strip("_")
    return name if re.match(r"[A-Z_]", name) else f"_{name}" if name else "SECRET"


def _value(name: str, value: Given, names: _Names) -> str:
    if not isinstance(value, str):
        return names.variable(name, value)
    if not value or is_expanded(value):
        return value
    if is_secret_name(name):
        return names.variable(name, value)
    masked = masked_words([value])[0]
    return value if masked == value else masked.replace(MASK, names.variable(name, value))


def _header(name: str, value: Given, names: _Names) -> str:
    if not isinstance(value, str):
        return names.own(name, value)
    if not value or is_expanded(value):
        return value
    if not is_secret_name(name) and masked_words([value])[0] == value:
        return value
    scheme = re.match(r"(?:Bearer|Basic|Token) ", value, re.IGNORECASE)
    return f"{scheme[0]}{names.own('token', value)}" if scheme is not None else names.own(name, value)

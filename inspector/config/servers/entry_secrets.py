"""Secrets in a server's headers, environment variables and auth settings.

A value is either plain text in the file or a reference to the secret store. `filled` resolves the
references of headers and environment variables; its result is used for connecting only. Those of `auth`
are resolved by the login.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import fields, replace
from typing import Any, TypeVar

from inspector.base.errors import ConfigError
from inspector.base.redaction import is_secret_name
from inspector.config.secrets.records import is_below, make_name, shown_name
from inspector.config.servers.entries import (
    BearerSettings,
    Entry,
    Given,
    HttpEntry,
    IdentityProvider,
    OAuthSettings,
    SecretRef,
    StdioEntry,
)

_Settings = TypeVar("_Settings", bound=OAuthSettings | BearerSettings | IdentityProvider)

BEARER = "bearer"
LOGIN = "login"  # typed by the user for logins: `login/<server>/<setting>`


def given_by(entry: Entry) -> Mapping[str, Given]:
    """Return the environment variables of a command, or the headers of a URL."""
    return entry.env if isinstance(entry, StdioEntry) else entry.headers


def kind_of(entry: Entry) -> str:
    """Return the prefix of its secret names: `env/<server>/<name>`, `header/<server>/<name>`."""
    return "env" if isinstance(entry, StdioEntry) else "header"


def references_of(entry: Entry) -> dict[str, SecretRef]:
    """Return the headers or environment variables whose values are in the secret store."""
    return {name: value for name, value in given_by(entry).items() if isinstance(value, SecretRef)}


def plain_of(entry: Entry) -> dict[str, str]:
    """Return the headers or environment variables whose values are in the configuration."""
    return {name: value for name, value in given_by(entry).items() if isinstance(value, str)}


def named_secrets_of(entry: Entry) -> tuple[str, ...]:
    """Return the plain-text ones whose names suggest a secret."""
    return tuple(name for name, value in plain_of(entry).items() if value and is_secret_name(name))


def own_secrets_of(entry: Entry) -> tuple[str, ...]:
    """Return the secrets that only this server refers to, i.e. those named after it."""
    names = [ref.ref for ref in references_of(entry).values()]
    if isinstance(entry, HttpEntry) and isinstance(entry.auth, BearerSettings):
        names.append(entry.auth.token.ref)
    if isinstance(entry, HttpEntry) and isinstance(entry.auth, OAuthSettings):
        names += [ref.ref for ref in entry.auth.references()]
    prefixes = [make_name(kind, entry.name) for kind in ("env", "header", BEARER, LOGIN)]
    return tuple(name for name in names if any(is_below(name, prefix) for prefix in prefixes))


def with_given(entry: Entry, given: Mapping[str, Given]) -> Entry:
    """Return the server with these headers or environment variables added or replaced."""
    if isinstance(entry, StdioEntry):
        return replace(entry, env={**entry.env, **given})
    return replace(entry, headers={**entry.headers, **given})


def without_references(entry: Entry) -> Entry:
    if isinstance(entry, StdioEntry):
        return replace(entry, env=dict(plain_of(entry)))
    return replace(entry, headers=dict(plain_of(entry)))


def with_references(entry: Entry, names: Collection[str]) -> tuple[Entry, dict[str, str]]:
    """Replace plain values with secret references; also return the values by secret name."""
    moved = {name: value for name, value in plain_of(entry).items() if name in names}
    called = {name: make_name(kind_of(entry), entry.name, name) for name in moved}
    entry = with_given(entry, {name: SecretRef(ref) for name, ref in called.items()})
    return entry, {called[name]: value for name, value in moved.items()}


def named_after(secret: str, before: str, after: str) -> str:
    """Return the name of a server's secret (`env/<server>/…` etc.) after renaming the server."""
    kind, _, rest = secret.partition("/")
    prefix = make_name(kind, before)
    return make_name(kind, after) + secret[len(prefix) :] if rest and is_below(secret, prefix) else secret


def with_secret_names(entry: Entry, name: str, renamed: Mapping[str, str]) -> Entry:
    """Return the server under a new name, with its secret references renamed."""

    def called(reference: SecretRef) -> SecretRef:
        return SecretRef(renamed.get(reference.ref, reference.ref))

    entry = with_given(entry, {each: called(reference) for each, reference in references_of(entry).items()})
    if isinstance(entry, HttpEntry) and entry.auth is not None:
        entry = replace(entry, auth=_with_references(entry.auth, called))
    return replace(entry, name=name)


def _with_references(settings: _Settings, called: Callable[[SecretRef], SecretRef]) -> _Settings:
    changed: dict[str, Any] = {}
    for field in fields(settings):
        value = getattr(settings, field.name)
        if isinstance(value, SecretRef):
            changed[field.name] = called(value)
        elif isinstance(value, IdentityProvider):
            changed[field.name] = _with_references(value, called)
    return replace(settings, **changed)


def filled(entry: Entry, values: Mapping[str, str]) -> Entry:
    """Return the server with secret references resolved from `values`, keyed by secret name.

    Raises ConfigError if a secret is missing or cannot be sent.
    """
    found: dict[str, str] = {}
    for name, reference in references_of(entry).items():
        value = values.get(reference.ref)
        what = f"The secret “{shown_name(reference.ref)}”, used by {_called(entry, name)},"
        if not value:
            raise ConfigError(
                f"{what} is not available: it is not in the secret store, or the store is locked. "
                "Nothing was sent.",
                "Unlock the store under Server ▸ Secrets…, or enter the secret again under Server ▸ "
                "Secrets of this server….",
            )
        if "\0" in value or (kind_of(entry) == "header" and not _can_be_sent(value)):
            raise ConfigError(
                f"{what} contains characters that cannot be sent. Nothing was sent.",
                "Enter it again without line breaks or special characters.",
            )
        found[name] = value
    return with_given(entry, found)


def check_header(name: str) -> str:
    """Return the name if it is a valid header name. Raises ConfigError."""
    if not re.fullmatch(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+", name):  # RFC 9110, section 5.6.2
        raise ConfigError(f"{name!r} is not a valid header name.", "Use a name such as X-API-Key.")
    return name


def check_header_value(value: str) -> str:
    """Return the value if it is a valid header value. Raises ConfigError, without quoting it."""
    if not _can_be_sent(value):
        raise ConfigError(
            "The secret contains characters not allowed in a header.",
            "Enter it without line breaks or special characters.",
        )
    return value


def _can_be_sent(value: str) -> bool:
    return value.isascii() and value.isprintable()


def _called(entry: Entry, name: str) -> str:
    return f"the {'variable' if kind_of(entry) == 'env' else 'header'} {name!r}"

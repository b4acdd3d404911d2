"""Secrets in a server's headers, environment variables and auth settings.

A value is either plain text in the file or a reference to the secret store. `resolve_secrets` resolves the
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
from inspector.config.secrets.records import display_name, is_below, make_name
from inspector.config.servers.entries import (
    BearerSettings,
    Entry,
    EntryValue,
    HttpEntry,
    IdentityProvider,
    OAuthSettings,
    SecretRef,
    StdioEntry,
)

_Settings = TypeVar("_Settings", bound=OAuthSettings | BearerSettings | IdentityProvider)

BEARER = "bearer"
LOGIN = "login"  # typed by the user for logins: `login/<server>/<setting>`


def named_values(entry: Entry) -> Mapping[str, EntryValue]:
    """Return the environment variables of a command, or the headers of a URL."""
    return entry.env if isinstance(entry, StdioEntry) else entry.headers


def secret_kind(entry: Entry) -> str:
    """Return the prefix of its secret names: `env/<server>/<name>`, `header/<server>/<name>`."""
    return "env" if isinstance(entry, StdioEntry) else "header"


def secret_references(entry: Entry) -> dict[str, SecretRef]:
    """Return the headers or environment variables whose values are in the secret store."""
    return {name: value for name, value in named_values(entry).items() if isinstance(value, SecretRef)}


def plain_values(entry: Entry) -> dict[str, str]:
    """Return the headers or environment variables whose values are in the configuration."""
    return {name: value for name, value in named_values(entry).items() if isinstance(value, str)}


def named_secrets_of(entry: Entry) -> tuple[str, ...]:
    """Return the names of plain-text values whose names suggest a secret."""
    return tuple(name for name, value in plain_values(entry).items() if value and is_secret_name(name))


def own_secrets_of(entry: Entry) -> tuple[str, ...]:
    """Return the secrets that only this server refers to, i.e. those named after it."""
    names = [ref.ref for ref in secret_references(entry).values()]
    if isinstance(entry, HttpEntry) and isinstance(entry.auth, BearerSettings):
        names.append(entry.auth.token.ref)
    if isinstance(entry, HttpEntry) and isinstance(entry.auth, OAuthSettings):
        names += [ref.ref for ref in entry.auth.references()]
    prefixes = [make_name(kind, entry.name) for kind in ("env", "header", BEARER, LOGIN)]
    return tuple(name for name in names if any(is_below(name, prefix) for prefix in prefixes))


def with_named_values(entry: Entry, values: Mapping[str, EntryValue]) -> Entry:
    """Return the server with these headers or environment variables added or replaced."""
    if isinstance(entry, StdioEntry):
        return replace(entry, env={**entry.env, **values})
    return replace(entry, headers={**entry.headers, **values})


def without_references(entry: Entry) -> Entry:
    if isinstance(entry, StdioEntry):
        return replace(entry, env=dict(plain_values(entry)))
    return replace(entry, headers=dict(plain_values(entry)))


def with_references(entry: Entry, names: Collection[str]) -> tuple[Entry, dict[str, str]]:
    """Replace plain values with secret references; also return the values by secret name."""
    moved = {name: value for name, value in plain_values(entry).items() if name in names}
    secret_names = {name: make_name(secret_kind(entry), entry.name, name) for name in moved}
    entry = with_named_values(entry, {name: SecretRef(ref) for name, ref in secret_names.items()})
    return entry, {secret_names[name]: value for name, value in moved.items()}


def renamed_secret(secret: str, before: str, after: str) -> str:
    """Return the name of a server's secret (`env/<server>/…` etc.) after renaming the server."""
    kind, _, rest = secret.partition("/")
    prefix = make_name(kind, before)
    return make_name(kind, after) + secret[len(prefix) :] if rest and is_below(secret, prefix) else secret


def with_secret_names(entry: Entry, name: str, renamed: Mapping[str, str]) -> Entry:
    """Return the server under a new name, with its secret references renamed."""

    def rename(reference: SecretRef) -> SecretRef:
        return SecretRef(renamed.get(reference.ref, reference.ref))

    references = {each: rename(reference) for each, reference in secret_references(entry).items()}
    entry = with_named_values(entry, references)
    if isinstance(entry, HttpEntry) and entry.auth is not None:
        entry = replace(entry, auth=_with_renamed_references(entry.auth, rename))
    return replace(entry, name=name)


def _with_renamed_references(settings: _Settings, rename: Callable[[SecretRef], SecretRef]) -> _Settings:
    changed: dict[str, Any] = {}
    for field in fields(settings):
        value = getattr(settings, field.name)
        if isinstance(value, SecretRef):
            changed[field.name] = rename(value)
        elif isinstance(value, IdentityProvider):
            changed[field.name] = _with_renamed_references(value, rename)
    return replace(settings, **changed)


def resolve_secrets(entry: Entry, values: Mapping[str, str]) -> Entry:
    """Return the server with secret references resolved from `values`, keyed by secret name.

    Raises ConfigError if a secret is missing or cannot be sent.
    """
    resolved: dict[str, str] = {}
    for name, reference in secret_references(entry).items():
        value = values.get(reference.ref)
        subject = f"The secret “{display_name(reference.ref)}”, used by {_usage(entry, name)},"
        if not value:
            raise ConfigError(
                f"{subject} is not available: it is not in the secret store, or the store is locked. "
                "Nothing was sent.",
                "Unlock the store under Server ▸ Secrets…, or enter the secret again under Server ▸ "
                "Server secrets….",
            )
        if "\0" in value or (secret_kind(entry) == "header" and not _can_be_sent(value)):
            raise ConfigError(
                f"{subject} contains characters that cannot be sent. Nothing was sent.",
                "Enter it again without line breaks or special characters.",
            )
        resolved[name] = value
    return with_named_values(entry, resolved)


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


def _usage(entry: Entry, name: str) -> str:
    return f"the {'environment variable' if secret_kind(entry) == 'env' else 'header'} {name!r}"

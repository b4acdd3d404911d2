"""Tells the log which credentials are in use, so that nothing writes them to a file."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Collection, Iterator
from urllib.parse import parse_qsl, unquote, urlsplit

from inspector.base.jsonvalue import JSON, JSONProblem, parse
from inspector.base.redact import (
    MASK,
    header_in,
    is_secret_name,
    is_secret_parameter,
    masked_words,
    url_start,
)
from inspector.config.entries import Entry, StdioEntry
from inspector.config.entrysecrets import plain_of
from inspector.traffic.credentials import Credentials

# Schemes before the credentials in `Authorization`.
_SCHEMES = frozenset({"bearer", "basic", "dpop", "token", "apikey"})


def use_secret(credentials: Credentials, name: str, value: str) -> None:
    """Register a secret that was read or stored. Login secrets are JSON with tokens inside."""
    for word, text in _inside(name.partition("/")[0], value):
        credentials.add(text, word)


def use_entry(credentials: Credentials, entry: Entry, referred: Collection[str] = ()) -> None:
    """Register the secrets in a server's configuration, on connecting.

    `referred` are headers or variables from the secret store: secret whatever their names.
    """
    given = [
        (name, value) for name, value in plain_of(entry).items() if name in referred or is_secret_name(name)
    ]
    if isinstance(entry, StdioEntry):
        given += _in_arguments(entry.args)
    else:
        for name in referred:
            credentials.add_header(name)
        given += _in_url(entry.url)
        given += _in_url(entry.network.proxy)
    for name, value in given:
        scheme, _, word = value.partition(" ")
        is_schemed = scheme.lower() in _SCHEMES
        credentials.add(word if is_schemed else value, name)
        if scheme.lower() == "basic":
            credentials.add(_password(word), "password")


def _password(basic: str) -> str:
    """Return the password of Basic credentials."""
    try:
        return base64.b64decode(basic, validate=True).decode().partition(":")[2]
    except (binascii.Error, UnicodeDecodeError):
        return ""


def _inside(name: str, value: str) -> Iterator[tuple[str, str]]:
    document: JSON = None
    if value.lstrip()[:1] in ("{", '"'):
        try:
            document = parse(value)
        except JSONProblem:
            document = None
    if isinstance(document, dict):
        yield from _members(document)
    else:
        yield name, document if isinstance(document, str) else value


def _members(value: JSON) -> Iterator[tuple[str, str]]:
    """Yield texts under secret names, at any depth."""
    left = [value]
    while left:
        item = left.pop()
        if isinstance(item, list):
            left += item
        elif isinstance(item, dict):
            left += item.values()
            for name, text in item.items():
                if isinstance(text, str) and is_secret_name(name):
                    yield name, text


def _in_arguments(words: tuple[str, ...]) -> list[tuple[str, str]]:
    found: list[tuple[str, str]] = []
    for word, masked in zip(words, masked_words(words), strict=True):
        name, equals, value = word.partition("=")
        if masked == MASK:
            found.append(("argument", word))
        elif header := header_in(word):
            found.append((header["name"], header["value"]))
        elif "://" in word:
            found += _in_url(word[max(0, url_start(word)) :])
        elif equals and masked != word:
            found.append((name.lstrip("-"), value))
    return found


def _in_url(url: str) -> list[tuple[str, str]]:
    try:
        parts = urlsplit(url)
        password = parts.password
    except ValueError:
        return []
    found = [(name, value) for name, value in parse_qsl(parts.query) if is_secret_parameter(name)]
    return [*found, ("password", unquote(password))] if password else found

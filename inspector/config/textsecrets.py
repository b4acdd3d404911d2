"""Secrets in the texts of a server: in its arguments, its URL, the URL of its proxy.

They cannot be references like the value of a header is, for they are parts of a text. `${input:id}` takes
their place (`expansion.py`), whose value is in the secret store: what is sent stays the same.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace

from inspector.base.plaintext import one_line
from inspector.base.redact import header_in, is_secret_name, is_secret_parameter, looks_secret, url_start
from inspector.config.entries import Entry, StdioEntry
from inspector.config.entrysecrets import named_secrets_of, plain_of, references_of, with_references
from inspector.config.expansion import INPUT, input_secret, is_expanded, names_in

_USER = re.compile(
    r"[a-zA-Z][a-zA-Z0-9+.-]*://(?P<user>(?:\$\{[^}]*\}|[^/?#@:])*)(?::(?P<password>[^/?#]*))?@"
)
_PARAMETER = re.compile(r"(?<=[?&])([^=&#]+)=([^&#]+)")
_URL_PLACE, _PROXY_PLACE = -1, -2


@dataclass(frozen=True, slots=True)
class TextSecret:
    """A secret in a server's texts.

    `words` describe it ("argument --token") and `id` is the input to replace it with. `place` is the index
    of an argument, or stands for the URL or the proxy URL; `start` and `end` are offsets in that text.
    """

    words: str
    id: str
    place: int
    start: int
    end: int


def text_secrets_of(entry: Entry) -> tuple[TextSecret, ...]:
    """Return what looks like a secret in the texts.

    Placeholders do not count: their values are stored elsewhere.
    """
    found = [each for each in _found(entry) if _is_plain(entry, each)]
    taken: set[str] = set(names_in(entry).inputs)
    said: set[str] = set()
    secrets: list[TextSecret] = []
    for each in found:
        words, id = _free(each.words, said, " "), _free(each.id, taken, "-")
        said.add(words)
        taken.add(id)
        secrets.append(replace(each, words=words, id=id))
    return tuple(secrets)


def plain_secrets_of(entry: Entry) -> tuple[str, ...]:
    """Return all plain-text secrets: names of headers or variables, and secrets in texts."""
    given = [name for name in named_secrets_of(entry) if not is_expanded(plain_of(entry)[name])]
    return (*given, *(each.words for each in text_secrets_of(entry)))


def stored_secrets_of(entry: Entry) -> dict[str, str]:
    """Return stored secret names by display name (a header, a variable, `input:id`)."""
    inputs = {f"{INPUT}:{id}": input_secret(entry.name, id) for id in names_in(entry).inputs}
    return {name: reference.ref for name, reference in references_of(entry).items()} | inputs


def moved_to_store(entry: Entry, names: Collection[str]) -> tuple[Entry, dict[str, str]]:
    """Move these plain secrets out of the server; also return the values by secret name."""
    entry, given = with_references(entry, names)
    entry, texts = with_inputs(entry, names)
    return entry, given | texts


def with_inputs(entry: Entry, words: Collection[str]) -> tuple[Entry, dict[str, str]]:
    """Replace these secrets with inputs; also return the values by secret name."""
    values: dict[str, str] = {}
    chosen = [each for each in text_secrets_of(entry) if each.words in words]
    for each in sorted(chosen, key=lambda each: each.start, reverse=True):  # reversed: keeps offsets valid
        text = _text(entry, each.place)
        values[input_secret(entry.name, each.id)] = text[each.start : each.end]
        changed = f"{text[: each.start]}${{input:{each.id}}}{text[each.end :]}"
        entry = _with_text(entry, each.place, changed)
    return entry, values


# ------------------------------------------------------------------ finding


def _found(entry: Entry) -> Iterator[TextSecret]:
    if isinstance(entry, StdioEntry):
        yield from _in_arguments(entry.args)
        return
    yield from _in_url(entry.url, _URL_PLACE, "URL")
    yield from _in_url(entry.network.proxy, _PROXY_PLACE, "proxy")


def _in_arguments(args: tuple[str, ...]) -> Iterator[TextSecret]:
    option = ""  # the preceding option, if it takes a secret
    for place, word in enumerate(args):
        name, equals, _ = word.partition("=")
        bare, start = name.lstrip("-"), len(name) + 1
        if option and not word.startswith("-"):
            yield TextSecret(f"argument {option}", _id(option), place, 0, len(word))
        elif header := header_in(word):
            name = header["name"]
            yield TextSecret(f"argument {one_line(name)}", _id(name), place, *header.span("value"))
        elif (begin := url_start(word)) >= 0:
            yield from _in_url(word, place, f"argument {place + 1}", begin)
        elif equals and is_secret_name(bare):
            yield TextSecret(f"argument {one_line(name)}", _id(bare), place, start, len(word))
        elif looks_secret(word):
            yield TextSecret(f"argument {place + 1}", f"argument-{place + 1}", place, 0, len(word))
        is_option = word.startswith("-") and not equals and is_secret_name(bare)
        option = one_line(word) if is_option else ""


def _in_url(url: str, place: int, what: str, begin: int = 0) -> Iterator[TextSecret]:
    """Yield secrets in a URL that starts at offset `begin` of the text."""
    if match := _USER.match(url, begin):
        # A user without a password is just a user name, or a token in its place.
        kind = "password" if match["password"] is not None else "user" if looks_secret(match["user"]) else ""
        if kind:
            yield TextSecret(f"{what} {kind}", _id(f"{what}-{kind}"), place, *match.span(kind))
    for match in _PARAMETER.finditer(url, begin):
        if is_secret_parameter(match[1]) and "#" not in url[: match.start()]:
            words = f"{what} parameter {one_line(match[1])}"
            yield TextSecret(words, _id(match[1]), place, *match.span(2))


def _is_plain(entry: Entry, secret: TextSecret) -> bool:
    value = _text(entry, secret.place)[secret.start : secret.end]
    return bool(value) and not is_expanded(value)


def _id(words: str) -> str:
    """Return a valid id for `input:`."""
    return re.sub(r"[^A-Za-z0-9_.]+", "-", words).strip("-").lower() or "secret"


def _free(wanted: str, taken: Collection[str], joint: str) -> str:
    """Return `wanted`, numbered if taken."""
    number, text = 1, wanted
    while text in taken:
        number += 1
        text = f"{wanted}{joint}{number}"
    return text


# ------------------------------------------------------------------ where they stand


def _text(entry: Entry, place: int) -> str:
    if isinstance(entry, StdioEntry):
        return entry.args[place]
    return entry.url if place == _URL_PLACE else entry.network.proxy


def _with_text(entry: Entry, place: int, text: str) -> Entry:
    if isinstance(entry, StdioEntry):
        return replace(entry, args=(*entry.args[:place], text, *entry.args[place + 1 :]))
    if place == _URL_PLACE:
        return replace(entry, url=text)
    return replace(entry, network=replace(entry.network, proxy=text))

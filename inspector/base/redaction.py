"""Detection of secrets by name or format, and their masking for display and exports.

Masking never changes what is sent or recorded. A `Redactor` gives the same secret the same placeholder
everywhere, so that a reader can see that two places hold the same value.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from enum import IntEnum
from functools import lru_cache
from urllib.parse import urlsplit, urlunsplit


class Secrecy(IntEnum):
    """How likely a name denotes a secret value."""

    NONE = 0
    LIKELY = 1  # `key`, `session`: often a secret, and as often the name of something
    SURE = 2


def _whole_words(words: str) -> re.Pattern[str]:
    return re.compile(rf"(?:^|[_.-])(?:{words})(?:$|[_.-])", re.IGNORECASE)


_SURE = _whole_words(
    r"api[_-]?key|apikey|access[_-]?key|(?:client|subject)?[_-]?assertion|authorization|bearer|client[_-]?secret"
    r"|(?:device|user)[_-]?code|code[_-]?verifier|cookie|credentials?|dpo_?p|passphrase|passwd|password"
    r"|private[_-]?key|pwd|request[_-]?state|secret|session[_-]?id|token"
)
_LIKELY = _whole_words("auth|key|pass|session|signature")
# Names about a secret that are not secrets themselves: token_endpoint, token_type, grant_types_supported,
# progressToken.
_DESCRIPTIVE = re.compile(
    r"(?:^|[_.-])(?:(?:endpoint|type|type[_-]hint|supported|methods?|uri|url|algs?|length|name|count|limit"
    r"|expires[_-]?in)$|progress[_-]?token$|dpo_?p[_-]nonce$)",
    re.IGNORECASE,
)
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
# Secret in OAuth URLs and forms; ordinary words everywhere else.
_PARAMETERS = frozenset({"code", "state", "sig"})
# Prefixes of well-known keys, wherever they occur.
_SECRET_VALUE = re.compile(
    r"(?:sk|pk|rk)-\w|gh[opsu]_\w|github_pat_|glpat-|xox[abps]-|AKIA[A-Z0-9]{12}|eyJ[\w-]{10,}\."
)
# A header passed as a program argument: `Authorization: Bearer …`, `--header=X-Api-Key:…`.
_HEADER = re.compile(
    r"(?:-{1,2}[\w.-]+=)?(?P<name>[A-Za-z][\w-]*):\s*(?:(?:bearer|basic|dpop|token|apikey)\s+)?"
    r"(?P<value>(?!//)\S.*)",
    re.IGNORECASE | re.DOTALL,
)
_URL = re.compile(r"https?://[^\s,;“”()]+", re.IGNORECASE)
_BEFORE_URL = re.compile(r"(?:-{0,2}[\w.-]+=)?(?=[a-zA-Z][a-zA-Z0-9+.-]*://)")
MASK = "•••"


@lru_cache(maxsize=4096)
def secrecy(name: str) -> Secrecy:
    """Return how likely a header, variable or member of this name holds a secret."""
    words = _CAMEL.sub("_", name)
    if _DESCRIPTIVE.search(words):
        return Secrecy.NONE
    if _SURE.search(words):
        return Secrecy.SURE
    return Secrecy.LIKELY if _LIKELY.search(words) else Secrecy.NONE


def is_secret_name(name: str) -> bool:
    """True if a header, variable or member of this name usually holds a secret."""
    return secrecy(name) is not Secrecy.NONE


def is_secret_parameter(name: str) -> bool:
    """Like `is_secret_name`, for a parameter of a URL or a form."""
    return is_secret_name(name) or name.lower() in _PARAMETERS


def looks_secret(text: str) -> bool:
    """True if the text starts like a well-known kind of key."""
    return _SECRET_VALUE.match(text) is not None


def secret_header(word: str) -> re.Match[str] | None:
    """Match a program argument that is a header with a secret (groups `name` and `value`)."""
    match = _HEADER.fullmatch(word)
    return match if match is not None and secrecy(match["name"]) is Secrecy.SURE else None


def url_start(word: str) -> int:
    """Return where the URL in an argument begins (after `--url=`, or at 0); -1 if there is none."""
    match = _BEFORE_URL.match(word)
    return match.end() if match is not None else -1


def masked_command(words: Iterable[str]) -> list[str]:
    """Mask a command line for display: values after `--token` or `KEY=`, and known key formats."""
    shown: list[str] = []
    is_next_secret = False
    for word in words:
        name, equals, _ = word.partition("=")
        is_option = word.startswith("-")
        if (is_next_secret and not is_option) or looks_secret(word):
            shown.append(MASK)
        elif header := secret_header(word):
            shown.append(word[: header.start("value")] + MASK)
        elif "://" in word:
            start = max(0, url_start(word))
            shown.append(word[:start] + masked_url(word[start:]))
        elif equals and is_secret_name(name.lstrip("-")):
            shown.append(f"{name}={MASK}")
        else:
            shown.append(word)
        is_next_secret = is_option and not equals and is_secret_name(word.lstrip("-"))
    return shown


@lru_cache(maxsize=64)  # the same for every HTTP exchange with a server
def masked_url(url: str) -> str:
    """Mask a URL for display.

    Masks user names, passwords and the values of secret parameters, also in the fragment, where some
    servers put tokens.
    """
    try:
        parts = urlsplit(url)
    except ValueError:
        return url
    host = f"{MASK}@{parts.netloc.rpartition('@')[2]}" if "@" in parts.netloc else parts.netloc
    query, fragment = masked_form(parts.query), masked_form(parts.fragment)
    return urlunsplit(parts._replace(netloc=host, query=query, fragment=fragment))


def masked_urls(text: str) -> str:
    """Mask the secrets in the URLs of a text for display."""
    return _URL.sub(lambda match: masked_url(match[0]), text) if "://" in text else text


def masked_form(text: str) -> str:
    """Mask the parameters of a URL or form for display."""
    return "&".join(map(_masked_parameter, text.split("&")))


def _masked_parameter(parameter: str) -> str:
    name, equals, value = parameter.partition("=")
    return f"{name}={MASK}" if equals and value and is_secret_parameter(name) else parameter


class Redactor:
    """Gives each secret value a stable placeholder."""

    def __init__(self) -> None:
        self._known: dict[str, str] = {}

    def mask(self, value: str) -> str:
        return self._known.setdefault(value, f"‹secret {len(self._known) + 1}›")

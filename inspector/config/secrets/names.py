"""How secrets are called: `header/<server>/<name>`, `oauth/<issuer>/…`, `answers/endpoint/<id>`.

The first step is a kind; each further one is percent-encoded, so that a server may be called anything and an
issuer may be a URL. Names are no secrets: they are shown, and stand in the file as they are.
"""

from __future__ import annotations

from urllib.parse import quote, unquote

from inspector.base.errors import ConfigError
from inspector.base.jsonvalue import shorten
from inspector.base.plaintext import one_line

_LONGEST = 2000


def make_name(kind: str, *parts: str) -> str:
    """Return the name of a secret, e.g. `make_name("header", "My server", "X-Key")`."""
    # JSON can contain a lone surrogate, even in a name.
    return "/".join([kind, *(quote(part, safe="", errors="surrogatepass") for part in parts)])


def parts_of(name: str) -> tuple[str, ...]:
    """Return the kind and the parts of a name, for display."""
    return tuple(unquote(part, errors="replace") for part in name.split("/"))


def shown_name(name: str) -> str:
    """Return the name for display: header › My server › X-Key."""
    return one_line(" › ".join(parts_of(name)))


def is_below(name: str, prefix: str) -> bool:
    """True for the prefix itself and for any name below it."""
    return name == prefix or name.startswith(f"{prefix}/")


def is_name(name: str) -> bool:
    return 0 < len(name) <= _LONGEST and name.isprintable() and all(name.split("/"))


def require_name(name: str) -> None:
    """Raise ConfigError unless the name is valid."""
    if not is_name(name):
        raise ConfigError(
            f"{one_line(shorten(name, 60))!r} cannot be the name of a secret.",
            f"Use at most {_LONGEST} plain characters, with single slashes between the parts.",
        )

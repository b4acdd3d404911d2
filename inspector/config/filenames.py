"""File names made from names that anybody may have chosen: readable, and safe on every system."""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Container

_MOST_BYTES = 80  # UTF-8; file systems allow 255, and suffixes and numbers are added
# Reserved device names on Windows, with any extension.
_DEVICES = re.compile(r"(?:con|prn|aux|nul|com[0-9¹²³]|lpt[0-9¹²³])", re.IGNORECASE)


def readable_stem(name: str, otherwise: str) -> str:
    """Keep letters and digits of any script; replace everything else with single hyphens."""
    letters = (letter if letter.isalnum() else "-" for letter in unicodedata.normalize("NFC", name[:400]))
    stem = re.sub("-+", "-", "".join(letters))
    stem = stem.encode(errors="ignore")[:_MOST_BYTES].decode(errors="ignore").strip("-")
    return f"{stem}-" if _DEVICES.fullmatch(stem) else stem or otherwise


def free_stem(stem: str, taken: Container[str]) -> str:
    """Return the stem, numbered if taken. `taken` holds stems as returned by `folded`."""
    candidate, number = stem, 2
    while folded(candidate) in taken:
        candidate, number = f"{stem}-{number}", number + 1
    return candidate


def folded(stem: str) -> str:
    """Return the stem as case-insensitive, normalizing file systems compare it."""
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", stem).casefold())


def distinct_stem(*names: str) -> str:
    """Return a readable stem that is unique for these names: it ends in a hash of them."""
    exact = "\0".join(names).encode(errors="surrogatepass")
    readable = "-".join(filter(None, (readable_stem(name[:40], "") for name in names)))
    readable = readable_stem(readable, "call")
    return f"{readable}-{hashlib.sha256(exact).hexdigest()[:16]}"

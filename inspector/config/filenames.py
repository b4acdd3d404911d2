"""File names made from names that anybody may have chosen: readable, and safe on every system."""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Container

_MOST_BYTES = 80  # of UTF-8: systems take 255, and there are endings and numbers to come
# Windows gives these to devices, with any ending.
_DEVICES = re.compile(r"(?:con|prn|aux|nul|com[0-9¹²³]|lpt[0-9¹²³])", re.IGNORECASE)


def readable_stem(name: str, otherwise: str) -> str:
    """Letters and digits of any script as they are, everything else as single hyphens."""
    letters = (letter if letter.isalnum() else "-" for letter in unicodedata.normalize("NFC", name[:400]))
    stem = re.sub("-+", "-", "".join(letters))
    stem = stem.encode(errors="ignore")[:_MOST_BYTES].decode(errors="ignore").strip("-")
    return f"{stem}-" if _DEVICES.fullmatch(stem) else stem or otherwise


def free_stem(stem: str, taken: Container[str]) -> str:
    """The stem, with a number where somebody has it. `taken` holds stems as `folded` writes them."""
    candidate, number = stem, 2
    while folded(candidate) in taken:
        candidate, number = f"{stem}-{number}", number + 1
    return candidate


def folded(stem: str) -> str:
    """How systems that do not tell capitals apart, or compose letters, see a file name."""
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", stem).casefold())


def distinct_stem(*names: str) -> str:
    """A readable stem that no other names share: it ends in a fingerprint of them."""
    exact = "\0".join(names).encode(errors="surrogatepass")
    readable = "-".join(filter(None, (readable_stem(name[:40], "") for name in names)))
    readable = readable_stem(readable, "call")
    return f"{readable}-{hashlib.sha256(exact).hexdigest()[:16]}"

"""Untrusted text made safe to show.

A server can put terminal escapes, bidirectional overrides, zero-width characters and "tag" characters
into names, descriptions and log lines, and so make a screen say what was not sent. `visible` shows each
of them as a token, so that the reader sees what is there; ordinary text passes unchanged and unscanned
by anything slower than one regular expression.
"""

from __future__ import annotations

import re

_HIDDEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f"  # C0 and C1 controls, except tab and line feed
    "\u00ad\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u2064\u2066-\u2069\ufeff"
    "\ufff9-\ufffb\ud800-\udfff\U000e0000-\U000e007f]"
)
_LINE_BREAKS = re.compile("[\n\u2028\u2029\t]+")


def visible(text: str) -> str:
    """Show hidden characters as ␛-style pictures or ⟨U+XXXX⟩ tokens; keep tabs and line feeds."""
    return _HIDDEN.sub(_token, text)


def one_line(text: str) -> str:
    """`visible`, and every run of line breaks and tabs as one space: for a table cell or a title."""
    return _LINE_BREAKS.sub(" ", visible(text))


def _token(match: re.Match[str]) -> str:
    code = ord(match.group())
    if code < 0x20:
        return chr(0x2400 + code)  # Unicode's own pictures for control characters
    return "\u2421" if code == 0x7F else f"⟨U+{code:04X}⟩"

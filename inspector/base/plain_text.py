"""Untrusted text made safe to display.

A server can put terminal escapes, bidirectional overrides, zero-width characters and tag characters into
names, descriptions and log lines, so that the screen shows something that was not sent. `visible` shows
each of them as a token; ordinary text passes unchanged, at the cost of one regular expression. Joiners
and variation selectors stay where Unicode intends them (👩‍💻, ❤️, 1️⃣, ideograph variants); anywhere else
they could carry a hidden message.
"""

from __future__ import annotations

import re

_HIDDEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f"  # C0 and C1 controls, except tab and line feed
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164"
    "\ufeff\uffa0\U0001d173-\U0001d17a"
    "\ufe00-\ufe0f\ufff9-\ufffb\ud800-\udfff\U000e0000-\U000e007f\U000e0100-\U000e01ef]"
)
# Compiled on first use: few texts need them, and compiling would delay the window by 3 ms.
_EMOJI = "[\u2194-\u21aa\u2300-\u23ff\u2600-\u27bf\u2b05-\u2b55\U0001f300-\U0001faff]"
# In addition, characters that are emoji only with a variation selector after them.
_STYLED = (
    "[\u00a9\u00ae\u203c\u2049\u2122\u2139\u24c2\u25aa-\u25fe\u2934\u2935\u3030\u303d"
    "\u3297\u3299\U0001f000-\U0001f2ff]"
)
_IDEOGRAPH = "[\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]"
_KEY, _KEYCAP = "[#*0-9]", "\u20e3"
_JOINER = "\u200d"
_STYLES = "\ufe0e\ufe0f"
_LINE_BREAK = re.compile("[\n\u2028\u2029\t]")
_LINE_BREAKS = re.compile(f"{_LINE_BREAK.pattern}+")


def visible(text: str) -> str:
    """Show hidden characters as ␛-style pictures or ⟨U+XXXX⟩ tokens; keep tabs and line feeds."""
    return _HIDDEN.sub(_token, text)


def visible_json(text: str) -> str:
    """Show hidden characters in a JSON text as `\\uXXXX` escapes, which leave its value unchanged."""
    return _HIDDEN.sub(_json_escape, text)


def one_line(text: str) -> str:
    """Like `visible`, with each run of line breaks and tabs as one space, for cells and titles."""
    return _LINE_BREAKS.sub(" ", visible(text))


def visible_line(text: str) -> str:
    """Like `visible`, with line breaks and tabs as tokens: none of it can pass for another line."""
    return _LINE_BREAK.sub(_break_token, visible(text))


def hidden_tokens(text: str) -> list[str]:
    """Return the hidden characters in a text as `visible` shows them; empty for ordinary text."""
    return [token for match in _HIDDEN.finditer(text) if (token := _token(match)) != match.group()]


def escape_html(text: str) -> str:
    """Escape a text for Qt rich text.

    Not `html.escape`: importing `html` loads a table of 2,000 names.
    """
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace('"', "&quot;")


def _token(match: re.Match[str]) -> str:
    if _is_intended(match.group(), match.string, match.start()):
        return match.group()
    code = ord(match.group())
    if code < 0x20:
        return chr(0x2400 + code)  # Unicode's Control Pictures block
    return "\u2421" if code == 0x7F else f"⟨U+{code:04X}⟩"


def _json_escape(match: re.Match[str]) -> str:
    hidden = match.group()
    if _token(match) == hidden:
        return hidden
    units = hidden.encode("utf-16-be", "surrogatepass").hex()
    return "".join(f"\\u{units[start : start + 4]}" for start in range(0, len(units), 4))


def _break_token(match: re.Match[str]) -> str:
    code = ord(match.group())
    return chr(0x2400 + code) if code < 0x20 else f"⟨U+{code:04X}⟩"


def _is_intended(hidden: str, text: str, location: int) -> bool:
    """True if a hidden character only affects how its neighbors look, as intended by Unicode."""
    before, after = _at(text, location - 1), _at(text, location + 1)
    if hidden == _JOINER:
        if before == _STYLES[1]:
            before = _at(text, location - 2)
        return bool(re.match(_EMOJI, before) and re.match(_EMOJI, after))
    if hidden in _STYLES:
        is_key = after == _KEYCAP and re.match(_KEY, before)
        return bool(is_key or re.match(_EMOJI, before) or re.match(_STYLED, before))
    is_variant = "\ufe00" <= hidden <= "\ufe02" or hidden >= "\U000e0100"
    return is_variant and bool(re.match(_IDEOGRAPH, before))


def _at(text: str, location: int) -> str:
    return text[location] if 0 <= location < len(text) else ""

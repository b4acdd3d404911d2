"""Command lines as text: split what the user typed or pasted, and quote words for display and for copying.

POSIX and Windows differ in what a backslash and a quote mean. The platform is an argument, so that both can
be tested anywhere; text that contains a Windows path is split by the rules of Windows on every platform.
Nothing here is used to start a process, and no shell is involved.
"""

from __future__ import annotations

import json
import re
import shlex
import sys
from collections.abc import Iterable, Sequence

# C:\x, \\server\share, .\x, ..\x, %NAME%\x, $env:NAME\x, ~\x
_WINDOWS_PATH = re.compile(
    r"(?:^|[\s\"'=])(?:[A-Za-z]:\\|\\\\[\w.$?-]|\.{1,2}\\|%\w+%\\|\$env:\w+\\|~\\)", re.IGNORECASE
)
_PLAIN_WORD = re.compile(r"[\w.:/\\=+@-]+", re.ASCII)
_BEFORE_QUOTE = re.compile(r'(\\*)("|$)')
# What cmd or PowerShell interprets in double quotes, PowerShell's other quotes, and control characters.
# "${name}" is the placeholder of other MCP clients: cmd leaves it alone.
_INTERPRETED = re.compile(
    '["`%\u201c-\u201e\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]|\\$(?!\\{[\\w:-]+\\})'
)
# Part of a POSIX command line: space, quoted text, an escaped character, or other text.
_POSIX_PART = re.compile(
    r"""(?P<space>[ \t\r\n]+)|'(?P<single>[^']*)'|"(?P<double>[^"\\]*(?:\\.[^"\\]*)*)"|"""
    r"""\\(?P<escaped>.)|(?P<plain>[^ \t\r\n'"\\]+)""",
    re.DOTALL,
)
_ESCAPED_IN_QUOTES = re.compile(r"""\\(["\\])""")
_JSON_ESCAPE = re.compile(r"\\(.)")
# In JSON these characters are part of strings only.
_NOT_IN_JSON_SYNTAX = re.compile(r"[^\w\s.:,{}\[\]\"\\/+=@?*~#-]", re.ASCII)


def is_windows_syntax(line: str, platform: str = sys.platform) -> bool:
    """True if backslashes in this line are literal, as on Windows."""
    return platform == "win32" or _WINDOWS_PATH.search(line) is not None


def split_command(line: str, platform: str = sys.platform) -> list[str]:
    """Split a command line into words. Raises ValueError for a quote that is not closed."""
    if not is_windows_syntax(line, platform):
        return _split_posix(line)
    try:
        return _split_windows(line, can_escape=True)
    except ValueError:
        return _split_windows(line, can_escape=False)  # as in "C:\folder\"


def _split_posix(line: str) -> list[str]:
    """Split like `shlex.split`, which takes quadratic time for a long word."""
    words: list[str] = []
    word: list[str] | None = None
    at = 0
    while at < len(line):
        part = _POSIX_PART.match(line, at)
        if part is None:
            raise ValueError("No escaped character" if line[at] == "\\" else "No closing quotation")
        at = part.end()
        if part["space"] is None:
            text = part["plain"] or part["single"] or part["escaped"] or ""
            text = text or _ESCAPED_IN_QUOTES.sub(r"\1", part["double"] or "")
            word = [] if word is None else word
            word.append(text)
        elif word is not None:
            words.append("".join(word))
            word = None
    return words if word is None else [*words, "".join(word)]


def _split_windows(line: str, *, can_escape: bool) -> list[str]:
    r"""Split like `CommandLineToArgvW`: a backslash is literal unless quotes follow (`\"`).

    Single quotes at the start of a word or value quote too, as in PowerShell and in most manuals.
    """
    words: list[str] = []
    word: list[str] | None = None
    at, quote = 0, ""
    while at < len(line):
        character = line[at]
        at += 1
        if not quote and character in " \t\r\n":
            if word is not None:
                words.append("".join(word))
            word = None
            continue
        word = [] if word is None else word
        if can_escape and quote != "'" and character == "\\":
            start = at - 1
            while line[at : at + 1] == "\\":
                at += 1
            count, is_before_quote = at - start, line[at : at + 1] == '"'
            word.append("\\" * (count // 2 if is_before_quote else count))
            if is_before_quote and count % 2:
                word.append('"')
                at += 1
        elif quote == '"' and character == '"' and line[at : at + 1] == '"':
            word.append('"')
            at += 1
        elif quote and character == quote:
            quote = ""
        elif not quote and (character == '"' or (character == "'" and (not word or word[-1].endswith("=")))):
            quote = character
        else:
            word.append(character)
    if quote:
        raise ValueError("No closing quotation")
    return words if word is None else [*words, "".join(word)]


def quote_word(word: str, platform: str = sys.platform) -> str:
    """Quote a word of a command line if necessary."""
    if platform != "win32":
        return shlex.quote(word)
    if _PLAIN_WORD.fullmatch(word):
        return word
    # As `subprocess.list2cmdline`, which leaves words such as `a&b` unquoted.
    escaped = _BEFORE_QUOTE.sub(lambda found: found[1] * 2 + ('\\"' if found[2] else ""), word)
    return f'"{escaped}"'


def join_command(words: Iterable[str], platform: str = sys.platform) -> str:
    """Join words into a command line that `split_command` splits into the same words."""
    return " ".join(quote_word(word, platform) for word in words)


def pasted_command(words: Sequence[str], platform: str = sys.platform) -> str | None:
    """Return a command line to paste into a terminal; None if a shell would interpret a part of it.

    Under POSIX, everything can be quoted. On Windows it must be safe in cmd and in PowerShell, which quote
    differently; only words that both take literally are possible, and JSON, which has escapes itself.
    """
    if platform != "win32":
        return None if any("\x00" in word for word in words) else join_command(words, platform)
    escaped = [_escaped_json(word) for word in words]
    if any(
        json_word is None and _INTERPRETED.search(word)
        for word, json_word in zip(words, escaped, strict=True)
    ):
        return None
    return " ".join(
        quote_word(word if json_word is None else json_word, platform)
        for word, json_word in zip(words, escaped, strict=True)
    )


def _escaped_json(word: str) -> str | None:
    r"""Return a JSON object or array with `\u` escapes for whatever a shell interprets; None for other text.

    Nothing but the quotes is left for cmd, which has no escape for them: it takes what follows `\"` for
    unquoted text.
    """
    if not word.startswith(("{", "[")):
        return None
    try:
        json.loads(word)
    except (ValueError, RecursionError):
        return None
    one_line = re.sub(r"[\t\r\n]", " ", word)  # line breaks are white space here, never part of a string
    # An even number of quotes is left, so that cmd is outside of quotes again at the end.
    paired = _JSON_ESCAPE.sub(lambda found: "\\u0022" if found[1] == '"' else found[0], one_line)
    return _NOT_IN_JSON_SYNTAX.sub(_unicode_escape, paired)


def _unicode_escape(found: re.Match[str]) -> str:
    units = found[0].encode("utf-16-be")
    return "".join(f"\\u{units[at]:02x}{units[at + 1]:02x}" for at in range(0, len(units), 2))

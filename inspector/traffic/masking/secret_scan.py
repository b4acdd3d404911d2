"""Secret detection in text: by the name before a value, or by the value's format.

Purely lexical, on bytes, so that it works on JSON, JSON in JSON strings, forms, URLs, command lines and
log lines, even malformed ones. A `Hit` covers exactly the secret and never a quote, so that its
surroundings stay intact. The first step is one search for the few words that such names contain; most
messages have none.

A secret may be spelled with escapes, or be in JSON within a JSON string. So the text is scanned as it is
and with one and two levels of escapes resolved; `Unescaped` maps positions back to the original.
"""

from __future__ import annotations

import base64
import json
import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple, TypeAlias
from urllib.parse import quote, quote_plus, unquote_to_bytes

from inspector.base.redaction import Secrecy, is_secret_parameter, secrecy


class Hit(NamedTuple):
    """A secret found in a text. `name` is short, for the placeholder; `location` is for display."""

    start: int
    end: int
    value: bytes
    name: str
    location: str


# A long body is processed in windows, so that the caller gets a turn. A secret that begins in one may reach
# this far into the next.
WINDOW = 64 * 1024
_OVERLAP = 16 * 1024
_ESCAPE_LEVELS = 2

# The text, where the window begins and ends in it, and a map from its positions to the raw text.
_Level: TypeAlias = tuple[bytes, int, int, Callable[[int], int]]

_WORD = re.compile(
    rb"key|auth|bearer|secret|cookie|credential|pass|pwd|session|sig|token|code|state|assertion|verifier|dpop"
)
_NAME_BYTES = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-"
_MAX_NAME_LENGTH = 64
# What separates a name from its value, and how the value then ends.
_ASSIGNED = re.compile(
    rb"([\w.-]{1,64})(?:"
    rb'(?P<json>"\s{0,64}(?:,\s{0,64}"value"\s{0,64})?:\s{0,64}")|'  # also {"name": …, "value": …}
    rb"(?P<repr>'\s{0,8}:\s{0,8}')|"
    rb"(?P<equals>=[\"']?)|"
    rb"(?P<colon>\s{0,8}:[ \t]{0,8}[\"']?)|"
    rb"(?P<blank>[ \t]{1,8}[\"']?))"
)
_STRING = re.compile(rb'(?:[^"\\\0]++|\\.)*+', re.DOTALL)
_REPR = re.compile(rb"(?:[^'\"\\\0\r\n]++|\\.)*+", re.DOTALL)
# Excludes what follows the closing quote of a JSON string, which may look like an opening one.
_BARE = re.compile(rb"(?!:)[^\s&;,\"'<>\\\0#(){}\[\]|]++")
_SCHEME = re.compile(rb"(?:bearer|basic|dpop|digest|negotiate|token|apikey)\s+(?=\S)", re.IGNORECASE)
_MAX_USER_INFO_LENGTH = 256 + 1024 + 8
_USER_INFO = re.compile(rb"://([^\s/:@\"'\\\0?#]{0,256})(?::([^\s/@\"'\\\0?#]{0,1024}))?@")
# Variable references, words for "nothing", and already masked values.
_NO_SECRET = re.compile(
    rb"\$.*|%\w+%|[*.\xe2\x80\xa2x]+|<.*>|null|none|true|false|undefined|required|optional|string|bearer|basic"
    rb"|~secret-\d+-[\w-]*~",
    re.IGNORECASE | re.DOTALL,
)

# OAuth parameters; as JSON members they are mostly the name of an error or a condition.
_COMMON_NAMES = frozenset({"code", "state"})
_ONE_WORD = re.compile(rb"[\w.~+/=-]+")
_HEX = re.compile(rb"[0-9a-fA-F]{24,}")


class _TokenFormat(NamedTuple):
    """The format of a kind of secret. `secret` is the group of the pattern to mask."""

    name: str
    location: str
    prefixes: tuple[bytes, ...]
    pattern: re.Pattern[bytes]
    secret: int = 0


# Each part is bounded: a long base64 text must not be scanned to its end from every "eyJ".
_FORMATS = (
    _TokenFormat(
        "jwt", "JSON Web Token", (b"eyJ",), re.compile(rb"eyJ[\w-]{8,8192}\.[\w-]{2,8192}\.[\w-]{0,8192}")
    ),
    _TokenFormat(
        "bearer",
        "Bearer token",
        (b"Bearer ", b"bearer "),
        # Not the parameter of a challenge, as in: Bearer resource_metadata="…"
        re.compile(rb'[Bb]earer {1,4}(?![a-z_]{1,40}=(?:\\?"|https?:))([\w.~+/-]{16,8192}=*)'),
        secret=1,
    ),
    _TokenFormat(
        "api-key",
        "API key",
        (b"sk-", b"sk_", b"rk_", b"AIza", b"hf_", b"npm_"),
        re.compile(rb"sk-[\w-]{16,256}|[rs]k_(?:live|test)_\w{16,256}|AIza[\w-]{35}|hf_\w{20,64}|npm_\w{36}"),
    ),
    _TokenFormat(
        "github",
        "GitHub token",
        (b"gho_", b"ghp_", b"ghr_", b"ghs_", b"ghu_", b"github_pat_"),
        re.compile(rb"g(?:h[oprsu]|ithub_pat)_\w{20,255}"),
    ),
    _TokenFormat("gitlab", "GitLab token", (b"glpat-",), re.compile(rb"glpat-[\w-]{16,64}")),
    _TokenFormat("slack", "Slack token", (b"xox",), re.compile(rb"xox[abeoprs]-[\w-]{10,255}")),
    _TokenFormat("aws", "AWS access key", (b"AKIA", b"ASIA"), re.compile(rb"A[KS]IA[A-Z0-9]{16}")),
    _TokenFormat(
        "private-key",
        "private key",
        (b"-----BEGIN ",),
        re.compile(rb'-----BEGIN [A-Z ]{0,30}PRIVATE KEY-----([^-"\0]{16,16384})-----END'),
        secret=1,
    ),
)
_FORMAT_BY_PREFIX = {prefix: format for format in _FORMATS for prefix in format.prefixes}
# Literals only: anything more complex would make the search ten times slower.
_MAX_PREFIX_LENGTH = max(map(len, _FORMAT_BY_PREFIX))
_PREFIX = re.compile(b"|".join(map(re.escape, _FORMAT_BY_PREFIX)))

# One or two escapes at a time: a character beyond U+FFFF is written as two.
_ESCAPE = re.compile(
    rb"\\(?:u([dD][89abAB][0-9a-fA-F]{2})\\u([dD][c-fC-F][0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|.)", re.DOTALL
)
_SHORT = {b"b": b"\b", b"f": b"\f", b"n": b"\n", b"r": b"\r", b"t": b"\t"}
# Replaces the quotes around strings, so that no match crosses them.
_STRUCTURE = b"\0"
_BLANK = b" \n"

_TO_URL = bytes.maketrans(b"+/", b"-_")


def hits(data: bytes, start: int = 0, stop: int | None = None) -> Iterator[Hit]:
    """Yield the secrets that begin between `start` and `stop`, unordered; they may overlap."""
    stop = len(data) if stop is None else stop
    yield from _by_name(data, start, stop)
    yield from _by_format(data, start, stop)
    if b"@" in data:
        yield from _user_info(data, start, stop)


def header_hits(name: str, value: bytes) -> Iterator[Hit]:
    """Yield the secrets in an HTTP header."""
    location = f"header {name}"
    if name.lower() in ("cookie", "set-cookie"):
        yield from _cookies(name, value)
    elif secrecy(name) is not Secrecy.NONE and not _NO_SECRET.fullmatch(value):
        scheme = _SCHEME.match(value)
        begin = scheme.end() if scheme else 0
        if begin < len(value):
            yield Hit(begin, len(value), value[begin:], name, location)
    yield from hits(value)


def hits_at_all_levels(raw: bytes, start: int, stop: int) -> Iterator[Hit]:
    """Yield each secret once, whatever level it was found at."""
    seen: set[tuple[int, int]] = set()
    for data, first, last, origin in levels(raw, start, stop):
        for hit in hits(data, first, last):
            span = origin(hit.start), origin(hit.end)
            if span not in seen:
                seen.add(span)
                yield hit


def levels(raw: bytes, start: int, stop: int) -> Iterator[_Level]:
    """Yield a window of a text at each level; the first is the text itself."""
    yield raw, start, stop, int
    data = raw[start : stop + _OVERLAP]
    origin: Callable[[int], int] = lambda location: start + location  # noqa: E731
    for _ in range(_ESCAPE_LEVELS):
        if b"\\" not in data:
            return
        view = unescape(data)
        origin = _through(view.origin, origin)
        data = view.data
        yield data, 0, bisect_left(range(len(data)), stop, key=origin), origin


def _through(inner: Callable[[int], int], outer: Callable[[int], int]) -> Callable[[int], int]:
    return lambda location: outer(inner(location))


def _by_name(data: bytes, start: int, stop: int) -> Iterator[Hit]:
    end = start
    for word in _WORD.finditer(data[start : stop + _MAX_NAME_LENGTH].lower()):
        at = start + word.start()
        if end <= at < stop:
            hit = _assigned(data, at)
            if hit is not None:
                end = hit.end
                yield hit


def _assigned(data: bytes, at: int) -> Hit | None:
    """Return the secret after the name that contains this position, if it is one."""
    match = _ASSIGNED.match(data, at)
    if match is None:
        return None
    before = data[max(0, at - _MAX_NAME_LENGTH) : at]
    begin = at - (len(before) - len(before.rstrip(_NAME_BYTES)))
    name = data[begin : match.end(1)].decode().lstrip("-.")
    kind = match.lastgroup or ""
    is_parameter = kind == "equals" and data[begin - 1 : begin] in (b"", b"?", b"&", b"#")
    is_common = kind in ("json", "repr") and name.lower() in _COMMON_NAMES
    if not (is_common or (is_secret_parameter(name) if is_parameter else secrecy(name))):
        return None
    if kind == "blank" and not data.startswith(b"--", begin):
        return None  # `token abc` is prose, `--token abc` is not
    return _value(data, match.end(), kind, name, is_parameter)


def _value(data: bytes, start: int, kind: str, name: str, is_parameter: bool) -> Hit | None:
    scheme = _SCHEME.match(data, start, start + 64)
    start = scheme.end() if scheme else start
    pattern = _STRING if kind == "json" else _REPR if kind == "repr" else _BARE
    found = pattern.match(data, start)
    if found is None or not found[0] or _NO_SECRET.fullmatch(found[0]):
        return None
    if kind == "blank" and found[0].startswith(b"-"):
        return None  # the next option
    value = unescaped_string(found[0]) if kind == "json" else found[0]
    if name.lower() in _COMMON_NAMES and not is_parameter and not _is_clearly_random(value):
        return None
    if kind not in ("json", "repr") and data[found.end() : found.end() + 2] in (b"\\/", b"\\u"):
        return None  # it continues: matched when the escape is resolved
    is_sure = is_parameter or secrecy(name) is Secrecy.SURE
    # Prose after a colon, or an ambiguous name: only values that look random are secrets.
    if not (is_sure and (kind != "colon" or scheme)) and not _looks_random(value):
        return None
    if is_parameter:
        return Hit(start, found.end(), unquote_to_bytes(value.replace(b"+", b" ")), name, f"parameter {name}")
    location = f'property "{name}"' if kind in ("json", "repr") else f"text after {name}"
    return Hit(start, found.end(), value, name, location)


def _by_format(data: bytes, start: int, stop: int) -> Iterator[Hit]:
    for begin in _PREFIX.finditer(data, start, stop + _MAX_PREFIX_LENGTH):
        at, format = begin.start(), _FORMAT_BY_PREFIX[begin[0]]
        match = format.pattern.match(data, at) if at < stop else None
        # Not in the middle of a longer word, as in "task-…".
        if match is not None and not (at and data[at - 1 : at].isalnum()):
            yield Hit(
                *match.span(format.secret),
                unescaped_string(match[format.secret]),
                format.name,
                format.location,
            )


def _user_info(data: bytes, start: int, stop: int) -> Iterator[Hit]:
    """Yield what precedes the @ of a URL: a password, or a token in place of a user name."""
    for match in _USER_INFO.finditer(data, start, stop + _MAX_USER_INFO_LENGTH):
        if match.start() >= stop:
            return
        group = 2 if match[2] else 1
        value = match[group]
        if value and not _NO_SECRET.fullmatch(value) and (group == 2 or is_distinctive(value)):
            yield Hit(*match.span(group), unquote_to_bytes(value), "url-user", "user part of a URL")


def _cookies(name: str, value: bytes) -> Iterator[Hit]:
    pairs = re.finditer(rb"([^=;\s]+)=([^;\s]+)", value)
    for count, pair in enumerate(pairs):
        if count and name.lower() == "set-cookie":
            return  # attributes follow: Path, Max-Age
        cookie = pair[1].decode(errors="replace")
        yield Hit(*pair.span(2), pair[2], f"cookie-{cookie}", f"cookie {cookie}")


def is_distinctive(value: bytes) -> bool:
    """True if a value is so distinctive that it must be the same secret wherever it occurs."""
    if len(value) < 8 or _is_structure(value):
        return False
    text = value.decode(errors="replace")
    return _looks_random(value) or not (text.islower() or text.isupper() or text.istitle())


def _looks_random(value: bytes) -> bool:
    return len(value) >= 20 or (len(value) >= 8 and any(0x30 <= byte <= 0x39 for byte in value))


def _is_clearly_random(value: bytes) -> bool:
    """True if a value is clearly random: mixed letters and digits, or a long hex number."""
    kinds = (rb"[a-z]", rb"[A-Z]", rb"[0-9]")
    is_mixed = len(value) >= 16 and all(re.search(kind, value) for kind in kinds)
    return bool(_ONE_WORD.fullmatch(value)) and (is_mixed or _HEX.fullmatch(value) is not None)


def _is_structure(value: bytes) -> bool:
    """True if it could be JSON outside a string (number, brackets): masking would break it."""
    return not value.strip(b"0123456789+-.,:[]{} \t\r\n" + b"truefalsnNaIityE")


@dataclass(frozen=True, slots=True)
class Unescaped:
    """Unescaped text, with a map back to positions in the original."""

    data: bytes
    _positions: list[int] = field(default_factory=lambda: [0])
    _origins: list[int] = field(default_factory=lambda: [0])

    def origin(self, location: int) -> int:
        """Return where this position is in the original text."""
        index = bisect_right(self._positions, location) - 1
        return self._origins[index] + location - self._positions[index]


def unescape(data: bytes) -> Unescaped:
    """Resolve one level of escapes. Linear time."""
    data = _without_blanks(data)
    pieces: list[bytes] = []
    positions, origins = [0], [0]
    location = end = 0
    for escape in _ESCAPE.finditer(data):
        before = data[end : escape.start()].replace(b'"', _STRUCTURE)
        char = _character(escape)
        pieces += (before, char)
        location += len(before) + len(char)
        end = escape.end()
        positions.append(location)
        origins.append(end)
    pieces.append(data[end:].replace(b'"', _STRUCTURE))
    return Unescaped(b"".join(pieces), positions, origins)


def _without_blanks(data: bytes) -> bytes:
    """Replace escaped line ends and tabs with two bytes each: fast, and texts have many of them."""
    if b"\\\\" in data:
        return data  # `\\n` is a backslash and a letter
    for escape in (b"\\n", b"\\r", b"\\t"):
        data = data.replace(escape, _BLANK)
    return data


def with_blanks(value: bytes) -> bytes:
    """Return how a multi-line value may read in the output of `unescape`."""
    return re.sub(rb"[\n\r\t]", _BLANK, value)


def unescaped_string(spelling: bytes) -> bytes:
    """Return the value of a JSON string, from what is between its quotes."""
    return _ESCAPE.sub(_character, spelling) if b"\\" in spelling else spelling


def _character(escape: re.Match[bytes]) -> bytes:
    high, low, single = escape.groups()
    if high is not None:
        code = 0x10000 + ((int(high, 16) - 0xD800) << 10) + (int(low, 16) - 0xDC00)
        return chr(code).encode()
    if single is not None:
        return chr(int(single, 16)).encode(errors="replace")  # a lone surrogate, which cannot be encoded
    last = escape[0][1:]
    return _SHORT.get(last, last)


def spellings(value: bytes) -> dict[bytes, None]:
    """Return the spellings of a value, each once: plain, percent-encoded, base64."""
    spelled = (
        value,
        with_blanks(value),
        quote(value, safe="").encode(),
        quote(value).encode(),
        quote_plus(value).encode(),
        *in_base64(value),
    )
    return dict.fromkeys(spelled)


def in_base64(value: bytes) -> list[bytes]:
    """Return the parts of a value that appear in the base64 of a surrounding text.

    In both alphabets. Base64 makes four characters of three bytes, so there are three alignments, and the
    characters at both ends also depend on the neighbors.
    """
    found: list[bytes] = []
    for before, first in enumerate((0, 2, 3)):
        text = base64.b64encode(b"\0" * before + value)
        found.append(text[first : (before + len(value)) * 8 // 6])
    return [*found, *(each.translate(_TO_URL) for each in found)]


def in_json(value: bytes) -> list[bytes]:
    """Return a value as a JSON string, once and twice encoded, with plain or escaped slashes."""
    found: list[bytes] = []
    for text in (value, value.replace(b"/", b"\\/")):
        # Bytes that are not text cannot occur in JSON.
        once = json.dumps(text.decode(errors="replace").replace("\\/", "/"), ensure_ascii=False)[1:-1]
        once = once.replace("/", "\\/") if text != value else once
        found += (once.encode(), json.dumps(once, ensure_ascii=False)[1:-1].encode())
    return found

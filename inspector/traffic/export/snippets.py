"""One exchange as text for the clipboard: a cURL command, a Python program, or JSON.

Header and body text from a server or a file must not become a command when pasted into a shell. So the
command consists of words that `sh` takes literally, contains nothing that a terminal would act on, and
tells curl to read no files and expand no patterns. On Windows it is one for cmd, in which PowerShell finds
nothing to run either.
"""

from __future__ import annotations

import re
import shlex
import sys
from typing import NamedTuple
from urllib.parse import urlsplit

from inspector.base.command_line import pasted_command
from inspector.base.errors import UserError
from inspector.base.json.scanner import reindent
from inspector.base.json.values import JSONError, compact, parse
from inspector.base.redaction import MASK
from inspector.base.units import size
from inspector.traffic.export.har import header
from inspector.traffic.export.writer import carried_by, request_body
from inspector.traffic.log import TrafficLog
from inspector.traffic.masking.masker import NO_MASKING, Masker
from inspector.traffic.records import HttpExchange, RecordKind

_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")
_LINE_ENDS_APART = str.maketrans("", "", "\n")
# Headers that the other program sets by itself.
_OWN = frozenset({"host", "content-length", "connection", "transfer-encoding"})
_MAX_WORD_LENGTH = 100_000  # of a command; Linux allows 128 KiB
_MAX_CMD_LENGTH = 8000
_MAX_BODY_LENGTH = 1024 * 1024
# In a URL in double quotes: what cmd or PowerShell interprets, and what is not ASCII.
_NOT_ENCODED = re.compile(r"[^!#&-;=?-Z\[\]_a-z~%]|%(?![0-9A-Fa-f]{2})")


class _Request(NamedTuple):
    """The request to repeat."""

    exchange: HttpExchange
    headers: list[tuple[str, str]]
    body: bytes
    is_stream: bool


def as_curl(log: TrafficLog, row: int, masker: Masker | None = None, *, platform: str = sys.platform) -> str:
    """Return a command that sends a row's HTTP request. Raises UserError if impossible.

    It is for `sh`, and for cmd on Windows, where a JSON body has escapes in place of special characters.
    """
    request = _request(log, row, masker)
    if platform == "win32":
        return _for_cmd(request)
    is_word = _is_word(request.body)
    words = _options(request)
    if request.body:
        words += ["--data-binary", request.body.decode() if is_word else "@-"]
    words += ["--path-as-is", "--url", request.exchange.url]
    command = "curl " + " \\\n  ".join(_joined(words))
    return command if is_word else f"printf {shlex.quote(_printf(request.body))} | {command}"


def _options(request: _Request) -> list[str]:
    """Return curl's options for everything except the body and the URL."""
    words = ["--globoff", *_method(request)]
    words += [word for name, value in request.headers for word in ("--header", _header(name, value))]
    words += [word for name in _unwanted(request) for word in ("--header", f"{name}:")]
    if request.is_stream:
        words.append("--no-buffer")
    return words


def _for_cmd(request: _Request) -> str:
    """Return one line: PowerShell would run the lines of a continued command separately."""
    words = ["curl.exe", *_options(request)]  # `curl` is another command in Windows PowerShell
    if request.body:
        if not _is_word(request.body):
            raise _refused("its body cannot be part of a command")
        words += ["--data-binary", request.body.decode()]
    words += ["--path-as-is", "--url"]
    line, url = pasted_command(words, "win32"), request.exchange.url
    # Percent-encoded octets are no variables of cmd: their names would begin with two digits.
    is_ascii = line is not None and line.replace(MASK, "").isascii()
    if line is None or not is_ascii or _NOT_ENCODED.search(url.replace(MASK, "")):
        raise _refused("it contains characters that cmd or PowerShell would interpret")
    line += f' "{url}"'
    if len(line) > _MAX_CMD_LENGTH:
        raise _refused(f"the command would be longer than the {_MAX_CMD_LENGTH} characters that cmd allows")
    return line


def as_python(log: TrafficLog, row: int, masker: Masker | None = None) -> str:
    """Return a program that sends a row's HTTP request with httpx.

    Raises UserError if impossible.
    """
    request = _request(log, row, masker)
    arguments = f"{request.exchange.method!r}, url, headers=headers, content=body, timeout=60"
    lines = ["import httpx", "", f"url = {request.exchange.url!r}", "headers = ["]
    lines += [f"    {_python_header(name, value)}," for name, value in request.headers]
    lines += ["]", f"body = {_python_body(request.body)}", ""]
    if request.is_stream:
        lines += [f"with httpx.stream({arguments}) as response:", "    print(response.status_code)"]
        lines += ["    for line in response.iter_lines():", "        print(line)"]
    else:
        lines += [
            f"response = httpx.request({arguments})",
            "print(response.status_code)",
            "print(response.text)",
        ]
    return "\n".join(lines) + "\n"


def as_json(log: TrafficLog, row: int, masker: Masker | None = None) -> str:
    """Return the request and its response, indented; the row itself if it is neither.

    Never raises.
    """
    masker = masker or NO_MASKING
    partner = log.partner(row)
    if partner is None:
        return reindent(_json(masker.body(log.raw(row))))
    requested, responded = sorted((row, partner))
    request, response = (_json(masker.body(log.raw(number))) for number in (requested, responded))
    return reindent(f'{{"request":{request},"response":{response}}}')


def _request(log: TrafficLog, row: int, masker: Masker | None) -> _Request:
    exchange, carrier = log.http(row), log.exchange(row)
    if exchange is None:
        raise UserError(
            "This was not sent over HTTP, so there is no request to copy.", "Copy it as JSON instead."
        )
    number = row if carrier is None or log.kind(row) == RecordKind.HTTP else carrier
    masker = masker or NO_MASKING
    body = masker.body(request_body(log, carried_by(log, number)))
    exchange = masker.exchange(exchange)
    if len(body) > _MAX_BODY_LENGTH:
        raise UserError(
            f"The body is {size(len(body))}, which is too large to paste.", "Export the message instead."
        )
    _check(exchange)
    kept = [pair for pair in exchange.request_headers if pair[0].lower() not in _OWN]
    is_stream = "text/event-stream" in header(exchange.response_headers, "content-type")
    return _Request(exchange, [(name, _checked(name, value)) for name, value in kept], body, is_stream)


def _check(exchange: HttpExchange) -> None:
    parts = urlsplit(exchange.url)
    if parts.scheme not in ("http", "https") or _CONTROL.search(exchange.url):
        raise _refused("its URL cannot be pasted")
    if not _TOKEN.fullmatch(exchange.method):
        raise _refused(f"its method {exchange.method!r} is not a valid HTTP method")


def _checked(name: str, value: str) -> str:
    """Return a header value as text: on the wire it is bytes, which the log holds as Latin-1."""
    if not _TOKEN.fullmatch(name):
        raise _refused(f"it has a header named {name!r}, which is not valid in HTTP")
    try:
        text = value.encode("latin-1").decode()
    except UnicodeEncodeError:
        text = value  # masked, or never sent
    except UnicodeDecodeError as exc:
        raise _refused(f"its header {name} contains bytes that are not text") from exc
    if _CONTROL.search(text):
        raise _refused(f"its header {name} contains control characters")
    return text


def _refused(reason: str) -> UserError:
    return UserError(f"Could not copy the request: {reason}.", "Copy it as JSON, or export it.")


def _method(request: _Request) -> list[str]:
    method = request.exchange.method
    if method == "HEAD":
        return ["--head"]
    return [] if method == ("POST" if request.body else "GET") else ["--request", method]


def _header(name: str, value: str) -> str:
    return f"{name}: {value}" if value.strip() else f"{name};"  # curl's syntax for a header without a value


def _unwanted(request: _Request) -> list[str]:
    """Return the headers that curl adds by itself and the request did not have."""
    own = ["User-Agent", "Accept", *(["Content-Type", "Expect"] if request.body else [])]
    return [name for name in own if not any(given.lower() == name.lower() for given, _ in request.headers)]


def _is_word(body: bytes) -> bool:
    """True if the body can be a command's argument. A leading @ would name a file."""
    if len(body) > _MAX_WORD_LENGTH or body.startswith(b"@"):
        return False
    try:
        return not _CONTROL.search(body.decode().translate(_LINE_ENDS_APART))
    except UnicodeDecodeError:
        return False


def _printf(body: bytes) -> str:
    """Return an ASCII-only `printf` format that produces these bytes."""
    text = "".join(chr(byte) if chr(byte) in _PLAIN else f"\\{byte:03o}" for byte in body)
    return f"\\055{text[1:]}" if text.startswith("-") else text  # a leading hyphen would begin an option


_PLAIN = frozenset(map(chr, range(0x20, 0x7F))) - frozenset("%\\'")


def _joined(words: list[str]) -> list[str]:
    """Return one line per option with its argument, every word quoted."""
    lines: list[str] = []
    for word in words:
        if word.startswith("--") or not lines:
            lines.append(shlex.quote(word))
        else:
            lines[-1] += f" {shlex.quote(word)}"
    return lines


def _python_header(name: str, value: str) -> str:
    if value.isascii():
        return repr((name, value))
    return repr((name.encode(), value.encode()))


def _python_body(body: bytes) -> str:
    try:
        return f"{body.decode()!r}.encode()" if body else 'b""'
    except UnicodeDecodeError:
        return repr(body)


def _json(raw: bytes) -> str:
    """Return JSON unchanged; anything else as a JSON string."""
    text = raw.decode(errors="replace")
    try:
        parse(text)
    except JSONError:
        return compact(text)
    return text

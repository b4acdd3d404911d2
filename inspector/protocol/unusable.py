"""Explains output that is no usable response: wrong framing, encoding, JSON, ID or members.

A server that pretty-prints its messages, ends them with a carriage return or changes the type of an ID did
respond, but not as the protocol requires. `explain_line` and `LineJoiner` find out what was probably meant,
so that a failure names the mistake instead of reporting no response. An explanation never makes such output
a response.

Only output that is not a valid response gets here, so that valid ones cost nothing.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass, replace

from inspector.base.json.values import JSON, JSONError, compact, excerpt, shorten
from inspector.base.plain_text import one_line
from inspector.base.units import size
from inspector.protocol import jsonrpc
from inspector.protocol.jsonrpc import Kind, Message, RequestId

_MAX_ANALYZED = 64 * 1024  # bytes of a line
_MAX_JOINED = 256 * 1024  # bytes of a message that is spread over lines
_MAX_MESSAGES = 100  # in one line
_MAX_ERROR = 1024 * 1024  # bytes of an error that is parsed for its text
_MAX_TEXT_LINES = 1000  # explained: a flood of log output must not slow down a call
_SERVER_BUG = "This is a server bug."
_SEPARATE = "Send each message separately, and nothing else with it."
_NETWORK_FIXES = {
    "text": "The server must send JSON-RPC messages only. Check what is behind the URL.",
    "messages-in-one-line": _SEPARATE,
    "text-before-message": _SEPARATE,
    "utf16-output": "MCP is UTF-8: fix how the server encodes its messages.",
}
_LINE_FEED = "MCP over stdio ends each message with a line feed (\\n). Fix how the server writes them."


@dataclass(frozen=True, slots=True)
class Unusable:
    """What arrived instead of a usable response.

    `what` completes “the server sent …”; `fix` are sentences. `ids` are the IDs of the requests that it
    responds to, as far as it can be told; `is_response` is False for output that may be unrelated.
    """

    id: str
    what: str
    fix: str
    ids: tuple[RequestId, ...] = ()
    is_response: bool = True

    @property
    def cause(self) -> str:
        """What arrived, as a sentence."""
        return f"The server sent {self.what}."

    def over_network(self) -> Unusable:
        """Return it with the advice for a server that is not a process: it has no lines and no stdout."""
        fix = _NETWORK_FIXES.get(self.id)
        return self if fix is None else replace(self, fix=fix)


def explain_line(message: Message) -> Unusable:
    """Explain a message of kind INVALID or TEXT."""
    raw = message.raw[:_MAX_ANALYZED]
    return (
        _explain_utf16(raw)
        or _explain_nul(raw)
        or _explain_header(raw)
        or _explain_members(message)
        or _explain_several(raw)
        or _explain_syntax(message, raw)
        or _explain_prefix(raw)
        or _explain_text(message, raw)
    )


def explain_unfinished(head: bytes) -> Unusable:
    """Explain output without a line feed, of which `head` is the beginning."""
    head = head[:_MAX_ANALYZED]
    if found := _explain_utf16(head) or _explain_nul(head):
        return found
    ids = _ids_of(_messages_in(head))
    if ids and b"\r" in head:
        return Unusable(
            "carriage-returns", "a message that ends with a carriage return (\\r) only", _LINE_FEED, ids
        )
    what = (
        "a message without a line feed at its end" if ids else f"output without a line feed: {_quoted(head)}"
    )
    return Unusable("no-line-feed", what, _LINE_FEED, ids, is_response=bool(ids))


def explain_id(response: Message, expected: RequestId | None) -> Unusable:
    """Explain a response whose ID matches no pending request; `expected` is the only pending one's."""
    id = _id_as_written(response)
    is_error = response.kind is Kind.ERROR
    kind = "an error" if is_error else "a response"
    detail = f": {_error_text(response)}" if is_error else ""
    if id is None:
        what = f"{kind} without an ID{detail}" if _lacks_id(response) else f"{kind} with the ID null{detail}"
    elif (twin := other_type(id)) is not None and twin == expected:
        what = f"{kind} with the ID {_typed(id)} instead of {_typed(twin)}{detail}"
        return Unusable("id-type", what, f"A response must repeat the ID unchanged. {_SERVER_BUG}", (twin,))
    else:
        what = f"{kind} with the ID {_shown(id)}, which no pending request has{detail}"
    wanted = "" if expected is None else f", here {compact(expected)}"
    fix = f"A response must repeat the ID of its request{wanted}. {_SERVER_BUG}"
    return Unusable("wrong-id", what, fix)


def explain_response(response: Message) -> Unusable | None:
    """Explain a response that has the ID of a pending request; None if it can be used.

    One whose value alone is not valid JSON can be used in part: a list shows its other items.
    """
    if response.problem == jsonrpc.BOTH_MEMBERS:
        what = f'a response with both "result" and "error"; the error is {_error_text(response)}'
        ids = (response.id,) if response.id is not None else ()
        return Unusable("both-members", what, f"A response has either one. {_SERVER_BUG}", ids)
    return explain_several(response)


def explain_several(message: Message) -> Unusable | None:
    """Explain a line that begins with a message and goes on; None if it does not.

    It has the kind of its first message, but its `ids` are those of all responses in it.
    """
    if not message.problem.startswith(jsonrpc.NOT_JSON):
        return None
    raw = message.raw[:_MAX_ANALYZED]
    found = _explain_nul(raw) or _explain_several(raw)
    if found is None or found.ids or message.id is None or not message.kind.is_response:
        return found
    return replace(found, ids=(message.id,), is_response=True)


def explain_empty_batch() -> Unusable:
    """Explain a batch without messages."""
    return Unusable("empty-batch", "an empty batch ([])", _SERVER_BUG)


def explain_other(message: Message) -> Unusable:
    """Explain a message that is not a response, where only a response can be."""
    if message.kind is Kind.BATCH:
        return Unusable("no-response", "a batch without the response", _SERVER_BUG)
    kind = "a request" if message.kind is Kind.REQUEST else "a notification"
    what = f"{kind} ({one_line(shorten(message.method, 60))}) instead of the response"
    return Unusable("no-response", what, _SERVER_BUG)


def explain_echo(request: Message) -> Unusable:
    """Explain a server request that is the client's own one."""
    return Unusable(
        "echo",
        "back the request itself, unchanged",
        "The program repeats its input, as a shell or `cat` does. Check the command: it may not be a server.",
        (request.id,) if request.id is not None else (),
    )


def other_type(id: JSON) -> RequestId | None:
    """Return the same ID in the other JSON type: 1 for "1" and 1.0, "1" for 1; None if there is none."""
    if isinstance(id, str):
        return int(id) if _INTEGER.fullmatch(id) is not None else None
    if isinstance(id, float):
        return int(id) if id.is_integer() else None
    return str(id) if type(id) is int else None


class LineJoiner:
    """Finds messages that are spread over several lines, as pretty-printed JSON is.

    Fed with the lines that are no messages; holds a bounded number of bytes.
    """

    def __init__(self) -> None:
        self._lines: list[bytes] = []
        self._size = 0
        self._depth = 0
        self._has_headers = False
        self._text_lines = 0

    def feed(self, message: Message) -> Unusable | None:
        """Explain a line of kind INVALID or TEXT, together with the lines before it.

        Returns None for a blank line, and after many lines of text.
        """
        found = self._join(message)
        if found is None and message.kind is Kind.TEXT:
            self._text_lines += 1
            if self._text_lines > _MAX_TEXT_LINES or not message.raw.strip():
                return None
        found = found or explain_line(message)
        if found.id == "lsp-framing":
            self._has_headers = True
        return found

    def unfinished(self, head: bytes) -> Unusable:
        """Explain output without a line feed. A message after a Content-Length header has none."""
        found = explain_unfinished(head)
        if self._has_headers and found.ids:
            return replace(_LSP, ids=found.ids, is_response=True)
        return found

    def _join(self, message: Message) -> Unusable | None:
        raw = message.raw
        if not self._lines and not (message.kind is Kind.INVALID and _begins_a_message(raw)):
            return None
        self._lines.append(raw)
        self._size += len(raw)
        self._depth += _depth_change(raw)
        if self._depth > 0 and self._size <= _MAX_JOINED:
            return _SPREAD
        lines, self._lines, self._size, self._depth = self._lines, [], 0, 0
        joined = jsonrpc.read(b"\n".join(lines))
        if joined.kind in (Kind.INVALID, Kind.TEXT):
            return None
        what = f"one message over {len(lines)} lines"
        return replace(_SPREAD, what=what, ids=_ids_of([joined]), is_response=True)


_SPREAD = Unusable(
    "json-over-lines",
    "a message over several lines",
    "In MCP each line is one message. Make the server write JSON without line breaks.",
    is_response=False,
)
_LSP = Unusable(
    "lsp-framing",
    "Content-Length headers, as language servers do",
    "MCP has one message per line, without headers. Use the server's MCP mode, or fix its transport.",
    is_response=False,
)
_UTF16 = Unusable(
    "utf16-output",
    "UTF-16 text",
    "MCP is UTF-8. Set the server's output to UTF-8 (PYTHONIOENCODING=utf-8, or the console's code page).",
    is_response=False,
)
_TYPES = {str: "a string", int: "an integer", float: "a decimal number"}
_INTEGER = re.compile(r"\s*-?[0-9]{1,18}\s*")
_HEADER = re.compile(rb"\s*content-length\s*:\s*\d+\s*$", re.IGNORECASE)
_STRING = re.compile(rb'"(?:[^"\\]|\\.)*"', re.DOTALL)
_TOKEN = re.compile(rb"""(?P<text>"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')|[\[{]|[\]}]""", re.DOTALL)
_ID_VALUE = re.compile(rb"""\s*:\s*(?:(-?\d{1,18})|"((?:[^"\\]|\\.){0,200})"|'([^'\\]{0,200})')""")


def _explain_utf16(raw: bytes) -> Unusable | None:
    """Recognize ASCII in UTF-16: every other byte is NUL. A line feed splits it at an odd place."""
    if raw.count(b"\0") * 3 < len(raw) or len(raw) < 4:
        return None
    text = raw.replace(b"\xff\xfe", b"").replace(b"\xfe\xff", b"").replace(b"\0", b"")
    if not text.isascii():
        return None
    ids = _ids_of(_messages_in(text))
    return replace(_UTF16, ids=ids, is_response=bool(ids))


def _explain_nul(raw: bytes) -> Unusable | None:
    if b"\0" not in raw:
        return None
    ids = _ids_of(_messages_in(raw.replace(b"\0", b"")))
    what = "a message with NUL bytes" if ids else "NUL bytes"
    fix = (
        "JSON has no NUL bytes: fix how the server writes its messages; in C, write the length without the 0."
    )
    return Unusable("nul-bytes", what, fix, ids, is_response=bool(ids))


def _explain_header(raw: bytes) -> Unusable | None:
    return _LSP if _HEADER.match(raw) is not None else None


def _explain_members(message: Message) -> Unusable | None:
    """Explain a JSON object with the wrong members. Without "jsonrpc" it may be a log entry."""
    body = message.parsed
    if body is None:
        return None
    id, _ = jsonrpc.read_id(body.get("id"))
    is_response = "jsonrpc" in body and id is not None
    ids = (id,) if is_response and id is not None else ()
    what = f"an object that is no response: {message.problem}"
    if not is_response:
        what = f"JSON that is not JSON-RPC: {_quoted(message.raw)}"
    return Unusable("wrong-members", what, _SERVER_BUG, ids, is_response=is_response)


def _explain_several(raw: bytes) -> Unusable | None:
    """Explain several JSON objects in one line."""
    messages = _messages_in(raw)
    if len(messages) < 2:
        return None
    ids = _ids_of(messages)
    what = f"{len(messages)} messages in one line"
    return Unusable("messages-in-one-line", what, _LINE_FEED, ids, is_response=bool(ids))


def _explain_syntax(message: Message, raw: bytes) -> Unusable | None:
    if message.kind is not Kind.INVALID or not message.problem.startswith(jsonrpc.NOT_JSON):
        return None
    id = _id_in_broken_json(raw)
    return replace(_bad_syntax(message.problem), ids=() if id is None else (id,), is_response=id is not None)


def _bad_syntax(problem: str) -> Unusable:
    reason = problem.removeprefix(jsonrpc.NOT_JSON).strip(": ")
    what = f"a message that is not valid JSON ({reason})" if reason else "a message that is not valid JSON"
    return Unusable("bad-json", what, "Write messages with a JSON library.")


def _explain_prefix(raw: bytes) -> Unusable | None:
    """Explain a response after other text, such as the prefix of a log library."""
    start = raw.find(b"{")
    ids = _ids_of(_messages_in(raw[start:])) if start > 0 else ()
    if not ids:
        return None
    what = f"text before a message in the same line: {_quoted(raw[:start])}"
    return Unusable(
        "text-before-message", what, "Each line of stdout must be one message and nothing else.", ids
    )


def _explain_text(message: Message, raw: bytes) -> Unusable:
    if message.kind is Kind.INVALID:
        return Unusable("bad-json", f"a message that is {message.problem}", _SERVER_BUG, is_response=False)
    fix = "stdout is for messages only: write logs to stderr. Check that the command starts an MCP server."
    return Unusable("text", f"text that is not JSON-RPC: {_quoted(raw)}", fix, is_response=False)


def _messages_in(raw: bytes) -> list[Message]:
    """Return the JSON objects that follow each other in a text, as messages; none if there is other text."""
    decode = json.JSONDecoder().raw_decode
    text, at = raw.decode(errors="replace").strip(), 0
    messages: list[Message] = []
    try:
        while at < len(text) and len(messages) < _MAX_MESSAGES:
            value, end = decode(text, at)
            if not isinstance(value, dict):
                return []
            messages.append(jsonrpc.read(text[at:end].encode(errors="replace")))
            at = end + len(text[end:]) - len(text[end:].lstrip())
    except (ValueError, RecursionError):
        return []
    return messages


def _begins_a_message(raw: bytes) -> bool:
    return raw.rstrip().endswith((b"{", b"[", b",")) and _depth_change(raw[:_MAX_ANALYZED]) > 0


def _depth_change(raw: bytes) -> int:
    structure = _STRING.sub(b"", raw[:_MAX_ANALYZED])
    opened = structure.count(b"{") + structure.count(b"[")
    return opened - structure.count(b"}") - structure.count(b"]")


def _id_in_broken_json(raw: bytes) -> RequestId | None:
    """Return the "id" of an object that cannot be parsed, if it also has "jsonrpc"."""
    depth, id, has_version = 0, None, False
    for token in _TOKEN.finditer(raw):
        text = token["text"]
        if text is None:
            depth += 1 if token[0] in b"{[" else -1
        elif depth == 1 and text[1:-1] == b"jsonrpc":
            has_version = True
        elif (
            depth == 1 and text[1:-1] == b"id" and id is None and (value := _ID_VALUE.match(raw, token.end()))
        ):
            id = (
                int(value[1])
                if value[1] is not None
                else (value[2] or value[3] or b"").decode(errors="replace")
            )
    return id if has_version else None


def _ids_of(messages: Iterable[Message]) -> tuple[RequestId, ...]:
    """Return the IDs of the responses among messages."""
    return tuple(message.id for message in messages if message.kind.is_response and message.id is not None)


def _id_as_written(response: Message) -> JSON:
    if response.parsed is None and response.id is not None:
        return response.id  # of a large message, which is not parsed for this
    try:
        return response.body().get("id")
    except JSONError:
        return response.id


def _lacks_id(response: Message) -> bool:
    try:
        return "id" not in response.body()
    except JSONError:
        return False


def _error_text(response: Message) -> str:
    if len(response.raw) > _MAX_ERROR:
        return f"an error object of {size(len(response.raw))}"
    try:
        return jsonrpc.error_of(response).line(200)
    except JSONError:
        return "it cannot be read"


def _typed(id: JSON) -> str:
    return f"{_shown(id)} ({_TYPES.get(type(id), 'a number')})"


def _shown(id: JSON) -> str:
    return one_line(shorten(compact(id), 60)) if isinstance(id, str) else one_line(excerpt(id, 60))


def _quoted(raw: bytes) -> str:
    return f"“{shorten(one_line(raw[:300].decode(errors='replace')).strip(), 120)}”"

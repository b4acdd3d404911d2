"""JSON-RPC 2.0 messages in MCP: tolerant reader, writer, correlation of responses.

`read` never raises. Any input becomes a `Message` with its raw bytes: an error that leaves the message
usable is in `problem`; what is no message becomes kind INVALID (looks like JSON) or TEXT (does not).

Messages up to 64 KiB are parsed on arrival, so their errors are known at once. Of larger ones only the
envelope (the members around the big value) is scanned; they are parsed when the value is needed, so that
a 50 MB result costs nothing on arrival.

`Correlator` distinguishes ids by JSON type (`1` is not `"1"`) and remembers the latest finished requests,
to tell duplicate and late responses from unexpected ones.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from enum import Enum, IntEnum
from typing import Generic, NamedTuple, NoReturn, TypeAlias, TypeVar

from inspector.base.errors import LensError
from inspector.base.json.values import (
    JSON,
    JSONError,
    JSONObject,
    check_depth,
    has_fraction,
    parse,
    shorten,
    to_wire,
)
from inspector.base.plain_text import one_line

RequestId: TypeAlias = int | str
EAGER_PARSE_LIMIT = 64 * 1024  # bytes; larger messages are parsed when needed
NOT_A_MESSAGE = "not a JSON-RPC message"
# Problems that `protocol.unusable` explains.
NOT_JSON = "not valid JSON"
_NULL_RESULT = '"result" must be absent from an error'
BOTH_MEMBERS = 'a response must have either "result" or "error", not both'
# Error codes of JSON-RPC 2.0 (section 5.1).
PARSE_ERROR = -32700
INVALID_REQUEST = -32600
METHOD_NOT_FOUND = -32601
INVALID_PARAMS = -32602
INTERNAL_ERROR = -32603
# Error codes of MCP.
USER_REJECTED = -1  # sent by clients only, until 2025-11-25: Sampling, "Error Handling"
RESOURCE_NOT_FOUND = -32002  # until 2025-11-25
URL_ELICITATION_REQUIRED = -32042  # 2025-11-25 only
HEADER_MISMATCH = -32020  # this and the following: since 2026-07-28
MISSING_CLIENT_CAPABILITY = -32021
UNSUPPORTED_VERSION = -32022

ERROR_NAMES = {
    PARSE_ERROR: "parse error",
    INVALID_REQUEST: "invalid request",
    METHOD_NOT_FOUND: "method not found",
    INVALID_PARAMS: "invalid params",
    INTERNAL_ERROR: "internal error",
    RESOURCE_NOT_FOUND: "resource not found",
    HEADER_MISMATCH: "header mismatch",
    MISSING_CLIENT_CAPABILITY: "missing required client capability",
    UNSUPPORTED_VERSION: "unsupported protocol version",
    URL_ELICITATION_REQUIRED: "URL elicitation required",
}
_ERROR_NEXT_STEPS = {
    PARSE_ERROR: "The server could not parse the request: check its log.",
    INVALID_REQUEST: "The server rejects this kind of request: check its protocol versions and its log.",
    METHOD_NOT_FOUND: "Check the name of the method, and which capabilities the server declares.",
    INVALID_PARAMS: "Check the names and the arguments that were sent.",
    INTERNAL_ERROR: "This is a fault inside the server: check its log.",
    RESOURCE_NOT_FOUND: "Check the URI, and refresh the list.",
    HEADER_MISMATCH: "Check the headers of the request, and whether a proxy changes them.",
    MISSING_CLIENT_CAPABILITY: "Declare the capability that it requires on the Client tab, then try again.",
    UNSUPPORTED_VERSION: "Pin a protocol version that the server supports.",
    URL_ELICITATION_REQUIRED: "Complete the URL elicitations in the data of the error, then try again.",
}
_OTHER_ERROR_NEXT_STEP = "The server defines this error: check its message, its data and the server's log."


class Kind(IntEnum):
    """Kind of a message. The numbers are stored in captures: never renumber."""

    REQUEST = 1
    NOTIFICATION = 2
    RESULT = 3
    ERROR = 4
    BATCH = 5
    INVALID = 6
    TEXT = 7

    @property
    def is_response(self) -> bool:
        return self in (Kind.RESULT, Kind.ERROR)


class Message(NamedTuple):
    """A raw message and its envelope.

    A named tuple, which is created three times as fast as a frozen dataclass, and one is created per
    message.
    """

    kind: Kind
    raw: bytes
    method: str = ""
    id: RequestId | None = None
    problem: str = ""
    parsed: JSONObject | None = None

    def body(self) -> JSONObject:
        """Return the whole message as an object, parsing it if that was not done on arrival.

        Raises JSONError if it cannot be parsed.
        """
        if self.parsed is not None:
            return self.parsed
        text, _ = _decode(self.raw)
        value = parse(text)
        if not isinstance(value, dict):
            raise JSONError("not a JSON object")
        return value

    @property
    def params(self) -> JSONObject:
        """`params` as an object; empty if absent or of the wrong type."""
        return _object(self.body().get("params"))

    @property
    def result(self) -> JSONObject:
        """`result` as an object; empty if of the wrong type (see `problem`)."""
        return _object(self.body().get("result"))

    def items(self) -> list[Message]:
        """Return the messages of a BATCH. Their `raw` is re-serialized; the batch has the original."""
        text, _ = _decode(self.raw)
        value = parse(text)
        return [_from_value(item, to_wire(item)) for item in value] if isinstance(value, list) else []


def with_exact_numbers(response: Message) -> Message:
    """Parse a response again if it may have fractions: its numbers keep their spelling."""
    if response.parsed is None or not has_fraction(response.raw):
        return response
    try:
        body = parse(response.raw.decode(errors="replace"), exact=True)
    except JSONError:  # a byte order mark, say: what was parsed is good enough
        return response
    return response._replace(parsed=body) if isinstance(body, dict) else response


def items_of(message: Message) -> list[Message]:
    """Return the messages of a batch, as far as it can be parsed, or the message itself."""
    if message.kind is not Kind.BATCH:
        return [message]
    try:
        return message.items()
    except JSONError:
        return []


def error_code_text(code: int | None, *, from_client: bool = False) -> str:
    """Return an error code with its name: -32602 (invalid params). Codes of applications have no name.

    `from_client`: the error is a reply to a server request, where MCP uses -1 for a rejection by the user.
    """
    if code is None:
        return "no error code"
    name = "user rejected" if from_client and code == USER_REJECTED else error_name(code)
    return f"{code} ({name})" if name else str(code)


def error_text(code: int | None, message: str) -> str:
    """Return the code with its name, and the message: -32602 (invalid params): Unknown tool."""
    return f"{message} (no error code)" if code is None else f"{error_code_text(code)}: {message}"


def error_name(code: int) -> str:
    """Return the name of a code or of its reserved range (JSON-RPC 2.0, section 5.1); "" if it has none."""
    if code in ERROR_NAMES:
        return ERROR_NAMES[code]
    if -32099 <= code <= -32000:
        return "server error"
    return "reserved by JSON-RPC" if -32768 <= code < -32099 else ""


class ErrorObject(NamedTuple):
    """The `error` member of a response. `code` is None if it is absent or no integer."""

    code: int | None
    message: str
    data: JSON = None

    @property
    def text(self) -> str:
        """The code with its name, and the message."""
        return error_text(self.code, self.message)

    @property
    def code_text(self) -> str:
        return error_code_text(self.code)

    def line(self, length: int) -> str:
        """Return `text` on one line, the message cut to `length`, without a full stop at its end."""
        return error_text(self.code, shorten(one_line(self.message), length).rstrip("."))


class RpcError(LensError):
    """The peer responded with a JSON-RPC error object; `code` is None if it has none that is valid."""

    def __init__(self, code: int | None, message: str, data: JSON = None) -> None:
        super().__init__(error_text(code, message))
        self.code = code
        self.message = message
        self.data = data
        self.next_step = _ERROR_NEXT_STEPS.get(code or 0, _OTHER_ERROR_NEXT_STEP)


def error_of(response: Message) -> ErrorObject:
    """Read the error of a response of kind ERROR. A string, which is not valid, counts as its message."""
    value = response.body().get("error")
    error = _object(value)
    code, message = error.get("code"), value if isinstance(value, str) else error.get("message")
    return ErrorObject(
        code if type(code) is int else None,
        message if isinstance(message, str) and message else "The server gave no error message",
        error.get("data"),
    )


def request(id: RequestId, method: str, params: JSONObject | None = None) -> Message:
    body: JSONObject = {"jsonrpc": "2.0", "id": id, "method": method}
    if params is not None:
        body["params"] = params
    return Message(Kind.REQUEST, to_wire(body), method, id, parsed=body)


def notification(method: str, params: JSONObject | None = None) -> Message:
    body: JSONObject = {"jsonrpc": "2.0", "method": method}
    if params is not None:
        body["params"] = params
    return Message(Kind.NOTIFICATION, to_wire(body), method, parsed=body)


def result(id: RequestId, value: JSONObject) -> Message:
    body: JSONObject = {"jsonrpc": "2.0", "id": id, "result": value}
    return Message(Kind.RESULT, to_wire(body), id=id, parsed=body)


def failure(id: RequestId, code: int, message: str, data: JSON = None) -> Message:
    error: JSONObject = {"code": code, "message": message}
    if data is not None:
        error["data"] = data
    body: JSONObject = {"jsonrpc": "2.0", "id": id, "error": error}
    return Message(Kind.ERROR, to_wire(body), id=id, parsed=body)


def read(raw: bytes) -> Message:
    """Classify a message. Never raises."""
    if len(raw) > EAGER_PARSE_LIMIT:
        return _scan(raw) or _parse(raw)
    return _read_plain(raw) or _parse(raw)


_RESULT, _ID_TYPES = Kind.RESULT, (int, str)


def _reject_constant(name: str) -> NoReturn:
    raise ValueError(name)


# Decodes at an offset; `parse` also checks the rest. NaN and Infinity are left to `_parse`.
_decode_value = json.JSONDecoder(parse_constant=_reject_constant).raw_decode


def _read_plain(raw: bytes) -> Message | None:
    """Fast path for nearly every message: one object with nothing around it.

    Takes 3.2 µs where `_parse` takes 4.7; returns None for everything else.
    """
    try:
        text = raw.decode()
        check_depth(text)
        value, end = _decode_value(text)
    except (ValueError, RecursionError):
        return None
    if end != len(text) or type(value) is not dict:
        return None
    id, result = value.get("id"), value.get("result")
    if type(result) is dict and len(value) == 3 and value.get("jsonrpc") == "2.0" and type(id) in _ID_TYPES:
        return Message(_RESULT, raw, "", id, "", value)
    return _from_value(value, raw)


def _parse(raw: bytes) -> Message:
    text, damage = _decode(raw)
    try:
        value = parse(text)
    except JSONError as exc:
        scanned = _scan(raw)
        reason = str(exc) if exc.is_too_deep else f"{NOT_JSON}: {exc}"
        return _with_problem(scanned, reason) if scanned else _unreadable(raw, reason)
    damage = damage or constant_problem(raw)
    if type(value) is list:
        return Message(Kind.BATCH, raw, problem=damage or ("" if value else "an empty batch"))
    message = _from_value(value, raw)
    return _with_problem(message, damage) if damage else message


def _decode(raw: bytes) -> tuple[str, str]:
    """Decode UTF-8. Invalid bytes are replaced, a byte order mark is dropped; both are reported."""
    try:
        text, damage = raw.decode(), ""
    except UnicodeDecodeError as exc:
        text, damage = raw.decode(errors="replace"), f"not valid UTF-8 at byte {exc.start}"
    if text.startswith("\ufeff"):
        return text[1:], damage or "starts with a byte order mark"
    return text, damage


_CONSTANT = re.compile(rb"[:\[,\s-](?:NaN|Infinity)\s*[,\]}]")
_MAX_CONSTANT_SEARCH = 16 * 1024 * 1024  # bytes: the search needs the whole message parsed


def may_have_constants(raw: bytes) -> bool:
    """True if a message may contain NaN or Infinity as a value, or in a string."""
    return len(raw) <= _MAX_CONSTANT_SEARCH and _CONSTANT.search(raw) is not None


def constant_problem(raw: bytes) -> str:
    """Return the finding about NaN or Infinity outside a string, in a message that can be parsed."""
    if b"NaN" not in raw and b"Infinity" not in raw:
        return ""
    found: list[str] = []
    json.JSONDecoder(parse_constant=found.append).decode(_decode(raw)[0])
    return f"it contains {found[0]}, which is not JSON" if found else ""


def _unreadable(raw: bytes, reason: str) -> Message:
    if raw.lstrip()[:1] in (b"{", b"["):
        return Message(Kind.INVALID, raw, problem=reason)
    return Message(Kind.TEXT, raw, problem=NOT_A_MESSAGE if raw.strip() else "a blank line")


def _from_value(value: JSON, raw: bytes) -> Message:
    if type(value) is not dict:
        return _not_an_object(value, raw)
    kind, id, method, problem = _envelope(value)
    # Positional for speed: runs for every message of a flood.
    return Message(kind, raw, method, id, problem, value)


def _not_an_object(value: JSON, raw: bytes) -> Message:
    """Classify other JSON: a bare number or word is valid JSON, but more likely printed text."""
    kind = Kind.INVALID if isinstance(value, list) else Kind.TEXT
    return Message(kind, raw, problem=f"{NOT_A_MESSAGE}: it must be an object")


def _envelope(body: JSONObject) -> tuple[Kind, RequestId | None, str, str]:
    problem = "" if body.get("jsonrpc") == "2.0" else '"jsonrpc" must be "2.0"'
    method = body.get("method")
    if type(method) is str:
        if "id" not in body:
            return Kind.NOTIFICATION, None, method, problem or _params_problem(body)
        if "result" in body or "error" in body:
            return Kind.INVALID, None, "", 'it has "method" and also "result" or "error"'
        id, id_problem = read_id(body["id"])
        return Kind.REQUEST, id, method, problem or id_problem or _params_problem(body)
    if "method" in body:
        return Kind.INVALID, None, "", problem or '"method" must be a string'
    return _response_envelope(body, problem)


def _response_envelope(body: JSONObject, problem: str) -> tuple[Kind, RequestId | None, str, str]:
    if "error" not in body and "result" not in body:
        return Kind.INVALID, None, "", problem or 'it has neither "method" nor "result" nor "error"'
    id, id_problem = read_id(body.get("id"))
    # Some JSON-RPC libraries write both members, the unused one as null.
    if "error" in body and not (body["error"] is None and "result" in body):
        both = "" if "result" not in body else BOTH_MEMBERS if body["result"] is not None else _NULL_RESULT
        wrong = "" if _is_error_object(body["error"]) else '"error" must be an object with code and message'
        return Kind.ERROR, id, "", problem or both or id_problem or wrong
    wrong = "" if isinstance(body["result"], dict) else '"result" must be an object'
    both = '"error" must be absent from a result' if "error" in body else ""
    return Kind.RESULT, id, "", problem or id_problem or wrong or both


def _is_error_object(value: JSON) -> bool:
    if not isinstance(value, dict):
        return False
    return type(value.get("code")) is int and isinstance(value.get("message"), str)


def _params_problem(body: JSONObject) -> str:
    return "" if isinstance(body.get("params", {}), dict) else '"params" must be an object'


def read_id(value: JSON) -> tuple[RequestId | None, str]:
    """Return a request id or progress token, and what is wrong with it."""
    # `type` instead of `isinstance`: True is an int in Python, but not a valid id.
    if type(value) is int or type(value) is str:
        return value, ""
    return None, '"id" must be a string or an integer'


def _object(value: JSON) -> JSONObject:
    return value if isinstance(value, dict) else {}


def _with_problem(message: Message, problem: str) -> Message:
    return Message(message.kind, message.raw, message.method, message.id, problem, message.parsed)


_SCALAR = rb'(?:"(?:[^"\\]|\\.){0,1000}"|-?\d{1,30}|null)'
_HEAD_MEMBER = re.compile(rb'\s*"(\w{1,20})"\s*:\s*(' + _SCALAR + rb")\s*,")
_NEXT_KEY = re.compile(rb'\s*"(\w{1,20})"\s*:\s*([\[{])')
_TAIL = re.compile(rb'[\]}]((?:\s*,\s*"\w{1,20}"\s*:\s*' + _SCALAR + rb")*)\s*\}\s*$")
# Stand-ins for the big value, which is not parsed, by first byte. The object is a valid error.
_STAND_INS: dict[bytes, JSON] = {b"{": {"code": 0, "message": ""}, b"[": []}
_TAIL_MEMBER = re.compile(rb',\s*"(\w{1,20})"\s*:\s*(' + _SCALAR + rb")")


def read_overlong(head: bytes, size: int) -> Message:
    """Classify a message of which only the beginning was kept."""
    problem = f"a line of {size:,} bytes exceeds the limit; only its first {len(head):,} bytes were read"
    members = _scan_head(head)[0]
    if members is None or "id" not in members:
        return Message(Kind.INVALID, head, problem=problem)
    kind, id, method, _ = _envelope(members)
    return Message(kind, head, method, id, problem)


def _scan(raw: bytes) -> Message | None:
    """Read the scalar members before and after the one big member of an object.

    All results and notifications written by SDKs have that shape. None for any other, so that nothing is
    claimed that was not seen. (One shape fools it: a request whose id comes after `params` and before
    another object is read as a notification.)
    """
    members, start = _scan_head(raw)
    # Only the last bytes are searched. In valid JSON the last brace closes the message itself, so the
    # scalar members right before it belong to the message.
    tail = _TAIL.search(raw, max(start, len(raw) - 4096))
    if members is None or tail is None:
        return None
    for name, text in _TAIL_MEMBER.findall(tail[1]):
        members[name.decode()] = _scalar(text)
    kind, id, method, problem = _envelope(members)
    return Message(kind, raw, method, id, problem) if _is_complete(kind, id, members) else None


def _is_complete(kind: Kind, id: RequestId | None, members: JSONObject) -> bool:
    """True if enough was seen. There may be more members between the big one and the tail."""
    if kind is Kind.NOTIFICATION:
        return "jsonrpc" in members and "params" in members
    return "jsonrpc" in members and kind is not Kind.INVALID and id is not None


def _scan_head(raw: bytes) -> tuple[JSONObject | None, int]:
    """Return the members up to the first array or object, and where its value begins.

    That one gets a stand-in value. Members are None if the message has another shape.
    """
    start = raw.find(b"{", 0, 64) + 1
    if not start or raw[: start - 1].strip():
        return None, 0
    members: JSONObject = {}
    while match := _HEAD_MEMBER.match(raw, start):
        members[match[1].decode()] = _scalar(match[2])
        start = match.end()
    big = _NEXT_KEY.match(raw, start)
    if big is None:
        return None, start
    members[big[1].decode()] = _STAND_INS[big[2]]
    return members, big.end()


def _scalar(text: bytes) -> JSON:
    try:
        return parse(text.decode())
    except (JSONError, UnicodeDecodeError):
        return None


T = TypeVar("T")
_MAX_FINISHED = 1000  # the latest 500 at least


class Match(Enum):
    """What a response's id matched."""

    OPEN = "response to a pending request"
    REPEATED = "second response to the same request"
    LATE = "response to a cancelled or timed-out request"
    UNKNOWN = "response without a matching request"


# Looked up once: accessing an enum member takes 0.1 µs, and this runs several times for every call.
_OPEN, _REPEATED, _LATE = Match.OPEN, Match.REPEATED, Match.LATE


class Correlator(Generic[T]):
    """Open requests by id, each with an item of the caller."""

    def __init__(self) -> None:
        self._open: dict[RequestId, T] = {}
        self._finished: dict[RequestId, tuple[Match, T]] = {}

    def __len__(self) -> int:
        return len(self._open)

    def open(self, id: RequestId, item: T) -> bool:
        """Add a request. False if it replaced an open one with the same id."""
        is_new = id not in self._open
        self._open[id] = item
        self._finished.pop(id, None)
        return is_new

    def resolve(self, id: RequestId) -> tuple[Match, T | None]:
        """Match a response with its request."""
        item = self._open.pop(id, None)
        if item is not None:
            self._remember(id, _REPEATED, item)
            return _OPEN, item
        return self._finished.get(id, (Match.UNKNOWN, None))

    def abandon(self, id: RequestId) -> T | None:
        """Stop waiting for a request; a response that still comes is LATE."""
        item = self._open.pop(id, None)
        if item is not None:
            self._remember(id, _LATE, item)
        return item

    def find(self, id: RequestId) -> T | None:
        return self._open.get(id)

    def only(self) -> T | None:
        """Return the open request if there is exactly one."""
        return next(iter(self._open.values())) if len(self._open) == 1 else None

    def has_finished(
        self, match: Match, after: int = 0, where: Callable[[T], bool] = lambda item: True
    ) -> bool:
        """True if a request that matches so, with an integer ID above `after`, is among the finished ones."""
        return any(
            found is match and type(id) is int and id > after and where(item)
            for id, (found, item) in self._finished.items()
        )

    def drain(self) -> list[T]:
        """Remove and return all open requests: the connection has ended."""
        items = list(self._open.values())
        self._open.clear()
        return items

    def _remember(self, id: RequestId, match: Match, item: T) -> None:
        """Remember a finished request; drop the oldest half now and then, not one each time."""
        finished = self._finished
        finished[id] = (match, item)
        if len(finished) > _MAX_FINISHED:
            for old in list(finished)[: _MAX_FINISHED // 2]:
                del finished[old]

"""Rules of Streamable HTTP: headers, status codes, redirects, `x-mcp-header`. No I/O.

In the handshake era, headers name the session and version of a message. In the stateless era they mirror
parts of the body, so that a gateway can route without parsing it; a server must reject a request whose
headers and body differ. Headers are therefore always derived from the message.

A property of a tool's input schema with `"x-mcp-header": "Region"` is also sent as `Mcp-Param-Region`.
One invalid annotation makes the whole tool unusable over HTTP: "clients MUST exclude the invalid tool
from the result of tools/list".
"""

from __future__ import annotations

import base64
import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from typing import TypeAlias
from urllib.parse import SplitResult, urljoin, urlsplit, urlunsplit

from inspector.base.errors import FailureKind, HttpRefused, NeedsLogin
from inspector.base.json.values import JSON, JSONError, JSONObject, excerpt, shorten, write_number
from inspector.base.plain_text import one_line
from inspector.protocol import jsonrpc
from inspector.protocol.handshake import PROTOCOL_VERSION_KEY
from inspector.protocol.jsonrpc import (
    HEADER_MISMATCH,
    METHOD_NOT_FOUND,
    MISSING_CLIENT_CAPABILITY,
    UNSUPPORTED_VERSION,
    ErrorObject,
    Kind,
    Message,
    error_of,
)
from inspector.protocol.revisions import Era, Revision

Headers: TypeAlias = tuple[tuple[str, str], ...]

VERSION_HEADER = "MCP-Protocol-Version"
METHOD_HEADER = "Mcp-Method"
NAME_HEADER = "Mcp-Name"
SESSION_HEADER = "Mcp-Session-Id"

MODERN_ERRORS = frozenset({HEADER_MISMATCH, MISSING_CLIENT_CAPABILITY, UNSUPPORTED_VERSION})

# The member of `params` mirrored as Mcp-Name. The last three are from the Tasks extension.
_NAME_MEMBERS = {
    "tools/call": "name",
    "prompts/get": "name",
    "resources/read": "uri",
    "tasks/get": "taskId",
    "tasks/update": "taskId",
    "tasks/cancel": "taskId",
}


def standard_headers(
    message: Message | None, revision: Revision | None = None, session_id: str = ""
) -> Headers:
    """Return the headers of a message; with None, of a GET or DELETE in the handshake era.

    `revision` is what the message is sent under: the negotiated version, or the one that a probe tries.
    None before negotiation.
    """
    # An initialize starts over: a legacy server must reject an unknown version header, so the probe's must
    # not leak onto it, nor the id of a lost session.
    if message is not None and message.method == "initialize":
        return ()
    if revision is None or revision.era is Era.SESSION:
        return _session_headers(revision, session_id)
    return () if message is None else _mirrored_headers(message, revision)


def _session_headers(revision: Revision | None, session_id: str) -> Headers:
    version = revision.date if revision is not None else ""
    return _present((SESSION_HEADER, session_id), (VERSION_HEADER, version))


def _mirrored_headers(message: Message, revision: Revision) -> Headers:
    params = _params(message)
    meta = params.get("_meta")
    version = meta.get(PROTOCOL_VERSION_KEY) if isinstance(meta, dict) else None
    name = params.get(_NAME_MEMBERS.get(message.method, ""))
    headers = _present(
        # The body may deliberately state a different version than the negotiated one.
        (VERSION_HEADER, version if isinstance(version, str) else revision.date),
        (METHOD_HEADER, message.method),
    )
    return (*headers, (NAME_HEADER, encode_header_value(name))) if isinstance(name, str) else headers


def _params(message: Message) -> JSONObject:
    try:
        return message.params
    except JSONError:  # handwritten, to see how the server reacts
        return {}


def merge_headers(headers: Headers, own: Headers) -> Headers:
    """Merge headers; `own` overrides headers of the same name."""
    if not headers or not own:
        return headers or own
    names = {name.lower() for name, _ in own}
    return (*(pair for pair in headers if pair[0].lower() not in names), *own)


def _present(*headers: tuple[str, str]) -> Headers:
    """Return headers with a value. There is no encoding for these: invalid values are dropped."""
    return tuple((name, value) for name, value in headers if value and _PLAIN_VALUE.fullmatch(value))


def is_visible_ascii(text: str) -> bool:
    """True if a session ID is valid: characters from 0x21 to 0x7E only."""
    return _VISIBLE_ASCII.fullmatch(text) is not None


_VISIBLE_ASCII = re.compile(r"[\x21-\x7e]+")
_PLAIN_VALUE = re.compile(r"[\x21-\x7e]([\x20-\x7e]*[\x21-\x7e])?")
_ENCODED_VALUE = re.compile(r"=\?base64\?.*\?=")
_SURROGATE = re.compile("[\ud800-\udfff]")


def encode_header_value(text: str) -> str:
    """Encode a value of `Mcp-Name` or `Mcp-Param-*`: as is if safe, else in Base64.

    A tab is legal in HTTP, but encoded anyway: servers of both official SDKs expect that.
    """
    if not text or (_PLAIN_VALUE.fullmatch(text) and not _ENCODED_VALUE.fullmatch(text)):
        return text
    # UTF-8 has no lone surrogates; JavaScript's encoder writes U+FFFD for one.
    data = _SURROGATE.sub("\ufffd", text).encode()
    return f"=?base64?{base64.b64encode(data).decode('ascii')}?="


def header_text(value: JSON) -> str | None:
    """Return a value as header text, not encoded yet; None if there is nothing to send."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return write_number(value)
    return None


class StatusMeaning(Enum):
    """What an HTTP status means for the posted message."""

    BODY = "the body carries the messages"
    ACCEPTED = "accepted; there is nothing to read"
    UNANSWERED = "a request was accepted like a notification: it will never get a response"
    REDIRECT = "redirected"
    LOGIN = "login required"
    FORBIDDEN = "origin or credentials rejected"
    SESSION_LOST = "the session is lost: start a new one, without its id"
    REFUSED = "rejected"
    OUTAGE = "the server, or a proxy in front of it, failed"


def status_meaning(status: int, message: Message, *, has_session: bool = False) -> StatusMeaning:
    """Interpret a status. `has_session` says whether the request had a session id."""
    if status < 300:
        return _success(status, message)
    if status < 400:
        return StatusMeaning.REDIRECT
    if status == 404 and has_session:
        return StatusMeaning.SESSION_LOST
    special = {401: StatusMeaning.LOGIN, 403: StatusMeaning.FORBIDDEN}
    return special.get(status, StatusMeaning.REFUSED if status < 500 else StatusMeaning.OUTAGE)


def _success(status: int, message: Message) -> StatusMeaning:
    if message.kind is not Kind.REQUEST:
        return StatusMeaning.ACCEPTED
    return StatusMeaning.UNANSWERED if status in (202, 204, 205) else StatusMeaning.BODY


def may_respond(meaning: StatusMeaning, message: Message) -> bool:
    """True if a JSON-RPC message in the body is the response, regardless of the status.

    Not for an outage during a probe: that says nothing about the server's era.
    """
    if meaning is StatusMeaning.OUTAGE:
        return message.method != "server/discover"
    return meaning in (StatusMeaning.BODY, StatusMeaning.UNANSWERED, StatusMeaning.REFUSED)


def refusal(
    status: int,
    message: Message,
    body: bytes = b"",
    *,
    has_session: bool = False,
    retry_after: str = "",
) -> HttpRefused | NeedsLogin:
    """Return the error for a response without a message to deliver.

    `retry_after` is the value of that header.
    """
    meaning = status_meaning(status, message, has_session=has_session)
    if meaning is StatusMeaning.LOGIN:
        return NeedsLogin(
            "The server requires login (HTTP 401).", "Add an Authorization header to the server's settings."
        )
    what = message_name(message)
    text = shorten(one_line(body[:600].decode(errors="replace")).strip(), 200)
    reported = f": {text.removesuffix('.')}" if text else ""
    if meaning is StatusMeaning.BODY and not text:
        reported = " and an empty body"
    summary = _SUMMARIES.get(meaning, f"The server responded to {what} with HTTP {status}{reported}.")
    summary = summary.replace("{status}", str(status))
    next_step = retry_text(retry_after) or _next_step(meaning, status, message)
    kind = FailureKind.SESSION_LOST if meaning is StatusMeaning.SESSION_LOST else FailureKind.OTHER
    return HttpRefused(summary, next_step, status, body, kind=kind)


def retry_text(retry_after: str) -> str:
    """Return a Retry-After header as a sentence, "" without one (RFC 9110: seconds, or a date)."""
    when = shorten(one_line(retry_after).strip(), 60)
    if not when:
        return ""
    return f"The server asks to retry after {f'{when} s' if when.isdecimal() else when}."


def message_name(message: Message) -> str:
    """Return what was posted, for a sentence."""
    return message.method or (
        "a response from MCP Lens" if message.kind.is_response else _NAMES.get(message.kind, "it")
    )


def operation_of(message: Message) -> str:
    """Return the method and its target: a server may require more scopes for one tool."""
    name = _params(message).get(_NAME_MEMBERS.get(message.method, ""))
    return f"{message.method} {name}" if isinstance(name, str) else message_name(message)


_NAMES = {
    Kind.BATCH: "the batch",
    Kind.INVALID: "the invalid message",
    Kind.TEXT: "the invalid message",
}
_SUMMARIES = {
    StatusMeaning.SESSION_LOST: "The server no longer recognizes this session (HTTP 404).",
    StatusMeaning.UNANSWERED: (
        "The server accepted the request like a notification (HTTP {status}) and will not respond to it."
    ),
}
_NEXT_STEPS = {
    StatusMeaning.SESSION_LOST: "Reconnect to start a new session.",
    StatusMeaning.UNANSWERED: "This is a bug in the server: every request must get a response.",
    StatusMeaning.REDIRECT: (
        "Only redirects to the same host that keep the method are followed. Check the URL."
    ),
    StatusMeaning.FORBIDDEN: (
        "The server rejects this origin or these credentials. Check the server's settings."
    ),
    StatusMeaning.OUTAGE: "The server, or a proxy in front of it, failed. Try again later.",
}


def _next_step(meaning: StatusMeaning, status: int, message: Message) -> str:
    if meaning is StatusMeaning.BODY:
        return no_message_step(message, "This is a server bug: the response must be a message.")
    if status == 429:
        return "The server limits how many requests it accepts. Wait, then try again."
    if status == 404 and meaning is StatusMeaning.REFUSED:
        return "Check the path of the server URL; many servers use /mcp."
    if status == 405:
        return "The URL does not accept POST: it may be a server with the old HTTP+SSE transport."
    return _NEXT_STEPS.get(meaning, "The complete response is in the Traffic view.")


def no_message_step(posted: Message, otherwise: str) -> str:
    """Return what to do about a successful response without a message.

    The URL is in doubt only until the server has responded to a request: `otherwise` applies later.
    """
    is_first = posted.method in ("initialize", "server/discover")
    return "Check that this is the URL of an MCP endpoint." if is_first else otherwise


def error_in(body: bytes) -> ErrorObject | None:
    """Return the JSON-RPC error in a body, if any."""
    message = jsonrpc.read(body)
    try:
        return error_of(message) if message.kind is Kind.ERROR else None
    except JSONError:
        return None


def suggests_http_sse(status: int, body: bytes = b"") -> bool:
    """True if a POST was rejected like an old HTTP+SSE server does: try a GET of the same URL."""
    error = error_in(body)
    is_modern = error is not None and error.code in MODERN_ERRORS | {METHOD_NOT_FOUND}
    return status in (400, 404, 405) and not is_modern


_KEEPS_EVERY_METHOD = (307, 308)
_KEEPS_GET = (301, 302, 303, *_KEEPS_EVERY_METHOD)


def redirect_target(
    url: str, location: str, method: str, status: int = 308, *, allows_upgrade: bool = False
) -> str | None:
    """Return where to repeat the request; None if the redirect must not be followed.

    Only the same origin, so that credentials go nowhere else, and only if the method stays the same: a POST
    turned into a GET is a different request. With `allows_upgrade` also from http to https, for requests
    without credentials: the same host and path, now safe from eavesdropping and tampering.
    """
    if status not in (_KEEPS_GET if method == "GET" else _KEEPS_EVERY_METHOD) or not location:
        return None
    try:
        target = urlsplit(urljoin(url, location))
        source = urlsplit(url)
        is_upgrade = allows_upgrade and _is_https_upgrade(source, target)
        if target.username is not None or not (is_upgrade or _origin(target) == _origin(source)):
            return None
    except ValueError:  # not a URL, or an invalid port
        return None
    return urlunsplit(target._replace(fragment=""))


def _is_https_upgrade(source: SplitResult, target: SplitResult) -> bool:
    """True if it is the same URL over https. Other ports may be other servers."""
    is_plain = _origin(source)[::2] == ("http", 80) and _origin(target)[::2] == ("https", 443)
    is_same = (source.hostname, source.path, source.query) == (target.hostname, target.path, target.query)
    return is_plain and is_same


def _origin(url: SplitResult) -> tuple[str, str | None, int | None]:
    return url.scheme, url.hostname, url.port or {"http": 80, "https": 443}.get(url.scheme)


ANNOTATION = "x-mcp-header"

_TOKEN = re.compile(r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+")  # RFC 9110, section 5.6.2
_TYPES = ("string", "integer", "boolean")

# Keywords whose values are schemas, by the shape of the value. Values that are data (`default`, `examples`,
# `enum`, `const`) are skipped, and references are not followed.
_ARRAY_SCHEMAS = ("items", "additionalItems", "unevaluatedItems", "contains")
_OBJECT_SCHEMAS = ("additionalProperties", "unevaluatedProperties", "propertyNames")
_ONE_SCHEMA = frozenset((*_ARRAY_SCHEMAS, *_OBJECT_SCHEMAS, "not", "if", "then", "else", "contentSchema"))
_LISTS_OF_SCHEMAS = frozenset(("allOf", "anyOf", "oneOf", "prefixItems", "items"))
_MAPS_OF_SCHEMAS = frozenset(
    ("$defs", "definitions", "patternProperties", "dependentSchemas", "dependencies")
)

PropertyPath: TypeAlias = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ParamHeaders:
    """The mirrored arguments of a tool: header names, each with the path to its value."""

    paths: tuple[tuple[str, PropertyPath], ...] = ()

    def headers_for(self, arguments: JSONObject) -> Headers:
        """Return the headers of a call. Absent, null and non-scalar values have none."""
        found = ((name, header_text(_value_at(path, arguments))) for name, path in self.paths)
        return tuple((name, encode_header_value(text)) for name, text in found if text is not None)


def read_param_headers(schema: JSON) -> ParamHeaders | str:
    """Read the annotations of an input schema; a string is why the tool must be dropped."""
    paths: dict[str, tuple[str, PropertyPath]] = {}
    for path, position in _positions(schema):
        if ANNOTATION not in position:
            continue
        name = position[ANNOTATION]
        problem = _problem(path, position, name)
        if problem or path is None or not isinstance(name, str):
            return problem
        if name.lower() in paths:
            return f"{_where(path)}: {ANNOTATION} “{name}” is used twice; header names are case-insensitive"
        paths[name.lower()] = (f"Mcp-Param-{name}", path)
    return ParamHeaders(tuple(paths.values()))


def _problem(path: PropertyPath | None, position: JSONObject, name: JSON) -> str:
    if not path:
        return (
            f"{ANNOTATION} is only allowed on properties that are reachable from the schema root through "
            "“properties” alone"
        )
    if not isinstance(name, str):
        return f"{_where(path)}: {ANNOTATION} must be a string"
    if not name:
        return f"{_where(path)}: {ANNOTATION} is empty"
    if not _TOKEN.fullmatch(name):
        return (
            f"{_where(path)}: {ANNOTATION} “{_shown(name)}” contains characters that are not allowed in a "
            "header name"
        )
    if position.get("type") not in _TYPES:
        type_ = _shown(position.get("type"))
        return (
            f"{_where(path)}: {ANNOTATION} is only allowed on a string, integer or boolean, not on type "
            f"{type_}"
        )
    return ""


def _positions(schema: JSON) -> Iterator[tuple[PropertyPath | None, JSONObject]]:
    """Yield every subschema in document order, with its path of property names.

    The path is None below any keyword other than `properties`. Uses an explicit stack: a hostile schema may
    exceed Python's recursion limit.
    """
    stack: list[tuple[PropertyPath | None, JSON]] = [((), schema)]
    while stack:
        path, position = stack.pop()
        if isinstance(position, dict):
            yield path, position
            stack += reversed(list(_children(path, position)))


def _children(path: PropertyPath | None, schema: JSONObject) -> Iterator[tuple[PropertyPath | None, JSON]]:
    for keyword, value in schema.items():
        if keyword == "properties" and isinstance(value, dict):
            for name, child in value.items():
                yield None if path is None else (*path, name), child
        elif keyword in _MAPS_OF_SCHEMAS and isinstance(value, dict):
            yield from ((None, child) for child in value.values())
        elif keyword in _LISTS_OF_SCHEMAS and isinstance(value, list):
            yield from ((None, child) for child in value)
        elif keyword in _ONE_SCHEMA:
            yield None, value


def _value_at(path: PropertyPath, arguments: JSONObject) -> JSON:
    here: JSON = arguments
    for name in path:
        here = here.get(name) if isinstance(here, dict) else None
    return here


def _where(path: PropertyPath) -> str:
    return f"property “{_shown('.'.join(path))}”"


def _shown(value: JSON) -> str:
    return one_line(excerpt(value, 60))

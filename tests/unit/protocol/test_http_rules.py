"""Headers, status codes and redirects of Streamable HTTP, in both eras."""

from __future__ import annotations

import base64
import re
from urllib.parse import urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inspector.base.errors import ConnectFailed, HttpRefused, NeedsLogin
from inspector.base.json.values import JSON, ExactNumber, JSONObject, to_wire
from inspector.protocol import jsonrpc
from inspector.protocol.client_capabilities import NOTHING
from inspector.protocol.handshake import ClientProfile, StatelessDialect
from inspector.protocol.http_rules import (
    Headers,
    StatusMeaning,
    encode_header_value,
    error_in,
    header_text,
    may_respond,
    redirect_target,
    refusal,
    standard_headers,
    status_meaning,
    suggests_http_sse,
)
from inspector.protocol.jsonrpc import Message
from inspector.protocol.revisions import HANDSHAKE_REVISIONS, R3, R5, Revision

DIALECT = StatelessDialect(ClientProfile("lens", "Lens", "0.1", NOTHING), R5)
INITIALIZE = jsonrpc.request(1, "initialize", {"protocolVersion": "2025-11-25"})
LIST = jsonrpc.request(2, "tools/list")
PROBE = jsonrpc.request(1, "server/discover", DIALECT.prepare("server/discover", None))
NOTICE = jsonrpc.notification("notifications/initialized")
VERSION = ("MCP-Protocol-Version", "2026-07-28")


def modern(method: str, params: JSONObject | None = None) -> Headers:
    return standard_headers(jsonrpc.request(3, method, DIALECT.prepare(method, params)), R5, "s-1")


@pytest.mark.parametrize("revision", [None, *HANDSHAKE_REVISIONS, R5])
@pytest.mark.parametrize("session_id", ["", "s-1"])
def test_initialize_sends_no_extra_headers_whatever_was_tried_before(
    revision: Revision | None, session_id: str
) -> None:
    assert standard_headers(INITIALIZE, revision, session_id) == ()


@pytest.mark.parametrize("revision", HANDSHAKE_REVISIONS)
@pytest.mark.parametrize("message", [LIST, NOTICE, jsonrpc.result(4, {}), None])
def test_after_the_handshake_session_and_version_headers_are_always_sent(
    revision: Revision, message: Message | None
) -> None:
    session, version = ("Mcp-Session-Id", "s-1"), ("MCP-Protocol-Version", revision.date)
    assert standard_headers(message, revision, "s-1") == (session, version)
    assert standard_headers(message, revision) == (version,)


def test_no_version_header_is_sent_before_negotiation() -> None:
    assert standard_headers(LIST) == ()


@pytest.mark.parametrize("session_id", ["a\r\nX: 1", "é", " a", "a\x00", "a\n"])
def test_session_id_invalid_in_http_is_not_sent(session_id: str) -> None:
    assert standard_headers(LIST, R3, session_id) == (("MCP-Protocol-Version", "2025-06-18"),)


@pytest.mark.parametrize(
    "method", ["server/discover", "tools/list", "completion/complete", "subscriptions/listen", "prompts/list"]
)
def test_every_request_mirrors_version_and_method_and_has_no_session(method: str) -> None:
    assert modern(method, {"name": "n", "uri": "u"}) == (VERSION, ("Mcp-Method", method))


@pytest.mark.parametrize(
    ("method", "params", "name"),
    [
        ("tools/call", {"name": "get_weather"}, "get_weather"),
        ("tools/call", {"name": "Grüße"}, "=?base64?R3LDvMOfZQ==?="),
        ("prompts/get", {"name": "two words"}, "two words"),
        ("resources/read", {"uri": "file:///a%20b/c?x=1&y=%2F#f"}, "file:///a%20b/c?x=1&y=%2F#f"),
        ("tasks/get", {"taskId": "t-9"}, "t-9"),
        ("tasks/update", {"taskId": "t-9", "inputResponses": {}}, "t-9"),
        ("tasks/cancel", {"taskId": "t-9"}, "t-9"),
        ("tools/call", {"name": ""}, ""),
    ],
)
def test_name_is_mirrored_where_there_is_one(method: str, params: JSONObject, name: str) -> None:
    assert modern(method, params) == (VERSION, ("Mcp-Method", method), ("Mcp-Name", name))


@pytest.mark.parametrize("name", [None, 7, ["a"]])
def test_non_string_name_is_not_mirrored(name: JSON) -> None:
    assert modern("tools/call", {"name": name}) == (VERSION, ("Mcp-Method", "tools/call"))


def test_version_header_matches_the_body() -> None:
    params = DIALECT.prepare(
        "tools/list", {"_meta": {"io.modelcontextprotocol/protocolVersion": "1900-01-01"}}
    )
    headers = standard_headers(jsonrpc.request(1, "tools/list", params), R5)
    assert headers == (("MCP-Protocol-Version", "1900-01-01"), ("Mcp-Method", "tools/list"))


@pytest.mark.parametrize(
    "raw", [b"no json", b'{"jsonrpc":"2.0","id":1,"method":"x","params":{"a" 1}}', b"[]"]
)
def test_handwritten_message_gets_the_headers_that_can_be_derived(raw: bytes) -> None:
    assert VERSION in standard_headers(jsonrpc.read(raw), R5)


def test_method_invalid_in_http_is_not_mirrored() -> None:
    assert modern("x\r\nHost: evil") == (VERSION,)


def test_stateless_mode_has_no_standalone_get() -> None:
    assert standard_headers(None, R5, "s-1") == ()


@pytest.mark.parametrize(
    ("value", "encoded"),
    [
        # protocol handbook
        ("eu-1", "eu-1"),
        ("us west 1", "us west 1"),
        ("Grüße", "=?base64?R3LDvMOfZQ==?="),
        (" x", "=?base64?IHg=?="),
        ("a\nb", "=?base64?YQpi?="),
        ("=?base64?x?=", "=?base64?PT9iYXNlNjQ/eD89?="),
        ("", ""),
        # specification, "Encoding examples"
        ("us-west1", "us-west1"),
        ("Hello, 世界", "=?base64?SGVsbG8sIOS4lueVjA==?="),
        (" padded ", "=?base64?IHBhZGRlZCA=?="),
        ("line1\nline2", "=?base64?bGluZTEKbGluZTI=?="),
        ("=?base64?literal?=", "=?base64?PT9iYXNlNjQ/bGl0ZXJhbD89?="),
        # conformance suite, and corners
        ("line1\r\nline2", "=?base64?bGluZTENCmxpbmUy?="),
        ("\tindented", "=?base64?CWluZGVudGVk?="),
        ("a\tb", "=?base64?YQli?="),
        ("x ", "=?base64?eCA=?="),
        ("x\n", "=?base64?eAo=?="),
        (" ", "=?base64?IA==?="),
        ("\x7f", "=?base64?fw==?="),
        ("=?BASE64?x?=", "=?BASE64?x?="),
        ("=?base64?x", "=?base64?x"),
        ("=?base64?=", "=?base64?="),
        ("~", "~"),
    ],
)
def test_header_values_are_encoded_as_specified(value: str, encoded: str) -> None:
    assert encode_header_value(value) == encoded


def decode(value: str) -> str:
    """A reference decoder, written from the specification's text."""
    prefix, suffix = "=?base64?", "?="
    if value.startswith(prefix) and value.endswith(suffix) and len(value) >= len(prefix) + len(suffix):
        return base64.b64decode(value[len(prefix) : -len(suffix)], validate=True).decode()
    return value


looks_encoded = st.builds("=?base64?{}?=".format, st.text(max_size=8))


@given(st.text() | looks_encoded | st.text(alphabet=" \t\r\n=?ab", max_size=12))
def test_header_value_round_trips(text: str) -> None:
    encoded = encode_header_value(text)
    assert re.fullmatch(r"([\x21-\x7e]([\x20-\x7e]*[\x21-\x7e])?)?", encoded)
    assert decode(encoded) == text


def test_a_lone_surrogate_is_replaced_since_utf8_has_none() -> None:
    assert decode(encode_header_value("a\ud800")) == "a\ufffd"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        *(("a", "a"), ("", ""), (42, "42"), (-7, "-7"), (0, "0"), (True, "true"), (False, "false")),
        *((2**53 - 1, "9007199254740991"), (10**30, "1" + "0" * 30), (1.5, "1.5")),
        (ExactNumber("1.10"), "1.10"),
        *((None, None), ({}, None), ([1], None)),
    ],
)
def test_values_are_mirrored_as_text_by_type(value: JSON, text: str | None) -> None:
    assert header_text(value) == text


@pytest.mark.parametrize(
    ("status", "message", "has_session", "meaning"),
    [
        (200, LIST, False, StatusMeaning.BODY),
        (202, LIST, False, StatusMeaning.UNANSWERED),
        (204, LIST, True, StatusMeaning.UNANSWERED),
        (202, NOTICE, True, StatusMeaning.ACCEPTED),
        (200, NOTICE, False, StatusMeaning.ACCEPTED),
        (202, jsonrpc.result(1, {}), True, StatusMeaning.ACCEPTED),
        (307, LIST, True, StatusMeaning.REDIRECT),
        (400, LIST, True, StatusMeaning.REFUSED),
        (401, LIST, True, StatusMeaning.LOGIN),
        (403, LIST, True, StatusMeaning.FORBIDDEN),
        (404, LIST, True, StatusMeaning.SESSION_LOST),
        (404, LIST, False, StatusMeaning.REFUSED),
        (405, LIST, False, StatusMeaning.REFUSED),
        (500, LIST, True, StatusMeaning.OUTAGE),
        (503, LIST, False, StatusMeaning.OUTAGE),
    ],
)
def test_status_meaning_depends_on_message_and_session(
    status: int, message: Message, has_session: bool, meaning: StatusMeaning
) -> None:
    assert status_meaning(status, message, has_session=has_session) is meaning


@pytest.mark.parametrize("meaning", StatusMeaning)
def test_message_in_the_body_overrides_the_status_where_it_can_be_the_response(
    meaning: StatusMeaning,
) -> None:
    assert may_respond(meaning, LIST) == (
        meaning in (StatusMeaning.BODY, StatusMeaning.UNANSWERED, StatusMeaning.REFUSED, StatusMeaning.OUTAGE)
    )


def test_outage_during_a_probe_is_not_a_response_even_with_a_message() -> None:
    assert not may_respond(StatusMeaning.OUTAGE, PROBE)
    assert may_respond(StatusMeaning.REFUSED, PROBE)


@pytest.mark.parametrize(
    ("status", "has_session", "summary", "next_step"),
    [
        (
            400,
            False,
            "The server responded to tools/list with HTTP 400: bad\u2421 news.",
            "The complete response",
        ),
        (404, False, "The server responded to tools/list with HTTP 404", "Check the path of the server URL"),
        (404, True, "The server no longer recognizes this session (HTTP 404).", "Reconnect"),
        (405, False, "The server responded to tools/list with HTTP 405", "The URL does not accept POST"),
        (403, False, "The server responded to tools/list with HTTP 403", "The server rejects this origin"),
        (302, False, "The server responded to tools/list with HTTP 302", "Only redirects to the same host"),
        (
            502,
            False,
            "The server responded to tools/list with HTTP 502",
            "The server, or a proxy in front of it",
        ),
        (202, False, "The server accepted the request like a notification", "This is a bug in the server"),
        (
            200,
            False,
            "The server responded to tools/list with HTTP 200",
            "This is a server bug: the response must be a message.",
        ),
        (
            429,
            False,
            "The server responded to tools/list with HTTP 429",
            "The server limits how many requests",
        ),
    ],
)
def test_http_error_says_what_happened_and_what_to_do(
    status: int, has_session: bool, summary: str, next_step: str
) -> None:
    error = refusal(status, LIST, b"bad\x7f\nnews", has_session=has_session)
    assert isinstance(error, HttpRefused)
    assert error.summary.startswith(summary)
    assert error.next_step.startswith(next_step)
    assert (error.status, error.body) == (status, b"bad\x7f\nnews")


def test_http_error_without_a_body_ends_its_sentence() -> None:
    assert (
        refusal(400, jsonrpc.result(1, {})).summary
        == "The server responded to a response from MCP Lens with HTTP 400."
    )


@pytest.mark.parametrize(
    ("method", "next_step"),
    [
        ("server/discover", "Check that this is the URL of an MCP endpoint."),
        ("initialize", "Check that this is the URL of an MCP endpoint."),
        ("tools/call", "This is a server bug: the response must be a message."),
    ],
)
def test_empty_response_casts_doubt_on_the_url_only_while_connecting(method: str, next_step: str) -> None:
    error = refusal(200, jsonrpc.request(1, method))
    assert (error.summary, error.next_step) == (
        f"The server responded to {method} with HTTP 200 and an empty body.",
        next_step,
    )


def test_missing_login_is_a_separate_error() -> None:
    error = refusal(401, LIST)
    assert isinstance(error, NeedsLogin)
    assert isinstance(error, ConnectFailed)


def error_body(code: int) -> bytes:
    return to_wire({"jsonrpc": "2.0", "error": {"code": code, "message": "no"}})


@pytest.mark.parametrize("body", [b"", b"<html>", b"[]", b'{"jsonrpc":"2.0","id":1,"result":{}}', b"\xff{"])
def test_a_body_without_an_error_has_none(body: bytes) -> None:
    assert error_in(body) is None


def test_an_error_without_an_id_is_found_in_a_body() -> None:
    error = error_in(error_body(-32022))
    assert error is not None
    assert (error.code, error.message) == (-32022, "no")


@pytest.mark.parametrize(
    ("status", "body", "suggests"),
    [
        *((400, b"", True), (404, b"<html>", True), (405, b"", True), (400, error_body(-32000), True)),
        *(
            (400, error_body(-32020), False),
            (400, error_body(-32022), False),
            (404, error_body(-32601), False),
        ),
        *((200, b"", False), (401, b"", False), (403, b"", False), (406, b"", False), (500, b"", False)),
    ],
)
def test_a_refused_post_suggests_the_old_transport(status: int, body: bytes, suggests: bool) -> None:
    assert suggests_http_sse(status, body) == suggests


URL = "https://host.example/mcp?k=1"


@pytest.mark.parametrize(
    ("location", "target"),
    [
        ("/mcp/", "https://host.example/mcp/"),
        ("v2", "https://host.example/v2"),
        ("?k=2", "https://host.example/mcp?k=2"),
        ("https://host.example/other", "https://host.example/other"),
        ("https://HOST.example:443/other#part", "https://HOST.example:443/other"),
        ("//host.example/x", "https://host.example/x"),
    ],
)
@pytest.mark.parametrize("status", [307, 308])
def test_a_redirect_to_the_same_origin_is_followed(location: str, target: str, status: int) -> None:
    assert redirect_target(URL, location, "POST", status) == target


@pytest.mark.parametrize(
    "location",
    [
        "http://host.example/mcp",  # never from https to http
        "https://evil.example/mcp",
        "https://host.example:8443/mcp",
        "https://host.example.evil.example/",
        "//evil.example/mcp",
        "https://user:word@host.example/mcp",
        "https://host.example:port/",
        "https://[broken/",
        "javascript:alert(1)",
        "file:///etc/passwd",
        "",
    ],
)
@pytest.mark.parametrize("method", ["POST", "GET"])
def test_redirect_to_another_origin_is_not_followed(location: str, method: str) -> None:
    assert redirect_target(URL, location, method) is None


def test_a_redirect_from_http_to_https_is_another_origin() -> None:
    assert redirect_target("http://host.example/mcp", "https://host.example/mcp", "POST") is None


@pytest.mark.parametrize(
    ("source", "location", "is_followed"),
    [
        ("http://host.example/a?k=1", "https://host.example/a?k=1", True),
        ("http://host.example:80/a", "https://HOST.example:443/a", True),
        ("http://host.example/a", "https://host.example/b", False),
        ("http://host.example/a", "https://host.example/a?more=1", False),
        ("http://host.example/a", "https://host.example:8443/a", False),
        ("http://host.example:8080/a", "https://host.example/a", False),
        ("http://host.example/a", "https://evil.example/a", False),
        ("http://host.example/a", "https://u:p@host.example/a", False),
        ("https://host.example/a", "http://host.example/a", False),
        ("ftp://host.example/a", "https://host.example/a", False),
    ],
)
def test_document_may_redirect_to_https_at_the_same_url(
    source: str, location: str, is_followed: bool
) -> None:
    target = redirect_target(source, location, "GET", 301, allows_upgrade=True)
    assert target == (location if is_followed else None)


@pytest.mark.parametrize("status", [300, 301, 302, 303, 304, 305])
def test_a_redirect_that_changes_a_post_into_a_get_is_not_followed(status: int) -> None:
    assert redirect_target(URL, "/x", "POST", status) is None
    assert redirect_target(URL, "/x", "DELETE", status) is None


@pytest.mark.parametrize(
    ("status", "follows"), [(300, False), (301, True), (302, True), (303, True), (304, False)]
)
def test_a_get_stays_a_get(status: int, follows: bool) -> None:
    assert (redirect_target(URL, "/x", "GET", status) is not None) == follows


pieces = [
    "/",
    "//",
    "\\",
    "https:",
    "http:",
    "host.example",
    "evil.example",
    "@",
    ":",
    "443",
    "?",
    "#",
    "..",
    "\t",
]


@given(st.text(max_size=40) | st.lists(st.sampled_from(pieces), max_size=8).map("".join))
def test_no_location_leaves_the_origin_or_raises(location: str) -> None:
    target = redirect_target(URL, location, "POST")
    if target is not None:
        parts = urlsplit(target)
        assert (parts.scheme, parts.hostname, parts.port or 443) == ("https", "host.example", 443)
        assert parts.username is None

"""Secrets are found, listed and masked consistently; everything else stays unchanged."""

from __future__ import annotations

import base64
import json
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inspector.base.json.values import JSON
from inspector.traffic.log import TrafficLog
from inspector.traffic.masking.masker import (
    NO_MASKING,
    FoundSecrets,
    Masker,
    SecretScan,
    find_secrets,
    masked_excerpt,
)
from inspector.traffic.masking.secret_scan import WINDOW
from inspector.traffic.records import Direction, HttpExchange, RecordKind

TOKEN = "tok-4711-abcdef"
POST = HttpExchange("POST", "https://h/mcp", (), 0)


def log_of(*bodies: bytes, http: HttpExchange | None = None) -> TrafficLog:
    log = TrafficLog()
    server = log.add_server("srv")
    for raw in bodies:
        log.append(server, RecordKind.REQUEST, Direction.OUT, 0, 0, raw)
    if http is not None:
        log.set_http(log.append(server, RecordKind.HTTP, Direction.OUT, 0, 0, b"POST"), http)
    log.publish()
    return log


def found_in(*bodies: bytes, http: HttpExchange | None = None) -> FoundSecrets:
    log = log_of(*bodies, http=http)
    return find_secrets(log, range(len(log)))


def values(found: FoundSecrets) -> set[str]:
    return {value.decode() for value in found.values()}


@pytest.mark.parametrize(
    ("body", "secrets"),
    [
        (b'{"api_key":"abc"}', {"abc"}),
        (b'{"env":[{"name":"API_KEY","value":"abc"},{"name":"TZ","value":"UTC"}]}', {"abc"}),
        (b'{"headers":[{"name": "Authorization", "value": "Bearer abc"}]}', {"abc"}),
        (b'{"accessToken" : "a\\"b\\u002bc"}', {'a"b+c'}),
        (b'{"headers":{"Authorization":"Bearer abc"}}', {"abc"}),
        (b'{"text":"{\\"client_secret\\":\\"in a string\\"}"}', {"in a string"}),
        (b'{"a":"{\\"b\\":\\"{\\\\\\"password\\\\\\":\\\\\\"deep\\\\\\"}\\"}"}', {"deep"}),
        (b'{"url":"https://me:pw@host/x?token=abc&page=2"}', {"abc", "pw"}),
        (b'{"url":"https:\\/\\/h\\/?token=a\\/b\\u0026page=2"}', {"a/b"}),
        (b"grant_type=authorization_code&code=c1&client_secret=a%20b&state=s", {"c1", "a b", "s"}),
        (b"grant_type=x&code=c1&code_verifier=v.1~&redirect_uri=http%3A%2F%2Fh", {"c1", "v.1~"}),
        (b"assertion=a1&client_assertion=a2&client_assertion_type=urn:x", {"a1", "a2"}),
        (b"subject_token=t1&subject_token_type=urn:x&actor_token=t2&requested_token_type=y", {"t1", "t2"}),
        (b"token=t1&token_type_hint=refresh_token&client_id=me", {"t1"}),
        (b"see http://h/callback#code=c1&access_token=t1&state=s1", {"c1", "t1", "s1"}),
        (b'{"access_token":"t1","refresh_token":"t2","id_token":"t3"}', {"t1", "t2", "t3"}),
        (b'{"client_secret":"s1","registration_access_token":"t1"}', {"s1", "t1"}),
        (b'{"code_verifier":"v1","assertion":"a1","client_assertion":"a2"}', {"v1", "a1", "a2"}),
        (b'{"subject_token":"t1","device_code":"d1","user_code":"u1"}', {"t1", "d1", "u1"}),
        (b'{"code":"SplxlOBeZQQYbYS6WxSbIA","state":"af0ifjsldkj"}', {"SplxlOBeZQQYbYS6WxSbIA"}),
        (b'{"state":"0123456789abcdef01234567"}', {"0123456789abcdef01234567"}),
        (b"started: server --api-key abc --port 80", {"abc"}),
        (b"GITHUB_TOKEN=abc npx server", {"abc"}),
        (b"{'Authorization': 'Basic dTpw', 'x': 'y'}", {"dTpw", "p"}),
        (b"> Authorization: Bearer abc", {"abc"}),
        (b"seen eyJhbGciOiJI.eyJzdWIiOiIx.c2ln here", {"eyJhbGciOiJI.eyJzdWIiOiIx.c2ln"}),
        (b"key sk-abcdefghijklmnopq.", {"sk-abcdefghijklmnopq"}),
        (b"ghp_abcdefghijklmnopqrst", {"ghp_abcdefghijklmnopqrst"}),
        (b"sent Bearer abcdefghijklmnopq", {"abcdefghijklmnopq"}),
        (b"-----BEGIN RSA PRIVATE KEY-----\nMIIEabcdefghijklm\n-----END", {"\nMIIEabcdefghijklm\n"}),
    ],
)
def test_secret_is_found_where_it_occurs(body: bytes, secrets: set[str]) -> None:
    assert values(found_in(body)) == secrets


@pytest.mark.parametrize(
    "body",
    [
        b'{"_meta":{"progressToken":"abcdefgh12345"}}',
        b'{"error":{"code":-32602,"message":"token: expired, auth: required"}}',
        b'{"token_endpoint":"https://as/token","token_type":"Bearer"}',
        b'{"inputSchema":{"properties":{"password":{"type":"string"}}}}',
        b'{"primaryKey":"id","key":"color"}',
        b'{"required":["token","password"],"value":"a name"}',
        b'{"token":"${TOKEN}","password":"***","secret":""}',
        b"run task-abcdefghijklmnopqrstuvwxyz",
        b"state=open code=7",
        b'{"code":"INVALID_PARAMETER_VALUE_2","state":"waiting-for-input-2","x":{"code":"E1"}}',
        b'{"code":"an Error with 3 words of text","state":"https://h/Path/2"}',
        b'{"code":-32601,"state":{"a":1}}',
        b'Bearer resource_metadata="https://rs/meta", error_description="a, b"',
        b'{"header":"Bearer error_description=\\"expired\\", resource_metadata=\\"https://rs/meta\\""}',
        b"Bearer resource_metadata=https://rs/meta",
        b'{"client_secret_expires_at":0,"registration_client_uri":"https://as/r/1"}',
        b'{"issued_token_type":"urn:x","introspection_endpoint":"https://as/i","token_type":"DPoP"}',
        b"response_type=code&code_challenge=abcdefghijklmnopqrstuvwxyz0123456789&code_challenge_method=S256",
        b'{"token=":123456789,"secret:":[1],"x":"token="}',
        b'{"x":"~secret-1-Authorization~","token":"~secret-2-token~"}',
    ],
)
def test_text_that_only_mentions_secrets_is_left_alone(body: bytes) -> None:
    found = found_in(body)
    # The first piece of `state=open` may be a form; what counts is that nothing of JSON and prose is taken.
    assert values(found) <= {"open"}


def test_headers_and_cookies_are_secret_by_name_and_their_scheme_is_kept() -> None:
    basic = base64.b64encode(b"me:hunter22").decode()
    http = HttpExchange(
        "POST",
        "https://h/mcp?key=AIza-12345",
        (("Authorization", f"Basic {basic}"), ("Cookie", "sid=abc; lang=en"), ("Accept", "text/plain")),
        0,
        response_headers=(("Set-Cookie", "sid=new-1; Path=/"), ("Mcp-Session-Id", "s1")),
        body=b"hello hunter22",
    )
    masking = Masker(found_in(http=http))
    masked = masking.exchange(http)
    assert masked.url == "https://h/mcp?key=~secret-7-key~"
    assert masked.request_headers == (
        ("Authorization", "Basic ~secret-1-Authorization~"),
        ("Cookie", "sid=~secret-3-cookie-sid~; lang=~secret-4-cookie-lang~"),
        ("Accept", "text/plain"),
    )
    assert masked.response_headers[0] == ("Set-Cookie", "sid=~secret-5-cookie-sid~; Path=/")
    assert masked.response_headers[1] == ("Mcp-Session-Id", "~secret-6-Mcp-Session-Id~")
    assert masked.body == b"hello ~secret-2-password~"


@pytest.mark.parametrize(
    ("name", "value", "masked"),
    [
        ("Authorization", "DPoP abc", "DPoP ~secret-1-Authorization~"),
        ("DPoP", "a.proof.x", "~secret-1-DPoP~"),
        ("DPoP-Nonce", "eyJ-nonce-4711-abcdef", "eyJ-nonce-4711-abcdef"),
        ("Location", "http://h/cb?code=c1&iss=x", "http://h/cb?code=~secret-1-code~&iss=x"),
        ("WWW-Authenticate", 'DPoP error="use_dpop_nonce"', 'DPoP error="use_dpop_nonce"'),
    ],
)
def test_headers_of_a_login_are_masked_where_they_hold_a_secret(name: str, value: str, masked: str) -> None:
    http = HttpExchange("POST", "https://h/token", ((name, value),), 0)
    assert Masker(found_in(http=http)).exchange(http).request_headers == ((name, masked),)


def test_client_secret_is_recognized_in_both_basic_encodings() -> None:
    basic = base64.b64encode(b"me:p%40ss+w0rd-4711").decode()
    http = HttpExchange(
        "POST", "https://h/", (("Authorization", f"Basic {basic}"),), 0, body=b"p@ss w0rd-4711"
    )
    assert b"4711" not in Masker(found_in(http=http)).exchange(http).body


def test_one_secret_has_one_placeholder_in_every_encoding() -> None:
    secret = "p+q/r 4711"
    spellings = [
        json.dumps({"password": secret}),
        json.dumps({"echo": f"you said {secret}!"}),
        json.dumps({"text": json.dumps({"url": f"http://h/?x={quote(secret, safe='')}"})}),
        f"echo {base64.b64encode(secret.encode()).decode()}",
        '{"echo":"p\\u002Bq\\/r\\u00204711"}',
    ]
    masking = Masker(found_in(spellings[0].encode()))
    for spelling in spellings:
        masked = masking.text(spelling)
        assert "~secret-1-password~" in masked
        assert "4711" not in masked


def test_short_secret_is_masked_only_where_it_was_given() -> None:
    masking = Masker(found_in(b'{"password":"tools"}'))
    assert masking.body(b'{"password":"tools","method":"tools/call"}') == (
        b'{"password":"~secret-1-password~","method":"tools/call"}'
    )


def test_number_equal_to_a_secret_stays_a_number() -> None:
    masking = Masker(found_in(b'{"password":"1234567890"}'))
    assert masking.body(b'{"phone":1234567890}') == b'{"phone":1234567890}'


def test_secret_with_quotes_does_not_match_across_two_strings() -> None:
    body = json.dumps({"password": 'a1","b":"c2345'}).encode()
    masking = Masker(found_in(body))
    assert json.loads(masking.body(b'{"x":"a1","b":"c2345","n":"\\n"}')) == {
        "x": "a1",
        "b": "c2345",
        "n": "\n",
    }
    assert json.loads(masking.body(json.dumps({"echo": 'a1","b":"c2345'}).encode())) == {
        "echo": "~secret-1-password~"
    }


def test_the_list_says_where_a_secret_was_and_only_hints_at_it() -> None:
    (item,) = found_in(b'{"token":"abcdefgh1234"}', b'{"token":"abcdefgh1234","n":"\\n"}').items
    assert (item.placeholder, item.where, item.count) == ("~secret-1-token~", 'property "token"', 2)
    assert item.hint == "abc… (12 characters)"


def test_secret_removed_from_the_list_is_not_masked() -> None:
    found = found_in(b'{"token":"abcdefgh1234","password":"xyzxyz1234"}')
    masking = Masker(found, excluded={"~secret-1-token~"})
    assert masking.body(b"abcdefgh1234 xyzxyz1234") == b"abcdefgh1234 ~secret-2-password~"
    assert [item.placeholder for item in masking.items] == ["~secret-2-password~"]


def test_empty_mask_changes_nothing() -> None:
    assert NO_MASKING.body(b'{"token":"x"}') == b'{"token":"x"}'
    assert NO_MASKING.text("half \ud83d") == "half \ud83d"
    assert NO_MASKING.exchange(POST) == POST


def test_overlapping_secrets_leave_no_part_of_either() -> None:
    masking = Masker(found_in(b'{"token":"abcdefgh12345","password":"gh12345-tail99"}'))
    assert masking.body(b"<abcdefgh12345-tail99>") == b"<~secret-1-token~>"


def test_secret_across_a_chunk_boundary_is_masked_once() -> None:
    found = found_in(b'{"token":"%s"}' % TOKEN.encode())
    for shift in range(-20, 3):
        body = b"." * (WINDOW + shift) + TOKEN.encode() + b"." * 300_000
        assert Masker(found).body(body) == body.replace(TOKEN.encode(), b"~secret-1-token~")


def test_escapes_across_a_chunk_boundary_are_kept() -> None:
    found = found_in(b'{"token":"%s"}' % TOKEN.encode())
    spelled = TOKEN.encode().replace(b"-", b"\\u002d")
    for shift in range(-30, 3):
        body = b'{"x":"' + b"." * (WINDOW + shift) + spelled + b"\\n" * 99 + b'"}'
        assert Masker(found).body(body) == body.replace(spelled, b"~secret-1-token~")


def test_a_thousand_secrets_are_masked_in_one_pass() -> None:
    tokens = [f"tok{number:05}xyz" for number in range(1000)]
    found = found_in(*(json.dumps({"token": token}).encode() for token in tokens))
    masked = Masker(found).text(" ".join(tokens))
    assert masked == " ".join(f"~secret-{number}-token~" for number in range(1, 1001))


def test_scan_reports_its_progress_and_processes_long_bodies_in_steps() -> None:
    log = log_of(b"{}", b"." * 600_000, b"{}")
    assert list(SecretScan(log, range(3)).steps()) == [0, 1, *[1] * 10, 2, 2, 3]


def test_exchange_is_scanned_once_however_many_messages_it_carried() -> None:
    log = log_of(b"{}", b"{}", http=HttpExchange("POST", "https://h", (("Authorization", "abc"),), 0))
    for row in range(2):
        log.set_carrier(row, 2)
    (item,) = find_secrets(log, range(3)).items
    assert item.count == 1


leaf = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text()
names = st.sampled_from(["token", "password", "x", "api_key", "key", "Authorization", "text"]) | st.text()
json_values = st.recursive(
    leaf, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(names, inner, max_size=4), max_leaves=12
)


def shape(value: JSON) -> JSON:
    """Return the value with all strings removed."""
    if isinstance(value, dict):
        return [shape(child) for child in value.values()]
    if isinstance(value, list):
        return [shape(child) for child in value]
    return "" if isinstance(value, str) else value


@given(json_values, st.booleans())
def test_masked_json_has_the_same_shape(value: JSON, is_ascii: bool) -> None:
    raw = json.dumps(value, ensure_ascii=is_ascii).encode(errors="replace")
    masked = Masker(found_in(raw)).body(raw)
    assert shape(json.loads(masked)) == shape(json.loads(raw))


secrets = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=8).map(
    lambda text: f"Zq7{text}"
)


@given(secrets, json_values, st.booleans(), st.booleans())
def test_distinctive_secret_leaves_no_trace(
    secret: str, other: JSON, is_ascii: bool, is_nested: bool
) -> None:
    value: JSON = {"password": secret, "echo": f"<{secret}>", "other": other}
    if is_nested:
        value = {"text": json.dumps(value, ensure_ascii=is_ascii)}
    raw = json.dumps(value, ensure_ascii=is_ascii).encode(errors="replace")
    masked = json.loads(Masker(found_in(raw)).body(raw))
    inner = json.loads(masked["text"]) if is_nested else masked
    assert secret not in inner["password"]
    assert secret not in inner["echo"]
    assert inner["password"].startswith("~secret-")


@given(st.binary(), st.binary(min_size=8))
def test_any_bytes_can_be_masked(raw: bytes, secret: bytes) -> None:
    masking = Masker(found_in(raw, b"token=" + secret))
    masking.body(raw + secret + raw)
    masking.text(raw.decode("latin-1"))


@pytest.mark.parametrize(
    ("text", "masked"),
    [
        ("grant_type=x&code=c1&client_id=me", "grant_type=x&code=•••&client_id=me"),
        ('{"access_token":"t1","scope":"a"}', '{"access_token":"•••","scope":"a"}'),
        ('{"text":"{\\"client_secret\\":\\"s1\\"}"}', '{"text":"{\\"client_secret\\":\\"•••\\"}"}'),
        ('{"client_secret":"cut off', '{"client_secret":"•••'),
        ("The login page was opened.", "The login page was opened."),
        ("", ""),
    ],
)
def test_displayed_text_is_masked_by_its_own_content_alone(text: str, masked: str) -> None:
    assert masked_excerpt(text.encode()).decode() == masked

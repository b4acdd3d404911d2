"""A login over real sockets with secrets in every field; no export contains any of them."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Callable, Iterator
from io import BytesIO
from urllib.parse import quote, quote_plus

import pytest

from inspector.base.clock import SystemClock
from inspector.oauth.http import LoginHttp, LoginRecorder, LoginRequest, get_document, post_form, post_json
from inspector.protocol.auth.url_guard import allowance_for
from inspector.traffic.export.har import write_har
from inspector.traffic.export.jsonlines import write_json_lines
from inspector.traffic.export.markdown import write_markdown
from inspector.traffic.export.snippets import as_curl, as_json, as_python
from inspector.traffic.log import TrafficLog
from inspector.traffic.masking.masker import Masker, find_secrets
from inspector.traffic.records import RecordKind
from inspector.transport.network import Network
from tests.helpers import httpfaults as faults
from tests.helpers.exports import run_export
from tests.helpers.httpfaults import JSON_TYPE, FaultServer

NAMES = [
    "code",
    "code_verifier",
    "state",
    "access_token",
    "refresh_token",
    "id_token",
    "client_secret",
    "assertion",
    "client_assertion",
    "subject_token",
    "actor_token",
    "registration_access_token",
    "device_code",
    "dpop",
    "bearer",
    "dpop_token",
    "posted_secret",
]
SECRETS = {name: f"{name[:3]}M4rk3r/{number}+{name[-2:]}.Zq9" for number, name in enumerate(NAMES)}
TOKEN_CHECK = {
    name: SECRETS[name] for name in ("access_token", "refresh_token", "id_token", "device_code")
} | {"token_type": "DPoP", "expires_in": 3600, "scope": "read", "issued_token_type": "urn:x:access_token"}
REGISTRATION = {
    "client_id": "the-client",
    "client_secret": SECRETS["client_secret"],
    "client_secret_expires_at": 0,
    "registration_access_token": SECRETS["registration_access_token"],
    "token_endpoint_auth_method": "client_secret_basic",
}
METADATA = {
    "issuer": "https://as.example",
    "token_endpoint": "https://as.example/token",
    "code_challenge_methods_supported": ["S256"],
}
CHALLENGE = 'Bearer resource_metadata="https://rs.example/meta", error_description="no token", scope="read"'


async def walk() -> TrafficLog:
    log, clock = TrafficLog(), SystemClock()
    recorder = LoginRecorder(log, "server", clock)
    async with FaultServer() as server:
        http = LoginHttp(Network(), allowance_for(server.url()), clock, recorder)
        basic = base64.b64encode(f"me:{quote_plus(SECRETS['client_secret'])}".encode()).decode()
        replies = {
            "challenge": faults.replies(401, b"", WWW_Authenticate=CHALLENGE, DPoP_Nonce="nonce-0815-abcdef"),
            "registration": faults.replies(201, json.dumps(REGISTRATION).encode(), JSON_TYPE),
            "token": faults.replies(200, json.dumps(TOKEN_CHECK, indent=1).encode(), JSON_TYPE),
            "error": faults.replies(400, f'{{"error":"x","hint":"{SECRETS["code"]}"}}'.encode(), JSON_TYPE),
            "done": faults.replies(200, b"{}", JSON_TYPE),
        }
        server.order("POST", replies["challenge"], replies["token"], replies["error"])
        server.order("POST", replies["done"], replies["done"])
        server.order("GET", faults.replies(200, json.dumps(METADATA).encode(), JSON_TYPE))
        callback = f"/done?code={quote(SECRETS['code'])}&state={quote(SECRETS['state'])}"
        server.order("GET", faults.replies(302, b"", Location=f"http://127.0.0.1:1{callback}"))
        await http.send(LoginRequest("POST", server.url(), (), b"probe"))
        await http.send(get_document(server.url(path="/.well-known/oauth-authorization-server")))
        server.order("answer", replies["registration"])
        await http.send(post_json(server.url(path="/register"), {"client_name": "Lens"}))
        authorize = f"/authorize?response_type=code&code_challenge=public&state={quote(SECRETS['state'])}"
        await http.send(LoginRequest("GET", server.url(path=authorize)))
        grants: list[list[tuple[str, str]]] = [
            [("grant_type", "authorization_code"), *pairs("code", "code_verifier"), ("client_id", "me")],
            [("grant_type", "refresh_token"), *pairs("refresh_token", "assertion", "client_assertion")],
            [("token_type_hint", "refresh_token"), ("token", SECRETS["refresh_token"])],
            [*pairs("subject_token", "actor_token", "state"), ("client_secret", SECRETS["posted_secret"])],
        ]
        heads = [
            (("Authorization", f"Basic {basic}"), ("DPoP", SECRETS["dpop"])),
            (("Authorization", f"Bearer {SECRETS['bearer']}"),),
            (("Authorization", f"DPoP {SECRETS['dpop_token']}"),),
            (),
        ]
        for fields, headers in zip(grants, heads, strict=True):
            await http.send(post_form(server.url(path="/token"), fields, headers))
        recorder.step("The login is done.")
        await http.close()
    return log


def pairs(*names: str) -> Iterator[tuple[str, str]]:
    return ((name, SECRETS[name]) for name in names)


def spellings(secret: str) -> Iterator[bytes]:
    """Return the secret raw, as in URLs, as in JSON, and in Base64 at any offset."""
    yield from (secret.encode(), quote(secret, safe="").encode(), quote(secret).encode())
    yield from (quote_plus(secret).encode(), secret.replace("/", "\\/").encode())
    for before in range(3):
        for encode in (base64.b64encode, base64.urlsafe_b64encode):
            yield encode(b"x" * before + secret.encode())[4:-4]


def _lines(log: TrafficLog, masking: Masker) -> bytes:
    sink = BytesIO()
    run_export(write_json_lines(log, range(len(log)), sink, masking))
    return sink.getvalue()


def _har(log: TrafficLog, masking: Masker) -> bytes:
    sink = BytesIO()
    run_export(write_har(log, range(len(log)), sink, masking))
    return sink.getvalue()


def _markdown(log: TrafficLog, masking: Masker) -> bytes:
    sink = BytesIO()
    run_export(write_markdown(log, range(len(log)), sink, masking))
    return sink.getvalue()


def _copies(log: TrafficLog, masking: Masker) -> bytes:
    rows = [row for row in range(len(log)) if log.kind(row) == RecordKind.HTTP]
    copies = [copy(log, row, masking) for row in rows for copy in (as_curl, as_python, as_json)]
    return "\n".join(copies).encode()


@pytest.mark.parametrize("export", [_lines, _har, _markdown, _copies])
async def test_exports_contain_no_login_secret(export: Callable[[TrafficLog, Masker], bytes]) -> None:
    log = await walk()
    masking = Masker(find_secrets(log, range(len(log))))
    plain, masked = export(log, Masker(find_secrets(TrafficLog(), []))), export(log, masking)
    # It also has bodies in Base64.
    masked += b"".join(map(base64.b64decode, re.findall(rb'"body_base64":\s*"([^"]+)"', masked)))
    found = {name: each for name, secret in SECRETS.items() for each in spellings(secret) if each in masked}
    assert found == {}
    assert any(each in plain for secret in SECRETS.values() for each in spellings(secret))


async def test_everything_else_of_a_login_is_readable_in_its_export() -> None:
    log = await walk()
    masked = _har(log, Masker(find_secrets(log, range(len(log))))).decode()
    har = json.loads(masked)
    for text in (
        "grant_type=authorization_code&code=~secret-",
        "token_type_hint=refresh_token&token=~secret-",
        "https://as.example/token",
        "nonce-0815-abcdef",
        "code_challenge=public",
        "client_secret_basic",
        json.dumps(CHALLENGE)[1:-1],
    ):
        assert text in masked
    assert len(har["log"]["entries"]) == 8
    token = next(entry for entry in har["log"]["entries"] if "code_verifier" in json.dumps(entry["request"]))
    assert token["request"]["postData"]["mimeType"] == "application/x-www-form-urlencoded"
    reply = json.loads(token["response"]["content"]["text"])
    assert (reply["token_type"], reply["expires_in"], reply["scope"]) == ("DPoP", 3600, "read")
    assert reply["access_token"].startswith("~secret-")


async def test_login_request_can_be_copied_with_its_content() -> None:
    log = await walk()
    row = next(
        row for row in range(len(log)) if log.kind(row) == RecordKind.HTTP and b"/token" in log.raw(row)
    )
    masking = Masker(find_secrets(log, range(len(log))))
    command = as_curl(log, row, masking)
    assert "--data-binary" in command
    assert "grant_type=authorization_code&code=~secret-" in command

"""The doctor on servers over the network: real sockets, real TLS, real HTTP, all of them broken."""

from __future__ import annotations

import asyncio
import json
import socket
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from cryptography.x509.oid import AuthorityInformationAccessOID, ExtendedKeyUsageOID

from inspector.config.servers.entries import HttpEntry, NetworkSettings, WebSocketEntry
from inspector.engine.doctor.results import ActionKind, CheckState
from inspector.transport.base import AuthorizedRequest, Headers
from tests.helpers.certificates import Authority
from tests.helpers.httpfaults import (
    HTML,
    JSON_TYPE,
    SSE_TYPE,
    Call,
    Fault,
    FaultServer,
    event,
    replies,
)
from tests.unit.engine.doctor.broken_hosts import Broken, never, raw_server, visit, with_tools
from tests.unit.engine.doctor.doctor_stage import checked
from tests.unit.engine.doctor.self_signed import self_signed


def closed_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as once:
        port: int = once.getsockname()[1]
        return port


async def test_working_server_passes_every_step() -> None:
    async with Broken(with_tools) as server:
        report = await visit(server.url())
    assert report.diagnoses == []
    assert list(report.results) == [
        *("settings", "url", "dns", "tcp", "tls", "http", "content", "wellknown", "era", "auth"),
        *("version", "capabilities", "list"),
    ]
    states = report.states()
    assert states.pop("tls") is CheckState.SKIPPED
    assert set(states.values()) == {CheckState.OK}
    assert report.results["list"].text == "tools/list: 1 tool"
    assert report.results["http"].text == "200 to POST"


async def test_untrusted_server_is_not_contacted() -> None:
    async with Broken(with_tools) as server:
        report = await visit(server.url(), may_contact=False)
        assert server.calls == []
    assert [each.id for each in report.diagnoses] == ["not-trusted"]
    assert report.results["url"].state is CheckState.OK
    assert report.results["dns"].state is CheckState.SKIPPED


@pytest.mark.parametrize(
    ("url", "id"),
    [
        ("http:///mcp", "bad-url"),
        ("ftp://host/mcp", "bad-url"),
        ("http://host:99999/mcp", "bad-url"),
        ("https://${HOST}/mcp", "placeholder"),
        ("https://example.com/mcp?key=<your key>", "placeholder"),
        ("https://YOUR_DOMAIN/mcp", "placeholder"),
    ],
)
async def test_invalid_url_is_reported_before_any_request(url: str, id: str) -> None:
    assert (await visit(url)).failure.id == id


async def test_unknown_host_name_is_reported() -> None:
    failure = (await visit("http://no-such-host.invalid/mcp")).failure
    assert failure.id == "name-unknown"
    assert "no-such-host.invalid" in failure.cause


async def test_unresponsive_dns_is_distinguished_from_an_unknown_name(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def silent(*args: Any, **members: Any) -> None:
        await asyncio.Event().wait()

    monkeypatch.setattr(asyncio.get_running_loop(), "getaddrinfo", silent)
    assert (await visit("http://example.invalid/mcp", limit=0.2)).failure.id == "dns-silent"


async def test_port_without_a_listener_is_reported() -> None:
    report = await visit(f"http://127.0.0.1:{closed_port()}/mcp")
    assert report.failure.id == "nothing-listens"
    assert report.results["dns"].state is CheckState.OK
    assert report.results["http"].state is CheckState.SKIPPED


async def test_server_on_the_other_loopback_address_family_is_found() -> None:
    async with Broken(with_tools) as server:
        failure = (await visit(f"http://[::1]:{server.port}/mcp")).failure
        assert failure.id == "other-loopback"
        assert failure.action is not None
        assert failure.action.value == server.url()


async def test_packet_dropping_host_is_distinguished_from_a_refusing_one() -> None:
    with socket.socket() as full:
        full.bind(("127.0.0.1", 0))
        full.listen(0)
        waiting = [socket.socket() for _ in range(4)]  # the queue is full after the first
        for each in waiting:
            each.setblocking(False)
            each.connect_ex(full.getsockname())
        failure = (await visit(f"http://127.0.0.1:{full.getsockname()[1]}/mcp", limit=0.5)).failure
        for each in waiting:
            each.close()
    assert failure.id == "connection-silent"


async def test_address_without_a_route_is_unreachable() -> None:
    """Uses a broadcast address, which no system accepts for TCP."""
    assert (await visit("http://255.255.255.255/mcp", limit=2.0)).failure.id == "unreachable"


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    return Authority(tmp_path)


async def test_a_self_signed_certificate_can_be_trusted_for_the_server(tmp_path: Path) -> None:
    async with Broken(with_tools, tls=self_signed(tmp_path)) as server:
        report = await visit(server.url())
        assert report.failure.id == "certificate-self-signed"
        assert any("SHA-256 " in line for line in report.failure.evidence)
        action = report.failure.action
        assert action is not None
        assert action.kind is ActionKind.TRUST_CERTIFICATE
        (tmp_path / "trusted.pem").write_text(action.value)
        trusting = NetworkSettings(ca_file=str(tmp_path / "trusted.pem"))
        again = await visit(server.url(), network=trusting)
    assert again.diagnoses == []
    assert again.results["tls"].text.startswith("TLSv1.")


async def test_a_certificate_of_an_unknown_authority_can_be_trusted_by_itself(
    authority: Authority, tmp_path: Path
) -> None:
    async with Broken(with_tools, tls=authority.server("127.0.0.1")) as server:
        failure = (await visit(server.url())).failure
        assert failure.id == "issuer-unknown"
        assert "Test Authority" in failure.cause
        assert failure.action is not None
        (tmp_path / "trusted.pem").write_text(failure.action.value)
        trusting = NetworkSettings(ca_file=str(tmp_path / "trusted.pem"))
        assert (await visit(server.url(), network=trusting)).results["list"].state is CheckState.OK


def full_chain(authority: Authority, folder: Path) -> ssl.SSLContext:
    """Return the context of a server that sends the certificate of its authority too."""
    certificate, key = authority.issue("127.0.0.1")
    chain = folder / "chain.pem"
    chain.write_bytes(Path(certificate).read_bytes() + Path(authority.ca_file).read_bytes())
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(chain, key)
    return context


async def test_authority_sent_by_the_server_is_what_is_trusted(authority: Authority, tmp_path: Path) -> None:
    async with Broken(with_tools, tls=full_chain(authority, tmp_path)) as server:
        failure = (await visit(server.url())).failure
    assert failure.id == "authority-unknown"
    assert failure.action is not None
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.load_verify_locations(authority.ca_file)
    assert ssl.PEM_cert_to_DER_cert(failure.action.value) in context.get_ca_certs(binary_form=True)


async def test_chain_without_its_intermediate_is_incomplete(authority: Authority, tmp_path: Path) -> None:
    location = x509.UniformResourceIdentifier("http://ca.invalid/ca.crt")
    access = x509.AuthorityInformationAccess(
        [x509.AccessDescription(AuthorityInformationAccessOID.CA_ISSUERS, location)]
    )
    begin = authority._begin
    authority._begin = (  # type: ignore[method-assign]
        lambda *args: begin(*args).add_extension(access, critical=False)
    )
    async with Broken(with_tools, tls=authority.server("127.0.0.1")) as server:
        assert (await visit(server.url())).failure.id == "chain-incomplete"


async def test_expired_certificate_is_reported_with_its_date(authority: Authority) -> None:
    async with Broken(with_tools, tls=authority.server("127.0.0.1", expired=True)) as server:
        failure = (await visit(server.url(), network=NetworkSettings(ca_file=authority.ca_file))).failure
    assert failure.id == "certificate-expired"
    assert failure.action is None


async def test_not_yet_valid_certificate_points_to_the_clocks(authority: Authority) -> None:
    import datetime

    begin = authority._begin

    def later(*args: Any) -> Any:
        builder = begin(*args)
        builder._not_valid_before = datetime.datetime.now() + datetime.timedelta(hours=20)
        return builder

    authority._begin = later  # type: ignore[assignment, method-assign]
    async with Broken(with_tools, tls=authority.server("127.0.0.1")) as server:
        failure = (await visit(server.url(), network=NetworkSettings(ca_file=authority.ca_file))).failure
    assert failure.id == "certificate-not-yet-valid"


async def test_certificate_for_another_name_says_which(authority: Authority) -> None:
    async with Broken(with_tools, tls=authority.server("other.example")) as server:
        failure = (await visit(server.url(), network=NetworkSettings(ca_file=authority.ca_file))).failure
    assert failure.id == "certificate-wrong-name"
    assert "other.example" in failure.cause
    assert failure.action is None


async def test_soon_expiring_certificate_is_a_warning_with_the_chain_in_the_details(
    authority: Authority,
) -> None:
    async with Broken(with_tools, tls=authority.server("127.0.0.1")) as server:
        report = await visit(server.url(), network=NetworkSettings(ca_file=authority.ca_file))
    assert report.warnings == ["expires-soon"]
    details = "\n".join(report.results["tls"].details)
    assert "names: 127.0.0.1" in details
    assert "valid from" in details


async def test_disabled_certificate_verification_is_a_warning(authority: Authority) -> None:
    async with Broken(with_tools, tls=authority.server("127.0.0.1")) as server:
        assert (await visit(server.url(), network=NetworkSettings(verify=False))).warnings == ["not-verified"]


@contextmanager
def strict_server(context: ssl.SSLContext) -> Iterator[int]:
    """Yield the port of a blocking TLS server that sends alerts, and disconnects after the handshake."""

    is_stopped = threading.Event()

    def serve() -> None:
        while True:
            connection, _ = listening.accept()
            if is_stopped.is_set():
                connection.close()
                return
            connection.settimeout(5)
            with suppress(OSError), connection, context.wrap_socket(connection, server_side=True) as secure:
                secure.recv(1)

    with socket.create_server(("127.0.0.1", 0)) as listening:
        thread = threading.Thread(target=serve)
        thread.start()
        try:
            yield listening.getsockname()[1]
        finally:
            is_stopped.set()
            with socket.create_connection(listening.getsockname()):
                thread.join()


async def test_required_client_certificate_is_recognized(authority: Authority) -> None:
    network = NetworkSettings(ca_file=authority.ca_file)
    with strict_server(authority.server("127.0.0.1", wants_client=True)) as port:
        failure = (await visit(f"https://127.0.0.1:{port}/mcp", network=network)).failure
    assert failure.id == "client-certificate-wanted"


async def test_untrusted_client_certificate_is_rejected(authority: Authority, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    certificate, key = Authority(tmp_path / "other", "Strangers").issue("me")
    network = NetworkSettings(ca_file=authority.ca_file, client_certificate=certificate, client_key=key)
    with strict_server(authority.server("127.0.0.1", wants_client=True)) as port:
        failure = (await visit(f"https://127.0.0.1:{port}/mcp", network=network)).failure
    assert failure.id == "client-certificate-refused"


async def test_unusable_tls_settings_are_reported(authority: Authority, tmp_path: Path) -> None:
    (tmp_path / "empty.pem").write_text("nothing")
    async with Broken(with_tools, tls=authority.server("127.0.0.1")) as server:
        network = NetworkSettings(ca_file=str(tmp_path / "empty.pem"))
        assert (await visit(server.url(), network=network)).failure.id == "tls-settings"


@pytest.mark.filterwarnings("ignore:ssl.TLSVersion:DeprecationWarning")
async def test_old_tls_version_is_recognized(authority: Authority) -> None:
    context = authority.server("127.0.0.1")
    context.set_ciphers("ALL:@SECLEVEL=0")
    context.minimum_version = ssl.TLSVersion.TLSv1
    context.maximum_version = ssl.TLSVersion.TLSv1_1
    with strict_server(context) as port:
        assert (await visit(f"https://127.0.0.1:{port}/mcp")).failure.id == "tls-too-old"


async def test_no_shared_cipher_is_reported_as_failed_negotiation(authority: Authority) -> None:
    context = authority.server("127.0.0.1")
    context.maximum_version = ssl.TLSVersion.TLSv1_2
    context.set_ciphers("AES256-SHA256")  # for RSA keys only, and this certificate has none
    with strict_server(context) as port:
        assert (await visit(f"https://127.0.0.1:{port}/mcp")).failure.id == "tls-no-agreement"


async def test_unrecognized_server_name_is_reported(authority: Authority) -> None:
    context = authority.server("localhost")
    context.sni_callback = lambda *_: ssl.ALERT_DESCRIPTION_UNRECOGNIZED_NAME
    with strict_server(context) as port:
        assert (await visit(f"https://localhost:{port}/mcp")).failure.id == "tls-name-unknown"


async def test_port_that_hangs_up_on_tls_is_reported() -> None:
    async def hang_up(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(65536)

    async with raw_server(hang_up) as port:
        assert (await visit(f"https://127.0.0.1:{port}/mcp")).failure.id == "tls-broken"


async def test_certificate_not_valid_for_servers_is_rejected_with_the_reason(authority: Authority) -> None:
    usage = x509.ExtendedKeyUsage([ExtendedKeyUsageOID.CLIENT_AUTH])
    begin = authority._begin
    authority._begin = (  # type: ignore[method-assign]
        lambda *args: begin(*args).add_extension(usage, critical=True)
    )
    async with Broken(with_tools, tls=authority.server("127.0.0.1")) as server:
        failure = (await visit(server.url(), network=NetworkSettings(ca_file=authority.ca_file))).failure
    assert failure.id == "certificate-refused"
    assert "purpose" in failure.cause
    assert failure.action is None


async def test_https_on_a_plain_port_offers_the_plain_url() -> None:
    async def nginx(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(65536)
        writer.write(b"HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n")
        await never(reader, writer)

    async with raw_server(nginx) as port:
        failure = (await visit(f"https://127.0.0.1:{port}/mcp")).failure
    assert failure.id == "not-tls"
    assert failure.action is not None
    assert failure.action.value == f"http://127.0.0.1:{port}/mcp"


async def test_port_that_is_silent_to_tls_is_reported() -> None:
    async with raw_server(never) as port:
        assert (await visit(f"https://127.0.0.1:{port}/mcp", limit=0.5)).failure.id == "tls-silent"


async def test_http_on_a_tls_port_offers_the_https_url(authority: Authority) -> None:
    async with Broken(with_tools, tls=authority.server("127.0.0.1")) as server:
        failure = (await visit(server.url().replace("https:", "http:"))).failure
        assert failure.id == "needs-https"
        assert failure.action is not None
        assert failure.action.value == server.url()


async def test_plain_http_error_from_a_tls_port_is_understood() -> None:
    reported = b"<html>400 The plain HTTP request was sent to HTTPS port</html>"
    async with Broken(replies(400, reported, "text/html")) as server:
        assert (await visit(server.url())).failure.id == "needs-https"


async def test_non_http_service_is_recognized() -> None:
    async def ssh(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"SSH-2.0-OpenSSH_9.2\r\n")
        await never(reader, writer)

    async with raw_server(ssh) as port:
        assert (await visit(f"http://127.0.0.1:{port}/mcp", limit=0.5)).failure.id == "not-http"


async def test_unsendable_request_is_reported_without_its_secret() -> None:
    async with Broken(with_tools) as server:
        report = await visit(server.url(), headers={"X-Key": "first-half\nsecond-half"})
    assert report.failure.id == "http-failed"
    assert "header" in report.failure.cause
    assert "second-half" not in report.text


async def test_disconnecting_server_is_distinguished_from_a_silent_one() -> None:
    async def hang_up(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")

    async with raw_server(hang_up) as port:
        assert (await visit(f"http://127.0.0.1:{port}/mcp")).failure.id == "hung-up"
    async with raw_server(never) as port:
        assert (await visit(f"http://127.0.0.1:{port}/mcp", limit=0.5)).failure.id == "http-silent"


@pytest.mark.parametrize(
    ("status", "body", "id"),
    [
        (400, b"what?", "bad-request"),
        (403, b"no", "forbidden"),
        (403, b"Invalid Origin header", "host-refused"),
        (404, b"", "not-found"),
        (405, b"", "no-post"),
        (406, b"", "not-acceptable"),
        (415, b"", "media-type"),
        (421, b"Invalid Host header", "host-refused"),
        (429, b"", "too-many"),
        (500, b"oops", "server-error"),
        (502, b"Bad Gateway", "gateway"),
        (503, b"", "gateway"),
        (418, b"teapot", "refused"),
        (202, b"", "request-unanswered"),
    ],
)
async def test_each_status_has_its_own_explanation(status: int, body: bytes, id: str) -> None:
    async with Broken(replies(status, body, "text/plain")) as server:
        report = await visit(server.url())
    assert report.failure.id == id
    assert str(status) in report.results["http"].text


async def test_retry_after_is_reported() -> None:
    async with Broken(replies(429, b"", "", Retry_After="30")) as server:
        assert "30 s" in (await visit(server.url())).failure.cause


async def test_redirect_to_another_url_can_be_adopted() -> None:
    async with Broken(replies(301, b"", "", Location="https://new.example/mcp")) as server:
        failure = (await visit(server.url())).failure
    assert failure.id == "redirected"
    assert failure.action is not None
    assert failure.action.value == "https://new.example/mcp"


async def test_redirect_to_a_login_page_is_not_a_new_url() -> None:
    async with Broken(replies(302, b"", "", Location="https://sso.example/login?next=/")) as server:
        failure = (await visit(server.url())).failure
    assert failure.id == "login-page"
    assert failure.action is None


async def test_web_page_is_not_an_endpoint() -> None:
    async with Broken(replies(200, HTML, "text/html")) as server:
        assert (await visit(server.url())).failure.id == "web-page"


async def test_unexpected_content_is_named_by_its_type() -> None:
    async with Broken(replies(200, b"hello", "text/plain")) as server:
        assert (await visit(server.url())).failure.id == "wrong-content"


async def test_invalid_json_is_not_a_message() -> None:
    async with Broken(replies(200, b'{"jsonrpc": "2.0", ', JSON_TYPE)) as server:
        assert (await visit(server.url())).failure.id == "broken-messages"


async def test_delayed_stream_points_to_buffering() -> None:
    async def begins(call: Call) -> None:
        await call.start(200, SSE_TYPE)
        await asyncio.Event().wait()

    async with Broken(begins) as server:
        assert (await visit(server.url(), limit=0.5)).failure.id == "stream-silent"


async def test_message_with_a_wrong_content_type_is_a_warning() -> None:
    async def mislabeled(call: Call) -> None:
        if call.key == "initialize":
            result = {
                "protocolVersion": "2025-11-25",
                "capabilities": {"tools": {}},
                "serverInfo": {"name": "f"},
            }
            await call.reply(200, call.response(result=result), "text/plain")
        else:
            await with_tools(call)

    async with Broken(mislabeled) as server:
        assert (await visit(server.url())).warnings == ["wrong-label"]


def at(path: str, there: Fault, alternative: Fault) -> Fault:
    async def fault(call: Call) -> None:
        await (there if call.path == path else alternative)(call)

    return fault


async def test_the_endpoint_at_another_path_is_found() -> None:
    async with Broken(at("/mcp", with_tools, replies(404))) as server:
        failure = (await visit(server.url(path="/"))).failure
        assert failure.id == "wrong-path"
        assert failure.action is not None
        assert failure.action.value == server.url()


class OldServer(FaultServer):
    """An HTTP+SSE server (2024-11-05) at /sse."""

    async def _response(self, call: Call) -> None:
        if call.method == "GET" and call.path == "/sse":
            self._stream = call
            await call.start(200, SSE_TYPE)
            await call.chunk(event(b"/messages", name="endpoint"))
            await asyncio.Event().wait()
        elif call.path == "/messages":
            await call.reply(202)
            if call.key == "initialize":
                result = {"protocolVersion": "2024-11-05", "capabilities": {}, "serverInfo": {"name": "old"}}
                await self._stream.chunk(event(call.response(result=result)))
        else:
            await call.reply(405 if call.path == "/sse" else 404)


async def test_the_old_transport_is_found_at_its_usual_path() -> None:
    async with OldServer() as server:
        failure = (await visit(server.url(path="/mcp"))).failure
        assert failure.id == "old-sse"
        assert "/sse" in failure.cause
        assert failure.action is not None
        assert failure.action.kind is ActionKind.USE_SSE
        assert failure.action.value == server.url(path="/sse")


async def test_old_transport_configured_with_the_wrong_type_is_reported_with_its_status() -> None:
    async with OldServer() as server:
        failure = (await visit(server.url(path="/sse"), type="http")).failure
    assert failure.id == "old-sse"
    assert "405" in failure.cause


async def test_a_new_server_configured_as_an_old_one_is_recognized() -> None:
    async with Broken(with_tools) as server:
        failure = (await visit(server.url(), type="sse")).failure
        assert failure.id == "is-streamable"
        assert failure.action is not None
        assert failure.action.kind is ActionKind.USE_HTTP


async def test_unrelated_event_stream_has_no_endpoint() -> None:
    async def changes(call: Call) -> None:
        if call.method == "POST":
            await call.reply(404)
            return
        await call.start(200, SSE_TYPE)
        await call.chunk(event(b"hello", name="news"))
        await call.end()

    async with Broken(changes) as server:
        assert (await visit(server.url(), type="sse")).failure.id == "no-endpoint-event"


async def test_error_response_is_attributed_to_the_server() -> None:
    async def refuses(call: Call) -> None:
        error = {"code": -32603, "message": "license expired"}
        await call.reply(
            200,
            json.dumps({"jsonrpc": "2.0", "id": call.message.get("id"), "error": error}).encode(),
            JSON_TYPE,
        )

    async with Broken(refuses) as server:
        failure = (await visit(server.url())).failure
    assert failure.id == "initialize-refused"
    assert "license expired" in failure.cause


async def test_unreachable_proxy_is_distinguished_from_the_server() -> None:
    network = NetworkSettings(proxy=f"http://user:secretword@127.0.0.1:{closed_port()}")
    report = await visit("http://example.com/mcp", network=network)
    assert report.failure.id == "proxy-unreachable"
    assert "secretword" not in report.text


async def test_proxy_that_requires_a_login_is_recognized() -> None:
    async with Broken(replies(407, b"", "", Proxy_Authenticate="Basic")) as server:
        network = NetworkSettings(proxy=server.url(path=""))
        assert (await visit("https://example.com/mcp", network=network)).failure.id == "proxy-login"


async def test_a_proxy_that_refuses_the_server_is_recognized() -> None:
    async with Broken(replies(403)) as server:
        network = NetworkSettings(proxy=server.url(path=""))
        assert (await visit("https://example.com/mcp", network=network)).failure.id == "proxy-refused"


RESOURCE = "/.well-known/oauth-protected-resource"
ISSUER = "/.well-known/oauth-authorization-server"


class Guarded(FaultServer):
    """Requires a login. `documents` are served by path; "ORIGIN" in them is replaced by the server's."""

    def __init__(self, documents: dict[str, object], **settings: Any) -> None:
        super().__init__(**settings)
        self._documents = documents

    async def _response(self, call: Call) -> None:
        if call.path in self._documents:
            text = json.dumps(self._documents[call.path]).replace("ORIGIN", self.url(path=""))
            await call.reply(200, text.encode(), JSON_TYPE)
        elif call.method == "GET" and "well-known" in call.path:
            await call.reply(404)
        else:
            await call.reply(401, b"", "", WWW_Authenticate="Bearer")


FULL = {
    RESOURCE: {"resource": "ORIGIN/mcp", "authorization_servers": ["ORIGIN"]},
    ISSUER: {"issuer": "ORIGIN", "authorization_endpoint": "ORIGIN/a", "token_endpoint": "ORIGIN/t"},
}


async def test_described_login_can_be_started() -> None:
    async with Guarded(FULL) as server:
        report = await visit(server.url())
    assert report.failure.id == "login-needed"
    assert report.failure.action is not None
    assert report.failure.action.kind is ActionKind.LOG_IN
    assert report.failure.step == "auth"
    assert report.results["wellknown"].text.endswith(RESOURCE)


async def test_undescribed_login_is_most_likely_an_api_key() -> None:
    async with Guarded({}) as server:
        assert (await visit(server.url())).failure.id == "login-undescribed"


async def test_an_authorization_server_without_metadata_is_named() -> None:
    async with Guarded({RESOURCE: FULL[RESOURCE]}) as server:
        assert (await visit(server.url())).failure.id == "issuer-unreachable"


@pytest.mark.parametrize(
    ("issuer", "why", "can_log_in"),
    [
        ("https://169.254.169.254/", "169.254.169.254 is a link-local address", False),
        ("https://10.0.0.1/", "10.0.0.1 is in a private network", True),
    ],
)
async def test_an_authorization_server_that_is_not_contacted_is_named_with_the_reason(
    issuer: str, why: str, can_log_in: bool
) -> None:
    document = {"resource": "ORIGIN/mcp", "authorization_servers": [issuer]}
    async with Guarded({RESOURCE: document}) as server:
        failure = (await visit(server.url())).failure
    assert failure.id == "issuer-blocked"
    assert f"login at {issuer}, which MCP Lens does not contact: {why}" in failure.cause
    assert ("allow private network addresses" in failure.fix) is can_log_in
    assert (failure.action is not None) is can_log_in


async def test_blocked_metadata_url_in_the_challenge_is_named_with_the_reason() -> None:
    challenge = 'Bearer resource_metadata="https://169.254.169.254/latest"'
    async with Broken(replies(401, b"", "", WWW_Authenticate=challenge)) as server:
        failure = (await visit(server.url())).failure
    assert failure.id == "resource-metadata-broken"
    assert "(https://169.254.169.254/latest): 169.254.169.254 is a link-local address" in failure.cause


async def test_unusable_metadata_document_is_reported() -> None:
    async with Guarded({RESOURCE: {"resource": "ORIGIN/mcp"}}) as server:
        assert (await visit(server.url())).failure.id == "resource-metadata-broken"
    async with Guarded({RESOURCE: ["an array"]}) as server:
        assert (await visit(server.url())).failure.id == "resource-metadata-broken"


async def test_rejected_configured_header_is_distinguished_from_none() -> None:
    async with Guarded(FULL) as server:
        report = await visit(server.url(), headers={"Authorization": "Bearer gone-stale-token"})
    assert report.failure.id == "header-refused"
    assert report.failure.cause.startswith("The server rejects the configured Authorization header")
    assert "gone-stale-token" not in report.text


class Token:
    """An authorization that has a token and must not be asked for another."""

    def begin(self, operation: str) -> AuthorizedRequest:
        return self

    async def headers(self, method: str, url: str) -> Headers:
        return (("Authorization", "Bearer old"),)

    def responded(self, status: int, url: str, headers: Headers) -> None:
        pass

    async def refused(self, status: int, headers: Headers, body: bytes) -> bool:
        raise AssertionError("The doctor began a login.")


async def test_rejected_token_is_distinguished_and_starts_no_login() -> None:
    async with Guarded(FULL) as server:
        assert (await visit(server.url(), authorization=Token())).failure.id == "token-refused"


async def test_issuer_is_not_contacted_while_no_login_is_required() -> None:
    async with Guarded(FULL) as issuer:

        async def open_server(call: Call) -> None:
            if call.path == RESOURCE:
                document = {"resource": call.server.url(), "authorization_servers": [issuer.url(path="")]}
                await call.reply(200, json.dumps(document).encode(), JSON_TYPE)
            else:
                await with_tools(call)

        async with Broken(open_server) as server:
            report = await visit(server.url())
        assert report.diagnoses == []
        assert issuer.calls == []


async def test_a_host_without_a_websocket_offers_the_http_url() -> None:
    async with Broken(replies(404)) as server:
        url = server.url().replace("http:", "ws:")
        failure = (await checked(WebSocketEntry(name="srv", url=url), limit=3.0)).failure
        assert failure.id == "no-websocket"
        assert failure.action is not None
        assert failure.action.value == server.url()


async def test_websocket_that_requires_a_login_says_so() -> None:
    async with Guarded({}) as server:
        url = server.url().replace("http:", "ws:")
        failure = (await checked(WebSocketEntry(name="srv", url=url), limit=3.0)).failure
    assert failure.id == "login-undescribed"


async def test_connection_timeout_of_the_server_is_used() -> None:
    from inspector.config.servers.entries import Timeouts

    async with raw_server(never) as port:
        entry = HttpEntry(name="srv", url=f"http://127.0.0.1:{port}/mcp", timeouts=Timeouts(connect=0.5))
        report = await checked(replace(entry), limit=600.0)  # too long for a test
    assert report.failure.id == "http-silent"

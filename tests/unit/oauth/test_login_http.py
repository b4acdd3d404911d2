"""HTTP requests of a login: allowed targets, what they carry, and timeouts."""

from __future__ import annotations

import asyncio
import gzip
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from inspector.base.clock import SystemClock
from inspector.base.errors import NotReached, RequestTimedOut, UserError
from inspector.oauth.http import (
    MAX_DOCUMENT_SIZE,
    MAX_RESPONSE_SIZE,
    LoginHttp,
    LoginRecorder,
    LoginRequest,
    LoginResponse,
    check_addresses,
    get_document,
    post_form,
    post_json,
)
from inspector.protocol.auth.url_guard import PUBLIC_ONLY, Allowance, BlockReason, UrlBlocked, allowance_for
from inspector.traffic.log import TrafficLog
from inspector.traffic.records import Direction, HttpExchange, RecordKind
from inspector.transport.network import Network
from tests.helpers import httpfaults as faults
from tests.helpers.certificates import Authority
from tests.helpers.httpfaults import JSON_TYPE, FaultServer

LOCAL = Allowance(loopback=True)
ELSEWHERE = "https://mcp.example/mcp"  # another server than those in the test


@pytest.fixture
async def server() -> AsyncIterator[FaultServer]:
    async with FaultServer() as server:
        yield server


@pytest.fixture
async def other() -> AsyncIterator[FaultServer]:
    async with FaultServer() as server:
        yield server


@pytest.fixture
def log() -> TrafficLog:
    return TrafficLog()


@asynccontextmanager
async def login(
    log: TrafficLog,
    server_url: str = ELSEWHERE,
    allowance: Allowance = LOCAL,
    limit: float = 20.0,
    **network: Any,
) -> AsyncIterator[LoginHttp]:
    clock = SystemClock()
    recorder = LoginRecorder(log, "server", clock)
    allowance = replace(allowance, own_origin=allowance_for(server_url).own_origin)
    http = LoginHttp(Network(**network), allowance, clock, recorder, limit)
    try:
        yield http
    finally:
        await http.close()


@pytest.fixture
async def http(log: TrafficLog) -> AsyncIterator[LoginHttp]:
    async with login(log) as http:
        yield http


def rows(log: TrafficLog, kind: RecordKind) -> list[int]:
    return [row for row in range(len(log)) if log.kind(row) == kind]


def exchanges(log: TrafficLog) -> list[HttpExchange]:
    found = [log.http(row) for row in rows(log, RecordKind.HTTP)]
    return [exchange for exchange in found if exchange is not None]


@pytest.fixture
def names(monkeypatch: pytest.MonkeyPatch) -> dict[str, list[str]]:
    """Resolve these names as the test says."""
    real, known = socket.getaddrinfo, dict[str, list[str]]()

    def resolve(host: Any, port: Any, *args: Any, **options: Any) -> Any:
        if host not in known:
            return real(host, port, *args, **options)
        return [
            (socket.AF_INET6 if ":" in each else socket.AF_INET, socket.SOCK_STREAM, 6, "", (each, port))
            for each in known[host]
        ]

    monkeypatch.setattr(socket, "getaddrinfo", resolve)
    return known


async def test_document_is_requested_and_returned_in_full(server: FaultServer, http: LoginHttp) -> None:
    server.order("GET", faults.replies(200, b'{"issuer":"x"}', JSON_TYPE + "; charset=utf-8"))
    reply = await http.send(get_document(server.url(path="/.well-known/x"), (("MCP-Protocol-Version", "1"),)))
    assert (reply.status, reply.body, reply.content_type) == (200, b'{"issuer":"x"}', JSON_TYPE)
    assert reply.is_success
    (call,) = server.calls
    assert (call.method, call.path) == ("GET", "/.well-known/x")
    assert call.headers["accept"] == JSON_TYPE
    assert call.headers["accept-encoding"] == "identity"
    assert call.headers["mcp-protocol-version"] == "1"


async def test_form_is_url_encoded(server: FaultServer, http: LoginHttp) -> None:
    server.order("POST", faults.replies(400, b'{"error":"invalid_grant"}', JSON_TYPE))
    fields = [("code", "a b&c=d"), ("resource", "https://x/mcp"), ("resource", "ü")]
    reply = await http.send(post_form(server.url(path="/token"), fields, (("Authorization", "Basic eA=="),)))
    assert (reply.status, reply.is_success) == (400, False)
    (call,) = server.calls
    assert call.body == b"code=a+b%26c%3Dd&resource=https%3A%2F%2Fx%2Fmcp&resource=%C3%BC"
    assert call.headers["content-type"] == "application/x-www-form-urlencoded"
    assert call.headers["authorization"] == "Basic eA=="


async def test_a_registration_is_sent_as_json(server: FaultServer, http: LoginHttp) -> None:
    server.order("POST", faults.replies(201, b"{}", JSON_TYPE))
    await http.send(post_json(server.url(path="/register"), {"client_name": "Lens"}))
    assert server.calls[0].body == b'{"client_name":"Lens"}'


async def test_every_header_with_the_same_name_is_returned(server: FaultServer, http: LoginHttp) -> None:
    two = b"WWW-Authenticate: Bearer a=1\r\nwww-authenticate: DPoP\r\n"
    server.order("POST", faults.drops(b"HTTP/1.1 401 No\r\n" + two + b"Content-Length: 0\r\n\r\n"))
    reply = await http.send(LoginRequest("POST", server.url(), (), b"{}"))
    assert reply.values("WWW-Authenticate") == ("Bearer a=1", "DPoP")
    assert (reply.header("www-authenticate"), reply.header("x-none")) == ("Bearer a=1", "")


async def test_url_rejected_by_the_guard_is_not_contacted(server: FaultServer, log: TrafficLog) -> None:
    async with login(log, allowance=PUBLIC_ONLY) as http:
        with pytest.raises(UrlBlocked) as caught:
            await http.send(get_document(server.url()))
    assert caught.value.reason is BlockReason.LOOPBACK
    assert server.calls == []
    assert len(log) == 0


@pytest.mark.parametrize(
    ("addresses", "reason"),
    [
        (["127.0.0.1"], BlockReason.LOOPBACK),
        (["::1"], BlockReason.LOOPBACK),
        (["::ffff:127.0.0.1"], BlockReason.LOOPBACK),
        (["10.1.2.3"], BlockReason.PRIVATE),
        (["169.254.169.254"], BlockReason.RESERVED),
        (["fe80::1%eth0"], BlockReason.RESERVED),
        (["0.0.0.0"], BlockReason.RESERVED),
        (["93.184.216.34", "127.0.0.1"], BlockReason.LOOPBACK),
        (["2606:2800:220:1::1", "192.168.0.1"], BlockReason.PRIVATE),
    ],
)
async def test_host_name_that_resolves_to_a_forbidden_address_is_rejected_before_connecting(
    log: TrafficLog, names: dict[str, list[str]], addresses: list[str], reason: BlockReason
) -> None:
    """T12: a server's metadata makes MCP Lens contact internal addresses (SSRF)."""
    names["as.example"] = addresses
    async with login(log, allowance=PUBLIC_ONLY) as http:
        with pytest.raises(UrlBlocked, match=r"^as\.example resolves to ") as caught:
            await http.send(get_document("https://as.example/.well-known/x"))
    assert caught.value.reason is reason
    (exchange,) = exchanges(log)
    assert (exchange.status, exchange.connect_ns, exchange.is_over) == (None, None, True)
    assert exchange.error == caught.value.summary


async def test_host_name_that_resolves_to_this_machine_receives_nothing(
    server: FaultServer, log: TrafficLog, names: dict[str, list[str]]
) -> None:
    names["as.example"] = ["127.0.0.1"]
    async with login(log, allowance=Allowance(plain_http=True)) as http:
        with pytest.raises(UrlBlocked, match=r"resolves to 127\.0\.0\.1, a loopback address"):
            await http.send(post_form(server.url("as.example"), [("code", "x")]))
    assert server.calls == []
    assert not server.hung_up.is_set()  # no connection was made


def test_consent_allows_the_private_network_and_nothing_else() -> None:
    check_addresses(Allowance(private=True), "x", ["10.0.0.1", "93.184.216.34"])
    for address in ("127.0.0.1", "169.254.169.254"):
        with pytest.raises(UrlBlocked):
            check_addresses(Allowance(private=True), "x", [address])


async def test_user_configured_server_may_be_anywhere(
    server: FaultServer, log: TrafficLog, names: dict[str, list[str]]
) -> None:
    names["intranet.example"] = ["127.0.0.1"]
    own = server.url("intranet.example")
    server.order("GET", faults.replies(200, b"{}", JSON_TYPE))
    async with login(log, own, PUBLIC_ONLY) as http:
        assert (await http.send(get_document(own.replace("/mcp", "/.well-known/x")))).status == 200
        with pytest.raises(UrlBlocked):  # another port is another server
            await http.send(get_document(f"http://intranet.example:{server.port + 1}/"))


async def test_proxies_of_the_environment_are_not_used(
    server: FaultServer, other: FaultServer, http: LoginHttp, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, other.url(path=""))
    monkeypatch.delenv("no_proxy", raising=False)
    server.order("GET", faults.replies(200, b"{}", JSON_TYPE))
    reply = await http.send(get_document(server.url()))
    assert (len(server.calls), len(other.calls)) == (1, 0)
    assert reply.peer is not None
    assert not reply.peer.is_proxy


async def test_configured_proxy_resolves_names_itself(other: FaultServer, log: TrafficLog) -> None:
    other.order("GET", faults.replies(200, b"{}", JSON_TYPE))
    allowance = Allowance(plain_http=True)
    async with login(log, allowance=allowance, proxy=other.url(path="")) as http:
        reply = await http.send(get_document("http://as.example/x"))
    assert reply.status == 200
    assert other.calls[0].path == "http://as.example/x"
    assert reply.peer is not None
    assert reply.peer.lines() == (f"from 127.0.0.1 port {other.port}, a proxy",)


async def test_peer_is_identified_by_its_address_and_certificate(
    server: FaultServer, http: LoginHttp, tmp_path: Path, log: TrafficLog
) -> None:
    server.order("GET", faults.replies(200, b"{}", JSON_TYPE))
    plain = (await http.send(get_document(server.url("localhost")))).peer
    assert plain is not None
    assert (plain.address, plain.port, plain.tls) == ("127.0.0.1", server.port, "")
    assert plain.certificate is None
    authority = Authority(tmp_path)
    async with FaultServer(tls=authority.server("localhost")) as secured:
        secured.order("GET", faults.replies(200, b"{}", JSON_TYPE))
        async with login(log, login_ca_file=authority.ca_file) as trusting:
            peer = (await trusting.send(get_document(secured.url("localhost")))).peer
    assert peer is not None
    assert peer.tls.startswith("TLSv1.")
    assert peer.certificate is not None
    assert "localhost" in peer.certificate.names
    assert peer.certificate.issuer != peer.certificate.subject
    text = "\n".join(peer.lines())
    assert f"from 127.0.0.1 port {peer.port}, {peer.tls}" in text
    assert peer.certificate.issuer in text
    assert f"{peer.certificate.valid_until:%Y-%m-%d}" in text


async def test_server_headers_go_only_to_the_server_and_without_credentials(
    server: FaultServer, other: FaultServer, log: TrafficLog
) -> None:
    for each in (server, other):
        each.order("GET", faults.replies(200, b"{}", JSON_TYPE))
    async with login(log, server.url(), headers=(("Authorization", "Bearer key"), ("X-Key", "k"))) as http:
        await http.send(get_document(server.url()))
        await http.send(get_document(other.url()))
    assert server.calls[0].headers["x-key"] == "k"
    assert "authorization" not in server.calls[0].headers
    assert {"authorization", "x-key"}.isdisjoint(other.calls[0].headers)


async def test_network_settings_are_resolved_once_and_only_before_sending(
    server: FaultServer, log: TrafficLog
) -> None:
    looked_up: list[Network] = []

    async def look_up() -> Network:
        looked_up.append(Network(headers=(("X-Key", "k"),)))
        return looked_up[-1]

    clock = SystemClock()
    http = LoginHttp(look_up, allowance_for(server.url()), clock, LoginRecorder(log, "server", clock))
    assert looked_up == []
    server.order("GET", *[faults.replies(200, b"{}", JSON_TYPE)] * 2)
    for _ in range(2):
        await http.send(get_document(server.url()))
    assert len(looked_up) == 1
    assert [call.headers["x-key"] for call in server.calls] == ["k", "k"]
    await http.close()


async def test_cookies_are_not_stored(server: FaultServer, http: LoginHttp) -> None:
    server.order("GET", faults.replies(200, b"{}", JSON_TYPE, Set_Cookie="a=b; Path=/"))
    server.order("GET", faults.replies(200, b"{}", JSON_TYPE))
    for _ in range(2):
        await http.send(get_document(server.url()))
    assert "cookie" not in server.calls[1].headers


async def test_the_name_in_the_certificate_is_verified(tmp_path: Path, log: TrafficLog) -> None:
    authority = Authority(tmp_path)
    for name, is_right in (("localhost", True), ("elsewhere.example", False)):
        async with FaultServer(tls=authority.server(name)) as server:
            server.order("GET", faults.replies(200, b"{}", JSON_TYPE))
            async with login(log, login_ca_file=authority.ca_file) as http:
                if is_right:
                    assert (await http.send(get_document(server.url("localhost")))).status == 200
                else:
                    with pytest.raises(NotReached, match="issued to another name"):
                        await http.send(get_document(server.url("localhost")))


async def test_disabled_verification_applies_only_to_the_server_origin(
    tmp_path: Path, log: TrafficLog
) -> None:
    """T36: TLS verification that is off for a server is off for the authorization server too."""
    tls = Authority(tmp_path).server("elsewhere.example")
    async with FaultServer(tls=tls) as server, FaultServer(tls=tls) as other:
        server.order("GET", faults.replies(200, b"{}", JSON_TYPE))
        async with login(log, server.url(), verify=False) as http:
            assert (await http.send(get_document(server.url()))).status == 200
            with pytest.raises(NotReached, match="certificate"):
                await http.send(get_document(other.url()))
        assert other.calls == []


async def test_ca_file_of_the_server_is_not_trusted_for_other_hosts(tmp_path: Path, log: TrafficLog) -> None:
    """T36: an operator who made the user trust a certificate cannot impersonate the authorization server."""
    authority = Authority(tmp_path)
    tls = authority.server("127.0.0.1")
    async with FaultServer(tls=tls) as server, FaultServer(tls=tls) as other:
        server.order("GET", faults.replies(200, b"{}", JSON_TYPE))
        async with login(log, server.url(), ca_file=authority.ca_file) as http:
            assert (await http.send(get_document(server.url()))).status == 200
            with pytest.raises(NotReached, match="not signed by a trusted authority"):
                await http.send(post_form(other.url(), [("client_secret", "s"), ("code", "c")]))
        assert other.calls == []


async def test_client_certificate_is_sent_only_to_the_server_origin(tmp_path: Path, log: TrafficLog) -> None:
    authority = Authority(tmp_path)
    certificate, key = authority.issue("me")
    tls = authority.server("127.0.0.1", wants_client=True)
    network: dict[str, Any] = {
        "ca_file": authority.ca_file,
        "login_ca_file": authority.ca_file,
        "client_certificate": certificate,
        "client_key": key,
    }
    async with FaultServer(tls=tls) as server, FaultServer(tls=tls) as other:
        server.order("GET", faults.replies(200, b"{}", JSON_TYPE))
        async with login(log, server.url(), **network) as http:
            assert (await http.send(get_document(server.url()))).status == 200
            with pytest.raises(UserError):
                await http.send(get_document(other.url()))
        assert other.calls == []


def moved(status: int, to: str) -> faults.Fault:
    return faults.replies(status, b"moved", "text/plain", Location=to)


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
async def test_a_document_may_move_within_its_origin(
    server: FaultServer, http: LoginHttp, log: TrafficLog, status: int
) -> None:
    server.order("GET", moved(status, "/there"), faults.replies(200, b"{}", JSON_TYPE))
    reply = await http.send(get_document(server.url()))
    assert (reply.status, reply.url) == (200, server.url(path="/there"))
    assert reply.redirects == (server.url(path="/there"),)
    assert [call.path for call in server.calls] == ["/mcp", "/there"]
    assert [exchange.status for exchange in exchanges(log)] == [status, 200]
    assert reply.row == rows(log, RecordKind.HTTP)[1]


@pytest.mark.parametrize("status", [301, 302, 307, 308])
async def test_redirect_to_another_origin_is_not_followed(
    server: FaultServer, other: FaultServer, http: LoginHttp, status: int
) -> None:
    """T10: a redirect carries tokens or bodies to another host."""
    server.order("GET", moved(status, other.url()))
    reply = await http.send(get_document(server.url()))
    assert (reply.status, reply.header("location")) == (status, other.url())
    assert reply.redirects == ()
    assert other.calls == []


@pytest.mark.parametrize(
    "to",
    [
        "http://169.254.169.254/latest/",
        "file:///etc/passwd",
        "//evil.example/",
        "http://user@HERE/",
        "",
        "http://[",
        "https://HERE/",
    ],
)
async def test_unsafe_redirect_is_returned_and_not_followed(
    server: FaultServer, http: LoginHttp, to: str
) -> None:
    server.order("GET", moved(302, to.replace("HERE", f"127.0.0.1:{server.port}")))
    assert (await http.send(get_document(server.url()))).status == 302
    assert len(server.calls) == 1


class Encrypting(LoginHttp):
    """Servers that redirect everything to https, inside the test only."""

    requested: tuple[str, ...] = ()

    async def _exchange(self, request: LoginRequest) -> LoginResponse:
        self.check(request.url)
        self.requested = (*self.requested, request.url)
        if request.url.startswith("https://"):
            return LoginResponse(request.url, 200, (), b"{}")
        return LoginResponse(
            request.url, 301, (("Location", f"https{request.url.removeprefix('http')}"),), b""
        )


async def test_document_follows_a_redirect_to_https_unless_it_carries_credentials(log: TrafficLog) -> None:
    clock = SystemClock()
    plain = allowance_for("http://mcp.example/mcp", plain_http=True)
    http = Encrypting(Network(), plain, clock, LoginRecorder(log, "server", clock))
    there = "http://mcp.example/.well-known/x"
    reply = await http.send(get_document(there))
    assert (reply.status, reply.url) == (200, there.replace("http", "https"))
    assert reply.redirects == (reply.url,)
    with_secret = get_document(there, (("Authorization", "Bearer x"),))
    probe = LoginRequest("POST", there, (), b"probe", follows_redirects=True)
    for request in (with_secret, probe, post_form(there, [("code", "secret")])):
        assert (await http.send(request)).status == 301
    assert sum(url.startswith("https") for url in http.requested) == 1
    await http.close()


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
async def test_token_request_is_never_resent_to_a_redirect(
    server: FaultServer, http: LoginHttp, status: int
) -> None:
    server.order("POST", moved(status, "/other"))
    reply = await http.send(post_form(server.url(path="/token"), [("code", "secret")]))
    assert reply.status == status
    assert len(server.calls) == 1


async def test_probe_may_redirect_when_its_method_stays(server: FaultServer, http: LoginHttp) -> None:
    server.order("POST", moved(307, "/mcp/"), faults.replies(401))
    request = LoginRequest("POST", server.url(), (), b"probe", follows_redirects=True)
    assert (await http.send(request)).status == 401
    assert [(call.path, call.body) for call in server.calls] == [("/mcp", b"probe"), ("/mcp/", b"probe")]
    server.order("POST", moved(302, "/mcp/"))
    assert (await http.send(request)).status == 302


async def test_at_most_five_redirects_are_followed(server: FaultServer, http: LoginHttp) -> None:
    server.order("GET", *(moved(302, f"/{number}") for number in range(20)))
    reply = await http.send(get_document(server.url()))
    assert (reply.status, len(reply.redirects), len(server.calls)) == (302, 5, 6)


@pytest.mark.parametrize(("cap", "size"), [(MAX_DOCUMENT_SIZE, "64 KiB"), (MAX_RESPONSE_SIZE, "1.0 MiB")])
async def test_response_at_the_size_limit_is_accepted_and_one_beyond_it_is_not(
    server: FaultServer, http: LoginHttp, cap: int, size: str
) -> None:
    server.order("GET", faults.replies(200, b"x" * cap), faults.replies(200, b"x" * (cap + 1)))
    request = LoginRequest("GET", server.url(), cap=cap)
    assert len((await http.send(request)).body) == cap
    with pytest.raises(UserError, match=f"larger than {size}.*Check the URL"):
        await http.send(request)


async def test_endless_response_is_cut_off(server: FaultServer, http: LoginHttp, log: TrafficLog) -> None:
    async def endless(call: faults.Call) -> None:
        await call.start(200, JSON_TYPE)
        while True:
            await call.chunk(b" " * 4096)

    server.order("GET", endless)
    with pytest.raises(UserError, match="larger than 64 KiB"):
        await http.send(get_document(server.url()))
    async with asyncio.timeout(20):
        await server.hung_up.wait()
    (exchange,) = exchanges(log)
    assert exchange.is_over
    assert "larger than" in exchange.error


@pytest.mark.parametrize("encoding", ["gzip", "deflate"])
async def test_decompression_bomb_is_not_unpacked(
    server: FaultServer, http: LoginHttp, encoding: str
) -> None:
    """T25: a small compressed response expands until memory is full."""
    bomb = gzip.compress(bytes(50 * 1024 * 1024))
    assert len(bomb) < MAX_DOCUMENT_SIZE
    server.order("GET", faults.replies(200, bomb, JSON_TYPE, Content_Encoding=encoding))
    with pytest.raises(UserError, match="larger than 64 KiB"):
        await http.send(get_document(server.url()))


@pytest.mark.parametrize("encoding", ["br", "zstd", "gzip, gzip"])
async def test_unrequested_encoding_is_not_unpacked(
    server: FaultServer, http: LoginHttp, encoding: str
) -> None:
    server.order("GET", faults.replies(200, b"{}", JSON_TYPE, Content_Encoding=encoding))
    with pytest.raises(UserError, match="compressed with"):
        await http.send(get_document(server.url()))


async def drips(call: faults.Call) -> None:
    """Respond slowly, one byte at a time, until the client disconnects."""
    await call.start(200, JSON_TYPE)
    while True:
        await call.chunk(b" ")
        await asyncio.sleep(0.005)


async def test_step_times_out_when_nothing_arrives(server: FaultServer, log: TrafficLog) -> None:
    gate = asyncio.Event()
    server.order("GET", faults.after(gate))
    async with login(log, limit=0.5) as http:
        with pytest.raises(
            RequestTimedOut, match=r"127\.0\.0\.1 did not complete its response within 500 ms"
        ):
            await http.send(get_document(server.url()))
    assert exchanges(log)[0].is_over
    gate.set()


async def test_step_times_out_when_data_trickles_in(server: FaultServer, log: TrafficLog) -> None:
    """T39: an authorization server that never completes its response blocks the login."""
    server.order("GET", drips)
    async with login(log, limit=0.2) as http:
        with pytest.raises(RequestTimedOut):
            await http.send(get_document(server.url()))


async def test_redirects_share_the_timeout_of_a_step(server: FaultServer, log: TrafficLog) -> None:
    async def slow(call: faults.Call) -> None:
        await asyncio.sleep(0.08)
        await call.reply(302, Location=f"/{len(server.calls)}")

    server.order("GET", *[slow] * 10)
    async with login(log, limit=0.2) as http:
        with pytest.raises(RequestTimedOut):
            await http.send(get_document(server.url()))
    assert len(server.calls) < 5


async def test_cancelling_ends_the_exchange(server: FaultServer, http: LoginHttp, log: TrafficLog) -> None:
    server.order("GET", drips)
    sending = asyncio.get_running_loop().create_task(http.send(get_document(server.url())))
    await server.wait_for("GET")
    sending.cancel()
    with pytest.raises(asyncio.CancelledError):
        await sending
    async with asyncio.timeout(20):
        await server.hung_up.wait()
    (exchange,) = exchanges(log)
    assert "no longer needed" in exchange.error


async def test_closed_port_is_reported_in_a_sentence(http: LoginHttp, log: TrafficLog) -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    with pytest.raises(NotReached, match="nothing is listening on"):
        await http.send(get_document(f"http://127.0.0.1:{port}/"))


async def test_exchanges_with_all_servers_are_rows_of_one_log(
    server: FaultServer, other: FaultServer, http: LoginHttp, log: TrafficLog
) -> None:
    server.order("GET", faults.replies(200, b'{"a":1}', JSON_TYPE))
    other.order("POST", faults.replies(200, b'{"access_token":"t"}', JSON_TYPE))
    first = await http.send(get_document(server.url()))
    second = await http.send(post_form(other.url(path="/token"), [("code", "c")]))
    metadata, token = exchanges(log)
    assert [first.row, second.row] == rows(log, RecordKind.HTTP)
    assert (metadata.url, metadata.status, metadata.body) == (server.url(), 200, b'{"a":1}')
    assert (token.url, token.body) == (other.url(path="/token"), b'{"access_token":"t"}')
    assert (token.request_size, token.response_size, token.is_over) == (6, 20, True)
    assert token.total_ns is not None
    (body,) = rows(log, RecordKind.LOGIN)
    assert (log.raw(body), log.direction(body), log.exchange(body)) == (b"code=c", Direction.OUT, second.row)
    assert {log.server_name(row) for row in range(len(log))} == {"server"}


def test_step_is_recorded_as_a_described_row() -> None:
    log = TrafficLog()
    LoginRecorder(log, "server", SystemClock()).step("The login page was opened.")
    (row,) = rows(log, RecordKind.LOGIN)
    assert (log.raw(row), log.direction(row)) == (b"The login page was opened.", Direction.NONE)
    assert log.exchange(row) is None


async def test_a_live_session_and_a_login_do_not_mix_up_their_exchanges(server: FaultServer) -> None:
    log, clock = TrafficLog(), SystemClock()
    session, recorder = LoginRecorder(log, "server", clock), LoginRecorder(log, "server", clock)
    for each in (session, recorder):
        server.order("GET", faults.replies(200, b"{}", JSON_TYPE))
        http = LoginHttp(Network(), LOCAL, clock, each)
        await http.send(get_document(server.url()))
        await http.close()
    assert session.row_of(1) != recorder.row_of(1)
    assert [exchange.is_over for exchange in exchanges(log)] == [True, True]

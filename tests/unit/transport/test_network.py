"""Network options: TLS and certificates, proxies, name resolution, timings, cookies."""

from __future__ import annotations

import asyncio
import re
import socket
import ssl
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpcore2
import pytest

from inspector.base.clock import SystemClock
from inspector.base.errors import ConfigError
from inspector.transport.base import HttpResponded
from inspector.transport.dialer import Dialer
from inspector.transport.network import Network, make_tls_context, proxy_for
from inspector.transport.streamable_http import StreamableHttpTransport
from tests.helpers import httpfaults as faults
from tests.helpers.certificates import Authority
from tests.helpers.http2server import Http2Server
from tests.helpers.httpfaults import FaultServer
from tests.helpers.httpstage import on_stage


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    return Authority(tmp_path)


async def ask(server: FaultServer, host: str = "127.0.0.1", **network: Any) -> str:
    """Return "answered" for a successful call, or its error message."""
    transport = StreamableHttpTransport(server.url(host), Network(**network), SystemClock())
    async with on_stage(transport) as stage:
        outcome = await stage.log.outcome(await stage.request())
        return str(outcome) if isinstance(outcome, Exception) else "answered"


async def test_a_configured_authority_is_trusted(authority: Authority) -> None:
    async with FaultServer(tls=authority.server("127.0.0.1")) as server:
        assert await ask(server, ca_file=authority.ca_file) == "answered"


async def test_unknown_authority_is_named_with_how_to_trust_it(authority: Authority) -> None:
    async with FaultServer(tls=authority.server("127.0.0.1")) as server:
        assert re.fullmatch(
            r"The certificate of 127\.0\.0\.1:\d+ is not signed by a trusted authority "
            r"\(.*issuer.*\)\. If you know its authority, set the CA file for it in Edit server….*",
            await ask(server),
        )


async def test_without_verification_any_certificate_is_accepted(authority: Authority) -> None:
    async with FaultServer(tls=authority.server("elsewhere.example", expired=True)) as server:
        assert await ask(server, verify=False) == "answered"


async def test_a_certificate_for_another_name_is_refused(authority: Authority) -> None:
    async with FaultServer(tls=authority.server("elsewhere.example")) as server:
        for host in ("127.0.0.1", "localhost"):
            assert re.search(
                rf"The certificate of {host}:\d+ is issued to another name: .*{host}.*Use a name",
                await ask(server, host, ca_file=authority.ca_file),
            )


async def test_an_expired_certificate_is_refused(authority: Authority) -> None:
    async with FaultServer(tls=authority.server("127.0.0.1", expired=True)) as server:
        assert re.fullmatch(
            r"The certificate of 127\.0\.0\.1:\d+ has expired\. Renew it on the server, and check.*",
            await ask(server, ca_file=authority.ca_file),
        )


async def test_client_certificate_is_sent_to_a_server_that_requires_one(authority: Authority) -> None:
    certificate, key = authority.issue("me")
    async with FaultServer(tls=authority.server("127.0.0.1", wants_client=True)) as server:
        network = {"ca_file": authority.ca_file, "client_certificate": certificate, "client_key": key}
        assert await ask(server, **network) == "answered"


@contextmanager
def peer(conversation: Callable[[socket.socket], object]) -> Iterator[str]:
    """Yield the URL of a one-connection server on a thread. asyncio's servers send no TLS alerts."""
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve() -> None:
            connection, _ = listener.accept()
            with connection:
                conversation(connection)

        thread = threading.Thread(target=serve)
        thread.start()
        yield f"https://127.0.0.1:{listener.getsockname()[1]}/mcp"
        thread.join()


async def ask_url(url: str, **network: Any) -> str:
    async with on_stage(StreamableHttpTransport(url, Network(**network), SystemClock())) as stage:
        return await stage.fail()


def refusing(context: ssl.SSLContext) -> Callable[[socket.socket], None]:
    """Return the server side of a failing handshake."""

    def conversation(connection: socket.socket) -> None:
        wrapped = context.wrap_socket(connection, server_side=True, do_handshake_on_connect=False)
        with wrapped:
            with pytest.raises(ssl.SSLError):
                wrapped.do_handshake()
            with socket.socket(fileno=wrapped.detach()) as raw:
                raw.shutdown(socket.SHUT_WR)
                while raw.recv(65536):
                    pass  # else the alert is lost in a reset

    return conversation


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
async def test_missing_client_certificate_is_reported(authority: Authority, version: ssl.TLSVersion) -> None:
    context = authority.server("127.0.0.1", wants_client=True)
    context.maximum_version = version
    with peer(refusing(context)) as url:
        failure = await ask_url(url, ca_file=authority.ca_file)
    assert re.search("client certificate.* Configure a client|It may require a client certificate", failure)


async def test_a_client_certificate_of_another_authority_is_refused(
    authority: Authority, tmp_path: Path
) -> None:
    certificate, key = Authority(tmp_path, "Stranger").issue("me")
    with peer(refusing(authority.server("127.0.0.1", wants_client=True))) as url:
        network = {"ca_file": authority.ca_file, "client_certificate": certificate, "client_key": key}
        failure = await ask_url(url, **network)
    assert "does not trust the authority of your client certificate" in failure


async def test_hang_up_without_a_certificate_mentions_that_possible_cause(
    authority: Authority,
) -> None:
    async with FaultServer(tls=authority.server("127.0.0.1", wants_client=True)) as server:
        assert re.search(
            r"dropped the connection before it responded.*or require a client certificate",
            await ask(server, ca_file=authority.ca_file),
        )


async def test_plain_http_where_tls_was_expected_is_recognized() -> None:
    def conversation(connection: socket.socket) -> None:
        connection.recv(65536)
        connection.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")

    with peer(conversation) as url:
        assert re.search(r"does not use TLS on this port\. Try http://", await ask_url(url))


async def test_unfinished_handshake_times_out() -> None:
    timed_out = threading.Event()
    with peer(lambda connection: timed_out.wait(20)) as url:
        failure = await ask_url(url, connect_timeout=0.05)
        timed_out.set()
    assert re.search(r"did not accept a connection in time\. Check the URL", failure)


def test_unusable_files_are_named(authority: Authority, tmp_path: Path) -> None:
    certificate, key = authority.issue("me")
    _, other_key = authority.issue("you")
    locked, locked_key = authority.issue("locked", password="secret")
    text = tmp_path / "notes.txt"
    text.write_text("nothing in here")
    cases: list[tuple[dict[str, str], str]] = [
        (
            {"ca_file": "/no/such.pem"},
            r"Could not read the CA file /no/such\.pem: No such file.*Check the path",
        ),
        (
            {"ca_file": str(text)},
            r"The CA file .*notes\.txt contains no valid certificate.*must be a PEM file",
        ),
        ({"client_certificate": "/no/me.crt"}, r"Could not read the client certificate /no/me\.crt"),
        (
            {"client_certificate": certificate, "client_key": "/no/me.key"},
            r"Could not read the client key /no/me\.key",
        ),
        ({"client_certificate": certificate, "client_key": other_key}, r"does not match the certificate"),
        (
            {"client_certificate": str(text)},
            r"Could not read the client certificate .* or its key\. Both must be PEM",
        ),
        ({"client_certificate": locked, "client_key": locked_key}, r"is protected by a password"),
        ({"client_key": key}, r"A client key is configured, but no client certificate"),
    ]
    for settings, sentence in cases:
        with pytest.raises(ConfigError, match=sentence):
            make_tls_context(Network(**settings))  # type: ignore[arg-type]


async def test_an_unusable_file_is_reported_when_the_connection_is_opened() -> None:
    transport = StreamableHttpTransport("https://127.0.0.1/", Network(ca_file="/no/such.pem"), SystemClock())
    with pytest.raises(ConfigError, match="CA file"):
        await transport.open(lambda event: None)
    await transport.close()


def test_system_trust_store_is_used_by_default() -> None:
    context = make_tls_context(Network())
    assert context.verify_mode is ssl.CERT_REQUIRED
    assert context.check_hostname


def test_tls_below_1_2_is_refused_where_python_leaves_it_to_openssl(monkeypatch: pytest.MonkeyPatch) -> None:
    def create_context_like_debian(**options: object) -> ssl.SSLContext:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.minimum_version = ssl.TLSVersion.MINIMUM_SUPPORTED
        return context

    monkeypatch.setattr("httpx2.create_ssl_context", create_context_like_debian)
    assert make_tls_context(Network()).minimum_version is ssl.TLSVersion.TLSv1_2


async def test_phases_of_a_new_connection_are_timed_separately(authority: Authority) -> None:
    async with FaultServer(tls=authority.server("localhost")) as server:
        transport = StreamableHttpTransport(
            server.url("localhost"), Network(ca_file=authority.ca_file), SystemClock()
        )
        async with on_stage(transport) as stage:
            await stage.call()
            times = (await stage.log.ended(1)).timings
            parts = [times.dns, times.connect, times.tls, times.first_byte]
            assert times.total is not None
            assert all(part is not None and 0 < part < times.total for part in parts)
            await stage.call()
            again = (await stage.log.ended(2)).timings
            assert (again.dns, again.connect, again.tls) == (None, None, None)


async def test_ip_address_needs_no_name_resolution() -> None:
    async with FaultServer() as server:
        transport = StreamableHttpTransport(server.url(), Network(), SystemClock())
        async with on_stage(transport) as stage:
            await stage.call()
            times = (await stage.log.ended(1)).timings
            assert times.dns is None
            assert times.connect is not None
            assert times.tls is None


def resolving(monkeypatch: pytest.MonkeyPatch, addresses: Sequence[str]) -> None:
    async def getaddrinfo(host: str, port: int, **_: object) -> list[object]:
        families = [socket.AF_INET6 if ":" in address else socket.AF_INET for address in addresses]
        return [
            (family, socket.SOCK_STREAM, 6, "", (address, port))
            for family, address in zip(families, addresses, strict=True)
        ]

    monkeypatch.setattr(asyncio.get_running_loop(), "getaddrinfo", getaddrinfo)


class Connections(httpcore2.AnyIOBackend):
    """A network backend whose addresses accept, refuse or never respond."""

    def __init__(self) -> None:
        self.tried: list[str] = []

    async def connect_tcp(self, host: str, *_: Any, **__: Any) -> httpcore2.AsyncNetworkStream:
        self.tried.append(host)
        if host.startswith("192.0.2."):
            raise httpcore2.ConnectError(f"{host} refused")
        if host.startswith("2001:db8:"):
            await asyncio.Event().wait()  # never responds
        return httpcore2.AsyncNetworkStream()


def dialer() -> tuple[Dialer, Connections]:
    dialer, connections = Dialer(), Connections()
    dialer._inner = connections
    return dialer, connections


async def test_the_next_address_is_tried_when_one_refuses(monkeypatch: pytest.MonkeyPatch) -> None:
    resolving(monkeypatch, ["192.0.2.1", "192.0.2.2", "198.51.100.1"])
    dial, connections = dialer()
    await dial.connect_tcp("server.example", 80)
    assert connections.tried == ["192.0.2.1", "192.0.2.2", "198.51.100.1"]


async def test_address_of_the_other_family_is_tried_in_parallel_to_a_silent_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    resolving(monkeypatch, ["2001:db8::1", "2001:db8::2", "198.51.100.1"])
    monkeypatch.setattr("inspector.transport.dialer._ATTEMPT_DELAY", 0.01)
    dial, connections = dialer()
    await dial.connect_tcp("server.example", 80)
    assert connections.tried == ["2001:db8::1", "198.51.100.1"]


async def test_when_all_addresses_refuse_the_failure_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    resolving(monkeypatch, ["192.0.2.1", "192.0.2.2"])
    dial, _ = dialer()
    with pytest.raises(httpcore2.ConnectError, match=r"192\.0\.2\.2 refused"):
        await dial.connect_tcp("server.example", 80)


async def test_connection_timeout_is_respected(monkeypatch: pytest.MonkeyPatch) -> None:
    resolving(monkeypatch, ["2001:db8::1"])
    dial, _ = dialer()
    with pytest.raises(httpcore2.ConnectTimeout):
        await dial.connect_tcp("server.example", 80, timeout=0.01)


async def test_unknown_host_name_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    async def getaddrinfo(*_: object, **__: object) -> None:
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    monkeypatch.setattr(asyncio.get_running_loop(), "getaddrinfo", getaddrinfo)
    transport = StreamableHttpTransport("http://no.such.example:80/mcp", Network(), SystemClock())
    async with on_stage(transport) as stage:
        assert await stage.fail() == (
            "Could not resolve the host name no.such.example: Name or service not known. "
            "Check the URL and the DNS settings."
        )


async def test_a_configured_proxy_is_used() -> None:
    async with FaultServer() as proxy:
        network = Network(proxy=proxy.url(path=""))
        transport = StreamableHttpTransport("http://server.example/mcp", network, SystemClock())
        async with on_stage(transport) as stage:
            await stage.call()
    assert proxy.calls[0].path == "http://server.example/mcp"


async def test_rejecting_proxy_is_named() -> None:
    async with FaultServer() as proxy:
        proxy.order("CONNECT", faults.replies(407))
        network = Network(proxy=proxy.url(path=""))
        transport = StreamableHttpTransport("https://server.example/mcp", network, SystemClock())
        async with on_stage(transport) as stage:
            assert re.search(
                r"The proxy refused the connection to server\.example: .*407.*Check the proxy",
                await stage.fail(),
            )


@pytest.mark.parametrize("proxy", ["ftp://proxy.example", "http://proxy.example:port"])
async def test_invalid_proxy_is_rejected(proxy: str) -> None:
    transport = StreamableHttpTransport("http://127.0.0.1/", Network(proxy=proxy), SystemClock())
    with pytest.raises(ConfigError, match=re.escape(f"The proxy {proxy!r} cannot be used")):
        await transport.open(lambda event: None)


@pytest.mark.parametrize(
    ("requested", "url", "proxy"),
    [
        (False, "http://server.example/", ""),
        (True, "http://server.example/", "http://plain.example:1"),
        (True, "https://server.example/", "http://secure.example:2"),
        (True, "wss://server.example/", "http://secure.example:2"),
        (True, "http://inside.example/", ""),
    ],
)
def test_environment_proxy_is_used_only_on_request(
    monkeypatch: pytest.MonkeyPatch, requested: bool, url: str, proxy: str
) -> None:
    monkeypatch.setenv("http_proxy", "http://plain.example:1")
    monkeypatch.setenv("https_proxy", "secure.example:2")
    monkeypatch.setenv("no_proxy", "inside.example")
    assert proxy_for(Network(use_environment_proxy=requested), url) == proxy


def test_a_configured_proxy_wins_over_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", "http://plain.example:1")
    network = Network(proxy="http://mine.example:3", use_environment_proxy=True)
    assert proxy_for(network, "http://server.example/") == "http://mine.example:3"


async def test_cookie_is_sent_back_to_its_server_and_no_other() -> None:
    async with FaultServer() as one, FaultServer() as other:
        one.order("tools/call", faults.stream(Set_Cookie="node=7; Path=/"))
        for server in (one, other):
            transport = StreamableHttpTransport(server.url(), Network(), SystemClock())
            async with on_stage(transport) as stage:
                await stage.call()
                await stage.call()
    assert [call.headers.get("cookie") for call in one.calls] == [None, "node=7"]
    assert [call.headers.get("cookie") for call in other.calls] == [None, None]


async def test_http2_is_used_on_request(authority: Authority) -> None:
    context = authority.server("127.0.0.1")
    context.set_alpn_protocols(["h2"])
    async with Http2Server(context) as url:
        network = Network(ca_file=authority.ca_file, http2=True)
        async with on_stage(StreamableHttpTransport(url, network, SystemClock())) as stage:
            await asyncio.gather(*[stage.call() for _ in range(3)])
            (responded, *_) = stage.log.all(HttpResponded)
            assert responded.http_version == "HTTP/2"
            assert (await stage.log.ended(1)).timings.first_byte is not None


async def test_asking_for_http2_does_not_exclude_a_server_without_it() -> None:
    async with FaultServer() as server:
        assert await ask(server, http2=True) == "answered"

"""The loopback listener over real sockets: what it accepts, and what has no effect."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import random
import socket
from collections.abc import AsyncIterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inspector.base.clock import SystemClock
from inspector.base.errors import (
    ConfigError,
    LocalProtocolError,
    RequestCancelled,
    RequestTimedOut,
    UserError,
)
from inspector.oauth.callback import CallbackWaiter, masked_target
from inspector.oauth.loopback import LoopbackListener, _bind_error
from inspector.protocol.auth.authorization_request import read_callback

STATE = "the-state-of-this-login"
GOOD = f"code=c0de&state={STATE}&iss=https%3A%2F%2Fas.example"
LIMIT = 20.0


@pytest.fixture
async def listener() -> AsyncIterator[LoopbackListener]:
    async with LoopbackListener(SystemClock()) as listener:
        listener.wait.expect(STATE)
        yield listener


def port_of(listener: LoopbackListener) -> int:
    return int(listener.wait.redirect_uri.rpartition(":")[2].partition("/")[0])


async def send(listener: LoopbackListener, data: bytes, host: str = "127.0.0.1") -> bytes:
    """Write these bytes and return the response until the listener closes."""
    async with asyncio.timeout(LIMIT):
        reader, writer = await asyncio.open_connection(host, port_of(listener))
        try:
            writer.write(data)
            writer.write_eof()
            return await reader.read()
        finally:
            writer.close()


def request(
    listener: LoopbackListener, query: str, *, path: str = "/callback", method: str = "GET", host: str = ""
) -> bytes:
    host = host or f"127.0.0.1:{port_of(listener)}"
    return f"{method} {path}?{query} HTTP/1.1\r\nHost: {host}\r\nAccept: */*\r\n\r\n".encode()


async def visit(listener: LoopbackListener, query: str) -> bytes:
    return await send(listener, request(listener, query))


async def assert_still_waits(listener: LoopbackListener) -> None:
    assert (await visit(listener, GOOD)).startswith(b"HTTP/1.1 200 ")
    assert await listener.wait.response(LIMIT) == f"?{GOOD}"


async def test_callback_is_the_raw_query(listener: LoopbackListener) -> None:
    waiting = asyncio.get_running_loop().create_task(listener.wait.response(LIMIT))
    page = await visit(listener, GOOD)
    assert page.startswith(b"HTTP/1.1 200 OK\r\n")
    assert b"You can close this tab" in page
    assert await waiting == f"?{GOOD}"


async def test_error_is_a_callback_too(listener: LoopbackListener) -> None:
    query = f"error=access_denied&state={STATE}"
    await visit(listener, query)
    assert await listener.wait.response(LIMIT) == f"?{query}"


async def test_callback_received_before_anyone_waits_is_kept(listener: LoopbackListener) -> None:
    await visit(listener, GOOD)
    assert await listener.wait.response(LIMIT) == f"?{GOOD}"


async def test_only_the_first_callback_counts(listener: LoopbackListener) -> None:
    await visit(listener, GOOD)
    page = await visit(listener, f"code=another&state={STATE}")
    assert page.startswith(b"HTTP/1.1 400 ")
    assert await listener.wait.response(LIMIT) == f"?{GOOD}"
    assert [hit.refusal for hit in listener.wait.hits] == [
        "",
        "An authorization response was already received.",
    ]


async def test_page_is_sent_before_the_callback_is_delivered() -> None:
    async with asyncio.timeout(LIMIT):
        async with LoopbackListener(SystemClock()) as listener:
            listener.wait.expect(STATE)
            reader, writer = await asyncio.open_connection("127.0.0.1", port_of(listener))
            writer.write(request(listener, GOOD))
            await listener.wait.response(LIMIT)
        # The listener is closed, and the browser reads only now.
        assert b"You can close this tab" in await reader.read()
        writer.close()


async def test_browser_may_disconnect_before_the_page_is_sent(listener: LoopbackListener) -> None:
    _, writer = await asyncio.open_connection("127.0.0.1", port_of(listener))
    writer.write(request(listener, GOOD))
    await writer.drain()
    writer.transport.abort()
    assert await listener.wait.response(LIMIT) == f"?{GOOD}"


async def test_request_may_arrive_in_pieces(listener: LoopbackListener) -> None:
    async with asyncio.timeout(LIMIT):
        reader, writer = await asyncio.open_connection("127.0.0.1", port_of(listener))
        for byte in request(listener, GOOD):
            writer.write(bytes([byte]))
            await writer.drain()
        assert (await reader.read()).startswith(b"HTTP/1.1 200 ")
        writer.close()


async def test_pages_are_static_and_cannot_do_anything(listener: LoopbackListener) -> None:
    for query in (f"error=<script>alert(1)</script>&state={STATE}x", f"error=%3Cscript%3E&state={STATE}"):
        page = (await visit(listener, query)).decode()
        head, _, body = page.partition("\r\n\r\n")
        assert "script" not in body
        assert STATE not in page
        for header in (
            "Content-Security-Policy: default-src 'none'",
            "X-Content-Type-Options: nosniff",
            "Cache-Control: no-store",
            "Referrer-Policy: no-referrer",
            f"Content-Length: {len(body.encode())}",
        ):
            assert f"\r\n{header}" in head


REFUSED = [
    ("code=c&state=wrong", "Its state does not match this login."),
    (f"code=c&state={STATE.upper()}", "Its state does not match this login."),
    (f"code=c&state={STATE}%00", "Its state does not match this login."),
    ("code=c", "It has no state parameter."),
    ("code=c&state=", "It has no state parameter."),
    ("", "It has no state parameter."),
    (f"code=c&code=d&state={STATE}", "It has the parameter code more than once."),
    (f"code=c&state={STATE}&state={STATE}", "It has the parameter state more than once."),
    (f"code=c&%63ode=d&state={STATE}", "It has the parameter code more than once."),
    (f"code=c&state={STATE}&iss=a&iss=a", "It has the parameter iss more than once."),
    (f"code=%ff&state={STATE}", "Its parameters are malformed."),
    (f"code=%zz&state={STATE}", "Its parameters are malformed."),
    ("&".join(f"p{number}=1" for number in range(60)) + f"&state={STATE}", "Its parameters are malformed."),
]


@pytest.mark.parametrize(("query", "refusal"), REFUSED)
async def test_unrelated_request_is_rejected_and_the_wait_continues(
    listener: LoopbackListener, query: str, refusal: str
) -> None:
    assert (await visit(listener, query)).startswith(b"HTTP/1.1 400 ")
    assert [hit.refusal for hit in listener.wait.hits] == [refusal]
    await assert_still_waits(listener)


async def test_nothing_is_accepted_before_a_login_waits() -> None:
    async with LoopbackListener(SystemClock()) as listener:
        assert (await visit(listener, "code=c&state=")).startswith(b"HTTP/1.1 400 ")
        assert listener.wait.hits[0].refusal == "No login is waiting for an authorization response yet."
        listener.wait.expect(STATE)
        await assert_still_waits(listener)


async def test_an_empty_state_is_never_expected() -> None:
    with pytest.raises(LocalProtocolError):
        CallbackWaiter("http://127.0.0.1:1/callback", SystemClock()).expect("")


@pytest.mark.parametrize(
    ("data", "status"),
    [
        (b"GET /favicon.ico HTTP/1.1\r\nHost: HERE\r\n\r\n", 404),
        (b"GET /callback/?GOOD HTTP/1.1\r\nHost: HERE\r\n\r\n", 404),
        (b"GET //callback?GOOD HTTP/1.1\r\nHost: HERE\r\n\r\n", 404),
        (b"GET /x/../callback?GOOD HTTP/1.1\r\nHost: HERE\r\n\r\n", 404),
        (b"GET /%63allback?GOOD HTTP/1.1\r\nHost: HERE\r\n\r\n", 404),
        (b"POST /callback?GOOD HTTP/1.1\r\nHost: HERE\r\nContent-Length: 3\r\n\r\nabc", 405),
        (b"HEAD /callback?GOOD HTTP/1.1\r\nHost: HERE\r\n\r\n", 405),
        (b"OPTIONS /callback?GOOD HTTP/1.1\r\nHost: HERE\r\n\r\n", 405),
        (b"GET /callback?GOOD HTTP/1.1\r\nHost: evil.example\r\n\r\n", 403),
        (b"GET /callback?GOOD HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", 403),
        (b"GET /callback?GOOD HTTP/1.1\r\nHost: localhost:PORT\r\n\r\n", 403),
        (b"GET /callback?GOOD HTTP/1.1\r\nHost: HERE\r\nHost: evil.example\r\n\r\n", 403),
        (b"GET /callback?GOOD HTTP/1.1\r\nAccept: */*\r\n\r\n", 403),
        (b"GET /callback?GOOD HTTP/1.1\r\nHost : HERE\r\n\r\n", 400),
        (b"GET /callback?GOOD HTTP/1.1\r\nnot a header\r\nHost: HERE\r\n\r\n", 400),
        (b"GET http://HERE/callback?GOOD HTTP/1.1\r\nHost: HERE\r\n\r\n", 400),
        (b"GET /callback?GOOD\r\n\r\n", 400),
        (b"GET /callback?GOOD HTTP/2.0\r\nHost: HERE\r\n\r\n", 400),
        (b"GET  /callback?GOOD HTTP/1.1\r\nHost: HERE\r\n\r\n", 400),
        (b"get /callback?GOOD HTTP/1.1\r\nHost: HERE\r\n\r\n", 400),
        (b"CONNECT evil.example:443 HTTP/1.1\r\nHost: HERE\r\n\r\n", 400),
        (b"GET /callback?code=\xff\xfe HTTP/1.1\r\nHost: HERE\r\n\r\n", 400),
        (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 400),
        (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n", 400),
        (b"\r\n\r\n", 400),
        (b"\0" * 100 + b"\r\n\r\n", 400),
        (b"GET /callback?GOOD HTTP/1.1\r\nHost: HERE\r\nX: " + b"x" * 1_000_000 + b"\r\n\r\n", 431),
        (b"GET /callback?" + b"a" * 1_000_000, 431),
        (b"GET /callback?GOOD HTTP/1.1\r\nHost: HERE\r\n", 400),
    ],
)
async def test_hostile_requests_get_an_error_and_change_nothing(
    listener: LoopbackListener, data: bytes, status: int
) -> None:
    """T9: a web page abuses the listener for the login callback."""
    port = str(port_of(listener)).encode()
    data = data.replace(b"HERE", b"127.0.0.1:" + port).replace(b"PORT", port).replace(b"GOOD", GOOD.encode())
    page = await send(listener, data)
    assert page.startswith(b"HTTP/1.1 %d " % status)
    assert page.count(b"HTTP/1.1") == 1
    (hit,) = listener.wait.hits
    assert hit.refusal
    assert STATE not in hit.shown
    assert "c0de" not in hit.shown
    await assert_still_waits(listener)


async def test_connection_without_a_request_is_not_counted(listener: LoopbackListener) -> None:
    assert await send(listener, b"") == b""
    assert listener.wait.hits == []


async def test_idle_connections_do_not_block_the_callback(listener: LoopbackListener) -> None:
    held = [await asyncio.open_connection("127.0.0.1", port_of(listener)) for _ in range(80)]
    try:
        await assert_still_waits(listener)
    finally:
        for _, writer in held:
            writer.transport.abort()


async def test_silent_connection_is_closed(
    listener: LoopbackListener, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("inspector.oauth.loopback._CONNECTION_TIMEOUT", 0.02)
    async with asyncio.timeout(LIMIT):
        reader, writer = await asyncio.open_connection("127.0.0.1", port_of(listener))
        writer.write(b"GET /callback")
        with contextlib.suppress(ConnectionError):  # or it is cut off
            assert await reader.read() == b""
        writer.close()


async def test_hits_are_listed_live_without_their_values(listener: LoopbackListener) -> None:
    reported: list[str] = []
    listener.wait.hit_received.connect(lambda hit: reported.append(hit.shown))
    await visit(listener, "co%64e=sekrit&state=wr%1b[31mong")
    assert reported == [hit.shown for hit in listener.wait.hits] == ["GET /callback?co%64e=•••&state=•••"]


async def test_flood_of_hits_is_counted_but_not_stored() -> None:
    wait = CallbackWaiter("http://127.0.0.1:1/callback", SystemClock())
    for number in range(1000):
        wait.record(f"GET /{number}", "Its path does not match the redirect URI.")
    assert wait.hit_count == 1000
    assert len(wait.hits) == 200
    assert wait.hits[-1].shown == "GET /999"


@pytest.mark.parametrize(
    "spelling",
    [
        "{uri}?{query}",
        "  {uri}?{query}\n",
        "<{uri}?{query}>",
        '"{uri}?{query}"',
        "{bare}?{query}",
        "{uri}?{query}#",
    ],
)
async def test_pasted_url_is_accepted_as_the_callback(listener: LoopbackListener, spelling: str) -> None:
    uri = listener.wait.redirect_uri
    listener.wait.submit_callback_url(spelling.format(uri=uri, bare=uri.removeprefix("http://"), query=GOOD))
    assert await listener.wait.response(LIMIT) == f"?{GOOD}"
    assert listener.wait.hits[0].shown == "pasted URL"


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "It does not start with http://127.0.0.1"),
        ("hello", "It does not start with http://127.0.0.1"),
        (f"https://as.example/authorize?{GOOD}", "It does not start with http://127.0.0.1"),
        (f"URI/more?{GOOD}", "It does not start with http://127.0.0.1"),
        (f"http://127.0.0.1:1/callback?{GOOD}", "It does not start with http://127.0.0.1"),
        (f"http://[::1/callback?{GOOD}", "It is not a valid URL."),
        ("URI#code=c&state=other", "Its state does not match this login."),
        ("URI?code=c&state=other", "Its state does not match this login."),
        (f"URI?code=c\ud800&state={STATE}", "Its parameters are malformed."),
        ("URI?code=c", "It has no state parameter."),
        ("URI?" + "a" * 20_000, "It is too long."),
    ],
)
async def test_pasted_url_without_a_callback_is_rejected_with_the_reason(
    listener: LoopbackListener, text: str, reason: str
) -> None:
    with pytest.raises(UserError) as caught:
        listener.wait.submit_callback_url(text.replace("URI", listener.wait.redirect_uri))
    assert reason in caught.value.summary
    assert "c0de" not in str(caught.value)
    await assert_still_waits(listener)


async def test_callback_in_the_fragment_is_passed_on_to_be_reported(
    listener: LoopbackListener,
) -> None:
    listener.wait.submit_callback_url(f"{listener.wait.redirect_uri}#{GOOD}")
    assert read_callback(await listener.wait.response(LIMIT)).is_in_fragment


async def test_url_can_be_pasted_for_a_redirect_without_a_listener() -> None:
    wait = CallbackWaiter("https://app.example/done", SystemClock())
    wait.expect(STATE)
    wait.submit_callback_url(f"https://app.example/done?{GOOD}")
    assert await wait.response(LIMIT) == f"?{GOOD}"


async def test_wait_has_a_timeout(listener: LoopbackListener) -> None:
    with pytest.raises(RequestTimedOut, match=r"within 10 ms\. Start the login again, or paste"):
        await listener.wait.response(0.01)
    assert listener.wait.ends_at is None
    await assert_still_waits(listener)


async def test_cancelling_ends_the_wait_and_rejects_later_callbacks(listener: LoopbackListener) -> None:
    waiting = asyncio.get_running_loop().create_task(listener.wait.response(LIMIT))
    await asyncio.sleep(0)
    assert listener.wait.ends_at is not None
    listener.wait.cancel()
    with pytest.raises(RequestCancelled):
        await waiting
    assert (await visit(listener, GOOD)).startswith(b"HTTP/1.1 400 ")
    assert listener.wait.hits[-1].refusal == "The login was cancelled."


async def test_cancelling_the_task_that_waits_is_not_mistaken_for_a_cancelled_login(
    listener: LoopbackListener,
) -> None:
    waiting = asyncio.get_running_loop().create_task(listener.wait.response(LIMIT))
    await asyncio.sleep(0)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    await assert_still_waits(listener)


async def test_closing_frees_the_port_and_ends_the_wait() -> None:
    listener = LoopbackListener(SystemClock())
    await listener.open()
    port = port_of(listener)
    held = await asyncio.open_connection("127.0.0.1", port)
    waiting = asyncio.get_running_loop().create_task(listener.wait.response(LIMIT))
    await asyncio.sleep(0)
    await listener.close()
    await listener.close()
    with pytest.raises(RequestCancelled):
        await waiting
    with pytest.raises(ConnectionRefusedError):
        await asyncio.open_connection("127.0.0.1", port)
    held[1].transport.abort()


async def test_a_fixed_port_can_be_used_again_right_after_a_login() -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    for _ in range(3):
        async with LoopbackListener(SystemClock(), port=port, path="/oauth/callback") as listener:
            assert listener.wait.redirect_uri == f"http://127.0.0.1:{port}/oauth/callback"
            listener.wait.expect(STATE)
            await send(listener, request(listener, GOOD, path="/oauth/callback"))
            assert await listener.wait.response(LIMIT) == f"?{GOOD}"


@pytest.mark.parametrize(
    "sharing", [socket.SO_REUSEADDR, getattr(socket, "SO_REUSEPORT", socket.SO_REUSEADDR)]
)
async def test_port_is_not_shared(listener: LoopbackListener, sharing: int) -> None:
    with socket.socket() as thief:
        thief.setsockopt(socket.SOL_SOCKET, sharing, 1)
        with pytest.raises(OSError, match=r"in use|denied|permission"):
            _listen_there(thief, port_of(listener))


def _listen_there(thief: socket.socket, port: int) -> None:
    thief.bind(("127.0.0.1", port))
    thief.listen()


async def test_port_in_use_is_named(listener: LoopbackListener) -> None:
    port = port_of(listener)
    with pytest.raises(
        UserError, match=rf"Port {port} on 127\.0\.0\.1 is in use by another program.*another port"
    ):
        await LoopbackListener(SystemClock(), port=port).open()


async def test_only_loopback_is_listened_on(listener: LoopbackListener) -> None:
    (server,) = listener._servers
    assert server.sockets[0].getsockname()[0] == "127.0.0.1"


@pytest.mark.parametrize(
    "host", ["0.0.0.0", "::", "", "192.168.0.1", "example.com", "127.0.0.1.evil.example"]
)
def test_non_loopback_host_is_rejected(host: str) -> None:
    with pytest.raises(ConfigError, match="only works on this machine"):
        LoopbackListener(SystemClock(), host=host)


@pytest.mark.parametrize("path", ["", "callback", "/a b", "/a?b", "/a#b", "/%2e", "/\r\nX: y", "/ü"])
def test_invalid_path_is_rejected(path: str) -> None:
    with pytest.raises(ConfigError, match="is not a valid callback path"):
        LoopbackListener(SystemClock(), path=path)


@pytest.mark.parametrize("port", [-1, 65536])
def test_invalid_port_is_rejected(port: int) -> None:
    with pytest.raises(ConfigError, match="is not a valid port"):
        LoopbackListener(SystemClock(), port=port)


def has_ipv6() -> bool:
    try:
        with socket.socket(socket.AF_INET6) as probe:
            probe.bind(("::1", 0))
    except OSError:
        return False
    return True


@pytest.mark.skipif(not has_ipv6(), reason="this machine has no IPv6")
@pytest.mark.parametrize(("host", "named"), [("::1", "[::1]"), ("localhost", "localhost")])
async def test_ipv6_loopback_can_be_listened_on(host: str, named: str) -> None:
    async with LoopbackListener(SystemClock(), host=host) as listener:
        listener.wait.expect(STATE)
        port = port_of(listener)
        assert listener.wait.redirect_uri == f"http://{named}:{port}/callback"
        page = await send(listener, request(listener, GOOD, host=f"{named}:{port}"), "::1")
        assert page.startswith(b"HTTP/1.1 200 ")


async def test_localhost_listens_on_ipv4_too() -> None:
    async with LoopbackListener(SystemClock(), host="localhost") as listener:
        listener.wait.expect(STATE)
        page = await send(listener, request(listener, GOOD, host=f"localhost:{port_of(listener)}"))
        assert page.startswith(b"HTTP/1.1 200 ")


@given(st.text(max_size=200))
def test_no_text_is_accepted_for_a_login_with_another_state(text: str) -> None:
    async def check() -> str:
        wait = CallbackWaiter("http://127.0.0.1:1/callback", SystemClock())
        wait.expect(STATE)
        return wait.claim(f"?{text}")

    assert asyncio.run(check())


@given(st.text(alphabet="abc=&%?/.;+", max_size=60), st.text(alphabet="=%;", max_size=5))
def test_parameter_values_are_never_shown(query: str, noise: str) -> None:
    shown = masked_target("GET", f"/callback?{query}&code={noise}SEKRIT{noise}")
    assert "SEKRIT" not in shown


async def test_random_bytes_change_nothing(listener: LoopbackListener) -> None:
    rng = random.Random(7)
    good = request(listener, GOOD)
    for _ in range(150):
        data = bytearray(good)
        for _ in range(rng.randint(1, 6)):
            data[rng.randrange(len(data) - 4)] = rng.randrange(256)
        if b"state=" + STATE.encode() in data:
            del data[data.index(b"state=") : data.index(b"state=") + 7]
        page = await send(listener, bytes(data))
        assert page == b"" or page.startswith(b"HTTP/1.1 4")
    await assert_still_waits(listener)


def test_denied_port_is_explained_by_the_reserved_ranges_of_windows() -> None:
    denied = PermissionError(errno.EACCES, "denied")
    error = _bind_error("127.0.0.1", 50_000, denied, "win32")
    assert "port 50000" in error.summary
    assert "Hyper-V" in error.summary
    assert "excludedportrange" in (error.next_step or "")
    assert "1024" in (_bind_error("127.0.0.1", 80, denied, "linux").next_step or "")

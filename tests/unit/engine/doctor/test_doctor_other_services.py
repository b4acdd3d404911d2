"""Doctor on hosts that are not MCP servers, and on refusals that are easily misread."""

from __future__ import annotations

import asyncio
import ssl
from pathlib import Path

import pytest

from inspector.engine.doctor.results import CheckState
from tests.helpers.httpfaults import JSON_TYPE, Call, Fault, replies
from tests.unit.engine.doctor.broken_hosts import Broken, never, raw_server, visit, with_tools
from tests.unit.engine.doctor.doctor_stage import TIME_FACTOR
from tests.unit.engine.doctor.self_signed import self_signed


async def ssh(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    writer.write(b"SSH-2.0-OpenSSH_9.2\r\n")
    await never(reader, writer)


async def redis(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await reader.read(65536)
    writer.write(b"-ERR unknown command 'POST', with args beginning with: '/mcp'\r\n")


async def plain_http_that_waits_for_a_line(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter
) -> None:
    await reader.readuntil(b"\r\n\r\n")
    writer.write(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n")
    await never(reader, writer)


async def test_ssh_behind_either_scheme_is_named() -> None:
    async with raw_server(ssh) as port:
        for scheme in ("http", "https"):
            failure = (await visit(f"{scheme}://127.0.0.1:{port}/mcp", limit=0.5)).failure
            assert failure.id == "not-http"
            assert "SSH" in failure.cause
            assert failure.action is None
            assert failure.evidence == ("SSH-2.0-OpenSSH_9.2",)


async def test_database_that_answers_and_hangs_up_is_not_a_broken_server() -> None:
    async with raw_server(redis) as port:
        failure = (await visit(f"http://127.0.0.1:{port}/mcp")).failure
    assert failure.id == "not-http"
    assert "Redis" in failure.cause


async def test_plain_server_waiting_on_a_tls_url_is_recognized() -> None:
    async with raw_server(plain_http_that_waits_for_a_line) as port:
        failure = (await visit(f"https://127.0.0.1:{port}/mcp", limit=0.5)).failure
    assert failure.id == "not-tls"
    assert failure.action is not None
    assert failure.action.value == f"http://127.0.0.1:{port}/mcp"


@pytest.mark.parametrize(
    ("made", "id"),
    [({"days": -3}, "certificate-expired"), ({"address": "127.0.0.2"}, "certificate-wrong-name")],
)
async def test_certificate_that_trust_would_not_fix_is_not_offered_for_trusting(
    made: dict[str, object], id: str, tmp_path: Path
) -> None:
    context: ssl.SSLContext = self_signed(tmp_path, **made)  # type: ignore[arg-type]
    async with Broken(with_tools, tls=context) as server:
        failure = (await visit(server.url())).failure
    assert failure.id == id
    assert "signed itself" in failure.cause or "self-signed" in failure.cause
    assert failure.action is None


def refuses_without_an_id(status: int, message: str) -> Fault:
    body = f'{{"jsonrpc":"2.0","error":{{"code":-32000,"message":"{message}"}},"id":null}}'
    return replies(status, body.encode(), JSON_TYPE)


@pytest.mark.parametrize(
    ("status", "message", "id"),
    [
        (400, "Bad Request: No valid session ID provided", "initialize-refused"),
        (406, "Not Acceptable: Client must accept text/event-stream", "initialize-refused"),
        (200, "Server is shutting down", "initialize-refused"),
        (403, "Invalid Host: 127.0.0.1", "host-refused"),
    ],
)
async def test_error_without_an_id_is_attributed_to_the_server(status: int, message: str, id: str) -> None:
    """Servers whose transport layer rejects a request do not read its id."""
    async with Broken(refuses_without_an_id(status, message)) as server:
        report = await visit(server.url())
    assert report.failure.id == id
    assert message in report.text


async def test_json_of_an_unrelated_service_is_not_a_broken_message() -> None:
    async with Broken(replies(200, b'{"status": "ok"}', JSON_TYPE)) as server:
        failure = (await visit(server.url())).failure
    assert failure.id == "other-json"
    assert '{"status": "ok"}' in failure.evidence


async def test_endpoint_next_to_an_unrelated_service_is_found() -> None:
    async def serve(call: Call) -> None:
        if call.path == "/mcp":
            await with_tools(call)
        else:
            await call.reply(200, b'{"status": "ok"}', JSON_TYPE)

    async with Broken(serve) as server:
        failure = (await visit(server.url(path="/health"))).failure
    assert failure.id == "wrong-path"


@pytest.mark.parametrize(
    ("challenge", "id", "named"),
    [
        ('Basic realm="Intranet"', "password-wanted", "password"),
        ("Negotiate", "other-login", "Negotiate"),
        ('Bearer resource_metadata="http://127.0.0.1:1/meta"', "resource-metadata-broken", "127.0.0.1:1"),
    ],
)
async def test_challenge_content_is_reported(challenge: str, id: str, named: str) -> None:
    async def serve(call: Call) -> None:
        if "well-known" in call.path:
            await call.reply(404)
        else:
            await call.reply(401, b"", "", WWW_Authenticate=challenge)

    async with Broken(serve) as server:
        report = await visit(server.url())
    assert report.failure.id == id
    assert named in report.failure.cause
    assert "•••" not in report.failure.fix
    assert report.results["http"].state is CheckState.OK


async def test_hanging_candidate_paths_are_awaited_in_parallel() -> None:
    """The check takes as long as the slowest candidate, not as long as all of them together."""
    waiting: set[str] = set()
    all_wait = asyncio.Event()

    async def serve(call: Call) -> None:
        if call.path == "/x" and call.method == "POST":
            await call.reply(404)
            return
        waiting.add(f"{call.method} {call.path}")
        if {"POST /mcp", "POST /x/mcp", "POST /x/", "GET /sse"} <= waiting:
            all_wait.set()
        await all_wait.wait()
        await call.reply(404)

    async with Broken(serve) as server, asyncio.timeout(10 * TIME_FACTOR):  # sequentially, twice that
        assert (await visit(server.url(path="/x"))).failure.id == "not-found"

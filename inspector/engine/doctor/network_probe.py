"""Network probes of a host: DNS, TCP, TLS handshake, banner, well-known documents.

Each is tried separately, so that each has its own result and time. No MCP message is sent. The documents are
fetched as a login would fetch them; the authorization server is contacted only after the server rejected
a request.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
import ssl
import time
from dataclasses import dataclass, replace

from inspector.base.clock import Clock
from inspector.base.errors import UserError
from inspector.base.plain_text import one_line
from inspector.base.redaction import masked_url
from inspector.engine.doctor.probe_session import ObservedHttp
from inspector.oauth.http import LoginHttp, LoginRecorder, get_document
from inspector.protocol.auth.challenge import choose_challenge, read_challenges
from inspector.protocol.auth.resource_metadata import issuer_problem, resource_metadata_urls
from inspector.protocol.auth.responses import Candidate, LookupOutcome, MetadataResponse, read_document
from inspector.protocol.auth.server_metadata import server_metadata_urls
from inspector.protocol.auth.url_guard import UrlBlocked, allowance_for
from inspector.protocol.revisions import NEWEST_HANDSHAKE
from inspector.traffic.log import TrafficLog
from inspector.transport.network import Network, make_tls_context
from inspector.transport.peer import CertificateInfo, chain_of, read_chain

TIMEOUT = 10.0


@dataclass(frozen=True, slots=True)
class ResolvedName:
    host: str
    addresses: tuple[str, ...] = ()
    error: str = ""
    is_timeout: bool = False


async def resolve(host: str, port: int, timeout: float = TIMEOUT) -> ResolvedName:
    loop = asyncio.get_running_loop()
    try:
        async with asyncio.timeout(timeout):
            found = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except TimeoutError:
        return ResolvedName(host, error=f"No response within {timeout:g} s.", is_timeout=True)
    except (OSError, UnicodeError) as exc:
        return ResolvedName(host, error=getattr(exc, "strerror", None) or str(exc))
    return ResolvedName(host, tuple(dict.fromkeys(str(info[4][0]) for info in found)))


@dataclass(frozen=True, slots=True)
class ConnectionProbe:
    """A connection attempt. `tried` are addresses with the error, "" for the one that accepted."""

    port: int
    tried: tuple[tuple[str, str], ...] = ()
    accepted: str = ""
    is_refused: bool = False
    is_timeout: bool = False
    other_loopback: str = ""  # another loopback address that accepts, if the given one does not


async def connect(name: ResolvedName, port: int, timeout: float = TIMEOUT) -> ConnectionProbe:
    """Connect to the first address that accepts."""
    tried: list[tuple[str, str]] = []
    errors: list[OSError | TimeoutError] = []
    for address in name.addresses:
        error = await _try(address, port, timeout / min(len(name.addresses), 3))
        if error is None:
            return ConnectionProbe(port, (*tried, (address, "")), address)
        errors.append(error)
        tried.append((address, _as_text(error)))
    return ConnectionProbe(
        port,
        tuple(tried),
        is_refused=any(isinstance(error, ConnectionRefusedError) for error in errors),
        is_timeout=bool(errors) and all(isinstance(error, TimeoutError) for error in errors),
        other_loopback=await _other_loopback(name, port),
    )


async def _other_loopback(name: ResolvedName, port: int) -> str:
    """Try the other loopback address: a server on 127.0.0.1 is not on ::1, and vice versa."""
    loopbacks = {"127.0.0.1", "::1"}
    if not loopbacks.intersection(name.addresses):
        return ""
    for address in sorted(loopbacks - set(name.addresses)):
        if await _try(address, port, 1.0) is None:
            return address
    return ""


async def _try(address: str, port: int, timeout: float) -> OSError | TimeoutError | None:
    try:
        async with asyncio.timeout(timeout):
            _, writer = await asyncio.open_connection(address, port)
    except (OSError, TimeoutError) as exc:
        return exc
    await _close(writer)
    return None


def _as_text(error: OSError | TimeoutError) -> str:
    if isinstance(error, ConnectionRefusedError):
        return "refused"
    if isinstance(error, TimeoutError):
        return "no response"
    return one_line(error.strerror or str(error))


async def _close(writer: asyncio.StreamWriter) -> None:
    writer.close()
    with contextlib.suppress(OSError, ssl.SSLError, TimeoutError):
        async with asyncio.timeout(1.0):
            await writer.wait_closed()


@dataclass(frozen=True, slots=True)
class TlsProbe:
    """A TLS handshake.

    `code` is the certificate verification error of OpenSSL or the operating system; `reason` is OpenSSL's
    reason string for any other error.
    """

    host: str
    version: str = ""
    cipher: str = ""
    chain: tuple[CertificateInfo, ...] = ()
    is_verified: bool = True
    is_rejected: bool = False  # the certificate was
    code: int = 0
    reason: str = ""
    error: str = ""
    is_timeout: bool = False
    elapsed_ns: int = 0  # handshake only: loading certificates takes longer


async def probe_tls(
    host: str, address: str, port: int, network: Network, timeout: float = TIMEOUT
) -> TlsProbe:
    """Perform a TLS handshake. Raises ConfigError if the TLS settings cannot be used."""
    context = await asyncio.to_thread(make_tls_context, network)
    began = time.perf_counter_ns()
    try:
        probe = await _handshake(host, address, port, context, timeout)
        return replace(probe, is_verified=network.verify)
    except ssl.SSLCertVerificationError as exc:
        rejection, elapsed = exc, time.perf_counter_ns() - began
    except ssl.SSLError as exc:
        return TlsProbe(host, reason=exc.reason or "", error=one_line(exc.reason or str(exc)))
    except TimeoutError:
        return TlsProbe(host, error=f"No response within {timeout:g} s.", is_timeout=True)
    except OSError as exc:
        return TlsProbe(host, error=one_line(exc.strerror or str(exc)) or "The connection was closed.")
    # Again without verification, to see the certificates; nothing is sent.
    shown = TlsProbe(host)
    with contextlib.suppress(OSError, TimeoutError):
        unchecked = await asyncio.to_thread(make_tls_context, replace(network, verify=False))
        shown = await _handshake(host, address, port, unchecked, timeout)
    error = one_line(getattr(rejection, "verify_message", str(rejection)))
    code = getattr(rejection, "verify_code", 0)
    return replace(shown, is_verified=False, is_rejected=True, code=code, error=error, elapsed_ns=elapsed)


async def _handshake(host: str, address: str, port: int, context: ssl.SSLContext, timeout: float) -> TlsProbe:
    began = time.perf_counter_ns()
    async with asyncio.timeout(timeout):
        _, writer = await asyncio.open_connection(address, port, ssl=context, server_hostname=host)
    elapsed = time.perf_counter_ns() - began
    try:
        connection = writer.get_extra_info("ssl_object")
        cipher = connection.cipher()
        chain = await asyncio.to_thread(read_chain, chain_of(connection))
        name = cipher[0] if cipher else ""
        return TlsProbe(host, connection.version() or "", name, chain, elapsed_ns=elapsed)
    finally:
        await _close(writer)


async def late_alert(host: str, address: str, port: int, network: Network, timeout: float = 2.0) -> str:
    """Return OpenSSL's reason why TLS ended after the handshake, "" if unknown.

    With TLS 1.3 a server checks the client certificate after the handshake is complete for the client.
    """
    context = await asyncio.to_thread(make_tls_context, network)
    try:
        async with asyncio.timeout(timeout):
            reader, writer = await asyncio.open_connection(address, port, ssl=context, server_hostname=host)
            try:
                await reader.read(1)
            finally:
                await _close(writer)
    except ssl.SSLError as exc:
        return exc.reason or ""
    except (OSError, TimeoutError):
        pass
    return ""


async def read_banner(host: str, address: str, port: int, timeout: float = 1.0) -> str:
    """Return what a port sends unprompted (SSH, databases), else in response to plain HTTP.

    Each of the two may take up to `timeout` seconds.
    """
    banner = b""
    with contextlib.suppress(OSError, TimeoutError):
        async with asyncio.timeout(timeout):
            reader, writer = await asyncio.open_connection(address, port)
        try:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(timeout):
                    banner = await reader.read(200)
            if not banner and not reader.at_eof():
                writer.write(f"HEAD / HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n".encode())
                async with asyncio.timeout(timeout):
                    banner = await reader.read(200)
        finally:
            await _close(writer)
    return one_line(banner.decode(errors="replace").strip())


@dataclass(frozen=True, slots=True)
class WellKnownDocuments:
    """Well-known documents that were found.

    `resource` and `issuer_document` are their URLs; `problem` is what is wrong with one. `locations` are the
    requested URLs, each with its result.
    """

    challenge: str = ""  # WWW-Authenticate of the 401, verbatim
    resource: str = ""
    issuer: str = ""
    issuer_document: str = ""
    problem: str = ""
    locations: tuple[tuple[str, str], ...] = ()
    problem_at: str = ""  # URL of the problem, if not the usual one
    schemes: tuple[str, ...] = ()  # challenge schemes, lower case
    blocked: UrlBlocked | None = None  # why the issuer is not contacted


async def fetch_well_known(
    url: str, rejected: ObservedHttp | None, network: Network, log: TrafficLog, server: str, clock: Clock
) -> WellKnownDocuments:
    """Fetch the well-known documents.

    The issuer is contacted only if the server requires a login: before that, there is no reason to.
    """
    allowance = allowance_for(url)
    http = LoginHttp(network, allowance, clock, LoginRecorder(log, server, clock), TIMEOUT)
    headers = _challenge_headers(rejected)
    challenges = read_challenges(headers)
    challenge = choose_challenge(challenges, rejected.status if rejected is not None else 401)
    schemes = tuple(dict.fromkeys(one_line(each.scheme.lower())[:20] for each in challenges.all))
    locations: list[tuple[str, str]] = []
    try:
        resources = resource_metadata_urls(url, challenge, allowance, NEWEST_HANDSHAKE).candidates
        resource, content, problem = await _fetch_first(http, resources, locations)
        listed = content.get("authorization_servers")
        issuer = (
            next((each for each in listed if isinstance(each, str)), "") if isinstance(listed, list) else ""
        )
        issuer_document = ""
        blocked = issuer_problem(issuer, allowance) if issuer else None
        if resource and not issuer:
            problem = "it lists no authorization server"
        elif issuer and blocked is None and rejected is not None:
            issuer_document, _, problem = await _fetch_first(http, server_metadata_urls(issuer), locations)
        named = challenge.resource_metadata if challenge is not None and not resource else ""
        result = next((result for url, result in locations if url == named), "")
        if named and not problem:
            refusal = issuer_problem(named, allowance)
            problem = result or (refusal.clause if refusal is not None else "it was not found there")
        return WellKnownDocuments(
            challenge=", ".join(headers),
            resource=resource,
            issuer=issuer,
            issuer_document=issuer_document,
            problem=problem,
            locations=tuple(locations),
            problem_at=masked_url(named or ""),
            schemes=schemes,
            blocked=blocked,
        )
    finally:
        await http.close()


def _challenge_headers(rejected: ObservedHttp | None) -> list[str]:
    headers = rejected.headers if rejected is not None else ()
    return [value for name, value in headers if name.lower() == "www-authenticate"]


async def _fetch_first(
    http: LoginHttp, candidates: tuple[Candidate, ...], locations: list[tuple[str, str]]
) -> tuple[str, dict[str, object], str]:
    """Return the first document found, its content, and problems of those before it."""
    problem = ""
    for candidate in candidates:
        try:
            response = await http.send(get_document(candidate.url))
        except UserError as exc:
            locations.append((candidate.url, exc.summary))
            continue
        reply = MetadataResponse(candidate.url, response.status, response.headers, response.body)
        document = read_document(reply)
        if document.outcome is LookupOutcome.FOUND and document.content is not None:
            locations.append((candidate.url, "found"))
            return candidate.url, dict(document.content), ""
        problem = document.problem or problem
        locations.append((candidate.url, document.problem or f"HTTP {response.status}"))
    return "", {}, problem

"""Network options of a server, its HTTP client, TLS, exchange timings and error messages.

One client per server: connections and cookies are never shared between servers. The environment (proxies,
`.netrc`, certificate variables) is ignored unless configured. `Stopwatch` gets timings from the HTTP
library's `trace` extension. Name resolution is not traced, so `Dialer` records it in the stopwatch that it
finds in `CURRENT`: the library connects in the task of the request. `explain` translates a network error;
libraries wrap the cause, so it uses the innermost one that it knows.
"""

from __future__ import annotations

import asyncio
import os
import re
import socket
import ssl
import sys
from collections.abc import Callable, Iterator, Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, TypeAlias
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

from inspector.base.clock import Clock
from inspector.base.errors import ConfigError, ConnectionLost, FailureKind, NotReached
from inspector.base.plain_text import one_line
from inspector.base.redaction import masked_url
from inspector.protocol.framing import DEFAULT_LINE_CAP
from inspector.transport.base import Headers, HttpTimings
from inspector.transport.tls_failures import explain_alert, explain_certificate, is_plain

if TYPE_CHECKING:
    import httpx2

# Seconds. Common servers close an idle connection after 5 s, and a request sent at that moment is lost: so
# the client closes it earlier.
_KEEP_ALIVE = 4.0
# Called with a name and its resolved addresses before connecting to any of them. Rejects by raising a
# UserError, which is passed on unchanged.
CheckAddresses: TypeAlias = Callable[[str, Sequence[str]], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Network:
    """Network options of a server.

    Times in seconds, sizes in bytes, files as paths. `message_cap` limits one response or event.
    """

    headers: Headers = ()
    connect_timeout: float = 15.0
    proxy: str = ""
    use_environment_proxy: bool = False
    ca_file: str = ""  # trusted for the server in addition to the system's CAs
    login_ca_file: str = ""  # the same for the other hosts of a login
    client_certificate: str = ""
    client_key: str = ""  # when it is not in the certificate's file
    verify: bool = True
    http2: bool = False
    message_cap: int = DEFAULT_LINE_CAP


async def load_library() -> None:
    """Import the HTTP library on a thread.

    The import takes 0.1 s, or 2 s while fifty programs start; other servers must not wait for it.
    """
    if "httpx2" not in sys.modules:
        await asyncio.to_thread(import_module, "httpx2")


def make_client(network: Network, url: str, check: CheckAddresses | None = None) -> httpx2.AsyncClient:
    """Create the HTTP client for the server at `url`. Raises ConfigError.

    With a proxy, `check` is not called: the name is resolved there.
    """
    import httpx2

    from inspector.transport.dialer import Dialer

    is_secure = urlsplit(url).scheme == "https"
    try:
        transport = httpx2.AsyncHTTPTransport(
            verify=make_tls_context(network) if is_secure else _empty_tls_context(),
            trust_env=False,
            http2=network.http2,
            limits=httpx2.Limits(max_keepalive_connections=20, keepalive_expiry=_KEEP_ALIVE),
            proxy=(proxy := proxy_for(network, url)) or None,
        )
    except (ValueError, ImportError, httpx2.InvalidURL) as exc:
        raise _unusable_client(network, exc) from exc
    # The library's pools accept a backend, but httpx2 has no argument to pass it.
    transport._pool._network_backend = Dialer(None if proxy else check)
    timeout = httpx2.Timeout(None, connect=network.connect_timeout)
    return httpx2.AsyncClient(transport=transport, trust_env=False, follow_redirects=False, timeout=timeout)


def proxy_for(network: Network, url: str) -> str:
    """Return the proxy for this URL, or "". The environment's is used only if configured."""
    if network.proxy or not network.use_environment_proxy:
        return network.proxy
    parts = urlsplit(url)
    if parts.hostname is None or proxy_bypass(parts.netloc.rpartition("@")[2]):
        return ""
    proxies = getproxies()
    scheme = {"ws": "http", "wss": "https"}.get(parts.scheme, parts.scheme)
    found = proxies.get(scheme) or proxies.get("all") or ""
    return found if "://" in found or not found else f"http://{found}"


def _unusable_client(network: Network, error: Exception) -> ConfigError:
    if isinstance(error, ImportError):
        feature = "HTTP/2" if "h2" in str(error) else "A SOCKS proxy"
        return ConfigError(f"{feature} needs a package that is not installed: {error}", "Install it.")
    shown = masked_url(network.proxy)  # many contain a password, and the library quotes it in full
    why = str(error).replace(network.proxy, shown) if network.proxy else str(error)
    return ConfigError(
        f"The proxy {shown!r} cannot be used: {why}",
        "Write it as http://host:port, https://host:port or socks5://host:port.",
    )


def make_tls_context(network: Network) -> ssl.SSLContext:
    """Create a TLS context that trusts the system's CAs and the configured CA file.

    Raises ConfigError.
    """
    import httpx2

    if network.verify and network.ca_file and sys.platform == "win32":
        context = _windows_store_context()
    else:
        context = httpx2.create_ssl_context(verify=network.verify, trust_env=False)
    # The default of most builds of Python, but not of Debian's, which leaves it to the OpenSSL configuration.
    context.minimum_version = max(context.minimum_version, ssl.TLSVersion.TLSv1_2)
    if network.ca_file and network.verify:
        _load_ca_file(context, network.ca_file)
    if network.client_certificate:
        _load_certificate(context, network.client_certificate, network.client_key)
    elif network.client_key:
        raise ConfigError(
            "A client key is configured, but no client certificate.", "Configure the certificate file too."
        )
    return context


def _windows_store_context() -> ssl.SSLContext:
    """Return a context that verifies with OpenSSL against the system's CAs.

    `truststore` leaves it to Windows, which trusts only self-signed certificates of a CA file, and names
    an unknown issuer as the fault even if that file has it and the certificate has another fault.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.load_default_certs()
    return context


def _load_ca_file(context: ssl.SSLContext, path: str) -> None:
    try:
        context.load_verify_locations(cafile=os.path.expanduser(path))
        # A certificate in the file is trusted itself, even if its issuer's is missing.
        context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    except ssl.SSLError as exc:
        raise ConfigError(
            f"The CA file {path} contains no valid certificate.",
            "It must be a PEM file: text that contains -----BEGIN CERTIFICATE-----.",
        ) from exc
    except OSError as exc:
        raise _unreadable("CA file", path, exc) from exc


def _load_certificate(context: ssl.SSLContext, certificate: str, key: str) -> None:
    for what, path in (("client certificate", certificate), ("client key", key)):
        if path:
            _require_readable(what, path)
    keyfile = os.path.expanduser(key) if key else None
    try:
        context.load_cert_chain(os.path.expanduser(certificate), keyfile, password=_refuse_password)
    except ssl.SSLError as exc:
        if exc.reason == "KEY_VALUES_MISMATCH":
            summary = f"The client key {key or certificate} does not match the certificate {certificate}."
            raise ConfigError(summary, "Use the key that the certificate was created with.") from exc
        raise ConfigError(
            f"Could not read the client certificate {certificate} or its key.",
            "Both must be PEM; the key can be in the certificate file or in a separate file.",
        ) from exc


def _require_readable(what: str, path: str) -> None:
    """Raise if a file is not readable: OpenSSL does not say which of two files it was."""
    try:
        with open(os.path.expanduser(path), "rb"):
            pass
    except OSError as exc:
        raise _unreadable(what, path, exc) from exc


def _refuse_password() -> str:
    """Raise instead of letting OpenSSL prompt on the terminal."""
    raise ConfigError("The client key is protected by a password.", "Use a key file without a password.")


def _unreadable(what: str, path: str, error: OSError) -> ConfigError:
    return ConfigError(f"Could not read the {what} {path}: {error.strerror}.", "Check the path.")


def _empty_tls_context() -> ssl.SSLContext:
    """Return a context without CAs for plain HTTP: loading the system's takes 20 ms."""
    return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)


CURRENT: ContextVar[Stopwatch | None] = ContextVar("stopwatch", default=None)


class Stopwatch:
    """Records the timings of one exchange; starts when created.

    A mark is overwritten if its phase happens again: only the last counts.
    """

    __slots__ = ("_clock", "_marks", "resolved", "started")

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._marks: dict[str, int] = {}
        self.started = clock.monotonic_ns()
        self.resolved: tuple[int, int] | None = None

    def now(self) -> int:
        return self._clock.monotonic_ns()

    async def trace(self, name: str, info: object) -> None:
        """Trace callback of the library; `name` is like `connection.start_tls.complete`."""
        _, _, step = name.partition(".")
        if step in _STEPS:
            self._marks[step] = self._clock.monotonic_ns()

    def timings(self, ended: int) -> HttpTimings:
        dialed = self.resolved[1] if self.resolved else self._marks.get("connect_tcp.started")
        return HttpTimings(
            dns=self.resolved[1] - self.resolved[0] if self.resolved else None,
            connect=_between(dialed, self._marks.get("connect_tcp.complete")),
            tls=self._span("start_tls.started", "start_tls.complete"),
            first_byte=self._span("send_request_body.complete", "receive_response_headers.complete"),
            total=ended - self.started,
        )

    def _span(self, start: str, end: str) -> int | None:
        return _between(self._marks.get(start), self._marks.get(end))


def _between(start: int | None, end: int | None) -> int | None:
    return None if start is None or end is None else end - start


_STEPS = frozenset(
    {
        "connect_tcp.started",
        "connect_tcp.complete",
        "start_tls.started",
        "start_tls.complete",
        "send_request_body.complete",
        "receive_response_headers.complete",
    }
)


def explain(error: BaseException, url: str, *, responded: bool = False) -> ConnectionLost:
    """Translate a network error; `responded` is set if the status had arrived."""
    causes = list(causes_of(error))
    host = urlsplit(url).netloc.rpartition("@")[2]
    for cause in reversed(causes):
        if (sentence := _explain_cause(cause, host)) is not None:
            return ConnectionLost(*sentence) if responded else NotReached(*sentence)
    name = type(error).__name__
    reported = one_line(str(error)).rstrip(".") or name
    if name in ("ConnectTimeout", "TimeoutError"):
        return NotReached(
            f"{host} did not accept a connection in time.",
            "Check the URL, the network and the proxy.",
            kind=FailureKind.TIMEOUT,
        )
    if name in ("ProxyError", "InvalidProxyStatus", "InvalidProxyMessage"):
        return NotReached(f"The proxy refused the connection to {host}: {reported}.", "Check the proxy.")
    if name == "ConnectError":
        return NotReached(f"Could not connect to {host}: {reported}.", "Check the URL and the network.")
    if name == "LocalProtocolError":
        reported = _HEADER_VALUE.sub(r"\1", reported)
        return NotReached(f"The request is invalid and was not sent: {reported}.", "Check its headers.")
    if name == "UnsupportedProtocol":
        return NotReached(f"{url} is not an HTTP URL.", "It must start with http:// or https://.")
    if name == "RemoteProtocolError" and not _CUT_SHORT.search(reported):
        return ConnectionLost(
            f"{host} sent a non-HTTP response: {reported}.",
            "Check which service uses this port.",
            kind=FailureKind.NOT_HTTP,
        )
    return _cut_short(host, reported, responded, is_secure=url.startswith(("https:", "wss:")))


# The library quotes the value, which may be a token with a line break at its end.
_HEADER_VALUE = re.compile("(header value).*", re.IGNORECASE)
# The library's wording for a connection that ended too early; it has no exception type for it.
_CUT_SHORT = re.compile("disconnected|closed connection")


def _cut_short(host: str, reported: str, responded: bool, is_secure: bool) -> ConnectionLost:
    where = "in the middle of its response" if responded else "before it responded"
    # Some servers hang up on a client without a certificate, instead of saying what is missing.
    maybe = "It may have crashed, or require a client certificate" if is_secure else "It may have crashed"
    return ConnectionLost(
        f"{host} dropped the connection {where} ({reported}).",
        f"{maybe}. Check its log, then try again.",
        kind=FailureKind.DISCONNECTED,
    )


def causes_of(error: BaseException | None) -> Iterator[BaseException]:
    """Yield an error and the errors that it wraps, outermost first."""
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        yield error
        error = error.__cause__ or error.__context__


def _explain_cause(cause: BaseException, host: str) -> tuple[str, str] | None:
    if isinstance(cause, ssl.SSLCertVerificationError):
        # Errors of `truststore` have these only if the operating system named a reason.
        code, message = getattr(cause, "verify_code", 0), getattr(cause, "verify_message", str(cause))
        failure = explain_certificate(host, code, message)
        return failure.cause, failure.fix
    if isinstance(cause, ssl.SSLError) and not isinstance(cause, ssl.SSLWantReadError):
        return _explain_tls(cause, host)
    if isinstance(cause, socket.gaierror):
        name = host.rpartition(":")[0] or host
        return (
            f"Could not resolve the host name {name}: {cause.strerror}.",
            "Check the URL and the DNS settings.",
        )
    if isinstance(cause, ConnectionRefusedError):
        return (
            f"Connection refused: nothing is listening on {host}.",
            "Check the port, and that the server is running.",
        )
    return None


def _explain_tls(error: ssl.SSLError, host: str) -> tuple[str, str]:
    reason = error.reason or ""
    if is_plain(reason):
        return f"{host} does not use TLS on this port.", "Try http:// instead of https://."
    if (failure := explain_alert(host, reason)) is not None:
        return failure.cause, failure.fix
    reported = reason.replace("_", " ").lower() or one_line(str(error))
    return (
        f"TLS handshake with {host} failed: {reported}.",
        "Check its certificate and the TLS versions it supports.",
    )

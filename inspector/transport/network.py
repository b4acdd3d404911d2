"""How a server on the network is reached: what a person configured, and the HTTP client made from it.

One client per server: connections and cookies are never shared between servers. Nothing is taken from
the surroundings (proxies, `.netrc`, certificate variables) unless the configuration asks for it.
"""

from __future__ import annotations

import asyncio
import os
import ssl
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, TypeAlias
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

from inspector.base.errors import ConfigError
from inspector.base.redact import masked_url
from inspector.protocol.framing import DEFAULT_LINE_CAP
from inspector.transport.base import Headers

if TYPE_CHECKING:
    import httpx2

# Common servers close an idle connection after 5 s. A request sent at that instant is lost, so we close
# ours a little earlier.
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
    ca_file: str = ""  # trusted in addition to the system's CAs
    client_certificate: str = ""
    client_key: str = ""  # when it is not in the certificate's file
    verify: bool = True
    http2: bool = False
    message_cap: int = DEFAULT_LINE_CAP


async def load_library() -> None:
    """Import the HTTP library on a thread.

    Importing takes a tenth of a second, or two seconds while fifty programs start; other servers must not
    wait for it.
    """
    if "httpx2" not in sys.modules:
        await asyncio.to_thread(import_module, "httpx2")


def make_client(network: Network, url: str, check: CheckAddresses | None = None) -> httpx2.AsyncClient:
    """Create the HTTP client for the server at `url`. Raises ConfigError.

    With a proxy, `check` is not called: the name is resolved there.
    """
    import httpx2

    from inspector.transport.dialling import Dialler

    is_secure = urlsplit(url).scheme == "https"
    try:
        transport = httpx2.AsyncHTTPTransport(
            verify=make_tls_context(network) if is_secure else _trusting_nobody(),
            trust_env=False,
            http2=network.http2,
            limits=httpx2.Limits(max_keepalive_connections=20, keepalive_expiry=_KEEP_ALIVE),
            proxy=(proxy := proxy_for(network, url)) or None,
        )
    except (ValueError, ImportError, httpx2.InvalidURL) as exc:
        raise _unusable_client(network, exc) from exc
    # The library's pools accept a backend, but httpx2 has no argument to pass it.
    transport._pool._network_backend = Dialler(None if proxy else check)
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
        wanted = "HTTP/2" if "h2" in str(error) else "A SOCKS proxy"
        return ConfigError(f"{wanted} needs a package that is not installed: {error}", "Install it.")
    shown = masked_url(network.proxy)  # many contain a password, and the library quotes it in full
    why = str(error).replace(network.proxy, shown) if network.proxy else str(error)
    return ConfigError(
        f"The proxy {shown!r} cannot be used: {why}",
        "Write it as http://host:port, https://host:port or socks5://host:port.",
    )


# ------------------------------------------------------------------ TLS


def make_tls_context(network: Network) -> ssl.SSLContext:
    """Create a TLS context that trusts the system's CAs and the configured CA file.

    Raises ConfigError.
    """
    import httpx2

    context = httpx2.create_ssl_context(verify=network.verify, trust_env=False)
    if network.ca_file and network.verify:
        _load_ca_file(context, network.ca_file)
    if network.client_certificate:
        _load_certificate(context, network.client_certificate, network.client_key)
    elif network.client_key:
        raise ConfigError(
            "There is a client key but no client certificate.", "Configure the certificate's file too."
        )
    return context


def _load_ca_file(context: ssl.SSLContext, path: str) -> None:
    try:
        context.load_verify_locations(cafile=os.path.expanduser(path))
        # A certificate in the file is trusted itself, even if its issuer's is missing.
        context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    except ssl.SSLError as exc:
        raise ConfigError(
            f"The CA file {path} holds no certificate that can be read.",
            "It must be a PEM file: text with -----BEGIN CERTIFICATE----- in it.",
        ) from exc
    except OSError as exc:
        raise _unreadable("CA file", path, exc) from exc


def _load_certificate(context: ssl.SSLContext, certificate: str, key: str) -> None:
    for what, path in (("client certificate", certificate), ("client key", key)):
        if path:
            _require_readable(what, path)
    keyfile = os.path.expanduser(key) if key else None
    try:
        context.load_cert_chain(os.path.expanduser(certificate), keyfile, password=_no_password)
    except ssl.SSLError as exc:
        if exc.reason == "KEY_VALUES_MISMATCH":
            problem = f"The client key {key or certificate} does not belong to the certificate {certificate}."
            raise ConfigError(problem, "Give the key that the certificate was made with.") from exc
        raise ConfigError(
            f"The client certificate {certificate} or its key cannot be read.",
            "Both must be PEM; the key may be in the certificate's file or in one of its own.",
        ) from exc


def _require_readable(what: str, path: str) -> None:
    """Raise if a file is not readable: OpenSSL does not say which of two files it was."""
    try:
        with open(os.path.expanduser(path), "rb"):
            pass
    except OSError as exc:
        raise _unreadable(what, path, exc) from exc


def _no_password() -> str:
    """Raise instead of letting OpenSSL prompt on the terminal."""
    raise ConfigError("The client key is protected by a password.", "Give a key file without one.")


def _unreadable(what: str, path: str, error: OSError) -> ConfigError:
    return ConfigError(f"The {what} {path} cannot be read: {error.strerror}.", "Check the path.")


def _trusting_nobody() -> ssl.SSLContext:
    """Return an empty context for plain HTTP: loading the system's certificates takes 20 ms."""
    return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)

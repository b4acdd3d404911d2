"""Diagnoses of unreachable hosts: URL, DNS, TCP connection and TLS certificates."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from urllib.parse import urlsplit, urlunsplit

from inspector.base.errors import ConfigError
from inspector.base.redaction import masked_url
from inspector.config.servers.entries import check_url
from inspector.engine.doctor.network_probe import ConnectionProbe, ResolvedName, TlsProbe
from inspector.engine.doctor.results import Action, ActionKind, Diagnosis
from inspector.transport.tls_failures import TlsFailure, explain_alert, explain_certificate, is_plain

_PLACEHOLDER = re.compile(
    r"\$\{[^}]*\}|\$[A-Z_]{3,}|\{\{?[\w-]+\}?\}|<[\w -]+>|\bYOUR[_-]\w+|%7B\w+%7D", re.IGNORECASE
)


def diagnose_url(url: str) -> Diagnosis | None:
    placeholder = _PLACEHOLDER.search(url)
    if placeholder is not None:
        return Diagnosis(
            "placeholder",
            "url",
            f"The URL still contains a placeholder: {placeholder[0]}.",
            "Replace it with its value; an environment variable must be set where MCP Lens runs.",
        )
    try:
        check_url(url)
    except ConfigError as exc:
        return Diagnosis("bad-url", "url", exc.summary, exc.next_step)
    return None


def with_parts(url: str, *, scheme: str = "", host: str = "", path: str = "") -> str:
    """Return the URL with another scheme, host or path; the port is kept."""
    parts = urlsplit(url)
    netloc = parts.netloc
    if host:
        shown = f"[{host}]" if ":" in host else host
        netloc = f"{shown}:{parts.port}" if parts.port else shown
    return urlunsplit(
        (scheme or parts.scheme, netloc, path or parts.path, "" if path else parts.query, parts.fragment)
    )


def use_url(url: str) -> Action:
    return Action(ActionKind.USE_URL, f"Use {masked_url(url)}", url)


def diagnose_name(probe: ResolvedName) -> Diagnosis | None:
    if probe.addresses:
        return None
    if probe.is_timeout:
        return Diagnosis(
            "dns-silent",
            "dns",
            f"The DNS lookup of {probe.host} timed out.",
            "Check the network and the VPN.",
        )
    return Diagnosis(
        "name-unknown",
        "dns",
        f"Could not resolve the host name {probe.host}.",
        "Check the spelling. Internal names of companies or containers need their network (VPN, the "
        "same compose project).",
        (probe.error,) if probe.error else (),
    )


def diagnose_connection(probe: ConnectionProbe, url: str, *, proxy: str = "") -> Diagnosis | None:
    if probe.accepted:
        return None
    evidence = tuple(f"{address} port {probe.port}: {error}" for address, error in probe.tried)
    if proxy:
        return Diagnosis(
            "proxy-unreachable",
            "tcp",
            f"The proxy {masked_url(proxy)} does not accept connections.",
            "Check the proxy in the server's network settings, or connect without it.",
            evidence,
        )
    where = urlsplit(url).netloc.rpartition("@")[2]
    if probe.other_loopback:
        better = with_parts(url, host=probe.other_loopback)
        return Diagnosis(
            "other-loopback",
            "tcp",
            f"Nothing listens at {where}, but something does at {probe.other_loopback}: the server "
            "uses the other IP version.",
            "Use that address, or make the server listen on both.",
            evidence,
            use_url(better),
        )
    if probe.is_timeout:
        return Diagnosis(
            "connection-silent",
            "tcp",
            f"{where} does not respond: the host is down, or a firewall drops the packets.",
            "Check the host and port, the firewall and the VPN.",
            evidence,
        )
    if probe.is_refused:
        return Diagnosis(
            "nothing-listens",
            "tcp",
            f"Connection refused: nothing is listening on {where}.",
            "Start the server, and compare the port with the one it reports.",
            evidence,
        )
    return Diagnosis(
        "unreachable",
        "tcp",
        f"No route to {where}.",
        "Check the network, the VPN and the address.",
        evidence,
    )


_SOON = timedelta(days=14)


def diagnose_tls(probe: TlsProbe, url: str, banner: str = "") -> Diagnosis | None:
    """Diagnose TLS. `banner` is what a port without TLS sends in plain text."""
    now = datetime.now(UTC)
    if probe.is_rejected:
        return _rejected(probe, explain_certificate(probe.host, probe.code, probe.error, probe.chain, now))
    if probe.error:
        return _no_tls(probe, url, banner)
    return _warnings(probe, now)


def is_without_tls(probe: TlsProbe) -> bool:
    """True if the port seems to speak something other than TLS."""
    return is_plain(probe.reason) or probe.is_timeout


def _warnings(probe: TlsProbe, now: datetime) -> Diagnosis | None:
    if not probe.is_verified:
        return Diagnosis(
            "not-verified",
            "tls",
            "Certificates are not verified for this server: anyone on the network path can read and "
            "change the traffic.",
            "Turn verification on again, and trust this certificate instead.",
            _lines(probe),
            is_warning=True,
        )
    if probe.chain and probe.chain[0].valid_until - now < _SOON:
        return Diagnosis(
            "expires-soon",
            "tls",
            f"The certificate of {probe.host} expires on {probe.chain[0].valid_until:%Y-%m-%d %H:%M} UTC.",
            "Renew it on the server.",
            _lines(probe),
            is_warning=True,
        )
    return None


def _lines(probe: TlsProbe) -> tuple[str, ...]:
    return tuple(line for certificate in probe.chain for line in certificate.lines())


def _rejected(probe: TlsProbe, failure: TlsFailure) -> Diagnosis:
    action = None
    if failure.trusted is not None:
        label = "Trust this certificate for this server…"
        action = Action(ActionKind.TRUST_CERTIFICATE, label, failure.trusted.pem)
    return Diagnosis(failure.id, "tls", failure.cause, failure.fix, _lines(probe) or (probe.error,), action)


def diagnose_alert(reason: str, host: str) -> Diagnosis | None:
    """Diagnose a TLS alert from OpenSSL's reason string."""
    if (failure := explain_alert(host, reason)) is None:
        return None
    return Diagnosis(failure.id, "tls", failure.cause, failure.fix, (reason.replace("_", " ").lower(),))


# Greetings of other services, and their replies to an HTTP request.
_SERVICES = (
    (r"SSH-", "an SSH server"),
    (r"220[ -].*ftp", "an FTP server"),
    (r"220[ -]|\* OK|\+OK", "a mail server"),
    (r"-(?:ERR|DENIED|NOAUTH)", "Redis"),
    (r".*(?:mysql|mariadb|caching_sha2_password)", "MySQL or MariaDB"),
    (r".*unsupported frontend protocol", "PostgreSQL"),
    (r"RFB \d", "a VNC server"),
    (r".*you are trying to access mongodb", "MongoDB"),
)


def not_http(host: str, banner: str, step: str) -> Diagnosis:
    """Diagnose a port that sends something other than HTTP."""
    service = next((name for text, name in _SERVICES if re.match(text, banner, re.IGNORECASE)), "")
    named = f": it looks like {service}" if service else ""
    return Diagnosis(
        "not-http",
        step,
        f"Something listens at {host}, but it is not an HTTP server{named}.",
        "Check the port: this one belongs to another service.",
        (banner,),
    )


def _no_tls(probe: TlsProbe, url: str, banner: str) -> Diagnosis:
    if (found := diagnose_alert(probe.reason, probe.host)) is not None:
        return found
    is_http = banner.startswith("HTTP/")
    if banner and not is_http:
        return not_http(urlsplit(url).netloc.rpartition("@")[2], banner, "tls")
    if is_plain(probe.reason) or is_http:
        scheme = "ws" if url.startswith("ws") else "http"
        return Diagnosis(
            "not-tls",
            "tls",
            f"{probe.host} does not use TLS on this port.",
            f"Use {scheme}:// instead of {scheme}s:// if this is your own machine. Otherwise, find the "
            "right port.",
            (probe.error,),
            use_url(with_parts(url, scheme=scheme)),
        )
    if probe.is_timeout:
        return Diagnosis(
            "tls-silent",
            "tls",
            f"{probe.host} accepted the connection, but does not respond to TLS.",
            "Check which service uses this port. The server may also hang.",
        )
    return Diagnosis(
        "tls-broken",
        "tls",
        f"TLS handshake with {probe.host} failed: {probe.error.rstrip('.')}.",
        "Check the port and the server's TLS settings.",
    )

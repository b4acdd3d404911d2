"""Diagnoses of unreachable hosts: URL, DNS, TCP connection and TLS certificates."""

from __future__ import annotations

import ipaddress
import re
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from urllib.parse import urlsplit, urlunsplit

from inspector.base.errors import ConfigError
from inspector.base.redaction import masked_url
from inspector.config.servers.entries import check_url
from inspector.engine.doctor.network_probe import ConnectionProbe, ResolvedName, TlsProbe
from inspector.engine.doctor.results import Action, ActionKind, Diagnosis
from inspector.transport.peer import CertificateInfo

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


_EXPIRED, _NOT_YET, _SELF_SIGNED, _SELF_SIGNED_IN_CHAIN = 10, 9, 18, 19
_HOST_MISMATCH = (62, 64)
_UNKNOWN_ISSUER = (2, 20, 21)
_SOON = timedelta(days=14)


def diagnose_tls(probe: TlsProbe, url: str, banner: str = "") -> Diagnosis | None:
    """Diagnose TLS. `banner` is what a port without TLS sends in plain text."""
    now = datetime.now(UTC)
    if probe.code:
        return _certificate(probe, now)
    if probe.error:
        return _no_tls(probe, url, banner)
    return _warnings(probe, now)


def is_without_tls(probe: TlsProbe) -> bool:
    """True if the port seems to speak something other than TLS."""
    return probe.reason in _PLAIN or probe.is_timeout


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


def _certificate(probe: TlsProbe, now: datetime) -> Diagnosis:
    """Diagnose a certificate error.

    OpenSSL stops at the first fault. Faults that trusting the certificate would not fix take precedence.
    """
    own = probe.chain[0] if probe.chain else None
    is_trusted = probe.code not in (_SELF_SIGNED, _SELF_SIGNED_IN_CHAIN, *_UNKNOWN_ISSUER)
    signed = "" if is_trusted or own is None else " It is also self-signed." * own.is_self_signed
    is_expired = own is not None and own.valid_until < now
    if probe.code == _EXPIRED or (is_expired and not is_trusted):
        when = f" on {own.valid_until:%Y-%m-%d}" if own is not None else ""
        cause = f"The certificate of {probe.host} expired{when}.{signed}"
        return _reject(probe, "certificate-expired", cause, _RENEW_IT)
    if probe.code == _NOT_YET:
        when = f" before {own.valid_from:%Y-%m-%d %H:%M} UTC" if own is not None else " yet"
        cause = f"The certificate of {probe.host} is not valid{when}."
        return _reject(probe, "certificate-not-yet-valid", cause, "Check the clocks of both machines.")
    is_other_name = own is not None and not is_issued_to(own, probe.host)
    if probe.code in _HOST_MISMATCH or (is_other_name and not is_trusted):
        names = ", ".join(own.names[:5]) if own is not None and own.names else "no name"
        cause = f"The certificate is issued to {names}, not to {probe.host}.{signed}"
        return _reject(probe, "certificate-wrong-name", cause, _WRONG_NAME)
    if probe.code == _SELF_SIGNED:
        cause = f"{probe.host} has a self-signed certificate, which no authority vouches for."
        return _reject(probe, "certificate-self-signed", cause, _TRUST_IT, own)
    if probe.code == _SELF_SIGNED_IN_CHAIN:
        cause = (
            f"The certificate of {probe.host} is signed by a private authority that this machine does "
            "not know."
        )
        return _reject(
            probe, "authority-unknown", cause, _TRUST_AUTHORITY, probe.chain[-1] if probe.chain else own
        )
    if probe.code in _UNKNOWN_ISSUER:
        return _diagnose_issuer(probe, own)
    cause = f"The certificate of {probe.host} was rejected: {probe.error}."
    return _reject(probe, "certificate-refused", cause, "Check the certificate on the server.")


def is_issued_to(certificate: CertificateInfo, host: str) -> bool:
    """Match like OpenSSL: a wildcard matches the first label only."""
    host = host.lower().rstrip(".")
    with suppress(ValueError):
        host = str(ipaddress.ip_address(host))
    parent = f"*.{host.partition('.')[2]}"
    return any(name.lower() in (host, parent) for name in certificate.names)


_RENEW_IT = "Renew it on the server, and check the clocks of both machines."
_WRONG_NAME = "Use a name in the certificate, or install a certificate for this name on the server."
_TRUST_IT = (
    "If this is your server, compare the fingerprint with the server's, and trust this certificate for "
    "this server only."
)
_TRUST_AUTHORITY = (
    "If you know this authority (your company's, or mkcert's), compare its fingerprint and trust it "
    "for this server, or configure its CA file."
)


def _diagnose_issuer(probe: TlsProbe, own: CertificateInfo | None) -> Diagnosis:
    if own is not None and own.has_issuer_url and len(probe.chain) == 1:
        cause = (
            f"{probe.host} sends only its own certificate, not that of its issuer ({own.issuer}): the "
            "chain is incomplete. Browsers fetch missing certificates, programs do not."
        )
        return _reject(
            probe, "chain-incomplete", cause, "Configure the full chain on the server (fullchain.pem)."
        )
    issuer = f" ({own.issuer})" if own is not None else ""
    cause = (
        f"The certificate of {probe.host} is signed by an authority{issuer} that this machine does not trust."
    )
    return _reject(probe, "issuer-unknown", cause, _TRUST_AUTHORITY, own)


def _reject(
    probe: TlsProbe, id: str, cause: str, fix: str, trusted: CertificateInfo | None = None
) -> Diagnosis:
    action = None
    if trusted is not None:
        label = "Trust this certificate for this server…"
        action = Action(ActionKind.TRUST_CERTIFICATE, label, trusted.pem)
    return Diagnosis(id, "tls", cause, fix, _lines(probe) or (probe.error,), action)


_PLAIN = ("WRONG_VERSION_NUMBER", "HTTP_REQUEST", "RECORD_LAYER_FAILURE", "PACKET_LENGTH_TOO_LONG")
_ALERTS = {
    "CERTIFICATE_REQUIRED": (
        "client-certificate-wanted",
        "requires a client certificate",
        "Configure a client certificate and its key in the server's network settings.",
    ),
    "UNKNOWN_CA": (
        "client-certificate-refused",
        "does not trust the authority of your client certificate",
        "Use a client certificate signed by an authority the server trusts.",
    ),
    "BAD_CERTIFICATE": (
        "client-certificate-refused",
        "rejected your client certificate",
        "Check which certificate it expects.",
    ),
    "CERTIFICATE_EXPIRED": (
        "client-certificate-refused",
        "reports that your client certificate has expired",
        "Renew the client certificate.",
    ),
    "PROTOCOL_VERSION": (
        "tls-too-old",
        "supports only outdated, insecure TLS versions",
        "Update the server: it must support TLS 1.2 or newer.",
    ),
    "UNSUPPORTED_PROTOCOL": (
        "tls-too-old",
        "supports only outdated, insecure TLS versions",
        "Update the server: it must support TLS 1.2 or newer.",
    ),
    "HANDSHAKE_FAILURE": (
        "tls-no-agreement",
        "could not agree on TLS parameters with MCP Lens",
        "It may require a client certificate, or support only old ciphers.",
    ),
    "UNRECOGNIZED_NAME": (
        "tls-name-unknown",
        "does not know the requested host name",
        "Use the host name the server is configured for.",
    ),
}


def diagnose_alert(reason: str, host: str) -> Diagnosis | None:
    """Diagnose a TLS alert from OpenSSL's reason string."""
    for ending, (id, what, fix) in _ALERTS.items():
        if reason.endswith(ending):
            return Diagnosis(id, "tls", f"{host} {what}.", fix, (reason.replace("_", " ").lower(),))
    return None


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
    if probe.reason in _PLAIN or is_http:
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

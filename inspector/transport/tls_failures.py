"""Explanations of failed TLS handshakes: rejected certificates and alerts of the server.

The only place that knows the error codes of the three verifiers: OpenSSL, and the operating system's on
Windows and macOS, where the HTTP library verifies certificates with `truststore`. A code names the first
fault only, and each verifier has its own order. So with the certificates at hand, their dates and names
are checked here too, and faults that trusting the certificate would not fix take precedence.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime

from inspector.base.plain_text import one_line
from inspector.transport.peer import CertificateInfo

# OpenSSL's X509_V_ERR_*; Windows' CERT_E_* (winerror.h); macOS' errSec* (SecBase.h).
_EXPIRED = frozenset({10, 0x800B0101, -67818})
_MAYBE_NOT_YET_VALID = 0x800B0101  # CERT_E_EXPIRED: "not within its validity period"
_NOT_YET_VALID = frozenset({9, -67819})
_WRONG_NAME = frozenset({62, 64, 0x800B010F, -67602})
_SELF_SIGNED, _SELF_SIGNED_IN_CHAIN = 18, 19  # the other verifiers do not tell these apart
_UNTRUSTED = frozenset(
    {2, _SELF_SIGNED, _SELF_SIGNED_IN_CHAIN, 20, 21}
    | {0x800B0109, 0x800B010A, 0x800B010D, 0x800B0112}  # root, chaining, test root, intermediate CA
    | {-67843, -25318}  # errSecNotTrusted, errSecCreateChainFailed
)  # fmt: skip

_RENEW = "Renew it on the server, and check the clocks of both machines."
_CHECK_CLOCKS = "Check the clocks of both machines."
_USE_NAME = "Use a name in the certificate, or install a certificate for this name on the server."
_TRUST_CERTIFICATE = (
    "If this is your server, compare the fingerprint with the server's, and trust this certificate for "
    "this server only."
)
_TRUST_AUTHORITY = (
    "If you know this authority (your company's, or mkcert's), compare its fingerprint and trust it "
    "for this server, or configure its CA file."
)
_SET_CA_FILE = (
    "If you know its authority, set the CA file for it in Edit server… ▸ Network. Doctor shows the "
    "certificate and can trust it."
)


@dataclass(frozen=True, slots=True)
class TlsFailure:
    """A failed handshake. `trusted` is the certificate that would fix it if it were trusted."""

    id: str
    cause: str
    fix: str
    trusted: CertificateInfo | None = None


def explain_certificate(
    host: str,
    code: int,
    message: str,
    chain: Sequence[CertificateInfo] = (),
    now: datetime | None = None,
) -> TlsFailure:
    """Explain why a certificate was rejected.

    `code` and `message` are those of `ssl.SSLCertVerificationError`, on any system. `chain` is what the
    server sent, if known; without it, `host` may include a port.
    """
    now = now or datetime.now(UTC)
    own = chain[0] if chain else None
    is_untrusted = code in _UNTRUSTED
    # An unknown code may stand for any fault.
    is_unclear = is_untrusted or code not in _EXPIRED | _NOT_YET_VALID | _WRONG_NAME
    signed = " It is also self-signed." if is_untrusted and own is not None and own.is_self_signed else ""
    if code in _EXPIRED | _NOT_YET_VALID or (is_unclear and own is not None and not _is_current(own, now)):
        return _explain_dates(host, code, chain, now, signed)
    if code in _WRONG_NAME or (is_unclear and own is not None and not is_issued_to(own, host)):
        return _explain_name(host, message, own, signed)
    if is_untrusted:
        return _explain_issuer(host, code, message, chain)
    reported = one_line(message).rstrip(".")
    return TlsFailure(
        "certificate-refused",
        f"The certificate of {host} was rejected: {reported}.",
        "Check the certificate on the server.",
    )


def _is_current(certificate: CertificateInfo, now: datetime) -> bool:
    return certificate.valid_from <= now <= certificate.valid_until


def _explain_dates(
    host: str, code: int, chain: Sequence[CertificateInfo], now: datetime, signed: str
) -> TlsFailure:
    bad = next((each for each in chain if not _is_current(each, now)), None)
    # The expired one may be that of an authority.
    whose = f"The certificate of {host}"
    if bad is not None and bad is not chain[0]:
        whose = f"The certificate of {bad.subject}, which signed that of {host},"
    if code in _NOT_YET_VALID or (bad is not None and now < bad.valid_from):
        when = f" before {bad.valid_from:%Y-%m-%d %H:%M} UTC" if bad is not None else " yet"
        return TlsFailure("certificate-not-yet-valid", f"{whose} is not valid{when}.{signed}", _CHECK_CLOCKS)
    if bad is not None:
        cause = f"{whose} expired on {bad.valid_until:%Y-%m-%d}.{signed}"
    elif code == _MAYBE_NOT_YET_VALID:
        cause = f"{whose} has expired or is not valid yet."
    else:
        cause = f"{whose} has expired."
    return TlsFailure("certificate-expired", cause, _RENEW)


def _explain_name(host: str, message: str, own: CertificateInfo | None, signed: str) -> TlsFailure:
    reported = one_line(message).rstrip(".")
    if own is None:
        cause = f"The certificate of {host} is issued to another name: {reported}."
    elif is_issued_to(own, host):
        # Windows has its own rules for names, for instance for IP addresses. OpenSSL, which is used for
        # servers with a CA file, would accept this one.
        return TlsFailure(
            "certificate-wrong-name",
            f"The certificate is issued to {host}, but the operating system rejects it for this name: "
            f"{reported}.",
            "Use a host name instead of an IP address, or configure the CA file of its authority.",
        )
    else:
        names = ", ".join(own.names[:5]) or "no name"
        cause = f"The certificate is issued to {names}, not to {host}.{signed}"
    return TlsFailure("certificate-wrong-name", cause, _USE_NAME)


def is_issued_to(certificate: CertificateInfo, host: str) -> bool:
    """Match like OpenSSL: a wildcard matches the first label only."""
    host = host.lower().rstrip(".")
    with suppress(ValueError):
        host = str(ipaddress.ip_address(host))
    parent = f"*.{host.partition('.')[2]}"
    return any(name.lower() in (host, parent) for name in certificate.names)


def _explain_issuer(host: str, code: int, message: str, chain: Sequence[CertificateInfo]) -> TlsFailure:
    if not chain:
        reported = one_line(message).rstrip(".")
        cause = f"The certificate of {host} is not signed by a trusted authority ({reported})."
        id = "certificate-self-signed" if code == _SELF_SIGNED else "issuer-unknown"
        return TlsFailure(id, cause, _SET_CA_FILE)
    own, last = chain[0], chain[-1]
    if own.is_self_signed:
        cause = f"{host} has a self-signed certificate, which no authority vouches for."
        return TlsFailure("certificate-self-signed", cause, _TRUST_CERTIFICATE, own)
    if last.is_self_signed:
        cause = f"The certificate of {host} is signed by a private authority that this machine does not know."
        return TlsFailure("authority-unknown", cause, _TRUST_AUTHORITY, last)
    if own.has_issuer_url and len(chain) == 1:
        cause = (
            f"{host} sends only its own certificate, not that of its issuer ({own.issuer}): the "
            "chain is incomplete. Browsers fetch missing certificates, programs do not."
        )
        return TlsFailure(
            "chain-incomplete", cause, "Configure the full chain on the server (fullchain.pem)."
        )
    issuer = f"an authority ({own.issuer}) that this machine does not trust"
    cause = f"The certificate of {host} is signed by {issuer}."
    return TlsFailure("issuer-unknown", cause, _TRUST_AUTHORITY, own)


# OpenSSL's reasons for a peer that does not use TLS.
_PLAIN = frozenset({"WRONG_VERSION_NUMBER", "HTTP_REQUEST", "RECORD_LAYER_FAILURE", "PACKET_LENGTH_TOO_LONG"})
_TOO_OLD = (
    "tls-too-old",
    "supports only outdated, insecure TLS versions",
    "Update the server: it must support TLS 1.2 or newer.",
)
# The ends of OpenSSL's reason strings for the alerts that a server sends.
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
    "PROTOCOL_VERSION": _TOO_OLD,
    "UNSUPPORTED_PROTOCOL": _TOO_OLD,
    "HANDSHAKE_FAILURE": (
        "tls-no-agreement",
        "could not agree on TLS parameters with MCP Lens",
        "It may require a client certificate, or support only old TLS versions or ciphers.",
    ),
    "UNRECOGNIZED_NAME": (
        "tls-name-unknown",
        "does not know the requested host name",
        "Use the host name the server is configured for.",
    ),
}


def is_plain(reason: str) -> bool:
    """True if OpenSSL's reason means that the peer does not use TLS."""
    return reason in _PLAIN


def explain_alert(host: str, reason: str) -> TlsFailure | None:
    """Explain an alert of the server by OpenSSL's reason string; None if it is unknown."""
    for ending, (id, what, fix) in _ALERTS.items():
        if reason.endswith(ending):
            return TlsFailure(id, f"{host} {what}.", fix)
    return None

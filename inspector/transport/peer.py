"""The peer of a connection: its IP address, TLS details and certificate chain, for display."""

from __future__ import annotations

import ssl
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from inspector.base.plain_text import one_line

if TYPE_CHECKING:
    import httpx2

_MAX_CERTIFICATES = 10


@dataclass(frozen=True, slots=True)
class Peer:
    """The other end of a connection. With a proxy, `address` is the proxy's."""

    address: str
    port: int
    tls: str = ""  # the version, such as "TLSv1.3"; "" for none
    certificate: CertificateInfo | None = None
    is_proxy: bool = False

    def lines(self) -> tuple[str, ...]:
        """Return the lines to display."""
        number = f"[{self.address}]" if ":" in self.address else self.address
        where = f"{number} port {self.port}" + (", a proxy" if self.is_proxy else "")
        certificate = self.certificate.lines() if self.certificate is not None else ()
        return (f"from {where}{f', {self.tls}' if self.tls else ''}", *certificate)


@dataclass(frozen=True, slots=True)
class CertificateInfo:
    subject: str
    issuer: str
    names: tuple[str, ...]
    valid_from: datetime
    valid_until: datetime
    fingerprint: str  # SHA-256, as browsers show it
    is_self_signed: bool
    has_issuer_url: bool  # has the URL of its issuer's certificate
    pem: str

    def lines(self) -> tuple[str, ...]:
        """Return the lines to display."""
        return (
            f"{self.subject}, signed by {'itself' if self.is_self_signed else self.issuer}",
            f"  names: {', '.join(self.names[:8]) or 'none'}{', …' if len(self.names) > 8 else ''}",
            f"  valid from {self.valid_from:%Y-%m-%d %H:%M} to {self.valid_until:%Y-%m-%d %H:%M} UTC",
            f"  SHA-256 {self.fingerprint}",
        )


def peer_of(response: httpx2.Response, *, is_proxy: bool = False) -> Peer | None:
    """Return the peer of a response that is still open; None if unknown."""
    stream = response.extensions.get("network_stream")
    if stream is None:
        return None
    address = stream.get_extra_info("server_addr")
    if not isinstance(address, tuple) or len(address) < 2:
        return None
    secured = stream.get_extra_info("ssl_object")
    if not isinstance(secured, ssl.SSLObject | ssl.SSLSocket):
        return Peer(str(address[0]), int(address[1]), is_proxy=is_proxy)
    chain = read_chain(chain_of(secured)[:1])
    own = chain[0] if chain else None
    return Peer(str(address[0]), int(address[1]), secured.version() or "TLS", own, is_proxy)


def chain_of(connection: object) -> tuple[bytes, ...]:
    """Return the certificates that the server sent, its own first, trusted or not."""
    inner = getattr(connection, "_sslobj", None)
    # Public only since Python 3.13.
    get = getattr(connection, "get_unverified_chain", None) or getattr(inner, "get_unverified_chain", None)
    chain = get() if get is not None else None
    if chain:
        return tuple(_der(each) for each in chain[:_MAX_CERTIFICATES])
    own = getattr(connection, "getpeercert", lambda binary: None)(True)
    return (own,) if own else ()


def _der(certificate: object) -> bytes:
    if isinstance(certificate, bytes):
        return certificate
    encoded = certificate.public_bytes(ssl._ssl.ENCODING_DER)  # type: ignore[attr-defined]
    assert isinstance(encoded, bytes)
    return encoded


def read_chain(chain: Sequence[bytes]) -> tuple[CertificateInfo, ...]:
    """Parse a chain, up to the first broken certificate."""
    certificates: list[CertificateInfo] = []
    for der in chain:
        try:
            certificates.append(_read(der))
        except ValueError:
            break
    return tuple(certificates)


def _read(der: bytes) -> CertificateInfo:
    from cryptography import x509
    from cryptography.hazmat.primitives.hashes import SHA256

    certificate = x509.load_der_x509_certificate(der)
    fingerprint = certificate.fingerprint(SHA256()).hex(":").upper()
    return CertificateInfo(
        subject=one_line(certificate.subject.rfc4514_string()) or "(no name)",
        issuer=one_line(certificate.issuer.rfc4514_string()) or "(no name)",
        names=_names(certificate),
        valid_from=certificate.not_valid_before_utc.astimezone(UTC),
        valid_until=certificate.not_valid_after_utc.astimezone(UTC),
        fingerprint=fingerprint,
        is_self_signed=certificate.subject == certificate.issuer,
        has_issuer_url=_has_issuer_url(certificate),
        pem=ssl.DER_cert_to_PEM_cert(der),
    )


def _names(certificate: object) -> tuple[str, ...]:
    from cryptography import x509

    assert isinstance(certificate, x509.Certificate)
    try:
        names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except (x509.ExtensionNotFound, ValueError):
        return ()
    return tuple(one_line(str(name.value)) for name in names)


def _has_issuer_url(certificate: object) -> bool:
    from cryptography import x509
    from cryptography.x509.oid import AuthorityInformationAccessOID

    assert isinstance(certificate, x509.Certificate)
    try:
        access = certificate.extensions.get_extension_for_class(x509.AuthorityInformationAccess).value
    except (x509.ExtensionNotFound, ValueError):
        return False
    return any(each.access_method == AuthorityInformationAccessOID.CA_ISSUERS for each in access)

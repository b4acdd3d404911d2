"""Certificates as a person compares them: names, dates, fingerprint, who signed."""

from __future__ import annotations

import ssl
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from inspector.base.plaintext import one_line

_MOST = 10


@dataclass(frozen=True, slots=True)
class CertificateSeen:
    subject: str
    issuer: str
    names: tuple[str, ...]
    valid_from: datetime
    valid_until: datetime
    fingerprint: str  # SHA-256, as browsers show it
    is_self_signed: bool
    names_its_issuer: bool  # has the URL of its issuer's certificate
    pem: str

    def lines(self) -> tuple[str, ...]:
        """Return the lines to display."""
        return (
            f"{self.subject}, signed by {'itself' if self.is_self_signed else self.issuer}",
            f"  names: {', '.join(self.names[:8]) or 'none'}{', …' if len(self.names) > 8 else ''}",
            f"  valid from {self.valid_from:%Y-%m-%d %H:%M} to {self.valid_until:%Y-%m-%d %H:%M} UTC",
            f"  SHA-256 {self.fingerprint}",
        )


def chain_of(connection: object) -> tuple[bytes, ...]:
    """Return the certificates that the server sent, its own first, trusted or not."""
    inner = getattr(connection, "_sslobj", None)
    # Public only since Python 3.13.
    get = getattr(connection, "get_unverified_chain", None) or getattr(inner, "get_unverified_chain", None)
    chain = get() if get is not None else None
    if chain:
        return tuple(_der(each) for each in chain[:_MOST])
    own = getattr(connection, "getpeercert", lambda binary: None)(True)
    return (own,) if own else ()


def _der(certificate: object) -> bytes:
    if isinstance(certificate, bytes):
        return certificate
    encoded = certificate.public_bytes(ssl._ssl.ENCODING_DER)  # type: ignore[attr-defined]
    assert isinstance(encoded, bytes)
    return encoded


def read_chain(chain: Sequence[bytes]) -> tuple[CertificateSeen, ...]:
    """Parse a chain, up to the first broken certificate."""
    seen: list[CertificateSeen] = []
    for der in chain:
        try:
            seen.append(_read(der))
        except ValueError:
            break
    return tuple(seen)


def _read(der: bytes) -> CertificateSeen:
    from cryptography import x509
    from cryptography.hazmat.primitives.hashes import SHA256

    certificate = x509.load_der_x509_certificate(der)
    print_ = certificate.fingerprint(SHA256()).hex(":").upper()
    return CertificateSeen(
        subject=one_line(certificate.subject.rfc4514_string()) or "(no name)",
        issuer=one_line(certificate.issuer.rfc4514_string()) or "(no name)",
        names=_names(certificate),
        valid_from=certificate.not_valid_before_utc.astimezone(UTC),
        valid_until=certificate.not_valid_after_utc.astimezone(UTC),
        fingerprint=print_,
        is_self_signed=certificate.subject == certificate.issuer,
        names_its_issuer=_has_issuer_place(certificate),
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


def _has_issuer_place(certificate: object) -> bool:
    from cryptography import x509
    from cryptography.x509.oid import AuthorityInformationAccessOID

    assert isinstance(certificate, x509.Certificate)
    try:
        access = certificate.extensions.get_extension_for_class(x509.AuthorityInformationAccess).value
    except (x509.ExtensionNotFound, ValueError):
        return False
    return any(each.access_method == AuthorityInformationAccessOID.CA_ISSUERS for each in access)

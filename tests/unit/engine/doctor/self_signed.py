"""Self-signed certificates, as people make them for their own machines."""

from __future__ import annotations

import datetime
import ipaddress
import ssl
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID


def self_signed(folder: Path, address: str = "127.0.0.1", *, days: int = 90) -> ssl.SSLContext:
    """Return the TLS context of a server whose certificate is valid for so many days."""
    now, day = datetime.datetime.now(datetime.UTC), datetime.timedelta(days=1)
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, address)])
    names = x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address(address))])
    certificate = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - 100 * day)
        .not_valid_after(now + days * day)
        .add_extension(names, critical=False)
        .sign(key, hashes.SHA256())
    )
    both = folder / "self.pem"
    private = key.private_bytes(Encoding.PEM, PrivateFormat.TraditionalOpenSSL, NoEncryption())
    both.write_bytes(certificate.public_bytes(Encoding.PEM) + private)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(both)
    return context

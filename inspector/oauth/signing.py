"""Client signatures: JWS (RFC 7515) with ES256 or RS256, DPoP proofs, PEM keys.

Only asymmetric algorithms: `none` and shared secrets (HS256) are rejected. Keys are PKCS#8 PEM, as
authorization servers hand them out, and as secret as a password.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass, field
from typing import TypeAlias

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, padding, rsa
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    load_pem_private_key,
)

from inspector.base.errors import ConfigError
from inspector.base.json.values import JSONObject, compact, quote_value, to_wire
from inspector.protocol.auth import dpop
from inspector.protocol.auth.pkce import b64url

PrivateKey: TypeAlias = ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey

ES256, RS256 = "ES256", "RS256"
_P256_BYTES = 32
_MIN_RSA_BITS = 2048
_ENCRYPTED = re.compile(rb"-----BEGIN ENCRYPTED PRIVATE KEY|Proc-Type: 4,ENCRYPTED")


@dataclass(frozen=True, slots=True)
class SigningKey:
    """A private key and its signing algorithm. Never shown, not even by `repr`."""

    algorithm: str
    _private: PrivateKey = field(repr=False)

    def pem(self) -> str:
        """Return the key as PEM, for the secret store only."""
        data = self._private.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
        return data.decode("ascii")

    def public_jwk(self) -> JSONObject:
        """Return the public key as a JSON Web Key (RFC 7517)."""
        if isinstance(self._private, rsa.RSAPrivateKey):
            numbers = self._private.public_key().public_numbers()
            return {"kty": "RSA", "n": _number(numbers.n), "e": _number(numbers.e)}
        point = self._private.public_key().public_numbers()
        x, y = (b64url(part.to_bytes(_P256_BYTES, "big")) for part in (point.x, point.y))
        return {"kty": "EC", "crv": "P-256", "x": x, "y": y}

    def thumbprint(self) -> str:
        """Return the key's RFC 7638 thumbprint, as in `cnf.jkt` of a bound token."""
        ordered: JSONObject = dict(sorted(self.public_jwk().items()))
        return b64url(hashlib.sha256(compact(ordered).encode("ascii")).digest())

    def sign(self, claims: JSONObject, header: JSONObject | None = None) -> str:
        """Return a signed JWT; the header contains at least the algorithm."""
        head: JSONObject = {"alg": self.algorithm, "typ": "JWT", **(header or {})}
        signed = f"{b64url(to_wire(head))}.{b64url(to_wire(claims))}"
        return f"{signed}.{b64url(self._signature(signed.encode('ascii')))}"

    def _signature(self, data: bytes) -> bytes:
        if isinstance(self._private, rsa.RSAPrivateKey):
            return self._private.sign(data, padding.PKCS1v15(), hashes.SHA256())
        # RFC 7518, section 3.4: R and S concatenated, not the DER that the library returns.
        r, s = decode_dss_signature(self._private.sign(data, ec.ECDSA(hashes.SHA256())))
        return r.to_bytes(_P256_BYTES, "big") + s.to_bytes(_P256_BYTES, "big")


def new_key() -> SigningKey:
    """Create an ES256 key."""
    return SigningKey(ES256, ec.generate_private_key(ec.SECP256R1()))


def read_key(pem: str, algorithm: str = "") -> SigningKey:
    """Read a key from PEM. `algorithm` is the required one; "" takes what fits the key.

    Raises ConfigError, which never quotes the text.
    """
    private = _private_of(pem)
    if isinstance(private, rsa.RSAPrivateKey):
        matching = RS256
    elif isinstance(private.curve, ec.SECP256R1):
        matching = ES256
    else:
        raise ConfigError(f"The key uses the curve {private.curve.name}.", "ES256 requires a P-256 key.")
    if algorithm not in ("", matching):
        raise ConfigError(
            f"This key cannot sign with {quote_value(algorithm)}.", f"Choose {matching} or another key."
        )
    return SigningKey(matching, private)


def _private_of(pem: str) -> PrivateKey:
    data = pem.strip().encode("utf-8", "replace")
    if _ENCRYPTED.search(data):
        raise ConfigError(
            "The private key is protected by a password.",
            "Remove the password first: openssl pkcs8 -in key.pem -nocrypt -topk8",
        )
    try:
        key = load_pem_private_key(data, password=None)
    except (ValueError, TypeError, UnsupportedAlgorithm):
        raise ConfigError(
            "The text is not a readable private key.", "Paste a key in PEM format (BEGIN PRIVATE KEY)."
        ) from None
    if isinstance(key, rsa.RSAPrivateKey) and key.key_size < _MIN_RSA_BITS:
        raise ConfigError(f"The RSA key has only {key.key_size} bits.", "RS256 requires at least 2,048 bits.")
    if not isinstance(key, ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey):
        raise ConfigError("The key is neither an EC nor an RSA key.", "Use a key for ES256 or RS256.")
    return key


def dpop_proof(
    key: SigningKey, method: str, url: str, now: float, *, access_token: str = "", nonce: str = ""
) -> str:
    """Return the `DPoP` header of one request. Create a new one for each, retries included."""
    claims = dpop.proof_claims(method, url, now, access_token=access_token, nonce=nonce)
    return key.sign(claims, {"typ": dpop.PROOF_TYPE, "jwk": key.public_jwk()})


def _number(value: int) -> str:
    return b64url(value.to_bytes((value.bit_length() + 7) // 8, "big"))

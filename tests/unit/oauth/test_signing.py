"""Signatures, verified with cryptography's own functions."""

from __future__ import annotations

import base64
import hashlib
import json
from typing import Any

import pytest
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, padding, rsa
from cryptography.hazmat.primitives.asymmetric.utils import encode_dss_signature
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    NoEncryption,
    PrivateFormat,
)

from inspector.base.errors import ConfigError
from inspector.oauth.signing import ES256, RS256, SigningKey, dpop_proof, new_key, read_key


def unpacked(text: str) -> bytes:
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


def taken_apart(token: str) -> tuple[dict[str, Any], dict[str, Any], bytes, bytes]:
    head, claims, signature = token.split(".")
    return (
        json.loads(unpacked(head)),
        json.loads(unpacked(claims)),
        f"{head}.{claims}".encode(),
        unpacked(signature),
    )


def public_ec(jwk: dict[str, Any]) -> ec.EllipticCurvePublicKey:
    x, y = (int.from_bytes(unpacked(jwk[name]), "big") for name in "xy")
    return ec.EllipticCurvePublicNumbers(x, y, ec.SECP256R1()).public_key()


def pem(key: Any, format: PrivateFormat = PrivateFormat.PKCS8) -> str:
    return str(key.private_bytes(Encoding.PEM, format, NoEncryption()).decode())


@pytest.fixture(scope="module")
def rsa_key() -> rsa.RSAPrivateKey:
    return rsa.generate_private_key(65537, 2048)


def test_es256_signature_is_two_integers_and_verifies() -> None:
    key = new_key()
    for _ in range(20):  # some numbers begin with zero bytes, which must stay
        head, claims, signed, signature = taken_apart(key.sign({"a": "é"}))
        assert (head, claims, len(signature)) == ({"alg": "ES256", "typ": "JWT"}, {"a": "é"}, 64)
        r, s = int.from_bytes(signature[:32], "big"), int.from_bytes(signature[32:], "big")
        public = public_ec(dict(key.public_jwk()))
        public.verify(encode_dss_signature(r, s), signed, ec.ECDSA(hashes.SHA256()))


def test_an_rs256_signature_verifies(rsa_key: rsa.RSAPrivateKey) -> None:
    key = read_key(pem(rsa_key), RS256)
    head, _, signed, signature = taken_apart(key.sign({"iss": "me"}))
    assert head["alg"] == "RS256"
    rsa_key.public_key().verify(signature, signed, padding.PKCS1v15(), hashes.SHA256())


def test_a_key_survives_being_stored() -> None:
    key = new_key()
    again = read_key(key.pem(), ES256)
    assert again.thumbprint() == key.thumbprint()
    assert key.pem().startswith("-----BEGIN PRIVATE KEY-----")


def test_older_key_formats_are_read_too(rsa_key: rsa.RSAPrivateKey) -> None:
    one = ec.generate_private_key(ec.SECP256R1())
    assert read_key(f"\n  {pem(one, PrivateFormat.TraditionalOpenSSL)}\n").algorithm == ES256
    assert read_key(pem(rsa_key, PrivateFormat.TraditionalOpenSSL)).algorithm == RS256


def test_a_key_is_not_in_its_repr() -> None:
    key = new_key()
    assert "rivate" not in repr(key)
    assert set(key.public_jwk()) == {"kty", "crv", "x", "y"}


def test_thumbprint_matches_the_example_in_the_standard(monkeypatch: pytest.MonkeyPatch) -> None:
    # RFC 7638, section 3.1.
    n = (
        "0vx7agoebGcQSuuPiLJXZptN9nndrQmbXEps2aiAFbWhM78LhWx4cbbfAAtVT86zwu1RK7aPFFxuhDR1L6tSoc_BJECPebWKRXjBZCi"
        "FV4n3oknjhMstn64tZ_2W-5JsGY4Hc5n9yBXArwl93lqt7_RN5w6Cf0h4QyQ5v-65YGjQR0_FDW2QvzqY368QQMicAtaSqzs8KJZgnYb"
        "9c7d0zgdAZHzu6qMQvRL5hajrn1n91CbOpbISD08qNLyrdkt-bFTWhAI4vMQFh6WeZu0fM4lFd2NcRwr3XPksINHaQ-G_xBniIqbw0Ls"
        "1jF44-csFCur-kEgU8awapJzKnqDKgw"
    )
    monkeypatch.setattr(SigningKey, "public_jwk", lambda _: {"n": n, "kty": "RSA", "e": "AQAB"})
    assert new_key().thumbprint() == "NzbLsXh8uDCcd-6MNwXF4W_7noWXFZAfHkxZsRGC9Xs"


@pytest.mark.parametrize("algorithm", ["none", "HS256", "RS256", "ES384"])
def test_a_key_signs_with_its_own_algorithm_only(algorithm: str) -> None:
    with pytest.raises(ConfigError, match="Choose ES256"):
        read_key(new_key().pem(), algorithm)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "not a readable private key"),
        ("marker-secret", "not a readable private key"),
        (
            "-----BEGIN PRIVATE KEY-----\nmarker-secret\n-----END PRIVATE KEY-----",
            "not a readable private key",
        ),
        (pem(ec.generate_private_key(ec.SECP384R1())), "secp384r1"),
        (pem(ed25519.Ed25519PrivateKey.generate()), "neither"),
        (pem(rsa.generate_private_key(65537, 1024)), "1024 bits"),
    ],
)
def test_unusable_key_is_rejected_without_quoting_it(text: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message) as caught:
        read_key(text)
    assert "marker" not in str(caught.value)
    assert caught.value.next_step


def test_password_protected_key_says_what_to_do() -> None:
    key = ec.generate_private_key(ec.SECP256R1())
    text = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, BestAvailableEncryption(b"x")).decode()
    with pytest.raises(ConfigError, match=r"password.*openssl"):
        read_key(text)


def test_proof_contains_the_public_key_and_its_target() -> None:
    key = new_key()
    proof = dpop_proof(key, "POST", "https://as.example/token?x=1#y", 1000.9)
    head, claims, signed, signature = taken_apart(proof)
    assert (head["typ"], head["alg"], head["jwk"]) == ("dpop+jwt", "ES256", key.public_jwk())
    assert (claims["htm"], claims["htu"], claims["iat"]) == ("POST", "https://as.example/token", 1000)
    assert "ath" not in claims
    assert "nonce" not in claims
    r, s = int.from_bytes(signature[:32], "big"), int.from_bytes(signature[32:], "big")
    public_ec(head["jwk"]).verify(encode_dss_signature(r, s), signed, ec.ECDSA(hashes.SHA256()))


def test_proof_for_a_token_is_bound_to_it_and_never_reused() -> None:
    key = new_key()
    first, second = (
        taken_apart(dpop_proof(key, "GET", "https://mcp/", 0, access_token="t0ken", nonce="n1"))[1]
        for _ in range(2)
    )
    assert unpacked(first["ath"]) == hashlib.sha256(b"t0ken").digest()
    assert first["nonce"] == "n1"
    assert first["jti"] != second["jti"]

"""Rejected certificates are explained alike, whichever verifier rejected them."""

from __future__ import annotations

import ssl
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from inspector.transport.network import explain
from inspector.transport.peer import CertificateInfo, read_chain
from inspector.transport.tls_failures import explain_certificate
from tests.helpers.certificates import Authority

OPENSSL, WINDOWS, MACOS = "OpenSSL", "Windows", "macOS"
EXPIRED = {OPENSSL: 10, WINDOWS: 0x800B0101, MACOS: -67818}
NOT_YET_VALID = {OPENSSL: 9, WINDOWS: 0x800B0101, MACOS: -67819}
WRONG_NAME = {OPENSSL: 62, WINDOWS: 0x800B010F, MACOS: -67602}
UNTRUSTED = {OPENSSL: 20, WINDOWS: 0x800B0109, MACOS: -67843}

every_verifier = pytest.mark.parametrize("system", [OPENSSL, WINDOWS, MACOS])
DAY = timedelta(days=1)


def read(path: str) -> CertificateInfo:
    (certificate,) = read_chain([ssl.PEM_cert_to_DER_cert(Path(path).read_text())])
    return certificate


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    return Authority(tmp_path)


@pytest.fixture
def own(authority: Authority) -> CertificateInfo:
    return read(authority.issue("box.test")[0])


def rejection(code: int, message: str = "the system's words") -> ssl.SSLCertVerificationError:
    error = ssl.SSLCertVerificationError(message)
    error.verify_code, error.verify_message = code, message
    return error


@every_verifier
def test_expired_certificate_is_explained(system: str, own: CertificateInfo) -> None:
    now = own.valid_until + DAY
    found = explain_certificate("box.test", EXPIRED[system], "message", (own,), now)
    assert found.id == "certificate-expired"
    assert found.cause == f"The certificate of box.test expired on {own.valid_until:%Y-%m-%d}."
    assert "expired" in str(explain(rejection(EXPIRED[system]), "https://box.test/mcp"))


@every_verifier
def test_certificate_of_the_future_is_explained(system: str, own: CertificateInfo) -> None:
    now = own.valid_from - DAY
    found = explain_certificate("box.test", NOT_YET_VALID[system], "message", (own,), now)
    assert found.id == "certificate-not-yet-valid"
    assert "not valid yet" in str(explain(rejection(NOT_YET_VALID[system]), "https://box.test/mcp"))


@every_verifier
def test_wrong_name_is_explained(system: str, own: CertificateInfo) -> None:
    found = explain_certificate("other.test", WRONG_NAME[system], "message", (own,))
    assert found.id == "certificate-wrong-name"
    assert found.cause == "The certificate is issued to box.test, not to other.test."
    assert "issued to another name" in str(explain(rejection(WRONG_NAME[system]), "https://other.test/mcp"))


@every_verifier
def test_unknown_issuer_is_explained_and_can_be_trusted(system: str, own: CertificateInfo) -> None:
    found = explain_certificate("box.test", UNTRUSTED[system], "message", (own,))
    assert (found.id, found.trusted) == ("issuer-unknown", own)
    failure = str(explain(rejection(UNTRUSTED[system]), "https://box.test/mcp"))
    assert "is not signed by a trusted authority (the system's words)" in failure


@every_verifier
def test_authority_that_the_server_sent_can_be_trusted(
    system: str, own: CertificateInfo, authority: Authority
) -> None:
    root = read(authority.ca_file)
    found = explain_certificate("box.test", UNTRUSTED[system], "message", (own, root))
    assert (found.id, found.trusted) == ("authority-unknown", root)
    alone = replace(root, names=("box.test",))
    found = explain_certificate("box.test", UNTRUSTED[system], "message", (alone,))
    assert (found.id, found.trusted) == ("certificate-self-signed", alone)


@every_verifier
def test_faults_that_trust_would_not_fix_come_first(system: str, own: CertificateInfo) -> None:
    code = UNTRUSTED[system]
    late = explain_certificate("box.test", code, "message", (own,), own.valid_until + DAY)
    early = explain_certificate("box.test", code, "message", (own,), own.valid_from - DAY)
    other = explain_certificate("other.test", code, "message", (own,))
    assert [late.id, early.id, other.id] == [
        "certificate-expired",
        "certificate-not-yet-valid",
        "certificate-wrong-name",
    ]
    assert {late.trusted, early.trusted, other.trusted} == {None}


def test_unknown_code_is_judged_by_the_certificates(own: CertificateInfo) -> None:
    assert explain_certificate("other.test", 4711, "message", (own,)).id == "certificate-wrong-name"
    found = explain_certificate("box.test", 4711, "The key is too weak.", (own,))
    assert found.id == "certificate-refused"
    assert found.cause == "The certificate of box.test was rejected: The key is too weak."
    assert found.trusted is None


def test_expired_authority_is_named(own: CertificateInfo, authority: Authority) -> None:
    root = replace(read(authority.ca_file), valid_until=datetime(2020, 1, 1, tzinfo=UTC))
    found = explain_certificate("box.test", EXPIRED[WINDOWS], "message", (own, root))
    assert found.id == "certificate-expired"
    assert found.cause == (
        "The certificate of CN=Test Authority, which signed that of box.test, expired on 2020-01-01."
    )


def test_name_that_only_the_system_rejects_is_not_called_another_name(own: CertificateInfo) -> None:
    certificate = replace(own, names=("127.0.0.1",))
    found = explain_certificate("127.0.0.1", WRONG_NAME[WINDOWS], "No match.", (certificate,))
    assert "issued to 127.0.0.1, but the operating system rejects it" in found.cause


def test_rejection_without_a_code_is_reported_with_its_message() -> None:
    """As `truststore` raises it if the server sent no certificate."""
    error = ssl.SSLCertVerificationError("Peer sent no certificates to verify")
    found = explain(error, "https://box.test/mcp")
    assert "was rejected: " in found.summary
    assert "Peer sent no certificates to verify" in found.summary

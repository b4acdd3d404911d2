"""TLS on Windows: the system verifies certificates, and MCP Lens names what is wrong with one."""

from __future__ import annotations

import ssl
from pathlib import Path

import pytest

from inspector.config.servers.entries import NetworkSettings
from inspector.engine.doctor.results import ActionKind, CheckState
from tests.helpers.certificates import Authority
from tests.unit.engine.doctor.broken_hosts import Broken, visit, with_tools
from tests.unit.engine.doctor.doctor_stage import Report
from tests.unit.engine.doctor.self_signed import self_signed
from tests.unit.transport.test_network import ask


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    return Authority(tmp_path)


async def check(tls: ssl.SSLContext, network: NetworkSettings | None = None) -> tuple[Report, str]:
    """Return Doctor's report and the error of a request, for a server at `localhost`."""
    async with Broken(with_tools, tls=tls) as server:
        url = server.url().replace("127.0.0.1", "localhost")
        report = await visit(url, limit=60.0, network=network or NetworkSettings())
        ca_file = network.ca_file if network is not None else ""
        return report, await ask(server, "localhost", ca_file=ca_file)


def full_chain(authority: Authority, folder: Path) -> ssl.SSLContext:
    """Return the context of a server that sends the certificate of its authority too.

    Wine accepts a chain without its root, which Windows rejects.
    """
    certificate, key = authority.issue("localhost")
    chain = folder / "chain.pem"
    chain.write_bytes(Path(certificate).read_bytes() + Path(authority.ca_file).read_bytes())
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(chain, key)
    return context


async def test_unknown_authority_is_named_and_can_be_trusted(authority: Authority, tmp_path: Path) -> None:
    tls = full_chain(authority, tmp_path)
    report, error = await check(tls)
    assert report.failure.id == "authority-unknown"
    assert "is not signed by a trusted authority" in error
    action = report.failure.action
    assert action is not None
    assert action.kind is ActionKind.TRUST_CERTIFICATE
    (tmp_path / "trusted.pem").write_text(action.value)
    report, error = await check(tls, NetworkSettings(ca_file=str(tmp_path / "trusted.pem")))
    assert report.results["list"].state is CheckState.OK
    assert error == "answered"


async def test_self_signed_certificate_is_named_and_can_be_trusted(tmp_path: Path) -> None:
    async with Broken(with_tools, tls=self_signed(tmp_path)) as server:
        failure = (await visit(server.url(), limit=60.0)).failure
        assert failure.id == "certificate-self-signed"
        assert failure.action is not None
        (tmp_path / "trusted.pem").write_text(failure.action.value)
        trusting = NetworkSettings(ca_file=str(tmp_path / "trusted.pem"))
        assert (await visit(server.url(), limit=60.0, network=trusting)).diagnoses == []


async def test_certificate_that_is_not_self_signed_can_be_trusted_by_itself(authority: Authority) -> None:
    """Windows itself trusts only self-signed certificates of a CA file."""
    certificate, key = authority.issue("localhost")
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(certificate, key)
    report, error = await check(tls, NetworkSettings(ca_file=certificate))
    assert report.results["list"].state is CheckState.OK
    assert error == "answered"


async def test_expired_certificate_is_named(authority: Authority) -> None:
    report, _ = await check(authority.server("localhost", expired=True))
    assert report.failure.id == "certificate-expired"
    report, error = await check(
        authority.server("localhost", expired=True), NetworkSettings(ca_file=authority.ca_file)
    )
    assert report.failure.id == "certificate-expired"
    assert "has expired" in error


async def test_wrong_name_is_named(authority: Authority) -> None:
    report, _ = await check(authority.server("elsewhere.test"))
    assert report.failure.id == "certificate-wrong-name"
    assert report.failure.action is None
    report, error = await check(
        authority.server("elsewhere.test"), NetworkSettings(ca_file=authority.ca_file)
    )
    assert report.failure.id == "certificate-wrong-name"
    assert "is issued to another name" in error

"""Each fault switch causes the findings that it names, by our own rules."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from inspector.demo.login.fault_switches import PROVIDER, SWITCHES
from inspector.protocol.auth.server_metadata import MetadataSource, read_server_metadata
from inspector.protocol.auth.url_guard import allowance_for
from inspector.protocol.revisions import R2
from tests.unit.demo.login.login_client import LoginDemo
from tests.unit.demo.login.login_findings import Walk

PROBES = {"REG-012", "AZ-010", "TOK-007", "TOK-008", "TOK-019", "RS-002", "RS-003", "RS-009", "RS-010"}
"""Found only by a client that tries something forbidden."""

OTHERWISE = {
    "documents_refused": "REG-011 needs a client with a metadata document",
    "bearer_for_proof": "TOK-016 needs a client with a key",
    "moved": "RS-012 needs a login before, and has a test of its own",
    "asm_endless": "nothing to read",
    "token_slow": "nothing to read",
    "token_endless": "nothing to read",
    "dpop": "a client with a key",
    "dpop_nonce": "a client with a key",
}

# This walk goes by no company; our own login does, in tests/unit/oauth/test_login_bench.py.
SEEN = [name for name, switch in SWITCHES.items() if name not in OTHERWISE and switch.group != PROVIDER]


@pytest.fixture
def demo(demo: LoginDemo) -> Iterator[LoginDemo]:
    yield demo
    demo.forget()


def test_correct_server_has_no_findings(demo: LoginDemo) -> None:
    assert Walk(demo).run() == set()


@pytest.mark.parametrize("name", SEEN)
def test_switch_causes_the_findings_it_names(demo: LoginDemo, name: str) -> None:
    demo.only(name)
    assert set(SWITCHES[name].shows) - PROBES <= Walk(demo).run()


def test_changed_issuer_is_detected(demo: LoginDemo) -> None:
    demo.only("moved")
    assert "RS-012" in Walk(demo).run(issuer_before=demo.origin)


def test_metadata_of_the_old_protocol_version_must_name_the_origin(demo: LoginDemo) -> None:
    demo.only("no_prm", "wrong_issuer")
    reading = read_server_metadata(
        demo.metadata(), demo.origin, R2, allowance_for(demo.url), source=MetadataSource.LEGACY
    )
    assert "ASM-025" in {finding.id for finding in reading.findings}

"""Every scenario of the public suite that needs no login, in both revisions."""

from __future__ import annotations

import pytest

from tests.conformance.suite import REVISIONS, Scenario, Suite

pytestmark = [pytest.mark.conformance, pytest.mark.timeout(240)]

SCENARIOS = {
    "2025-11-25": (
        "initialize",
        "tools_call",
        "elicitation-sep1034-client-defaults",
        "sse-retry",
        "json-schema-2020-12-preservation",
    ),
    "2026-07-28": (
        "tools_call",
        "request-metadata",
        "http-standard-headers",
        "http-custom-headers",
        "http-invalid-tool-headers",
        "sep-2322-client-request-state",
        "json-schema-ref-no-deref",
        "json-schema-2020-12-preservation",
    ),
}


@pytest.mark.parametrize(
    ("revision", "name"), [(revision, name) for revision, names in SCENARIOS.items() for name in names]
)
def test_the_client_conforms(suite: Suite, revision: str, name: str) -> None:
    verdict = suite.run(Scenario(revision, name, is_required=True))
    assert verdict.reasons == ()


@pytest.mark.parametrize("revision", REVISIONS)
def test_no_scenario_without_a_login_is_left_out(suite: Suite, revision: str) -> None:
    offered = {scenario.name for scenario in suite.scenarios(revision) if not scenario.needs_login}
    assert offered == set(SCENARIOS[revision])

"""Every client scenario of the public suite, in both protocol versions, scored or not."""

from __future__ import annotations

import pytest

from tests.conformance.suite import REVISIONS, Scenario, Suite

pytestmark = [pytest.mark.conformance, pytest.mark.timeout(240)]

LOGINS = (
    "auth/metadata-default",
    "auth/metadata-var1",
    "auth/metadata-var2",
    "auth/metadata-var3",
    "auth/basic-cimd",
    "auth/scope-from-www-authenticate",
    "auth/scope-from-scopes-supported",
    "auth/scope-omitted-when-undefined",
    "auth/scope-step-up",
    "auth/scope-retry-limit",
    "auth/token-endpoint-auth-basic",
    "auth/token-endpoint-auth-post",
    "auth/token-endpoint-auth-none",
    "auth/pre-registration",
    "auth/client-credentials-jwt",
    "auth/client-credentials-basic",
    "auth/enterprise-managed-authorization",
    "auth/dpop",
    "auth/dpop-nonce",
    "auth/wif-jwt-bearer",
)
SCENARIOS = {
    "2025-11-25": (
        "initialize",
        "tools_call",
        "elicitation-sep1034-client-defaults",
        "sse-retry",
        "json-schema-2020-12-preservation",
        *LOGINS,
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
        *LOGINS,
        "auth/resource-mismatch",
        "auth/offline-access-scope",
        "auth/offline-access-not-supported",
        "auth/authorization-server-migration",
        "auth/iss-supported",
        "auth/iss-not-advertised",
        "auth/iss-supported-missing",
        "auth/iss-wrong-issuer",
        "auth/iss-unexpected",
        "auth/iss-normalized",
        "auth/metadata-issuer-mismatch",
    ),
}
# Of a revision before the two sets: they are in none, and the suite still runs them.
OLDEST_LOGINS = (
    "auth/2025-03-26-oauth-metadata-backcompat",
    "auth/2025-03-26-oauth-endpoint-fallback",
)


@pytest.mark.parametrize(
    ("revision", "name"), [(revision, name) for revision, names in SCENARIOS.items() for name in names]
)
def test_the_client_conforms(suite: Suite, revision: str, name: str) -> None:
    verdict = suite.run(Scenario(revision, name, is_required=True))
    assert verdict.reasons == ()


@pytest.mark.parametrize("name", OLDEST_LOGINS)
def test_the_client_logs_in_to_the_oldest_servers(suite: Suite, name: str) -> None:
    verdict = suite.run(Scenario("2025-03-26", name, is_required=False))
    assert verdict.reasons == ()


@pytest.mark.parametrize("revision", REVISIONS)
def test_no_scenario_is_left_out(suite: Suite, revision: str) -> None:
    assert {scenario.name for scenario in suite.scenarios(revision)} == set(SCENARIOS[revision])

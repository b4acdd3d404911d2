"""Parsing of callbacks, and the order of their checks."""

from __future__ import annotations

from dataclasses import replace
from urllib.parse import urlencode

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inspector.protocol.auth.authorization_request import (
    CallbackExpectation,
    CallbackResult,
    CheckResult,
    check_callback,
    read_callback,
)
from inspector.protocol.auth.client_registration import ClientSource
from inspector.protocol.auth.findings.finding import Severity
from inspector.protocol.revisions import R2, R4, R5

AS = "https://as.example"
REDIRECT = "http://127.0.0.1:5000/callback"
STATE = "the-state-of-this-login"
EXPECTED = CallbackExpectation(STATE, AS, True, REDIRECT, "client", ClientSource.DYNAMIC, R5)
NOT_ADVERTISED = replace(EXPECTED, iss_advertised=False)


def check(expected: CallbackExpectation = EXPECTED, /, **parameters: str) -> CallbackResult:
    return check_callback(read_callback(f"{REDIRECT}?{urlencode(parameters)}"), expected)


def ids(checked: CallbackResult) -> list[str]:
    return [one.id for one in checked.findings]


def steps(checked: CallbackResult) -> list[tuple[str, CheckResult]]:
    return [(one.name, one.result) for one in checked.checks]


def has_state(checked: CallbackResult) -> bool:
    return ("state", CheckResult.PASSED) in steps(checked)


def test_valid_callback_passes_every_check_in_order() -> None:
    checked = check(code="c0de", state=STATE, iss=AS)
    assert checked.code == "c0de"
    assert steps(checked) == [(name, CheckResult.PASSED) for name in ("state", "iss", "error", "code")]
    assert (checked.findings, checked.problem) == ((), "")
    assert has_state(checked)


def test_repr_and_text_contain_no_secret() -> None:
    callback = read_callback(f"{REDIRECT}?code=c0de&state=wr0ng&iss={AS}")
    checked = check_callback(callback, EXPECTED)
    for text in (repr(callback), repr(checked), repr(EXPECTED), checked.problem):
        assert "c0de" not in text
        assert "wr0ng" not in text
        assert STATE not in text


@pytest.mark.parametrize(
    "text",
    [f"{REDIRECT}?code=c&state={STATE}", f"/callback?code=c&state={STATE}", f"?code=c&state={STATE}"],
)
def test_callback_may_be_a_url_a_target_or_a_query(text: str) -> None:
    assert check_callback(read_callback(text), NOT_ADVERTISED).code == "c"
    assert check_callback(read_callback(text.partition("?")[2]), NOT_ADVERTISED).code == "c"


def test_az_001_missing_state() -> None:
    checked = check(code="c", iss=AS)
    assert (ids(checked), checked.code, has_state(checked)) == (["AZ-001"], "", False)


@pytest.mark.parametrize("state", [STATE + "x", STATE[:-1], STATE.upper(), "é", f" {STATE}"])
def test_az_002_wrong_state(state: str) -> None:
    checked = check(code="c", state=state, iss=AS)
    assert (ids(checked), checked.code, has_state(checked)) == (["AZ-002"], "", False)
    assert steps(checked) == [("state", CheckResult.FAILED)]
    assert checked.findings[0].stops


def test_error_with_a_wrong_state_is_ignored() -> None:
    checked = check(error="access_denied", error_description="believe me", state="other")
    assert checked.error is None
    assert "believe" not in checked.problem


def test_duplicate_state_is_rejected() -> None:
    checked = check_callback(read_callback(f"?code=c&state={STATE}&state={STATE}"), EXPECTED)
    assert not has_state(checked)
    assert ids(checked) == ["AZ-002"]


def test_duplicate_code_is_rejected() -> None:
    checked = check_callback(read_callback(f"?code=a&code=b&state={STATE}&iss={AS}"), EXPECTED)
    assert (checked.code, has_state(checked)) == ("", True)
    assert "more than once" in checked.problem


def test_advertised_and_present_iss_is_compared() -> None:
    assert check(code="c", state=STATE, iss=AS).code == "c"
    assert ids(check(code="c", state=STATE, iss="https://evil.example")) == ["AZ-004"]


@pytest.mark.parametrize("parameters", [{}, {"iss": ""}])
def test_advertised_and_missing_iss_is_rejected(parameters: dict[str, str]) -> None:
    checked = check(code="c", state=STATE, **parameters)
    assert (ids(checked), checked.code) == (["AZ-003"], "")
    assert checked.checks[-1].text == "Advertised, but absent."


def test_missing_iss_is_only_a_warning_before_the_rule_existed() -> None:
    checked = check(replace(EXPECTED, revision=R4), code="c", state=STATE)
    assert (ids(checked), checked.code) == (["AZ-003"], "c")
    assert checked.findings[0].severity is Severity.WARNING
    assert ("iss", CheckResult.FAILED) in steps(checked)


def test_unadvertised_but_present_iss_is_compared_anyway() -> None:
    good = check(NOT_ADVERTISED, code="c", state=STATE, iss=AS)
    assert (ids(good), good.code) == (["AZ-005"], "c")
    assert ids(check(NOT_ADVERTISED, code="c", state=STATE, iss="https://evil.example")) == ["AZ-004"]
    assert check(NOT_ADVERTISED, code="c", state=STATE, iss="").code == ""


def test_neither_advertised_nor_present_iss_is_fine() -> None:
    checked = check(NOT_ADVERTISED, code="c", state=STATE)
    assert (checked.findings, checked.code) == ((), "c")
    assert checked.checks[1].text == "Absent and not advertised."


@pytest.mark.parametrize(
    "iss", [AS + "/", "https://AS.example", AS + ":443", "https://as.ex%61mple", f" {AS}"]
)
@pytest.mark.parametrize("revision", [R4, R5])
def test_az_004_issuers_are_compared_exactly_in_every_version(iss: str, revision: object) -> None:
    for expected in (EXPECTED, NOT_ADVERTISED):
        checked = check(replace(expected, revision=revision), code="c", state=STATE, iss=iss)  # type: ignore[arg-type]
        assert (ids(checked), checked.code) == (["AZ-004"], "")
        assert checked.findings[0].stops


def test_wrong_issuer_means_the_error_is_neither_shown_nor_stored() -> None:
    checked = check(
        state=STATE,
        iss="https://evil.example",
        error="server_error",
        error_description="call 555",
        error_uri="https://evil.example/help",
    )
    assert checked.error is None
    assert "555" not in checked.problem
    assert "555" not in "".join(one.text + one.evidence for one in checked.findings)


def test_without_a_known_issuer_iss_is_only_shown() -> None:
    expected = replace(EXPECTED, issuer=None, iss_advertised=False, revision=R2)
    checked = check(expected, code="c", state=STATE, iss="https://whoever.example")
    assert checked.code == "c"
    assert ("iss", CheckResult.SKIPPED) in steps(checked)


def test_az_006_callback_in_the_fragment() -> None:
    checked = check_callback(read_callback(f"{REDIRECT}#code=c&state={STATE}&iss={AS}"), EXPECTED)
    assert (ids(checked), checked.code) == (["AZ-006"], "")
    assert has_state(checked)


@pytest.mark.parametrize(
    ("error", "description", "parameter"),
    [
        ("invalid_scope", "", "scope"),
        ("invalid_target", "", "resource"),
        ("invalid_request", "Unknown parameter: Resource", "resource"),
    ],
)
def test_az_007_a_refused_parameter(error: str, description: str, parameter: str) -> None:
    checked = check(state=STATE, iss=AS, error=error, error_description=description)
    assert ids(checked) == ["AZ-007"]
    assert parameter in checked.findings[0].seen
    assert checked.error is not None
    assert checked.error.code == error


@pytest.mark.parametrize("location", ["http://127.0.0.1:5001/callback", "http://127.0.0.1:5000/other"])
def test_az_009_unexpected_redirect_path(location: str) -> None:
    checked = check_callback(read_callback(f"{location}?code=c&state={STATE}&iss={AS}"), EXPECTED)
    assert (ids(checked), checked.code) == (["AZ-009"], "c")


def test_reg_011_rejected_client_metadata_document() -> None:
    expected = replace(EXPECTED, client_source=ClientSource.DOCUMENT, client_id="https://l/c.json")
    checked = check(expected, state=STATE, iss=AS, error="invalid_client")
    assert ids(checked) == ["REG-011"]
    assert "https://l/c.json" in checked.findings[0].fix
    assert ids(check(state=STATE, iss=AS, error="invalid_client")) == []


def test_error_is_explained_and_quotes_the_server() -> None:
    checked = check(state=STATE, iss=AS, error="access_denied", error_description="Not\u202e today")
    assert "The login was denied, by you or by the server." in checked.problem
    assert "today" in checked.problem
    assert "\u202e" not in checked.problem
    assert checked.code == ""


def test_callback_without_code_or_error_is_a_problem() -> None:
    checked = check(state=STATE, iss=AS)
    assert (checked.code, checked.checks[-1].name) == ("", "code")
    assert "Start the login again" in checked.problem


@pytest.mark.parametrize(
    "text", ["", "x" * 20_000, "http://[::1?code=x", "&".join("a=b" for _ in range(100))]
)
def test_text_without_a_callback_gives_none(text: str) -> None:
    checked = check_callback(read_callback(text), EXPECTED)
    assert (checked.code, has_state(checked)) == ("", False)
    assert checked.problem


@given(st.text())
def test_no_text_without_the_state_gives_a_code(text: str) -> None:
    checked = check_callback(read_callback(text), NOT_ADVERTISED)
    assert not checked.code
    assert not has_state(checked)


_names = st.sampled_from(["code", "state", "iss", "error", "error_description", "x"])
_values = st.sampled_from([STATE, AS, AS + "/", "", "c0de", "access_denied"])


@given(st.lists(st.tuples(_names, _values), max_size=8), st.sampled_from([EXPECTED, NOT_ADVERTISED]))
def test_code_is_returned_only_with_exactly_one_correct_state_and_issuer(
    pairs: list[tuple[str, str]], expected: CallbackExpectation
) -> None:
    checked = check_callback(read_callback(f"{REDIRECT}?{urlencode(pairs)}"), expected)
    if checked.code:
        given = dict(pairs)
        assert len(given) == len(pairs)
        assert (given["state"], given["code"]) == (STATE, checked.code)
        assert "error" not in given or not given["error"]
        assert given.get("iss") == AS or ("iss" not in given and not expected.iss_advertised)
    else:
        assert checked.problem

"""Challenges: parser, choice, and findings about a rejection."""

from __future__ import annotations

import base64

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inspector.protocol.auth.challenge import (
    AccessStatus,
    Challenge,
    Challenges,
    access_status,
    check_response,
    choose_challenge,
    read_challenges,
    rejected_header_error,
    rejection_reason,
)
from inspector.protocol.auth.findings.finding import Severity
from inspector.protocol.jsonrpc import ErrorObject
from inspector.protocol.revisions import R3, R4, R5


def ids(*headers: str, status: int = 401, with_token: bool = False, error: str = "") -> list[str]:
    body = ErrorObject(-32001, error) if error else None
    found = check_response(status, read_challenges(headers), R5, with_token=with_token, error=body)
    return [one.id for one in found]


META = 'Bearer resource_metadata="https://example.com/prm"'

READABLE: list[tuple[str, list[tuple[str, dict[str, str]]]]] = [
    ("Bearer", [("Bearer", {})]),
    ('Bearer realm="x", scope="a b"', [("Bearer", {"realm": "x", "scope": "a b"})]),
    ('bearer ERROR="insufficient_scope"', [("bearer", {"error": "insufficient_scope"})]),
    (
        'Bearer error_description="needs scope=admin now", scope="read"',
        [("Bearer", {"error_description": "needs scope=admin now", "scope": "read"})],
    ),
    (
        'Basic realm="resource_metadata=https://evil/", Bearer resource_metadata="https://ok/"',
        [
            ("Basic", {"realm": "resource_metadata=https://evil/"}),
            ("Bearer", {"resource_metadata": "https://ok/"}),
        ],
    ),
    ('Bearer scope=""', [("Bearer", {"scope": ""})]),
    ('Bearer realm="say \\"hi\\", Basic x=1"', [("Bearer", {"realm": 'say "hi", Basic x=1'})]),
    ("Bearer error = invalid_token ,\tscope = a", [("Bearer", {"error": "invalid_token", "scope": "a"})]),
    ("Negotiate, Bearer, Basic realm=x", [("Negotiate", {}), ("Bearer", {}), ("Basic", {"realm": "x"})]),
    ("Negotiate abc/+==, Bearer scope=a", [("Negotiate", {}), ("Bearer", {"scope": "a"})]),
    (", ,Bearer scope=a,,error=b,", [("Bearer", {"scope": "a", "error": "b"})]),
    ('DPoP algs="ES256 RS256", Bearer', [("DPoP", {"algs": "ES256 RS256"}), ("Bearer", {})]),
    ("", []),
    (" , ", []),
]


@pytest.mark.parametrize(("header", "expected"), READABLE)
def test_header_is_parsed_as_intended(header: str, expected: list[tuple[str, dict[str, str]]]) -> None:
    challenges = read_challenges([header])

    assert [(one.scheme, one.parameters) for one in challenges.all] == expected
    assert not challenges.problems


def test_token68_in_place_of_parameters_is_kept() -> None:
    assert read_challenges(["Negotiate abc/+=="]).all == (Challenge("Negotiate", token="abc/+=="),)


@pytest.mark.parametrize(
    ("header", "column", "problem", "expected"),
    [
        ('Bearer realm="x', 14, "unclosed", [("Bearer", {})]),
        ('Bearer scope="a" error="b"', 18, "comma", [("Bearer", {"scope": "a", "error": "b"})]),
        ('realm="x", Bearer scope=a', 6, "before any scheme", [("Bearer", {"scope": "a"})]),
        ("(), Bearer scope=a", 1, "expected a name", [("Bearer", {"scope": "a"})]),
        ('Bearer scope="a", ="b", error=c', 19, "name", [("Bearer", {"scope": "a", "error": "c"})]),
        ("Bearer scope=, error=b", 14, "no value", [("Bearer", {"error": "b"})]),
        ('"Bearer"', 1, "name", []),
        ('Bearer"x", error=c', 7, "space", [("Bearer", {"error": "c"})]),
    ],
)
def test_unparsable_part_is_reported_by_column_and_the_rest_is_kept(
    header: str, column: int, problem: str, expected: list[tuple[str, dict[str, str]]]
) -> None:
    challenges = read_challenges([header])

    assert [(one.scheme, one.parameters) for one in challenges.all] == expected
    assert challenges.problems[0].column == column
    assert problem in challenges.problems[0].text


def test_overlong_header_is_truncated() -> None:
    challenges = read_challenges(["Bearer " + "a=b, " * 100_000])

    assert challenges.problems[-1].column == 16_385
    assert challenges.all[0].parameters == {"a": "b"}


def test_all_headers_of_a_response_are_read() -> None:
    challenges = read_challenges(["Basic realm=x", META, "DPoP"])

    assert [one.scheme for one in challenges.all] == ["Basic", "Bearer", "DPoP"]
    assert challenges.all[2].is_dpop


@given(st.lists(st.text(max_size=40) | st.text('Bearer sco="\\,= \t', max_size=60), max_size=4))
def test_any_header_can_be_parsed(headers: list[str]) -> None:
    challenges = read_challenges(headers)

    assert all(one.scheme for one in challenges.all)
    assert all(1 <= one.column <= len(one.header) + 1 for one in challenges.problems)


_WORD = st.text("abcXYZ019-_.", min_size=1, max_size=8)
_VALUE = st.text(st.characters(min_codepoint=32, max_codepoint=126), max_size=20)


@given(
    st.lists(
        st.tuples(_WORD, st.dictionaries(_WORD.map(str.lower), _VALUE, min_size=1, max_size=4)),
        min_size=1,
        max_size=4,
    )
)
def test_well_formed_header_round_trips(written: list[tuple[str, dict[str, str]]]) -> None:
    def quote(value: str) -> str:
        return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'

    header = ", ".join(
        f"{scheme} " + ", ".join(f"{name}={quote(value)}" for name, value in parameters.items())
        for scheme, parameters in written
    )
    challenges = read_challenges([header])

    assert [(one.scheme, one.parameters) for one in challenges.all] == written
    assert not challenges.problems


def chosen(status: int, *headers: str) -> Challenge | None:
    return choose_challenge(read_challenges(headers), status)


def test_first_challenge_with_a_metadata_url_is_chosen() -> None:
    challenge = chosen(401, "Basic realm=x", "Bearer realm=y", META)

    assert challenge is not None
    assert challenge.resource_metadata == "https://example.com/prm"


def test_on_403_the_challenge_with_scopes_is_chosen() -> None:
    challenge = chosen(403, META, 'Bearer error="insufficient_scope", scope="b a b"')

    assert challenge is not None
    assert challenge.scopes == ("b", "a")
    assert challenge.wants_more_scope


def test_dpop_challenge_is_accepted_and_others_are_not() -> None:
    dpop = chosen(401, 'DPoP resource_metadata="https://example.com/x"')

    assert dpop is not None
    assert dpop.is_dpop
    assert chosen(401, "Basic realm=x") is None
    assert choose_challenge(Challenges(), 401) is None
    assert chosen(403, "Bearer") == Challenge("Bearer")


ASKING = 'Bearer error="insufficient_scope", scope="a"'


@pytest.mark.parametrize(
    ("status", "header", "with_token", "response"),
    [
        (200, "", False, AccessStatus.OPEN),
        (202, "", True, AccessStatus.OPEN),
        (307, "", False, AccessStatus.REDIRECT),
        (401, "", False, AccessStatus.LOGIN),
        (401, META, True, AccessStatus.LOGIN),
        (403, ASKING, True, AccessStatus.STEP_UP),
        (403, ASKING, False, AccessStatus.LOGIN),
        (403, "", True, AccessStatus.FORBIDDEN),
        (403, META, True, AccessStatus.FORBIDDEN),
        (403, META, False, AccessStatus.LOGIN),
        (400, META, False, AccessStatus.LOGIN),
        (404, "", False, AccessStatus.WRONG_URL),
        (405, "", False, AccessStatus.WRONG_URL),
        (500, META, False, AccessStatus.FAILED),
    ],
)
def test_status_and_challenge_determine_the_next_step(
    status: int, header: str, with_token: bool, response: AccessStatus
) -> None:
    assert access_status(status, chosen(status, header), with_token=with_token) is response


SENT = "Bearer tok-1234567"


@pytest.mark.parametrize(
    ("headers", "body", "reason"),
    [
        ([], b"", ""),
        (['Bearer error="invalid_token"'], b"ignored", "invalid_token"),
        (['Bearer error="invalid_token", error_description="Expired."'], b"", "Expired (invalid_token)"),
        (['Basic realm="x"', 'Bearer error_description="expired key"'], b"", "expired key"),
        ([], b'{"error": "invalid_token", "error_description": "Expired"}', "Expired (invalid_token)"),
        (["Bearer"], b'{"error": {"code": -32001, "message": "expired key"}}', "expired key"),
        ([], b'{"error": "expired"}', "expired"),
        ([], b'{"message": "Expired."}', "Expired"),
        ([], b'{"detail": "Not authenticated"}', "Not authenticated"),
        ([], b'{"detail": [1]}', ""),
        ([], b'"expired"', "expired"),
        ([], b"expired key\nat line 7", "expired key"),
        ([], b"<html>401</html>", ""),
        ([], b'{"cut": ', ""),
        ([], b"[" * 20_000, ""),
        ([], b"\x1b[31mred", "␛[31mred"),
        ([], b"x" * 5_000, "x" * 299 + "…"),
        ([], b"The token tok-1234567 is unknown", "The token ••• is unknown"),
        ([], b"Got 'Bearer tok-1234567'", "Got '•••'"),
        (
            [],
            b"No such key: sk-abcdef, see https://x/?token=abc",
            "No such key: ••• see https://x/?token=•••",
        ),
    ],
)
def test_reason_of_a_rejection_is_what_the_server_says_without_credentials(
    headers: list[str], body: bytes, reason: str
) -> None:
    assert rejection_reason(headers, body, SENT) == reason


def test_password_of_basic_credentials_is_masked() -> None:
    sent = "Basic " + base64.b64encode(b"ann:open-sesame").decode()
    assert rejection_reason([], b"ann has another password than open-sesame", sent) == (
        "ann has another password than •••"
    )


@pytest.mark.parametrize(
    ("sent", "next_step"),
    [
        ("tok-1234567", "The server expects Bearer: write the value as “Bearer …”."),
        ("Bearer tok-1234567", "Set a new value in Edit server… ▸ Headers"),
        ("bearer tok-1234567", "Set a new value in Edit server… ▸ Headers"),
    ],
)
def test_next_step_after_a_rejected_header_depends_on_its_scheme(sent: str, next_step: str) -> None:
    error = rejected_header_error((("WWW-Authenticate", "Bearer"),), b"", sent)
    assert error.summary == "The server rejected your Authorization header (HTTP 401)."
    assert error.next_step.startswith(next_step)
    assert "log in" not in error.next_step


def test_correct_rejection_gives_no_finding() -> None:
    assert ids(META) == []
    assert ids(status=200) == []
    assert ids(status=404) == []


def test_server_error_without_a_token_is_found() -> None:
    assert ids(status=500) == ["AUTH-001"]
    assert ids(status=500, with_token=True) == []


def test_a_wrong_status_for_missing_credentials_is_found() -> None:
    assert ids(status=403) == ["AUTH-002"]
    assert ids(META, status=400) == ["AUTH-002"]
    assert ids(ASKING, status=403, with_token=True) == []


def test_rejection_without_a_challenge_is_found() -> None:
    assert ids() == ["AUTH-003"]
    assert check_response(401, Challenges(), R3)[0].severity is Severity.ERROR
    assert check_response(401, Challenges(), R4)[0].severity is Severity.WARNING


def test_challenge_without_a_metadata_url_is_found() -> None:
    assert ids('Bearer realm="x"') == ["AUTH-004"]
    assert ids('Bearer realm="x"', META) == []


def test_unparsable_challenge_is_found_with_its_column() -> None:
    [found] = check_response(401, read_challenges([META + ', realm="x']), R5)

    assert found.id == "AUTH-008"
    assert "column 59" in found.seen
    assert found.evidence.startswith("Bearer resource")


def test_other_scheme_is_found() -> None:
    assert ids("Basic realm=x", "Negotiate") == ["AUTH-009"]


def test_duplicate_empty_and_unquoted_parameters_are_found() -> None:
    assert ids(META + ', scope="a", scope="b"') == ["AUTH-012"]
    assert ids(META + ', scope=""') == ["AUTH-012"]
    assert ids("Bearer resource_metadata=https://example.com/prm") == ["AUTH-012"]
    assert read_challenges(['Bearer scope="a", scope="b"']).all[0].scopes == ("a",)


def test_rejection_inside_a_successful_response_is_found() -> None:
    assert ids(status=200, error="Unauthorized: missing bearer token") == ["AUTH-013"]
    assert ids(status=200, error="Authentication required") == ["AUTH-013"]
    assert ids(status=200, error="Unknown tool: token counter") == []
    assert ids(status=200, error="Unauthorized", with_token=True) == []

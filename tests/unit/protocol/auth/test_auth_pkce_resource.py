"""PKCE (RFC 7636), and the canonical resource identifier."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inspector.protocol.auth.pkce import challenge_of, is_same, is_verifier, new_state, new_verifier
from inspector.protocol.auth.resource_metadata import canonical_resource, choose_resource, resource_problem
from inspector.protocol.revisions import R2, R3, R5


def test_challenge_matches_the_example_in_the_standard() -> None:
    # RFC 7636, appendix B.
    verifier = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"
    assert challenge_of(verifier) == "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"


def test_verifiers_are_valid_and_unique() -> None:
    verifiers = {new_verifier() for _ in range(200)}
    assert len(verifiers) == 200
    assert all(is_verifier(verifier) for verifier in verifiers)
    assert len({new_state() for _ in range(200)}) == 200


@pytest.mark.parametrize("bad", ["", "a" * 42, "a" * 129, "a" * 42 + "+", "a" * 43 + "\n"])
def test_invalid_verifier_has_no_challenge(bad: str) -> None:
    with pytest.raises(ValueError, match="43 to 128"):
        challenge_of(bad)


def test_secrets_of_any_text_can_be_compared() -> None:
    assert is_same("é\ud800", "é\ud800")
    assert not is_same("a", "b")
    assert not is_same("a", "")


@pytest.mark.parametrize(
    ("typed", "canonical"),
    [
        ("https://Example.COM/mcp", "https://example.com/mcp"),
        ("HTTPS://example.com/MCP", "https://example.com/MCP"),
        ("https://example.com/", "https://example.com"),
        ("https://example.com", "https://example.com"),
        ("https://example.com/mcp/", "https://example.com/mcp/"),
        ("https://example.com:443/mcp", "https://example.com/mcp"),
        ("https://example.com:8443/mcp", "https://example.com:8443/mcp"),
        ("http://127.0.0.1:3000/mcp#top", "http://127.0.0.1:3000/mcp"),
        ("https://me:secret@example.com/mcp", "https://example.com/mcp"),
        ("https://example.com/mcp?tenant=A", "https://example.com/mcp?tenant=A"),
        ("http://[::1]:80/mcp", "http://[::1]/mcp"),
    ],
)
def test_url_has_one_canonical_form(typed: str, canonical: str) -> None:
    assert canonical_resource(typed) == canonical
    assert canonical_resource(canonical) == canonical


@pytest.mark.parametrize("bad", ["", "mcp", "ftp://x/", "https://", "https://[::1", "https://x:99999/"])
def test_non_web_url_is_not_a_resource(bad: str) -> None:
    with pytest.raises(ValueError, match=r"\w"):
        canonical_resource(bad)


def test_resource_from_metadata_is_sent_verbatim() -> None:
    choice = choose_resource("https://example.com/mcp", revision=R5, advertised="https://EXAMPLE.com")
    assert choice.value == "https://EXAMPLE.com"


def test_without_metadata_the_server_url_is_sent_except_in_the_oldest_version() -> None:
    assert choose_resource("https://Example.com/mcp", revision=R3).value == "https://example.com/mcp"
    assert choose_resource("https://example.com/mcp", revision=R2).value is None
    assert choose_resource("https://example.com/mcp", revision=R2, advertised="https://e/").value


def test_user_may_set_the_resource_or_send_none() -> None:
    assert (
        choose_resource("https://e/", revision=R5, advertised="https://e", typed=" urn:x ").value == "urn:x"
    )
    assert choose_resource("https://e/", revision=R5, advertised="https://e", typed="").value is None


@pytest.mark.parametrize(
    ("typed", "word"),
    [
        ("mcp", "absolute"),
        ("https://e/#x", "fragment"),
        ("https://e/ x", "whitespace"),
        ("https://[", "not a valid URI"),
    ],
)
def test_invalid_user_supplied_resource_is_rejected_with_the_reason(typed: str, word: str) -> None:
    assert word in resource_problem(typed)


def test_user_supplied_resource_may_be_any_absolute_uri() -> None:
    assert resource_problem("https://example.com/mcp") == ""
    assert resource_problem("urn:example:mcp") == ""


@given(st.text())
def test_any_text_is_classified(text: str) -> None:
    assert isinstance(resource_problem(text), str)


@pytest.mark.parametrize(
    ("address", "resource"),
    [
        ("https://h/mcp?api_key=hush&tenant=a%20b", "https://h/mcp?tenant=a%20b"),
        ("https://h/mcp?token=hush", "https://h/mcp"),
        ("https://h/?token=hush", "https://h"),
        ("https://h/mcp?tenant=1&page=2", "https://h/mcp?tenant=1&page=2"),
    ],
)
def test_secret_in_the_server_url_is_not_sent_to_the_authorization_server(
    address: str, resource: str
) -> None:
    assert choose_resource(address, revision=R5).value == resource

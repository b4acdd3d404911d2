"""Choice of the client authentication method, and what each method sends."""

from __future__ import annotations

import base64
from urllib.parse import unquote_plus

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inspector.protocol.auth.token_request import (
    ASSERTION_TYPE,
    AuthMethod,
    assertion_claims,
    authenticate,
    basic_credentials,
    choose_method,
    method_problem,
    registrable_method,
    usable_methods,
)

SECRET = "s3cret"


def test_without_a_secret_only_the_client_id_is_sent() -> None:
    assert choose_method(offered=["none"], has_secret=False).method is AuthMethod.NONE
    assert authenticate(AuthMethod.NONE, "me").form == (("client_id", "me"),)
    assert authenticate(AuthMethod.NONE, "me", secret=SECRET).headers == ()


@pytest.mark.parametrize(
    ("offered", "method"),
    [
        (["client_secret_basic"], AuthMethod.BASIC),
        (["client_secret_post"], AuthMethod.POST),
        (["private_key_jwt", "client_secret_post", "client_secret_basic"], AuthMethod.POST),
        (["none"], AuthMethod.NONE),
        (None, AuthMethod.BASIC),
    ],
)
def test_with_a_secret_the_first_listed_method_for_it_is_used(
    offered: list[str] | None, method: AuthMethod
) -> None:
    choice = choose_method(offered=offered, has_secret=True)
    assert choice.method is method
    assert choice.reason
    assert not choice.problem


def test_registered_method_wins_over_the_list_and_the_user_choice_over_both() -> None:
    offered = ["client_secret_basic"]
    assert choose_method(offered=offered, has_secret=True, registered="client_secret_post").method is (
        AuthMethod.POST
    )
    choice = choose_method(offered=offered, has_secret=True, registered="client_secret_post", typed="none")
    assert choice.method is AuthMethod.NONE


def test_key_is_used_where_it_is_listed_or_nothing_else_is_available() -> None:
    listed = ["client_secret_basic", "private_key_jwt"]
    assert choose_method(offered=listed, has_secret=True, has_key=True).method is AuthMethod.PRIVATE_KEY
    assert choose_method(offered=None, has_secret=False, has_key=True).method is AuthMethod.PRIVATE_KEY
    only_basic = choose_method(offered=["client_secret_basic"], has_secret=True, has_key=True)
    assert only_basic.method is AuthMethod.BASIC


@pytest.mark.parametrize("name", ["client_secret_jwt", "tls_client_auth", "x\u202e"])
def test_unsupported_method_is_rejected_with_the_reason(name: str) -> None:
    choice = choose_method(offered=None, has_secret=True, registered=name)
    assert choice.method is None
    assert "not supported" in choice.problem
    assert "\u202e" not in choice.problem


def test_list_without_a_method_for_a_secret_is_a_problem() -> None:
    choice = choose_method(offered=["tls_client_auth"], has_secret=True)
    assert choice.method is None
    assert "tls_client_auth" in choice.problem


def test_method_with_missing_credentials_says_so() -> None:
    assert "secret" in method_problem("client_secret_basic", has_secret=False)
    assert "key" in method_problem("private_key_jwt", has_secret=True)
    assert method_problem("private_key_jwt", has_secret=False, has_key=True) == ""


def test_registration_requests_no_client_authentication_where_possible() -> None:
    assert registrable_method(["client_secret_post", "none"]) is AuthMethod.NONE
    assert registrable_method(["client_secret_post", "client_secret_basic"]) is AuthMethod.POST
    assert registrable_method(["client_secret_basic", "client_secret_post"]) is AuthMethod.BASIC
    assert registrable_method(["private_key_jwt", "client_secret_basic"]) is AuthMethod.BASIC
    assert registrable_method(["client_secret_post"]) is AuthMethod.POST
    assert registrable_method(None) is AuthMethod.BASIC
    assert registrable_method(["tls_client_auth"]) is AuthMethod.NONE


def test_basic_adds_nothing_to_the_form() -> None:
    proof = authenticate(AuthMethod.BASIC, "id", secret="secret")
    assert proof.form == ()
    assert proof.headers == (("Authorization", "Basic aWQ6c2VjcmV0"),)


def test_post_adds_nothing_to_the_headers() -> None:
    proof = authenticate(AuthMethod.POST, "id", secret=SECRET)
    assert proof.headers == ()
    assert proof.form == (("client_id", "id"), ("client_secret", SECRET))


@given(st.text(st.characters(codec="utf-8"), min_size=1), st.text(st.characters(codec="utf-8")))
def test_basic_round_trips_whatever_it_contains(client_id: str, secret: str) -> None:
    pair = base64.b64decode(basic_credentials(client_id, secret).removeprefix("Basic ")).decode("ascii")
    one, other = pair.split(":")
    assert (unquote_plus(one), unquote_plus(other)) == (client_id, secret)


def test_assertion_is_sent_without_the_client_id() -> None:
    proof = authenticate(AuthMethod.PRIVATE_KEY, "id", assertion="a.b.c")
    assert proof.form == (("client_assertion_type", ASSERTION_TYPE), ("client_assertion", "a.b.c"))


def test_assertion_is_about_us_for_the_issuer_and_short_lived() -> None:
    claims = assertion_claims("me", "https://as.example", 1000.7)
    assert (claims["iss"], claims["sub"], claims["aud"]) == ("me", "me", "https://as.example")
    assert (claims["iat"], claims["exp"]) == (1000, 1300)
    assert claims["jti"] != assertion_claims("me", "https://as.example", 1000.7)["jti"]


def test_supported_methods_are_taken_in_server_order() -> None:
    listed = ["tls_client_auth", "client_secret_post", "none"]
    assert usable_methods(listed) == (AuthMethod.POST, AuthMethod.NONE)

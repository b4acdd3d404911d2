"""Detection of secret form fields in many languages, without false alarms."""

from __future__ import annotations

import pytest
from hypothesis import given

from inspector.base.json.values import JSON, JSONObject
from inspector.protocol.server_requests.elicitation import (
    SecretField,
    secret_fields,
    secret_in_message,
    secret_reason,
)
from tests.unit.protocol.server_requests.request_samples import any_json

TEXT: JSONObject = {"type": "string"}


@pytest.mark.parametrize(
    "name",
    [
        "password",
        "userPassword",
        "apiKey",
        "api_key",
        "API Key",
        "token",
        "GITHUB_TOKEN",
        "accessToken",
        "pin",
        "cardPin",
        "card_number",
        "cardNumber",
        "cvv",
        "otp",
        "clientSecret",
        "privateKey",
        "passphrase",
        "mdp",
        "session_id",
        "Passwort",
        "contraseña",
        "senha",
        "пароль",
        "密码",
        "パスワード",
        "비밀번호",
        "hasło",
    ],
)
def test_secret_name_is_found(name: str) -> None:
    assert secret_reason(name, TEXT) == f"Its name, “{name}”, is typical of secrets."


@pytest.mark.parametrize(
    "name",
    [
        "name",
        "email",
        "max_tokens",
        "maxTokens",
        "tokenCount",
        "token_type",
        "key",
        "session",
        "opinion",
        "spinner",
        "passport",
        "compass",
        "seed",
        "author",
        "company",
        "secretary",
        "keyboard",
        "pinned",
        "card",
        "parola",
    ],
)
def test_ordinary_name_is_left_alone(name: str) -> None:
    assert secret_reason(name, TEXT) == ""


@pytest.mark.parametrize(
    ("message", "found"),
    [
        ("Enter your API-key for the service", "api-key"),
        ("An access token with the scope repo", "access token"),
        ("Votre mot de passe", "mot de passe"),
        ("Ihr Passwort, bitte", "passwort"),
        ("Введите пароль", "пароль"),
        ("请输入您的密码以继续", "密码"),
        ("Kreditkartennummer", "kreditkartennummer"),
        ("The one-time code we sent you", "one-time code"),
    ],
)
def test_wording_that_asks_for_a_secret_is_quoted(message: str, found: str) -> None:
    assert secret_in_message(message) == f"The message mentions “{found}”."
    assert secret_reason("value", TEXT | {"description": message}) == f"Its description mentions “{found}”."


@pytest.mark.parametrize(
    "message", ["", "How many tokens to use", "Pin this message", "Passport number", "A key idea"]
)
def test_ordinary_wording_is_left_alone(message: str) -> None:
    assert secret_in_message(message) == ""
    assert secret_reason("value", TEXT | {"title": message, "description": message}) == ""


def test_field_may_declare_itself_secret() -> None:
    assert secret_reason("a", TEXT | {"format": "password"}) == "It is a password field."
    assert secret_reason("a", TEXT | {"writeOnly": True}) == "It is marked as write-only."
    assert (
        secret_reason("a", TEXT | {"title": "Your token"})
        == "Its title, “Your token”, is typical of secrets."
    )


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "boolean"},
        {"type": "string", "enum": ["a"]},
        {"type": "string", "oneOf": []},
        {"type": "array"},
    ],
)
def test_booleans_and_choices_hold_no_secret(schema: JSONObject) -> None:
    assert secret_reason("show_password", schema | {"title": "Show my password"}) == ""


def test_form_fields_are_inspected_including_nested_ones() -> None:
    schema: JSONObject = {
        "properties": {
            "name": TEXT,
            "pin": {"type": "integer"},
            "login": {"type": "object", "properties": {"password": TEXT, "user": TEXT}},
        }
    }
    assert secret_fields(schema) == (
        SecretField(("pin",), "Its name, “pin”, is typical of secrets."),
        SecretField(("login", "password"), "Its name, “password”, is typical of secrets."),
    )


@given(any_json)
def test_any_schema_can_be_inspected(value: JSON) -> None:
    shapes: list[JSON] = [value, {"properties": value}, {"properties": {"a": value}}]
    for schema in shapes:
        assert isinstance(secret_fields(schema if isinstance(schema, dict) else {}), tuple)


def test_inspection_of_an_endless_form_is_limited() -> None:
    deep: JSONObject = TEXT
    for _ in range(20_000):
        deep = {"properties": {"a": deep}}
    assert secret_fields(deep) == ()

"""Saved login options: round trip, and no secrets among them."""

from __future__ import annotations

import json

from inspector.base.json.values import JSON
from inspector.oauth.login.steps import LoginGrant, Overrides, read_overrides, write_overrides
from inspector.protocol.auth.client_registration import Strategy
from inspector.protocol.revisions import R3


def test_defaults_are_not_written() -> None:
    assert write_overrides(Overrides()) == {}
    assert read_overrides({}) == Overrides()
    assert read_overrides(None) == Overrides()


def test_every_choice_round_trips() -> None:
    chosen = Overrides(
        revision=R3,
        grant=LoginGrant.CLIENT,
        strategy=Strategy.DYNAMIC,
        issuer="https://as.example",
        client_id="me",
        client_document="https://me.example/client.json",
        method="none",
        scope="",
        resource="https://mcp.example/",
        redirect_host="localhost",
        redirect_port=4711,
        redirect_path="/back",
        extras=(("prompt", "login"), ("prompt", "consent")),
        uses_dpop=False,
        is_strict=True,
        tolerates_slash=True,
        compares_copies=True,
    )
    written = json.loads(json.dumps(write_overrides(chosen)))
    assert read_overrides(written) == chosen


def test_secrets_are_not_written_and_a_client_is_forgotten_once() -> None:
    chosen = Overrides(
        client_secret="hush-1", forgets_client=True, extras=(("api_key", "hush-2"), ("audience", "x"))
    )
    written = write_overrides(chosen)
    assert written == {"extras": [["audience", "x"]]}
    assert read_overrides({"client_secret": "hush-1", "forgets_client": True}) == Overrides()


def test_unusable_values_are_skipped_and_the_rest_is_read() -> None:
    wrong: dict[str, JSON] = {
        "revision": "1999-01-01",
        "grant": "magic",
        "strategy": 7,
        "issuer": ["x"],
        "redirect_port": 70_000,
        "extras": {"a": "b"},
        "uses_dpop": "yes",
        "is_strict": 1,
        "unknown": True,
        "scope": "read",
    }
    assert read_overrides(wrong) == Overrides(scope="read")

"""The `login` server without faults follows the rules that its switches break."""

from __future__ import annotations

import base64
from typing import Any
from urllib.parse import quote_plus

import httpx2
import jwt
import pytest

from tests.unit.demo.login.login_client import CHALLENGE, REDIRECT, VERIFIER, LoginDemo, callback, payload

BAD_CODE = "The authorization code is unknown, used or expired."


def error(response: httpx2.Response) -> tuple[int, str]:
    return response.status_code, response.json()["error"]


def test_call_without_a_token_gets_a_challenge_that_points_to_the_metadata(demo: LoginDemo) -> None:
    response = demo.challenge()
    assert response.status_code == 401
    where = f"{demo.origin}/.well-known/oauth-protected-resource/mcp"
    assert response.headers["www-authenticate"] == f'Bearer resource_metadata="{where}", scope="notes:read"'
    document = demo.http.get(where).json()
    assert document["resource"] == demo.url
    assert document["authorization_servers"] == [demo.origin]


def test_invalid_token_is_distinguished_from_none(demo: LoginDemo) -> None:
    response = demo.challenge(Authorization="Bearer nonsense")
    assert response.status_code == 401
    assert 'error="invalid_token"' in response.headers["www-authenticate"]


def test_both_discovery_documents_name_the_same_issuer_and_endpoints(demo: LoginDemo) -> None:
    oauth, openid = demo.metadata(), demo.metadata("openid-configuration")
    assert oauth["issuer"] == demo.origin
    assert {name: openid[name] for name in oauth} == oauth
    assert oauth["code_challenge_methods_supported"] == ["S256"]


@pytest.mark.parametrize(
    "location",
    [
        "/.well-known/oauth-authorization-server/tenant",
        "/.well-known/openid-configuration/tenant",
        "/tenant/.well-known/openid-configuration",
    ],
)
def test_issuer_with_a_path_has_three_metadata_urls_and_none_at_the_root(
    demo: LoginDemo, location: str
) -> None:
    demo.only("issuer_path")
    assert demo.http.get(location).json()["issuer"] == f"{demo.origin}/tenant"
    assert demo.http.get("/.well-known/oauth-authorization-server").status_code == 404


def test_login_gives_a_token_that_works_and_is_bound_to_this_server(demo: LoginDemo) -> None:
    login = demo.log_in()
    claims = payload(login.token)
    assert (claims["iss"], claims["aud"], claims["sub"]) == (demo.origin, demo.url, "ada")
    assert claims["exp"] - claims["iat"] == login.reply["expires_in"] == 3600
    reported = demo.call(login.token, "whoami").json()["result"]["structuredContent"]
    assert reported == {"person": "ada", "client": login.client["client_id"], "scopes": ["notes:read"]}


def test_tokens_can_be_checked_with_the_published_key(demo: LoginDemo) -> None:
    key = demo.http.get("/jwks").json()["keys"][0]
    assert "d" not in key
    claims = jwt.decode(demo.log_in().token, jwt.PyJWK(key), algorithms=["ES256"], audience=demo.url)
    assert claims["scope"] == "notes:read"


def test_page_shows_the_client_name_as_plain_text_and_the_demo_users(demo: LoginDemo) -> None:
    page = demo.ask(demo.register()["client_id"], scope="notes:read notes:write")
    assert "Test &lt;app&gt; wants to use your account" in page.text
    assert "Write new notes" in page.text
    assert "<code>ada</code> / <code>lovelace</code>" in page.text


def test_page_has_no_script_and_may_only_redirect_to_the_client(demo: LoginDemo) -> None:
    page = demo.ask("demo-app")
    policy = page.headers["content-security-policy"]
    assert "<script" not in page.text
    assert "default-src 'none'" in policy
    assert "form-action 'self' http://127.0.0.1:49152;" in policy
    assert page.headers["cache-control"] == "no-store"


def test_wrong_password_shows_the_page_again_and_the_right_one_still_works(demo: LoginDemo) -> None:
    again = demo.decide(demo.ask("demo-app"), password="byron")
    assert again.status_code == 403
    assert "Wrong name or password." in again.text
    assert "code" in callback(demo.decide(again))


@pytest.mark.parametrize(("name", "password"), [("", ""), ("unknown", ""), ("ada", "")])
def test_login_without_a_password_is_rejected(demo: LoginDemo, name: str, password: str) -> None:
    assert demo.decide(demo.ask("demo-app"), name=name, password=password).status_code == 403


def test_deny_redirects_the_user_with_an_error(demo: LoginDemo) -> None:
    came = callback(demo.decide(demo.ask("demo-app"), decision="deny"))
    assert (came["error"], came["iss"], came["state"]) == ("access_denied", demo.origin, "a-state-of-ours")


def test_page_can_be_submitted_once(demo: LoginDemo) -> None:
    page = demo.ask("demo-app")
    assert demo.decide(page).status_code == 302
    assert demo.decide(page).status_code == 400


@pytest.mark.parametrize(
    ("parameters", "expected"),
    [
        ({"code_challenge": None}, "invalid_request"),
        ({"code_challenge": "short"}, "invalid_request"),
        ({"code_challenge_method": "plain"}, "invalid_request"),
        ({"code_challenge_method": None}, "invalid_request"),
        ({"response_type": "token"}, "unsupported_response_type"),
        ({"scope": "notes:read everything"}, "invalid_scope"),
        ({"resource": "https://elsewhere.example/mcp"}, "invalid_target"),
    ],
)
def test_invalid_request_of_a_known_client_is_redirected_with_an_error(
    demo: LoginDemo, parameters: dict[str, Any], expected: str
) -> None:
    came = callback(demo.ask("demo-app", **parameters))
    assert (came["error"], came["state"], came["iss"]) == (expected, "a-state-of-ours", demo.origin)


@pytest.mark.parametrize(
    "redirect",
    [
        "https://evil.example/callback",
        "http://127.0.0.1:1/other",
        "http://127.0.0.1@evil.example/callback",
        "",
    ],
)
def test_unregistered_redirect_is_never_followed(demo: LoginDemo, redirect: str) -> None:
    response = demo.ask("demo-app", redirect_uri=redirect)
    assert response.status_code == 400
    assert "location" not in response.headers


def test_unknown_client_and_duplicate_parameters_stay_on_the_page(demo: LoginDemo) -> None:
    assert demo.ask("unknown").status_code == 400
    assert demo.http.get("/authorize?client_id=demo-app&client_id=demo-web").status_code == 400


@pytest.mark.parametrize(
    ("form", "expected"),
    [
        ({"code_verifier": "w" * 64}, "invalid_grant"),
        ({"code_verifier": CHALLENGE}, "invalid_grant"),
        ({"redirect_uri": "http://127.0.0.1:1/callback"}, "invalid_grant"),
        ({"resource": "https://elsewhere.example/mcp"}, "invalid_target"),
    ],
)
def test_code_exchange_must_match_the_authorization_request(
    demo: LoginDemo, form: dict[str, str], expected: str
) -> None:
    client = demo.register()
    code = demo.come_back(client["client_id"])["code"]
    assert error(demo.exchange(client, code, **form)) == (400, expected)
    assert error(demo.exchange(client, code)) == (400, "invalid_grant"), (
        "a code is spent by a failed exchange"
    )


def test_code_works_once_and_for_its_own_client_only(demo: LoginDemo) -> None:
    mine, other = demo.register(), demo.register()
    code = demo.come_back(mine["client_id"])["code"]
    assert error(demo.exchange(other, code)) == (400, "invalid_grant")
    assert demo.exchange(mine, code).status_code == 200
    assert demo.exchange(mine, code).json()["error_description"] == BAD_CODE


def test_token_endpoint_accepts_only_forms_and_no_duplicate_parameters(demo: LoginDemo) -> None:
    assert error(demo.http.post("/token", json={})) == (400, "invalid_request")
    headers = {"Content-Type": "application/x-www-form-urlencoded"}
    twice = demo.http.post("/token", content="grant_type=a&grant_type=b", headers=headers)
    assert error(twice) == (400, "invalid_request")


def form_of(demo: LoginDemo, client_id: str, **parameters: Any) -> dict[str, str]:
    code = demo.come_back(client_id)["code"]
    return {
        "grant_type": "authorization_code",
        "code": code,
        "redirect_uri": REDIRECT,
        "code_verifier": VERIFIER,
        "resource": demo.url,
        **parameters,
    }


def basic(client_id: str, secret: str) -> dict[str, str]:
    pair = f"{quote_plus(client_id)}:{quote_plus(secret)}".encode()
    return {"Authorization": f"Basic {base64.b64encode(pair).decode()}"}


def test_registered_secret_is_accepted_only_by_the_registered_method(demo: LoginDemo) -> None:
    for method in ("client_secret_basic", "client_secret_post"):
        client = demo.register(token_endpoint_auth_method=method)
        client_id, secret = client["client_id"], client["client_secret"]
        by_body = {"client_id": client_id, "client_secret": secret}
        responses = {
            "client_secret_basic": demo.token(**form_of(demo, client_id), headers=basic(client_id, secret)),
            "client_secret_post": demo.token(**form_of(demo, client_id), **by_body),
        }
        assert responses.pop(method).status_code == 200
        assert [error(response) for response in responses.values()] == [(401, "invalid_client")]


def test_wrong_or_missing_secret_is_refused(demo: LoginDemo) -> None:
    wrong = demo.token(**form_of(demo, "demo-web"), headers=basic("demo-web", "guess"))
    missing = demo.token(**form_of(demo, "demo-web"), client_id="demo-web")
    assert error(wrong) == error(missing) == (401, "invalid_client")
    assert wrong.headers["www-authenticate"].startswith("Basic ")


def test_two_client_authentication_methods_at_once_are_rejected(demo: LoginDemo) -> None:
    form = form_of(demo, "demo-web", client_secret="demo-web-secret")
    response = demo.token(**form, client_id="demo-web", headers=basic("demo-web", "demo-web-secret"))
    assert error(response) == (400, "invalid_request")


@pytest.mark.parametrize(
    "redirect", ["http://evil.example/callback", "javascript:alert(1)", "not an address", "http://h/#x", ""]
)
def test_registration_rejects_unsafe_redirect_uris(demo: LoginDemo, redirect: str) -> None:
    assert error(demo.registration(redirect_uris=[redirect])) == (400, "invalid_redirect_uri")


def test_loopback_port_may_vary_but_not_the_path(demo: LoginDemo) -> None:
    client = demo.register(redirect_uris=["http://127.0.0.1:1/callback"])
    assert demo.ask(client["client_id"]).status_code == 200
    assert demo.ask(client["client_id"], redirect_uri="http://127.0.0.1:49152/x").status_code == 400


def test_client_with_a_metadata_document_on_this_machine_can_log_in(demo: LoginDemo) -> None:
    client = {"client_id": f"{demo.origin}/client.json"}
    page = demo.ask(client["client_id"])
    assert "Client with a metadata document wants" in page.text
    assert demo.exchange(client, callback(demo.decide(page))["code"]).status_code == 200


def test_client_metadata_document_on_another_machine_is_not_fetched(demo: LoginDemo) -> None:
    response = demo.ask("https://client.example/document.json")
    assert response.status_code == 400
    assert "from loopback addresses" in response.text


def test_client_metadata_document_must_contain_its_own_url(demo: LoginDemo) -> None:
    response = demo.ask(f"{demo.origin}/client.json?other")
    assert response.status_code == 400
    assert "does not match the document&#x27;s URL" in response.text


def test_refresh_rotates_and_a_reused_token_revokes_the_whole_family(demo: LoginDemo) -> None:
    login = demo.log_in()
    second = demo.refresh(login).json()
    assert second["refresh_token"] != login.reply["refresh_token"]
    assert demo.call(second["access_token"], "whoami").status_code == 200
    assert error(demo.refresh(login)) == (400, "invalid_grant")
    assert error(demo.refresh(login, second["refresh_token"])) == (400, "invalid_grant")
    assert demo.call(second["access_token"], "whoami").status_code == 401


def test_revoked_token_stops_working(demo: LoginDemo) -> None:
    login = demo.log_in()
    form = {"token": login.reply["refresh_token"], "client_id": login.client["client_id"]}
    assert demo.http.post("/revoke", data=form).status_code == 200
    assert demo.call(login.token, "whoami").status_code == 401
    assert error(demo.refresh(login)) == (400, "invalid_grant")
    assert demo.http.post("/revoke", data=form).status_code == 200, "unknown tokens are no error"


def test_client_cannot_revoke_the_token_of_another_client(demo: LoginDemo) -> None:
    login = demo.log_in()
    demo.http.post("/revoke", data={"token": login.token, "client_id": demo.register()["client_id"]})
    assert demo.call(login.token, "whoami").status_code == 200


def test_tool_that_needs_another_scope_challenges_for_it_and_then_works(demo: LoginDemo) -> None:
    refused = demo.call(demo.log_in().token, "write_note", text="x")
    assert refused.status_code == 403
    challenge = refused.headers["www-authenticate"]
    assert 'error="insufficient_scope"' in challenge
    assert 'scope="notes:write"' in challenge
    assert f'resource_metadata="{demo.origin}/.well-known/oauth-protected-resource/mcp"' in challenge
    wider = demo.log_in("notes:read notes:write")
    written = demo.call(wider.token, "write_note", text="From a test").json()
    assert written["result"]["content"][0]["text"].startswith("Note added by ada")
    assert "From a test" in demo.call(wider.token, "read_notes").text


def test_session_server_accepts_a_token_too(demo: LoginDemo) -> None:
    params = {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "t", "version": "1"},
    }
    headers = {
        "Authorization": f"Bearer {demo.log_in().token}",
        "Accept": "application/json, text/event-stream",
    }
    body = {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params}
    response = demo.http.post("/mcp", json=body, headers=headers)
    assert response.status_code == 200
    assert '"name":"login"' in response.text
    assert response.headers["mcp-session-id"]


def test_foreign_host_and_cross_site_forms_are_rejected(demo: LoginDemo) -> None:
    rebound = demo.http.get("/workload/token", headers={"Host": "evil.example"})
    foreign = demo.http.post("/faults", data={"dpop": "on"}, headers={"Origin": "http://evil.example"})
    hidden = demo.http.post("/faults", data={"dpop": "on"}, headers={"Origin": "null"})
    assert (rebound.status_code, foreign.status_code, hidden.status_code) == (421, 403, 403)


def test_login_demo_page_flips_switches_and_shows_them(demo: LoginDemo) -> None:
    flipped = demo.http.post("/faults", data={"no_challenge": "on", "nonsense": "on"})
    assert (flipped.status_code, flipped.headers["location"]) == (303, "/faults")
    page = demo.http.get("/faults").text
    assert 'name="no_challenge" checked' in page
    assert page.count(" checked") == 1
    assert "<script" not in page
    demo.http.post("/faults", data={})
    assert " checked" not in demo.http.get("/faults").text


def test_front_page_lists_what_can_be_tried(demo: LoginDemo) -> None:
    page = demo.http.get("/").text
    assert all(text in page for text in (demo.url, "lovelace", "demo-machine-secret", "/faults", "/idp"))
    for words in (
        "client ID demo-machine",
        "client ID demo-sso there",
        f"identity provider {demo.origin}/idp",
    ):
        assert words in page, "every kind of login can be tried without looking anything up"

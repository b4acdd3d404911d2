"""Fault switches: each causes exactly the fault that it names, and none when it is off."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import urlsplit

import httpx2
import jwt
import pytest

from inspector.demo.login.fault_switches import SWITCHES, FaultSwitches
from inspector.protocol.auth.findings.finding import FINDING_TEMPLATES
from tests.unit.demo.login.login_client import REDIRECT, STATE, VERIFIER, Login, LoginDemo, payload

Check = Callable[[LoginDemo], bool]

EVIL = "http://evil.example/callback"
LOCALHOST = "http://localhost:49152/callback"


@pytest.fixture
def demo(demo: LoginDemo) -> Iterator[LoginDemo]:
    yield demo
    demo.forget()


def challenge(demo: LoginDemo) -> str:
    response = demo.challenge()
    assert response.status_code == 401
    return str(response.headers.get("www-authenticate"))


def prm(demo: LoginDemo, path: str = "/mcp") -> dict[str, Any]:
    document: dict[str, Any] = demo.resource(path).json()
    return document


def back(demo: LoginDemo) -> httpx2.Response:
    """Return the redirect after a login of a predefined client."""
    return demo.decide(demo.ask("demo-app"))


def came(demo: LoginDemo) -> dict[str, str]:
    return demo.come_back("demo-app")


def reply(demo: LoginDemo, **form: Any) -> httpx2.Response:
    return demo.exchange({"client_id": "demo-app"}, came(demo)["code"], **form)


def logged_in(demo: LoginDemo, scope: str = "notes:read") -> Login:
    return demo.log_in(scope)


def claims(demo: LoginDemo) -> dict[str, Any]:
    return payload(logged_in(demo).token)


def write(demo: LoginDemo, scope: str = "notes:read") -> httpx2.Response:
    return demo.call(logged_in(demo, scope).token, "write_note", text="x")


def company(demo: LoginDemo) -> dict[str, Any]:
    document: dict[str, Any] = demo.http.get("/idp/.well-known/openid-configuration").json()
    return document


def signed_in(demo: LoginDemo) -> tuple[dict[str, str], dict[str, Any]]:
    """Return the callback parameters of a company login, and the token response."""
    came = demo.come_back(
        "demo-sso", realm="/idp", scope="openid offline_access", resource=None, nonce="of-this-sign-in"
    )
    code = demo.token(
        realm="/idp",
        grant_type="authorization_code",
        code=came["code"],
        redirect_uri=REDIRECT,
        code_verifier=VERIFIER,
        client_id="demo-sso",
    )
    reply: dict[str, Any] = code.json()
    return came, reply


def who(demo: LoginDemo) -> dict[str, Any]:
    return payload(signed_in(demo)[1]["id_token"])


def id_jag(demo: LoginDemo) -> str:
    kind = "urn:ietf:params:oauth:token-type:"
    reply = demo.token(
        realm="/idp",
        grant_type="urn:ietf:params:oauth:grant-type:token-exchange",
        requested_token_type=f"{kind}id-jag",
        subject_token_type=f"{kind}id_token",
        subject_token=signed_in(demo)[1]["id_token"],
        audience=demo.origin,
        client_id="demo-sso",
    )
    return str(reply.json()["access_token"])


def renewed_id_token(demo: LoginDemo) -> str:
    token = signed_in(demo)[1]["refresh_token"]
    form = {"grant_type": "refresh_token", "refresh_token": token, "client_id": "demo-sso"}
    return str(demo.token(realm="/idp", **form).json()["id_token"])


def whoami_status(demo: LoginDemo) -> int:
    return demo.call(logged_in(demo).token, "whoami").status_code


def first_bytes(demo: LoginDemo, method: str, url: str, count: int, **sent: Any) -> bytes:
    with demo.http.stream(method, url, **sent) as response:
        body = b""
        for chunk in response.iter_raw():
            body += chunk
            if len(body) >= count:
                return body
    return b""


def code_form(demo: LoginDemo) -> dict[str, str]:
    code = came(demo)["code"]
    requested = {
        "grant_type": "authorization_code",
        "code": code,
        "redirect_uri": REDIRECT,
        "client_id": "demo-app",
    }
    return {**requested, "code_verifier": "v" * 64}


def replayed(demo: LoginDemo) -> bool:
    code = came(demo)["code"]
    return [demo.exchange({"client_id": "demo-app"}, code).status_code for _ in range(2)] == [200, 200]


def refreshed(demo: LoginDemo) -> dict[str, Any]:
    document: dict[str, Any] = demo.refresh(logged_in(demo)).json()
    return document


def same_refresh_token(demo: LoginDemo) -> bool:
    login = logged_in(demo)
    return bool(demo.refresh(login).json()["refresh_token"] == login.reply["refresh_token"])


def old_refresh_token_status(demo: LoginDemo) -> int:
    login = logged_in(demo)
    assert demo.refresh(login).status_code == 200
    return demo.refresh(login).status_code


def second_refresh_status(demo: LoginDemo) -> int:
    login = logged_in(demo)
    return demo.refresh(login, demo.refresh(login).json()["refresh_token"]).status_code


def piecemeal(demo: LoginDemo) -> bool:
    wanted = [write(demo, scope) for scope in ("notes:read", "notes:read notes:write")]
    return "notes:write" in wanted[0].headers["www-authenticate"] and (
        'scope="notes:share"' in wanted[1].headers["www-authenticate"]
    )


def stale_session(demo: LoginDemo) -> int:
    headers = {
        "Authorization": f"Bearer {logged_in(demo).token}",
        "Mcp-Session-Id": "gone",
        "Accept": "application/json, text/event-stream",
    }
    return demo.http.post(
        "/mcp", json={"jsonrpc": "2.0", "id": 1, "method": "ping"}, headers=headers
    ).status_code


def moved(demo: LoginDemo) -> bool:
    """Another issuer, which knows neither the earlier client nor its token."""
    names = demo.http.get("/faults.json").json()["on"]
    demo.only()
    before = logged_in(demo)
    demo.only(*names)
    return (
        prm(demo)["authorization_servers"] == [f"{demo.origin}/moved"]
        and demo.call(before.token, "whoami").status_code == 401
        and demo.ask(before.client["client_id"]).status_code == 400
    )


CHECKS: dict[str, Check] = {
    # lawful variants
    "issuer_path": lambda d: d.metadata(path="/tenant")["issuer"] == f"{d.origin}/tenant",
    "opaque_tokens": lambda d: "." not in logged_in(d).token and whoami_status(d) == 200,
    "short_tokens": lambda d: logged_in(d).reply["expires_in"] == 65,
    "dpop": lambda d: challenge(d).startswith("DPoP ") and reply(d).json()["error"] == "invalid_dpop_proof",
    "dpop_nonce": lambda d: challenge(d).startswith("DPoP "),
    "moved": moved,
    # the challenge
    "crash_without_token": lambda d: d.challenge().status_code == 500,
    "forbidden_without_token": lambda d: d.challenge().status_code == 403,
    "no_challenge": lambda d: "www-authenticate" not in d.challenge().headers,
    "no_resource_metadata": lambda d: (
        "resource_metadata" not in challenge(d) and d.resource().status_code == 200
    ),
    "no_prm": lambda d: (d.resource().status_code, d.resource("").status_code) == (404, 404),
    "relative_metadata_url": lambda d: 'resource_metadata="/' in challenge(d),
    "foreign_metadata_url": lambda d: 'resource_metadata="http://localhost:' in challenge(d),
    "broken_challenge": lambda d: challenge(d).count('"') % 2 == 1,
    "basic_challenge": lambda d: challenge(d) == 'Basic realm="notes"',
    "no_scopes": lambda d: "scope=" not in challenge(d) and "scopes_supported" not in prm(d),
    "offline_in_challenge": lambda d: "offline_access" in challenge(d),
    "repeated_scope": lambda d: challenge(d).count("scope=") == 2,
    "empty_scope": lambda d: 'scope=""' in challenge(d),
    "refusal_with_200": lambda d: d.challenge().status_code == 200 and d.challenge().json()["id"] == 7,
    # protected resource metadata
    "prm_no_resource": lambda d: "resource" not in prm(d),
    "prm_other_resource": lambda d: prm(d)["resource"] == "https://elsewhere.example/mcp",
    "prm_other_path": lambda d: prm(d)["resource"] == f"{d.origin}/other",
    "prm_parent": lambda d: prm(d)["resource"] == d.origin,
    "prm_no_servers": lambda d: "authorization_servers" not in prm(d),
    "prm_bad_issuer": lambda d: "?" in prm(d)["authorization_servers"][0],
    "prm_metadata_url": lambda d: ".well-known" in prm(d)["authorization_servers"][0],
    "prm_html": lambda d: d.resource().headers["content-type"].startswith("text/html"),
    "prm_dead_link": lambda d: d.http.get(challenge(d).split('"')[1]).status_code == 404,
    "prm_two_versions": lambda d: prm(d) != prm(d, ""),
    "prm_behind_login": lambda d: d.resource().status_code == 401,
    "prm_no_header": lambda d: prm(d)["bearer_methods_supported"] == ["query"],
    "prm_redirects": lambda d: urlsplit(d.resource().headers["location"]).hostname == "localhost",
    "prm_crashes": lambda d: d.resource().status_code == 500,
    "prm_wrong_types": lambda d: isinstance(prm(d)["scopes_supported"], str),
    "broad_scopes": lambda d: "*" in prm(d)["scopes_supported"],
    # authorization server metadata
    "asm_missing": lambda d: d.http.get("/.well-known/oauth-authorization-server").status_code == 404,
    "wrong_issuer": lambda d: d.metadata()["issuer"] == "https://attacker.example",
    "issuer_slash": lambda d: d.metadata()["issuer"] == f"{d.origin}/",
    "no_issuer": lambda d: "issuer" not in d.metadata(),
    "asm_appended": lambda d: (
        d.http.get("/.well-known/oauth-authorization-server/tenant").status_code == 404
        and d.http.get("/tenant/.well-known/oauth-authorization-server").status_code == 200
    ),
    "no_pkce_metadata": lambda d: "code_challenge_methods_supported" not in d.metadata(),
    "plain_only": lambda d: d.metadata()["code_challenge_methods_supported"] == ["plain"],
    "plain_too": lambda d: d.ask("demo-app", code_challenge_method="plain").status_code == 200,
    "no_token_endpoint": lambda d: "token_endpoint" not in d.metadata(),
    "no_code_response": lambda d: d.metadata()["response_types_supported"] == ["token"],
    "plain_http_endpoint": lambda d: d.metadata()["token_endpoint"] == "http://login.example/token",
    "blocked_endpoint": lambda d: d.metadata()["authorization_endpoint"].startswith("javascript:"),
    "endpoint_elsewhere": lambda d: d.metadata()["token_endpoint"].startswith("http://localhost:"),
    "no_code_grant": lambda d: d.metadata()["grant_types_supported"] == ["client_credentials"],
    "no_registration": lambda d: (
        "registration_endpoint" not in d.metadata() and d.registration().status_code == 404
    ),
    "registration_only": lambda d: "client_id_metadata_document_supported" not in d.metadata(),
    "secrets_only": lambda d: d.register()["token_endpoint_auth_method"] == "client_secret_basic",
    "no_auth_methods": lambda d: "token_endpoint_auth_methods_supported" not in d.metadata(),
    "iss_not_advertised": lambda d: (
        "authorization_response_iss_parameter_supported" not in d.metadata() and "iss" in came(d)
    ),
    "wrong_types": lambda d: d.metadata()["client_id_metadata_document_supported"] == "true",
    "documents_differ": lambda d: (
        d.metadata()["token_endpoint"] != d.metadata("openid-configuration")["token_endpoint"]
    ),
    "no_refresh": lambda d: "refresh_token" not in logged_in(d).reply,
    "dpop_bad_algorithms": lambda d: d.metadata()["dpop_signing_alg_values_supported"] == ["none", "HS256"],
    "no_cors": lambda d: "access-control-allow-origin" not in d.resource().headers,
    "asm_endless": lambda d: (
        len(first_bytes(d, "GET", "/.well-known/oauth-authorization-server", 1 << 20)) >= 1 << 20
    ),
    # registration
    "no_loopback": lambda d: d.registration().json()["error"] == "invalid_redirect_uri",
    "localhost_only": lambda d: (
        d.registration().status_code == 400 and d.registration(redirect_uris=[LOCALHOST]).status_code == 201
    ),
    "native_as_web": lambda d: d.register()["application_type"] == "web",
    "registered_200": lambda d: d.registration().status_code == 200,
    "no_client_id": lambda d: "client_id" not in d.register(),
    "other_method": lambda d: d.register()["token_endpoint_auth_method"] == "client_secret_jwt",
    "drops_redirects": lambda d: "redirect_uris" not in d.register(),
    "changes_redirects": lambda d: d.register()["redirect_uris"] == ["http://127.0.0.1/elsewhere"],
    "drops_refresh": lambda d: d.register()["grant_types"] == ["authorization_code"],
    "secret_expires": lambda d: 0 < d.register()["client_secret_expires_at"] <= time.time() + 60,
    "closed_registration": lambda d: d.registration().status_code == 401,
    "documents_refused": lambda d: d.ask(f"{d.origin}/client.json").status_code == 400,
    "takes_any_redirect": lambda d: d.registration(redirect_uris=[EVIL]).status_code == 201,
    # the way back
    "state_dropped": lambda d: "state" not in came(d),
    "state_changed": lambda d: came(d)["state"] not in ("", STATE),
    "iss_missing": lambda d: "iss" not in came(d),
    "iss_wrong": lambda d: came(d)["iss"] == "https://attacker.example",
    "iss_slash": lambda d: came(d)["iss"] == f"{d.origin}/",
    "in_fragment": lambda d: "code=" in urlsplit(back(d).headers["location"]).fragment,
    "resource_refused": lambda d: "error=invalid_target" in d.ask("demo-app").headers.get("location", ""),
    "redirect_refused": lambda d: d.ask("demo-app").status_code == 400,
    "redirect_elsewhere": lambda d: urlsplit(back(d).headers["location"]).path == "/elsewhere",
    "loose_redirects": lambda d: reply(d, redirect_uri=EVIL).status_code == 200,
    # the token reply
    "token_html": lambda d: reply(d).headers["content-type"].startswith("text/html"),
    "token_form": lambda d: reply(d).text.startswith("access_token="),
    "no_access_token": lambda d: "access_token" not in reply(d).json(),
    "no_token_type": lambda d: "token_type" not in reply(d).json(),
    "odd_token_type": lambda d: reply(d).json()["token_type"] == "mac",
    "expires_as_text": lambda d: reply(d).json()["expires_in"] == "3600",
    "may_be_cached": lambda d: "cache-control" not in reply(d).headers,
    "secret_refused": lambda d: reply(d).json().get("error") == "invalid_client",
    "pkce_ignored": lambda d: reply(d, code_verifier="w" * 64).status_code == 200,
    "code_twice": replayed,
    "less_scope": lambda d: logged_in(d, "notes:read notes:write").reply["scope"] == "notes:read",
    "token_error_200": lambda d: (reply(d).status_code, "error" in reply(d).json()) == (200, True),
    "token_redirects": lambda d: reply(d).status_code == 307,
    "bearer_for_proof": lambda d: (
        challenge(d).startswith("DPoP ") and reply(d).json()["token_type"] == "Bearer"
    ),
    "token_slow": lambda d: first_bytes(d, "POST", "/token", 1, data=code_form(d)) == b" ",
    "token_endless": lambda d: len(first_bytes(d, "POST", "/token", 1 << 20, data=code_form(d))) >= 1 << 20,
    # tokens
    "wrong_audience": lambda d: claims(d)["aud"] == "https://elsewhere.example" and whoami_status(d) == 401,
    "wrong_token_issuer": lambda d: (
        claims(d)["iss"] == "https://elsewhere.example" and whoami_status(d) == 401
    ),
    "clock_ahead": lambda d: claims(d)["iat"] > time.time() + 3000 and whoami_status(d) == 200,
    "expired_at_once": lambda d: whoami_status(d) == 401 and logged_in(d).reply["expires_in"] == 3600,
    "long_life": lambda d: logged_in(d).reply["expires_in"] > 300 * 24 * 3600,
    "not_rotated": same_refresh_token,
    "refresh_unusable": lambda d: "access_token" not in refreshed(d),
    "old_refresh_works": lambda d: old_refresh_token_status(d) == 200,
    "rotated_refused": lambda d: second_refresh_status(d) == 400,
    # calls
    "token_refused": lambda d: whoami_status(d) == 401,
    "any_token": lambda d: d.call("nonsense", "whoami").status_code == 200,
    "lists_are_open": lambda d: d.send("tools/list").status_code == 200,
    "bare_403": lambda d: write(d).status_code == 403 and "www-authenticate" not in write(d).headers,
    "step_up_no_scope": lambda d: "scope=" not in write(d).headers["www-authenticate"],
    "piecemeal": piecemeal,
    "step_up_always": lambda d: write(d, "notes:read notes:write").status_code == 403,
    "codes_swapped": lambda d: (write(d).status_code, d.call("bad", "whoami").status_code) == (401, 403),
    "get_is_open": lambda d: d.http.delete("/mcp").status_code != 401,
    "query_token": lambda d: (
        d.http.post(f"/mcp?access_token={logged_in(d).token}", json={}).status_code != 401
    ),
    "session_crash": lambda d: stale_session(d) == 500,
    # the company
    "idp_wrong_issuer": lambda d: company(d)["issuer"] == "https://attacker.example",
    "idp_endpoint_elsewhere": lambda d: urlsplit(company(d)["token_endpoint"]).hostname == "localhost",
    "idp_iss_wrong": lambda d: signed_in(d)[0]["iss"] == "https://attacker.example",
    "idp_no_id_token": lambda d: "id_token" not in signed_in(d)[1],
    "idp_opaque_id_token": lambda d: "." not in signed_in(d)[1]["id_token"],
    "idp_other_issuer": lambda d: who(d)["iss"] == "https://elsewhere.example",
    "idp_other_audience": lambda d: who(d)["aud"] == "another-client",
    "idp_other_party": lambda d: who(d)["azp"] == "another-client",
    "idp_expired": lambda d: who(d)["exp"] < time.time(),
    "idp_clock_ahead": lambda d: who(d)["iat"] > time.time() + 3000,
    "idp_other_nonce": lambda d: who(d)["nonce"] != "of-this-sign-in",
    "idp_no_nonce": lambda d: "nonce" not in who(d),
    "idp_no_subject": lambda d: "sub" not in who(d),
    "idp_alg_none": lambda d: jwt.get_unverified_header(signed_in(d)[1]["id_token"])["alg"] == "none",
    "idp_no_signature": lambda d: signed_in(d)[1]["id_token"].endswith("."),
    "idp_jag_elsewhere": lambda d: payload(id_jag(d))["aud"] == "https://elsewhere.example",
    "idp_jag_untyped": lambda d: jwt.get_unverified_header(id_jag(d))["typ"] == "JWT",
    "idp_jag_other_client": lambda d: payload(id_jag(d))["client_id"] == "another-client",
    "idp_short_tokens": lambda d: who(d)["exp"] - who(d)["iat"] == 20,
    "idp_other_person": lambda d: payload(renewed_id_token(d))["sub"] != "ada",
}


def seen(check: Check, demo: LoginDemo) -> bool:
    """Return whether the fault is visible; without it, what the check looks up may be missing."""
    try:
        return check(demo)
    except (KeyError, AssertionError, ValueError):
        return False


def test_every_switch_has_a_test() -> None:
    assert list(CHECKS) == [name for name in SWITCHES if name in CHECKS]
    assert set(SWITCHES) == set(CHECKS)


@pytest.mark.parametrize("name", SWITCHES)
def test_switch_causes_the_fault_it_names_and_nothing_else_does(demo: LoginDemo, name: str) -> None:
    assert not seen(CHECKS[name], demo)
    demo.only(name)
    assert CHECKS[name](demo)


def test_every_switch_has_a_one_sentence_description() -> None:
    for switch in SWITCHES.values():
        assert switch.description[-1] == ".", switch.name
        assert len(switch.description) <= 90, switch.name


def test_switches_name_findings_that_exist() -> None:
    shown = {id for switch in SWITCHES.values() for id in switch.shows}
    assert shown <= set(FINDING_TEMPLATES)


def test_every_finding_is_shown_by_one_switch_except_one_that_needs_two() -> None:
    shown = {id for switch in SWITCHES.values() for id in switch.shows}
    assert set(FINDING_TEMPLATES) - shown == {"ASM-025"}  # no_prm and wrong_issuer together


def test_unknown_switch_is_refused_and_nothing_is_flipped(demo: LoginDemo) -> None:
    response = demo.http.post("/faults.json", json={"on": ["dpop", "no_such_thing"]})
    assert (response.status_code, response.json()) == (400, {"error": "Unknown switches: 'no_such_thing'."})
    assert demo.http.get("/faults.json").json()["on"] == []


@pytest.mark.parametrize("body", ["[]", "{", '{"on": "dpop"}', '{"only": 1}', "[" * 100_000])
def test_login_demo_answers_malformed_requests_with_400(demo: LoginDemo, body: str) -> None:
    headers = {"Content-Type": "application/json"}
    assert demo.http.post("/faults.json", content=body, headers=headers).status_code == 400


def test_switches_are_turned_on_and_off_by_name(demo: LoginDemo) -> None:
    demo.http.post("/faults.json", json={"on": ["dpop", "moved"]})
    assert demo.http.post("/faults.json", json={"off": ["dpop"]}).json()["on"] == ["moved"]


def test_login_demo_starts_with_the_command_line_switches_on() -> None:
    assert FaultSwitches(["moved", "dpop"]).names() == ["dpop", "moved"]
    with pytest.raises(ValueError, match="Unknown switches: 'x'"):
        FaultSwitches(["x"])

"""A login as text, trace and diagram: readable and without secrets."""

from __future__ import annotations

import base64
import json
from dataclasses import replace
from urllib.parse import quote

import pytest

from inspector.oauth.http import LoginRequest, post_form
from inspector.oauth.login.report import (
    Masked,
    Party,
    Unmasked,
    arrows_of,
    by_severity,
    findings_text,
    holds_secrets,
    login_text,
    login_trace,
    mermaid,
    request_text,
    response_text,
    step_text,
)
from inspector.oauth.login.steps import (
    STEPS,
    Decision,
    HttpExchangeView,
    Input,
    LoginGrant,
    LoginView,
    Step,
    StepId,
    StepState,
    Table,
    TokenInfo,
)
from inspector.protocol.auth.findings.finding import Severity, finding
from inspector.protocol.revisions import R5

CODE, VERIFIER = "marker+code/0123456789", "marker-verifier-0123456789"
ACCESS, REFRESH = "marker-access-0123456789", "marker-refresh-0123456789"
SECRETS = (CODE, VERIFIER, ACCESS, REFRESH)
FORM = (("grant_type", "authorization_code"), ("code", CODE), ("code_verifier", VERIFIER))
REPLY = json.dumps({"access_token": ACCESS, "refresh_token": REFRESH, "token_type": "Bearer"}).encode()
TOKEN = HttpExchangeView(
    post_form("https://login.example.com/token", FORM),
    "https://login.example.com/token",
    200,
    (("Content-Type", "application/json"),),
    REPLY,
)


def view_of(*steps: Step) -> LoginView:
    """Return a login with these steps; the others are waiting."""
    known = {step.id: step for step in steps}
    every = tuple(known.get(id, Step(id)) for id in STEPS[LoginGrant.CODE])
    result = TokenInfo("https://i", "c", None, "Bearer", (), (), 1.0, None, ACCESS, REFRESH)
    return LoginView(1, "s", "https://mcp.example.com/mcp", LoginGrant.CODE, R5, True, every, result)


def whole() -> LoginView:
    """Return a view with secrets in every field."""
    leaking = f"the server said {CODE}"
    return replace(
        view_of(
            Step(
                StepId.CALLBACK,
                StepState.DONE,
                inputs=(Input("code", CODE, "from the callback", is_secret=True), Input("echo", leaking)),
                decisions=(Decision(leaking),),
                tables=(Table("Parameters", ("Name", "Value"), (("x", leaking),)),),
                findings=(replace(finding("AUTH-004", R5), evidence=leaking, seen=leaking),),
            ),
            Step(
                StepId.TOKEN_REQUEST,
                StepState.DONE,
                inputs=(Input("code_verifier", VERIFIER, is_secret=True),),
                exchanges=(TOKEN,),
            ),
            Step(
                StepId.CALL,
                StepState.FAILED,
                exchanges=(
                    HttpExchangeView(
                        LoginRequest(
                            "POST",
                            f"https://x/?access_token={ACCESS}",
                            (("Authorization", f"Bearer {ACCESS}"),),
                        ),
                        f"https://x/?access_token={ACCESS}",
                        401,
                        (("X-Echo", base64.b64encode(ACCESS.encode()).decode()),),
                        f"no: {REFRESH}".encode(),
                        failure=leaking,
                    ),
                ),
                problem=leaking,
            ),
        ),
        failure=leaking,
    )


def spellings(secret: str) -> tuple[str, ...]:
    return secret, quote(secret, safe=""), base64.b64encode(secret.encode()).decode()


@pytest.mark.parametrize(
    "text",
    [login_text(whole()), findings_text(whole()), login_trace(whole()).decode(), mermaid(whole())],
    ids=["text", "findings", "trace", "diagram"],
)
def test_shared_report_contains_no_secret_in_any_encoding(text: str) -> None:
    """T32: a report of a login that is shared contains a secret."""
    assert [one for secret in SECRETS for one in spellings(secret) if one in text] == []


def test_text_describes_the_login_in_step_order() -> None:
    text = login_text(whole())
    assert text.index("Request token: done") < text.index("POST https://login.example.com/token")
    assert "Call with token: failed" in text
    assert "from the callback" in text
    assert "16. List tools: waiting" in text


def test_single_step_can_be_reported() -> None:
    view = whole()
    step = next(each for each in view.steps if each.id is StepId.TOKEN_REQUEST)
    assert step_text(view, step).startswith("13. Request token: done")
    assert "Call with token" not in step_text(view, step)


def test_trace_is_machine_readable_json() -> None:
    trace = json.loads(login_trace(whole()))
    step = next(each for each in trace["steps"] if each["step"] == "Request token")
    assert step["exchanges"][0]["status"] == 200
    assert step["exchanges"][0]["request"]["method"] == "POST"
    assert trace["secrets"] == "masked"


def test_masked_text_keeps_everything_but_the_secrets() -> None:
    text = request_text(TOKEN.request, Masked())
    assert "grant_type=authorization_code" in text
    assert VERIFIER not in text
    assert VERIFIER in request_text(TOKEN.request, Unmasked())
    assert '"token_type": "Bearer"' in response_text(TOKEN, Masked())
    assert ACCESS not in response_text(TOKEN, Masked())


def test_only_parts_with_secrets_offer_to_reveal_them() -> None:
    harmless = LoginRequest("GET", "https://x/.well-known/openid-configuration")
    assert not holds_secrets(
        harmless, HttpExchangeView(harmless, harmless.url, 200, (), b'{"issuer":"https://x"}')
    )
    assert holds_secrets(TOKEN.request, TOKEN)


def test_request_without_a_response_says_why() -> None:
    seen = HttpExchangeView(TOKEN.request, TOKEN.url, failure="The name does not exist.")
    assert response_text(seen, Masked()) == "The name does not exist."


def test_findings_are_listed_most_severe_first() -> None:
    every = [finding("AUTH-009", R5, schemes="Basic"), finding("AUTH-004", R5), finding("ASM-004", R5)]
    order = [each.severity for each in by_severity(every)]
    assert order[0] is Severity.ERROR
    assert order == sorted(order, key=list(Severity).index)


def test_diagram_has_a_message_for_every_request_and_response() -> None:
    arrows = [each for each in arrows_of(whole()) if each.step is StepId.TOKEN_REQUEST]
    assert [(each.source, each.target) for each in arrows] == [
        (Party.CLIENT, Party.AUTHORITY),
        (Party.AUTHORITY, Party.CLIENT),
    ]
    assert arrows[0].text == "POST /token"


def test_future_steps_are_in_the_diagram_but_not_in_its_text() -> None:
    view = view_of(Step(StepId.PROBE, StepState.READY))
    assert any(each.step is StepId.TOKEN_REQUEST for each in arrows_of(view))
    assert "token request" not in mermaid(view)


def test_unexpected_error_response_is_marked() -> None:
    refusal = HttpExchangeView(LoginRequest("POST", "https://x/mcp"), "https://x/mcp", 401)
    probe = view_of(Step(StepId.PROBE, StepState.DONE, exchanges=(refusal,)))
    call = view_of(Step(StepId.CALL, StepState.FAILED, exchanges=(refusal,)))
    assert [each.is_error for each in arrows_of(probe) if each.is_response and each.step is StepId.PROBE] == [
        False
    ]
    assert [each.is_error for each in arrows_of(call) if each.is_response and each.step is StepId.CALL] == [
        True
    ]


def test_server_path_cannot_break_the_diagram_text() -> None:
    odd = HttpExchangeView(LoginRequest("GET", "https://x/a;b#c\nEnd: --> x"), "https://x/", 200)
    text = mermaid(view_of(Step(StepId.SERVER_LOOKUP, StepState.DONE, exchanges=(odd,))))
    line = next(each for each in text.splitlines() if "GET" in each)
    assert ";" not in line.partition(": ")[2]
    assert "#" not in line.partition(": ")[2]

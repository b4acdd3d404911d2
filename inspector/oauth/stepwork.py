"""Which function is which step of a login."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from inspector.oauth import (
    browsing,
    choosing,
    discovering,
    identifying,
    identityprovider,
    obtaining,
    signin,
    trying,
)
from inspector.oauth.http import LoginRequest
from inspector.oauth.stage import Stage
from inspector.oauth.steps import StepId

Prepare = Callable[[Stage], Awaitable[LoginRequest | None]]
Run = Callable[[Stage], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class Work:
    """Implementation of a step; `prepare` returns what it will send first."""

    run: Run
    prepare: Prepare | None = None


WORK = {
    StepId.PROBE: Work(discovering.probe, discovering.prepare_probe),
    StepId.CHALLENGE: Work(discovering.read_challenge),
    StepId.RESOURCE_LOOKUP: Work(discovering.look_for_resource, discovering.prepare_resource_lookup),
    StepId.RESOURCE_CHECK: Work(discovering.check_resource),
    StepId.SERVER_CHOICE: Work(choosing.choose_server),
    StepId.SERVER_LOOKUP: Work(discovering.look_for_server, discovering.prepare_server_lookup),
    StepId.SERVER_CHECK: Work(discovering.check_server),
    StepId.IDENTITY: Work(identifying.identify, identifying.prepare_identity),
    StepId.PREPARE: Work(identifying.prepare_request),
    StepId.PROVIDER_LOOKUP: Work(identityprovider.look_for_provider, identityprovider.prepare_lookup),
    StepId.SIGN_IN: Work(signin.look_for_sign_in, signin.prepare_sign_in),
    StepId.AUTHORIZE: Work(browsing.authorize, browsing.prepare_authorize),
    StepId.WAIT: Work(browsing.wait),
    StepId.CALLBACK: Work(browsing.check_answer),
    StepId.ID_TOKEN_REQUEST: Work(signin.ask_for_id_token, signin.prepare_id_token),
    StepId.ID_TOKEN_REPLY: Work(signin.take_id_token),
    StepId.EXCHANGE: Work(obtaining.exchange, obtaining.prepare_exchange),
    StepId.TOKEN_REQUEST: Work(obtaining.ask_for_token, obtaining.prepare_token),
    StepId.TOKEN_REPLY: Work(obtaining.take_token),
    StepId.CALL: Work(trying.call, trying.prepare_call),
    StepId.VERIFY: Work(trying.verify),
    StepId.LIFETIME: Work(trying.look_ahead),
}

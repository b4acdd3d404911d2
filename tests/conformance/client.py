"""The client that the public conformance suite drives: a thin layer over the engine.

The suite passes the server's URL as the last argument and the name of the scenario in the environment.
The name only decides which tools are called with which arguments; the engine handles the protocol.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import Callable
from typing import Literal

import httpx2

from inspector.base.errors import CapabilityMissing, LensError, NeedsLogin
from inspector.base.json.values import JSONObject
from inspector.config.servers.entries import HttpEntry, IdentityProvider, OAuthSettings, SecretRef
from inspector.engine.calls.tool_calls import ToolCall
from inspector.engine.engine import Engine
from inspector.engine.inbox.inbox import Inbox
from inspector.engine.inbox.views import InboxRequest, Reply, RequestItem
from inspector.engine.secrets import Secrets
from inspector.engine.views import CallOutcome, OutcomeKind
from inspector.oauth.login.steps import LoginPromptKind
from inspector.oauth.login_reason import LoginReason
from inspector.protocol.server_requests.replies import form_reply, sampling_reply, url_reply
from inspector.protocol.server_requests.request import FormElicitation, UrlElicitation
from inspector.protocol.types import Tool

SERVER = "conformance"
CONTEXT = json.loads(os.environ.get("MCP_CONFORMANCE_CONTEXT", "{}"))
SCENARIO = os.environ.get("MCP_CONFORMANCE_SCENARIO", "")
REVISION = os.environ.get("MCP_CONFORMANCE_PROTOCOL_VERSION", "")

# Tools to call, in order, with their arguments; scenarios that are not here call the first tool.
CALLS: dict[str, list[tuple[str, JSONObject]]] = {
    "tools_call": [("add_numbers", {"a": 5, "b": 3})],
    "elicitation-sep1034-client-defaults": [("test_client_elicitation_defaults", {})],
    "sse-retry": [("test_reconnection", {})],
    "request-metadata": [("add_numbers", {"a": 1, "b": 2})],
    "sep-2322-client-request-state": [
        ("test_mrtr_echo_state", {}),
        ("test_mrtr_unrelated", {}),
        ("test_mrtr_no_state", {}),
        ("test_mrtr_no_result_type", {}),
    ],
}
ONLY_LIST = ("initialize", "json-schema-ref-no-deref")
# What we would have on a web site; the suite knows it by this address.
CLIENT_DOCUMENT = "https://conformance-test.local/client-metadata.json"


class Agreeable:
    """A user who accepts every server request as it is."""

    def __init__(self, inbox: Inbox) -> None:
        self._inbox = inbox
        inbox.changed.connect(self._on_changed)

    def _on_changed(self, inbox_request: InboxRequest) -> None:
        if inbox_request.is_open and inbox_request.awaits_completion:
            self._later(self._inbox.mark_completed, inbox_request.id)
        elif inbox_request.is_open and inbox_request.unanswered:
            question = inbox_request.unanswered[0]
            self._later(self._inbox.reply, inbox_request.id, question.key, response(question))

    def _later(self, act: Callable[..., None], *arguments: object) -> None:
        """Reply once the request is pending, as a user does, not while it is created."""
        asyncio.get_running_loop().call_soon(act, *arguments)


async def browse(url: str) -> None:
    """Act as the browser of a user who consents to everything."""
    async with httpx2.AsyncClient(trust_env=False) as browser:
        response = await browser.get(url)
        if response.has_redirect_location:
            await browser.get(response.headers["location"])


async def login_settings(secrets: Secrets) -> OAuthSettings:
    """Return the suite's settings as a user would enter them."""
    kept: dict[str, SecretRef] = {}
    for name in ("client_secret", "private_key_pem", "idp_id_token", "valid_jwt"):
        if name in CONTEXT:
            await secrets.put(f"conformance/{name}", CONTEXT[name])
            kept[name] = SecretRef(f"conformance/{name}")
    provider = IdentityProvider(
        issuer=CONTEXT.get("idp_issuer", ""),
        token_endpoint=CONTEXT.get("idp_token_endpoint", ""),
        client_id=CONTEXT.get("idp_client_id", ""),
        id_token=kept.get("idp_id_token"),
    )
    return OAuthSettings(
        grant=GRANTS.get(SCENARIO, "authorization_code"),
        client_id=CONTEXT.get("client_id", ""),
        client_secret=kept.get("client_secret"),
        client_document=CLIENT_DOCUMENT,
        key=kept.get("private_key_pem"),
        algorithm=CONTEXT.get("signing_algorithm", ""),
        assertion=kept.get("valid_jwt"),
        identity_provider=provider if "idp_issuer" in CONTEXT else None,
    )


GRANTS: dict[str, Literal["client_credentials", "enterprise", "wif"]] = {
    "auth/client-credentials-jwt": "client_credentials",
    "auth/client-credentials-basic": "client_credentials",
    "auth/enterprise-managed-authorization": "enterprise",
    "auth/wif-jwt-bearer": "wif",
}


def response(question: RequestItem) -> Reply:
    match question.request:
        case FormElicitation(schema=schema):
            return Reply(result=form_reply(_offered(schema)))
        case UrlElicitation():
            return Reply(result=url_reply())
        case _:
            content: JSONObject = {"type": "text", "text": "four"}
            return Reply(result=sampling_reply("assistant", content, "by hand"))


def _offered(schema: JSONObject) -> JSONObject:
    """Return the values of an untouched form, with every checkbox without a default ticked."""
    properties = schema.get("properties")
    content: JSONObject = {}
    for name, property in (properties if isinstance(properties, dict) else {}).items():
        if isinstance(property, dict) and "default" in property:
            content[name] = property["default"]
        elif isinstance(property, dict) and property.get("type") == "boolean":
            content[name] = True
    return content


def calls_for(tools: tuple[Tool, ...]) -> list[tuple[str, JSONObject]]:
    if SCENARIO in ONLY_LIST:
        return []
    if SCENARIO == "http-custom-headers":
        return [(call["name"], call["arguments"]) for call in CONTEXT["toolCalls"]]
    if SCENARIO == "json-schema-2020-12-preservation":
        schemas = {tool.name: tool.input_schema for tool in tools}
        return [("json_schema_echo", {"schema": schemas["json_schema_2020_12_tool"]})]
    if SCENARIO in ("http-invalid-tool-headers", "http-standard-headers"):
        return [(tool.name, {}) for tool in tools]
    return CALLS.get(SCENARIO) or [(tool.name, {}) for tool in tools[:1]]


async def connect(engine: Engine) -> None:
    """Trust the authorization server that the server names: the suite does not give its URL."""
    try:
        await engine.servers.connector.connect(SERVER)
    except NeedsLogin:
        view = engine.logins.view(SERVER)
        question = view.prompt if view is not None else None
        if question is None or question.kind is not LoginPromptKind.ISSUER:
            raise
        await engine.logins.allow_hosts(SERVER, True)
        await engine.servers.connector.connect(SERVER)


async def run(url: str) -> int:
    inbox = Inbox()
    Agreeable(inbox)
    engine = Engine(inbox=inbox)
    # The suite names the wire of this leg; its stateless leg is found out, as a person's client would.
    era = REVISION if REVISION < "2026" and REVISION else "auto"
    engine.logins.opens_browser = frozenset(LoginReason)
    engine.logins.open_url = browse
    try:
        auth = await login_settings(engine.secrets)
        engine.servers.add(HttpEntry(name=SERVER, url=url, era=era, auth=auth))
        await connect(engine)
        listing = await engine.list_tools(SERVER)
        outcomes = [
            await engine.tool_caller.call(SERVER, ToolCall(name, args))
            for name, args in calls_for(listing.items)
        ]
        return max((report(outcome) for outcome in outcomes), default=0)
    except CapabilityMissing as exc:  # a server without tools has nothing to be called
        print(exc)
        return 0
    except LensError as exc:
        print(exc, file=sys.stderr)
        return 1
    finally:
        await engine.close()


def report(outcome: CallOutcome) -> int:
    print(outcome.kind.value, outcome.summary, outcome.response.decode(errors="replace")[:400])
    return 1 if outcome.kind is OutcomeKind.FAILED else 0


if __name__ == "__main__":
    sys.exit(asyncio.run(run(sys.argv[-1])))

"""The client that the public conformance suite drives: a thin program over the engine.

The suite gives the server's URL as the last argument and the name of the scenario in the environment. The
name decides only which tools are called with what; the protocol is the engine's business, always.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys

from inspector.base.errors import LensError, NotOffered
from inspector.base.jsonvalue import JSON, JSONObject
from inspector.config.entries import HttpEntry
from inspector.engine.engine import Engine
from inspector.engine.views import CallOutcome, OutcomeKind
from inspector.protocol.types import Tool
from inspector.session.route import Answerer

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


async def elicit(params: JSONObject) -> JSONObject:
    """What a person would do who accepts everything as it is offered."""
    schema = params.get("requestedSchema")
    properties = schema.get("properties") if isinstance(schema, dict) else None
    content: JSONObject = {}
    for name, property in (properties if isinstance(properties, dict) else {}).items():
        value = _offered(property)
        if value is not None:
            content[name] = value
    return {"action": "accept", "content": content}


def _offered(property: JSON) -> JSON:
    if not isinstance(property, dict):
        return None
    if "default" in property:
        return property["default"]
    return True if property.get("type") == "boolean" else None


async def sample(params: JSONObject) -> JSONObject:
    return {"role": "assistant", "content": {"type": "text", "text": "four"}, "model": "by hand"}


async def list_roots(params: JSONObject) -> JSONObject:
    return {"roots": []}


ANSWERERS: dict[str, Answerer] = {
    "elicitation/create": elicit,
    "sampling/createMessage": sample,
    "roots/list": list_roots,
}


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


async def run(url: str) -> int:
    engine = Engine(answerers=ANSWERERS)
    # The suite names the wire of this leg; its stateless leg is found out, as a person's client would.
    era = REVISION if REVISION < "2026" and REVISION else "auto"
    engine.add(HttpEntry(name=SERVER, url=url, era=era))
    try:
        await engine.connect(SERVER)
        listing = await engine.list_tools(SERVER)
        outcomes = [await engine.call_tool(SERVER, name, args) for name, args in calls_for(listing.items)]
        return max((report(outcome) for outcome in outcomes), default=0)
    except NotOffered as exc:  # a server without tools has nothing to be called
        print(exc)
        return 0
    except LensError as exc:
        print(exc, file=sys.stderr)
        return 1
    finally:
        await engine.close()


def report(outcome: CallOutcome) -> int:
    print(outcome.kind.value, outcome.summary, outcome.answer.decode(errors="replace")[:400])
    return 1 if outcome.kind is OutcomeKind.FAILED else 0


if __name__ == "__main__":
    sys.exit(asyncio.run(run(sys.argv[-1])))

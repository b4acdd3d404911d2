"""Client capabilities: per protocol version, by member, and written by the user."""

from __future__ import annotations

import pytest

from inspector.base.json.values import JSON, JSONObject
from inspector.protocol.client_capabilities import (
    ALL,
    CAPABILITY_SWITCHES,
    NOTHING,
    CapabilitySwitch,
    ClientCapabilities,
    capabilities_for_methods,
    capabilities_text,
    exact_capabilities,
    notes,
)
from inspector.protocol.revisions import R1, R2, R3, R4, R5, REVISIONS, TASKS_EXTENSION, Revision
from inspector.protocol.round_trips import missing_capability_for
from inspector.protocol.server_requests.request import ELICITATION, ROOTS, SAMPLING, SERVER_REQUEST_METHODS
from inspector.protocol.types import InputRequest

TASKS: JSONObject = {
    "list": {},
    "cancel": {},
    "requests": {"sampling": {"createMessage": {}}, "elicitation": {"create": {}}},
}
CHANGING: JSONObject = {"listChanged": True}
BOTH: JSONObject = {"form": {}, "url": {}}


@pytest.mark.parametrize(
    ("revision", "reported"),
    [
        (R1, {"roots": CHANGING, "sampling": {}}),
        (R2, {"roots": CHANGING, "sampling": {}}),
        (R3, {"roots": CHANGING, "sampling": {}, "elicitation": {}}),
        (R4, {"roots": CHANGING, "sampling": {"tools": {}}, "elicitation": BOTH, "tasks": TASKS}),
        (R5, {"roots": {}, "sampling": {"tools": {}}, "elicitation": BOTH}),
        (None, ALL.members),
    ],
)
def test_each_protocol_version_is_sent_only_capabilities_it_knows(
    revision: Revision | None, reported: JSONObject
) -> None:
    assert ALL.capabilities(revision) == reported
    assert NOTHING.capabilities(revision) == {}


@pytest.mark.parametrize("revision", REVISIONS)
def test_user_written_capabilities_are_declared_verbatim(revision: Revision) -> None:
    whole: JSONObject = {"tasks": 7, "roots": {"listChanged": "maybe"}, "elicitation": {"url": {}}, "x": None}
    assert exact_capabilities(whole).capabilities(revision) == whole


def test_url_only_elicitation_is_not_declared_where_only_forms_exist() -> None:
    pages = ClientCapabilities({"elicitation": {"url": {}}})
    assert pages.capabilities(R3) == {}
    assert pages.capabilities(R4) == {"elicitation": {"url": {}}}
    assert ClientCapabilities({"elicitation": {}}).capabilities(R3) == {"elicitation": {}}


def test_extensions_are_declared_in_every_version_except_tasks_in_its_own() -> None:
    both = ClientCapabilities({"extensions": {"example.com/x": {"a": 1}, TASKS_EXTENSION: {}}})
    assert both.capabilities(R5) == both.members
    assert both.capabilities(R4) == {"extensions": {"example.com/x": {"a": 1}}}
    assert ClientCapabilities({"extensions": {TASKS_EXTENSION: {}}}).capabilities(R4) == {}


@pytest.mark.parametrize("switch", CAPABILITY_SWITCHES, ids=lambda switch: switch.name)
def test_switch_can_be_toggled_and_leaves_the_rest_alone(switch: CapabilitySwitch) -> None:
    path, value = switch.path, switch.value
    on = NOTHING.with_member(path, value)
    assert on.has(path)
    parent = on.with_member(path, None)
    assert not parent.has(path)
    is_meant = len(path) > 1 and path[0] in ("sampling", "roots")
    assert parent.members == ({path[0]: {}} if is_meant else {})
    assert ALL.with_member(path, None).with_member(path, value).has(path)
    others = [other for other in CAPABILITY_SWITCHES if other.path[: len(path)] != path]
    without = ALL.with_member(path, None)
    assert [other.name for other in others if without.has(other.path)] == [
        other.name for other in others if ALL.has(other.path)
    ]


def test_manual_edits_survive_switching() -> None:
    odd: JSONObject = {"x": [1], "sampling": {"odd": 1}, "elicitation": {}}
    switched = (
        exact_capabilities(odd).with_member(("sampling", "tools"), {}).with_member(("elicitation", "url"), {})
    )
    assert switched == exact_capabilities(
        {"x": [1], "sampling": {"odd": 1, "tools": {}}, "elicitation": BOTH}
    )
    assert exact_capabilities(odd).with_member(("elicitation", "form"), None).members == {
        "x": [1],
        "sampling": {"odd": 1},
    }
    assert exact_capabilities(odd).with_member(("roots", "listChanged"), None).members == odd


@pytest.mark.parametrize("value", [True, None, [], "yes"])
def test_non_object_is_not_declared_and_can_be_corrected(value: JSON) -> None:
    odd = exact_capabilities({"sampling": value, "elicitation": value})
    assert not odd.has(("sampling",))
    assert not odd.has(("elicitation", "form"))
    assert odd.with_member(("sampling",), {}).has(("sampling",))
    assert odd.with_member(("elicitation", "url"), {}).members["elicitation"] == {"url": {}}


@pytest.mark.parametrize(
    ("path", "input_request"),
    [
        (("sampling",), InputRequest(SAMPLING, {}, {})),
        (("sampling", "tools"), InputRequest(SAMPLING, {"tools": []}, {})),
        (("elicitation", "form"), InputRequest(ELICITATION, {}, {})),
        (("elicitation", "url"), InputRequest(ELICITATION, {"mode": "url"}, {})),
        (("roots",), InputRequest(ROOTS, {}, {})),
    ],
)
def test_switched_off_capability_may_not_be_requested(
    path: tuple[str, ...], input_request: InputRequest
) -> None:
    assert missing_capability_for(input_request.method, input_request.params, ALL.capabilities(R5)) == ""
    missing = missing_capability_for(
        input_request.method, input_request.params, ALL.with_member(path, None).capabilities(R5)
    )
    assert missing.replace("“", "").replace("”", "") == ".".join(path)


def test_only_supported_capabilities_are_declared() -> None:
    assert capabilities_for_methods(()) == NOTHING
    assert capabilities_for_methods([ELICITATION, SAMPLING]).members == {"sampling": {}, "elicitation": BOTH}
    assert ALL.restricted_to(SERVER_REQUEST_METHODS) == ALL
    assert ALL.restricted_to(()) == ClientCapabilities({"tasks": {"list": {}, "cancel": {}}})
    assert ALL.restricted_to([ROOTS, SAMPLING]).members == {
        "roots": CHANGING,
        "sampling": {"tools": {}},
        "tasks": {**TASKS, "requests": {"sampling": {"createMessage": {}}}},
    }


def test_potential_compatibility_problems_are_reported() -> None:
    for revision in REVISIONS:
        assert notes(ALL.capabilities(revision), revision) == ()
    odd: JSONObject = {"sampling": True, "x": {}, "tasks": {}, "roots": CHANGING, "extensions": {"y": {}}}
    assert notes(odd, R5) == (
        "“sampling” is not an object; every capability must be one.",
        "“x” is not a capability of the protocol.",
        "2026-07-28 has no “tasks”.",
        "2026-07-28 only supports part of “roots”.",
        "The extension “y” has no prefix: names look like “example.com/name”.",
    )
    assert "2026-07-28" not in " ".join(notes(odd, None))


def test_capabilities_are_summarized_on_one_line() -> None:
    assert capabilities_text({}) == "nothing"
    assert (
        capabilities_text({"roots": {}, "sampling": {"tools": {}}, "x": 1})
        == "roots, sampling (tools), x (1)"
    )

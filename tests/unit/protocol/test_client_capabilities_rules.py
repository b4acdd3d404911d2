"""What we declare: in the words of each revision, switched member by member, written by hand."""

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
from inspector.protocol.round_trips import missing_for
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
        (None, ALL.whole),
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
    assert both.capabilities(R5) == both.whole
    assert both.capabilities(R4) == {"extensions": {"example.com/x": {"a": 1}}}
    assert ClientCapabilities({"extensions": {TASKS_EXTENSION: {}}}).capabilities(R4) == {}


@pytest.mark.parametrize("switch", CAPABILITY_SWITCHES, ids=lambda switch: switch.name)
def test_switch_can_be_toggled_and_leaves_the_rest_alone(switch: CapabilitySwitch) -> None:
    path, value = switch.path, switch.value
    on = NOTHING.switched(path, value)
    assert on.has(path)
    parent = on.switched(path, None)
    assert not parent.has(path)
    is_meant = len(path) > 1 and path[0] in ("sampling", "roots")
    assert parent.whole == ({path[0]: {}} if is_meant else {})
    assert ALL.switched(path, None).switched(path, value).has(path)
    others = [other for other in CAPABILITY_SWITCHES if other.path[: len(path)] != path]
    without = ALL.switched(path, None)
    assert [other.name for other in others if without.has(other.path)] == [
        other.name for other in others if ALL.has(other.path)
    ]


def test_manual_edits_survive_switching() -> None:
    odd: JSONObject = {"x": [1], "sampling": {"odd": 1}, "elicitation": {}}
    switched = (
        exact_capabilities(odd).switched(("sampling", "tools"), {}).switched(("elicitation", "url"), {})
    )
    assert switched == exact_capabilities(
        {"x": [1], "sampling": {"odd": 1, "tools": {}}, "elicitation": BOTH}
    )
    assert exact_capabilities(odd).switched(("elicitation", "form"), None).whole == {
        "x": [1],
        "sampling": {"odd": 1},
    }
    assert exact_capabilities(odd).switched(("roots", "listChanged"), None).whole == odd


@pytest.mark.parametrize("value", [True, None, [], "yes"])
def test_non_object_is_not_declared_and_can_be_corrected(value: JSON) -> None:
    odd = exact_capabilities({"sampling": value, "elicitation": value})
    assert not odd.has(("sampling",))
    assert not odd.has(("elicitation", "form"))
    assert odd.switched(("sampling",), {}).has(("sampling",))
    assert odd.switched(("elicitation", "url"), {}).whole["elicitation"] == {"url": {}}


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
    assert missing_for(input_request, ALL.capabilities(R5)) == ""
    missing = missing_for(input_request, ALL.switched(path, None).capabilities(R5))
    assert missing.replace("“", "").replace("”", "") == ".".join(path)


def test_only_supported_capabilities_are_declared() -> None:
    assert capabilities_for_methods(()) == NOTHING
    assert capabilities_for_methods([ELICITATION, SAMPLING]).whole == {"sampling": {}, "elicitation": BOTH}
    assert ALL.only(SERVER_REQUEST_METHODS) == ALL
    assert ALL.only(()) == ClientCapabilities({"tasks": {"list": {}, "cancel": {}}})
    assert ALL.only([ROOTS, SAMPLING]).whole == {
        "roots": CHANGING,
        "sampling": {"tools": {}},
        "tasks": {**TASKS, "requests": {"sampling": {"createMessage": {}}}},
    }


def test_potential_compatibility_problems_are_reported() -> None:
    for revision in REVISIONS:
        assert notes(ALL.capabilities(revision), revision) == ()
    odd: JSONObject = {"sampling": True, "x": {}, "tasks": {}, "roots": CHANGING, "extensions": {"y": {}}}
    assert notes(odd, R5) == (
        "“sampling” is not an object, which every capability must be.",
        "“x” is no capability that the protocol knows.",
        "2026-07-28 has no “tasks”.",
        "2026-07-28 knows less of “roots”.",
        "The extension “y” has no prefix: names look like “example.com/name”.",
    )
    assert "2026-07-28" not in " ".join(notes(odd, None))


def test_capabilities_are_summarized_on_one_line() -> None:
    assert capabilities_text({}) == "nothing"
    assert (
        capabilities_text({"roots": {}, "sampling": {"tools": {}}, "x": 1})
        == "roots, sampling (tools), x (1)"
    )

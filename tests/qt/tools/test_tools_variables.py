"""Call variables (`${name}`): shown, validated by value, and replaced only on the wire."""

from __future__ import annotations

import json
from typing import Any

from inspector.base.json.values import JSON
from inspector.qt.dialogs.variables import VariablesDialog
from inspector.qt.panels.tools.panel import CallView
from tests.qt.lens_driver import TIMEOUT, Lens, scripted, visible_text

NUMBERS: dict[str, Any] = {
    "type": "object",
    "properties": {
        "n": {"type": "integer", "maximum": 10},
        "list": {"type": "array", "items": {"type": "integer"}},
        "map": {"type": "object", "additionalProperties": {"type": "boolean"}},
        "either": {"oneOf": [{"type": "string", "maxLength": 3}, {"type": "integer"}]},
        "whole": {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]},
    },
}
TEXT: dict[str, Any] = {"type": "object", "properties": {"text": {"type": "string"}}}


def connected(lens: Lens, schema: dict[str, Any], **values: JSON) -> CallView:
    for name, value in values.items():
        set_variable(lens, name, value)
    lens.connect(scripted(tools=[{"name": "echo", "inputSchema": schema}]))
    return lens.tools.call_view


def set_variable(lens: Lens, name: str, value: JSON) -> None:
    lens.ask(lambda engine: engine.calls.set_variable(name, value))


def put(lens: Lens, arguments: dict[str, Any]) -> CallView:
    """Load the arguments as typed input and wait until the variables are resolved."""
    view = lens.tools.call_view
    view.arguments.show_json()
    view.arguments.json_view.box.setPlainText(json.dumps(arguments))
    view.arguments.show_form()
    lens.until(lambda: view.variables_bar.text())
    return view


def called(lens: Lens) -> dict[str, Any]:
    with lens.bot.waitSignal(lens.tools.call_view.result.shown, timeout=TIMEOUT):
        lens.do("tool.call")
    return dict(lens.sent("tools/call")[-1])


def errors(view: CallView) -> list[str]:
    return [str(error) for error in view.arguments.all_errors()]


def checked(lens: Lens, view: CallView) -> None:
    """Wait for the full validation of the arguments."""
    with lens.bot.waitSignal(view.arguments._validation.checked, timeout=TIMEOUT):
        view.arguments._validation.value_changed()


def test_variable_is_validated_by_its_value_in_a_number_list_map_and_union(lens: Lens) -> None:
    connected(lens, NUMBERS, n=7, yes=True, both={"a": 1})
    written = {"n": "${n}", "list": [1, "${n}"], "map": {"k": "${yes}"}, "either": "${n}", "whole": "${both}"}
    view = put(lens, written)
    lens.until(lambda: errors(view) == [])
    checked(lens, view)
    assert errors(view) == []
    sent = {"n": 7, "list": [1, 7], "map": {"k": True}, "either": 7, "whole": {"a": 1}}
    assert called(lens)["arguments"] == sent
    history = lens.ask(lambda engine: engine.calls.history_of("scripted", "echo"))
    assert history.calls[0].arguments() == written, "saved with the variable"


def test_invalid_value_is_reported_at_its_field_and_nothing_is_sent(lens: Lens) -> None:
    connected(lens, NUMBERS, n=70, both={"a": "x"})
    view = put(lens, {"n": "${n}", "whole": "${both}"})
    checked(lens, view)
    assert errors(view) == [
        "n: must be at most 10, got 70",
        "whole: a: must be an integer, got 'x'",
    ]
    lens.do("tool.call")
    lens.settle()
    assert lens.sent("tools/call") == []
    set_variable(lens, "n", 3)
    set_variable(lens, "both", {"a": 2})
    view.refresh_variables()
    lens.until(lambda: errors(view) == [])
    assert called(lens)["arguments"] == {"n": 3, "whole": {"a": 2}}


def test_a_variable_without_a_value_is_named_at_its_field(lens: Lens) -> None:
    connected(lens, NUMBERS)
    view = put(lens, {"list": [1, "${gone}"]})
    checked(lens, view)
    assert errors(view) == [
        "list[1]: ${gone} has no value: set it under Call variables, or write $${gone} for the text itself"
    ]
    lens.do("tool.call")
    lens.settle()
    assert lens.sent("tools/call") == []
    assert "${gone} has no value" in visible_text(view.arguments.form)


def test_secret_value_appears_in_no_message(lens: Lens) -> None:
    connected(lens, NUMBERS, api_key="hunter2")
    view = put(lens, {"n": "${api_key}"})
    checked(lens, view)
    assert errors(view) == ["n: expands to a value that is not valid here"]


def test_variables_work_in_meta_too(lens: Lens) -> None:
    view = connected(lens, TEXT, trace="t-1")
    view.drawer.options.meta.setText('{"example.com/trace": "${trace}", "example.com/n": ["${nothing}"]}')
    lens.until(lambda: "${nothing} has no value" in view.variables_bar.text())
    lens.do("tool.call")
    lens.until(lambda: view.alert.text("sending"))
    assert "${nothing} has no value" in view.alert.text("sending")
    assert lens.sent("tools/call") == []
    view.drawer.options.meta.setText('{"example.com/trace": "${trace}"}')
    lens.until(lambda: view.variables_bar.text() == "${trace} = t-1")
    sent = called(lens)["_meta"]
    assert sent["example.com/trace"] == "t-1"


def test_variables_are_shown_where_they_are_used_and_expanded_on_the_wire(lens: Lens) -> None:
    connected(lens, TEXT)
    view = put(lens, {"text": "to ${city}"})
    assert view.variables_bar.text() == "${city} has no value"
    lens.do("tool.call_anyway")
    lens.until(lambda: view.alert.text("sending"))
    assert "${city} has no value, so nothing was sent." in view.alert.text("sending")
    assert lens.sent("tools/call") == []
    lens.do("call.variables")
    dialog = lens.dialog(VariablesDialog)
    lens.until(lambda: dialog.rows)
    dialog.rows[0].name.setText("city")
    dialog.rows[0].value.setText("Lisbon")
    with lens.bot.waitSignal(dialog.saved, timeout=TIMEOUT):
        dialog.save_action.trigger()
    lens.until(lambda: view.variables_bar.text() == "${city} = Lisbon")
    assert called(lens)["arguments"] == {"text": "to Lisbon"}
    history = lens.ask(lambda engine: engine.calls.history_of("scripted", "echo"))
    assert history.calls[0].arguments() == {"text": "to ${city}"}, "saved with the variable"


def test_variable_with_an_invalid_name_is_not_saved(lens: Lens) -> None:
    connected(lens, TEXT)
    lens.do("call.variables")
    dialog = lens.dialog(VariablesDialog)
    lens.until(lambda: dialog.rows)
    dialog.rows[0].name.setText("1 bad")
    dialog.save_action.trigger()
    assert "is not a valid name" in dialog.error_text()
    assert not (lens.folder / "calls" / "variables.json").exists()

"""Resource templates: variables, the expanded URI, and completion."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtTest import QTest

from tests.qt.features.feature_stage import open_resources, type_into
from tests.qt.features.resources_stage import go_to, go_to_template, read, resource_server
from tests.qt.lens_driver import Lens, visible_text


def test_variables_expand_to_the_uri_that_is_read(lens: Lens) -> None:
    contents = {"find://all?q=a%20b&tags=x&tags=y": [{"uri": "f", "text": "found"}]}
    panel = open_resources(lens, resource_server(contents=contents))
    go_to_template(panel, 1)
    form = panel.head.form
    assert panel.head.uri == "find://all"
    line, lines = form.rows["q"].line, form.rows["tags"].lines
    assert line is not None
    assert lines is not None
    type_into(line, "a b")
    lines.setPlainText("x\ny")
    assert "find://all?q=a%20b&tags=x&tags=y" in visible_text(panel.head)
    read(lens, panel)
    assert panel.contents.content.text.shown_text() == "found"
    line.clear()
    form.rows["tags"].set_text(None)
    assert panel.head.uri == "find://all"
    form.rows["q"].empty_button.click()
    assert panel.head.uri == "find://all?q=", "an empty string differs from no value"


def test_typed_values_are_restored_on_return(lens: Lens) -> None:
    panel = open_resources(lens, resource_server())
    go_to_template(panel, 0)
    panel.head.form.rows["author"].set_text("Ada")
    go_to(panel, "counter://it")
    go_to_template(panel, 0)
    assert panel.head.uri == "book://Ada/"


def test_completions_appear_while_typing_with_the_other_values_as_context(lens: Lens) -> None:
    panel = open_resources(lens, resource_server())
    lens.window.activateWindow()
    go_to_template(panel, 0)
    author, title = panel.head.form.rows["author"].line, panel.head.form.rows["title"].line
    assert author is not None
    assert title is not None
    type_into(author, "A")
    lens.until(lambda: [each.text for each in author.suggestions()] == ["Ada", "Alan"])
    QTest.keyClick(author, Qt.Key.Key_Down)
    QTest.keyClick(author, Qt.Key.Key_Return)
    assert author.text() == "Ada"
    title.setFocus()
    QTest.keyClick(title, Qt.Key.Key_Down)
    lens.until(lambda: title.suggestions())
    QTest.keyClick(title, Qt.Key.Key_Tab)
    assert panel.head.uri == "book://Ada/Notes%20on%20the%20Engine"
    ref = {"type": "ref/resource", "uri": "book://{author}/{title}"}
    requested = lens.sent("completion/complete")
    assert requested[0] == {"ref": ref, "argument": {"name": "author", "value": "A"}}
    context = {"arguments": {"author": "Ada"}}
    assert requested[-1] == {"ref": ref, "argument": {"name": "title", "value": ""}, "context": context}


def test_superseded_completion_is_cancelled(lens: Lens) -> None:
    panel = open_resources(lens, resource_server())
    lens.window.activateWindow()
    go_to_template(panel, 0)
    author = panel.head.form.rows["author"].line
    assert author is not None
    type_into(author, "slow")
    lens.until(lambda: lens.sent("completion/complete"))
    type_into(author, "Al")
    lens.until(lambda: lens.sent("notifications/cancelled"))
    lens.until(lambda: [each.text for each in author.suggestions()] == ["Alan"])


def test_completion_is_not_requested_without_the_capability(lens: Lens) -> None:
    panel = open_resources(lens, resource_server(capabilities={"resources": {}}))
    go_to_template(panel, 0)
    author = panel.head.form.rows["author"].line
    assert author is not None
    type_into(author, "A")
    author.ask()
    lens.settle()
    assert lens.sent("completion/complete") == []


def test_invalid_template_is_reported_and_can_still_be_read(lens: Lens) -> None:
    panel = open_resources(
        lens, resource_server(templates=[{"uriTemplate": "x://{a b}/{ok}", "name": "odd"}])
    )
    go_to_template(panel, 0)
    assert "“{a b}” is not a valid RFC 6570 expression" in visible_text(panel.head)
    panel.head.form.rows["ok"].set_text("yes")
    assert panel.head.uri == "x://{a b}/yes"

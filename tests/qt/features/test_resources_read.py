"""resources/read: every content type, errors, and returning to earlier results."""

from __future__ import annotations

import base64
import socket

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QDesktopServices, QTextFormat
from PySide6.QtTest import QTest

from inspector.config.servers.entries import StdioEntry
from inspector.demo.everything.resources import png, wav
from inspector.engine.views import OutcomeKind
from inspector.qt.views.content_view import ContentForm
from tests.qt.features.feature_stage import open_resources
from tests.qt.features.resources_stage import RESOURCE_LIST, go_to, read, resource_server
from tests.qt.lens_driver import TIMEOUT, Lens, visible_text

MARKDOWN = (
    "# Title\n\nSome **bold** words ![cat](file:///etc/passwd) <img src=x> [here](https://evil.example)"
)
KINDS: dict[str, tuple[dict[str, str], ContentForm]] = {
    "x://text": ({"text": "plain <b>words</b>"}, ContentForm.TEXT),
    "x://markdown": ({"text": MARKDOWN, "mimeType": "text/markdown"}, ContentForm.RENDERED),
    "x://json": ({"text": '{"a":[1,2]}', "mimeType": "application/json"}, ContentForm.PRETTY),
    "x://csv": ({"text": "a,b\n1,2\n", "mimeType": "text/csv"}, ContentForm.TABLE),
    "x://picture": ({"blob": base64.b64encode(png()).decode(), "mimeType": "image/png"}, ContentForm.IMAGE),
    "x://sound": ({"blob": base64.b64encode(wav()).decode(), "mimeType": "audio/wav"}, ContentForm.AUDIO),
    "x://bytes": ({"blob": base64.b64encode(b"\x00\xffABC").decode()}, ContentForm.BYTES),
}


def kinds() -> StdioEntry:
    resources = [{"uri": uri, "name": uri} for uri in KINDS]
    contents = {uri: [{"uri": uri, **content}] for uri, (content, _) in KINDS.items()}
    return resource_server(resources=resources, contents=contents)


def test_each_content_type_has_its_own_view(lens: Lens) -> None:
    panel = open_resources(lens, kinds())
    view = panel.contents.content
    for uri, (_, form) in KINDS.items():
        reading = read(lens, panel, uri)
        assert reading.outcome.kind is OutcomeKind.RESULT
        assert view.form() is form, uri
        assert view.save_action.isEnabled()
    assert "41 42 43" in view.text.shown_text(), "a hex dump"
    read(lens, panel, "x://json")
    assert view.text.shown_text() == '{\n  "a": [\n    1,\n    2\n  ]\n}'
    view.forms.button(ContentForm.TEXT).click()
    assert view.text.shown_text() == '{"a":[1,2]}'
    read(lens, panel, "x://sound")
    assert "Save the audio to play it." in visible_text(view)


def test_markdown_loads_nothing_and_has_no_clickable_links(lens: Lens) -> None:
    """T17: a rendered document loads local files or URLs."""
    panel = open_resources(lens, kinds())
    read(lens, panel, "x://markdown")
    view = panel.contents.content._markdown
    assert view is not None
    lens.until(lambda: not view.is_filling)
    text = view.page.toPlainText()
    assert text.startswith("Title\nSome bold words [image: cat] (file:///etc/passwd) <img src=x> here")
    assert "(https://evil.example)" in text, "the link target is shown as text"
    for form in view.page.document().allFormats():
        assert form.objectType() != QTextFormat.ObjectTypes.ImageObject.value
        assert not form.toCharFormat().isAnchor()


def test_html_is_shown_as_source_and_loads_nothing(lens: Lens) -> None:
    """T30: an HTML resource must not run scripts or load anything."""
    with socket.create_server(("127.0.0.1", 0)) as tracker:
        tracker.setblocking(False)
        url = f"http://127.0.0.1:{tracker.getsockname()[1]}/x.png"
        html = f"<script src='{url}'></script><img src='{url}'><b>bold</b>"
        content = {"uri": "ui://page", "text": html, "mimeType": "text/html;profile=mcp-app"}
        server = resource_server(
            resources=[{"uri": "ui://page", "name": "page"}], contents={"ui://page": [content]}
        )
        panel = open_resources(lens, server)
        read(lens, panel, "ui://page")
        view = panel.contents.content
        assert view.form() is ContentForm.TEXT
        assert view.text.shown_text() == html
        lens.window.grab()
        with pytest.raises(BlockingIOError):
            tracker.accept()


def test_local_file_uri_is_read_by_the_server_and_never_opened(
    lens: Lens, monkeypatch: pytest.MonkeyPatch
) -> None:
    """T29: a click on a resource of the server must not open a local file or program."""
    opened: list[object] = []
    monkeypatch.setattr(QDesktopServices, "openUrl", opened.append)
    uri = "file:///etc/passwd"
    server = resource_server(
        resources=[{"uri": uri, "name": "passwd"}], contents={uri: [{"uri": uri, "text": "from the server"}]}
    )
    panel = open_resources(lens, server)
    read(lens, panel, uri)
    assert panel.contents.content.text.shown_text() == "from the server"
    assert opened == []


def test_parts_of_one_result_can_be_viewed_one_by_one(lens: Lens) -> None:
    parts = [{"uri": "x://a", "text": "first"}, {"uri": "x://b", "text": "second"}, {"uri": "x://c"}]
    panel = open_resources(lens, resource_server(resources=RESOURCE_LIST, contents={"counter://many": parts}))
    panel.open_uri("counter://many")
    lens.until(lambda: panel.contents.result is not None)
    assert panel.contents.parts.count() == 3
    assert panel.contents.content.text.shown_text() == "first"
    panel.contents.parts.setCurrentIndex(1)
    assert panel.contents.content.text.shown_text() == "second"
    panel.contents.parts.setCurrentIndex(2)
    assert "neither a “text” nor a “blob”" in visible_text(panel.contents)


def test_error_is_shown_with_the_server_message_and_the_raw_message(lens: Lens) -> None:
    panel = open_resources(lens, resource_server())
    reading = read(lens, panel, "file:///home/ada/notes.md")
    assert reading.outcome.kind is OutcomeKind.RPC_ERROR
    assert "-32002 (resource not found): Resource not found" in visible_text(panel.contents)
    assert '"code": -32002' in panel.contents.message.shown_text()


def test_read_can_be_cancelled_and_the_server_is_notified(lens: Lens) -> None:
    panel = open_resources(lens, resource_server(resources=[{"uri": "do://wait", "name": "waits"}]))
    lens.do("resource.read")
    lens.until(lambda: lens.sent("resources/read"))
    assert "Waiting for do://wait." in visible_text(panel)
    assert not lens.actions["resource.read"].isEnabled()
    lens.press("Cancel", panel)
    lens.until(lambda: "Cancelled" in visible_text(panel))
    lens.until(lambda: lens.sent("notifications/cancelled"))
    assert lens.actions["resource.read"].isEnabled()


def test_read_cancelled_before_it_starts_finishes(lens: Lens) -> None:
    panel = open_resources(lens, resource_server())
    panel.read()
    panel.runner.cancel()
    lens.until(lambda: "Cancelled" in visible_text(panel))
    assert lens.actions["resource.read"].isEnabled()


def test_return_reads_and_control_return_does_not_call_a_tool(lens: Lens) -> None:
    panel = open_resources(lens, resource_server())
    lens.window.activateWindow()
    go_to(panel, "counter://it")
    panel.lists.list.setFocus()
    with lens.bot.waitSignal(panel.contents.shown, timeout=TIMEOUT):
        QTest.keyClick(panel.lists.list, Qt.Key.Key_Return)
    panel.lists.search.setFocus()
    with lens.bot.waitSignal(panel.contents.shown, timeout=TIMEOUT):
        QTest.keyClick(panel.lists.search, Qt.Key.Key_Return, Qt.KeyboardModifier.ControlModifier)
    assert lens.sent("resources/read") == [{"uri": "counter://it"}] * 2
    assert lens.workspace.tabs.currentWidget().isAncestorOf(panel)


def test_content_is_restored_on_return(lens: Lens) -> None:
    panel = open_resources(lens, kinds())
    read(lens, panel, "x://text")
    go_to(panel, "x://json")
    assert "Not read yet" in visible_text(panel.contents)
    go_to(panel, "x://text")
    assert panel.contents.content.text.shown_text() == "plain <b>words</b>"
    assert len(lens.sent("resources/read")) == 1

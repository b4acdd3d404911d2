"""States of HTTP servers in the window: a lost stream, an unknown version, a rejected header."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager

from inspector.config.servers.entries import HttpEntry
from inspector.engine.views import ServerStatus
from inspector.qt.dialogs.servers.edit_server import EditServerDialog
from inspector.qt.window.tabs import OVERVIEW
from tests.helpers import httpfaults as faults
from tests.helpers.httpfaults import Call, Fault, FaultServer
from tests.qt.lens_driver import Lens, visible_text


@contextmanager
def http_server(lens: Lens, **orders: Fault) -> Iterator[FaultServer]:
    """Run a server on the engine's loop, with an order for each key."""
    server = FaultServer()
    for key, fault in orders.items():
        server.order(key, fault)
    lens.ask(lambda engine: server.__aenter__())
    try:
        yield server
    finally:
        lens.ask(lambda engine: server.stop())


def add(lens: Lens, server: FaultServer, **headers: str) -> None:
    lens.keep(HttpEntry(name="web", url=server.url(), era="2025-11-25", type="http", headers=headers))
    lens.choose("web")
    lens.do("server.connect")


def test_lost_stream_of_server_messages_has_a_button_that_reopens_it(lens: Lens) -> None:
    with http_server(lens, GET=faults.replies(500)) as server:
        add(lens, server)
        lens.until(lambda: lens.view("web").stream_problem)
        assert lens.view("web").status is ServerStatus.CONNECTED
        lens.settle()
        text = lens.workspace.strips.text("stream")
        assert text.startswith("Server messages are not received: ")
        assert "HTTP 500" in text
        assert "connected; server messages are not received" in visible_text(lens.workspace.panel(OVERVIEW))
        server.order("GET", faults.replies(503))
        lens.press("Reconnect stream", lens.workspace.strips)
        lens.until(lambda: "HTTP 503" in lens.window.notices.text())
        assert lens.window.notices.text().startswith("Could not reconnect the stream of web: ")
        enough = asyncio.Event()
        server.order("GET", faults.held(enough))
        lens.press("Reconnect stream", lens.workspace.strips)
        lens.until(lambda: not lens.workspace.strips.text("stream"))
        assert not lens.actions["server.reopen_stream"].isEnabled()
        assert "server messages" not in visible_text(lens.workspace.panel(OVERVIEW))


def drafts(call: Call) -> bytes:
    info = {"name": "f", "version": "1"}
    return call.response(result={"protocolVersion": "DRAFT-2027", "capabilities": {}, "serverInfo": info})


def test_unknown_protocol_version_has_a_button_that_continues_and_is_remembered(lens: Lens) -> None:
    with http_server(lens, initialize=faults.replies_with(drafts)) as server:
        server.order("initialize", *[faults.replies_with(drafts)] * 4)  # Doctor asks as well
        add(lens, server)
        lens.wait_for("web", ServerStatus.FAILED)
        lens.settle()
        assert "DRAFT-2027" in visible_text(lens.workspace.panel(OVERVIEW))
        lens.press("Continue as 2025-11-25", lens.workspace.panel(OVERVIEW))
        lens.wait_for("web", ServerStatus.CONNECTED)
        lens.settle()
        text = visible_text(lens.workspace.panel(OVERVIEW))
        assert "which MCP Lens does not support. MCP Lens continues as 2025-11-25, as you chose." in text
    assert '"continueAs": "2025-11-25"' in lens.server_list.read_text()


def test_rejected_header_fails_with_the_reason_of_the_server(lens: Lens) -> None:
    body = b'{"error": "invalid_token", "error_description": "expired key k-123456"}'
    refuses = faults.replies(401, body, faults.JSON_TYPE)
    with http_server(lens, initialize=refuses) as server:
        server.order("initialize", *[refuses] * 4)  # Doctor asks as well
        add(lens, server, Authorization="Bearer k-123456")
        view = lens.wait_for("web", ServerStatus.FAILED)
        lens.settle()
        assert (
            view.reason == "The server rejected your Authorization header: expired key ••• (invalid_token)."
        )
        text = visible_text(lens.workspace.panel(OVERVIEW))
        assert view.reason in text
        assert "Set a new value in Edit server… ▸ Headers" in text
        lens.press("Edit server…", lens.workspace.panel(OVERVIEW))
        lens.dialog(EditServerDialog).close()

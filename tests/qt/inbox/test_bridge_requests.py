"""Inbox requests cross from the engine thread to the window, and replies back."""

from __future__ import annotations

import sys

import pytest

from inspector.base.errors import UserError
from inspector.config.servers.entries import StdioEntry
from inspector.engine.calls.tool_calls import ToolCall
from inspector.engine.inbox.views import InboxRequest, Reply
from inspector.protocol.server_requests.request import RequestEnd
from tests.qt.lens_driver import Lens

ACCEPT = Reply(result={"action": "accept", "content": {"name": "Ada"}})


@pytest.mark.parametrize("era", ["2025-11-25", "2026-07-28"])
def test_request_reaches_the_window_and_its_reply_goes_back(lens: Lens, era: str) -> None:
    bridge, seen = lens.app.bridge, list[InboxRequest]()
    bridge.inbox_changed.connect(seen.append)
    args = ("-m", "inspector.demo", "everything")
    entry = StdioEntry(name="demo", command=sys.executable, args=args, era=era)
    lens.ask(lambda engine: engine.servers.add(entry))
    lens.ask(lambda engine: engine.servers.connector.connect_soon("demo"))
    lens.until(lambda: lens.ask(lambda engine: engine.servers.get("demo").view).negotiated is not None)
    call = bridge.start(
        "call", bridge.ask(lambda engine: engine.tool_caller.call("demo", ToolCall("elicit_form", {})))
    )
    lens.until(lambda: seen)
    (inbox_request,) = seen
    assert lens.ask(lambda engine: engine.inbox.inbox_requests()) == (inbox_request,)
    key = inbox_request.input_requests[0].key
    lens.ask(lambda engine: engine.inbox.reply(inbox_request.id, key, ACCEPT))
    lens.until(lambda: call.done() and len(seen) == 2)
    assert (seen[-1].id, seen[-1].end) == (inbox_request.id, RequestEnd.ANSWERED)
    assert lens.ask(lambda engine: engine.inbox.past()) == (seen[-1],)
    with pytest.raises(UserError, match="no longer pending"):
        lens.ask(lambda engine: engine.inbox.reply(inbox_request.id, key, ACCEPT))

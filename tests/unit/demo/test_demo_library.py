"""The `library` server: long lists in pages."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.unit.demo.demo_client import DemoProcess


@pytest.fixture(scope="module")
def library() -> Iterator[DemoProcess]:
    with DemoProcess("library") as server:
        server.initialize()
        yield server


def test_250_tools_come_in_five_pages(library: DemoProcess) -> None:
    pages = library.pages("tools/list", "tools")
    assert [len(page) for page in pages] == [50] * 5
    assert len({tool["name"] for page in pages for tool in page}) == 250


def test_some_names_and_descriptions_are_very_long_and_schemas_vary(library: DemoProcess) -> None:
    tools = [tool for page in library.pages("tools/list", "tools") for tool in page]
    assert max(len(tool["name"]) for tool in tools) == 128
    assert max(len(tool["description"]) for tool in tools) > 2000
    assert len({str(tool["inputSchema"]) for tool in tools}) == 10


def test_any_tool_can_be_called(library: DemoProcess) -> None:
    assert library.call_text("get_invoice", id="i-7") == 'get_invoice was called with {"id": "i-7"}'


def test_120_resources_come_in_three_pages_and_can_be_read(library: DemoProcess) -> None:
    pages = library.pages("resources/list", "resources")
    assert [len(page) for page in pages] == [50, 50, 20]
    last = library.request("resources/read", {"uri": pages[-1][-1]["uri"]})
    assert last["contents"][0]["text"] == "Book 119, page 1."


@pytest.mark.parametrize("cursor", ["", "nonsense", "ZnJvbTp4"])
def test_cursor_that_was_never_issued_is_rejected(library: DemoProcess, cursor: str) -> None:
    assert library.error("tools/list", {"cursor": cursor})["code"] == -32602


def test_unknown_resource_is_refused(library: DemoProcess) -> None:
    assert library.error("resources/read", {"uri": "library://shelf/99"})["code"] == -32002

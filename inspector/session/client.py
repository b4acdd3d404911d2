"""Typed calls on a session: lists with all their pages, tools. Nothing is called that was not offered."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from typing import TypeVar

from inspector.base.errors import ConnectionLost, NotOffered, RemoteProtocolError, RpcError
from inspector.base.jsonvalue import JSON, JSONObject, JSONProblem, excerpt
from inspector.protocol.jsonrpc import Kind, Message, error_of
from inspector.protocol.methods import missing_capability
from inspector.protocol.types import Listing, Malformed, Prompt, Resource, Tool, read_items
from inspector.session.session import Session
from inspector.session.waiting import Exchange, OnProgress

Item = TypeVar("Item")


class Client:
    """What a person can ask of one connected server."""

    def __init__(self, session: Session, most_pages: int) -> None:
        self._session = session
        self._most_pages = most_pages

    async def list_tools(self) -> Listing[Tool]:
        return await self._list("tools/list", "tools", Tool.read)

    async def list_resources(self) -> Listing[Resource]:
        return await self._list("resources/list", "resources", Resource.read)

    async def list_prompts(self) -> Listing[Prompt]:
        return await self._list("prompts/list", "prompts", Prompt.read)

    async def call_tool(
        self,
        name: str,
        arguments: JSONObject,
        *,
        timeout: float | None = None,
        on_progress: OnProgress | None = None,
    ) -> Exchange:
        """Call a tool; gives the answer as it came, a result or an error."""
        self._require("tools/call")
        params: JSONObject = {"name": name, "arguments": arguments}
        return await self._session.request("tools/call", params, timeout=timeout, on_progress=on_progress)

    # --------------------------------------------------------------

    async def _list(self, method: str, member: str, read: Callable[[JSONObject], Item]) -> Listing[Item]:
        items: list[Item] = []
        malformed: list[Malformed] = []
        pages = 0
        async for page in self._pages(method):
            good, bad = read_items(page.get(member), read)
            items += good
            malformed += bad
            pages += 1
        return Listing(tuple(items), tuple(malformed), pages)

    async def _pages(self, method: str) -> AsyncIterator[JSONObject]:
        """Every page. Cursors are opaque, and an empty one is one: only absence ends the list."""
        self._require(method)
        cursor: JSON = None
        seen: set[str] = set()
        for _ in range(self._most_pages):
            params: JSONObject | None = None if cursor is None else {"cursor": cursor}
            page = result_of((await self._session.request(method, params)).answer)
            yield page
            cursor = page.get("nextCursor")
            if cursor is None:
                return
            if not isinstance(cursor, str):
                raise RemoteProtocolError(f"{method} gives a cursor that is no string: {excerpt(cursor)}")
            if cursor in seen:
                raise RemoteProtocolError(
                    f"{method} gives the cursor {excerpt(cursor)!r} again and again; the list has no end"
                )
            seen.add(cursor)
        raise RemoteProtocolError(f"{method} has more than {self._most_pages:,} pages")

    def _require(self, method: str) -> None:
        agreement = self._session.state.agreement
        if agreement is None:
            raise ConnectionLost("The server is not connected.", "Connect first.")
        missing = missing_capability(method, agreement.capabilities, agreement.revision)
        if missing:
            raise NotOffered(
                f"The server does not offer {method}: it did not declare the capability “{missing}”.",
                "Nothing was sent.",
            )


def result_of(answer: Message) -> JSONObject:
    """The result of an answer. Raises RpcError for an error, RemoteProtocolError for what cannot be read."""
    try:
        if answer.kind is Kind.ERROR:
            error = error_of(answer)
            raise RpcError(error.code, error.message, error.data)
        return answer.result
    except JSONProblem as exc:
        raise RemoteProtocolError(f"the answer cannot be read: {exc}") from exc

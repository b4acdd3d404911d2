"""Paginated lists, fetched to the last page or the page limit."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from typing import TypeVar

from inspector.base.errors import RemoteProtocolError
from inspector.base.json.values import JSON, JSONObject, excerpt
from inspector.protocol.types import CacheHints, Listing, Malformed, read_items
from inspector.session.input_rounds import result_of
from inspector.session.session import Session

Item = TypeVar("Item")


async def list_all(
    session: Session, method: str, member: str, read: Callable[[JSONObject], Item], max_pages: int
) -> Listing[Item]:
    """List all pages; malformed items are collected separately, the others are used."""
    items: list[Item] = []
    malformed: list[Malformed] = []
    pages = 0
    cache: CacheHints | None = None
    async for page in _pages(session, method, max_pages):
        if not pages and "ttlMs" in page:
            cache = CacheHints.read(page)
        good, bad = read_items(page.get(member), read)
        items += good
        malformed += bad
        pages += 1
    return Listing(tuple(items), tuple(malformed), pages, cache)


async def _pages(session: Session, method: str, max_pages: int) -> AsyncIterator[JSONObject]:
    """Yield the pages of a list.

    Cursors are opaque, and an empty string is one: only absence ends the list.
    """
    cursor: JSON = None
    seen: set[str] = set()
    for _ in range(max_pages):
        params: JSONObject | None = None if cursor is None else {"cursor": cursor}
        page = result_of((await session.request(method, params)).response)
        yield page
        cursor = page.get("nextCursor")
        if cursor is None:
            return
        if not isinstance(cursor, str):
            raise RemoteProtocolError(f"{method} returned a cursor that is not a string: {excerpt(cursor)}")
        if cursor in seen:
            raise RemoteProtocolError(
                f"{method} returned the cursor {excerpt(cursor)!r} repeatedly; the list never ends"
            )
        seen.add(cursor)
    raise RemoteProtocolError(f"{method} has more than {max_pages:,} pages")

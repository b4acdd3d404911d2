"""Paginated lists, fetched to the last page or the page limit.

What arrived is kept: if a later page cannot be fetched, the list is incomplete and says why. An item that
cannot be parsed (nested too deeply, say) does not hide the others of its page.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import aclosing
from itertools import islice
from typing import TypeVar

from inspector.base.errors import LensError, RemoteProtocolError, UserError
from inspector.base.json.scanner import item_texts, scalar_members
from inspector.base.json.values import (
    JSON,
    JSONError,
    JSONObject,
    excerpt,
    parse,
    quote_value,
    shorten,
)
from inspector.base.plain_text import one_line
from inspector.protocol.jsonrpc import INVALID_PARAMS, Kind, Message, RpcError, with_exact_numbers
from inspector.protocol.types import CacheHints, Listing, Malformed, read_items
from inspector.session.input_rounds import result_of
from inspector.session.result_rules import repeated_names
from inspector.session.server_requests import with_parsed_body
from inspector.session.session import Session

Item = TypeVar("Item")

_FAULT = "This is a bug in the server. Its responses are in Traffic."
_EXCERPT = 1000  # characters of an unreadable item
_MAX_FINDINGS = 3  # per page


async def list_all(
    session: Session, method: str, member: str, read: Callable[[JSONObject], Item], max_pages: int
) -> Listing[Item]:
    """List all pages; malformed items are collected separately, the others are used.

    Raises LensError if no page arrived.
    """
    items: list[Item] = []
    malformed: list[Malformed] = []
    pages = 0
    cache: CacheHints | None = None
    incomplete = next_step = ""
    names: set[str] = set()
    try:
        async with aclosing(_pages(session, method, member, max_pages)) as arriving:
            async for page, unreadable, row in arriving:
                if not pages and "ttlMs" in page:
                    cache = CacheHints.read(page)
                good, bad = read_items(page.get(member), read)
                items += good
                malformed += (*bad, *unreadable)
                pages += 1
                for finding in islice(_repeated(member, page, names), _MAX_FINDINGS):
                    session.report(row, finding)
    except LensError as exc:
        if not pages:
            raise
        incomplete, next_step = _texts(method, pages, exc)
    return Listing(tuple(items), tuple(malformed), pages, cache, incomplete, next_step)


def _repeated(member: str, page: JSONObject, names: set[str]) -> Iterator[str]:
    items = page.get(member)
    if member not in ("tools", "prompts") or not isinstance(items, list):
        return
    found = (item.get("name") for item in items if isinstance(item, dict))
    yield from repeated_names(member.removesuffix("s"), found, names)


def _texts(method: str, pages: int, error: LensError) -> tuple[str, str]:
    """Return why a list is incomplete, and what to do."""
    if isinstance(error, _BadCursor):
        return error.summary, error.next_step
    if isinstance(error, UserError):
        return f"Page {pages + 1} of {method} failed: {error.summary}", error.next_step
    return f"Page {pages + 1} of {method} failed: {one_line(shorten(str(error), 300))}.", _FAULT


class _BadCursor(UserError):
    """The cursor of a page cannot be used."""


async def _pages(
    session: Session, method: str, member: str, max_pages: int
) -> AsyncGenerator[tuple[JSONObject, list[Malformed], int | None], None]:
    """Yield the pages of a list, each with its unreadable items and the row of its response.

    Cursors are opaque, and an empty string is one: only absence ends the list.
    """
    cursor: JSON = None
    seen: set[str] = set()
    before: JSONObject | None = None
    row: int | None = None
    for _ in range(max_pages):
        params: JSONObject | None = None if cursor is None else {"cursor": cursor}
        exchange = await session.request(method, params)
        row = exchange.response_row
        response = with_parsed_body(exchange.response)  # once
        try:
            page, unreadable = await _read_page(with_exact_numbers(response), member)
        except RpcError as exc:
            if cursor is not None and exc.code == INVALID_PARAMS:
                finding = f"the server rejects the cursor {quote_value(cursor)}, which it sent itself"
                session.report(row, finding)
            raise
        if exchange.response.parsed is None and response.parsed is not None:
            session.check(method, response, row)
        for item in unreadable[:_MAX_FINDINGS]:
            session.report(row, item.reason)
        cursor = page.get("nextCursor")
        is_repeated = isinstance(cursor, str) and cursor in seen
        if not is_repeated or page != before:  # a server that ignores cursors sends the same page again
            yield page, unreadable, row
        if cursor is None:
            return
        problem = ""
        if not isinstance(cursor, str):
            problem = f'"nextCursor" must be a string, not {one_line(excerpt(cursor))}'
        elif is_repeated:
            problem = f'"nextCursor" {quote_value(cursor)} was sent before: the list never ends'
        if problem or not isinstance(cursor, str):
            session.report(row, problem)
            raise _BadCursor(f"In the response to {method}, {problem}.", _FAULT)
        seen.add(cursor)
        before = page
    session.report(row, f"the list goes on after {max_pages:,} pages, the pagination limit")
    next_step = "If the list is that long, raise the pagination limit in Settings ▸ Connections."
    raise _BadCursor(f"{method} has more than {max_pages:,} pages.", next_step)


async def _read_page(response: Message, member: str) -> tuple[JSONObject, list[Malformed]]:
    """Return a page, and the items of it that cannot be parsed. Raises RpcError, RemoteProtocolError."""
    try:
        return result_of(response), []
    except RemoteProtocolError:
        if response.kind is not Kind.RESULT:
            raise
        try:
            # On a thread: it takes longer than parsing, and a page may have many megabytes.
            return await asyncio.to_thread(_read_items_apart, response.raw, member)
        except JSONError:
            pass
        raise


def _read_items_apart(raw: bytes, member: str) -> tuple[JSONObject, list[Malformed]]:
    """Parse each item of a page separately. Raises JSONError if that is not possible either."""
    text = raw.decode(errors="replace")
    page: JSONObject = dict(scalar_members(text, "result"))
    items: list[JSON] = []
    unreadable: list[Malformed] = []
    for item in item_texts(text, "result", member):
        try:
            items.append(parse(item, exact=True))
        except JSONError as exc:
            unreadable.append(Malformed(shorten(item, _EXCERPT), f"{_title(item)}{exc}"))
    if not items:
        raise JSONError("no item can be parsed")
    return page | {member: items}, unreadable


def _title(item: str) -> str:
    try:
        name = scalar_members(item).get("name")
    except JSONError:
        return ""
    return f"{quote_value(name)}: " if isinstance(name, str) else ""

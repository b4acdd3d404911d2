"""A request that is sent again: where the server says, as far as that is safe, and with another
authorization when it was refused for that. Each time is an exchange.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TypeAlias

from inspector.base.errors import HttpRefused
from inspector.base.jsonvalue import shorten
from inspector.base.plaintext import one_line
from inspector.base.redact import masked_url
from inspector.protocol.httprules import overlaid, redirect_target
from inspector.transport.base import Headers
from inspector.transport.exchange import NO_TAG, Exchange, Exchanges

_MOST_HOPS = 5

Take: TypeAlias = Callable[[Exchange], Awaitable[None]]


async def run_exchange(
    http: Exchanges,
    method: str,
    url: str,
    headers: Headers,
    take: Take,
    content: bytes = b"",
    tag: int = NO_TAG,
    operation: str = "",
) -> None:
    """Run an exchange, following redirects and retries; the last one is passed to `take`.

    `operation` is what the request does, for the authorization; without it, no new authorization is
    requested.
    """
    hops = 0
    asker = None
    if http.authorization is not None and not http.says_who_asks(headers):
        asker = http.authorization.begin(operation)
    while True:
        own = await asker.headers(method, url) if asker is not None else ()
        async with http.begin(method, url, overlaid(own, headers), content, tag) as exchange:
            if asker is not None:
                asker.answered(exchange.status, exchange.url, exchange.headers)
            is_refused = exchange.status in (401, 403) and asker is not None and bool(operation)
            if not is_refused and not 300 <= exchange.status < 400:
                await take(exchange)
                return
            exchange.keep(body := await exchange.read_body())
        if is_refused and asker is not None:
            # Outside the exchange: getting another authorization may wait for the user.
            if await asker.refused(exchange.status, exchange.headers, body):
                continue
            await take(exchange)
            return
        location = exchange.header("location")
        target = redirect_target(url, location, method, exchange.status)
        if target is None:
            raise _not_followed(exchange, location, body)
        hops += 1
        if hops > _MOST_HOPS:
            raise _in_circles(exchange, target, body)
        url = target


def _in_circles(exchange: Exchange, target: str, body: bytes) -> HttpRefused:
    return HttpRefused(
        f"The server redirects in circles: after {_MOST_HOPS} redirects it still says {masked_url(target)}.",
        "Check the URL, and the server's configuration.",
        exchange.status,
        body,
    )


def _not_followed(exchange: Exchange, location: str, body: bytes) -> HttpRefused:
    where = shorten(one_line(masked_url(location)), 200) or "nowhere"
    return HttpRefused(
        f"The server redirects to {where} (HTTP {exchange.status}); that is not followed.",
        "Only a redirect to the same origin that keeps the method is. If you trust it, use that URL.",
        exchange.status,
        body,
    )

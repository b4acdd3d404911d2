"""Asks an OpenAI-compatible service for the answer to a sampling question.

The service is the person's choice, the question is the server's: what comes back is bounded in time and size,
redirects are not followed (the key would go along), and the key appears in no error.
"""

from __future__ import annotations

import asyncio
from urllib.parse import urlsplit, urlunsplit

from inspector.base.clock import SystemClock
from inspector.base.errors import ConfigError, UserError
from inspector.base.jsonvalue import JSON, JSONObject, JSONProblem, parse, shorten, to_wire
from inspector.base.plaintext import one_line
from inspector.base.redact import MASK
from inspector.base.weblink import may_open, read_link
from inspector.config.answerrules import Endpoint
from inspector.protocol.chat import chat_request, read_chat_answer
from inspector.protocol.members import text_of
from inspector.protocol.sampling import SamplingAsked
from inspector.transport.base import Headers
from inspector.transport.exchange import Exchanges
from inspector.transport.network import Network

MOST_BYTES = 16 * 1024 * 1024
_PATH = "/chat/completions"
_SHOWN = 300  # characters of the service's error message


async def ask_endpoint(endpoint: Endpoint, key: str | None, asked: SamplingAsked) -> JSONObject:
    """Return a result for `sampling/createMessage`. Raises UserError with cause and next step."""
    url = chat_url(endpoint.url)
    headers = _headers(key)
    try:
        body = to_wire(chat_request(asked, endpoint.model, endpoint.extra))
    except ValueError as exc:
        raise UserError(f"The question cannot be put to the endpoint: {exc}.") from exc
    try:
        async with asyncio.timeout(endpoint.timeout):
            status, answer = await _post(url, headers, body)
    except TimeoutError:
        raise UserError(
            f"The endpoint did not answer within {endpoint.timeout:g} s.", "Give it more time."
        ) from None
    except UserError as exc:
        # Not chained: the library's message may contain a header.
        raise UserError(_without(key, exc.summary), _without(key, exc.next_step)) from None
    if status != 200:
        raise _refused(status, answer, key)
    return _read(answer, endpoint.model, key)


def chat_url(url: str) -> str:
    """Return the URL to post to: the given URL, with the path appended unless present.

    Raises ConfigError for an invalid URL.
    """
    given = url.strip()
    if not given:
        raise ConfigError("The rule has no address of an endpoint.", "Give one, such as https://host/v1.")
    link = read_link(given)
    if reason := may_open(link):
        raise ConfigError(f"The address of the endpoint cannot be used. {reason}", "Correct it in the rule.")
    if link.user:
        raise ConfigError(
            "The address of the endpoint holds a user name or a password.",
            "Take it out, and store the key with the rule.",
        )
    parts = urlsplit(link.encoded())
    path = parts.path.rstrip("/")
    full = path if path.endswith(_PATH) else path + _PATH
    return urlunsplit(parts._replace(path=full, fragment=""))


def _headers(key: str | None) -> Headers:
    headers: Headers = (("Content-Type", "application/json"), ("Accept", "application/json"))
    if not key:
        return headers
    given = key.strip()
    if not given.isascii() or not given.isprintable():
        raise ConfigError("The key of the endpoint holds characters that no key has.", "Store it again.")
    return (*headers, ("Authorization", f"Bearer {given}"))


async def _post(url: str, headers: Headers, body: bytes) -> tuple[int, bytes]:
    exchanges = Exchanges(url, Network(message_cap=MOST_BYTES), SystemClock(), _nobody)
    try:
        async with exchanges.begin("POST", url, headers, body) as exchange:
            return exchange.status, await exchange.read_body()
    finally:
        await exchanges.close()


def _nobody(event: object) -> None:
    """Record nothing: requests to the endpoint are not server traffic."""


def _refused(status: int, answer: bytes, key: str | None) -> UserError:
    said = _said(answer, key)
    what = f"The endpoint answered with HTTP status {status}{f': {said}' if said else ''}"
    if 300 <= status < 400:
        return UserError(f"{what}.", "It sends us elsewhere, and we do not follow: give the new address.")
    if status in (401, 403):
        return UserError(f"{what}.", "Check the key of the rule.")
    if status == 404:
        return UserError(f"{what}.", "Check the address and the model; many addresses end in /v1.")
    if status == 429:
        return UserError(f"{what}.", "It wants fewer questions, or there is no credit left.")
    return UserError(f"{what}.", "Check the rule, or look at the log of the endpoint.")


def _said(answer: bytes, key: str | None) -> str:
    """Return the error message, wherever the service puts it, else the start of the body."""
    text = answer[: 64 * 1024].decode(errors="replace")
    try:
        body: JSON = parse(text)
    except JSONProblem:
        return _short(text, key)
    error = body.get("error", body) if isinstance(body, dict) else body
    if isinstance(error, str):
        return _short(error, key)
    if not isinstance(error, dict):
        return ""
    words = next(filter(None, (text_of(error, name) for name in ("message", "detail"))), "")
    return _short(words, key)


def _short(text: str, key: str | None) -> str:
    """Mask the key, then shorten: part of a key could not be found any more."""
    return one_line(shorten(_without(key, text).strip(), _SHOWN)).rstrip(".")


def _read(answer: bytes, model: str, key: str | None) -> JSONObject:
    try:
        return read_chat_answer(parse(answer.decode()), model)
    except ValueError as exc:  # includes JSONProblem and UnicodeDecodeError
        raise UserError(
            f"The answer of the endpoint cannot be used: {_without(key, one_line(str(exc)))}.",
            "It must be an OpenAI-compatible chat completion: check the address.",
        ) from None


def _without(key: str | None, text: str) -> str:
    """Mask the key: services repeat it when it is wrong."""
    given = key.strip() if key else ""
    return text.replace(given, MASK) if given else text

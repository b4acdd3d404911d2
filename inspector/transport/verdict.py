"""What the body of an HTTP answer is to the message that was posted: its answer, a frame, or a refusal."""

from __future__ import annotations

from dataclasses import dataclass

from inspector.base.errors import HttpRefused, NeedsLogin, UserError
from inspector.base.jsonvalue import shorten
from inspector.base.plaintext import one_line
from inspector.protocol.httprules import Meaning, may_answer, meaning_of, refusal
from inspector.protocol.jsonrpc import Kind, Message, read
from inspector.transport.eventframes import is_answer


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a response body is.

    `is_frame`: it is to be recorded as a frame. `error`: why the message got no response.
    """

    is_frame: bool = False
    error: UserError | None = None


def judge(
    status: int, content_type: str, posted: Message, body: bytes, *, has_session: bool = False
) -> Verdict:
    """Judge a whole body. It takes precedence over the status, where the protocol says so."""
    meaning = meaning_of(status, posted, has_session=has_session)
    message = read(body) if body.strip() else None
    is_frame = message is not None and _is_message(message, content_type, status)
    if meaning is Meaning.ACCEPTED:
        return Verdict(is_frame)
    answered = message is not None and is_frame and is_answer(message, posted.id)
    if answered and posted.kind is Kind.REQUEST and may_answer(meaning, posted):
        return Verdict(True)
    if meaning in (Meaning.BODY, Meaning.UNANSWERED) and body.strip():
        return Verdict(is_frame, _not_the_answer(status, content_type, posted, message, body))
    return Verdict(is_frame, refusal(status, posted, body, has_session=has_session))


def _is_message(message: Message, content_type: str, status: int) -> bool:
    """True if a body is recorded as a frame.

    So is broken JSON where a message was required: the error must be visible.
    """
    if message.kind is Kind.INVALID:
        return content_type == "application/json" and status < 300
    return message.kind is not Kind.TEXT


def _not_the_answer(
    status: int, content_type: str, posted: Message, message: Message | None, body: bytes
) -> HttpRefused:
    assert message is not None
    what = f"The server answered {posted.method} with HTTP {status}"
    fault = "This is a fault of the server; the Traffic view has what it sent."
    if message.kind is Kind.INVALID:
        return HttpRefused(f"{what} and a body that is {message.problem}.", fault, status, body)
    if message.kind is not Kind.TEXT:
        wrong = f"id {message.id!r} instead of {posted.id!r}" if message.kind.is_answer else "no answer"
        return HttpRefused(f"{what} and a message that is not its answer ({wrong}).", fault, status, body)
    text = shorten(one_line(body[:600].decode(errors="replace")).strip(), 200)
    label = content_type or "something without a content type"
    return HttpRefused(
        f"{what} and {label} instead of a message: {text}",
        "Is this the URL of an MCP endpoint?",
        status,
        body,
    )


def no_stream(status: int, content_type: str, body: bytes, next_step: str) -> HttpRefused | NeedsLogin:
    """Return the error for a GET that did not open an event stream."""
    if status == 401:
        return NeedsLogin("The server wants a login (HTTP 401).", "Give the server an Authorization header.")
    what = f"HTTP {status}"
    if status < 300:
        what += f" and {content_type or 'no content type'}"
    summary = f"The server answered the GET for its event stream with {what}."
    return HttpRefused(summary, next_step, status, body)

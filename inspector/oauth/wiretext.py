"""Requests of a login and their answers as text, for reading beside the step that sent them."""

from __future__ import annotations

from collections.abc import Callable

from inspector.base.jsonvalue import JSONProblem, parse, pretty
from inspector.base.redact import MASK, is_secret_name, masked_url
from inspector.oauth.http import LoginRequest
from inspector.oauth.steps import HttpSeen
from inspector.protocol.httprules import Headers
from inspector.traffic.export.masking import masked_alone
from inspector.traffic.export.secrets import decoded, encoded

_LAID_OUT = 64 * 1024  # longer text is shown verbatim


class Plain:
    """Shows everything as it is, for users who asked for it."""

    def text(self, text: str) -> str:
        return text

    def url(self, url: str) -> str:
        return url

    def header(self, name: str, value: str) -> str:
        return value

    def body(self, raw: bytes) -> bytes:
        return raw


class Masked:
    """Masks recognizable secrets: screens are shared."""

    def text(self, text: str) -> str:
        return decoded(masked_alone(encoded(text)))

    def url(self, url: str) -> str:
        return self.text(masked_url(url))

    def header(self, name: str, value: str) -> str:
        return MASK if is_secret_name(name) else self.text(value)

    def body(self, raw: bytes) -> bytes:
        return masked_alone(raw)


def request_text(request: LoginRequest, look: Plain | Masked) -> str:
    """Return the request as sent."""
    head = f"{request.method} {look.url(request.url)}"
    return _joined(head, request.headers, request.body, look)


def reply_text(seen: HttpSeen, look: Plain | Masked) -> str:
    """Return the response with JSON indented, or why there is none."""
    if not seen.status:
        return look.text(seen.failure) if seen.failure else "No answer yet."
    lines = [f"redirected to {look.url(url)}" for url in seen.redirects]
    lines += seen.peer.lines() if seen.peer is not None else ()
    head = "\n".join([*lines, f"HTTP {seen.status}"])
    text = _joined(head, seen.headers, seen.body, look)
    return f"{text}\n\n{look.text(seen.failure)}" if seen.failure else text


def holds_secrets(request: LoginRequest, seen: HttpSeen | None = None) -> bool:
    """True if masking would hide anything."""
    if request_text(request, Plain()) != request_text(request, Masked()):
        return True
    return seen is not None and reply_text(seen, Plain()) != reply_text(seen, Masked())


def _joined(head: str, headers: Headers, body: bytes, look: Plain | Masked) -> str:
    lines = [head, *(f"{name}: {look.header(name, value)}" for name, value in headers)]
    if body:
        lines += ["", _body_text(body, look.body)]
    return "\n".join(lines)


def _body_text(body: bytes, mask: Callable[[bytes], bytes]) -> str:
    """Mask before indenting: that would separate a secret from its name."""
    text = mask(body).decode(errors="replace")
    if len(text) > _LAID_OUT or text[:1] not in "{[":
        return text
    try:
        return pretty(parse(text))
    except (JSONProblem, RecursionError):
        return text

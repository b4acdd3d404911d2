"""HTTP exchanges as JSON and back, for captures. The body goes beside it, as the bytes it is."""

from __future__ import annotations

from inspector.base.jsonvalue import JSON
from inspector.traffic.records import HttpExchange

_MEMBERS = tuple(name for name in HttpExchange.__dataclass_fields__ if name != "body")
_BIGGEST = 2**63 - 1

Headers = tuple[tuple[str, str], ...]


def to_json(exchange: HttpExchange) -> dict[str, object]:
    return {name: getattr(exchange, name) for name in _MEMBERS}


def from_json(value: JSON, body: bytes) -> HttpExchange | None:
    """Parse an exchange; None if the value is not an object. Invalid members are left out."""
    if not isinstance(value, dict):
        return None
    get = value.get
    return HttpExchange(
        method=_text(get("method")),
        url=_text(get("url")),
        request_headers=_headers(get("request_headers")),
        request_size=_number(get("request_size")) or 0,
        status=_number(get("status")),
        http_version=_text(get("http_version")),
        response_headers=_headers(get("response_headers")),
        response_size=_number(get("response_size")) or 0,
        dns_ns=_number(get("dns_ns")),
        connect_ns=_number(get("connect_ns")),
        tls_ns=_number(get("tls_ns")),
        first_byte_ns=_number(get("first_byte_ns")),
        total_ns=_number(get("total_ns")),
        error=_text(get("error")),
        body=body,
        is_over=get("is_over") is True,
    )


def _text(value: JSON) -> str:
    return value if isinstance(value, str) else ""


def _number(value: JSON) -> int | None:
    return value if type(value) is int and 0 <= value <= _BIGGEST else None


def _headers(value: JSON) -> Headers:
    pairs = value if isinstance(value, list) else []
    return tuple(
        (_text(pair[0]), _text(pair[1])) for pair in pairs if isinstance(pair, list) and len(pair) == 2
    )

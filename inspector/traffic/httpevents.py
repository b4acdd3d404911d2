"""What is reported of HTTP exchanges, put into the log."""

from __future__ import annotations

from inspector.base.httpevents import HttpAnswered, HttpEnded, HttpRequested, SseReceived
from inspector.traffic.eventwords import comment_text, event_text
from inspector.traffic.recorder import Recorder
from inspector.traffic.records import HttpExchange


def record_http(recorder: Recorder, event: object) -> None:
    """Record an event of an HTTP exchange; ignore any other event."""
    match event:
        case HttpRequested():
            exchange = HttpExchange(event.method, event.url, event.headers, event.size)
            wall = recorder.wall_of(event.at)
            recorder.http.requested(event.exchange, exchange, event.at, wall, event.tag)
        case HttpAnswered():
            recorder.http.update(
                event.exchange,
                status=event.status,
                http_version=event.http_version,
                response_headers=event.headers,
            )
        case HttpEnded():
            _record_end(recorder, event)
        case SseReceived():
            recorder.http.event(event.exchange, _event_text(event), event.at, recorder.wall_of(event.at))


def _record_end(recorder: Recorder, event: HttpEnded) -> None:
    timings = event.timings
    recorder.http.update(
        event.exchange,
        response_size=event.size,
        dns_ns=timings.dns,
        connect_ns=timings.connect,
        tls_ns=timings.tls,
        first_byte_ns=timings.first_byte,
        total_ns=timings.total,
        error=event.error,
        body=event.body,
        is_over=True,
    )


def _event_text(event: SseReceived) -> str:
    if not event.event:
        return comment_text(event.comment)
    return event_text(event.event, event.id, event.retry_ms, event.data, event.size)

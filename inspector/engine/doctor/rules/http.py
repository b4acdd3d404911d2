"""Diagnoses of HTTP: responses that are not MCP messages, and missing responses."""

from __future__ import annotations

import re
import ssl
from dataclasses import dataclass
from typing import Literal
from urllib.parse import urljoin, urlsplit

from inspector.base.errors import ConfigError, FailureKind
from inspector.base.json.values import JSONError, parse, shorten
from inspector.base.plain_text import one_line
from inspector.base.redaction import masked_url
from inspector.engine.doctor.probe_session import ObservedHttp, ObservedTraffic
from inspector.engine.doctor.results import Action, ActionKind, Diagnosis
from inspector.engine.doctor.rules.network import diagnose_alert, not_http, use_url, with_parts
from inspector.protocol.http_rules import retry_text
from inspector.transport.network import causes_of

MESSAGE_TYPES = ("application/json", "text/event-stream")


@dataclass(frozen=True, slots=True)
class AlternativeEndpoint:
    """Another URL on the same host that works; `type` as in an entry."""

    url: str
    type: Literal["http", "sse"]


def _body_text(http: ObservedHttp) -> str:
    return shorten(one_line(http.body[:600].decode(errors="replace")).strip(), 200)


def evidence_of(http: ObservedHttp) -> tuple[str, ...]:
    what = f"{http.method} {masked_url(http.url)}: HTTP {http.status}"
    label = f", {http.content_type}" if http.content_type else ""
    reported = _body_text(http)
    return (what + label, *((reported,) if reported else ()))


_NEEDS_HTTPS = re.compile(
    r"plain HTTP request was sent to HTTPS|HTTP request to an HTTPS server", re.IGNORECASE
)
_HOST = re.compile(r"\bhost\b|origin|rebinding|misdirected", re.IGNORECASE)
_GATEWAY = {
    502: "got no valid response from it",
    503: "reports that the service is unavailable",
    504: "timed out waiting for it",
}


def diagnose_response(
    traffic: ObservedTraffic, url: str, alternative: AlternativeEndpoint | None, type: str = "auto"
) -> Diagnosis:
    """Diagnose an HTTP response that is not a message; for 401 see `diagnose_login`."""
    http = traffic.decisive_exchange
    assert http is not None
    found = _by_alternative(http, url, alternative, type) or _by_status(http, url) or _by_body(traffic, http)
    return found or Diagnosis(
        "refused",
        "http",
        f"The server returned HTTP {http.status} to the first request.",
        "Check its response and its log.",
        evidence_of(http),
    )


def _by_alternative(
    http: ObservedHttp, url: str, alternative: AlternativeEndpoint | None, type: str
) -> Diagnosis | None:
    if alternative is None:
        return None
    better = masked_url(alternative.url)
    if alternative.type == "sse":
        where = "" if alternative.url == url else f" at {urlsplit(alternative.url).path}"
        return Diagnosis(
            "old-sse",
            "http",
            f"The server returned {http.status} to {http.method}: this is the old HTTP+SSE transport{where}.",
            f"Use HTTP+SSE with {better}, or better, update the server: that transport is deprecated.",
            evidence_of(http),
            Action(ActionKind.USE_SSE, f"Use HTTP+SSE at {better}", alternative.url),
        )
    if alternative.url == url:
        return Diagnosis(
            "is-streamable",
            "http",
            "The server is configured as HTTP+SSE, but uses Streamable HTTP.",
            "Use Streamable HTTP (“http”).",
            evidence_of(http),
            Action(ActionKind.USE_HTTP, "Use Streamable HTTP", url),
        )
    return Diagnosis(
        "wrong-path",
        "http",
        f"No MCP endpoint at {urlsplit(url).path or '/'}, but there is one at "
        f"{urlsplit(alternative.url).path}.",
        f"Use {better}.",
        evidence_of(http),
        use_url(alternative.url),
    )


def diagnose_host(http: ObservedHttp, url: str, message: str = "") -> Diagnosis | None:
    """Diagnose a rejected Host header. `message` is the server's JSON-RPC error, if any."""
    if http.status != 421 and not (http.status in (400, 403) and _HOST.search(message or _body_text(http))):
        return None
    return Diagnosis(
        "host-refused",
        "http",
        f"The server does not accept the host name {urlsplit(url).netloc}: it rejects unknown hosts "
        "and origins.",
        "Use the name it expects (usually localhost or 127.0.0.1), or allow this one in its settings.",
        (*evidence_of(http), *((message,) if message else ())),
    )


def _by_status(http: ObservedHttp, url: str) -> Diagnosis | None:
    status, evidence, host = http.status, evidence_of(http), urlsplit(url).netloc
    if 300 <= status < 400:
        return _redirected(http, url)
    if status == 400 and _NEEDS_HTTPS.search(_body_text(http)):
        use_https = use_url(with_parts(url, scheme="https"))
        return Diagnosis(
            "needs-https",
            "http",
            f"{host} requires TLS on this port.",
            "Use https:// instead.",
            evidence,
            use_https,
        )
    if (refused := diagnose_host(http, url)) is not None:
        return refused
    if status in _GATEWAY:
        return Diagnosis(
            "gateway",
            "http",
            f"A proxy in front of the server {_GATEWAY[status]} (HTTP {status}).",
            "Check that the server itself is running.",
            evidence,
        )
    known = _STATUSES.get(status) or (_SERVER_ERROR if status >= 500 else None)
    if known is None:
        return None
    id, cause, fix = known
    retry = retry_text(http.header("retry-after"))
    cause = " ".join(filter(None, (cause.replace("{status}", str(status)), retry)))
    return Diagnosis(id, "http", cause, fix, evidence)


_SERVER_ERROR = (
    "server-error",
    "The server failed on the first request (HTTP {status}).",
    "This is a server bug. Check the server's log.",
)
_STATUSES = {
    400: (
        "bad-request",
        "The server rejects the first request (HTTP 400), in session and in stateless mode.",
        "Check its response. If it requires a session ID right away, a proxy in between is misconfigured.",
    ),
    403: (
        "forbidden",
        "The server understood the request but refuses it (HTTP 403).",
        (
            "Check the configured credentials (is an API key missing?) and whether your account may use "
            "this server."
        ),
    ),
    404: (
        "not-found",
        "Not found at this path (HTTP 404), nor at /mcp or /sse.",
        "Look up the path of the MCP endpoint in the server's documentation.",
    ),
    405: (
        "no-post",
        "POST is not allowed at this path (HTTP 405), and there is no event stream either.",
        (
            "This is not the MCP endpoint, and there is none at /mcp or /sse. Look up the path in the "
            "server's documentation."
        ),
    ),
    406: (
        "not-acceptable",
        "The server rejects the Accept header for JSON and event streams (HTTP 406).",
        "A configured Accept header may interfere; remove it.",
    ),
    415: (
        "media-type",
        "The server does not accept JSON (HTTP 415).",
        "A configured Content-Type header may interfere; remove it. Otherwise this is not an MCP endpoint.",
    ),
    429: (
        "too-many",
        "The server reports too many requests (HTTP 429).",
        "Wait, then reconnect.",
    ),
}


def _redirected(http: ObservedHttp, url: str) -> Diagnosis:
    target = http.header("location")
    try:
        target = urljoin(url, target)
        is_web = urlsplit(target).scheme in ("http", "https") and "@" not in urlsplit(target).netloc
    except ValueError:
        is_web = False
    if re.search(r"log[_-]?in|signin|sso|oauth|auth", urlsplit(target).path if is_web else "", re.IGNORECASE):
        return Diagnosis(
            "login-page",
            "http",
            f"The server redirects to a login page ({masked_url(target)}), as it would for a browser.",
            "The server, or a proxy in front of it, accepts only cookie logins. Add a header with "
            "credentials, or ask the operator for an MCP login.",
            evidence_of(http),
        )
    return Diagnosis(
        "redirected",
        "http",
        f"The server redirects: HTTP {http.status} to {masked_url(target) or 'nowhere'}. Your headers "
        "are not sent to other hosts or schemes.",
        "If you trust the new URL, use it.",
        evidence_of(http),
        use_url(target) if is_web else None,
    )


def is_other_json(traffic: ObservedTraffic) -> bool:
    """True if the first response was JSON but not JSON-RPC."""
    http = traffic.decisive_exchange
    if http is None or traffic.messages or http.content_type != "application/json":
        return False
    text = traffic.broken[-1] if traffic.broken else http.body.decode(errors="replace")
    try:
        value = parse(text)
    except JSONError:
        return False
    return not (isinstance(value, dict) and "jsonrpc" in value)


def _by_body(traffic: ObservedTraffic, http: ObservedHttp) -> Diagnosis | None:
    if not 200 <= http.status < 300:
        return None
    if http.content_type == "text/html" or http.body.lstrip()[:1] == b"<":
        return Diagnosis(
            "web-page",
            "content",
            "The response is a web page: this is a website or a proxy's login page, not an MCP endpoint.",
            "Check the path of the URL; many servers use /mcp.",
            evidence_of(http),
        )
    if http.method == "GET" and http.content_type == "text/event-stream" and "endpoint" not in traffic.events:
        return Diagnosis(
            "no-endpoint-event",
            "content",
            "There is an event stream, but it has no “endpoint” event that says where to send messages.",
            "This is a different event stream, or the server uses Streamable HTTP. Check the path and "
            "the transport.",
            evidence_of(http),
        )
    if is_other_json(traffic):
        return Diagnosis(
            "other-json",
            "content",
            "The response is JSON, but not a JSON-RPC message: this is another service, not an MCP endpoint.",
            "Check the path of the URL; many servers use /mcp.",
            (*evidence_of(http), *traffic.broken[:1]),
        )
    if http.status in (202, 204):
        return Diagnosis(
            "request-unanswered",
            "http",
            f"The server accepted the first request but sends no response (HTTP {http.status}).",
            "This is a server bug: every request needs a response.",
            evidence_of(http),
        )
    if http.content_type not in MESSAGE_TYPES:
        return Diagnosis(
            "wrong-content",
            "content",
            f"The response is {http.content_type or 'of no stated type'}, not a message.",
            "Check that this is the URL of an MCP endpoint. Responses must be application/json or "
            "text/event-stream.",
            evidence_of(http),
        )
    return None


def diagnose_content_type(traffic: ObservedTraffic) -> Diagnosis | None:
    """Warn about a working server that sends the wrong Content-Type."""
    http = traffic.decisive_exchange
    if http is None or http.content_type in MESSAGE_TYPES:
        return None
    if not 200 <= http.status < 300 or http.status == 202 or traffic.is_legacy_sse:
        return None
    return Diagnosis(
        "wrong-label",
        "content",
        f"The response is a message, but its content type is {http.content_type or 'missing'}. Other "
        "clients reject that.",
        "Change the server to send application/json or text/event-stream.",
        evidence_of(http),
        is_warning=True,
    )


def diagnose_websocket(traffic: ObservedTraffic, url: str) -> Diagnosis | None:
    http = traffic.decisive_exchange
    if http is None or http.status in (101, 401):
        return None
    scheme = "https" if url.startswith("wss:") else "http"
    return Diagnosis(
        "no-websocket",
        "http",
        f"The host returned HTTP {http.status} instead of a WebSocket upgrade (101).",
        "Most servers use Streamable HTTP: use the http URL.",
        evidence_of(http),
        use_url(with_parts(url, scheme=scheme)),
    )


def diagnose_no_response(
    traffic: ObservedTraffic, url: str, *, speaks_tls: bool = False, greeting: str = "", proxy: str = ""
) -> Diagnosis:
    """Diagnose a request that got no response.

    `speaks_tls`: TLS works on this port although the URL does not use it. `greeting` is what the port
    sends, by itself or in response to a probe.
    """
    host, error = urlsplit(url).netloc.rpartition("@")[2], traffic.error
    summary = error.summary if error is not None else "No response received."
    kind = error.kind if error is not None else FailureKind.OTHER
    for failure in (error, *traffic.failures):
        if isinstance(failure, ConfigError):  # from values resolved only when needed, e.g. a token
            fix = failure.next_step or "Edit the server."
            return Diagnosis("settings-unusable", "settings", failure.summary, fix)
    for cause in causes_of(error):
        if (
            isinstance(cause, ssl.SSLError)
            and (found := diagnose_alert(cause.reason or "", host)) is not None
        ):
            return found
    if speaks_tls:
        scheme = "wss" if url.startswith("ws:") else "https"
        return Diagnosis(
            "needs-https",
            "http",
            f"{host} uses TLS on this port, but the URL does not.",
            f"Use {scheme}:// instead.",
            (summary,),
            use_url(with_parts(url, scheme=scheme)),
        )
    refusal = next((cause for cause in causes_of(error) if type(cause).__name__ in _PROXY_ERRORS), None)
    if proxy and refusal is not None:
        return _diagnose_proxy(summary, proxy, needs_login="407" in str(refusal))
    if kind is FailureKind.NOT_HTTP or (greeting and not greeting.startswith("HTTP/")):
        return not_http(host, greeting or summary, "http")
    if kind is FailureKind.DISCONNECTED:
        return Diagnosis(
            "hung-up",
            "http",
            f"{host} closed the connection without a response: the server crashed, a proxy cut it off, "
            "or this is not a web server.",
            "Check the port and the server's log.",
            (summary,),
        )
    if kind is FailureKind.TIMEOUT:
        return Diagnosis(
            "http-silent",
            "http",
            f"{host} accepted the request, but did not respond in time: the server hangs or is very slow.",
            "Check the server's log. If it is slow to start, raise its connection timeout.",
            (summary,),
        )
    return Diagnosis("http-failed", "http", summary, error.next_step if error is not None else "Try again.")


# Exceptions of httpx2 and websockets, which are loaded only when needed.
_PROXY_ERRORS = ("ProxyError", "InvalidProxyStatus")


def _diagnose_proxy(summary: str, proxy: str, *, needs_login: bool) -> Diagnosis:
    shown = masked_url(proxy)
    if needs_login:
        return Diagnosis(
            "proxy-login",
            "http",
            f"The proxy {shown} requires a user name and password (407).",
            "Add them to the proxy URL in the server's network settings.",
            (summary,),
        )
    return Diagnosis(
        "proxy-refused",
        "http",
        f"The proxy {shown} refuses to connect to this server.",
        "Ask the proxy's operator, or connect without it.",
        (summary,),
    )

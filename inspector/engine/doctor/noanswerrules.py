"""Why a request over HTTP was not answered at all: what came instead in, a diagnosis out."""

from __future__ import annotations

import ssl
from collections.abc import Iterator
from urllib.parse import urlsplit

from inspector.base.errors import ConfigError
from inspector.base.redact import masked_url
from inspector.engine.doctor.checks import Diagnosis
from inspector.engine.doctor.talk import Heard
from inspector.engine.doctor.wirerules import diagnose_alert, not_http, use_url, with_parts


def causes_of(error: BaseException | None) -> Iterator[BaseException]:
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        yield error
        error = error.__cause__ or error.__context__


def diagnose_no_answer(
    heard: Heard, url: str, *, speaks_tls: bool = False, greeting: str = "", proxy: str = ""
) -> Diagnosis:
    """Diagnose a request that got no response.

    `speaks_tls`: TLS works on this port although the URL does not use it. `greeting` is what the port
    sends, by itself or in response to a probe.
    """
    host, error, said = urlsplit(url).netloc.rpartition("@")[2], heard.error, greeting
    summary = error.summary if error is not None else "No answer came."
    for failure in (error, *heard.failures):
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
            f"{host} speaks TLS on this port, and the URL is without it.",
            f"Use {scheme}:// instead.",
            (summary,),
            use_url(with_parts(url, scheme=scheme)),
        )
    names = {type(cause).__name__ for cause in causes_of(error)}
    if proxy and ("ProxyError" in names or "InvalidProxyStatus" in names):
        return _proxy(summary, proxy)
    if "sent what is not HTTP" in summary or (said and not said.startswith("HTTP/")):
        return not_http(host, said or summary, "http")
    if "broke the connection" in summary:
        return Diagnosis(
            "hung-up",
            "http",
            f"{host} took the request and hung up without an answer: the server crashed on it, a proxy cut "
            "it off, or this is no web server (a database does that).",
            "Check the port, and look at the server's own log.",
            (summary,),
        )
    if "Gave up after" in summary or "in time" in summary:
        return Diagnosis(
            "http-silent",
            "http",
            f"{host} took the request, but did not answer it in time: the server hangs, or is very slow.",
            "Look at the server's own log; raise the connect timeout of this server if it is slow to start.",
            (summary,),
        )
    return Diagnosis("http-failed", "http", summary, error.next_step if error is not None else "Try again.")


def _proxy(summary: str, proxy: str) -> Diagnosis:
    shown = masked_url(proxy)
    if "407" in summary:
        return Diagnosis(
            "proxy-login",
            "http",
            f"The proxy {shown} wants a user name and a password (407).",
            "Write them into the proxy's address in the server's network settings.",
            (summary,),
        )
    return Diagnosis(
        "proxy-refused",
        "http",
        f"The proxy {shown} refuses to connect to this server.",
        "Ask who runs the proxy, or reach the server without it.",
        (summary,),
    )

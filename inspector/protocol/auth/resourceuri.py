"""The `resource` parameter (RFC 8707): which server a token is for, the same in every request of a login."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import urlsplit, urlunsplit

from inspector.base.redact import is_secret_parameter
from inspector.protocol.revisions import R2, Revision, is_between

_DEFAULT_PORTS = {"http": 80, "https": 443}


@dataclass(frozen=True, slots=True)
class ResourceChoice:
    """The value of `resource`, None to send none. `reason` is a sentence."""

    value: str | None
    reason: str


def canonical_resource(server_url: str) -> str:
    """Return the server's URL as a resource identifier. Raises ValueError if it is invalid.

    Scheme and host in lower case; no fragment, user name or default port. A trailing slash is removed only
    if it is the whole path: `/mcp/` may be a different resource than `/mcp`. Secrets are removed from the
    query: they are for the server, not for its authorization server or the browser history.
    """
    parts = urlsplit(server_url.strip())
    if parts.scheme not in _DEFAULT_PORTS or not parts.hostname:
        raise ValueError("It is no absolute http or https address.")
    host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    port = parts.port
    place = host if port in (None, _DEFAULT_PORTS[parts.scheme]) else f"{host}:{port}"
    query = "&".join(
        pair for pair in parts.query.split("&") if not is_secret_parameter(pair.partition("=")[0])
    )
    path = "" if parts.path == "/" and not query else parts.path
    return urlunsplit((parts.scheme, place, path, query, ""))


def choose_resource(
    server_url: str,
    *,
    revision: Revision,
    advertised: str | None = None,
    typed: str | None = None,
) -> ResourceChoice:
    """Choose the resource identifier to send.

    `advertised` is the metadata's `resource`, only if it covers the server's URL. `typed` is the user's
    setting: None if unset, "" to send none.
    """
    if typed is not None:
        return _as_typed(typed.strip())
    if advertised:
        return ResourceChoice(advertised, "From the protected resource metadata, letter for letter.")
    if is_between(revision, R2, R2):
        return ResourceChoice(
            None, "2025-03-26 without protected resource metadata knows no resource parameter."
        )
    reason = "The server's address: there is no protected resource metadata to name another."
    return ResourceChoice(canonical_resource(server_url), reason)


def _as_typed(typed: str) -> ResourceChoice:
    if not typed:
        return ResourceChoice(None, "You chose to send no resource.")
    return ResourceChoice(typed, "You set the resource yourself.")


def resource_problem(text: str) -> str:
    """Return why a typed resource is invalid, as a sentence; "" if it is valid."""
    try:
        parts = urlsplit(text)
        is_absolute = bool(parts.scheme and (parts.netloc or parts.path))
    except ValueError:
        return "The resource cannot be read as an address."
    if any(sign.isspace() or not sign.isprintable() for sign in text):
        return "The resource holds a blank or a control character."
    if not is_absolute:
        return "The resource must be an absolute address, such as https://example.com/mcp."
    return "The resource must not have a fragment (#…)." if "#" in text else ""

"""The address that the browser is sent to: the authorization endpoint with the request in its query."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from urllib.parse import parse_qsl, quote, urlencode, urlsplit, urlunsplit

from inspector.protocol.auth import pkce
from inspector.protocol.members import some

# Set by the login itself: neither the user's extras nor the endpoint's query may repeat them.
RESERVED = frozenset(
    {"client_id", "code_challenge", "code_challenge_method", "redirect_uri"}
    | {"resource", "response_type", "scope", "state"}
)

Pairs = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class AuthorizeRequest:
    """Parameters of an authorization request. None and "" are left out."""

    client_id: str
    redirect_uri: str
    state: str = field(repr=False)
    code_challenge: str
    resource: str | None = None
    scope: str | None = None
    wants_consent: bool = False
    extras: Pairs = ()  # added by the user, e.g. `login_hint`
    key_thumbprint: str = ""  # `dpop_jkt` (RFC 9449, section 10)
    nonce: str = field(default="", repr=False)  # OpenID Connect; returned in the ID token


@dataclass(frozen=True, slots=True)
class AuthorizeUrl:
    """The URL, its parameters as a table, and sentences about what was left out."""

    url: str = field(repr=False)
    parameters: Pairs = field(repr=False)
    notes: tuple[str, ...] = ()


def authorize_url(endpoint: str, request: AuthorizeRequest) -> AuthorizeUrl:
    """Build the authorization URL.

    The endpoint's own query is kept (RFC 6749, section 3.1), and no parameter appears twice.
    """
    parts = urlsplit(endpoint)
    ours = _ours(request)
    refused = [name for name, _ in request.extras if _is_decided(name, request)]
    extras = tuple((name.strip(), value) for name, value in request.extras if name not in refused)
    named = {name for name, _ in (*ours, *extras)}
    endpoints_own = tuple(parse_qsl(parts.query, keep_blank_values=True))
    kept = tuple(pair for pair in endpoints_own if pair[0] not in named)
    parameters = (*kept, *_overlaid(ours, extras))
    url = urlunsplit((parts.scheme, parts.netloc, parts.path, urlencode(parameters, quote_via=quote), ""))
    return AuthorizeUrl(url, parameters, tuple(_notes(refused, [n for n, _ in endpoints_own if n in named])))


def extra_problem(name: str) -> str:
    """Return why a parameter cannot be added by hand, as a sentence; "" if it can."""
    if not name.strip():
        return "A parameter needs a name."
    if name.strip().lower() in RESERVED:
        return f"{name.strip()} is decided by the login itself; change it in its own field."
    return ""


def _is_decided(name: str, request: AuthorizeRequest) -> bool:
    """True for parameters set by the login; `nonce` only if the login uses one."""
    return bool(extra_problem(name)) or (bool(request.nonce) and name.strip().lower() == "nonce")


def _ours(request: AuthorizeRequest) -> Pairs:
    pairs = (
        ("response_type", "code"),
        ("client_id", request.client_id),
        ("redirect_uri", request.redirect_uri),
        ("state", request.state),
        ("code_challenge", request.code_challenge),
        ("code_challenge_method", pkce.METHOD),
        ("resource", request.resource),
        ("scope", request.scope),
        ("prompt", "consent" if request.wants_consent else ""),
        ("dpop_jkt", request.key_thumbprint),
        ("nonce", request.nonce),
    )
    return tuple((name, value) for name, value in pairs if value)


def _overlaid(ours: Pairs, extras: Pairs) -> Pairs:
    """Merge: extras override what is not reserved (`prompt`); of duplicates the last wins."""
    theirs = dict(extras)
    return (*((name, value) for name, value in ours if name not in theirs), *theirs.items())


def _notes(refused: list[str], replaced: list[str]) -> Iterable[str]:
    if refused:
        yield f"Left out of your own parameters, as the login decides them: {some(refused)}."
    if replaced:
        yield f"The authorization endpoint's own query names {some(replaced)}; the login's values are sent."

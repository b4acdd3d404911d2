"""One authorization server (realm): issuer, key, clients, scopes and issued codes.

The demo has two: the one that the notes server trusts, and the company's identity provider. Each has a
set of fault switches. Clients are predefined, registered, or read from a client ID metadata document.
"""

from __future__ import annotations

import ipaddress
import re
import secrets
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar
from urllib.parse import urlsplit, urlunsplit

import httpx2

from inspector.demo.login.fault_switches import FaultSwitches
from inspector.demo.login.tokens import Key, ReplayCache, Tokens

CODE, REFRESH = "authorization_code", "refresh_token"
MACHINE = "client_credentials"
JWT_BEARER = "urn:ietf:params:oauth:grant-type:jwt-bearer"
EXCHANGE = "urn:ietf:params:oauth:grant-type:token-exchange"

METHODS = ("none", "client_secret_basic", "client_secret_post", "private_key_jwt")

_MAX_DOCUMENT_SIZE = 64 * 1024
_FETCH_TIMEOUT = 5.0
_REDIRECT = re.compile(r"(https?://[\w.\-\[\]:]+|[a-z][a-z0-9+.\-]*:)[/?][^\s#<>\"\\]*", re.ASCII)
_LOOPBACK_REDIRECTS = (
    "http://127.0.0.1/callback",
    "http://127.0.0.1/oauth/callback",
    "http://localhost/callback",
)
_SECRET = ("client_secret_basic", "client_secret_post")

COMPANY_NAMES = {"demo-sso": "demo-desk"}
"""Client ids at the company, mapped to those at the notes' authorization server."""

USERS = {"ada": "lovelace", "grace": "hopper"}
"""User names and passwords, as shown on the page."""

READ, WRITE, SHARE = "notes:read", "notes:write", "notes:share"
NOTES_SCOPES = {
    READ: "Read your notes",
    WRITE: "Write new notes",
    SHARE: "Share notes with others",
    "offline_access": "Stay logged in",
}
COMPANY_SCOPES = {
    "openid": "Know who you are",
    "email": "See your email address",
    "offline_access": "Stay logged in",
}

_REQUEST_LIFETIME = 600.0
_CODE_LIFETIME = 60.0

T = TypeVar("T")


@dataclass
class Realm:
    """An authorization server and its state."""

    origin: str
    path: str
    title: str
    scopes: dict[str, str]
    clients: Clients
    resource: str = ""
    faults: FaultSwitches = field(default_factory=FaultSwitches)
    key: Key = field(default_factory=Key)

    def __post_init__(self) -> None:
        self.requests: ExpiringStore[AuthorizationRequest] = ExpiringStore(_REQUEST_LIFETIME)
        self.codes: ExpiringStore[IssuedCode] = ExpiringStore(_CODE_LIFETIME)
        self.tokens = Tokens(lambda: self.issuer, self.key, self.faults)
        self.replay_cache = ReplayCache()
        self.nonce = secrets.token_urlsafe(12)
        self.guest = secrets.token_urlsafe(24)  # token of requests that a fault lets in without a login

    @property
    def base(self) -> str:
        """The base URL of the endpoints, whatever the issuer currently is."""
        return self.origin + self.path

    @property
    def issuer(self) -> str:
        return self.base + self.issuer_path

    @property
    def issuer_path(self) -> str:
        if self.faults.on("moved"):
            return "/moved"
        return "/tenant" if self.faults.first("issuer_path", "asm_appended") else ""

    @property
    def requires_dpop(self) -> bool:
        return bool(self.faults.first("dpop", "dpop_nonce", "bearer_for_proof"))

    def find(self, client_id: str) -> Client | None:
        """Return a known client; for one described by a document, see `resolve`."""
        return self.clients.find(self.issuer, client_id, moved=self.faults.on("moved"))

    async def resolve(self, client_id: str) -> Client | None:
        """Return the client, fetching its document if the id is a URL. Raises BadDocument."""
        client = self.find(client_id)
        if client is None and self.accepts_documents and client_id.startswith(("https://", "http://")):
            return await read_document(client_id)
        return client

    @property
    def accepts_documents(self) -> bool:
        return bool(self.resource) and not self.faults.first("registration_only", "no_registration")

    def forget(self) -> None:
        """Forget all registered clients and logins."""
        self.clients.forget()
        self.tokens.forget()
        self.requests.clear()
        self.codes.clear()


@dataclass(frozen=True)
class AuthorizationRequest:
    """A valid authorization request that is waiting for the user."""

    client: Client
    redirect: str
    state: str
    challenge: str
    method: str
    scopes: tuple[str, ...]
    resource: str
    nonce: str = ""
    jkt: str = ""


@dataclass(frozen=True)
class IssuedCode:
    """What an authorization code was issued for."""

    request: AuthorizationRequest
    subject: str


class ExpiringStore(Generic[T]):
    """Values under unguessable keys, each with a limited lifetime."""

    def __init__(self, lifetime: float) -> None:
        self._lifetime = lifetime
        self._values: dict[str, tuple[float, T]] = {}

    def put(self, value: T) -> str:
        now, name = time.monotonic(), secrets.token_urlsafe(24)
        self._values = {key: entry for key, entry in self._values.items() if entry[0] > now}
        self._values[name] = now + self._lifetime, value
        return name

    def get(self, name: str) -> T | None:
        until, value = self._values.get(name, (0.0, None))
        return value if until > time.monotonic() else None

    def drop(self, name: str) -> None:
        self._values.pop(name, None)

    def clear(self) -> None:
        self._values.clear()


class BadDocument(Exception):
    """A client ID metadata document is unusable; the message is for the user at the page."""


@dataclass(frozen=True)
class Client:
    """A registered client."""

    id: str
    name: str
    redirects: tuple[str, ...] = ()
    methods: tuple[str, ...] = ("none",)
    secret: str = field(default="", repr=False)
    grants: tuple[str, ...] = (CODE, REFRESH)
    keys: tuple[Mapping[str, Any], ...] = ()

    @property
    def is_public(self) -> bool:
        return self.methods == ("none",)

    def allows(self, redirect: str) -> bool:
        """True for a registered redirect URI; on loopback the port may vary (RFC 8252, section 7.3)."""
        return _portless(redirect) in map(_portless, self.redirects)


def is_loopback(url: str) -> bool:
    """True for an http(s) URL on this machine, by IP address or as localhost."""
    try:
        parts = urlsplit(url)
        host = parts.hostname or ""
    except ValueError:
        return False
    if parts.scheme not in ("http", "https") or parts.username is not None:
        return False
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def is_redirect(uri: object) -> bool:
    """True if this is a possible redirect URI: absolute, printable, without a fragment."""
    if not isinstance(uri, str) or not _REDIRECT.fullmatch(uri):
        return False
    try:
        return urlsplit(uri).port != 0
    except ValueError:
        return False


def _portless(url: str) -> str:
    if not is_loopback(url) or urlsplit(url).scheme != "http":
        return url
    parts = urlsplit(url)
    host = f"[{parts.hostname}]" if ":" in (parts.hostname or "") else parts.hostname or ""
    return urlunsplit(parts._replace(netloc=host))


class Clients:
    """Clients by issuer and id: they are unknown to another issuer."""

    def __init__(self, known: tuple[Client, ...]) -> None:
        self._known = {client.id: client for client in known}
        self._registered: dict[tuple[str, str], Client] = {}

    def known(self) -> list[Client]:
        return list(self._known.values())

    def add(self, issuer: str, client: Client) -> None:
        self._registered[issuer, client.id] = client

    def find(self, issuer: str, id: str, *, moved: bool = False) -> Client | None:
        """Return a client registered with this issuer, or a predefined one unless the issuer moved."""
        return self._registered.get((issuer, id)) or (None if moved else self._known.get(id))

    def forget(self) -> None:
        self._registered.clear()


async def read_document(url: str) -> Client:
    """Fetch the client ID metadata document of a client. Raises BadDocument.

    The demo never leaves this machine, so it reads documents only from loopback addresses, over http too.
    """
    if not is_loopback(url):
        raise BadDocument("This demo only fetches client ID metadata documents from loopback addresses.")
    try:
        async with (
            httpx2.AsyncClient(trust_env=False, timeout=_FETCH_TIMEOUT) as http,
            http.stream("GET", url, headers={"Accept": "application/json"}) as response,
        ):
            body = b""
            async for chunk in response.aiter_bytes():
                body += chunk
                if len(body) > _MAX_DOCUMENT_SIZE:
                    raise BadDocument("The client ID metadata document is larger than 64 KiB.")
        if response.status_code != 200:
            raise BadDocument(
                f"Could not fetch the client ID metadata document: HTTP {response.status_code}."
            )
        document = httpx2.Response(200, content=body).json()
    except (httpx2.HTTPError, httpx2.InvalidURL, ValueError) as error:
        raise BadDocument(
            f"Could not read the client ID metadata document: {type(error).__name__}."
        ) from error
    return _client_of(url, document)


def _client_of(url: str, document: object) -> Client:
    if not isinstance(document, dict) or document.get("client_id") != url:
        raise BadDocument(
            "The client_id in the client ID metadata document does not match the document's URL."
        )
    redirects = document.get("redirect_uris")
    if not isinstance(redirects, list) or not redirects or not all(map(is_redirect, redirects)):
        raise BadDocument("The client ID metadata document has no valid redirect_uris.")
    method = document.get("token_endpoint_auth_method", "none")
    if method not in ("none", "private_key_jwt"):
        raise BadDocument(
            "A client ID metadata document is public, so its token_endpoint_auth_method cannot use a "
            "client secret."
        )
    return Client(
        url, str(document.get("client_name", url)), tuple(redirects), (method,), keys=jwks_of(document)
    )


def jwks_of(metadata: Mapping[str, Any]) -> tuple[Mapping[str, Any], ...]:
    """Return the keys in `jwks`, if any."""
    jwks = metadata.get("jwks")
    keys = jwks.get("keys") if isinstance(jwks, dict) else None
    return tuple(key for key in keys if isinstance(key, dict)) if isinstance(keys, list) else ()


def server_clients(robot: Key) -> tuple[Client, ...]:
    """Return the predefined clients of the authorization server; the page `/` lists them."""
    return (
        Client("demo-app", "Demo app", _LOOPBACK_REDIRECTS),
        Client("demo-web", "Demo web app", _LOOPBACK_REDIRECTS, _SECRET, "demo-web-secret"),
        Client("demo-machine", "Demo machine", (), _SECRET, "demo-machine-secret", (MACHINE,)),
        Client(
            "demo-robot", "Demo robot", (), ("private_key_jwt",), grants=(MACHINE,), keys=(robot.public(),)
        ),
        Client("demo-desk", "Demo desk", (), _SECRET, "demo-desk-secret", (JWT_BEARER,)),
    )


def company_clients() -> tuple[Client, ...]:
    """Return the predefined clients of the company's identity provider."""
    return (Client("demo-sso", "Demo desk", _LOOPBACK_REDIRECTS, grants=(CODE, REFRESH, EXCHANGE)),)

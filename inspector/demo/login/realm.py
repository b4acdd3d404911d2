"""One authorization server: the demo has two, the one that the notes trust and the company's own.

A realm is what both have in common: an issuer, a key, clients, scopes, and what was issued. Each has switches
of its own.
"""

from __future__ import annotations

import secrets
import time
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from inspector.demo.login.clients import Client, Clients, read_document
from inspector.demo.login.keys import Key, Seen
from inspector.demo.login.switches import Bench
from inspector.demo.login.tokens import Tokens

PEOPLE = {"ada": "lovelace", "grace": "hopper"}
"""Who can log in, and the password that the page shows."""

READ, WRITE, SHARE = "notes:read", "notes:write", "notes:share"
NOTES_SCOPES = {
    READ: "Read your notes",
    WRITE: "Write new notes",
    SHARE: "Share notes with others",
    "offline_access": "Stay signed in",
}
COMPANY_SCOPES = {
    "openid": "Know who you are",
    "email": "See your e-mail address",
    "offline_access": "Stay signed in",
}

_PATIENCE = 600.0
_CODE_LIFE = 60.0

T = TypeVar("T")


@dataclass(frozen=True)
class Asked:
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
class Agreed:
    """What an authorization code was issued for."""

    asked: Asked
    subject: str


class Kept(Generic[T]):
    """Values under unguessable keys, each with a limited lifetime."""

    def __init__(self, lifetime: float) -> None:
        self._lifetime = lifetime
        self._values: dict[str, tuple[float, T]] = {}

    def put(self, value: T) -> str:
        now, name = time.monotonic(), secrets.token_urlsafe(24)
        self._values = {known: held for known, held in self._values.items() if held[0] > now}
        self._values[name] = now + self._lifetime, value
        return name

    def get(self, name: str) -> T | None:
        until, value = self._values.get(name, (0.0, None))
        return value if until > time.monotonic() else None

    def drop(self, name: str) -> None:
        self._values.pop(name, None)

    def clear(self) -> None:
        self._values.clear()


@dataclass
class Realm:
    """An authorization server and its state."""

    origin: str
    path: str
    title: str
    scopes: dict[str, str]
    clients: Clients
    resource: str = ""
    bench: Bench = field(default_factory=Bench)
    key: Key = field(default_factory=Key)

    def __post_init__(self) -> None:
        self.asked: Kept[Asked] = Kept(_PATIENCE)
        self.codes: Kept[Agreed] = Kept(_CODE_LIFE)
        self.tokens = Tokens(lambda: self.issuer, self.key, self.bench)
        self.seen = Seen()
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
        if self.bench.on("moved"):
            return "/moved"
        return "/tenant" if self.bench.first("issuer_path", "asm_appended") else ""

    @property
    def wants_proof(self) -> bool:
        return bool(self.bench.first("dpop", "dpop_nonce", "bearer_for_proof"))

    def find(self, client_id: str) -> Client | None:
        """Return a known client; for one described by a document, see `resolve`."""
        return self.clients.find(self.issuer, client_id, moved=self.bench.on("moved"))

    async def resolve(self, client_id: str) -> Client | None:
        """Return the client, fetching its document if the id is a URL. Raises BadDocument."""
        client = self.find(client_id)
        if client is None and self.takes_documents and client_id.startswith(("https://", "http://")):
            return await read_document(client_id)
        return client

    @property
    def takes_documents(self) -> bool:
        return bool(self.resource) and not self.bench.first("registration_only", "no_registration")

    def forget(self) -> None:
        """Forget all registered clients and logins."""
        self.clients.forget()
        self.tokens.forget()
        self.asked.clear()
        self.codes.clear()

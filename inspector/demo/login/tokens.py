"""Access tokens and refresh tokens: issued, checked, rotated, revoked; all in memory."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from inspector.demo.login.keys import Key
from inspector.demo.login.switches import Bench

LIFETIME = 3600
SHORT = 65
YEAR = 365 * 24 * 3600
ELSEWHERE = "https://elsewhere.example"


@dataclass(frozen=True)
class Grant:
    """What a token was issued for: the subject, client, scopes, resource and expiry."""

    client_id: str
    subject: str
    scopes: tuple[str, ...]
    resource: str
    jkt: str = ""
    expires_at: float = 0

    @property
    def scope(self) -> str:
        return " ".join(self.scopes)


@dataclass
class _Refresh:
    grant: Grant
    family: str
    used: bool = False
    from_refresh: bool = False


class Tokens:
    """The tokens issued by one authorization server."""

    def __init__(self, issuer: Callable[[], str], key: Key, bench: Bench) -> None:
        self._issuer = issuer
        self._key = key
        self._bench = bench
        self._access: dict[str, tuple[Grant, str]] = {}
        self._refresh: dict[str, _Refresh] = {}

    def forget(self) -> None:
        self._access.clear()
        self._refresh.clear()

    # ------------------------------------------------------------------ issuing

    def issue(self, grant: Grant, *, refreshable: bool, family: str = "", token: str = "") -> dict[str, Any]:
        """Build a token response. `token` is the refresh token to return instead of a new one."""
        family = family or secrets.token_hex(8)
        lifetime = self._lifetime()
        access = self._access_token(grant, lifetime, family)
        reply: dict[str, Any] = {
            "access_token": access,
            "token_type": "DPoP" if grant.jkt else "Bearer",
            "expires_in": lifetime,
            "scope": grant.scope,
        }
        if refreshable and not self._bench.on("no_refresh"):
            reply["refresh_token"] = token or self._refresh_token(grant, family)
        return reply

    def _lifetime(self) -> int:
        if self._bench.on("long_life"):
            return YEAR
        return SHORT if self._bench.on("short_tokens") else LIFETIME

    def _access_token(self, grant: Grant, lifetime: int, family: str) -> str:
        bench, now = self._bench, int(time.time())
        expires = now - 1 if bench.on("expired_at_once") else now + lifetime
        held = replace(grant, expires_at=expires)
        if bench.on("wrong_audience"):
            held = replace(held, resource=ELSEWHERE)
        token = secrets.token_urlsafe(32)
        if not bench.on("opaque_tokens"):
            shift = 3600 if bench.on("clock_ahead") else 0
            token = self._key.sign(self._claims(held, now + shift, int(expires) + shift), "at+jwt")
        self._access[token] = held, family
        return token

    def _claims(self, grant: Grant, issued: int, expires: int) -> dict[str, Any]:
        claims = {
            "iss": ELSEWHERE if self._bench.on("wrong_token_issuer") else self._issuer(),
            "sub": grant.subject,
            "aud": grant.resource,
            "client_id": grant.client_id,
            "scope": grant.scope,
            "iat": issued,
            "exp": expires,
            "jti": secrets.token_hex(8),
        }
        return {**claims, "cnf": {"jkt": grant.jkt}} if grant.jkt else claims

    def _refresh_token(self, grant: Grant, family: str) -> str:
        token = secrets.token_urlsafe(32)
        from_refresh = any(known.family == family for known in self._refresh.values())
        self._refresh[token] = _Refresh(grant, family, from_refresh=from_refresh)
        return token

    # ------------------------------------------------------------------ using

    def check(self, token: str, audiences: Sequence[str]) -> Grant | None:
        """Return the grant of a valid access token for one of these resources, or None."""
        held, _ = self._access.get(token, (None, ""))
        if held is None or held.resource not in audiences or held.expires_at < time.time():
            return None
        if "." in token and not self._bench.on("clock_ahead"):
            claims = self._key.check(token, audience=audiences, issuer=self._issuer())
            return held if claims is not None else None
        return held

    def refresh(self, token: str, client_id: str) -> tuple[Grant, str] | None:
        """Return the grant and family of a usable refresh token; call `spend` once it was exchanged.

        A reused token was stolen from one of its two users, so its whole family is revoked.
        """
        held = self._refresh.get(token)
        if held is None or held.grant.client_id != client_id:
            return None
        if held.used and not self._bench.on("old_refresh_works"):
            self._end(held.family)
            return None
        if held.from_refresh and self._bench.on("rotated_refused"):
            return None
        return held.grant, held.family

    def spend(self, token: str) -> None:
        self._refresh[token].used = not self._bench.on("not_rotated")

    def revoke(self, token: str, client_id: str) -> None:
        """Revoke a token and what belongs to it; unknown tokens are ignored (RFC 7009, section 2.2)."""
        if token in self._refresh and self._refresh[token].grant.client_id == client_id:
            self._end(self._refresh[token].family)
        elif token in self._access and self._access[token][0].client_id == client_id:
            del self._access[token]

    def _end(self, family: str) -> None:
        self._access = {token: held for token, held in self._access.items() if held[1] != family}
        self._refresh = {token: held for token, held in self._refresh.items() if held.family != family}

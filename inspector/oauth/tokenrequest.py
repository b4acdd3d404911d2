"""One request to a token endpoint: the form, the proof of who we are, and the proof of the key (DPoP).

Used by logins and by refreshes alike. A server that wants its nonce in the proof is asked once more.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from inspector.oauth.http import LoginReply, LoginRequest, post_form
from inspector.oauth.signing import SigningKey, dpop_proof
from inspector.protocol.auth.clientauth import AuthMethod, Proof, assertion_claims, authenticate
from inspector.protocol.auth.dpop import Nonces, wants_nonce
from inspector.protocol.auth.grants import Form
from inspector.protocol.auth.identity import Client
from inspector.protocol.auth.reported import read_error, read_object

Send = Callable[[LoginRequest], Awaitable[LoginReply]]


@dataclass(frozen=True, slots=True)
class TokenRequest:
    """A token request. `audience` is the `aud` of our client assertion."""

    endpoint: str
    form: Form = field(repr=False)
    client: Client | None
    method: AuthMethod | None
    audience: str = ""
    client_key: SigningKey | None = None  # for `private_key_jwt`
    bound_key: SigningKey | None = None  # for DPoP

    def http(self, now: float, nonces: Nonces) -> LoginRequest:
        """Return the request for now: proofs contain the time and are used once."""
        proof = self._proof(now)
        headers = proof.headers
        if self.bound_key is not None:
            nonce = nonces.of(self.endpoint)
            headers = (
                *headers,
                ("DPoP", dpop_proof(self.bound_key, "POST", self.endpoint, now, nonce=nonce)),
            )
        return post_form(self.endpoint, (*self.form, *proof.form), headers)

    def _proof(self, now: float) -> Proof:
        if self.client is None or self.method is None:
            return Proof()
        assertion = ""
        if self.method is AuthMethod.PRIVATE_KEY and self.client_key is not None:
            assertion = self.client_key.sign(assertion_claims(self.client.client_id, self.audience, now))
        return authenticate(
            self.method, self.client.client_id, secret=self.client.secret, assertion=assertion
        )


async def request_token(
    request: TokenRequest, send: Send, now: Callable[[], float], nonces: Nonces
) -> LoginReply:
    """Send it, and again if the server wants its nonce in the proof. Raises UserError."""
    reply = await send(request.http(now(), nonces))
    nonces.note(reply.url, reply.header("dpop-nonce") or None)
    if request.bound_key is None or not _wants_nonce(reply) or not nonces.of(request.endpoint):
        return reply
    reply = await send(request.http(now(), nonces))
    nonces.note(reply.url, reply.header("dpop-nonce") or None)
    return reply


def _wants_nonce(reply: LoginReply) -> bool:
    error = read_error(read_object(reply.body) or {})
    return error is not None and wants_nonce(reply.status, error.code)

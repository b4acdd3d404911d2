"""How a token goes with a request: the Authorization header, and with DPoP the proof of its key."""

from __future__ import annotations

from inspector.oauth.signing import SigningKey, dpop_proof
from inspector.protocol.auth.challenge import choose_challenge, read_challenges
from inspector.protocol.auth.dpop import USE_NONCE, Nonces
from inspector.protocol.auth.stepup import Refusal
from inspector.protocol.auth.tokens import TokenSet
from inspector.protocol.httprules import Headers

DPOP = "DPoP"


def token_headers(
    tokens: TokenSet, key: SigningKey | None, method: str, url: str, now: float, nonces: Nonces
) -> Headers:
    """Return the headers of one request; create new ones for each repeat (DPoP proof)."""
    headers: Headers = (("Authorization", tokens.authorization),)
    if tokens.token_type != DPOP or key is None:
        return headers
    nonce = nonces.of(url)
    proof = dpop_proof(key, method, url, now, access_token=tokens.access_token, nonce=nonce)
    return (*headers, (DPOP, proof))


def header_of(headers: Headers, name: str) -> str:
    """Return the first header of this name; "" if absent."""
    return next((value for given, value in headers if given.lower() == name.lower()), "")


def read_refusal(status: int, headers: Headers) -> Refusal:
    """Parse a 401 or 403 response of the MCP server."""
    values = [value for name, value in headers if name.lower() == "www-authenticate"]
    return Refusal(status, choose_challenge(read_challenges(values), status))


def is_nonce_demand(status: int, headers: Headers) -> bool:
    """True if the MCP server demands its nonce in the proof; this does not reject the token."""
    values = [value for name, value in headers if name.lower() == "www-authenticate"]
    challenges = read_challenges(values).used
    wants = any(one.is_dpop and one.get("error") == USE_NONCE for one in challenges)
    return status == 401 and wants and bool(header_of(headers, "dpop-nonce"))

"""What an access token says about itself, when it is a JWT, compared with what was asked for.

Only compared: the token is meant for the MCP server, which checks it. An opaque token gives no findings.
"""

from __future__ import annotations

from collections.abc import Iterator

from inspector.protocol.auth.findings import Finding, finding
from inspector.protocol.auth.jwtview import JwtView, read_jwt
from inspector.protocol.revisions import Revision

SKEW = 60  # allowed clock skew in seconds


def about_claims(
    access_token: str,
    *,
    resource: str | None,
    issuer: str | None,
    expires_at: float | None,
    key_thumbprint: str,
    now: float,
    revision: Revision,
) -> Iterator[Finding]:
    """Yield findings about a token's claims. None and "" are not compared."""
    token = read_jwt(access_token)
    if token is None:
        return
    if resource and resource not in token.audiences:
        audience = token.audiences or ("nobody in particular",)
        yield finding("TOK-010", revision, audience=audience, resource=resource)
    if issuer and token.issuer and token.issuer != issuer:
        yield finding("TOK-011", revision, token_issuer=token.issuer, issuer=issuer)
    if key_thumbprint and token.key_thumbprint != key_thumbprint:
        problem = "cnf.jkt is another key's" if token.key_thumbprint else "it has no cnf.jkt"
        yield finding("TOK-016", revision, problem=problem)
    yield from _about_times(token, expires_at, now, revision)


def _about_times(
    token: JwtView, expires_at: float | None, now: float, revision: Revision
) -> Iterator[Finding]:
    end = token.time_of("exp")
    if end is not None and expires_at is not None and abs(end - expires_at) > SKEW:
        off = round(abs(end - expires_at))
        yield finding("TOK-012", revision, seconds=off, what="exp against expires_in")
    for name in ("iat", "nbf"):
        begin = token.time_of(name)
        if begin is not None and begin - now > SKEW:
            yield finding("TOK-012", revision, seconds=round(begin - now), what=f"{name} is in the future")

"""The forms that go to a token endpoint, one per grant, and to the revocation endpoint.

Each goes with what `clientauth.authenticate` adds. `resource` is in every one of them, letter for letter as
in the authorize request (RFC 8707); None leaves it out.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from urllib.parse import urlencode

from inspector.protocol.auth.clientauth import Proof

FORM_TYPE = "application/x-www-form-urlencoded"
ID_JAG = "urn:ietf:params:oauth:token-type:id-jag"
ID_TOKEN = "urn:ietf:params:oauth:token-type:id_token"  # noqa: S105
ID_JAG_PROFILE = "urn:ietf:params:oauth:grant-profile:id-jag"

Form = tuple[tuple[str, str], ...]


class Grant(Enum):
    """Grant types."""

    CODE = "authorization_code"
    REFRESH = "refresh_token"
    CLIENT = "client_credentials"
    EXCHANGE = "urn:ietf:params:oauth:grant-type:token-exchange"
    ASSERTION = "urn:ietf:params:oauth:grant-type:jwt-bearer"


def code_form(code: str, redirect_uri: str, verifier: str, resource: str | None) -> Form:
    """Return the form to exchange a code.

    OAuth 2.1 drops `redirect_uri`, but OAuth 2.0 servers need it: always sent.
    """
    return _form(Grant.CODE, code=code, redirect_uri=redirect_uri, code_verifier=verifier, resource=resource)


def refresh_form(refresh_token: str, resource: str | None, scope: str | None = None) -> Form:
    return _form(Grant.REFRESH, refresh_token=refresh_token, resource=resource, scope=scope)


def client_form(resource: str | None, scope: str | None) -> Form:
    """Return the form for client credentials: the client acts for itself."""
    return _form(Grant.CLIENT, resource=resource, scope=scope)


def exchange_form(id_token: str, audience: str, resource: str | None, scope: str | None) -> Form:
    """Return the form to exchange an ID token for an ID-JAG (enterprise-managed authorization).

    Sent to the identity provider. `audience` is the issuer of the MCP server's authorization server.
    """
    return _form(
        Grant.EXCHANGE,
        requested_token_type=ID_JAG,
        subject_token=id_token,
        subject_token_type=ID_TOKEN,
        audience=audience,
        resource=resource,
        scope=scope,
    )


def assertion_form(assertion: str, resource: str | None, scope: str | None) -> Form:
    """Return the form to exchange a JWT for a token: an ID-JAG, or a workload's JWT."""
    return _form(Grant.ASSERTION, assertion=assertion, resource=resource, scope=scope)


def revocation_form(token: str, is_refresh_token: bool) -> Form:
    """Return the form to revoke a token (RFC 7009)."""
    return (("token", token), ("token_type_hint", "refresh_token" if is_refresh_token else "access_token"))


def form_body(form: Form, proof: Proof) -> bytes:
    """Return the body of a token request."""
    return urlencode((*form, *proof.form)).encode("ascii")


def trusted_issuer(configured: str, listed: Sequence[str]) -> str:
    """Return where a secret may be sent: the configured issuer if the server lists it, else "".

    With client credentials there is no user in a browser to notice that a server names someone else's
    authorization server, so the server must not choose.
    """
    return configured if configured in listed else ""


def _form(grant: Grant, **fields: str | None) -> Form:
    pairs = tuple((name, value) for name, value in fields.items() if value)
    return (("grant_type", grant.value), *pairs)

"""Token requests: client authentication, and the forms of grants and of revocation.

Supported methods: `none`, `client_secret_basic`, `client_secret_post` and `private_key_jwt`. Others are
reported when the client is registered, not at the first token request.

`resource` is in every form, exactly as in the authorization request (RFC 8707); None leaves it out.
"""

from __future__ import annotations

import base64
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from enum import Enum
from urllib.parse import quote_plus
from uuid import uuid4

from inspector.base.json.values import JSONObject, quote_names, quote_value

ASSERTION_TYPE = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"
ASSERTION_SECONDS = 300
# RFC 8414, section 2: default if `token_endpoint_auth_methods_supported` is absent.
DEFAULT_METHODS = ("client_secret_basic",)


class AuthMethod(Enum):
    """Supported client authentication methods, by registered name."""

    NONE = "none"
    BASIC = "client_secret_basic"
    POST = "client_secret_post"
    PRIVATE_KEY = "private_key_jwt"

    @property
    def needs_secret(self) -> bool:
        return self in (AuthMethod.BASIC, AuthMethod.POST)


@dataclass(frozen=True, slots=True)
class MethodChoice:
    """The method to use and why; `problem` says why none can be used."""

    method: AuthMethod | None
    reason: str
    problem: str = ""


@dataclass(frozen=True, slots=True)
class ClientAuthentication:
    """What a client authentication method adds to a token request."""

    headers: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    form: tuple[tuple[str, str], ...] = field(default=(), repr=False)


def find_method(name: str) -> AuthMethod | None:
    """Return the method of this name, None if unsupported."""
    return next((method for method in AuthMethod if method.value == name), None)


def choose_method(
    *,
    offered: Sequence[str] | None,
    has_secret: bool,
    has_key: bool = False,
    registered: str = "",
    typed: str = "",
) -> MethodChoice:
    """Choose the client authentication method.

    `offered` is the list in the metadata (None: absent), `registered` the method of the registration
    response, `typed` the user's setting, which wins.
    """
    if typed:
        return _named(typed, "Set by you.", has_secret, has_key)
    if registered:
        return _named(registered, "The client is registered with this method.", has_secret, has_key)
    listed = DEFAULT_METHODS if offered is None else tuple(offered)
    if has_key and (AuthMethod.PRIVATE_KEY.value in listed or not has_secret):
        return MethodChoice(AuthMethod.PRIVATE_KEY, "This client has a private key.")
    if not has_secret:
        return MethodChoice(AuthMethod.NONE, "There is no client secret, so only the client ID is sent.")
    return _with_secret(listed, is_declared=offered is not None)


def _named(name: str, reason: str, has_secret: bool, has_key: bool) -> MethodChoice:
    problem = method_problem(name, has_secret=has_secret, has_key=has_key)
    return MethodChoice(None if problem else find_method(name), reason, problem)


def _with_secret(listed: tuple[str, ...], is_declared: bool) -> MethodChoice:
    secret_methods = (AuthMethod.BASIC.value, AuthMethod.POST.value)
    first = next((name for name in listed if name in secret_methods), "")
    if first:
        reason = "is the first listed method that uses a client secret"
        if not is_declared:
            reason = "is the default when the server lists no methods"
        return MethodChoice(find_method(first), f"{first} {reason}.")
    if AuthMethod.NONE.value in listed:
        return MethodChoice(
            AuthMethod.NONE, "The server accepts only public clients, so the secret is not sent."
        )
    problem = (
        f"The server lists {quote_names(listed) or 'no method'}; none of them works with a client secret."
    )
    return MethodChoice(None, "", problem)


def method_problem(name: str, *, has_secret: bool, has_key: bool = False) -> str:
    """Return why a method cannot be used, as the second half of a sentence; "" if it can."""
    method = find_method(name)
    if method is None:
        supported = ", ".join(method.value for method in AuthMethod)
        return f"{quote_value(name)} is not supported (supported methods: {supported})."
    if method.needs_secret and not has_secret:
        return f"{name} requires a client secret, but none is set."
    if method is AuthMethod.PRIVATE_KEY and not has_key:
        return f"{name} requires a private key, but none is set."
    return ""


def registrable_method(offered: Sequence[str] | None) -> AuthMethod:
    """Return the method to register: `none` if listed, as a desktop app cannot keep a secret.

    Otherwise the first one with a secret, in the server's order: servers based on the official Python SDK
    list Basic second, and reject it unless the client ID is in the body as well, which others reject.
    """
    methods = usable_methods(DEFAULT_METHODS if offered is None else offered)
    if AuthMethod.NONE in methods:
        return AuthMethod.NONE
    return next((method for method in methods if method.needs_secret), AuthMethod.NONE)


def authenticate(
    method: AuthMethod, client_id: str, *, secret: str = "", assertion: str = ""
) -> ClientAuthentication:
    """Return the headers and form fields that authenticate the client."""
    if method is AuthMethod.BASIC:
        return ClientAuthentication(headers=(("Authorization", basic_credentials(client_id, secret)),))
    if method is AuthMethod.POST:
        return ClientAuthentication(form=(("client_id", client_id), ("client_secret", secret)))
    if method is AuthMethod.PRIVATE_KEY:
        # RFC 7521, section 4.2: client_id is unnecessary, as it is the assertion's subject.
        return ClientAuthentication(
            form=(("client_assertion_type", ASSERTION_TYPE), ("client_assertion", assertion))
        )
    return ClientAuthentication(form=(("client_id", client_id),))


def basic_credentials(client_id: str, secret: str) -> str:
    """Return Basic credentials.

    RFC 6749, section 2.3.1: both parts are form-encoded first, so that a colon in the client ID is
    unambiguous.
    """
    pair = f"{quote_plus(client_id, safe='')}:{quote_plus(secret, safe='')}"
    return f"Basic {base64.b64encode(pair.encode('ascii')).decode('ascii')}"


def assertion_claims(client_id: str, audience: str, now: float, jti: str = "") -> JSONObject:
    """Return the claims of a `private_key_jwt` assertion. `audience` is the issuer."""
    issued = int(now)
    return {
        "iss": client_id,
        "sub": client_id,
        "aud": audience,
        "iat": issued,
        "exp": issued + ASSERTION_SECONDS,
        "jti": jti or str(uuid4()),
    }


def usable_methods(offered: Iterable[str]) -> tuple[AuthMethod, ...]:
    """Return the supported methods of a server's list, in its order."""
    return tuple(method for name in offered if (method := find_method(name)) is not None)


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


def _form(grant: Grant, **fields: str | None) -> Form:
    pairs = tuple((name, value) for name, value in fields.items() if value)
    return (("grant_type", grant.value), *pairs)

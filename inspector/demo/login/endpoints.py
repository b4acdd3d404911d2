"""Token, revocation and registration endpoints, with client authentication and faults.

Clients authenticate in one of four ways: `none`, `client_secret_basic`, `client_secret_post` or
`private_key_jwt`. Registration is dynamic client registration (RFC 7591).
"""

from __future__ import annotations

import base64
import binascii
import json
import secrets
import time
from collections.abc import AsyncIterator, Mapping
from typing import Any
from urllib.parse import unquote_plus, urlencode, urlsplit

import anyio
import anyio.lowlevel
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response, StreamingResponse

from inspector.demo.login import tokens
from inspector.demo.login.grants import Form, Grants, Reply
from inspector.demo.login.realm import (
    CODE,
    JWT_BEARER,
    METHODS,
    REFRESH,
    BadDocument,
    Client,
    Realm,
    is_loopback,
    is_redirect,
    jwks_of,
)
from inspector.demo.login.responses import NO_STORE, OAuthError, read_form
from inspector.demo.login.tokens import check, unchecked

ASSERTION_TYPE = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"
_SECRET_LIFETIME = 60
_SLOW_SECONDS = 120  # a slow reply begins with one space per second, which JSON allows
_BASIC = {"WWW-Authenticate": 'Basic realm="demo"'}


async def authenticate(realm: Realm, request: Request, form: Mapping[str, str]) -> Client:
    """Return the client that sent a request. Raises OAuthError: invalid_client."""
    method, client_id, secret = _credentials_of(request, form)
    try:
        client = await realm.resolve(client_id)
    except BadDocument as problem:
        raise _invalid_client(str(problem)) from None
    if client is None:
        raise _invalid_client("Unknown client_id.")
    if realm.faults.on("secret_refused"):
        raise _invalid_client("Invalid client credentials.", method)
    if method not in client.methods:
        raise _invalid_client(
            f"This client is registered for {' or '.join(client.methods)}, not {method}.", method
        )
    if method == "private_key_jwt":
        _check_assertion(realm, client, secret)
    elif method != "none" and not secrets.compare_digest(secret.encode(), client.secret.encode()):
        raise _invalid_client("The client secret is wrong.", method)
    return client


def _credentials_of(request: Request, form: Mapping[str, str]) -> tuple[str, str, str]:
    """Return the client's authentication method, id and proof. Exactly one method is allowed."""
    header = request.headers.get("authorization", "")
    presented: list[tuple[str, str, str]] = []
    if header:
        presented.append(("client_secret_basic", *_basic(header)))
    if "client_secret" in form:
        presented.append(("client_secret_post", form.get("client_id", ""), form["client_secret"]))
    if "client_assertion" in form:
        presented.append(("private_key_jwt", *_assertion_credentials(form)))
    if len(presented) > 1:
        raise OAuthError("invalid_request", "The request uses more than one client authentication method.")
    method, client_id, secret = presented[0] if presented else ("none", form.get("client_id", ""), "")
    if "client_id" in form and form["client_id"] != client_id:
        raise _invalid_client("client_id does not match the client credentials.", method)
    return method, client_id, secret


def _basic(header: str) -> tuple[str, str]:
    """RFC 6749, section 2.3.1: both halves are form-encoded before they are joined."""
    scheme, _, credentials = header.partition(" ")
    try:
        pair = base64.b64decode(credentials.strip(), validate=True).decode()
    except (binascii.Error, UnicodeDecodeError):
        pair = ""
    if scheme.lower() != "basic" or ":" not in pair:
        raise _invalid_client(
            "The Authorization header is not valid Basic authentication.", "client_secret_basic"
        )
    client_id, _, secret = pair.partition(":")
    return unquote_plus(client_id), unquote_plus(secret)


def _assertion_credentials(form: Mapping[str, str]) -> tuple[str, str]:
    if form.get("client_assertion_type") != ASSERTION_TYPE:
        raise _invalid_client("client_assertion_type is not jwt-bearer.", "private_key_jwt")
    subject = unchecked(form["client_assertion"]).get("sub")
    return str(subject), form["client_assertion"]


def _check_assertion(realm: Realm, client: Client, assertion: str) -> None:
    # RFC 7523bis requires the issuer as audience; many clients still use the token endpoint.
    claims = check(assertion, client.keys, audience=[realm.issuer, f"{realm.base}/token"], issuer=client.id)
    if claims is None or claims.get("sub") != client.id:
        raise _invalid_client("The client assertion is invalid.", "private_key_jwt")
    if not realm.replay_cache.is_new(f"{client.id} {claims.get('jti')}", claims["exp"]):
        raise _invalid_client("The client assertion was already used.", "private_key_jwt")


def _invalid_client(description: str, method: str = "none") -> OAuthError:
    headers = _BASIC if method == "client_secret_basic" else None
    return OAuthError("invalid_client", description, 401, headers)


class RegistrationEndpoint:
    def __init__(self, realm: Realm) -> None:
        self._realm = realm

    async def handle(self, request: Request) -> Response:
        faults = self._realm.faults
        if faults.on("no_registration"):
            return Response(status_code=404)
        if faults.on("closed_registration"):
            headers = {"WWW-Authenticate": 'Bearer realm="registration"'}
            return OAuthError(
                "invalid_token", "Registration requires an initial access token.", 401, headers
            ).response()
        try:
            client, document = self._registered(_document(await request.body()))
        except OAuthError as refusal:
            return refusal.response()
        self._realm.clients.add(self._realm.issuer, client)
        return JSONResponse(
            self._with_faults(document), 200 if faults.on("registered_200") else 201, headers=NO_STORE
        )

    def _registered(self, requested: Mapping[str, Any]) -> tuple[Client, dict[str, Any]]:
        redirects = requested.get("redirect_uris")
        if not isinstance(redirects, list) or not redirects or not all(map(is_redirect, redirects)):
            raise OAuthError("invalid_redirect_uri", "redirect_uris must be an array of absolute URIs.")
        redirects = self._allowed(redirects)
        method = self._method(requested)
        keys = jwks_of(requested)
        if method == "private_key_jwt" and not keys:
            raise OAuthError(
                "invalid_client_metadata", "private_key_jwt requires jwks with at least one key."
            )
        grants = tuple(map(str, _list(requested.get("grant_types")))) or (CODE,)
        if not set(grants) <= {CODE, REFRESH} or CODE not in grants:
            raise OAuthError(
                "invalid_client_metadata",
                "grant_types must include authorization_code and may include refresh_token.",
            )
        has_secret = method.startswith("client_secret")
        client = Client(
            id=f"client-{secrets.token_hex(6)}",
            name=str(requested.get("client_name") or "Unnamed app"),
            redirects=tuple(redirects),
            methods=(method,),
            secret=secrets.token_urlsafe(24) if has_secret else "",
            grants=grants,
            keys=keys,
        )
        return client, self._document_of(requested, client)

    def _allowed(self, redirects: list[str]) -> list[str]:
        for redirect in redirects:
            self._check_redirect(redirect)
        if not self._realm.faults.on("localhost_only"):
            return redirects
        allowed = [uri for uri in redirects if not is_loopback(uri) or urlsplit(uri).hostname == "localhost"]
        if not allowed:
            raise OAuthError("invalid_redirect_uri", "The redirect URI must use localhost.")
        return allowed

    def _check_redirect(self, redirect: str) -> None:
        faults, parts = self._realm.faults, urlsplit(redirect)
        on_loopback = is_loopback(redirect)
        if on_loopback and faults.on("no_loopback"):
            raise OAuthError("invalid_redirect_uri", "Loopback redirect URIs are not allowed.")
        if parts.scheme == "http" and not on_loopback and not faults.on("takes_any_redirect"):
            raise OAuthError("invalid_redirect_uri", "http is only allowed for loopback redirect URIs.")
        if parts.scheme in ("javascript", "data", "file", "vbscript"):
            raise OAuthError("invalid_redirect_uri", f"The scheme {parts.scheme} is not allowed.")

    def _method(self, requested: Mapping[str, Any]) -> str:
        method = str(requested.get("token_endpoint_auth_method") or "client_secret_basic")
        if method not in METHODS:
            raise OAuthError("invalid_client_metadata", f"Supported methods: {', '.join(METHODS)}.")
        if method == "none" and self._realm.faults.on("secrets_only"):
            return "client_secret_basic"
        return method

    def _document_of(self, requested: Mapping[str, Any], client: Client) -> dict[str, Any]:
        known = ("client_uri", "logo_uri", "scope", "contacts", "software_id", "software_version", "jwks")
        document: dict[str, Any] = {
            "client_id": client.id,
            "client_id_issued_at": int(time.time()),
            "client_name": client.name,
            "redirect_uris": list(client.redirects),
            "grant_types": list(client.grants),
            "response_types": ["code"],
            "token_endpoint_auth_method": client.methods[0],
            "application_type": requested.get("application_type", "web"),
            **{name: requested[name] for name in known if name in requested},
        }
        if client.secret:
            document |= {"client_secret": client.secret, "client_secret_expires_at": 0}
        return document

    def _with_faults(self, document: dict[str, Any]) -> dict[str, Any]:
        faults = self._realm.faults
        if faults.on("native_as_web"):
            document["application_type"] = "web"
        if faults.on("no_client_id"):
            del document["client_id"]
        if faults.on("other_method"):
            document["token_endpoint_auth_method"] = "client_secret_jwt"  # noqa: S105, a name
        if faults.on("drops_redirects"):
            del document["redirect_uris"]
        if faults.on("changes_redirects"):
            document["redirect_uris"] = ["http://127.0.0.1/elsewhere"]
        if faults.on("drops_refresh"):
            document["grant_types"] = [CODE]
        if faults.on("secret_expires"):
            document.setdefault("client_secret", secrets.token_urlsafe(24))
            document["client_secret_expires_at"] = int(time.time()) + _SECRET_LIFETIME
        return document


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def _document(body: bytes) -> dict[str, Any]:
    try:
        document = json.loads(body)
    except (ValueError, RecursionError):
        document = None
    if not isinstance(document, dict):
        raise OAuthError("invalid_client_metadata", "The body must be a JSON object.")
    return document


class TokenEndpoint:
    def __init__(self, realm: Realm, grants: Grants) -> None:
        self._realm = realm
        self._grants = grants

    async def handle(self, request: Request) -> Response:
        faults = self._realm.faults
        if faults.on("token_redirects") and "elsewhere" not in request.query_params:
            return RedirectResponse(f"{self._realm.base}/token?elsewhere=1", 307)
        try:
            form = await read_form(request)
            client = await self._client(request, form)
            reply = await self._grants.exchange(form, client, self._key_of(request))
        except OAuthError as refusal:
            return refusal.response(200 if faults.on("token_error_200") else 0)
        if faults.on("token_error_200"):
            return OAuthError("invalid_grant", "The authorization code has expired.", 200).response()
        return self._respond(reply)

    async def revoke(self, request: Request) -> Response:
        try:
            form = await read_form(request)
            client = await authenticate(self._realm, request, form)
        except OAuthError as refusal:
            return refusal.response()
        self._realm.tokens.revoke(form.get("token", ""), client.id)
        return Response(headers=NO_STORE)

    async def _client(self, request: Request, form: Form) -> Client | None:
        """Authenticate the client; None for a workload, which its assertion identifies."""
        is_anonymous = "client_id" not in form and "authorization" not in request.headers
        if form.get("grant_type") == JWT_BEARER and is_anonymous and "client_assertion" not in form:
            return None
        return await authenticate(self._realm, request, form)

    def _key_of(self, request: Request) -> str:
        """Return the thumbprint of the key to bind the token to; "" for a bearer token."""
        realm = self._realm
        if not realm.requires_dpop or realm.faults.on("bearer_for_proof"):
            return ""
        nonce = realm.nonce if realm.faults.on("dpop_nonce") else ""
        try:
            return tokens.verify(
                request.headers.getlist("dpop"),
                "POST",
                f"{realm.base}/token",
                replay_cache=realm.replay_cache,
                nonce=nonce,
            )
        except tokens.InvalidProof as problem:
            raise OAuthError("invalid_dpop_proof", str(problem)) from None
        except tokens.NonceRequired:
            headers = {"DPoP-Nonce": nonce}
            raise OAuthError(
                "use_dpop_nonce", "The DPoP proof must contain the server's nonce.", 400, headers
            ) from None

    def _respond(self, reply: Reply) -> Response:
        faults = self._realm.faults
        if faults.on("no_access_token"):
            reply.pop("access_token", None)
        if faults.on("no_token_type"):
            del reply["token_type"]
        if faults.on("odd_token_type"):
            reply["token_type"] = "mac"  # noqa: S105, a kind
        if faults.on("expires_as_text"):
            reply["expires_in"] = str(reply["expires_in"])
        headers = {} if faults.on("may_be_cached") else NO_STORE
        if faults.on("token_html"):
            return HTMLResponse("<!doctype html><title>Welcome</title><p>You are logged in.", headers=headers)
        if faults.on("token_form"):
            body = urlencode(reply)
            return Response(body, headers=headers, media_type="application/x-www-form-urlencoded")
        whole = JSONResponse(reply, headers=headers)
        if faults.on("token_slow"):
            return StreamingResponse(
                _slowly(bytes(whole.body)), headers=headers, media_type="application/json"
            )
        if faults.on("token_endless"):
            return StreamingResponse(endless(), headers=headers, media_type="application/json")
        return whole


async def _slowly(body: bytes) -> AsyncIterator[bytes]:
    for _ in range(_SLOW_SECONDS):
        yield b" "
        await anyio.sleep(1)
    yield body


async def endless() -> AsyncIterator[bytes]:
    """Yield JSON that begins and never ends, as fast as it is read."""
    yield b'{"note": "'
    while True:
        yield b"x" * 65536
        await anyio.lowlevel.checkpoint()

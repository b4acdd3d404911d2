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
from inspector.demo.login.responses import NO_STORE, Refusal, read_form
from inspector.demo.login.tokens import check, unchecked

ASSERTION_TYPE = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"
_BASIC = {"WWW-Authenticate": 'Basic realm="demo"'}


async def authenticate(realm: Realm, request: Request, form: Mapping[str, str]) -> Client:
    """Return the client that sent a request. Raises Refusal: invalid_client."""
    method, client_id, secret = _claimed(request, form)
    try:
        client = await realm.resolve(client_id)
    except BadDocument as problem:
        raise _unknown(str(problem)) from None
    if client is None:
        raise _unknown("Unknown client_id.")
    if realm.bench.on("secret_refused"):
        raise _unknown("Invalid client credentials.", method)
    if method not in client.methods:
        raise _unknown(f"This client is registered for {' or '.join(client.methods)}, not {method}.", method)
    if method == "private_key_jwt":
        _check_assertion(realm, client, secret)
    elif method != "none" and not secrets.compare_digest(secret.encode(), client.secret.encode()):
        raise _unknown("The client secret is wrong.", method)
    return client


def _claimed(request: Request, form: Mapping[str, str]) -> tuple[str, str, str]:
    """Return the client's authentication method, id and proof. Exactly one method is allowed."""
    header = request.headers.get("authorization", "")
    found: list[tuple[str, str, str]] = []
    if header:
        found.append(("client_secret_basic", *_basic(header)))
    if "client_secret" in form:
        found.append(("client_secret_post", form.get("client_id", ""), form["client_secret"]))
    if "client_assertion" in form:
        found.append(("private_key_jwt", *_asserted(form)))
    if len(found) > 1:
        raise Refusal("invalid_request", "The request uses more than one client authentication method.")
    method, client_id, secret = found[0] if found else ("none", form.get("client_id", ""), "")
    if "client_id" in form and form["client_id"] != client_id:
        raise _unknown("client_id does not match the client credentials.", method)
    return method, client_id, secret


def _basic(header: str) -> tuple[str, str]:
    """RFC 6749, section 2.3.1: both halves are form-encoded before they are joined."""
    scheme, _, credentials = header.partition(" ")
    try:
        pair = base64.b64decode(credentials.strip(), validate=True).decode()
    except (binascii.Error, UnicodeDecodeError):
        pair = ""
    if scheme.lower() != "basic" or ":" not in pair:
        raise _unknown("The Authorization header is not valid Basic authentication.", "client_secret_basic")
    client_id, _, secret = pair.partition(":")
    return unquote_plus(client_id), unquote_plus(secret)


def _asserted(form: Mapping[str, str]) -> tuple[str, str]:
    if form.get("client_assertion_type") != ASSERTION_TYPE:
        raise _unknown("client_assertion_type is not jwt-bearer.", "private_key_jwt")
    subject = unchecked(form["client_assertion"]).get("sub")
    return str(subject), form["client_assertion"]


def _check_assertion(realm: Realm, client: Client, assertion: str) -> None:
    # RFC 7523bis requires the issuer as audience; many clients still use the token endpoint.
    claims = check(assertion, client.keys, audience=[realm.issuer, f"{realm.base}/token"], issuer=client.id)
    if claims is None or claims.get("sub") != client.id:
        raise _unknown("The client assertion is invalid.", "private_key_jwt")
    if not realm.seen.is_new(f"{client.id} {claims.get('jti')}", claims["exp"]):
        raise _unknown("The client assertion was already used.", "private_key_jwt")


def _unknown(description: str, method: str = "none") -> Refusal:
    headers = _BASIC if method == "client_secret_basic" else None
    return Refusal("invalid_client", description, 401, headers)


_SECRET_LIFE = 60


class Register:
    def __init__(self, realm: Realm) -> None:
        self._realm = realm

    async def handle(self, request: Request) -> Response:
        bench = self._realm.bench
        if bench.on("no_registration"):
            return Response(status_code=404)
        if bench.on("closed_registration"):
            headers = {"WWW-Authenticate": 'Bearer realm="registration"'}
            return Refusal(
                "invalid_token", "Registration requires an initial access token.", 401, headers
            ).response()
        try:
            client, document = self._registered(_document(await request.body()))
        except Refusal as refusal:
            return refusal.response()
        self._realm.clients.add(self._realm.issuer, client)
        return JSONResponse(
            self._spoilt(document), 200 if bench.on("registered_200") else 201, headers=NO_STORE
        )

    def _registered(self, requested: Mapping[str, Any]) -> tuple[Client, dict[str, Any]]:
        redirects = requested.get("redirect_uris")
        if not isinstance(redirects, list) or not redirects or not all(map(is_redirect, redirects)):
            raise Refusal("invalid_redirect_uri", "redirect_uris must be an array of absolute URIs.")
        redirects = self._allowed(redirects)
        method = self._method(requested)
        keys = jwks_of(requested)
        if method == "private_key_jwt" and not keys:
            raise Refusal("invalid_client_metadata", "private_key_jwt requires jwks with at least one key.")
        grants = tuple(map(str, _list(requested.get("grant_types")))) or (CODE,)
        if not set(grants) <= {CODE, REFRESH} or CODE not in grants:
            raise Refusal(
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
        if not self._realm.bench.on("localhost_only"):
            return redirects
        left = [uri for uri in redirects if not is_loopback(uri) or urlsplit(uri).hostname == "localhost"]
        if not left:
            raise Refusal("invalid_redirect_uri", "The redirect URI must use localhost.")
        return left

    def _check_redirect(self, redirect: str) -> None:
        bench, parts = self._realm.bench, urlsplit(redirect)
        here = is_loopback(redirect)
        if here and bench.on("no_loopback"):
            raise Refusal("invalid_redirect_uri", "Loopback redirect URIs are not allowed.")
        if parts.scheme == "http" and not here and not bench.on("takes_any_redirect"):
            raise Refusal("invalid_redirect_uri", "http is only allowed for loopback redirect URIs.")
        if parts.scheme in ("javascript", "data", "file", "vbscript"):
            raise Refusal("invalid_redirect_uri", f"The scheme {parts.scheme} is not allowed.")

    def _method(self, requested: Mapping[str, Any]) -> str:
        method = str(requested.get("token_endpoint_auth_method") or "client_secret_basic")
        if method not in METHODS:
            raise Refusal("invalid_client_metadata", f"Supported methods: {', '.join(METHODS)}.")
        if method == "none" and self._realm.bench.on("secrets_only"):
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

    def _spoilt(self, document: dict[str, Any]) -> dict[str, Any]:
        bench = self._realm.bench
        if bench.on("native_as_web"):
            document["application_type"] = "web"
        if bench.on("no_client_id"):
            del document["client_id"]
        if bench.on("other_method"):
            document["token_endpoint_auth_method"] = "client_secret_jwt"  # noqa: S105, a name
        if bench.on("drops_redirects"):
            del document["redirect_uris"]
        if bench.on("changes_redirects"):
            document["redirect_uris"] = ["http://127.0.0.1/elsewhere"]
        if bench.on("drops_refresh"):
            document["grant_types"] = [CODE]
        if bench.on("secret_expires"):
            document.setdefault("client_secret", secrets.token_urlsafe(24))
            document["client_secret_expires_at"] = int(time.time()) + _SECRET_LIFE
        return document


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def _document(body: bytes) -> dict[str, Any]:
    try:
        document = json.loads(body)
    except (ValueError, RecursionError):
        document = None
    if not isinstance(document, dict):
        raise Refusal("invalid_client_metadata", "The body must be a JSON object.")
    return document


_SLOW = 120
"""How many seconds, and bytes, the slow reply begins with; JSON may begin with any number of blanks."""


class TokenEndpoint:
    def __init__(self, realm: Realm, grants: Grants) -> None:
        self._realm = realm
        self._grants = grants

    async def handle(self, request: Request) -> Response:
        bench = self._realm.bench
        if bench.on("token_redirects") and "elsewhere" not in request.query_params:
            return RedirectResponse(f"{self._realm.base}/token?elsewhere=1", 307)
        try:
            form = await read_form(request)
            client = await self._client(request, form)
            reply = await self._grants.exchange(form, client, self._key_of(request))
        except Refusal as refusal:
            return refusal.response(200 if bench.on("token_error_200") else 0)
        if bench.on("token_error_200"):
            return Refusal("invalid_grant", "The authorization code has expired.", 200).response()
        return self._respond(reply)

    async def revoke(self, request: Request) -> Response:
        try:
            form = await read_form(request)
            client = await authenticate(self._realm, request, form)
        except Refusal as refusal:
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
        if not realm.wants_proof or realm.bench.on("bearer_for_proof"):
            return ""
        nonce = realm.nonce if realm.bench.on("dpop_nonce") else ""
        try:
            return tokens.verify(
                request.headers.getlist("dpop"), "POST", f"{realm.base}/token", seen=realm.seen, nonce=nonce
            )
        except tokens.BadProof as problem:
            raise Refusal("invalid_dpop_proof", str(problem)) from None
        except tokens.WantsNonce:
            headers = {"DPoP-Nonce": nonce}
            raise Refusal(
                "use_dpop_nonce", "The DPoP proof must contain the server's nonce.", 400, headers
            ) from None

    def _respond(self, reply: Reply) -> Response:
        bench = self._realm.bench
        if bench.on("no_access_token"):
            reply.pop("access_token", None)
        if bench.on("no_token_type"):
            del reply["token_type"]
        if bench.on("odd_token_type"):
            reply["token_type"] = "mac"  # noqa: S105, a kind
        if bench.on("expires_as_text"):
            reply["expires_in"] = str(reply["expires_in"])
        headers = {} if bench.on("may_be_cached") else NO_STORE
        if bench.on("token_html"):
            return HTMLResponse("<!doctype html><title>Welcome</title><p>You are logged in.", headers=headers)
        if bench.on("token_form"):
            body = urlencode(reply)
            return Response(body, headers=headers, media_type="application/x-www-form-urlencoded")
        whole = JSONResponse(reply, headers=headers)
        if bench.on("token_slow"):
            return StreamingResponse(
                _slowly(bytes(whole.body)), headers=headers, media_type="application/json"
            )
        if bench.on("token_endless"):
            return StreamingResponse(endless(), headers=headers, media_type="application/json")
        return whole


async def _slowly(body: bytes) -> AsyncIterator[bytes]:
    for _ in range(_SLOW):
        yield b" "
        await anyio.sleep(1)
    yield body


async def endless() -> AsyncIterator[bytes]:
    """Yield JSON that begins and never ends, as fast as it is read."""
    yield b'{"note": "'
    while True:
        yield b"x" * 65536
        await anyio.lowlevel.checkpoint()

"""Dynamic client registration (RFC 7591)."""

from __future__ import annotations

import json
import secrets
import time
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from inspector.demo.login.clients import CODE, METHODS, REFRESH, Client, is_loopback, is_redirect, jwks_of
from inspector.demo.login.realm import Realm
from inspector.demo.login.refusal import NO_STORE, Refusal

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
            return Refusal("invalid_token", "Registration needs an initial token.", 401, headers).response()
        try:
            client, document = self._registered(_document(await request.body()))
        except Refusal as refusal:
            return refusal.response()
        self._realm.clients.add(self._realm.issuer, client)
        return JSONResponse(
            self._spoilt(document), 200 if bench.on("registered_200") else 201, headers=NO_STORE
        )

    def _registered(self, asked: Mapping[str, Any]) -> tuple[Client, dict[str, Any]]:
        redirects = asked.get("redirect_uris")
        if not isinstance(redirects, list) or not redirects or not all(map(is_redirect, redirects)):
            raise Refusal("invalid_redirect_uri", "redirect_uris must be a list of absolute addresses.")
        redirects = self._allowed(redirects)
        method = self._method(asked)
        keys = jwks_of(asked)
        if method == "private_key_jwt" and not keys:
            raise Refusal("invalid_client_metadata", "private_key_jwt needs jwks with a key.")
        grants = tuple(map(str, _list(asked.get("grant_types")))) or (CODE,)
        if not set(grants) <= {CODE, REFRESH} or CODE not in grants:
            raise Refusal("invalid_client_metadata", "grant_types can be authorization_code, refresh_token.")
        has_secret = method.startswith("client_secret")
        client = Client(
            id=f"client-{secrets.token_hex(6)}",
            name=str(asked.get("client_name") or "An unnamed app"),
            redirects=tuple(redirects),
            methods=(method,),
            secret=secrets.token_urlsafe(24) if has_secret else "",
            grants=grants,
            keys=keys,
        )
        return client, self._document_of(asked, client)

    def _allowed(self, redirects: list[str]) -> list[str]:
        for redirect in redirects:
            self._check_redirect(redirect)
        if not self._realm.bench.on("localhost_only"):
            return redirects
        left = [uri for uri in redirects if not is_loopback(uri) or urlsplit(uri).hostname == "localhost"]
        if not left:
            raise Refusal("invalid_redirect_uri", "The redirect address must be on localhost.")
        return left

    def _check_redirect(self, redirect: str) -> None:
        bench, parts = self._realm.bench, urlsplit(redirect)
        here = is_loopback(redirect)
        if here and bench.on("no_loopback"):
            raise Refusal("invalid_redirect_uri", "Redirects to your own machine are not allowed.")
        if parts.scheme == "http" and not here and not bench.on("takes_any_redirect"):
            raise Refusal("invalid_redirect_uri", "http is for redirects to your own machine only.")
        if parts.scheme in ("javascript", "data", "file", "vbscript"):
            raise Refusal("invalid_redirect_uri", f"The scheme {parts.scheme} is not allowed.")

    def _method(self, asked: Mapping[str, Any]) -> str:
        method = str(asked.get("token_endpoint_auth_method") or "client_secret_basic")
        if method not in METHODS:
            raise Refusal("invalid_client_metadata", f"Known methods: {', '.join(METHODS)}.")
        if method == "none" and self._realm.bench.on("secrets_only"):
            return "client_secret_basic"
        return method

    def _document_of(self, asked: Mapping[str, Any], client: Client) -> dict[str, Any]:
        known = ("client_uri", "logo_uri", "scope", "contacts", "software_id", "software_version", "jwks")
        document: dict[str, Any] = {
            "client_id": client.id,
            "client_id_issued_at": int(time.time()),
            "client_name": client.name,
            "redirect_uris": list(client.redirects),
            "grant_types": list(client.grants),
            "response_types": ["code"],
            "token_endpoint_auth_method": client.methods[0],
            "application_type": asked.get("application_type", "web"),
            **{name: asked[name] for name in known if name in asked},
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

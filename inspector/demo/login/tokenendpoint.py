"""The token and the revocation endpoint: who asks, is there a proof, what comes back, how it is spoilt."""

from __future__ import annotations

from collections.abc import AsyncIterator
from urllib.parse import urlencode

import anyio
import anyio.lowlevel
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response, StreamingResponse

from inspector.demo.login import dpop
from inspector.demo.login.clientauth import authenticate
from inspector.demo.login.clients import JWT_BEARER, Client
from inspector.demo.login.grants import Form, Grants, Reply
from inspector.demo.login.realm import Realm
from inspector.demo.login.refusal import NO_STORE, Refusal, read_form

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
            return Refusal("invalid_grant", "The code has run out.", 200).response()
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
            return dpop.verify(
                request.headers.getlist("dpop"), "POST", f"{realm.base}/token", seen=realm.seen, nonce=nonce
            )
        except dpop.BadProof as problem:
            raise Refusal("invalid_dpop_proof", str(problem)) from None
        except dpop.WantsNonce:
            headers = {"DPoP-Nonce": nonce}
            raise Refusal("use_dpop_nonce", "The proof needs our nonce.", 400, headers) from None

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

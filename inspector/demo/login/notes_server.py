"""The protected notes server on the SDK, and the gate in front of the SDK's bearer check.

The SDK decides whether a token is valid. It does not support scopes per tool, DPoP, or a scope in the
challenge. So the gate reads the call, turns a proven DPoP request into a bearer request, and rewrites the
challenge of the SDK's 401.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any
from urllib.parse import parse_qs, urlsplit

import mcp_types as types
from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.auth.provider import AccessToken, TokenVerifier
from mcp.server.lowlevel import Server
from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

import inspector
from inspector.demo.login import tokens
from inspector.demo.login.metadata import RESOURCE_PATH, on_localhost
from inspector.demo.login.realm import READ, SHARE, WRITE, Realm
from inspector.demo.login.tokens import ALGORITHMS, Grant
from inspector.demo.toolbox import Call, Outcome, Toolbox, failure, schema, structured, text, tool

REQUIRED_SCOPES: dict[str, str] = {"read_notes": READ, "write_note": WRITE}
"""The scope that a tool requires; the others need only a valid token."""

_MAX_BODY_SIZE = 1024 * 1024
_MAX_NOTES = 100


class Gate:
    """ASGI middleware around the whole app; only acts on the MCP endpoint."""

    def __init__(self, app: ASGIApp, realm: Realm, verifier: Verifier) -> None:
        self._app = app
        self._realm = realm
        self._verifier = verifier
        self._path = urlsplit(realm.resource).path

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["path"] != self._path:
            await self._app(scope, receive, send)
            return
        body = await _read_body(receive)
        if body is None:
            await PlainTextResponse("The body is larger than 1 MiB.", 413)(scope, receive, send)
            return
        response = self._response(scope, _message(body))
        if response is not None:
            await response(scope, receive, send)
        else:
            await self._app(scope, _replay(body, receive), self._rewriting_send(scope, send))

    def _response(self, scope: Scope, message: dict[str, Any]) -> Response | None:
        """Return the gate's own response; None lets the request through, with its token if any."""
        scheme, token = self._credentials(scope)
        if not token:
            return self._without_token(scope, message)
        if self._realm.requires_dpop or scheme == "dpop":
            refused = self._check_proof(scope, scheme, token)
            if refused is not None:
                return refused
        grant = self._verifier.grant(token)
        if grant is None and self._realm.faults.on("codes_swapped"):
            challenge = self._challenge([("error", "invalid_token")])
            return Response(status_code=403, headers={"WWW-Authenticate": challenge})
        if grant is not None:
            missing = self._missing(message, grant)
            if missing:
                return self._insufficient(missing)
        _set_bearer_token(scope, token)
        return None

    def _credentials(self, scope: Scope) -> tuple[str, str]:
        scheme, _, token = Headers(scope=scope).get("authorization", "").partition(" ")
        if scheme.lower() in ("bearer", "dpop") and token.strip():
            return scheme.lower(), token.strip()
        if self._realm.faults.on("query_token"):
            values = parse_qs(scope["query_string"].decode("latin-1")).get("access_token", [""])
            return "bearer", values[0]
        return "", ""

    def _without_token(self, scope: Scope, message: dict[str, Any]) -> Response | None:
        faults = self._realm.faults
        if faults.on("crash_without_token"):
            return PlainTextResponse("TypeError: cannot read property 'split' of undefined", 500)
        if faults.on("forbidden_without_token"):
            return PlainTextResponse("Forbidden", 403)
        if faults.on("refusal_with_200"):
            error = {"code": -32001, "message": "Unauthorized"}
            return JSONResponse({"jsonrpc": "2.0", "id": message.get("id"), "error": error})
        is_open = faults.on("lists_are_open") and message.get("method") == "tools/list"
        if is_open or (faults.on("get_is_open") and scope["method"] != "POST"):
            _set_bearer_token(scope, self._realm.guest)
        return None

    def _check_proof(self, scope: Scope, scheme: str, token: str) -> Response | None:
        realm = self._realm
        grant = self._verifier.grant(token)
        if grant is None or realm.faults.on("bearer_for_proof"):
            return None  # The SDK rejects the first; the second has nothing to prove.
        if not grant.jkt or scheme != "dpop":
            return self._reject_proof(
                "invalid_token", "The access token must be DPoP-bound and sent with a DPoP proof."
            )
        headers, nonce = Headers(scope=scope), realm.nonce if realm.faults.on("dpop_nonce") else ""
        try:
            key = tokens.verify(
                headers.getlist("dpop"),
                scope["method"],
                realm.resource,
                replay_cache=realm.replay_cache,
                nonce=nonce,
                access_token=token,
            )
        except tokens.InvalidProof as problem:
            return self._reject_proof("invalid_dpop_proof", str(problem))
        except tokens.NonceRequired:
            refusal = self._reject_proof("use_dpop_nonce", "The DPoP proof must contain the server's nonce.")
            refusal.headers["DPoP-Nonce"] = nonce
            return refusal
        return (
            None
            if key == grant.jkt
            else self._reject_proof("invalid_token", "The access token is bound to another key.")
        )

    def _reject_proof(self, error: str, description: str) -> Response:
        challenge = self._challenge([("error", error), ("error_description", description)])
        return Response(status_code=401, headers={"WWW-Authenticate": challenge})

    def _missing(self, message: dict[str, Any], grant: Grant) -> str:
        """Return the scope that this call lacks, or ""."""
        if message.get("method") != "tools/call":
            return ""
        params = message.get("params")
        name = params.get("name") if isinstance(params, dict) else None
        needed = REQUIRED_SCOPES.get(str(name), "")
        if needed == WRITE and self._realm.faults.on("step_up_always"):
            return WRITE
        if needed and needed not in grant.scopes:
            return needed
        if needed == WRITE and self._realm.faults.on("piecemeal") and SHARE not in grant.scopes:
            return SHARE
        return ""

    def _insufficient(self, missing: str) -> Response:
        faults = self._realm.faults
        if faults.on("bare_403"):
            return PlainTextResponse("Forbidden", 403)
        description = f"This tool requires the scope {missing}."
        parts = [("error", "insufficient_scope"), ("error_description", description)]
        if not faults.on("step_up_no_scope"):
            parts += [("scope", missing), ("resource_metadata", self._metadata_url())]
        return JSONResponse(
            {"error": "insufficient_scope", "error_description": description},
            401 if faults.on("codes_swapped") else 403,
            {"WWW-Authenticate": self._challenge(parts)},
        )

    def _rewriting_send(self, scope: Scope, send: Send) -> Send:
        has_token = bool(Headers(scope=scope).get("authorization"))

        async def rewrite(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                if message["status"] == 401:
                    self._rewrite_challenge(headers, has_token=has_token)
                if message["status"] == 404 and self._realm.faults.on("session_crash"):
                    message["status"] = 500
            await send(message)

        return rewrite

    def _rewrite_challenge(self, headers: MutableHeaders, *, has_token: bool) -> None:
        faults = self._realm.faults
        del headers["www-authenticate"]
        if faults.on("no_challenge"):
            return
        if faults.on("basic_challenge"):
            headers["WWW-Authenticate"] = 'Basic realm="notes"'
            return
        parts = [("error", "invalid_token"), ("error_description", "The access token is invalid or expired.")]
        parts = parts if has_token else []
        if not faults.first("no_resource_metadata", "no_prm"):
            parts.append(("resource_metadata", self._metadata_url()))
        challenge = self._challenge([*parts, *self._scope_parts()])
        headers["WWW-Authenticate"] = challenge[:-1] if faults.on("broken_challenge") else challenge

    def _scope_parts(self) -> list[tuple[str, str]]:
        faults = self._realm.faults
        if faults.on("no_scopes"):
            return []
        if faults.on("empty_scope"):
            return [("scope", "")]
        if faults.on("repeated_scope"):
            return [("scope", READ), ("scope", WRITE)]
        return [("scope", f"{READ} offline_access" if faults.on("offline_in_challenge") else READ)]

    def _challenge(self, parts: Iterable[tuple[str, str]]) -> str:
        requires_dpop = self._realm.requires_dpop
        text = ", ".join(f'{name}="{value}"' for name, value in parts)
        if requires_dpop:
            text = ", ".join(filter(None, (f'algs="{" ".join(ALGORITHMS)}"', text)))
        return f"{'DPoP' if requires_dpop else 'Bearer'} {text}".strip()

    def _metadata_url(self) -> str:
        faults, path = self._realm.faults, f"{RESOURCE_PATH}{self._path}"
        if faults.on("relative_metadata_url"):
            return path
        url = f"{self._realm.origin}{path}"
        if faults.on("foreign_metadata_url"):
            return on_localhost(url)
        return f"{url}?dead=1" if faults.on("prm_dead_link") else url


def _set_bearer_token(scope: Scope, token: str) -> None:
    """Replace the request's credentials with this bearer token."""
    others = [(name, value) for name, value in scope["headers"] if name != b"authorization"]
    scope["headers"] = [*others, (b"authorization", f"Bearer {token}".encode("latin-1"))]


async def _read_body(receive: Receive) -> bytes | None:
    """Return the whole body, or None if it is too large."""
    body = b""
    while True:
        message = await receive()
        chunk: bytes = message.get("body", b"")
        body += chunk
        if len(body) > _MAX_BODY_SIZE:
            return None
        if not message.get("more_body"):
            return body


def _replay(body: bytes, receive: Receive) -> Receive:
    """Return a `receive` that replays the body, then continues with the original."""
    pending = [body]

    async def replay() -> Message:
        if pending:
            return {"type": "http.request", "body": pending.pop(), "more_body": False}
        return await receive()

    return replay


def _message(body: bytes) -> dict[str, Any]:
    try:
        message = json.loads(body) if body else {}
    except (ValueError, RecursionError):
        return {}
    return message if isinstance(message, dict) else {}


class Verifier(TokenVerifier):
    """Token verifier for the SDK."""

    def __init__(self, realm: Realm) -> None:
        self._realm = realm

    def grant(self, token: str) -> Grant | None:
        """Return the grant behind a token, with faults applied."""
        realm = self._realm
        if realm.faults.on("token_refused"):
            return None
        audiences = [realm.resource, f"{realm.resource}/", realm.origin, f"{realm.origin}/"]
        found = realm.tokens.check(token, audiences)
        if found is None and realm.faults.on("any_token"):
            return Grant("anybody", "anybody", tuple(realm.scopes), realm.resource)
        return found

    async def verify_token(self, token: str) -> AccessToken | None:
        if token == self._realm.guest:
            return AccessToken(token=token, client_id="guest", scopes=[], subject="guest")
        grant = self.grant(token)
        if grant is None:
            return None
        return AccessToken(
            token=token,
            client_id=grant.client_id,
            scopes=list(grant.scopes),
            resource=grant.resource,
            subject=grant.subject,
            claims={"iss": self._realm.issuer},
        )


def build() -> Server[Any]:
    """Build the notes server. All users share the notes, which last as long as the process."""
    notes = ["Buy apples", "The engine weaves algebraic patterns"]

    async def read_notes(call: Call) -> Outcome:
        return structured({"notes": notes})

    async def write_note(call: Call) -> Outcome:
        if len(notes) >= _MAX_NOTES:
            return failure(f"Limit reached: at most {_MAX_NOTES} notes.")
        notes.append(call.arguments["text"])
        return text(f"Note added by {_user(call).subject}. There are now {len(notes)} notes.")

    note = {"type": "string", "minLength": 1, "maxLength": 500, "description": "Text of the note."}
    changes = types.ToolAnnotations(read_only_hint=False, destructive_hint=False, open_world_hint=False)
    toolbox = Toolbox(
        [
            tool("whoami", "Who am I", "Shows who is logged in, with which client and scopes.", _whoami),
            tool("read_notes", "Read notes", f"Lists all notes. Requires the scope {READ}.", read_notes),
            tool(
                "write_note",
                "Write note",
                f"Adds a note. Requires the scope {WRITE}, which the first login does not request.",
                write_note,
                schema(["text"], text=note),
                annotations=changes,
            ),
        ]
    )
    return Server(
        "login",
        version=inspector.__version__,
        title="Notes with login",
        description="A few notes that can only be read after login.",
        instructions="whoami and read_notes work after login; write_note requires an additional scope.",
        on_list_tools=toolbox.list_tools,
        on_call_tool=toolbox.call_tool,
    )


async def _whoami(call: Call) -> Outcome:
    user = _user(call)
    return structured({"person": user.subject, "client": user.client_id, "scopes": user.scopes})


def _user(call: Call) -> AccessToken:
    request = call.context.request
    assert isinstance(request, Request)
    assert isinstance(request.user, AuthenticatedUser)
    return request.user.access_token

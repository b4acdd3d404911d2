"""The protected MCP server: a few notes, on the SDK, behind the SDK's own bearer check."""

from __future__ import annotations

from typing import Any

import mcp_types as types
from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.auth.provider import AccessToken, TokenVerifier
from mcp.server.lowlevel import Server
from starlette.requests import Request

import inspector
from inspector.demo.login.realm import READ, WRITE, Realm
from inspector.demo.login.tokens import Grant
from inspector.demo.toolbox import Call, Outcome, Toolbox, failure, schema, structured, text, tool

NEEDS: dict[str, str] = {"read_notes": READ, "write_note": WRITE}
"""Which scope a tool needs; any token will do for the others."""

_MOST_NOTES = 100


class Verifier(TokenVerifier):
    """Token verifier for the SDK."""

    def __init__(self, realm: Realm) -> None:
        self._realm = realm

    def grant(self, token: str) -> Grant | None:
        """Return the grant behind a token, with faults applied."""
        realm = self._realm
        if realm.bench.on("token_refused"):
            return None
        audiences = [realm.resource, f"{realm.resource}/", realm.origin, f"{realm.origin}/"]
        found = realm.tokens.check(token, audiences)
        if found is None and realm.bench.on("any_token"):
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
        if len(notes) >= _MOST_NOTES:
            return failure(f"There is no room for more than {_MOST_NOTES} notes.")
        notes.append(call.arguments["text"])
        return text(f"Written by {_user(call).subject}: there are {len(notes)} notes now.")

    note = {"type": "string", "minLength": 1, "maxLength": 500, "description": "What to write down."}
    changes = types.ToolAnnotations(read_only_hint=False, destructive_hint=False, open_world_hint=False)
    toolbox = Toolbox(
        [
            tool("whoami", "Who am I", "Says who is logged in, with which client and scopes.", _whoami),
            tool("read_notes", "Read notes", f"Lists all notes. Needs the scope {READ}.", read_notes),
            tool(
                "write_note",
                "Write note",
                f"Adds a note. Needs the scope {WRITE}, which the first login does not ask for.",
                write_note,
                schema(["text"], text=note),
                annotations=changes,
            ),
        ]
    )
    return Server(
        "login",
        version=inspector.__version__,
        title="Notes behind a login",
        description="A few notes that only those who log in can read.",
        instructions="whoami and read_notes work after a login; write_note asks for one more scope.",
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

# mypy: ignore-errors
"""A server with the SDK's login: `sdkloginserver.py [--no-resource-metadata]`.

Endpoints, metadata and checks are the SDK's (`mcp.server.auth`); this adds token storage and a login
page. It runs on the current SDK and on the one before the stateless shape, in a separate environment, and
imports none of our code.

`lose` forgets the token that it is called with, like a restarted server. EXPIRES_IN is the lifetime of
tokens.
"""

import os
import secrets
import socket
import sys
import time

import uvicorn
from mcp.server.auth.middleware.auth_context import get_access_token
from mcp.server.auth.provider import (
    AccessToken,
    AuthorizationCode,
    RefreshToken,
    construct_redirect_uri,
)
from mcp.server.auth.settings import AuthSettings, ClientRegistrationOptions, RevocationOptions
from mcp.shared.auth import OAuthToken
from starlette.responses import HTMLResponse, RedirectResponse

try:
    from mcp.server.mcpserver import MCPServer
except ImportError:
    from mcp.server.fastmcp import FastMCP as MCPServer

SCOPE = "user"
LIFE = int(os.environ.get("EXPIRES_IN", "3600"))
PAGE = """<form method=post><input name=name><input name=password type=password>
<button name=answer value=allow>Allow</button><button name=answer value=deny>Deny</button></form>"""


class Provider:
    """An authorization provider in memory."""

    def __init__(self, origin):
        self.origin = origin
        self.clients, self.requested, self.codes, self.access, self.refreshing = {}, {}, {}, {}, {}

    async def get_client(self, client_id):
        return self.clients.get(client_id)

    async def register_client(self, client_info):
        self.clients[client_info.client_id] = client_info

    async def authorize(self, client, params):
        ticket = secrets.token_hex(16)
        self.requested[ticket] = (client, params)
        return f"{self.origin}/login?ticket={ticket}"

    def decided(self, ticket, is_allowed):
        """Return the redirect after the user's decision."""
        client, params = self.requested.pop(ticket)
        back = str(params.redirect_uri)
        if not is_allowed:
            words = "The user denied the request."
            return construct_redirect_uri(
                back, error="access_denied", error_description=words, state=params.state
            )
        code = secrets.token_hex(20)
        self.codes[code] = AuthorizationCode(
            code=code,
            client_id=client.client_id,
            scopes=params.scopes or [SCOPE],
            expires_at=time.time() + 60,
            code_challenge=params.code_challenge,
            redirect_uri=params.redirect_uri,
            redirect_uri_provided_explicitly=params.redirect_uri_provided_explicitly,
            resource=params.resource,
        )
        return construct_redirect_uri(back, code=code, state=params.state)

    async def load_authorization_code(self, client, authorization_code):
        return self.codes.get(authorization_code)

    async def exchange_authorization_code(self, client, authorization_code):
        del self.codes[authorization_code.code]
        return self._issue(client, authorization_code.scopes, authorization_code.resource)

    async def load_refresh_token(self, client, refresh_token):
        found = self.refreshing.get(refresh_token)
        return found[0] if found else None

    async def exchange_refresh_token(self, client, refresh_token, scopes):
        _, resource = self.refreshing.pop(refresh_token.token)
        return self._issue(client, scopes, resource)

    async def load_access_token(self, token):
        return self.access.get(token)

    async def revoke_token(self, token):
        """Revoke both tokens of a client, as the SDK recommends."""
        for kept in (self.access, self.refreshing):
            for value, one in list(kept.items()):
                if (one[0] if isinstance(one, tuple) else one).client_id == token.client_id:
                    del kept[value]

    def _issue(self, client, scopes, resource):
        access, refresh = secrets.token_hex(20), secrets.token_hex(20)
        expires_at = int(time.time()) + LIFE
        self.access[access] = AccessToken(
            token=access, client_id=client.client_id, scopes=scopes, expires_at=expires_at, resource=resource
        )
        kept = RefreshToken(token=refresh, client_id=client.client_id, scopes=scopes)
        self.refreshing[refresh] = (kept, resource)
        return OAuthToken(access_token=access, expires_in=LIFE, scope=" ".join(scopes), refresh_token=refresh)


def build(origin, has_resource):
    provider = Provider(origin)
    resource = f"{origin}/mcp" if has_resource else None
    can_check = has_resource and "validate_token_resource" in AuthSettings.model_fields
    auth = AuthSettings(
        issuer_url=origin,
        resource_server_url=resource,
        required_scopes=[SCOPE],
        client_registration_options=ClientRegistrationOptions(
            enabled=True, valid_scopes=[SCOPE], default_scopes=[SCOPE]
        ),
        revocation_options=RevocationOptions(enabled=True),
        **({"validate_token_resource": True} if can_check else {}),
    )
    server = MCPServer("sdk-login", auth_server_provider=provider, auth=auth)

    @server.custom_route("/login", methods=["GET", "POST"])
    async def login(request):
        if request.method == "GET":
            return HTMLResponse(PAGE)
        form = await request.form()
        is_allowed = form["answer"] == "allow"
        if is_allowed and (form["name"], form["password"]) != ("grace", "hopper"):
            return HTMLResponse(PAGE, 403)
        return RedirectResponse(provider.decided(request.query_params["ticket"], is_allowed), 302)

    @server.tool()
    def whoami() -> str:
        """Return the client and the resource of the token."""
        token = get_access_token()
        return f"{provider.clients[token.client_id].client_name} {' '.join(token.scopes)} {token.resource}"

    @server.tool()
    def lose() -> str:
        """Forget the token of this call."""
        del provider.access[get_access_token().token]
        return "lost"

    return server.streamable_http_app()


if __name__ == "__main__":
    listener = socket.create_server(("127.0.0.1", 0))
    origin = f"http://127.0.0.1:{listener.getsockname()[1]}"
    app = build(origin, "--no-resource-metadata" not in sys.argv)
    print(f"listening on {origin}/mcp", file=sys.stderr, flush=True)
    uvicorn.Server(uvicorn.Config(app, log_level="error")).run(sockets=[listener])

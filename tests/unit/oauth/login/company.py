"""A scripted enterprise identity provider next to the servers of a `World`."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode

from inspector.base.json.values import to_wire
from inspector.config.servers.entries import IdentityProvider, OAuthSettings, SecretRef
from inspector.protocol.auth.pkce import b64url
from tests.helpers.fakes import FakeClock
from tests.unit.oauth.login_stage import ReceivedRequest, ScriptedResponse, World

_ID_JAG = "urn:ietf:params:oauth:token-type:id-jag"


class Company:
    """An identity provider. All of its responses can be changed."""

    def __init__(self, world: World, mark: str = "") -> None:
        self.mark = mark  # part of every secret that it issues
        self.world = world
        self.issuer = f"{world.origin}/idp"
        self.claims: dict[str, Any] = {}  # replace the default claims of ID tokens
        self.gives_refresh = True
        self.life = 3600.0
        self.now = FakeClock().wall_ns() / 1e9
        self.nonce = ""
        self.document: dict[str, Any] = {
            "issuer": self.issuer,
            "authorization_endpoint": f"{self.issuer}/authorize",
            "token_endpoint": f"{self.issuer}/token",
            "revocation_endpoint": f"{self.issuer}/revoke",
            "response_types_supported": ["code"],
            "code_challenge_methods_supported": ["S256"],
            "token_endpoint_auth_methods_supported": ["none", "client_secret_post"],
            "authorization_response_iss_parameter_supported": True,
        }
        world.server["token_endpoint_auth_methods_supported"] = ["client_secret_basic"]
        world.refresh = False  # for an ID-JAG there is none
        world.paths |= {
            "/idp/.well-known/openid-configuration": lambda _: ScriptedResponse(body=self.document),
            "/idp/authorize": self.authorize,
            "/idp/token": self.token,
            "/idp/revoke": lambda _: ScriptedResponse(),
        }

    @property
    def settings(self) -> OAuthSettings:
        return OAuthSettings(
            grant="enterprise",
            client_id="robot",
            client_secret=SecretRef("secret"),
            issuer=self.world.origin,
            identity_provider=IdentityProvider(issuer=self.issuer, client_id="desktop-app"),
        )

    def authorize(self, seen: ReceivedRequest) -> ScriptedResponse:
        self.nonce = seen.query["nonce"]
        response = {
            "code": f"idp-code-{self.mark}{len(self.requested())}",
            "state": seen.query["state"],
            "iss": self.issuer,
        }
        return ScriptedResponse(
            302, headers={"Location": f"{seen.query['redirect_uri']}?{urlencode(response)}"}
        )

    def token(self, seen: ReceivedRequest) -> ScriptedResponse:
        form, headers = seen.form, {"Cache-Control": "no-store"}
        if form["grant_type"].endswith("token-exchange"):
            reply = {
                "access_token": f"the-id-jag{self.mark}",
                "issued_token_type": _ID_JAG,
                "token_type": "N_A",
            }
            return ScriptedResponse(body={**reply, "expires_in": 300}, headers=headers)
        number = len(self.world.requested("/idp/token"))
        nonce = self.nonce if form["grant_type"] == "authorization_code" else None
        given: dict[str, Any] = {
            "access_token": f"idp-access-{self.mark}{number}",
            "token_type": "Bearer",
            "expires_in": 3600,
            "id_token": self.id_token(nonce=nonce, jti=f"{self.mark}{number}"),
        }
        if self.gives_refresh:
            given["refresh_token"] = f"idp-refresh-{self.mark}{number}"
        return ScriptedResponse(body=given, headers=headers)

    def id_token(self, **claims: Any) -> str:
        plain = {
            "iss": self.issuer,
            "aud": "desktop-app",
            "sub": "ada",
            "iat": self.now,
            "exp": self.now + self.life,
        }
        every: dict[str, Any] = {**plain, **claims, **self.claims}
        reported = {name: value for name, value in every.items() if value is not None}
        return f"{b64url(to_wire({'alg': 'ES256'}))}.{b64url(to_wire(reported))}.c2ln"

    def requested(self, grant: str = "") -> list[ReceivedRequest]:
        """Return the token requests of this grant; with None, the requests to the login page."""
        if not grant:
            return self.world.requested("/idp/authorize")
        return [
            seen for seen in self.world.requested("/idp/token") if seen.form["grant_type"].endswith(grant)
        ]

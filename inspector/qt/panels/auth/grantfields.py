"""The kinds of logins and what each needs to know, as data: fields, sentences, and what must be there."""

from __future__ import annotations

from dataclasses import dataclass, replace

from inspector.base.errors import UserError
from inspector.config.auth import IdentityProvider, OAuthSettings
from inspector.oauth.steps import LoginGrant

CODE, CLIENT, ENTERPRISE, WORKLOAD = LoginGrant
GRANTS = {
    CODE: "Code in the browser",
    CLIENT: "Client credentials",
    ENTERPRISE: "Enterprise (ID-JAG)",
    WORKLOAD: "Workload identity",
}
ABOUT = {
    CODE: "You log in with the browser, and consent there.",
    CLIENT: (
        "MCP Lens logs in as itself, nobody signs in: with a client secret, or with a private key that signs "
        "an assertion."
    ),
    ENTERPRISE: (
        "You sign in with the browser at your company's identity provider. Its ID token is exchanged for a "
        "token of this server, and as long as it can be renewed you need not sign in again."
    ),
    WORKLOAD: (
        "What MCP Lens runs on (a cluster, a CI job) vouches for it with a JWT, which is exchanged for a "
        "token. Give the JWT, or where it is read anew each time."
    ),
}
_PROVIDER = "identity_provider."
_AT_SERVER, _AT_PROVIDER, _JWT = "Authorization server", "Identity provider", "JWT of the workload"


@dataclass(frozen=True, slots=True)
class Field:
    """A form field. `name` is the setting's name, with a prefix for the identity provider's.

    `full_name` is unique.
    """

    name: str
    group: str
    words: str
    hint: str
    grants: tuple[LoginGrant, ...]
    is_secret: bool = False

    @property
    def full_name(self) -> str:
        return f"{self.group}: {self.words}"


FIELDS = (
    Field(f"{_PROVIDER}issuer", _AT_PROVIDER, "Issuer", "https://login.company.example", (ENTERPRISE,)),
    Field(f"{_PROVIDER}client_id", _AT_PROVIDER, "Client ID", "as it was registered there", (ENTERPRISE,)),
    Field(f"{_PROVIDER}client_secret", _AT_PROVIDER, "Client secret", "none for a public client",
          (ENTERPRISE,), is_secret=True),
    Field(f"{_PROVIDER}scope", _AT_PROVIDER, "Scope", "openid, and what renews the sign-in", (ENTERPRISE,)),
    Field(f"{_PROVIDER}id_token", _AT_PROVIDER, "ID token", "only if you have one: then nobody signs in",
          (ENTERPRISE,), is_secret=True),
    Field(f"{_PROVIDER}token_endpoint", _AT_PROVIDER, "Token endpoint", "found by the issuer", (ENTERPRISE,)),
    Field("issuer", _AT_SERVER, "Issuer", "the client is shown to no other", (CLIENT, ENTERPRISE, WORKLOAD)),
    Field("client_id", _AT_SERVER, "Client ID", "as it was registered", (CLIENT, ENTERPRISE, WORKLOAD)),
    Field("client_secret", _AT_SERVER, "Client secret", "or a private key", (CLIENT, ENTERPRISE),
          is_secret=True),
    Field("key", _AT_SERVER, "Private key", "PEM, for a client that signs", (CLIENT, ENTERPRISE),
          is_secret=True),
    Field("assertion", _JWT, "JWT", "it is not renewed: a file or a variable is", (WORKLOAD,),
          is_secret=True),
    Field("assertion_file", _JWT, "File", "/var/run/secrets/…/token", (WORKLOAD,)),
    Field("assertion_variable", _JWT, "Variable", "of the environment of MCP Lens", (WORKLOAD,)),
)  # fmt: skip


FIELD_OF_KEY = next(field for field in FIELDS if field.name == "key")
AUDIENCES = {"issuer": "The issuer", "token_endpoint": "The token endpoint"}


def value_of(settings: OAuthSettings, name: str) -> object:
    if name.startswith(_PROVIDER):
        return getattr(settings.identity_provider or IdentityProvider(), name.removeprefix(_PROVIDER))
    return getattr(settings, name)


def with_values(before: OAuthSettings, grant: LoginGrant, values: dict[str, object]) -> OAuthSettings:
    """Return the settings with these values; "" and None leave one to the default rules."""
    own = {name: value for name, value in values.items() if not name.startswith(_PROVIDER)}
    theirs = {
        name.removeprefix(_PROVIDER): value for name, value in values.items() if name.startswith(_PROVIDER)
    }
    provider = before.identity_provider
    if theirs:
        theirs["scope"] = theirs.get("scope") or None
        provider = replace(provider or IdentityProvider(), **theirs)  # type: ignore[arg-type]
        provider = None if provider == IdentityProvider() else provider
    return replace(before, grant=grant.value, identity_provider=provider, **own)  # type: ignore[arg-type]


def require_whole(settings: OAuthSettings) -> None:
    """Check for missing values. Raises UserError in the form's terms."""
    match LoginGrant(settings.grant):
        case LoginGrant.CLIENT:
            _require_client(settings)
        case LoginGrant.ENTERPRISE:
            _require_provider(settings.identity_provider or IdentityProvider())
        case LoginGrant.WORKLOAD:
            _require_workload(settings)


def _require_client(settings: OAuthSettings) -> None:
    if not settings.client_id:
        raise UserError("Client credentials need a client ID.", "Type that which was registered for you.")
    if settings.client_secret is None and settings.key is None:
        raise UserError("Client credentials need a client secret or a private key.", "Give one of them.")


def _require_provider(provider: IdentityProvider) -> None:
    if provider.id_token is not None:
        if not (provider.issuer or provider.token_endpoint):
            raise UserError(
                "The ID token must be shown to the identity provider that gave it.",
                "Type its issuer, or its token endpoint.",
            )
    elif not provider.issuer or not provider.client_id:
        raise UserError(
            "To sign in, the issuer of the identity provider and the client ID there are needed.",
            "Type both, or give an ID token that you have.",
        )


def _require_workload(settings: OAuthSettings) -> None:
    if not any((settings.assertion, settings.assertion_file, settings.assertion_variable)):
        raise UserError(
            "A workload needs its JWT.", "Type it, or name the file or the variable that it is read from."
        )

"""How a server is told who asks: OAuth with all that can be set for it, or a token that is always sent.

Nothing secret is in these values: a secret is named (`{"ref": "…"}`) and kept in the secret store.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, fields
from typing import Literal, TypeAlias

from inspector.base.errors import ConfigError
from inspector.base.jsonvalue import JSON, JSONObject
from inspector.config.secrets.names import is_name


@dataclass(frozen=True, slots=True)
class SecretRef:
    """Reference to a secret in the secret store, by name."""

    ref: str


@dataclass(frozen=True, slots=True, kw_only=True)
class IdentityProvider:
    """Enterprise-managed authorization: the identity provider and our client registration there.

    With `issuer` and `client_id`, the user logs in in the browser. With an existing `id_token` that login
    is skipped, and `token_endpoint` saves discovery. `method` is the client authentication method, `scope`
    the scope requested at login; "" and None select the default.
    """

    issuer: str = ""
    token_endpoint: str = ""
    client_id: str = ""
    client_secret: SecretRef | None = None
    method: str = ""
    scope: str | None = None
    id_token: SecretRef | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class OAuthSettings:
    """OAuth settings of a server; "" and None select the default.

    `issuer` is the authorization server that the client belongs to; with a grant that uses no browser, the
    client secret is sent to no other. `assertion` (or a file or an environment variable, both reread each
    time) is the workload's JWT. `audience` is the `aud` of the assertions we sign. `private` and
    `plain_http` are the user's consent to addresses in private networks and to unencrypted URLs named by
    this server.
    """

    type: Literal["oauth"] = "oauth"
    grant: Literal["authorization_code", "client_credentials", "enterprise", "wif"] = "authorization_code"
    issuer: str = ""
    client_id: str = ""
    client_secret: SecretRef | None = None
    client_document: str = ""
    method: str = ""
    scope: str | None = None
    resource: str | None = None
    redirect_host: str = ""
    redirect_port: int = 0
    redirect_path: str = ""
    key: SecretRef | None = None
    algorithm: str = ""
    audience: Literal["issuer", "token_endpoint"] = "issuer"
    dpop: bool | None = None
    assertion: SecretRef | None = None
    assertion_file: str = ""
    assertion_variable: str = ""
    identity_provider: IdentityProvider | None = None
    private: bool = False
    plain_http: bool = False

    def references(self) -> tuple[SecretRef, ...]:
        """Return all secrets that these settings refer to."""
        own, provider = (self.client_secret, self.key, self.assertion), self.identity_provider
        theirs = (provider.client_secret, provider.id_token) if provider is not None else ()
        return tuple(ref for ref in (*own, *theirs) if ref is not None)


@dataclass(frozen=True, slots=True, kw_only=True)
class BearerSettings:
    """A fixed bearer token, sent as is and never refreshed."""

    token: SecretRef
    type: Literal["bearer"] = "bearer"


Auth: TypeAlias = OAuthSettings | BearerSettings
_SECRETS = ("client_secret", "key", "assertion", "id_token", "token")


def read_auth(value: JSON) -> Auth | None:
    """Parse a server's `auth` member. Raises ConfigError, using the names in the file."""
    if value is None:
        return None
    from pydantic import TypeAdapter, ValidationError  # takes 55 ms to import, and most servers have no auth

    if not isinstance(value, dict) or value.get("type") not in ("oauth", "bearer"):
        raise ConfigError("auth: it must be an object.", 'Give it "type": "oauth" or "type": "bearer".')
    kind: type[Auth] = OAuthSettings if value["type"] == "oauth" else BearerSettings
    _require_references(value)
    try:
        read: Auth = TypeAdapter[Auth](kind).validate_python(_known(value, kind))
    except ValidationError as exc:
        first = exc.errors()[0]
        place = ".".join(["auth", *(_member(str(part)) for part in first["loc"])])
        raise ConfigError(f"{place}: {first['msg'].lower()}.", "Correct it in the file.") from exc
    if isinstance(read, OAuthSettings) and not 0 <= read.redirect_port <= 65535:
        raise ConfigError(f"auth.redirectPort: {read.redirect_port} is no port.", "Correct it in the file.")
    return read


def write_auth(auth: Auth | None, before: JSON = None) -> JSON:
    """Return the `auth` member to write, keeping the unknown members of `before`."""
    if auth is None:
        return None
    written = _written(auth) | {"type": auth.type}
    ours = {_member(field.name) for field in fields(auth)}
    members = before if isinstance(before, dict) else {}
    return {**{name: item for name, item in members.items() if name not in ours}, **written}


def _require_references(value: JSONObject) -> None:
    for name, content in value.items():
        if name == "identityProvider" and isinstance(content, dict):
            _require_references(content)
        if _field(name) not in _SECRETS or content is None:
            continue
        ref = content.get("ref") if isinstance(content, dict) else None
        if not isinstance(ref, str) or not is_name(ref):
            raise ConfigError(
                f"auth.{name}: a secret does not belong into this file.",
                'Keep it under Secrets, and write its name here: {"ref": "…"}.',
            )


def _known(value: JSONObject, kind: type) -> JSONObject:
    names = {_member(field.name): field.name for field in fields(kind)}
    known = {names[name]: content for name, content in value.items() if name in names}
    provider = known.get("identity_provider")
    if isinstance(provider, dict):
        known["identity_provider"] = _known(provider, IdentityProvider)
    return known


def _written(value: Auth | IdentityProvider | SecretRef) -> JSONObject:
    members: JSONObject = {}
    for field in fields(value):
        content = getattr(value, field.name)
        if content != field.default:
            is_nested = isinstance(content, IdentityProvider | SecretRef)
            members[_member(field.name)] = _written(content) if is_nested else content
    return members


def _member(field: str) -> str:
    first, *rest = field.split("_")
    return first + "".join(word.capitalize() for word in rest)


def _field(member: str) -> str:
    return re.sub("([A-Z])", r"_\1", member).lower()

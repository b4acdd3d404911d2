"""Login data in the secret store: clients, tokens, keys, and the user's consents.

Everything belongs to one issuer and one server (`oauth/<issuer>/<server>/<kind>`): what one authorization
server issued is never sent to another. Tokens also record the URL that they are for, so that a server
whose URL was changed does not get the old one's tokens.
"""

from __future__ import annotations

import json
from contextlib import AbstractAsyncContextManager
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Protocol

from inspector.base.errors import ConfigError
from inspector.base.json.values import (
    JSONError,
    JSONObject,
    number_of,
    object_of,
    parse,
    strings_of,
    text_of,
)
from inspector.config.secrets.records import (
    SecretsUnavailable,
    StoredSecret,
    display_name,
    make_name,
    parts_of,
)
from inspector.config.servers.entries import SecretRef
from inspector.oauth.signing import SigningKey, new_key, read_key
from inspector.protocol.auth.client_registration import Client, ClientSource
from inspector.protocol.auth.tokens import TokenSet

KIND = "oauth"
_CLIENT, _TOKENS, _KEY, _HOSTS, _PRIVATE = "client", "tokens", "key", "hosts", "private"
_PROVIDER_LOGIN, _TRUST = "sign-in", "trust"
_ANY_ISSUER = "any"


class SecretStorage(Protocol):
    """Async interface of the secret store; methods as in `SecretStore`."""

    async def get(self, name: str) -> str | None: ...

    async def put(self, name: str, value: str, *, in_memory: bool = False) -> None: ...

    async def delete(self, name: str) -> bool: ...

    async def stored(self) -> tuple[StoredSecret, ...]: ...

    def claim(self, name: str, timeout: float = 30.0) -> AbstractAsyncContextManager[None]: ...


@dataclass(frozen=True, slots=True)
class StoredLogin:
    """Tokens with what is needed to refresh and revoke them."""

    tokens: TokenSet
    token_endpoint: str
    revocation_endpoint: str = ""
    offered_methods: tuple[str, ...] | None = None
    server_scopes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ProviderLogin:
    """A login at an enterprise identity provider.

    `issuer` is the provider's, `method` the client authentication method there. The endpoint for refreshing
    is discovered each time.
    """

    issuer: str
    client_id: str
    id_token: str = field(repr=False)
    refresh_token: str = field(default="", repr=False)
    subject: str = ""
    expires_at: float | None = None
    revocation_endpoint: str = ""
    method: str = ""


class LoginStore:
    """The part of the secret store that belongs to one server's logins."""

    def __init__(self, secrets: SecretStorage, server: str, server_url: str) -> None:
        self._secrets = secrets
        self._server = server
        self._url = server_url

    async def clients(self) -> tuple[Client, ...]:
        """Return all clients of this server, for any issuer."""
        found = [_read_client(await self._object(name)) for name in await self._names(_CLIENT)]
        return tuple(client for client in found if client is not None)

    async def save_client(self, client: Client) -> None:
        await self._put(self._name(client.issuer, _CLIENT), _client_document(client))

    async def newest_login(self) -> StoredLogin | None:
        """Return the newest tokens for this server's URL, None if there are none."""
        found = [await self._login_in(name) for name in await self._names(_TOKENS)]
        usable = [login for login in found if login is not None]
        return max(usable, key=lambda login: login.tokens.received_at, default=None)

    async def login_of(self, issuer: str) -> StoredLogin | None:
        return await self._login_in(self._name(issuer, _TOKENS))

    async def save_login(self, login: StoredLogin) -> bool:
        """Save tokens; return whether they outlast this session."""
        document = {**asdict(login), "server_url": self._url}
        return await self._put(self._name(login.tokens.issuer, _TOKENS), document)

    async def delete_tokens(self, issuer: str) -> None:
        await self._secrets.delete(self._name(issuer, _TOKENS))

    def refresh_lock(self, issuer: str) -> AbstractAsyncContextManager[None]:
        """Lock an issuer's tokens across processes; read them again inside."""
        return self._secrets.claim(self._name(issuer, _TOKENS))

    async def issuers(self) -> tuple[str, ...]:
        """Return the issuers with a saved client or tokens."""
        names = [*await self._names(_CLIENT), *await self._names(_TOKENS)]
        return tuple(dict.fromkeys(parts_of(name)[1] for name in names))

    async def provider_login(self, issuer: str) -> ProviderLogin | None:
        """Return the saved login at this provider for this server, None if there is none."""
        return _read_provider_login(await self._object(self._name(issuer, _PROVIDER_LOGIN)))

    async def provider_logins(self) -> tuple[ProviderLogin, ...]:
        """Return the logins at all providers that this server ever had."""
        found = [
            _read_provider_login(await self._object(name)) for name in await self._names(_PROVIDER_LOGIN)
        ]
        return tuple(one for one in found if one is not None)

    async def save_provider_login(self, login: ProviderLogin) -> bool:
        """Save it; return whether it outlasts this session."""
        return await self._put(self._name(login.issuer, _PROVIDER_LOGIN), asdict(login))

    async def delete_provider_login(self, issuer: str) -> None:
        await self._secrets.delete(self._name(issuer, _PROVIDER_LOGIN))

    def provider_login_lock(self, issuer: str) -> AbstractAsyncContextManager[None]:
        """Lock a provider login across processes; read it again inside."""
        return self._secrets.claim(self._name(issuer, _PROVIDER_LOGIN))

    async def key(self, issuer: str) -> SigningKey:
        """Return the key that this issuer's tokens are bound to, creating it if needed."""
        name = self._name(issuer, _KEY)
        pem = await self._secrets.get(name)
        if pem is not None:
            return read_key(pem)
        async with self._secrets.claim(name):  # of two keys one would be lost, with the tokens bound to it
            pem = await self._secrets.get(name)
            if pem is None:
                pem = new_key().pem()
                await self._put_text(name, pem)
        return read_key(pem)

    async def allowed_hosts(self, issuer: str) -> tuple[str, ...]:
        return strings_of(await self._object(self._name(issuer, _HOSTS)), "hosts")

    async def allow_hosts(self, issuer: str, hosts: tuple[str, ...]) -> None:
        every = dict.fromkeys((*await self.allowed_hosts(issuer), *hosts))
        await self._put(self._name(issuer, _HOSTS), {"hosts": list(every)})

    async def allows_private(self) -> bool:
        """True if this server may name private addresses. Consent for another URL does not count."""
        return await self._secrets.get(self._name(_ANY_ISSUER, _PRIVATE)) == self._url

    async def allow_private(self) -> None:
        await self._put_text(self._name(_ANY_ISSUER, _PRIVATE), self._url)

    async def trusts_issuer(self, issuer: str) -> bool:
        """True if credentials may go to this issuer, though only this server names it.

        As with `allows_private`, consent for another URL does not count.
        """
        return await self._secrets.get(self._name(issuer, _TRUST)) == self._url

    async def trust_issuer(self, issuer: str) -> None:
        await self._put_text(self._name(issuer, _TRUST), self._url)

    async def secret(self, ref: SecretRef | None, what: str) -> str:
        """Return a configured secret; "" for None. Raises ConfigError if it is missing."""
        if ref is None:
            return ""
        value = await self._secrets.get(ref.ref)
        if value is None:
            raise ConfigError(
                f"Could not read the secret “{display_name(ref.ref)}”, which is set as the {what}.",
                "Enter it again under Secrets.",
            )
        return value

    async def delete_all(self) -> None:
        """Delete everything of this server, for every issuer."""
        for kind in (_TOKENS, _PROVIDER_LOGIN, _CLIENT, _KEY, _HOSTS, _PRIVATE, _TRUST):
            for name in await self._names(kind):
                await self._secrets.delete(name)

    def _name(self, issuer: str, kind: str) -> str:
        return make_name(KIND, issuer, self._server, kind)

    async def _names(self, kind: str) -> list[str]:
        stored = [secret.name for secret in await self._secrets.stored()]
        return [name for name in stored if _is_of(name, self._server, kind)]

    async def _object(self, name: str) -> JSONObject:
        """Return a record; empty if missing or unreadable."""
        text = await self._secrets.get(name)
        try:
            value = parse(text) if text is not None else None
        except JSONError:
            return {}
        return value if isinstance(value, dict) else {}

    async def _login_in(self, name: str) -> StoredLogin | None:
        document = await self._object(name)
        return _read_login(document) if document.get("server_url") == self._url else None

    async def _put(self, name: str, document: dict[str, Any]) -> bool:
        return await self._put_text(name, json.dumps(document))

    async def _put_text(self, name: str, text: str) -> bool:
        """Save; if the keychain fails, for this session only, so that the login is not lost."""
        try:
            await self._secrets.put(name, text)
        except SecretsUnavailable:
            await self._secrets.put(name, text, in_memory=True)
        return any(secret.is_saved for secret in await self._secrets.stored() if secret.name == name)


def _is_of(name: str, server: str, kind: str) -> bool:
    parts = parts_of(name)
    return len(parts) == 4 and (parts[0], *parts[2:]) == (KIND, server, kind)


def _client_document(client: Client) -> dict[str, Any]:
    return {**asdict(client), "source": client.source.value}


def _read_client(document: JSONObject) -> Client | None:
    id, issuer = text_of(document, "client_id"), text_of(document, "issuer")
    source = next((one for one in ClientSource if one.value == document.get("source")), None)
    if not id or not issuer or source is None:
        return None
    client = Client(id, issuer, source, text_of(document, "method"), text_of(document, "secret"))
    return replace(
        client,
        secret_expires_at=number_of(document, "secret_expires_at"),
        redirect_uris=strings_of(document, "redirect_uris"),
    )


def _read_provider_login(document: JSONObject) -> ProviderLogin | None:
    issuer, client, token = (text_of(document, name) for name in ("issuer", "client_id", "id_token"))
    if not issuer or not client or not token:
        return None
    return ProviderLogin(
        issuer,
        client,
        token,
        text_of(document, "refresh_token"),
        text_of(document, "subject"),
        number_of(document, "expires_at"),
        text_of(document, "revocation_endpoint"),
        text_of(document, "method"),
    )


def _read_login(document: JSONObject) -> StoredLogin | None:
    tokens = _read_tokens(object_of(document, "tokens") or {})
    if tokens is None:
        return None
    return StoredLogin(
        tokens,
        text_of(document, "token_endpoint"),
        text_of(document, "revocation_endpoint"),
        strings_of(document, "offered_methods") or None,
        strings_of(document, "server_scopes"),
    )


def _read_tokens(document: JSONObject) -> TokenSet | None:
    access, issuer = text_of(document, "access_token"), text_of(document, "issuer")
    if not access or not issuer:
        return None
    resource = document.get("resource")
    return TokenSet(
        access_token=access,
        token_type=text_of(document, "token_type") or "Bearer",
        issuer=issuer,
        client_id=text_of(document, "client_id"),
        resource=resource if isinstance(resource, str) else None,
        scopes=strings_of(document, "scopes"),
        requested=strings_of(document, "requested"),
        received_at=number_of(document, "received_at") or 0.0,
        expires_at=number_of(document, "expires_at"),
        refresh_token=text_of(document, "refresh_token"),
        id_token=text_of(document, "id_token"),
    )

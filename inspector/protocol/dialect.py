"""How a message is dressed: what each era wants around a request, and how it gives one up.

The handshake era settled everything once; its requests go as they are. In the stateless era every request
says for itself which revision it speaks, who asks and what the client can do.
"""

from __future__ import annotations

from typing import Protocol

from inspector.base.jsonvalue import JSONObject
from inspector.protocol.handshake import ClientProfile
from inspector.protocol.revisions import NEWEST_HANDSHAKE, Era, Revision

PROTOCOL_VERSION_KEY = "io.modelcontextprotocol/protocolVersion"
CLIENT_INFO_KEY = "io.modelcontextprotocol/clientInfo"
CLIENT_CAPABILITIES_KEY = "io.modelcontextprotocol/clientCapabilities"
LOG_LEVEL_KEY = "io.modelcontextprotocol/logLevel"


class Dialect(Protocol):
    """Message conventions of one era at one protocol version."""

    @property
    def revision(self) -> Revision: ...

    @property
    def takes_requests(self) -> bool:
        """True if the server may send requests; otherwise they are violations and not answered."""
        ...

    def dress(
        self,
        method: str,
        params: JSONObject | None,
        *,
        capabilities: JSONObject | None = None,
        log_level: str = "",
    ) -> JSONObject | None:
        """Return the params to send.

        `capabilities` replace the profile's for this request only; `log_level` requests log messages about
        it. Both have no effect in the handshake era.
        """
        ...

    def sends_cancel_notice(self, method: str) -> bool:
        """True if cancelling such a request sends a notification."""
        ...


class HandshakeDialect:
    """Handshake era: requests are sent unchanged."""

    takes_requests = True

    def __init__(self, revision: Revision = NEWEST_HANDSHAKE) -> None:
        self.revision = revision

    def dress(
        self,
        method: str,
        params: JSONObject | None,
        *,
        capabilities: JSONObject | None = None,
        log_level: str = "",
    ) -> JSONObject | None:
        return params

    def sends_cancel_notice(self, method: str) -> bool:
        # "The initialize request MUST NOT be cancelled by clients." A server/discover in this era is a
        # probe without a response: a server that does not know it need not be told that it is over.
        return method not in ("initialize", "server/discover")


class StatelessDialect:
    """Stateless era: every request carries what the handshake used to negotiate.

    `closes_to_cancel` is for HTTP, where closing the response is the cancellation and a notification is
    wrong; on a shared channel the notification is required.
    """

    takes_requests = False

    def __init__(self, profile: ClientProfile, revision: Revision, *, closes_to_cancel: bool = False) -> None:
        self.revision = revision
        self._profile = profile
        self._closes_to_cancel = closes_to_cancel

    def dress(
        self,
        method: str,
        params: JSONObject | None,
        *,
        capabilities: JSONObject | None = None,
        log_level: str = "",
    ) -> JSONObject:
        """Return params with `_meta`, which is always present.

        The caller's own `_meta` takes precedence: in a debugger, a request that contradicts the negotiation
        is intentional.
        """
        params = params or {}
        own = params.get("_meta")
        if capabilities is None:
            capabilities = self._profile.declared.capabilities(self.revision)
        meta: JSONObject = {
            PROTOCOL_VERSION_KEY: self.revision.date,
            CLIENT_INFO_KEY: self._profile.info(),
            CLIENT_CAPABILITIES_KEY: capabilities,
        }
        if log_level:
            meta[LOG_LEVEL_KEY] = log_level
        return {**params, "_meta": {**meta, **(own if isinstance(own, dict) else {})}}

    def sends_cancel_notice(self, method: str) -> bool:
        return not self._closes_to_cancel


def declared_in(params: JSONObject | None) -> JSONObject | None:
    """Return the capabilities that a request declares: `initialize`, or any stateless request."""
    params = params or {}
    meta = params.get("_meta")
    said = meta.get(CLIENT_CAPABILITIES_KEY) if isinstance(meta, dict) else params.get("capabilities")
    return said if isinstance(said, dict) else None


def dialect_for(revision: Revision, profile: ClientProfile, *, over_http: bool) -> Dialect:
    """Return the dialect of a negotiated protocol version."""
    if revision.era is Era.HANDSHAKE:
        return HandshakeDialect(revision)
    return StatelessDialect(profile, revision, closes_to_cancel=over_http)

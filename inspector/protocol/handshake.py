"""Dialects of the two eras, and the negotiation interface with the `initialize` handshake.

In the handshake era everything is negotiated once and requests are sent unchanged. In the stateless era
every request carries the protocol version, client info and client capabilities.

A `Negotiation` returns its first request, then is given each reply and returns the next request (`Ask`)
or the `Agreement`. The handshake needs one `initialize`; `discovery.py` has the negotiations that detect
the era.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Protocol, TypeAlias

from inspector.base.errors import ConnectFailed, HttpRefused, NeedsLogin
from inspector.base.json.values import JSON, JSONObject, JSONProblem, excerpt, shorten
from inspector.base.plain_text import one_line
from inspector.protocol.client_capabilities import ClientCapabilities
from inspector.protocol.jsonrpc import ErrorObject, Kind, Message, error_of
from inspector.protocol.revisions import HANDSHAKE_REVISIONS, NEWEST_HANDSHAKE, Era, Revision, find_revision
from inspector.protocol.types import CacheHints, Implementation

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

    def prepare(
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

    def prepare(
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

    def prepare(
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
    declared = meta.get(CLIENT_CAPABILITIES_KEY) if isinstance(meta, dict) else params.get("capabilities")
    return declared if isinstance(declared, dict) else None


def dialect_for(revision: Revision, profile: ClientProfile, *, over_http: bool) -> Dialect:
    """Return the dialect of a negotiated protocol version."""
    if revision.era is Era.HANDSHAKE:
        return HandshakeDialect(revision)
    return StatelessDialect(profile, revision, closes_to_cancel=over_http)


@dataclass(frozen=True, slots=True)
class ClientProfile:
    """Our client info and capabilities."""

    name: str
    title: str
    version: str
    declared: ClientCapabilities

    def info(self) -> JSONObject:
        return {"name": self.name, "title": self.title, "version": self.version}


@dataclass(frozen=True, slots=True)
class Ask:
    """The next request to send, complete as is.

    `revision` selects the rules it is sent under: over HTTP, the headers. (An `initialize` is the same
    under all versions of the handshake era.) `timeout` is how many seconds of silence count as a reply;
    None uses the settings. With `needs_restart` the process must be restarted first.
    """

    method: str
    params: JSONObject
    revision: Revision = NEWEST_HANDSHAKE
    timeout: float | None = None
    needs_restart: bool = False


@dataclass(frozen=True, slots=True)
class NoAnswer:
    """Why a request got no response."""

    kind: Literal["timeout", "exited"]


Reply: TypeAlias = Message | NoAnswer | HttpRefused


@dataclass(frozen=True, slots=True)
class Agreement:
    """The negotiated version and capabilities, and how they were found."""

    revision: Revision
    server: Implementation
    capabilities: JSONObject
    instructions: str
    how: str
    # Notification that completes it; the stateless era has none.
    encrypted_by: str = ""
    problems: tuple[str, ...] = ()
    # From server/discover; a handshake has neither.
    supported_versions: tuple[str, ...] = ()
    cache: CacheHints | None = None

    @property
    def era(self) -> Era:
        return self.revision.era


class Negotiation(Protocol):
    """State machine that leads to an agreement."""

    def first(self) -> Ask: ...

    def receive(self, reply: Reply) -> Ask | Agreement:
        """Process a reply.

        Raises ConnectFailed if there is no agreement, NeedsLogin if a login must come first.
        """
        ...


class InitializeHandshake:
    """`initialize` at one version, accepting any handshake version in the server's response."""

    def __init__(self, profile: ClientProfile, revision: Revision = NEWEST_HANDSHAKE) -> None:
        self._profile = profile
        self._revision = revision

    def first(self) -> Ask:
        return Ask(
            "initialize",
            {
                "protocolVersion": self._revision.date,
                "capabilities": self._profile.declared.capabilities(self._revision),
                "clientInfo": self._profile.info(),
            },
        )

    def receive(self, reply: Reply) -> Agreement:
        if not isinstance(reply, Message):
            raise no_verdict("initialize", reply)
        try:
            if reply.kind is Kind.ERROR:
                raise _refused(error_of(reply))
            return self._settle(reply.result)
        except JSONProblem as exc:
            raise ConnectFailed(
                f"The response to initialize cannot be read: {exc}.",
                "The raw message is in the Traffic view.",
            ) from exc

    def _settle(self, result: JSONObject) -> Agreement:
        date = result.get("protocolVersion")
        revision = find_revision(date)
        # "If the client does not support the version in the server's response, it SHOULD disconnect."
        if revision is None or revision.era is not Era.HANDSHAKE:
            raise _no_common_revision(date)
        return Agreement(
            revision=revision,
            server=Implementation.read(result.get("serverInfo")),
            capabilities=_capabilities(result),
            instructions=_instructions(result),
            how=self._how(revision),
            encrypted_by="notifications/initialized",
            problems=tuple(_problems(result)),
        )

    def _how(self, revision: Revision) -> str:
        if revision == self._revision:
            return f"initialize with {revision}; the server agreed"
        return (
            f"initialize with {self._revision}; the server answered with {revision}, which MCP Lens also "
            "supports"
        )


def no_verdict(method: str, reply: NoAnswer | HttpRefused) -> ConnectFailed:
    """Return the error for an inconclusive reply. It says what happened, not what the server is."""
    if isinstance(reply, HttpRefused):
        kind = NeedsLogin if reply.status == 401 else ConnectFailed
        return kind(reply.summary, reply.next_step)
    if reply.kind == "exited":
        return ConnectFailed(f"The server's process exited before it responded to {method}.", _SEE_CONSOLE)
    return ConnectFailed(f"The server did not respond to {method} in time.", _SEE_CONSOLE)


_SEE_CONSOLE = "Its log in the Console may say why."


def _refused(error: ErrorObject) -> ConnectFailed:
    summary = f"The server rejected initialize: {shorten(one_line(error.message), 300)} ({error.code})."
    supported = error.data.get("supported") if isinstance(error.data, dict) else None
    if isinstance(supported, list) and supported:
        known = ", ".join(one_line(excerpt(date, 20)) for date in supported[:10])
        return ConnectFailed(summary, f"It says it supports {known}.")
    return ConnectFailed(summary, _SEE_CONSOLE)


def _no_common_revision(date: JSON) -> ConnectFailed:
    ours = ", ".join(revision.date for revision in HANDSHAKE_REVISIONS)
    return ConnectFailed(
        f"The server requires protocol version {excerpt(date, 40)!r}, which MCP Lens does not support.",
        f"With initialize, MCP Lens supports {ours}.",
    )


def _capabilities(result: JSONObject) -> JSONObject:
    value = result.get("capabilities")
    return value if isinstance(value, dict) else {}


def _instructions(result: JSONObject) -> str:
    value = result.get("instructions")
    return value if isinstance(value, str) else ""


def _problems(result: JSONObject) -> list[str]:
    problems = []
    if not isinstance(result.get("capabilities"), dict):
        problems.append('The result of initialize has no "capabilities" object.')
    info = result.get("serverInfo")
    if not isinstance(info, dict) or not isinstance(info.get("name"), str):
        problems.append('The result of initialize has no "serverInfo" with a name.')
    return problems

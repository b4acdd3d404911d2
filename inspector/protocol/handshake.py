"""Dialects of the two eras, and the negotiation interface with the `initialize` handshake.

In the handshake era everything is negotiated once and requests are sent unchanged. In the stateless era
every request carries the protocol version, client info and client capabilities.

A `Negotiation` returns its first request (`NextRequest`), then takes each response and returns the next
request or the `NegotiationResult`. The handshake needs one `initialize`; `discovery.py` has the negotiations
that detect the era.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Protocol, TypeAlias

from inspector.base.errors import ConnectFailed, FailureKind, HttpRefused, NeedsLogin
from inspector.base.json.values import JSON, JSONError, JSONObject, excerpt, quote_value
from inspector.base.plain_text import one_line
from inspector.protocol.client_capabilities import ClientCapabilities
from inspector.protocol.jsonrpc import UNSUPPORTED_VERSION, ErrorObject, Kind, Message, error_of
from inspector.protocol.revisions import HANDSHAKE_REVISIONS, NEWEST_HANDSHAKE, Era, Revision, find_revision
from inspector.protocol.types import CacheHints, Implementation

PROTOCOL_VERSION_KEY = "io.modelcontextprotocol/protocolVersion"
CLIENT_INFO_KEY = "io.modelcontextprotocol/clientInfo"
CLIENT_CAPABILITIES_KEY = "io.modelcontextprotocol/clientCapabilities"
LOG_LEVEL_KEY = "io.modelcontextprotocol/logLevel"
PIN_HINT = "In Server ▸ Edit server, set Protocol version to one that the server supports."


class Dialect(Protocol):
    """Message conventions of one era at one protocol version."""

    @property
    def revision(self) -> Revision: ...

    @property
    def allows_server_requests(self) -> bool:
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

    def sends_cancelled_notification(self, method: str) -> bool:
        """True if cancelling such a request sends a notification."""
        ...


class HandshakeDialect:
    """Handshake era: requests are sent unchanged."""

    allows_server_requests = True

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

    def sends_cancelled_notification(self, method: str) -> bool:
        # "The initialize request MUST NOT be cancelled by clients." A server/discover in this era is a
        # probe without a response: a server without the method ignores its cancellation, too.
        return method not in ("initialize", "server/discover")


class StatelessDialect:
    """Stateless era: every request carries what the handshake used to negotiate.

    `cancels_by_closing` is for HTTP, where closing the response is the cancellation and a notification is
    wrong; on a shared channel the notification is required.
    """

    allows_server_requests = False

    def __init__(
        self, profile: ClientProfile, revision: Revision, *, cancels_by_closing: bool = False
    ) -> None:
        self.revision = revision
        self._profile = profile
        self._closes_to_cancel = cancels_by_closing

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

    def sends_cancelled_notification(self, method: str) -> bool:
        return not self._closes_to_cancel


def declared_in(params: JSONObject | None) -> JSONObject | None:
    """Return the capabilities that a request declares: `initialize`, or any stateless request."""
    params = params or {}
    meta = params.get("_meta")
    declared = meta.get(CLIENT_CAPABILITIES_KEY) if isinstance(meta, dict) else params.get("capabilities")
    return declared if isinstance(declared, dict) else None


def dialect_for(revision: Revision, profile: ClientProfile, *, over_http: bool) -> Dialect:
    """Return the dialect of a negotiated protocol version."""
    if revision.era is Era.SESSION:
        return HandshakeDialect(revision)
    return StatelessDialect(profile, revision, cancels_by_closing=over_http)


@dataclass(frozen=True, slots=True)
class ClientProfile:
    """Client info and capabilities of MCP Lens."""

    name: str
    title: str
    version: str
    declared: ClientCapabilities

    def info(self) -> JSONObject:
        return {"name": self.name, "title": self.title, "version": self.version}


@dataclass(frozen=True, slots=True)
class NextRequest:
    """The next request to send, complete as is.

    `revision` selects the rules it is sent under: over HTTP, the headers. (An `initialize` is the same
    under all versions of the handshake era.) `timeout` is how many seconds of silence count as a response;
    None uses the settings. With `needs_restart` the process must be restarted first.
    """

    method: str
    params: JSONObject
    revision: Revision = NEWEST_HANDSHAKE
    timeout: float | None = None
    needs_restart: bool = False


@dataclass(frozen=True, slots=True)
class NoResponse:
    """Why a request got no response."""

    kind: Literal["timeout", "exited", "disconnected", "unusable"]


NegotiationResponse: TypeAlias = Message | NoResponse | HttpRefused


@dataclass(frozen=True, slots=True)
class NegotiationResult:
    """The negotiated version and capabilities, and how they were found."""

    revision: Revision
    server: Implementation
    capabilities: JSONObject
    instructions: str
    description: str
    # Notification that completes it; the stateless era has none.
    completed_by: str = ""
    problems: tuple[str, ...] = ()
    # What the server named instead of `revision`, if that is not known; HTTP sends it in its headers.
    named_version: str = ""
    # From server/discover; a handshake has neither.
    supported_versions: tuple[str, ...] = ()
    cache: CacheHints | None = None

    @property
    def era(self) -> Era:
        return self.revision.era


class Negotiation(Protocol):
    """State machine that leads to a `NegotiationResult`."""

    def first(self) -> NextRequest: ...

    def receive(self, response: NegotiationResponse) -> NextRequest | NegotiationResult:
        """Process a response.

        Raises ConnectFailed if negotiation fails, NeedsLogin if a login must come first.
        """
        ...


class InitializeHandshake:
    """`initialize` at one version, accepting any handshake version in the server's response.

    With `continue_as`, that version is used if the server responds with one that is not known.
    """

    def __init__(
        self,
        profile: ClientProfile,
        revision: Revision = NEWEST_HANDSHAKE,
        continue_as: Revision | None = None,
    ) -> None:
        self._profile = profile
        self._revision = revision
        self._continue_as = continue_as

    def first(self) -> NextRequest:
        return NextRequest(
            "initialize",
            {
                "protocolVersion": self._revision.date,
                "capabilities": self._profile.declared.capabilities(self._revision),
                "clientInfo": self._profile.info(),
            },
        )

    def receive(self, response: NegotiationResponse) -> NegotiationResult:
        if not isinstance(response, Message):
            raise inconclusive_error("initialize", response)
        try:
            if response.kind is Kind.ERROR:
                raise _rejected_error(error_of(response))
            return self._agree(response.result)
        except JSONError as exc:
            raise ConnectFailed(
                f"The response to initialize cannot be read: {exc}.",
                "The raw message is in the Traffic view.",
            ) from exc

    def _agree(self, result: JSONObject) -> NegotiationResult:
        date = result.get("protocolVersion")
        revision, problems, named = find_revision(date), _problems(result), ""
        # "If the client does not support the version in the server's response, it SHOULD disconnect."
        if revision is None or revision.era is not Era.SESSION:
            error = _unsupported_version_error(date, self._revision)
            if self._continue_as is None:
                raise error
            revision, named = self._continue_as, date if isinstance(date, str) else ""
            problems.append(f"{error.summary} MCP Lens continues as {revision}, as you chose.")
        return NegotiationResult(
            revision=revision,
            server=Implementation.read(result.get("serverInfo")),
            capabilities=_capabilities(result),
            instructions=_instructions(result),
            description=self._description(revision, named),
            completed_by="notifications/initialized",
            problems=tuple(problems),
            named_version=named,
        )

    def _description(self, revision: Revision, named: str) -> str:
        if named:
            responded = f"server responded with {quote_value(named)}"
            return f"initialize · {self._revision} requested, {responded}, continued as {revision}"
        if revision == self._revision:
            return f"initialize · {revision} accepted"
        return f"initialize · {self._revision} requested, server responded with {revision}"


def inconclusive_error(method: str, response: NoResponse | HttpRefused) -> ConnectFailed:
    """Return the error for an inconclusive response. It says what happened, not what the server is."""
    if isinstance(response, HttpRefused):
        if response.status == 401 and response.kind is not FailureKind.CREDENTIALS:
            return NeedsLogin(response.summary, response.next_step)
        return ConnectFailed(response.summary, response.next_step, kind=response.kind)
    if response.kind == "exited":
        return ConnectFailed(
            f"The server's process exited before it responded to {method}.",
            "Its log in the Console may say why.",
        )
    if response.kind == "disconnected":
        return ConnectFailed(
            f"The server closed the connection before it responded to {method}.",
            "Its log may say why.",
            kind=FailureKind.DISCONNECTED,
        )
    if response.kind == "unusable":
        return ConnectFailed(f"The response to {method} cannot be used.", "Traffic has the raw message.")
    return ConnectFailed(
        f"The server did not respond to {method} in time.", _SEE_LOG, kind=FailureKind.TIMEOUT
    )


_SEE_LOG = "Its log may say why."


def _rejected_error(error: ErrorObject) -> ConnectFailed:
    summary = f"The server rejected initialize: {error.line(300)}."
    supported = error.data.get("supported") if isinstance(error.data, dict) else None
    if isinstance(supported, list) and supported:
        known = ", ".join(one_line(excerpt(date, 20)) for date in supported[:10])
        return ConnectFailed(summary, f"It says it supports {known}.")
    if error.code == UNSUPPORTED_VERSION:
        return ConnectFailed(summary, f"It does not say which protocol versions it supports. {PIN_HINT}")
    return ConnectFailed(summary, _SEE_LOG)


def _unsupported_version_error(date: JSON, requested: Revision) -> ConnectFailed:
    kind = FailureKind.VERSION
    go_on = f"To inspect it anyway, continue as {requested} (on the command line: --continue-as {requested})."
    supported = ", ".join(revision.date for revision in HANDSHAKE_REVISIONS)
    if not isinstance(date, str):
        what = "has no “protocolVersion”" if date is None else f"has {quote_value(date)} as “protocolVersion”"
        return ConnectFailed(
            f"The response to initialize {what}.",
            f"This is a server bug: it must be a protocol version, one of {supported}. {go_on}",
            kind=kind,
        )
    if find_revision(date) is not None:
        return ConnectFailed(
            f"The server responded to initialize with protocol version {date}, which has no initialize.",
            f"Set the protocol version of this server to {date}, if it supports that. Otherwise fix the "
            f"server: its response to initialize must name one of {supported}. {go_on}",
            kind=kind,
        )
    return ConnectFailed(
        f"The server requires protocol version {quote_value(date)}, which MCP Lens does not support.",
        f"With initialize, MCP Lens supports {supported}. {go_on}",
        kind=kind,
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

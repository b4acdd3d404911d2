"""Era detection: `server/discover`, what its responses mean, and fallback strategies.

Each row of the two decision tables (stdio, HTTP) is one branch of `Discovery`: the server is of the
stateless era, it is not, or the response is inconclusive.

`ProbeFirst` sends `server/discover` at the newest version and falls back to `initialize` unless the
response shows the stateless era. `LegacyFirst` is the reverse, for servers that cannot handle a request
before `initialize`. `StatelessOnly` and `InitializeHandshake` do not fall back.

Over HTTP, silence, a dropped connection, an outage or a required login says nothing about the era. Servers
of the session era respond to an unknown method with any of these, so `initialize` is tried as well: its
response is reported, and if the server rejects it, the probe is repeated once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import Enum
from typing import TypeAlias

from inspector.base.errors import ConnectFailed, FailureKind, HttpRefused, NeedsLogin
from inspector.base.json.values import JSON, JSONError, JSONObject, excerpt, quote_value, shorten
from inspector.base.plain_text import one_line
from inspector.protocol.handshake import (
    PIN_HINT,
    ClientProfile,
    InitializeHandshake,
    Negotiation,
    NegotiationResponse,
    NegotiationResult,
    NextRequest,
    NoResponse,
    StatelessDialect,
    inconclusive_error,
)
from inspector.protocol.http_rules import MODERN_ERRORS, error_in
from inspector.protocol.jsonrpc import (
    HEADER_MISMATCH,
    MISSING_CLIENT_CAPABILITY,
    UNSUPPORTED_VERSION,
    ErrorObject,
    Kind,
    Message,
    error_of,
)
from inspector.protocol.revisions import (
    HANDSHAKE_REVISIONS,
    NEWEST_HANDSHAKE,
    REVISIONS,
    Era,
    Revision,
    find_revision,
)
from inspector.protocol.types import CacheHints, Implementation

SERVER_INFO_KEY = "io.modelcontextprotocol/serverInfo"
STATELESS_REVISIONS = tuple(revision for revision in REVISIONS if revision.era is Era.STATELESS)
_PRE_RELEASE_ERRORS = {
    -32001: "HeaderMismatch",
    -32003: "MissingRequiredClientCapability",
    -32004: "UnsupportedProtocolVersion",
}
# Failures that another protocol version would not prevent, or that come with advice about it.
_SELF_EXPLANATORY = (FailureKind.VERSION, FailureKind.CREDENTIALS)
PROBE_TIMEOUT = 5.0  # seconds of silence after which `initialize` is tried instead


class EraDetection(Enum):
    """How to detect the era; the values are as in the configuration file."""

    AUTO = "auto"
    LEGACY_FIRST = "legacy-first"


AUTO, LEGACY_FIRST = EraDetection.AUTO, EraDetection.LEGACY_FIRST
# A Revision is one that the user pinned.
EraChoice: TypeAlias = EraDetection | Revision


def read_era_choice(text: str) -> EraChoice | None:
    """Parse `auto`, `legacy-first`, or a version date; None for anything else."""
    return next((search for search in EraDetection if search.value == text), None) or find_revision(text)


def proposed_revision(era: str) -> Revision:
    """Return the version that `initialize` requests with this configured choice."""
    pinned = find_revision(era)
    return pinned if pinned is not None and pinned.era is Era.SESSION else NEWEST_HANDSHAKE


def negotiation_for(
    choice: EraChoice, profile: ClientProfile, over_http: bool, continue_as: Revision | None = None
) -> Negotiation:
    """Return the negotiation; `continue_as` is used for an unknown version in a response to initialize."""
    if choice is AUTO:
        return ProbeFirst(profile, over_http, continue_as)
    if choice is LEGACY_FIRST:
        return LegacyFirst(profile, over_http, continue_as)
    assert isinstance(choice, Revision)
    if choice.era is Era.SESSION:
        return InitializeHandshake(profile, choice, continue_as)
    return StatelessOnly(profile, over_http, choice)


class ProbeFirst:
    """`server/discover`, then `initialize` if the server is not of the stateless era."""

    def __init__(self, profile: ClientProfile, over_http: bool, continue_as: Revision | None = None) -> None:
        self._discovery = Discovery(profile, over_http)
        self._handshake = InitializeHandshake(profile, continue_as=continue_as)
        self._profile = profile
        self._over_http = over_http
        self._legacy: NotModern | None = None  # set after falling back
        self._refusal: NegotiationResponse | None = None  # of initialize, which the second probe follows

    def first(self) -> NextRequest:
        return self._discovery.request(PROBE_TIMEOUT)

    def receive(self, response: NegotiationResponse) -> NextRequest | NegotiationResult:
        if self._legacy is None:
            return self._on_discover(response)
        if self._refusal is not None:
            return self._on_second_discover(response, self._refusal, self._legacy)
        return self._on_initialize(response, self._legacy)

    def _on_discover(self, response: NegotiationResponse) -> NextRequest | NegotiationResult:
        step = self._discovery.receive(response)
        if not isinstance(step, NotModern):
            return step
        self._legacy = step
        return replace(self._handshake.first(), needs_restart=step.has_exited)

    def _on_second_discover(
        self, response: NegotiationResponse, refusal: NegotiationResponse, legacy: NotModern
    ) -> NextRequest | NegotiationResult:
        step = self._discovery.receive(response)
        named = _stateless_revision_in(refusal)
        if isinstance(step, NextRequest):
            return step
        if isinstance(step, NegotiationResult):
            naming = f", naming {step.revision}" if named is not None else ""
            return replace(step, description=f"{step.description} · initialize was rejected{naming}")
        if isinstance(step.failure, NeedsLogin):
            raise step.failure
        if named is None:
            return self._initialized(refusal, legacy)  # raises: the rejection is what to report
        raise ConnectFailed(
            f"The server rejected initialize and named a newer protocol version; then {step.reason}.",
            PIN_HINT,
        )

    def _on_initialize(
        self, response: NegotiationResponse, legacy: NotModern
    ) -> NextRequest | NegotiationResult:
        # A slow server may have been locked to the stateless era by a probe that timed out here.
        named = _stateless_revision_in(response)
        if named is not None or (legacy.failure is not None and _is_rejection(response)):
            self._refusal = response
            revisions = STATELESS_REVISIONS if named is None else (named,)
            self._discovery = Discovery(self._profile, self._over_http, revisions)
            return self._discovery.request()
        return self._initialized(response, legacy)

    def _initialized(self, response: NegotiationResponse, legacy: NotModern) -> NegotiationResult:
        try:
            negotiated = self._handshake.receive(response)
        except NeedsLogin:
            raise
        except ConnectFailed as exc:
            is_same = legacy.failure is not None and exc.kind is legacy.failure.kind is FailureKind.TIMEOUT
            is_same = is_same or _is_outage(response) or exc.kind in _SELF_EXPLANATORY
            pin = "" if is_same or not legacy.is_odd or PIN_HINT in exc.next_step else PIN_HINT
            raise _with_hint(exc, _sentences(legacy.hint, pin)) from exc
        how = f"{negotiated.description} · fallback: {legacy.reason}"
        return replace(negotiated, description=f"{how}. {legacy.hint}" if legacy.hint else how)


class LegacyFirst:
    """`initialize`, then `server/discover` if the server responds with an error."""

    def __init__(self, profile: ClientProfile, over_http: bool, continue_as: Revision | None = None) -> None:
        self._handshake = InitializeHandshake(profile, continue_as=continue_as)
        self._discovery = Discovery(profile, over_http)
        self._refusal: NegotiationResponse | None = None  # set after initialize was rejected

    def first(self) -> NextRequest:
        return self._handshake.first()

    def receive(self, response: NegotiationResponse) -> NextRequest | NegotiationResult:
        if self._refusal is not None:
            return self._on_discover(response, self._refusal)
        if _error_of(response) is None:
            return self._handshake.receive(response)
        # Servers of the stateless era may return any error here.
        self._refusal = response
        return self._discovery.request()

    def _on_discover(
        self, response: NegotiationResponse, refusal: NegotiationResponse
    ) -> NextRequest | NegotiationResult:
        step = self._discovery.receive(response)
        if isinstance(step, NotModern):
            return self._handshake.receive(refusal)  # raises: the rejection is what to report
        if isinstance(step, NextRequest):
            return step
        return replace(step, description=f"{step.description} · initialize was rejected")


class StatelessOnly:
    """`server/discover` at one version, without fallback."""

    def __init__(self, profile: ClientProfile, over_http: bool, revision: Revision) -> None:
        self._revision = revision
        self._discovery = Discovery(profile, over_http, (revision,))

    def first(self) -> NextRequest:
        return self._discovery.request()

    def receive(self, response: NegotiationResponse) -> NextRequest | NegotiationResult:
        step = self._discovery.receive(response)
        if not isinstance(step, NotModern):
            return step
        if step.failure is not None:
            raise step.failure
        raise ConnectFailed(
            f"The server does not support {self._revision}: {step.reason}.",
            step.hint or "Set the protocol version to automatic, or choose an older one.",
        )


def _error_of(response: NegotiationResponse) -> ErrorObject | None:
    """Return the JSON-RPC error in a response, unless HTTP says it is about login or an outage."""
    if isinstance(response, HttpRefused):
        return error_in(response.body) if is_conclusive(response.status) else None
    if isinstance(response, NoResponse) or response.kind is not Kind.ERROR:
        return None
    try:
        return error_of(response)
    except JSONError:
        return None


def _stateless_revision_in(refusal: NegotiationResponse) -> Revision | None:
    """Return the stateless version that an initialize error names, if we support it.

    "A server that supports only modern versions SHOULD name the protocol versions it supports in any error
    it returns to an initialize request": so whatever the code.
    """
    error = _error_of(refusal)
    return None if error is None else newest_mutual(supported_in(error), STATELESS_REVISIONS)


def _is_rejection(response: NegotiationResponse) -> bool:
    """True if the server understood a request and rejected it."""
    if isinstance(response, HttpRefused):
        return is_conclusive(response.status)
    return isinstance(response, Message) and response.kind is Kind.ERROR


def _is_outage(response: NegotiationResponse) -> bool:
    return isinstance(response, HttpRefused) and response.status >= 500


def _with_hint(error: ConnectFailed, hint: str) -> ConnectFailed:
    return type(error)(error.summary, _sentences(error.next_step, hint), kind=error.kind)


def _sentences(*parts: str) -> str:
    return " ".join(part for part in parts if part)


@dataclass(frozen=True, slots=True)
class NotModern:
    """The server/discover response is not from the stateless era; `reason` starts a sentence.

    `failure` is set if the response says nothing about the era: the error to report without a fallback.
    """

    reason: str
    has_exited: bool = False
    hint: str = ""
    failure: ConnectFailed | None = None
    names_no_version: bool = False  # it rejected the version without naming others

    @property
    def is_odd(self) -> bool:
        """True if the server may be of either era."""
        return self.failure is not None or self.names_no_version


class Discovery:
    """`server/discover`, repeated at most once if the server names a supported version.

    It only interprets the response; its owner decides what to do about a server of another era.
    """

    def __init__(
        self,
        profile: ClientProfile,
        over_http: bool,
        revisions: Sequence[Revision] = STATELESS_REVISIONS,
    ) -> None:
        self._profile = profile
        self._over_http = over_http
        self._revisions = revisions  # supported, oldest first
        self._requested = revisions[-1]
        self._is_repeated = False

    def request(self, timeout: float | None = None) -> NextRequest:
        dialect = StatelessDialect(self._profile, self._requested)
        return NextRequest(
            "server/discover", dialect.prepare("server/discover", None), self._requested, timeout
        )

    def receive(self, response: NegotiationResponse) -> NextRequest | NegotiationResult | NotModern:
        """Process a response. Raises ConnectFailed if it is inconclusive or there is no common version."""
        if isinstance(response, NoResponse):
            return self._on_silence(response)
        if isinstance(response, HttpRefused):
            return self._on_refusal(response)
        try:
            return (
                self._on_error(error_of(response))
                if response.kind is Kind.ERROR
                else self._on_result(response)
            )
        except JSONError as exc:
            return NotModern(f"its response to server/discover cannot be read ({exc})")

    def _on_silence(self, response: NoResponse) -> NotModern:
        if response.kind == "exited":
            return NotModern("its process exited on server/discover", has_exited=True)
        # On a pipe, silence is the server's; on a network it can have many causes.
        failure = inconclusive_error("server/discover", response) if self._over_http else None
        if response.kind == "disconnected":
            return NotModern("it closed the connection on server/discover", failure=failure)
        if response.kind == "unusable":
            return NotModern("its response to server/discover cannot be used", failure=failure)
        return NotModern("it did not respond to server/discover", failure=failure)

    def _on_refusal(self, refused: HttpRefused) -> NextRequest | NotModern:
        if not is_conclusive(refused.status):
            failure = inconclusive_error("server/discover", refused)
            if 300 <= refused.status < 400:  # any other request is redirected as well
                raise failure from refused
            what = "without a message" if refused.status == 200 else f"with HTTP {refused.status}"
            return NotModern(f"it responded to server/discover {what}", failure=failure)
        error = error_in(refused.body)
        if error is not None:
            return self._on_error(error)
        return NotModern(f"it rejected server/discover with HTTP {refused.status}")

    def _on_error(self, error: ErrorObject) -> NextRequest | NotModern:
        if error.code == UNSUPPORTED_VERSION:
            return self._on_unsupported(supported_in(error))
        if error.code in MODERN_ERRORS:
            raise _rejected_discover_error(error)
        reason = f"it responded to server/discover with an error: {error.line(200)}"
        old_name = None if error.code is None else _PRE_RELEASE_ERRORS.get(error.code)
        if old_name is None:
            return NotModern(reason)
        return NotModern(
            reason,
            hint=(
                f"{error.code} was {old_name} in builds before the 2026-07-28 release: the server may be "
                "such a build."
            ),
        )

    def _on_unsupported(self, supported: Sequence[str]) -> NextRequest | NotModern:
        mutual = newest_mutual(supported, self._revisions)
        if mutual is None:
            return self._on_no_common_version(supported)
        if self._is_repeated:
            raise ConnectFailed(
                f"The server rejects protocol version {self._requested}, but lists it as supported.",
                "This is a bug in the server.",
            )
        self._is_repeated = True
        self._requested = mutual
        return self.request()

    def _on_no_common_version(self, supported: Sequence[str]) -> NotModern:
        """Handle a lack of common versions in this era: perhaps the other era has one."""
        if newest_mutual(supported, HANDSHAKE_REVISIONS) is not None:
            return NotModern(
                f"it lists only older protocol versions that MCP Lens supports ({_listed(supported)})"
            )
        if not supported:
            reason = f"it rejected protocol version {self._requested} and did not say which it supports"
            return NotModern(reason, names_no_version=True)
        ours = ", ".join(revision.date for revision in REVISIONS)
        raise ConnectFailed(
            "The server and MCP Lens have no protocol version in common.",
            f"It supports {_listed(supported)}; MCP Lens supports {ours}.",
        )

    def _on_result(self, response: Message) -> NegotiationResult | NotModern:
        result = response.result
        if not _is_discover_result(result):
            kind = result.get("resultType")
            is_wrong_type = bool(_strings(result.get("supportedVersions")))
            hint = f"Its response to server/discover has the resultType {quote_value(kind)}, not “complete”."
            return NotModern(
                "its response to server/discover is not a DiscoverResult", hint=hint if is_wrong_type else ""
            )
        supported = _strings(result.get("supportedVersions"))
        revision = newest_mutual(supported, self._revisions)
        return (
            self._on_no_common_version(supported)
            if revision is None
            else self._agree(revision, supported, result)
        )

    def _agree(self, revision: Revision, supported: Sequence[str], result: JSONObject) -> NegotiationResult:
        capabilities, instructions = result.get("capabilities"), result.get("instructions")
        info, problems = _server_info(result)
        if not isinstance(capabilities, dict):
            problems.append('The result of server/discover has no "capabilities" object.')
        return NegotiationResult(
            revision=revision,
            server=Implementation.read(info),
            capabilities=capabilities if isinstance(capabilities, dict) else {},
            instructions=instructions if isinstance(instructions, str) else "",
            description=self._description(revision),
            problems=tuple(problems),
            supported_versions=tuple(supported),
            cache=CacheHints.read(result),
        )

    def _description(self, revision: Revision) -> str:
        if self._is_repeated:
            return f"server/discover · retried with {revision}"
        if revision == self._requested:
            return f"server/discover · {revision} accepted"
        return f"server/discover · {self._requested} requested, {revision} supported"


def is_conclusive(status: int) -> bool:
    """True if a rejection with this HTTP status says anything about the era.

    A missing login, an outage or a redirect does not.
    """
    return 400 <= status < 500 and status not in (401, 403)


def newest_mutual(theirs: Sequence[str], ours: Sequence[Revision]) -> Revision | None:
    """Return the newest version of `ours` (oldest first) that is also in `theirs`."""
    return next((revision for revision in reversed(ours) if revision.date in theirs), None)


def _is_discover_result(result: JSONObject) -> bool:
    result_type = result.get("resultType")
    return result_type in (None, "complete") and bool(_strings(result.get("supportedVersions")))


def _server_info(result: JSONObject) -> tuple[JSON, list[str]]:
    """Return the server info, and what is wrong with its placement."""
    meta = result.get("_meta")
    info = meta.get(SERVER_INFO_KEY) if isinstance(meta, dict) else None
    if info is None and "serverInfo" in result:
        return result["serverInfo"], ['The result of server/discover has "serverInfo" outside "_meta".']
    return info, []


def supported_in(error: ErrorObject) -> list[str]:
    """Return the versions that an error lists."""
    return _strings(error.data.get("supported")) if isinstance(error.data, dict) else []


def _strings(value: JSON) -> list[str]:
    return [item for item in value if isinstance(item, str)] if isinstance(value, list) else []


def _listed(versions: Sequence[str]) -> str:
    return ", ".join(one_line(shorten(version, 20)) for version in versions[:10])


def _rejected_discover_error(error: ErrorObject) -> ConnectFailed:
    """Return the error for a modern server that rejects us: a fallback would hide that."""
    summary = f"The server is stateless, but rejected server/discover: {error.line(200)}."
    if error.code == HEADER_MISMATCH:
        return ConnectFailed(summary, "A proxy may drop or change the Mcp-* headers.")
    assert error.code == MISSING_CLIENT_CAPABILITY
    needed = error.data.get("requiredCapabilities") if isinstance(error.data, dict) else None
    named = f": {one_line(excerpt(needed, 200))}" if needed is not None else ""
    return ConnectFailed(summary, f"It requires a client capability that MCP Lens does not declare{named}.")

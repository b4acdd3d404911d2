"""Base class of connection checks: dependencies, step results, steps after negotiation."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable
from dataclasses import dataclass, replace

from inspector.base.clock import Clock
from inspector.base.errors import FailureKind, UserError
from inspector.base.units import plural
from inspector.config.preferences.settings import ConnectionSettings
from inspector.config.servers.entries import Entry
from inspector.config.servers.placeholders import needs_expansion
from inspector.engine.doctor.probe_session import ObservedTraffic, ProbeSession
from inspector.engine.doctor.results import CheckResult, CheckState, Diagnosis
from inspector.engine.doctor.rules.protocol import diagnose_list, diagnose_negotiated
from inspector.protocol.client_capabilities import NOTHING
from inspector.protocol.revisions import Era
from inspector.session.connect import make_routes
from inspector.traffic.log import TrafficLog
from inspector.transport.base import Authorization, AuthorizedRequest, Headers
from inspector.transport.orphan_guard import OrphanGuard

_LIST_TIMEOUT = 15.0
_PROBE_TIMEOUT = 1.0  # for detecting another protocol on a port
NOT_EXPANDED = (
    "Not checked, because placeholders such as ${VAR} are expanded only after you trust the server."
)


async def _unchanged(entry: Entry) -> Entry:
    return entry


@dataclass(frozen=True, slots=True)
class CheckContext:
    """Dependencies of a connection check.

    `resolve` resolves secrets and placeholders; it raises ConfigError. If `may_contact` is False (untrusted
    server), nothing is started or contacted.
    """

    log: TrafficLog
    guard: OrphanGuard
    clock: Clock
    settings: ConnectionSettings
    resolve: Callable[[Entry], Awaitable[Entry]] = _unchanged
    authorization: Authorization | None = None
    may_contact: bool = True
    list_timeout: float = _LIST_TIMEOUT
    probe_timeout: float = _PROBE_TIMEOUT


class TokensOnly:
    """A `transport.base.Authorization` that sends existing tokens and never starts a login."""

    def __init__(self, inner: Authorization) -> None:
        self._inner = inner
        self.has_token = False

    def begin(self, operation: str) -> _TokensOnlyRequest:
        return _TokensOnlyRequest(self, self._inner.begin(operation))


class _TokensOnlyRequest:
    def __init__(self, owner: TokensOnly, inner: AuthorizedRequest) -> None:
        self._owner = owner
        self._inner = inner

    async def headers(self, method: str, url: str) -> Headers:
        headers = await self._inner.headers(method, url)
        self._owner.has_token |= bool(headers)
        return headers

    def responded(self, status: int, url: str, headers: Headers) -> None:
        self._inner.responded(status, url, headers)

    async def refused(self, status: int, headers: Headers, body: bytes) -> bool:
        return False


class ConnectionCheck:
    """A connection check; `run` yields results until the end, or until `failure` is set."""

    steps: tuple[str, ...] = ()

    def __init__(self, entry: Entry, context: CheckContext) -> None:
        self.entry = entry
        self.context = context
        self.failure: Diagnosis | None = None
        self.warnings: list[Diagnosis] = []
        connect = entry.timeouts.connect or context.settings.connect_timeout
        self.settings = replace(context.settings, connect_timeout=connect)
        self.authorization = TokensOnly(context.authorization) if context.authorization is not None else None

    def run(self) -> AsyncGenerator[CheckResult, None]:
        raise NotImplementedError

    def has_unexpanded_placeholders(self, entry: Entry) -> bool:
        """True if the server is untrusted and has placeholders, which are then not expanded."""
        return not self.context.may_contact and needs_expansion(entry)

    def has_failed(self) -> bool:
        return self.failure is not None

    def now(self) -> int:
        return self.context.clock.monotonic_ns()

    def running(self, id: str, text: str = "") -> CheckResult:
        return CheckResult(id, CheckState.RUNNING, text)

    def check_result(
        self,
        id: str,
        text: str,
        elapsed_ns: int = 0,
        diagnosis: Diagnosis | None = None,
        details: tuple[str, ...] = (),
    ) -> CheckResult:
        """Return the result of a step. A failure is attributed to this step."""
        if diagnosis is None:
            return CheckResult(id, CheckState.OK, text, elapsed_ns, details)
        if diagnosis.is_warning:
            self.warnings.append(diagnosis)
            return CheckResult(id, CheckState.WARN, text or diagnosis.cause, elapsed_ns, details)
        self.failure = replace(diagnosis, step=id)
        return CheckResult(id, CheckState.FAILED, text or diagnosis.cause, elapsed_ns, details)

    def skipped(self, id: str, why: str) -> CheckResult:
        return CheckResult(id, CheckState.SKIPPED, why)

    def new_session(
        self, entry: Entry, is_final: Callable[[ObservedTraffic], bool] | None = None
    ) -> ProbeSession:
        """Open a separate connection. Raises ConfigError."""
        context = self.context
        routes = make_routes(entry, NOTHING, context.guard, context.clock, self.settings, self.authorization)
        return ProbeSession(routes, context.log, self.entry.name, context.clock, self.settings, is_final)

    async def check_negotiated(
        self, session: ProbeSession, traffic: ObservedTraffic
    ) -> AsyncGenerator[CheckResult, None]:
        """Check version, capabilities and the first list."""
        negotiated = traffic.negotiated
        assert negotiated is not None
        shown = f"{negotiated.server.name} {negotiated.server.version}".strip()
        yield self.check_result(
            "version",
            f"{negotiated.revision}{f', {shown}' if shown else ''}",
            details=(negotiated.description,),
        )
        warnings = diagnose_negotiated(negotiated)
        declared = ", ".join(negotiated.capabilities) or "none"
        yield self.check_result("capabilities", declared, diagnosis=warnings[0] if warnings else None)
        self.warnings += warnings[1:]
        yield self.running("list")
        listed = await session.list_first(self.context.list_timeout)
        if not listed.method:
            yield self.skipped("list", "The server declares no tools, resources or prompts.")
            return
        text = (
            ""
            if listed.error
            else f"{listed.method}: {plural(listed.count, listed.method.partition('/')[0][:-1])}"
        )
        yield self.check_result("list", text, listed.elapsed_ns, diagnose_list(listed))

    def era_text(self, traffic: ObservedTraffic) -> str:
        assert traffic.negotiated is not None
        return (
            "stateless (server/discover)"
            if traffic.negotiated.era is Era.STATELESS
            else "session (initialize)"
        )


def summary_of(error: UserError | None) -> str:
    return error.summary if error is not None else ""


def kind_of(error: UserError | None) -> FailureKind:
    return error.kind if error is not None else FailureKind.OTHER

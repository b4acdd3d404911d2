"""Which era does a server speak? The ways to find out, and to an agreement in either.

`ProbeFirst` asks `server/discover` at the newest revision and falls back to `initialize` where the reply
is no sign of the stateless era. `LegacyFirst` goes the other way round, for servers that a request
before `initialize` upsets. `StatelessOnly` and `InitializeHandshake` do not fall back. An outage, a
refused login or a dead network says nothing about an era: those end the attempt, and never fall back.
"""

from __future__ import annotations

from dataclasses import replace
from enum import Enum
from typing import TypeAlias

from inspector.base.errors import ConnectFailed, HttpRefused
from inspector.base.jsonvalue import JSONProblem
from inspector.protocol.discovery import (
    STATELESS_REVISIONS,
    Discovery,
    NotModern,
    is_verdict,
    newest_mutual,
    supported_in,
)
from inspector.protocol.handshake import (
    Agreement,
    Ask,
    ClientProfile,
    InitializeHandshake,
    Negotiation,
    NoAnswer,
    Reply,
)
from inspector.protocol.httprules import error_in
from inspector.protocol.jsonrpc import ErrorObject, Kind, error_of
from inspector.protocol.revisions import Era, Revision, find_revision

PROBE_TIMEOUT = 5.0  # seconds of silence after which a process is assumed to be of the handshake era


class Search(Enum):
    """How to detect the era; the values are as in the configuration file."""

    AUTO = "auto"
    LEGACY_FIRST = "legacy-first"


AUTO, LEGACY_FIRST = Search.AUTO, Search.LEGACY_FIRST
# A Revision is one that the user pinned.
EraChoice: TypeAlias = Search | Revision


def read_era_choice(text: str) -> EraChoice | None:
    """Parse `auto`, `legacy-first`, or a version date; None for anything else."""
    return next((search for search in Search if search.value == text), None) or find_revision(text)


def negotiation_for(choice: EraChoice, profile: ClientProfile, over_http: bool) -> Negotiation:
    if choice is AUTO:
        return ProbeFirst(profile, over_http)
    if choice is LEGACY_FIRST:
        return LegacyFirst(profile, over_http)
    assert isinstance(choice, Revision)
    if choice.era is Era.HANDSHAKE:
        return InitializeHandshake(profile, choice)
    return StatelessOnly(profile, over_http, choice)


class StatelessOnly:
    """`server/discover` at one version, without fallback."""

    def __init__(self, profile: ClientProfile, over_http: bool, revision: Revision) -> None:
        self._revision = revision
        self._discovery = Discovery(profile, over_http, (revision,))

    def first(self) -> Ask:
        return self._discovery.ask()

    def receive(self, reply: Reply) -> Ask | Agreement:
        step = self._discovery.receive(reply)
        if not isinstance(step, NotModern):
            return step
        raise ConnectFailed(
            f"The server does not speak {self._revision}: {step.reason}.",
            step.hint or "Let the era be found out, or choose an older revision.",
        )


class ProbeFirst:
    """`server/discover`, then `initialize` if the server is not of the stateless era."""

    def __init__(self, profile: ClientProfile, over_http: bool) -> None:
        self._discovery = Discovery(profile, over_http)
        self._handshake = InitializeHandshake(profile)
        self._profile = profile
        self._over_http = over_http
        self._legacy: NotModern | None = None  # set after falling back
        self._is_reprobing = False

    def first(self) -> Ask:
        return self._discovery.ask(None if self._over_http else PROBE_TIMEOUT)

    def receive(self, reply: Reply) -> Ask | Agreement:
        if self._legacy is None or self._is_reprobing:
            return self._on_discover(reply)
        return self._on_initialize(reply, self._legacy)

    def _on_discover(self, reply: Reply) -> Ask | Agreement:
        step = self._discovery.receive(reply)
        if not isinstance(step, NotModern):
            return self._with_history(step)
        if self._is_reprobing:
            raise ConnectFailed(
                f"The server refused initialize and named a newer version; then {step.reason}.",
                "Choose a revision for this server by hand.",
            )
        self._legacy = step
        return replace(self._handshake.first(), needs_restart=step.has_exited)

    def _on_initialize(self, reply: Reply, legacy: NotModern) -> Ask | Agreement:
        # A slow server may have been locked to the stateless era by a probe that timed out here.
        named = _stateless_revision_in(reply)
        if named is not None:
            self._is_reprobing = True
            self._discovery = Discovery(self._profile, self._over_http, (named,))
            return self._discovery.ask()
        try:
            agreement = self._handshake.receive(reply)
        except ConnectFailed as exc:
            raise _with_hint(exc, legacy.hint) from exc
        said = f"{legacy.reason[0].upper()}{legacy.reason[1:]}, so it was asked initialize"
        return replace(agreement, how=_sentences(f"{said}: {agreement.how}.", legacy.hint))

    def _with_history(self, step: Ask | Agreement) -> Ask | Agreement:
        if not self._is_reprobing or isinstance(step, Ask):
            return step
        return replace(step, how=f"The server refused initialize and named {step.revision}. {step.how}")


class LegacyFirst:
    """`initialize`, then `server/discover` if the server responds with an error."""

    def __init__(self, profile: ClientProfile, over_http: bool) -> None:
        self._handshake = InitializeHandshake(profile)
        self._discovery = Discovery(profile, over_http)
        self._refusal: Reply | None = None  # set after initialize was rejected

    def first(self) -> Ask:
        return self._handshake.first()

    def receive(self, reply: Reply) -> Ask | Agreement:
        if self._refusal is not None:
            return self._on_discover(reply, self._refusal)
        if _error_of(reply) is None:
            return self._handshake.receive(reply)
        # Servers of the stateless era may return any error here.
        self._refusal = reply
        return self._discovery.ask()

    def _on_discover(self, reply: Reply, refusal: Reply) -> Ask | Agreement:
        step = self._discovery.receive(reply)
        if isinstance(step, NotModern):
            return self._handshake.receive(refusal)  # raises: the rejection is what to report
        if isinstance(step, Ask):
            return step
        return replace(step, how=f"The server refused initialize. {step.how}")


def _error_of(reply: Reply) -> ErrorObject | None:
    """Return the JSON-RPC error in a reply, unless HTTP says it is about login or an outage."""
    if isinstance(reply, HttpRefused):
        return error_in(reply.body) if is_verdict(reply.status) else None
    if isinstance(reply, NoAnswer) or reply.kind is not Kind.ERROR:
        return None
    try:
        return error_of(reply)
    except JSONProblem:
        return None


def _stateless_revision_in(refusal: Reply) -> Revision | None:
    """Return the stateless version that an initialize error names, if we support it.

    "A server that supports only modern versions SHOULD name the protocol versions it supports in any error
    it returns to an initialize request": so whatever the code.
    """
    error = _error_of(refusal)
    return None if error is None else newest_mutual(supported_in(error), STATELESS_REVISIONS)


def _with_hint(error: ConnectFailed, hint: str) -> ConnectFailed:
    return type(error)(error.summary, _sentences(error.next_step, hint))


def _sentences(*parts: str) -> str:
    return " ".join(part for part in parts if part)

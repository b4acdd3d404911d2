"""`server/discover`: what the replies to it say about a server.

Each row of the two decision tables (over a pipe, over HTTP) is one branch here: the server is of the
stateless era, or it is not, or nothing can be said.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from inspector.base.errors import ConnectFailed, HttpRefused
from inspector.base.jsonvalue import JSON, JSONObject, JSONProblem, excerpt, shorten
from inspector.base.plaintext import one_line
from inspector.protocol.dialect import StatelessDialect
from inspector.protocol.handshake import Agreement, Ask, ClientProfile, NoAnswer, Reply, no_verdict
from inspector.protocol.httprules import (
    HEADER_MISMATCH,
    MISSING_CLIENT_CAPABILITY,
    MODERN_ERRORS,
    UNSUPPORTED_VERSION,
    error_in,
)
from inspector.protocol.jsonrpc import ErrorObject, Kind, Message, error_of
from inspector.protocol.revisions import HANDSHAKE_REVISIONS, REVISIONS, Era, Revision
from inspector.protocol.types import CacheHints, Implementation

SERVER_INFO_KEY = "io.modelcontextprotocol/serverInfo"
STATELESS_REVISIONS = tuple(revision for revision in REVISIONS if revision.era is Era.STATELESS)

_PRE_RELEASE_ERRORS = {
    -32001: "HeaderMismatch",
    -32003: "MissingRequiredClientCapability",
    -32004: "UnsupportedProtocolVersion",
}


@dataclass(frozen=True, slots=True)
class NotModern:
    """The server/discover response is not from the stateless era; `reason` starts a sentence."""

    reason: str
    has_exited: bool = False
    hint: str = ""


class Discovery:
    """`server/discover`, repeated at most once if the server names a version that we support.

    It only judges: what to do about a server of another era is up to the owner.
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
        self._asked = revisions[-1]
        self._is_repeated = False

    def ask(self, timeout: float | None = None) -> Ask:
        dialect = StatelessDialect(self._profile, self._asked)
        return Ask("server/discover", dialect.dress("server/discover", None), self._asked, timeout)

    def receive(self, reply: Reply) -> Ask | Agreement | NotModern:
        """Judge a reply. Raises ConnectFailed if it is inconclusive or there is no common version."""
        if isinstance(reply, NoAnswer):
            return self._on_silence(reply)
        if isinstance(reply, HttpRefused):
            return self._on_refusal(reply)
        try:
            return self._on_error(error_of(reply)) if reply.kind is Kind.ERROR else self._settle(reply)
        except JSONProblem as exc:
            return NotModern(f"its answer to server/discover cannot be read ({exc})")

    def _on_silence(self, reply: NoAnswer) -> NotModern:
        # On a pipe, silence is the server's; on a network it can have many causes.
        if self._over_http:
            raise no_verdict("server/discover", reply)
        if reply.kind == "exited":
            return NotModern("its process ended when it was asked server/discover", has_exited=True)
        return NotModern("it did not answer server/discover")

    def _on_refusal(self, refused: HttpRefused) -> Ask | NotModern:
        if not is_verdict(refused.status):
            raise no_verdict("server/discover", refused) from refused
        error = error_in(refused.body)
        if error is not None:
            return self._on_error(error)
        return NotModern(f"it refused server/discover with HTTP {refused.status}")

    # -------------------------------------------------------------- errors

    def _on_error(self, error: ErrorObject) -> Ask | NotModern:
        if error.code == UNSUPPORTED_VERSION:
            return self._on_unsupported(supported_in(error))
        if error.code in MODERN_ERRORS:
            raise _refused_discover(error)
        reason = f"it answered server/discover with “{_said(error)}” ({error.code})"
        old_name = _PRE_RELEASE_ERRORS.get(error.code)
        if old_name is None:
            return NotModern(reason)
        return NotModern(
            reason,
            hint=f"{error.code} was {old_name} in builds from before the release of 2026-07-28: "
            "the server may be such a build.",
        )

    def _on_unsupported(self, supported: Sequence[str]) -> Ask | NotModern:
        mutual = newest_mutual(supported, self._revisions)
        if mutual is None:
            return self._no_overlap(supported)
        if self._is_repeated:
            raise ConnectFailed(
                f"The server refuses protocol version {self._asked} and lists it as supported.",
                "This is a fault of the server.",
            )
        self._is_repeated = True
        self._asked = mutual
        return self.ask()

    def _no_overlap(self, supported: Sequence[str]) -> NotModern:
        """Handle a lack of common versions in this era: perhaps the other era has one."""
        if newest_mutual(supported, HANDSHAKE_REVISIONS) is not None:
            return NotModern(f"of the versions that we speak it lists only older ones ({_listed(supported)})")
        ours = ", ".join(revision.date for revision in REVISIONS)
        theirs = f"It supports {_listed(supported)}" if supported else "It does not say what it supports"
        raise ConnectFailed(
            "The server and we have no protocol version in common.", f"{theirs}; we speak {ours}."
        )

    # -------------------------------------------------------------- results

    def _settle(self, answer: Message) -> Agreement | NotModern:
        result = answer.result
        if not _is_discover_result(result):
            return NotModern("its answer to server/discover is no DiscoverResult")
        supported = _strings(result.get("supportedVersions"))
        revision = newest_mutual(supported, self._revisions)
        return self._no_overlap(supported) if revision is None else self._agree(revision, supported, result)

    def _agree(self, revision: Revision, supported: Sequence[str], result: JSONObject) -> Agreement:
        capabilities, instructions = result.get("capabilities"), result.get("instructions")
        info, problems = _server_info(result)
        if not isinstance(capabilities, dict):
            problems.append('The answer to server/discover has no "capabilities" object.')
        return Agreement(
            revision=revision,
            server=Implementation.read(info),
            capabilities=capabilities if isinstance(capabilities, dict) else {},
            instructions=instructions if isinstance(instructions, str) else "",
            how=self._how(revision),
            problems=tuple(problems),
            supported_versions=tuple(supported),
            cache=CacheHints.read(result),
        )

    def _how(self, revision: Revision) -> str:
        if self._is_repeated:
            return f"The server refused server/discover at first, named {revision}, and answered it then."
        return f"The server answered server/discover at {self._asked}, and supports {revision}."


def is_verdict(status: int) -> bool:
    """True if a rejection with this HTTP status says anything about the era.

    A missing login, an outage or a redirect does not.
    """
    return 400 <= status < 500 and status not in (401, 403)


def newest_mutual(theirs: Sequence[str], ours: Sequence[Revision]) -> Revision | None:
    """Return the newest of `ours` (oldest first) that is in `theirs`."""
    return next((revision for revision in reversed(ours) if revision.date in theirs), None)


def _is_discover_result(result: JSONObject) -> bool:
    result_type = result.get("resultType")
    return result_type in (None, "complete") and bool(_strings(result.get("supportedVersions")))


def _server_info(result: JSONObject) -> tuple[JSON, list[str]]:
    """Return the server info, and what is wrong with its placement."""
    meta = result.get("_meta")
    info = meta.get(SERVER_INFO_KEY) if isinstance(meta, dict) else None
    if info is None and "serverInfo" in result:
        return result["serverInfo"], ['The answer to server/discover has "serverInfo" outside of "_meta".']
    return info, []


def supported_in(error: ErrorObject) -> list[str]:
    """Return the versions that an error lists."""
    return _strings(error.data.get("supported")) if isinstance(error.data, dict) else []


def _strings(value: JSON) -> list[str]:
    return [item for item in value if isinstance(item, str)] if isinstance(value, list) else []


def _listed(versions: Sequence[str]) -> str:
    return ", ".join(one_line(shorten(version, 20)) for version in versions[:10])


def _said(error: ErrorObject) -> str:
    return shorten(one_line(error.message), 200)


def _refused_discover(error: ErrorObject) -> ConnectFailed:
    """Return the error for a modern server that rejects us: a fallback would hide that."""
    summary = (
        f"The server is of the stateless era, and refused server/discover: {_said(error)} ({error.code})."
    )
    if error.code == HEADER_MISMATCH:
        return ConnectFailed(summary, "A proxy on the way may drop or change the Mcp-* headers.")
    assert error.code == MISSING_CLIENT_CAPABILITY
    needed = error.data.get("requiredCapabilities") if isinstance(error.data, dict) else None
    named = f": {one_line(excerpt(needed, 200))}" if needed is not None else ""
    return ConnectFailed(summary, f"It needs a capability that we do not declare{named}.")

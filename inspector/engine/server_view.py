"""State of a server: connection, configuration, declared client capabilities and feature counts.

Not imported at start-up: no server is shown before the engine is loaded.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from inspector.base.units import plural
from inspector.engine.views import ServerStatus

if TYPE_CHECKING:
    from inspector.base.json.values import JSONObject
    from inspector.protocol.client_capabilities import ClientCapabilities
    from inspector.protocol.handshake import NegotiationResult
    from inspector.protocol.revisions import Revision


@dataclass(frozen=True, slots=True)
class ClientSide:
    """What we declare to a server.

    `declared` was chosen by the user unless `is_default`; it is declared in the form of `revision` (None
    while unknown). `sent` is what the current connection declared, if there is one; `differs` means that it
    is something else and a reconnect is needed.
    """

    declared: ClientCapabilities
    is_default: bool
    roots: tuple[str, ...]
    revision: Revision | None
    sent: JSONObject | None
    differs: bool


@dataclass(frozen=True, slots=True)
class FeatureCount:
    """Number of items in a list of a server: `tools`, `resources`, `templates` or `prompts`."""

    kind: str
    count: int
    is_complete: bool = True


def counts_text(counts: Iterable[FeatureCount]) -> str:
    """Return the counts for display: 48 tools · 6 resources."""
    return " · ".join(
        plural(each.count, _NOUNS[each.kind]) + ("" if each.is_complete else " (incomplete)")
        for each in sorted(counts, key=lambda each: list(_NOUNS).index(each.kind))
    )


_NOUNS = {"tools": "tool", "resources": "resource", "templates": "resource template", "prompts": "prompt"}


@dataclass(frozen=True, slots=True)
class ServerView:
    """Current state of a server."""

    name: str
    transport: str
    address: str
    status: ServerStatus
    reason: str = ""
    next_step: str = ""
    waits_for: str = ""
    reconnect: str = ""  # RECONNECTING: when, and which attempt; `reason` says why
    negotiated: NegotiationResult | None = None
    pid: int | None = None
    was_connected: bool = False  # FAILED: the connection was lost, not refused
    continue_as: str = ""  # FAILED: a version unknown to us was named; this one can be used instead
    is_header_rejected: bool = False  # FAILED: the configured Authorization header
    path_source: str = ""  # of a command: where its PATH comes from
    stream_problem: str = ""  # CONNECTED: why server messages are not received
    can_wait_longer: bool = False  # slow to start, or timed out: the user may give it more time
    is_sequential: bool = False  # gets one request at a time
    is_verified: bool = True  # its TLS certificate is verified
    is_saved: bool = True  # in the server list; a demo server is not
    client_side: ClientSide | None = None
    plain_secrets: tuple[str, ...] = ()  # secrets in plain text in the server list
    secret_references: tuple[str, ...] = ()  # headers, variables and inputs in the secret store
    expands: tuple[str, ...] = ()  # placeholders resolved on connecting: HOME, input:key
    is_outdated: bool = False  # changed since connecting: reconnect to apply
    origin: str = ""  # the other client's file that defines it; "" for the user's own
    notes: str = ""
    color: str = ""
    auto_connect: bool = False
    is_enabled: bool = True
    is_logging_in: bool = False  # a login that the user started is running
    counts: tuple[FeatureCount, ...] = ()  # of the lists fetched on the current connection

    def offers(self, capability: str) -> bool:
        return self.negotiated is not None and capability in self.negotiated.capabilities

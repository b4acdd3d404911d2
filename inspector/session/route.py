"""The ways to one server, in the order they are tried."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TypeAlias

from inspector.base.jsonvalue import JSONObject
from inspector.protocol.handshake import ClientProfile, Negotiation
from inspector.transport.base import Transport

Answerer: TypeAlias = Callable[[JSONObject], Awaitable[JSONObject]]


@dataclass(frozen=True, slots=True)
class Route:
    """A way to connect: a transport, and how negotiation starts on it.

    `closes_to_cancel` is for Streamable HTTP, where each request has its own exchange; `is_process` for a
    child process, which can be restarted.
    """

    make_transport: Callable[[], Transport]
    make_negotiation: Callable[[], Negotiation]
    profile: ClientProfile
    closes_to_cancel: bool = False
    is_process: bool = False

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
    """One way: a transport, and how a conversation begins on it.

    `closes_to_cancel` is for Streamable HTTP, where each request has an exchange of its own;
    `is_process` for a child of ours, which can be started again.
    """

    make_transport: Callable[[], Transport]
    make_negotiation: Callable[[], Negotiation]
    profile: ClientProfile
    closes_to_cancel: bool = False
    is_process: bool = False

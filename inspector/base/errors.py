"""Exceptions of MCP Lens: one tree, of which a few leaves are defined where they are raised.

    LensError
    ├── LocalProtocolError      we broke the protocol: a bug in MCP Lens
    ├── RemoteProtocolError     the peer broke it so badly that we cannot go on
    ├── RpcError                the peer responded with a JSON-RPC error (`protocol.jsonrpc`)
    │   └── RequestRefused      … here: our error response to a server request (`session.server_requests`)
    └── UserError               text for the user: the cause, then the next step
        ├── ConfigError         a file, a command line or a typed value cannot be used
        │   ├── SecretsUnavailable     secrets cannot be read or written now (`config.secrets.records`)
        │   ├── ChangedElsewhere       saved calls changed on disk (`config.calls.saved_calls`)
        │   └── RulesChangedElsewhere  reply rules changed on disk (`engine.inbox.reply_rules`)
        ├── ConnectFailed       no connection could be established
        │   ├── NeedsLogin      … because the server requires a login
        │   └── WrongRoute      … because the server uses an older transport (`session.connect`)
        ├── ConnectionLost      the connection ended while a request was pending
        │   ├── HttpRefused     … or one HTTP request failed with an error status
        │   └── NotReached      … or nothing could be sent at all
        ├── RequestTimedOut     no response within the limit
        ├── UnusableResponse    the server responded, but not as the protocol requires
        ├── RequestCancelled    cancelled by the user or by MCP Lens
        ├── CapabilityMissing   the server did not declare the capability that this needs
        ├── UnknownVariables    a call uses undefined variables (`config.calls.variables`)
        ├── LoginStopped        a login ended at a step (`oauth.login.context`)
        ├── RefreshRefused      the refresh token is no longer valid (`oauth.token_endpoint`)
        ├── FilterError         a filter cannot be parsed; says where (`traffic.filter.tree`)
        ├── BodyUnavailable     the bytes of a row cannot be read (`traffic.log`)
        └── UrlBlocked          a URL from a server is not contacted (`protocol.auth.url_guard`)

A protocol violation that we can tolerate is not an exception: it is recorded with the message
(`protocol.jsonrpc.Message.problem`), and the connection goes on.
"""

from __future__ import annotations

from enum import Enum, auto


class FailureKind(Enum):
    """Failures that code must tell apart: the text of an error is for the user only."""

    OTHER = auto()
    TIMEOUT = auto()  # no connection or no response within the limit
    DISCONNECTED = auto()  # the peer closed the connection instead of responding
    NOT_HTTP = auto()  # the peer responded with something other than HTTP
    UNUSABLE = auto()  # the peer responded with something that is not a usable response
    EVENT_STREAM = auto()  # an event stream could not be opened, or ended too early
    CREDENTIALS = auto()  # the peer rejected the Authorization header that the user configured
    VERSION = auto()  # the peer responded to initialize with a protocol version that cannot be used
    SESSION_LOST = auto()  # the server no longer recognizes the session


class LensError(Exception):
    """Base class of all errors raised by MCP Lens. `next_step` tells the user what to do."""

    next_step = ""


class LocalProtocolError(LensError):
    """We tried to do what the protocol forbids."""

    next_step = "This is a bug in MCP Lens: please report it."


class RemoteProtocolError(LensError):
    """The peer sent something unusable where a valid message was required."""

    next_step = "This is a fault of the server: update it, or report this message to its developers."


class UserError(LensError):
    """An error with text for the user: what happened and why, then what to do."""

    def __init__(self, summary: str, next_step: str = "", *, kind: FailureKind = FailureKind.OTHER) -> None:
        super().__init__(f"{summary} {next_step}".strip())
        self.summary = summary
        self.next_step = next_step
        self.kind = kind


class ConfigError(UserError):
    """A configuration file, a command line or a typed value cannot be used."""


class ConnectFailed(UserError):
    """No connection could be established."""


class NeedsLogin(ConnectFailed):
    """The server requires a login.

    Keeps the headers of its response: they say what a login needs. `was_tried`: a login ran and failed, so
    that another request must not start one again.
    """

    def __init__(
        self,
        summary: str,
        next_step: str = "",
        status: int = 401,
        headers: tuple[tuple[str, str], ...] = (),
        *,
        was_tried: bool = False,
    ) -> None:
        super().__init__(summary, next_step)
        self.status = status
        self.headers = headers
        self.was_tried = was_tried


class ConnectionLost(UserError):
    """The connection ended while a request was pending."""


class HttpRefused(ConnectionLost):
    """A request was answered with an HTTP error status instead of a message.

    Keeps the status and the body: they tell which transport and which era the server supports.
    """

    def __init__(
        self,
        summary: str,
        next_step: str,
        status: int,
        body: bytes = b"",
        *,
        kind: FailureKind = FailureKind.OTHER,
    ) -> None:
        super().__init__(summary, next_step, kind=kind)
        self.status = status
        self.body = body


class NotReached(ConnectionLost):
    """The server could not be reached: the request was never sent."""


class RequestTimedOut(UserError):
    """No response arrived within the timeout."""


class UnusableResponse(UserError):
    """The server sent something that must be the response to a request, but cannot be used as one."""


class RequestCancelled(UserError):
    """The request was cancelled on our side."""


class CapabilityMissing(UserError):
    """The server did not declare the capability that this request needs."""

"""Every exception this project raises on purpose.

    LensError
    ├── LocalProtocolError      we broke the protocol: a bug of ours
    ├── RemoteProtocolError     the peer broke it so badly that we cannot go on
    ├── RpcError                the peer answered with a JSON-RPC error
    └── UserError               a sentence for the person: the cause, then the next step
        ├── ConfigError         a file or an argument cannot be used as it is
        │   └── SecretsUnavailable  … and why not now (in `config.secrets.standing`)
        ├── ConnectFailed       a connection could not be made
        │   └── NeedsLogin      … because the server wants to know who asks
        ├── ConnectionLost      a connection ended while something waited on it
        │   ├── HttpRefused     … or one HTTP request of it was refused, with a status
        │   └── NotReached      … or nothing could be sent at all
        ├── RequestTimedOut     no answer within the limit
        ├── RequestCancelled    the person (or the program) stopped waiting
        ├── NotOffered          the server does not have the capability this needs
        ├── QueryError          a filter cannot be read; says where (in `traffic.query.errors`)
        └── UrlBlocked          an address that a server gave is not contacted (in `protocol.auth.guard`)

A mistake of the peer that we can live with is not an exception: it is recorded with the frame
(`protocol.jsonrpc.Message.problem`) and the conversation goes on.
"""

from __future__ import annotations

from inspector.base.json.values import JSON


class LensError(Exception):
    """Base class of all errors raised by MCP Lens."""


class LocalProtocolError(LensError):
    """We tried to do what the protocol forbids."""


class RemoteProtocolError(LensError):
    """The peer sent something unusable where a valid message was required."""


class RpcError(LensError):
    """The peer responded with a JSON-RPC error object."""

    def __init__(self, code: int, message: str, data: JSON = None) -> None:
        super().__init__(f"{message} ({code})")
        self.code = code
        self.message = message
        self.data = data


class UserError(LensError):
    """An error with text for the user: what happened and why, then what to do."""

    def __init__(self, summary: str, next_step: str = "") -> None:
        super().__init__(f"{summary} {next_step}".strip())
        self.summary = summary
        self.next_step = next_step


class ConfigError(UserError):
    """A configuration file, a command line or a typed value cannot be used."""


class ConnectFailed(UserError):
    """No connection could be established."""


class NeedsLogin(ConnectFailed):
    """The server requires a login.

    Keeps the headers of its response: they say what a login needs.
    """

    def __init__(
        self,
        summary: str,
        next_step: str = "",
        status: int = 401,
        headers: tuple[tuple[str, str], ...] = (),
    ) -> None:
        super().__init__(summary, next_step)
        self.status = status
        self.headers = headers


class ConnectionLost(UserError):
    """The connection ended while a request was pending."""


class HttpRefused(ConnectionLost):
    """A request was answered with an HTTP error status instead of a message.

    Keeps the status and the body, which `verdict` needs.
    """

    def __init__(self, summary: str, next_step: str, status: int, body: bytes = b"") -> None:
        super().__init__(summary, next_step)
        self.status = status
        self.body = body


class NotReached(ConnectionLost):
    """The server could not be reached: the request was never sent."""


class RequestTimedOut(UserError):
    """The peer did not respond in time."""


class RequestCancelled(UserError):
    """The request was cancelled on our side."""


class NotOffered(UserError):
    """The server did not declare the capability that this request needs."""

"""A login as it is shown: steps in their order, what each is about to send, what came, and what follows.

All values are frozen, so that they can be handed to the window's thread. They hold secrets where the login
itself does (`Input.is_secret`, requests and their answers): whoever shows or exports them masks those.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum

from inspector.oauth.callbackwait import CallbackHit
from inspector.oauth.http import LoginRequest
from inspector.protocol.auth.authorize import Pairs
from inspector.protocol.auth.findings import Finding
from inspector.protocol.auth.identity import Strategy
from inspector.protocol.httprules import Headers
from inspector.protocol.revisions import Revision
from inspector.transport.peer import Peer


class LoginGrant(Enum):
    """Grant types, as named in the configuration file."""

    CODE = "authorization_code"
    CLIENT = "client_credentials"
    ENTERPRISE = "enterprise"
    WORKLOAD = "wif"


class StepId(Enum):
    """All login steps; the values are display text."""

    PROBE = "Probe"
    CHALLENGE = "Challenge"
    RESOURCE_LOOKUP = "Find resource metadata"
    RESOURCE_CHECK = "Check resource metadata"
    SERVER_CHOICE = "Choose authorization server"
    SERVER_LOOKUP = "Find server metadata"
    SERVER_CHECK = "Check server metadata"
    IDENTITY = "Client identity"
    PREPARE = "Prepare"
    PROVIDER_LOOKUP = "Find identity provider"
    SIGN_IN = "Look for earlier sign-in"
    AUTHORIZE = "Open browser"
    WAIT = "Wait for answer"
    CALLBACK = "Check answer"
    ID_TOKEN_REQUEST = "Request ID token"  # noqa: S105
    ID_TOKEN_REPLY = "Check ID token"  # noqa: S105
    EXCHANGE = "Exchange ID token"
    TOKEN_REQUEST = "Request token"  # noqa: S105
    TOKEN_REPLY = "Check token"  # noqa: S105
    CALL = "Call with token"
    VERIFY = "List tools"
    LIFETIME = "Lifetime"


# Steps that involved the browser and cannot be repeated alone: a code is valid once.
STEPS_OF_BROWSER = (
    StepId.AUTHORIZE,
    StepId.WAIT,
    StepId.CALLBACK,
    StepId.ID_TOKEN_REQUEST,
    StepId.ID_TOKEN_REPLY,
    StepId.TOKEN_REQUEST,
    StepId.TOKEN_REPLY,
)


_DISCOVERY = (
    StepId.PROBE,
    StepId.CHALLENGE,
    StepId.RESOURCE_LOOKUP,
    StepId.RESOURCE_CHECK,
    StepId.SERVER_CHOICE,
    StepId.SERVER_LOOKUP,
    StepId.SERVER_CHECK,
    StepId.IDENTITY,
    StepId.PREPARE,
)
_BROWSER = (StepId.AUTHORIZE, StepId.WAIT, StepId.CALLBACK)
# Enterprise: the browser goes to the identity provider, not the server's authorization server.
_PROVIDER = (
    StepId.PROVIDER_LOOKUP,
    StepId.SIGN_IN,
    *_BROWSER,
    StepId.ID_TOKEN_REQUEST,
    StepId.ID_TOKEN_REPLY,
    StepId.EXCHANGE,
)
_TOKEN = (StepId.TOKEN_REQUEST, StepId.TOKEN_REPLY, StepId.CALL, StepId.VERIFY, StepId.LIFETIME)

# Steps per grant type, in order.
STEPS: dict[LoginGrant, tuple[StepId, ...]] = {
    LoginGrant.CODE: (*_DISCOVERY, *_BROWSER, *_TOKEN),
    LoginGrant.CLIENT: (*_DISCOVERY, *_TOKEN),
    LoginGrant.ENTERPRISE: (*_DISCOVERY, *_PROVIDER, *_TOKEN),
    LoginGrant.WORKLOAD: (*_DISCOVERY, *_TOKEN),
}


class StepState(Enum):
    WAITING = "waiting"  # not its turn yet
    READY = "ready"  # next
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"  # the login ended here; can be retried
    SKIPPED = "skipped"


@dataclass(frozen=True, slots=True)
class Input:
    """A value that a step used or created, and its origin: "scope: from WWW-Authenticate"."""

    name: str
    value: str = field(repr=False)
    origin: str = ""
    is_secret: bool = False


@dataclass(frozen=True, slots=True)
class Decision:
    """A decision and its basis, as a sentence."""

    text: str


@dataclass(frozen=True, slots=True)
class Table:
    """A table to show: candidates, challenges, hosts, checks. Cells never contain secrets."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True, slots=True)
class HttpSeen:
    """A request and its response. `failure` says why there is none; the status is then 0."""

    request: LoginRequest = field(repr=False)
    url: str  # final URL after redirects
    status: int = 0
    headers: Headers = field(default=(), repr=False)
    body: bytes = field(default=b"", repr=False)
    elapsed_ns: int = 0
    row: int = -1  # of the exchange in the traffic log
    redirects: tuple[str, ...] = ()
    failure: str = ""
    peer: Peer | None = None  # who responded


@dataclass(frozen=True, slots=True)
class Step:
    """Current state of a step.

    `preview` is what it will send (or open in the browser) while it is next; it can be edited then.
    `problem` says why it failed. `differs` says what another protocol version would do.
    """

    id: StepId
    state: StepState = StepState.WAITING
    why: str = ""
    inputs: tuple[Input, ...] = ()
    preview: LoginRequest | None = None
    exchanges: tuple[HttpSeen, ...] = ()
    decisions: tuple[Decision, ...] = ()
    tables: tuple[Table, ...] = ()
    findings: tuple[Finding, ...] = ()
    differs: str = ""
    problem: str = ""


class QuestionKind(Enum):
    """What only the user can decide."""

    HOSTS = "hosts"  # may endpoints be on these other hosts?
    CLIENT = "client"  # which client ID (and secret) is ours?
    PRIVATE = "private"  # may this server name addresses in a private network?
    ISSUER = "issuer"  # may this authorization server, which the server chose, get our credentials?


@dataclass(frozen=True, slots=True)
class Question:
    """A question that the login waits for.

    Answered by `Login.give_client` (CLIENT) or `Login.allow_hosts`.
    """

    kind: QuestionKind
    text: str
    issuer: str
    hosts: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Waiting:
    """The wait for the browser. `ends_at` is in monotonic nanoseconds."""

    redirect_uri: str
    authorize_url: str = field(repr=False)
    ends_at: int | None = None
    hits: tuple[CallbackHit, ...] = ()
    hit_count: int = 0


@dataclass(frozen=True, slots=True)
class TokenInfo:
    """Tokens for display. Times in seconds since 1970; None if not stated by the server."""

    issuer: str
    client_id: str
    resource: str | None
    token_type: str
    scopes: tuple[str, ...]
    requested: tuple[str, ...]
    received_at: float
    expires_at: float | None
    access_token: str = field(repr=False)
    refresh_token: str = field(default="", repr=False)
    id_token: str = field(default="", repr=False)
    is_kept: bool = True  # False: not saved beyond this run


@dataclass(frozen=True, slots=True)
class LoginView:
    """Current state of a login. `failure` and `next_step` say why it ended without tokens."""

    flow_id: int
    server: str
    server_url: str
    grant: LoginGrant
    revision: Revision
    is_strict: bool
    steps: tuple[Step, ...]
    result: TokenInfo | None = None
    failure: str = ""
    next_step: str = ""
    question: Question | None = None
    waiting: Waiting | None = None
    is_running: bool = False
    is_over: bool = False  # cancelled, or all steps are done

    @property
    def current(self) -> Step | None:
        """The step that is running, failed or next; None if all are done."""
        states = (StepState.RUNNING, StepState.FAILED, StepState.READY)
        return next((step for step in self.steps if step.state in states), None)

    @property
    def findings(self) -> tuple[Finding, ...]:
        return tuple(one for step in self.steps for one in step.findings)


@dataclass(frozen=True, slots=True, kw_only=True)
class Overrides:
    """The user's overrides of a login. None and "" select the default.

    `scope` and `resource` may be "": then none is sent.
    """

    revision: Revision | None = None  # None: the newest; the oldest if only its flow works
    grant: LoginGrant | None = None
    strategy: Strategy = Strategy.AUTO
    issuer: str = ""  # one that the server lists
    client_id: str = ""
    client_secret: str = field(default="", repr=False)
    client_document: str = ""
    method: str = ""
    scope: str | None = None
    resource: str | None = None
    redirect_host: str = ""
    redirect_port: int | None = None
    redirect_path: str = ""
    extras: Pairs = ()  # extra parameters of the authorization request
    uses_dpop: bool | None = None
    is_strict: bool = False
    forgets_client: bool = False  # do not reuse a stored client
    tolerates_slash: bool = False  # trailing slash of an issuer without a path
    compares_copies: bool = False  # also fetch optional copies of documents, to compare

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
    """The kinds of login, by the names that a configuration file has for them."""

    CODE = "authorization_code"
    CLIENT = "client_credentials"
    ENTERPRISE = "enterprise"
    WORKLOAD = "wif"


class StepId(Enum):
    """Every step, by the title that is shown."""

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


# Those for which the browser was there, and that cannot be done again alone: a code is good for one use.
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
# The company's identity provider: the browser goes there, and not to the server's authorization server.
_PROVIDER = (
    StepId.PROVIDER_LOOKUP,
    StepId.SIGN_IN,
    *_BROWSER,
    StepId.ID_TOKEN_REQUEST,
    StepId.ID_TOKEN_REPLY,
    StepId.EXCHANGE,
)
_TOKEN = (StepId.TOKEN_REQUEST, StepId.TOKEN_REPLY, StepId.CALL, StepId.VERIFY, StepId.LIFETIME)

# The steps of each kind of login, in their order.
STEPS: dict[LoginGrant, tuple[StepId, ...]] = {
    LoginGrant.CODE: (*_DISCOVERY, *_BROWSER, *_TOKEN),
    LoginGrant.CLIENT: (*_DISCOVERY, *_TOKEN),
    LoginGrant.ENTERPRISE: (*_DISCOVERY, *_PROVIDER, *_TOKEN),
    LoginGrant.WORKLOAD: (*_DISCOVERY, *_TOKEN),
}


class StepState(Enum):
    WAITING = "waiting"  # its turn comes later
    READY = "ready"  # it is next
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"  # the login ended here; it can be retried
    SKIPPED = "skipped"


@dataclass(frozen=True, slots=True)
class Input:
    """One value that a step used or made, and where it came from: "scope: from WWW-Authenticate"."""

    name: str
    value: str = field(repr=False)
    origin: str = ""
    is_secret: bool = False


@dataclass(frozen=True, slots=True)
class Decision:
    """What was decided, and from what, as a sentence."""

    text: str


@dataclass(frozen=True, slots=True)
class Table:
    """A list to look through: candidates, challenges, hosts, checks. No cell holds a secret."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True, slots=True)
class HttpSeen:
    """One request of the login and its answer. `failure` says why none came; then the status is 0."""

    request: LoginRequest = field(repr=False)
    url: str  # that answered, after redirects
    status: int = 0
    headers: Headers = field(default=(), repr=False)
    body: bytes = field(default=b"", repr=False)
    elapsed_ns: int = 0
    row: int = -1  # of the exchange in the traffic log
    redirects: tuple[str, ...] = ()
    failure: str = ""
    peer: Peer | None = None  # who answered


@dataclass(frozen=True, slots=True)
class Step:
    """One step as it stands.

    `preview` is what it will send (or open in the browser), while it is next; it can be edited then.
    `problem` says why it failed. `differs` says what another revision would do.
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
    """What only the person can say."""

    HOSTS = "hosts"  # may endpoints be on these other hosts?
    CLIENT = "client"  # which client ID (and secret) is ours?
    PRIVATE = "private"  # may this server name addresses in a private network?
    ISSUER = "issuer"  # may this authorization server, which the server chose, get our credentials?


@dataclass(frozen=True, slots=True)
class Question:
    """The login waits for this: `Login.give_client` answers it (CLIENT), or `Login.allow_hosts`."""

    kind: QuestionKind
    text: str
    issuer: str
    hosts: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Waiting:
    """The wait for the browser. `ends_at` is monotonic time in nanoseconds."""

    redirect_uri: str
    authorize_url: str = field(repr=False)
    ends_at: int | None = None
    hits: tuple[CallbackHit, ...] = ()
    hit_count: int = 0


@dataclass(frozen=True, slots=True)
class TokenInfo:
    """Tokens for showing. Times in seconds since 1970; None: the server did not say."""

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
    is_kept: bool = True  # False: the secret store does not keep it beyond this run


@dataclass(frozen=True, slots=True)
class LoginView:
    """One login as it stands. `failure` and `next_step` say why it ended without tokens."""

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
        """The step that runs, failed, or is next; None when all are done."""
        states = (StepState.RUNNING, StepState.FAILED, StepState.READY)
        return next((step for step in self.steps if step.state in states), None)

    @property
    def findings(self) -> tuple[Finding, ...]:
        return tuple(one for step in self.steps for one in step.findings)


@dataclass(frozen=True, slots=True, kw_only=True)
class Overrides:
    """What a person wants otherwise. None and "" leave it to the rules.

    `scope` and `resource` may be "": then none is sent.
    """

    revision: Revision | None = None  # None: the newest, and the oldest where only its way is open
    grant: LoginGrant | None = None
    strategy: Strategy = Strategy.AUTO
    issuer: str = ""  # of those that the server lists
    client_id: str = ""
    client_secret: str = field(default="", repr=False)
    client_document: str = ""
    method: str = ""
    scope: str | None = None
    resource: str | None = None
    redirect_host: str = ""
    redirect_port: int | None = None
    redirect_path: str = ""
    extras: Pairs = ()  # more parameters of the authorize request
    uses_dpop: bool | None = None
    is_strict: bool = False
    forgets_client: bool = False  # a stored client is not used again
    tolerates_slash: bool = False  # of an issuer without a path
    compares_copies: bool = False  # look also where no client has to, for documents that differ

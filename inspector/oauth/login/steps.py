"""Values of a login: steps and their order, views of its state, and user overrides.

All values are frozen and may cross threads. They contain secrets where the login does (`Input.is_secret`,
requests and responses): code that shows or exports them must mask those. Overrides are saved as JSON
without secrets, and invalid members are ignored when read back. Also holds the purpose of each step, and
how other protocol versions differ.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from enum import Enum
from typing import Any

from inspector.base.json.values import JSON, JSONObject
from inspector.base.redaction import is_secret_name
from inspector.oauth.callback import ReceivedCallback
from inspector.oauth.http import LoginRequest
from inspector.protocol.auth.authorization_request import Pairs
from inspector.protocol.auth.client_registration import Strategy
from inspector.protocol.auth.findings.finding import Finding
from inspector.protocol.http_rules import Headers
from inspector.protocol.revisions import Revision, find_revision
from inspector.transport.peer import Peer


class LoginGrant(Enum):
    """Grant types, as named in the configuration file."""

    CODE = "authorization_code"
    CLIENT = "client_credentials"
    ENTERPRISE = "enterprise"
    WORKLOAD = "wif"


class StepId(Enum):
    """All login steps; the values are display text."""

    PROBE = "Send unauthenticated request"
    CHALLENGE = "Read challenge"
    RESOURCE_LOOKUP = "Find resource metadata"
    RESOURCE_CHECK = "Check resource metadata"
    SERVER_CHOICE = "Choose authorization server"
    SERVER_LOOKUP = "Find authorization server metadata"
    SERVER_CHECK = "Check authorization server metadata"
    IDENTITY = "Identify client"
    PREPARE = "Prepare request parameters"
    PROVIDER_LOOKUP = "Find identity provider"
    ID_TOKEN_LOOKUP = "Find saved ID token"  # noqa: S105
    AUTHORIZE = "Open browser"
    WAIT = "Wait for callback"
    CALLBACK = "Check callback"
    ID_TOKEN_REQUEST = "Request ID token"  # noqa: S105
    ID_TOKEN_CHECK = "Check ID token"  # noqa: S105
    EXCHANGE = "Exchange ID token"
    TOKEN_REQUEST = "Request token"  # noqa: S105
    TOKEN_CHECK = "Check token"  # noqa: S105
    CALL = "Call with token"
    VERIFY = "List tools"
    LIFETIME = "Check token lifetime"


# Steps that involved the browser and cannot be repeated alone: a code is valid once.
BROWSER_STEPS = (
    StepId.AUTHORIZE,
    StepId.WAIT,
    StepId.CALLBACK,
    StepId.ID_TOKEN_REQUEST,
    StepId.ID_TOKEN_CHECK,
    StepId.TOKEN_REQUEST,
    StepId.TOKEN_CHECK,
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
    StepId.ID_TOKEN_LOOKUP,
    *_BROWSER,
    StepId.ID_TOKEN_REQUEST,
    StepId.ID_TOKEN_CHECK,
    StepId.EXCHANGE,
)
_TOKEN = (StepId.TOKEN_REQUEST, StepId.TOKEN_CHECK, StepId.CALL, StepId.VERIFY, StepId.LIFETIME)

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
class HttpExchangeView:
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
    exchanges: tuple[HttpExchangeView, ...] = ()
    decisions: tuple[Decision, ...] = ()
    tables: tuple[Table, ...] = ()
    findings: tuple[Finding, ...] = ()
    differs: str = ""
    problem: str = ""


class LoginPromptKind(Enum):
    """What only the user can decide."""

    HOSTS = "hosts"  # may endpoints be on these other hosts?
    CLIENT = "client"  # which client ID (and secret) is registered?
    PRIVATE = "private"  # may this server name addresses in a private network?
    ISSUER = "issuer"  # may this authorization server, which the server chose, get the credentials?


@dataclass(frozen=True, slots=True)
class LoginPrompt:
    """A decision by the user that the login is waiting for.

    Answer it with `Login.set_client` (CLIENT) or `Login.answer_consent`.
    """

    kind: LoginPromptKind
    text: str
    issuer: str
    hosts: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class BrowserWait:
    """The wait for the browser. `ends_at` is in monotonic nanoseconds."""

    redirect_uri: str
    authorization_url: str = field(repr=False)
    ends_at: int | None = None
    hits: tuple[ReceivedCallback, ...] = ()
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
    is_saved: bool = True  # False: not saved beyond this session


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
    prompt: LoginPrompt | None = None
    waiting: BrowserWait | None = None
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


# Secrets must be entered again, and a client is ignored only once.
_NOT_SAVED = ("client_secret", "forgets_client")
_DEFAULTS = Overrides()


def write_overrides(overrides: Overrides) -> JSONObject:
    """Return the non-default options, by field name of `Overrides`."""
    written: JSONObject = {}
    for option in fields(Overrides):
        value = getattr(overrides, option.name)
        if option.name not in _NOT_SAVED and value != getattr(_DEFAULTS, option.name):
            written[option.name] = _written(value)
    return written


def read_overrides(value: JSON) -> Overrides:
    """Parse saved options, ignoring invalid members.

    The file may come from elsewhere or from another version.
    """
    members = value if isinstance(value, dict) else {}
    read = {
        option.name: found
        for option in fields(Overrides)
        if option.name in members
        and option.name not in _NOT_SAVED
        and (found := _read(option.name, members[option.name])) is not None
    }
    return Overrides(**read)


def _written(value: object) -> JSON:
    match value:
        case LoginGrant() | Strategy():
            return str(value.value)
        case Revision():
            return str(value)
        case tuple():
            return [[name, text] for name, text in value if not is_secret_name(name)]
        case str() | bool() | int():
            return value
    raise AssertionError(value)


def _read(name: str, value: JSON) -> Any:
    """Parse a member; None if it is invalid."""
    if name == "revision":
        return find_revision(value)
    if name in ("grant", "strategy"):
        kind = LoginGrant if name == "grant" else Strategy
        return next((each for each in kind if each.value == value), None)
    if name == "extras":
        return _pairs(value)
    if name == "redirect_port":
        return value if type(value) is int and 0 < value < 65_536 else None
    wanted = bool if name == "uses_dpop" or isinstance(getattr(_DEFAULTS, name), bool) else str
    return value if type(value) is wanted else None


def _pairs(value: JSON) -> tuple[tuple[str, str], ...] | None:
    if not isinstance(value, list):
        return None
    pairs = [pair for pair in value if isinstance(pair, list) and len(pair) == 2]
    return tuple((str(name), str(text)) for name, text in pairs)


STEP_PURPOSES = {
    StepId.PROBE: "Sends a request without a token: a protected server must respond with 401.",
    StepId.CHALLENGE: "WWW-Authenticate says where the metadata is and which scopes are needed.",
    StepId.RESOURCE_LOOKUP: (
        "The protected resource metadata lists the authorization servers that issue tokens for the server."
    ),
    StepId.RESOURCE_CHECK: (
        "The metadata must be for this server; otherwise the token could be for another one."
    ),
    StepId.SERVER_CHOICE: (
        "Uses one of the listed authorization servers, preferably one with saved credentials."
    ),
    StepId.SERVER_LOOKUP: (
        "The authorization server metadata says where to log in and where to request tokens."
    ),
    StepId.SERVER_CHECK: "The issuer must match the expected one, and its endpoints must be safe to use.",
    StepId.IDENTITY: (
        "The authorization server must know MCP Lens, by a registered client ID or a client ID metadata "
        "document."
    ),
    StepId.PREPARE: "Determines scope and resource, and creates the one-time secrets of this login.",
    StepId.PROVIDER_LOOKUP: "Finds out where to log in at your company's identity provider.",
    StepId.ID_TOKEN_LOOKUP: "You don't have to log in again while the ID token is valid or can be refreshed.",
    StepId.ID_TOKEN_REQUEST: "The identity provider exchanges the authorization code for an ID token.",
    StepId.ID_TOKEN_CHECK: (
        "The ID token must come from the provider, be for this client and belong to this login. "
        "Then it is saved."
    ),
    StepId.EXCHANGE: "The identity provider exchanges your ID token for an ID-JAG.",
    StepId.AUTHORIZE: "You log in and consent in the browser. MCP Lens never sees your name or password.",
    StepId.WAIT: "The browser redirects to a listener on this machine, with an authorization code.",
    StepId.CALLBACK: (
        "The authorization response must belong to this login and come from the expected issuer."
    ),
    StepId.TOKEN_REQUEST: "Exchanges the authorization code, credentials or assertion for an access token.",
    StepId.TOKEN_CHECK: "The token response is compared with the request, then saved.",
    StepId.CALL: "Repeats the first request, now with the token.",
    StepId.VERIFY: "A real request shows that the token works.",
    StepId.LIFETIME: "How long the token is valid, how it is refreshed and how it is revoked.",
}

REVISION_DIFFERENCES = {
    StepId.PROBE: (
        "Up to 2025-11-25, the first request is initialize; since 2026-07-28, it is server/discover."
    ),
    StepId.CHALLENGE: (
        "2025-06-18 requires resource_metadata in the challenge; in later versions it may be absent."
    ),
    StepId.RESOURCE_LOOKUP: (
        "2025-03-26 has no such document. 2025-06-18 only uses the URL in the challenge; since "
        "2025-11-25, the well-known URLs are used too."
    ),
    StepId.SERVER_LOOKUP: (
        "2025-03-26 uses the MCP server's own host. 2025-06-18 only knows RFC 8414; later versions "
        "also use OpenID Connect Discovery."
    ),
    StepId.SERVER_CHECK: (
        "Since 2025-11-25, clients must refuse an authorization server that does not advertise PKCE; "
        "since 2026-07-28, also one whose issuer differs."
    ),
    StepId.IDENTITY: (
        "2025-11-25 added client ID metadata documents. 2026-07-28 deprecates dynamic client "
        "registration and requires application_type in it."
    ),
    StepId.PREPARE: (
        "2025-03-26 has no resource parameter. Since 2025-11-25, the specification defines how to choose "
        "scopes."
    ),
    StepId.CALLBACK: (
        "Since 2026-07-28, the specification defines how to check iss; in earlier versions it is compared "
        "if present."
    ),
    StepId.TOKEN_REQUEST: "2025-03-26 has no resource parameter.",
    StepId.LIFETIME: "Since 2026-07-28, a login for more scopes also requests the earlier ones.",
}

DECLINED_TEXTS = {
    LoginPromptKind.HOSTS: "Login stopped: you did not trust the endpoints on other hosts.",
    LoginPromptKind.PRIVATE: (
        "Login stopped: you did not allow the private network addresses that the server names."
    ),
    LoginPromptKind.ISSUER: (
        "Login stopped: you did not trust the authorization server that the server names."
    ),
}

"""WWW-Authenticate: parser of challenges, and what a rejection says about logging in.

RFC 9110 §11.6.1 allows several challenges in one header, separated by the same commas as their
parameters, so searching for `scope=` could match inside another parameter's value. This parser reads
character by character, keeps what is valid, and reports the column of the rest.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from enum import Enum

from inspector.base.errors import FailureKind, HttpRefused
from inspector.base.json.text import JSONTextError
from inspector.base.json.text import read as read_json
from inspector.base.json.values import shorten
from inspector.base.plain_text import one_line
from inspector.base.redaction import MASK, looks_secret, masked_urls
from inspector.protocol.auth.findings.finding import Finding, finding
from inspector.protocol.auth.scopes import split_scope
from inspector.protocol.http_rules import Headers
from inspector.protocol.jsonrpc import ErrorObject
from inspector.protocol.revisions import Revision

SUPPORTED_SCHEMES = ("bearer", "dpop")
INSUFFICIENT_SCOPE = "insufficient_scope"
_MAX_HEADER_LENGTH = 16_384
_MAX_VALUES = 32


@dataclass(frozen=True, slots=True)
class Challenge:
    """A challenge. Parameter names are lower case; of duplicates the first counts."""

    scheme: str  # as written
    parameters: dict[str, str] = field(default_factory=dict)
    token: str = ""  # token68, which some schemes have instead of parameters
    repeated: tuple[str, ...] = ()
    unquoted: tuple[str, ...] = ()  # parameters whose value needed quotes

    @property
    def is_supported(self) -> bool:
        """True for a scheme that MCP authorization uses."""
        return self.scheme.lower() in SUPPORTED_SCHEMES

    @property
    def is_dpop(self) -> bool:
        return self.scheme.lower() == "dpop"

    def get(self, name: str) -> str:
        """Return a parameter's value; "" if absent or blank."""
        return self.parameters.get(name, "").strip()

    @property
    def resource_metadata(self) -> str:
        return self.get("resource_metadata")

    @property
    def scopes(self) -> tuple[str, ...]:
        return split_scope(self.get("scope"))

    @property
    def wants_more_scope(self) -> bool:
        return self.get("error") == INSUFFICIENT_SCOPE


@dataclass(frozen=True, slots=True)
class HeaderProblem:
    """Where a header could not be parsed. Columns count from 1."""

    column: int
    text: str
    header: str


@dataclass(frozen=True, slots=True)
class Challenges:
    """All challenges of a response, in order, and what could not be parsed."""

    all: tuple[Challenge, ...] = ()
    problems: tuple[HeaderProblem, ...] = ()

    @property
    def supported(self) -> tuple[Challenge, ...]:
        return tuple(challenge for challenge in self.all if challenge.is_supported)


def read_challenges(values: Sequence[str]) -> Challenges:
    """Parse all WWW-Authenticate values of a response. Never raises."""
    challenges: list[Challenge] = []
    problems: list[HeaderProblem] = []
    for value in values[:_MAX_VALUES]:
        reader = _Reader(value[:_MAX_HEADER_LENGTH])
        reader.read()
        if len(value) > _MAX_HEADER_LENGTH:
            reader.note(_MAX_HEADER_LENGTH, "the header is too long and was only read up to here")
        challenges += reader.finished()
        problems += reader.problems
    return Challenges(tuple(challenges), tuple(problems))


def choose_challenge(challenges: Challenges, status: int) -> Challenge | None:
    """Return the challenge to act on.

    On 403, one that asks for scopes; otherwise the first with `resource_metadata`, or just the first.
    """
    supported = challenges.supported
    if status == 403:
        insufficient = [challenge for challenge in supported if challenge.wants_more_scope]
        if insufficient:
            return insufficient[0]
    naming = [challenge for challenge in supported if challenge.resource_metadata]
    return next(iter(naming or supported), None)


class AccessStatus(Enum):
    """What a response says about logging in."""

    OPEN = "no login is required for this request"
    LOGIN = "login is required"
    STEP_UP = "the token needs more scopes"
    FORBIDDEN = "the token is not sufficient, and the server does not request more scopes"
    REDIRECT = "a redirect"
    WRONG_URL = "there is no MCP endpoint at this URL"
    FAILED = "the server failed"


def access_status(status: int, challenge: Challenge | None, *, with_token: bool) -> AccessStatus:
    """Classify a response; `with_token` says whether the request had one."""
    if status < 300:
        return AccessStatus.OPEN
    if status < 400:
        return AccessStatus.REDIRECT
    if status == 401:
        return AccessStatus.LOGIN
    if status == 403 and challenge is not None and challenge.wants_more_scope:
        return AccessStatus.STEP_UP if with_token else AccessStatus.LOGIN
    if status >= 500:
        return AccessStatus.FAILED
    if challenge is not None and not with_token:
        return AccessStatus.LOGIN  # wrong status, but it has a challenge
    return AccessStatus.FORBIDDEN if status == 403 else AccessStatus.WRONG_URL


# Members of a JSON body that say why a request was rejected, in the order of preference: OAuth, JSON-RPC,
# and web frameworks.
_REASON_MEMBERS = ("error_description", "message", "detail", "title")
_MAX_BODY = 16_384
_MAX_REASON = 300
_MIN_SECRET = 4  # characters; shorter ones are parts of ordinary words


def rejection_reason(values: Sequence[str], body: bytes, sent: str = "") -> str:
    """Return why the server rejected credentials, in its own words; "" if it does not say.

    `values` are those of WWW-Authenticate. Credentials in the text are masked, above all `sent`, the value
    of the Authorization header.
    """
    challenges = read_challenges(values).all
    described = next((one for one in challenges if one.get("error_description") or one.get("error")), None)
    if described is not None:
        code, text = described.get("error"), described.get("error_description")
    else:
        code, text = _reason_in(body)
    text = one_line(_without_secrets(text, sent)).strip().rstrip(".")
    code = one_line(_without_secrets(code, sent)).strip()
    reason = f"{text} ({code})" if text and code else text or code
    return shorten(reason, _MAX_REASON)


def _reason_in(body: bytes) -> tuple[str, str]:
    """Return the error code and the description in a body; both "" if there are none."""
    text = body[:_MAX_BODY].decode(errors="replace").strip()
    try:
        value = read_json(text)
    except JSONTextError:
        is_plain = bool(text) and not text.startswith(("<", "{", "["))
        return "", text.splitlines()[0] if is_plain else ""
    error = value.get("error") if isinstance(value, dict) else value
    for holder in (value, error):
        if isinstance(holder, dict):
            found = next((holder[name] for name in _REASON_MEMBERS if isinstance(holder.get(name), str)), "")
            if found:
                return error if isinstance(error, str) else "", str(found)
    return error if isinstance(error, str) else "", ""


def _without_secrets(text: str, sent: str) -> str:
    scheme, _, token = sent.strip().partition(" ")
    secrets = {sent.strip(), token.strip()}
    if scheme.lower() == "basic":
        with suppress(ValueError):
            pair = base64.b64decode(token, validate=True).decode(errors="replace")
            secrets |= {pair, pair.partition(":")[2]}
    for secret in sorted((each for each in secrets if len(each) >= _MIN_SECRET), key=len, reverse=True):
        text = text.replace(secret, MASK)
    return " ".join(MASK if looks_secret(word.strip("'\"()")) else word for word in masked_urls(text).split())


def rejected_header_error(headers: Headers, body: bytes, sent: str) -> HttpRefused:
    """Return the error for a 401 although the user configured the Authorization header `sent`."""
    values = [value for name, value in headers if name.lower() == "www-authenticate"]
    reason, challenges = rejection_reason(values, body, sent), read_challenges(values).all
    schemes = dict.fromkeys(challenge.scheme for challenge in challenges)
    next_step = "Set a new value in Edit server… ▸ Headers, or with --header-env on the command line."
    if schemes and sent.partition(" ")[0].lower() not in map(str.lower, schemes):
        expected = shorten(one_line(", ".join(schemes)), 60)
        next_step = f"The server expects {expected}: write the value as “{expected} …”. {next_step}"
    if any(challenge.resource_metadata for challenge in challenges):
        next_step += " Or remove the header and log in."
    return HttpRefused(
        f"The server rejected your Authorization header{f': {reason}' if reason else ' (HTTP 401)'}.",
        next_step,
        401,
        body,
        kind=FailureKind.CREDENTIALS,
    )


def check_response(
    status: int,
    challenges: Challenges,
    revision: Revision,
    *,
    with_token: bool = False,
    error: ErrorObject | None = None,
) -> tuple[Finding, ...]:
    """Return what is wrong with a rejection. `error` is the JSON-RPC error in the body, if any."""
    found: list[Finding] = []
    if not with_token:
        found += _check_status(status, challenges, revision, error)
    if status == 401:
        found += _check_refusal(challenges, revision)
    found += (
        finding("AUTH-008", revision, column=problem.column, problem=problem.text, evidence=problem.header)
        for problem in challenges.problems
    )
    for challenge in challenges.supported:
        found += _check_parameters(challenge, revision)
    return tuple(found)


# Typical wording for "unauthorized" in an error that came with a success status.
_REFUSAL = re.compile(
    r"\b(unauthori[sz]ed|unauthenticated|not authenticated|authentication (?:is )?required|not authori[sz]ed|"
    r"(?:missing|invalid|expired|no) (?:access |bearer |auth\w* )?(?:token|credentials))\b",
    re.IGNORECASE,
)


def _check_status(
    status: int, challenges: Challenges, revision: Revision, error: ErrorObject | None
) -> Iterator[Finding]:
    if status >= 500:
        yield finding("AUTH-001", revision, status=status)
    elif status == 403 or (400 <= status < 500 and status != 401 and challenges.supported):
        yield finding("AUTH-002", revision, status=status)
    elif status < 300 and error is not None and _REFUSAL.search(error.message[:1000]):
        yield finding("AUTH-013", revision, status=status, evidence=error.message)


def _check_refusal(challenges: Challenges, revision: Revision) -> Iterator[Finding]:
    if not challenges.all:
        if not challenges.problems:
            yield finding("AUTH-003", revision)
        return
    if not challenges.supported:
        schemes = dict.fromkeys(challenge.scheme for challenge in challenges.all)
        yield finding("AUTH-009", revision, schemes=schemes)
    elif not any("resource_metadata" in challenge.parameters for challenge in challenges.supported):
        yield finding("AUTH-004", revision)


def _check_parameters(challenge: Challenge, revision: Revision) -> Iterator[Finding]:
    for name in dict.fromkeys(challenge.repeated):
        yield finding("AUTH-012", revision, parameter=name, what="repeated; MCP Lens uses the first value")
    for name in dict.fromkeys(challenge.unquoted):
        yield finding("AUTH-012", revision, parameter=name, what="not quoted")
    for name in ("scope", "resource_metadata"):
        if name in challenge.parameters and not challenge.get(name):
            yield finding("AUTH-012", revision, parameter=name, what="empty; MCP Lens treats it as absent")


_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_BLANKS = re.compile(r"[ \t]*")
_DIVIDERS = re.compile(r"[ \t,]*")
_EQUALS = re.compile(r"[ \t]*=[ \t]*")
_QUOTED = re.compile(r'"((?:[^"\\]|\\.)*)"', re.DOTALL)
_BARE = re.compile(r'[^\s,"]+')
_TOKEN68 = re.compile(r"[A-Za-z0-9._~+/-]+=*(?=[ \t]*(?:,|\Z))")
_ESCAPE = re.compile(r"\\(.)", re.DOTALL)


class _Reader:
    """Parser of one header value, from left to right."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._position = 0
        self._challenges: list[Challenge] = []
        self._parameters: dict[str, str] = {}
        self._repeated: list[str] = []
        self._unquoted: list[str] = []
        self._open: tuple[str, str] | None = None  # scheme and token68 of the current challenge
        self.problems: list[HeaderProblem] = []

    def read(self) -> None:
        while True:
            self._take(_DIVIDERS)
            if self._position >= len(self._text):
                return
            name = self._take(_TOKEN)
            if name is None:
                self._skip("expected a name")
            elif self._take(_EQUALS) is None:
                self._begin(name)
            else:
                self._parameter(name)

    def finished(self) -> list[Challenge]:
        self._end()
        return self._challenges

    def note(self, offset: int, problem: str) -> None:
        self.problems.append(HeaderProblem(offset + 1, problem, self._text))

    def _take(self, pattern: re.Pattern[str]) -> str | None:
        match = pattern.match(self._text, self._position)
        if match is None:
            return None
        self._position = match.end()
        return match[0]

    def _begin(self, scheme: str) -> None:
        self._end()
        blanks = self._take(_BLANKS)
        # A token68 can end in "=", like a parameter without a value. The supported schemes have parameters
        # only.
        token = self._take(_TOKEN68) if blanks and scheme.lower() not in SUPPORTED_SCHEMES else None
        if not blanks and self._position < len(self._text) and self._text[self._position] != ",":
            self._skip("expected a space, a comma or =")
        self._open = scheme, token or ""

    def _end(self) -> None:
        if self._open is not None:
            scheme, token = self._open
            self._challenges.append(
                Challenge(scheme, self._parameters, token, tuple(self._repeated), tuple(self._unquoted))
            )
        self._open, self._parameters, self._repeated, self._unquoted = None, {}, [], []

    def _parameter(self, name: str) -> None:
        start, name = self._position - 1, name.lower()
        value = self._value(name)
        if value is None:
            return
        if self._open is None:
            self.note(start, f"the parameter {name} comes before any scheme")
        elif name in self._parameters:
            self._repeated.append(name)
        else:
            self._parameters[name] = value
        self._expect_divider()

    def _value(self, name: str) -> str | None:
        start = self._position
        if self._text.startswith('"', start):
            quoted = self._take(_QUOTED)
            if quoted is None:
                self.note(start, "unclosed quoted string")
                self._position = len(self._text)
                return None
            return _ESCAPE.sub(r"\1", quoted[1:-1])
        bare = self._take(_BARE)
        if bare is None:
            self.note(start, f"{name} has no value")
            return None
        if not _TOKEN.fullmatch(bare):
            self._unquoted.append(name)
        return bare

    def _expect_divider(self) -> None:
        """Expect a comma after a value; a missing one is reported and assumed."""
        self._take(_BLANKS)
        if self._position < len(self._text) and self._text[self._position] != ",":
            self.note(self._position, "expected a comma")

    def _skip(self, problem: str) -> None:
        """Continue after the next comma."""
        self.note(self._position, problem)
        comma = self._text.find(",", self._position)
        self._position = len(self._text) if comma < 0 else comma

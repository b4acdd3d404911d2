"""The authorization URL for the browser, and the checks of the callback.

The checks are in a fixed order: `state` (is it for this login?), then `iss` (is it from the server that
was asked?), and only then `error` and `code`, which until then could be from anyone. 2026-07-28: on an
`iss` mismatch not even the error is shown.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from enum import Enum
from urllib.parse import parse_qsl, quote, urlencode, urlsplit, urlunsplit

from inspector.base.json.values import quote_names
from inspector.protocol.auth import pkce
from inspector.protocol.auth.client_registration import ClientSource
from inspector.protocol.auth.findings.finding import Finding, finding
from inspector.protocol.auth.pkce import is_same
from inspector.protocol.auth.responses import ReportedError, read_error
from inspector.protocol.revisions import Revision

# Set by the login itself: neither the user's extras nor the endpoint's query may repeat them.
RESERVED = frozenset(
    {"client_id", "code_challenge", "code_challenge_method", "redirect_uri"}
    | {"resource", "response_type", "scope", "state"}
)

Pairs = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class AuthorizationRequest:
    """Parameters of an authorization request. None and "" are left out."""

    client_id: str
    redirect_uri: str
    state: str = field(repr=False)
    code_challenge: str
    resource: str | None = None
    scope: str | None = None
    wants_consent: bool = False
    extras: Pairs = ()  # added by the user, e.g. `login_hint`
    key_thumbprint: str = ""  # `dpop_jkt` (RFC 9449, section 10)
    nonce: str = field(default="", repr=False)  # OpenID Connect; returned in the ID token


@dataclass(frozen=True, slots=True)
class AuthorizationUrl:
    """The URL, its parameters as a table, and sentences about what was left out."""

    url: str = field(repr=False)
    parameters: Pairs = field(repr=False)
    notes: tuple[str, ...] = ()


def authorization_url(endpoint: str, request: AuthorizationRequest) -> AuthorizationUrl:
    """Build the authorization URL.

    The endpoint's own query is kept (RFC 6749, section 3.1), and no parameter appears twice.
    """
    parts = urlsplit(endpoint)
    login_parameters = _login_parameters(request)
    refused = [name for name, _ in request.extras if _is_reserved(name, request)]
    extras = tuple((name.strip(), value) for name, value in request.extras if name not in refused)
    named = {name for name, _ in (*login_parameters, *extras)}
    endpoint_query = tuple(parse_qsl(parts.query, keep_blank_values=True))
    rest = tuple(pair for pair in endpoint_query if pair[0] not in named)
    parameters = (*rest, *_with_extras(login_parameters, extras))
    url = urlunsplit((parts.scheme, parts.netloc, parts.path, urlencode(parameters, quote_via=quote), ""))
    return AuthorizationUrl(
        url, parameters, tuple(_notes(refused, [n for n, _ in endpoint_query if n in named]))
    )


def extra_problem(name: str) -> str:
    """Return why a parameter cannot be added by hand, as a sentence; "" if it can."""
    if not name.strip():
        return "A parameter needs a name."
    if name.strip().lower() in RESERVED:
        return f"{name.strip()} is set by the login; change it in its own field."
    return ""


def _is_reserved(name: str, request: AuthorizationRequest) -> bool:
    """True for parameters set by the login; `nonce` only if the login uses one."""
    return bool(extra_problem(name)) or (bool(request.nonce) and name.strip().lower() == "nonce")


def _login_parameters(request: AuthorizationRequest) -> Pairs:
    pairs = (
        ("response_type", "code"),
        ("client_id", request.client_id),
        ("redirect_uri", request.redirect_uri),
        ("state", request.state),
        ("code_challenge", request.code_challenge),
        ("code_challenge_method", pkce.METHOD),
        ("resource", request.resource),
        ("scope", request.scope),
        ("prompt", "consent" if request.wants_consent else ""),
        ("dpop_jkt", request.key_thumbprint),
        ("nonce", request.nonce),
    )
    return tuple((name, value) for name, value in pairs if value)


def _with_extras(login_parameters: Pairs, extras: Pairs) -> Pairs:
    """Merge: extras override what is not reserved (`prompt`); of duplicates the last wins."""
    overrides = dict(extras)
    return (*((name, value) for name, value in login_parameters if name not in overrides), *overrides.items())


def _notes(refused: list[str], replaced: list[str]) -> Iterable[str]:
    if refused:
        yield f"Ignored in your extra parameters, because the login sets them: {quote_names(refused)}."
    if replaced:
        yield (
            f"The authorization endpoint's query already contains {quote_names(replaced)}; the login's "
            "values are sent instead."
        )


_MAX_LENGTH = 16 * 1024
_MAX_PARAMETERS = 50
_UNKNOWN_CLIENT = ("invalid_client", "unauthorized_client", "invalid_client_metadata", "invalid_client_id")


@dataclass(frozen=True, slots=True)
class Callback:
    """A parsed callback. `location` is the URL without query and fragment, "" if it had only those."""

    parameters: dict[str, str] = field(repr=False)
    repeated: tuple[str, ...] = ()
    is_in_fragment: bool = False
    location: str = ""
    problem: str = ""  # why it cannot be parsed, as a sentence


@dataclass(frozen=True, slots=True)
class CallbackExpectation:
    """What the login recorded before the browser was opened."""

    state: str = field(repr=False)
    issuer: str | None  # None: not named by metadata (2025-03-26), so `iss` is only shown
    iss_advertised: bool
    redirect_uri: str
    client_id: str
    client_source: ClientSource
    revision: Revision


class CheckResult(Enum):
    """Result of a check; the values are display text."""

    PASSED = "passed"
    FAILED = "failed"
    SKIPPED = "not checked"


@dataclass(frozen=True, slots=True)
class Check:
    """One check of the callback. Its text never contains the value of `state` or `code`."""

    name: str
    result: CheckResult
    text: str


@dataclass(frozen=True, slots=True)
class CallbackResult:
    """Result of the checks: a code, a credible error, or a problem as a sentence."""

    checks: tuple[Check, ...]
    code: str = field(default="", repr=False)
    error: ReportedError | None = None
    findings: tuple[Finding, ...] = ()
    problem: str = ""


def read_callback(text: str) -> Callback:
    """Parse a callback: a full URL, a request target, or a query. Never raises."""
    text = text.strip()
    if len(text) > _MAX_LENGTH:
        return Callback({}, problem="The authorization response is too long.")
    try:
        parts = urlsplit(text if "?" in text or "#" in text or "://" in text else f"?{text}")
        query, fragment = _pairs(parts.query), _pairs(parts.fragment)
    except ValueError:
        return Callback({}, problem="The authorization response is not a valid URL.")
    is_in_fragment = not _is_response(query) and _is_response(fragment)
    pairs = query + fragment if is_in_fragment else query
    location = f"{parts.scheme}://{parts.netloc}{parts.path}" if parts.netloc else ""
    names = [name for name, _ in pairs]
    repeated = tuple(name for name in dict.fromkeys(names) if names.count(name) > 1)
    return Callback(dict(reversed(pairs)), repeated, is_in_fragment, location)


def _pairs(text: str) -> list[tuple[str, str]]:
    return parse_qsl(text, keep_blank_values=True, max_num_fields=_MAX_PARAMETERS)


def _is_response(pairs: list[tuple[str, str]]) -> bool:
    return any(name in ("code", "error", "access_token") for name, _ in pairs)


def check_callback(callback: Callback, expected: CallbackExpectation) -> CallbackResult:
    """Check a callback: state, iss, error, code. Stops at the first failed check."""
    if callback.problem:
        return _failed((), (), "URL", callback.problem)
    state = _check_state(callback, expected)
    if isinstance(state, CallbackResult):
        return state
    found = (*_about_location(callback, expected),)
    if callback.repeated:
        text = (
            f"The authorization response contains {quote_names(callback.repeated)} more than once, which "
            "RFC 6749 §3.1 forbids."
        )
        return _failed((state,), found, "parameters", text)
    if callback.is_in_fragment:
        about = finding("AZ-006", expected.revision)
        return _failed((state,), (*found, about), "location", about.seen)
    return _check_issuer(callback, expected, (state,), found)


def _check_state(callback: Callback, expected: CallbackExpectation) -> Check | CallbackResult:
    received = callback.parameters.get("state", "")
    if not received:
        about = finding("AZ-001", expected.revision)
        return _failed((), (about,), "state", "Missing.", about.seen)
    if "state" in callback.repeated or not is_same(received, expected.state):
        about = finding("AZ-002", expected.revision)
        return _failed((), (about,), "state", "Does not match.", about.seen)
    return Check("state", CheckResult.PASSED, "Present and matches.")


def _check_issuer(
    callback: Callback, expected: CallbackExpectation, checks: tuple[Check, ...], found: tuple[Finding, ...]
) -> CallbackResult:
    received = callback.parameters.get("iss")
    if expected.issuer is None:
        text = "Present, but there is no issuer to compare it with." if received else "Absent."
        return _outcome(callback, expected, (*checks, Check("iss", CheckResult.SKIPPED, text)), found)
    if not received and (expected.iss_advertised or received is not None):
        return _missing_issuer(callback, expected, checks, found)
    if received and received != expected.issuer:
        # Simple string comparison: no case folding, default port or trailing slash (RFC 9207, section 2.4).
        about = finding("AZ-004", expected.revision, iss=received, issuer=expected.issuer)
        return _failed(checks, (*found, about), "iss", "Present, but not the expected issuer.", about.seen)
    if received and not expected.iss_advertised:
        found = (*found, finding("AZ-005", expected.revision))
    text = "Present and matches." if received else "Absent and not advertised."
    return _outcome(callback, expected, (*checks, Check("iss", CheckResult.PASSED, text)), found)


def _missing_issuer(
    callback: Callback, expected: CallbackExpectation, checks: tuple[Check, ...], found: tuple[Finding, ...]
) -> CallbackResult:
    """Handle an `iss` that was advertised but is missing, or is empty.

    Before 2026-07-28 no MCP rule forbids continuing.
    """
    about = finding("AZ-003", expected.revision) if expected.iss_advertised else None
    text = "Advertised, but absent." if about else "Present, but empty."
    if about is None or about.stops:
        seen = about.seen if about else "The iss in the authorization response is empty."
        return _failed(checks, (*found, about) if about else found, "iss", text, seen)
    return _outcome(callback, expected, (*checks, Check("iss", CheckResult.FAILED, text)), (*found, about))


def _outcome(
    callback: Callback, expected: CallbackExpectation, checks: tuple[Check, ...], found: tuple[Finding, ...]
) -> CallbackResult:
    error = read_error(dict(callback.parameters))
    if error is not None:
        problem = f"The authorization server rejected the login: {error.sentence}"
        check = Check("error", CheckResult.FAILED, error.sentence)
        findings = (*found, *_about_error(error, expected))
        return CallbackResult((*checks, check), error=error, findings=findings, problem=problem)
    checks = (*checks, Check("error", CheckResult.PASSED, "None."))
    code = callback.parameters.get("code", "")
    if not code:
        text = "The authorization response has neither a code nor an error. Start the login again."
        return _failed(checks, found, "code", "Missing.", text)
    return CallbackResult((*checks, Check("code", CheckResult.PASSED, "Present.")), code, findings=found)


def _failed(
    checks: tuple[Check, ...], found: tuple[Finding, ...], name: str, text: str, problem: str = ""
) -> CallbackResult:
    return CallbackResult(
        (*checks, Check(name, CheckResult.FAILED, text)), findings=found, problem=problem or text
    )


def _about_location(callback: Callback, expected: CallbackExpectation) -> Iterator[Finding]:
    if callback.location and callback.location != expected.redirect_uri.partition("?")[0]:
        yield finding("AZ-009", expected.revision, actual=callback.location, expected=expected.redirect_uri)


def _about_error(error: ReportedError, expected: CallbackExpectation) -> Iterator[Finding]:
    is_about_client = error.code in _UNKNOWN_CLIENT or error.mentions(
        "client_id", "client id", "unknown client"
    )
    if expected.client_source is ClientSource.DOCUMENT and is_about_client:
        yield finding(
            "REG-011",
            expected.revision,
            error=error.code,
            client=expected.client_id,
            evidence=error.evidence,
        )
    parameter = _refused_parameter(error)
    if parameter:
        yield finding(
            "AZ-007", expected.revision, error=error.code, parameter=parameter, evidence=error.evidence
        )


def _refused_parameter(error: ReportedError) -> str:
    if error.code == "invalid_scope":
        return "scope"
    if error.code == "invalid_target":
        return "resource"
    is_resource = error.code == "invalid_request" and error.mentions("resource")
    return "resource" if is_resource else ""

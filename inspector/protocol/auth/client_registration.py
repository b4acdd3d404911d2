"""Choice of the client ID, and dynamic client registration (RFC 7591).

In order: a pre-registered client, a client ID metadata document, dynamic registration, asking the user. A
client belongs to one issuer and is never used at another (2026-07-28: "MUST NOT reuse").

A server may register something other than requested, so its response is compared member by member. An
unsupported authentication method is reported here, not at the first token request.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from urllib.parse import urlsplit

from inspector.base.json.values import JSON, JSONObject, number_of, strings_of, text_of
from inspector.base.plain_text import one_line
from inspector.protocol.auth.findings.finding import Finding, finding
from inspector.protocol.auth.jwt import utc_datetime
from inspector.protocol.auth.responses import ReportedError, read_error, read_object
from inspector.protocol.auth.token_request import AuthMethod, method_problem
from inspector.protocol.revisions import Revision


class ClientSource(Enum):
    """Where a client ID came from."""

    PRE_REGISTERED = "pre-registered"
    DOCUMENT = "client ID metadata document"
    DYNAMIC = "dynamic registration"


class Strategy(Enum):
    """How the user wants to identify the client."""

    AUTO = "automatic"
    PRE_REGISTERED = "pre-registered"
    DOCUMENT = "client ID metadata document"
    DYNAMIC = "dynamic registration"


@dataclass(frozen=True, slots=True)
class Client:
    """A client ID and what belongs to it."""

    client_id: str
    issuer: str  # "": entered before the issuer was known; bound to the first one it is used with
    source: ClientSource
    method: str = ""  # registered token endpoint method; "" if unspecified
    secret: str = field(default="", repr=False)
    secret_expires_at: float | None = None
    redirect_uris: tuple[str, ...] = ()


class IdentityOutcome(Enum):
    """Outcome of the decision."""

    USE = "use this client"
    REGISTER = "register a client"
    ASK = "ask the user"
    REFUSE = "stop"


@dataclass(frozen=True, slots=True)
class Branch:
    """A question of the decision tree, its answer, and whether that branch was taken."""

    question: str
    answer: str
    is_taken: bool = False


@dataclass(frozen=True, slots=True)
class IdentityDecision:
    """The branch taken. `reason` is a sentence; for ASK and REFUSE it names the next step."""

    outcome: IdentityOutcome
    reason: str
    branches: tuple[Branch, ...]
    client: Client | None = None


@dataclass(frozen=True, slots=True)
class IdentityInputs:
    """Inputs of the decision."""

    issuer: str
    known: Sequence[Client] = ()  # of this MCP server, for any issuer
    document_url: str = ""
    supports_documents: bool = False
    registration_endpoint: str = ""
    redirect_uri: str = ""
    strategy: Strategy = Strategy.AUTO
    now: float = 0.0


def decide_identity(inputs: IdentityInputs) -> IdentityDecision:
    """Walk the decision tree and take the first possible branch."""
    options = {
        Strategy.PRE_REGISTERED: _pre_registered,
        Strategy.DOCUMENT: _by_document,
        Strategy.DYNAMIC: _by_registration,
    }
    if inputs.strategy is not Strategy.AUTO:
        return _only_this_strategy(options[inputs.strategy](inputs), inputs)
    passed: tuple[Branch, ...] = ()
    for option in options.values():
        decision = option(inputs)
        if decision.outcome is not IdentityOutcome.ASK:
            return replace(decision, branches=passed + decision.branches)
        passed += decision.branches
    return _ask(passed)


def document_problem(url: str) -> str:
    """Return why a URL cannot be a client ID (CIMD draft), as a sentence; "" if it can."""
    try:
        parts = urlsplit(url)
        is_https = parts.scheme == "https" and bool(parts.hostname)
    except ValueError:
        return "The URL of the client ID metadata document is invalid."
    if not is_https:
        return "The URL of the client ID metadata document must start with https://."
    if parts.path in ("", "/"):
        return "The URL of the client ID metadata document needs a path, such as /client.json."
    if "#" in url or "@" in parts.netloc:
        return "The URL of the client ID metadata document must not contain a fragment or a username."
    if any(part in (".", "..") for part in parts.path.split("/")):
        return "The URL of the client ID metadata document must not contain . or .. in its path."
    return ""


def _pre_registered(inputs: IdentityInputs) -> IdentityDecision:
    question = "Is there a pre-registered client?"
    clients = [client for client in inputs.known if client.source is ClientSource.PRE_REGISTERED]
    matching = next((client for client in clients if client.issuer in ("", inputs.issuer)), None)
    if matching is not None:
        answer = "Yes, for this issuer." if matching.issuer else "Yes; it is now bound to this issuer."
        return _use(replace(matching, issuer=inputs.issuer), question, answer)
    if clients:
        answer = f"Only for another issuer: {one_line(clients[0].issuer)}."
        reason = (
            f"The client was registered with {one_line(clients[0].issuer)}, but the server now names "
            f"{one_line(inputs.issuer)}. If this is intended, enter a client for the new issuer or "
            "delete the old one."
        )
        return IdentityDecision(IdentityOutcome.REFUSE, reason, (Branch(question, answer, is_taken=True),))
    return _not_possible(question, "No.")


def _by_document(inputs: IdentityInputs) -> IdentityDecision:
    question = "Does the server support client ID metadata documents, and is one set?"
    if not inputs.document_url:
        description = "does" if inputs.supports_documents else "does not advertise it"
        return _not_possible(question, f"The server {description}; no document is set.")
    problem = document_problem(inputs.document_url)
    if problem:
        return _not_possible(question, problem)
    if not inputs.supports_documents and inputs.strategy is not Strategy.DOCUMENT:
        return _not_possible(question, "client_id_metadata_document_supported is not true, which means no.")
    client = Client(inputs.document_url, inputs.issuer, ClientSource.DOCUMENT, method="none")
    is_stated = (
        "Yes, both." if inputs.supports_documents else "The server does not advertise it; you chose it."
    )
    return _use(client, question, is_stated)


def _by_registration(inputs: IdentityInputs) -> IdentityDecision:
    question = "Can MCP Lens register a client dynamically?"
    client = next((client for client in inputs.known if _is_reusable(client, inputs)), None)
    if client is not None:
        return _use(client, question, "Already registered with this issuer and this redirect URI.")
    if not inputs.registration_endpoint:
        return _not_possible(question, "No: the metadata has no registration_endpoint.")
    answer = "Yes: there is a registration_endpoint."
    others = [client for client in inputs.known if client.source is ClientSource.DYNAMIC]
    if any(client.issuer != inputs.issuer for client in others):
        answer += " Clients registered with other issuers are not used here."
    return IdentityDecision(IdentityOutcome.REGISTER, answer, (Branch(question, answer, is_taken=True),))


def _is_reusable(client: Client, inputs: IdentityInputs) -> bool:
    """True if a registration is for this issuer and redirect URI, and its secret is valid."""
    if client.source is not ClientSource.DYNAMIC or client.issuer != inputs.issuer:
        return False
    if client.secret_expires_at is not None and client.secret_expires_at <= inputs.now:
        return False
    return not inputs.redirect_uri or inputs.redirect_uri in client.redirect_uris


def _use(client: Client, question: str, answer: str) -> IdentityDecision:
    reason = f"Client ID source: {client.source.value}."
    return IdentityDecision(IdentityOutcome.USE, reason, (Branch(question, answer, is_taken=True),), client)


def _not_possible(question: str, answer: str) -> IdentityDecision:
    return IdentityDecision(IdentityOutcome.ASK, answer, (Branch(question, answer),))


def _only_this_strategy(decision: IdentityDecision, inputs: IdentityInputs) -> IdentityDecision:
    """Apply the user's choice: if it is not possible, no other is tried."""
    if decision.outcome is not IdentityOutcome.ASK:
        return decision
    if inputs.strategy is Strategy.PRE_REGISTERED:
        return _ask(decision.branches)
    reason = f"{decision.reason} You chose {inputs.strategy.value}: choose another method, or automatic."
    return replace(decision, outcome=IdentityOutcome.REFUSE, reason=reason)


def _ask(passed: tuple[Branch, ...]) -> IdentityDecision:
    reason = (
        "No client ID is available. Register a client with the authorization server's operator, then "
        "enter its client ID (and its client secret, if it has one)."
    )
    return IdentityDecision(
        IdentityOutcome.ASK, reason, (*passed, Branch("What next?", "Enter a client ID.", is_taken=True))
    )


_SOON = 7 * 24 * 3600
_LOOPBACK = ("127.0.0.1", "localhost", "::1")


@dataclass(frozen=True, slots=True)
class Difference:
    """A member registered with another value; `registered` is None if it was omitted."""

    name: str
    requested: JSON
    registered: JSON


@dataclass(frozen=True, slots=True)
class Registration:
    """Result of a registration: a usable client, or a `problem` sentence with the next step."""

    client: Client | None
    findings: tuple[Finding, ...] = ()
    differences: tuple[Difference, ...] = ()
    error: ReportedError | None = None
    problem: str = ""


def registration_body(
    *,
    client_name: str,
    redirect_uris: Sequence[str],
    method: AuthMethod,
    scope: str | None = None,
    wants_refresh: bool = True,
    is_bound: bool = False,
) -> JSONObject:
    """Return the registration request. `application_type` is a MUST since 2026-07-28.

    Before that it does no harm.
    """
    body: JSONObject = {
        "client_name": client_name,
        "redirect_uris": list(redirect_uris),
        "grant_types": ["authorization_code", *(["refresh_token"] if wants_refresh else [])],
        "response_types": ["code"],
        "token_endpoint_auth_method": method.value,
        "application_type": "native",
    }
    if scope:
        body["scope"] = scope
    if is_bound:
        body["dpop_bound_access_tokens"] = True
    return body


def client_document(
    url: str, client_name: str, redirect_uris: Sequence[str], client_uri: str = ""
) -> JSONObject:
    """Return a client ID metadata document as the authorization server would read it at `url`."""
    document: JSONObject = {"client_id": url, "client_name": client_name}
    if client_uri:
        document["client_uri"] = client_uri
    return document | {
        "redirect_uris": list(redirect_uris),
        "grant_types": ["authorization_code", "refresh_token"],
        "response_types": ["code"],
        "token_endpoint_auth_method": AuthMethod.NONE.value,
    }


def fallback_body(requested: JSONObject, refused: Registration) -> JSONObject | None:
    """Return a request to retry with after a rejection; None if nothing else is worth trying."""
    ids = {one.id for one in refused.findings}
    if "REG-003" in ids and requested.get("application_type") == "native":
        return requested | {"application_type": "web"}
    uris = list(strings_of(requested, "redirect_uris"))
    names: list[JSON] = [uri.replace("//127.0.0.1:", "//localhost:", 1) for uri in uris]
    if "REG-001" in ids and names != uris:
        return requested | {"redirect_uris": names}
    return None


def read_registration(
    status: int, body: bytes, *, requested: JSONObject, issuer: str, now: float, revision: Revision
) -> Registration:
    """Parse the registration response."""
    document = read_object(body)
    if status in (401, 403):
        found = finding("REG-010", revision, status=status, evidence=_evidence(document))
        error = read_error(document) if document is not None else None
        return Registration(None, (found,), error=error, problem=found.text)
    if not 200 <= status < 300:
        return _refused(status, document or {}, requested, revision)
    if document is None:
        problem = (
            "The registration response is not a JSON object. Contact the authorization server's operator."
        )
        return Registration(None, problem=problem)
    return _accepted(status, document, requested, issuer, now, revision)


def _refused(status: int, document: JSONObject, requested: JSONObject, revision: Revision) -> Registration:
    error = read_error(document)
    if error is None:
        problem = f"Registration failed with {status} and no reason. Enter a client ID manually."
        return Registration(None, problem=problem)
    return Registration(
        None,
        tuple(_about_refusal(error, requested, revision)),
        error=error,
        problem=f"Registration was rejected: {error.sentence}",
    )


def _about_refusal(error: ReportedError, requested: JSONObject, revision: Revision) -> Iterator[Finding]:
    redirects = [uri for uri in strings_of(requested, "redirect_uris") if _is_loopback(uri)]
    is_redirect = error.code == "invalid_redirect_uri" or error.mentions("redirect")
    if is_redirect and redirects:
        yield finding("REG-001", revision, redirect=redirects, evidence=error.evidence)
    if error.mentions("application_type", "application type", "native"):
        yield finding("REG-003", revision, what="rejected it", evidence=error.evidence)


def _accepted(
    status: int, document: JSONObject, requested: JSONObject, issuer: str, now: float, revision: Revision
) -> Registration:
    findings = [*_about_response(status, document, requested, now, revision)]
    client_id, secret = text_of(document, "client_id"), text_of(document, "client_secret")
    method = text_of(document, "token_endpoint_auth_method") or _assumed_method(requested, secret)
    if not client_id:
        findings.append(finding("REG-005", revision))
    problem = method_problem(method, has_secret=bool(secret))
    if problem:
        findings.append(finding("REG-006", revision, method=method, problem=problem.rstrip(".")))
    fatal = next((one for one in findings if one.stops), None)
    client = None
    if fatal is None:
        client = Client(
            client_id,
            issuer,  # as requested: an `issuer` in the response is not trusted
            ClientSource.DYNAMIC,
            method,
            secret,
            _secret_end(document),
            strings_of(document, "redirect_uris") or strings_of(requested, "redirect_uris"),
        )
    text = fatal.text if fatal is not None else ""
    return Registration(client, tuple(findings), tuple(_differences(requested, document)), problem=text)


def _assumed_method(requested: JSONObject, secret: str) -> str:
    """Return the method if the response names none.

    It is the requested one, unless there is a secret that it does not use.
    """
    wanted = text_of(requested, "token_endpoint_auth_method")
    return AuthMethod.BASIC.value if secret and wanted == AuthMethod.NONE.value else wanted


def _about_response(
    status: int, document: JSONObject, requested: JSONObject, now: float, revision: Revision
) -> Iterator[Finding]:
    if status != 201:
        yield finding("REG-004", revision, status=status)
    if requested.get("application_type") == "native" and document.get("application_type") == "web":
        yield finding("REG-003", revision, what="registered it as a web app")
    yield from _about_redirects(
        strings_of(requested, "redirect_uris"), strings_of(document, "redirect_uris"), revision
    )
    granted = document.get("grant_types")
    was_requested = "refresh_token" in strings_of(requested, "grant_types")
    if was_requested and isinstance(granted, list) and "refresh_token" not in granted:
        yield finding("REG-008", revision)
    end = _secret_end(document)
    if end is not None and text_of(document, "client_secret") and end < now + _SOON:
        yield finding("REG-009", revision, when=_when(end, now))


def _about_redirects(
    requested: Sequence[str], registered: Sequence[str], revision: Revision
) -> Iterator[Finding]:
    missing, new = (
        [uri for uri in requested if uri not in registered],
        [uri for uri in registered if uri not in requested],
    )
    if not (missing or new):
        return
    if not registered:
        yield finding("REG-007", revision, difference="the response lists none")
        return
    accepted = [uri for uri in requested if uri in registered]
    if accepted and not new and all(map(_is_loopback, missing)):
        yield finding("REG-002", revision, accepted=accepted, refused=missing)
        return
    parts = [f"without {', '.join(missing)}"] if missing else []
    parts += [f"with {', '.join(new)}"] if new else []
    yield finding("REG-007", revision, difference="; ".join(parts))


def _differences(requested: JSONObject, registered: JSONObject) -> Iterator[Difference]:
    for name, value in requested.items():
        if name in registered and registered[name] != value:
            yield Difference(name, value, registered[name])
        elif name not in registered:
            yield Difference(name, value, None)


def _secret_end(document: JSONObject) -> float | None:
    """Return when the secret expires; None if never, sent as 0 (RFC 7591, section 3.2.1)."""
    value = number_of(document, "client_secret_expires_at")
    return float(value) if value and utc_datetime(value) is not None else None


def _when(end: float, now: float) -> str:
    moment = utc_datetime(end)
    text = f"{moment:%Y-%m-%d %H:%M} UTC" if moment is not None else "soon"
    return f"on {text}" if end > now else f"on {text}, which is in the past"


def _is_loopback(uri: str) -> bool:
    try:
        return urlsplit(uri).hostname in _LOOPBACK
    except ValueError:
        return False


def _evidence(document: JSONObject | None) -> str:
    error = read_error(document) if document is not None else None
    return error.evidence if error is not None else ""

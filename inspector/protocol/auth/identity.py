"""Who we are to an authorization server: which client ID is used, and why that one.

In order: a client that was registered by hand, a client ID metadata document, dynamic registration, asking
the person. Every client belongs to one issuer, and is never shown to another (2026-07-28: "MUST NOT reuse").
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from urllib.parse import urlsplit

from inspector.base.plaintext import one_line


class ClientSource(Enum):
    """Where a client ID came from."""

    BY_HAND = "pre-registered"
    DOCUMENT = "client ID metadata document"
    DYNAMIC = "dynamic registration"


class Strategy(Enum):
    """How the user wants to identify the client."""

    AUTO = "automatic"
    BY_HAND = "pre-registered"
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


class Outcome(Enum):
    """Outcome of the decision."""

    USE = "use this client"
    REGISTER = "register a client"
    ASK = "ask the person"
    REFUSE = "stop"


@dataclass(frozen=True, slots=True)
class Branch:
    """A question of the decision tree, its answer, and whether it was taken."""

    question: str
    answer: str
    is_taken: bool = False


@dataclass(frozen=True, slots=True)
class IdentityDecision:
    """The branch taken. `reason` is a sentence; for ASK and REFUSE it names the next step."""

    outcome: Outcome
    reason: str
    branches: tuple[Branch, ...]
    client: Client | None = None


@dataclass(frozen=True, slots=True)
class IdentityInputs:
    """Inputs of the decision."""

    issuer: str
    known: Sequence[Client] = ()  # of this MCP server, for any issuer
    document_url: str = ""
    takes_documents: bool = False
    registration_endpoint: str = ""
    redirect_uri: str = ""
    strategy: Strategy = Strategy.AUTO
    now: float = 0.0


def decide_identity(inputs: IdentityInputs) -> IdentityDecision:
    """Walk the decision tree and take the first possible branch."""
    ways = {
        Strategy.BY_HAND: _by_hand,
        Strategy.DOCUMENT: _by_document,
        Strategy.DYNAMIC: _by_registration,
    }
    if inputs.strategy is not Strategy.AUTO:
        return _the_one_way(ways[inputs.strategy](inputs), inputs)
    passed: tuple[Branch, ...] = ()
    for way in ways.values():
        decision = way(inputs)
        if decision.outcome is not Outcome.ASK:
            return replace(decision, branches=passed + decision.branches)
        passed += decision.branches
    return _ask(passed)


def document_problem(url: str) -> str:
    """Return why a URL cannot be a client ID (CIMD draft), as a sentence; "" if it can."""
    try:
        parts = urlsplit(url)
        is_https = parts.scheme == "https" and bool(parts.hostname)
    except ValueError:
        return "The address of the client document cannot be read."
    if not is_https:
        return "The address of the client document must begin with https://."
    if parts.path in ("", "/"):
        return "The address of the client document needs a path, such as /client.json."
    if "#" in url or "@" in parts.netloc:
        return "The address of the client document must not have a fragment or a user name."
    if any(part in (".", "..") for part in parts.path.split("/")):
        return "The address of the client document must not have . or .. in its path."
    return ""


# ------------------------------------------------------------------ the branches


def _by_hand(inputs: IdentityInputs) -> IdentityDecision:
    question = "Is there a client that was registered by hand?"
    clients = [client for client in inputs.known if client.source is ClientSource.BY_HAND]
    fitting = next((client for client in clients if client.issuer in ("", inputs.issuer)), None)
    if fitting is not None:
        answer = "Yes, for this issuer." if fitting.issuer else "Yes, and now it is bound to this issuer."
        return _use(replace(fitting, issuer=inputs.issuer), question, answer)
    if clients:
        answer = f"Only for another issuer: {one_line(clients[0].issuer)}."
        reason = (
            f"The client was registered with {one_line(clients[0].issuer)}, and the server now names "
            f"{one_line(inputs.issuer)}. Check that this is meant, then enter a client for the new issuer or "
            "forget the old one."
        )
        return IdentityDecision(Outcome.REFUSE, reason, (Branch(question, answer, is_taken=True),))
    return _not_this_way(question, "No.")


def _by_document(inputs: IdentityInputs) -> IdentityDecision:
    question = "Does the server read client ID metadata documents, and do we have one?"
    if not inputs.document_url:
        says = "does" if inputs.takes_documents else "does not say so"
        return _not_this_way(question, f"The server {says}; no document is set.")
    problem = document_problem(inputs.document_url)
    if problem:
        return _not_this_way(question, problem)
    if not inputs.takes_documents and inputs.strategy is not Strategy.DOCUMENT:
        return _not_this_way(
            question, "client_id_metadata_document_supported is not true, so it counts as no."
        )
    client = Client(inputs.document_url, inputs.issuer, ClientSource.DOCUMENT, method="none")
    is_said = "Yes: both." if inputs.takes_documents else "The server does not say so; you chose it."
    return _use(client, question, is_said)


def _by_registration(inputs: IdentityInputs) -> IdentityDecision:
    question = "Can we register by ourselves?"
    kept = next((client for client in inputs.known if _can_use_again(client, inputs)), None)
    if kept is not None:
        return _use(kept, question, "We did so before, at this issuer and with this redirect address.")
    if not inputs.registration_endpoint:
        return _not_this_way(question, "No: the metadata has no registration_endpoint.")
    answer = "Yes: there is a registration_endpoint."
    others = [client for client in inputs.known if client.source is ClientSource.DYNAMIC]
    if any(client.issuer != inputs.issuer for client in others):
        answer += " What was registered elsewhere is not used here."
    return IdentityDecision(Outcome.REGISTER, answer, (Branch(question, answer, is_taken=True),))


def _can_use_again(client: Client, inputs: IdentityInputs) -> bool:
    """True if a registration is for this issuer and redirect URI, and its secret is valid."""
    if client.source is not ClientSource.DYNAMIC or client.issuer != inputs.issuer:
        return False
    if client.secret_expires_at is not None and client.secret_expires_at <= inputs.now:
        return False
    return not inputs.redirect_uri or inputs.redirect_uri in client.redirect_uris


def _use(client: Client, question: str, answer: str) -> IdentityDecision:
    reason = f"The client ID is from: {client.source.value}."
    return IdentityDecision(Outcome.USE, reason, (Branch(question, answer, is_taken=True),), client)


def _not_this_way(question: str, answer: str) -> IdentityDecision:
    return IdentityDecision(Outcome.ASK, answer, (Branch(question, answer),))


def _the_one_way(decision: IdentityDecision, inputs: IdentityInputs) -> IdentityDecision:
    """Apply the user's choice: if it is not possible, no other is tried."""
    if decision.outcome is not Outcome.ASK:
        return decision
    if inputs.strategy is Strategy.BY_HAND:
        return _ask(decision.branches)
    reason = f"{decision.reason} You chose {inputs.strategy.value}: choose another way, or automatic."
    return replace(decision, outcome=Outcome.REFUSE, reason=reason)


def _ask(passed: tuple[Branch, ...]) -> IdentityDecision:
    reason = (
        "No way to a client ID is open. Register a client with the operator of the authorization server, "
        "then enter its client ID (and its secret, if it has one)."
    )
    return IdentityDecision(Outcome.ASK, reason, (*passed, Branch("What now?", "Ask you.", is_taken=True)))

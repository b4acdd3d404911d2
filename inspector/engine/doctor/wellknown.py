"""What a server says about logging in to it: its well-known documents, fetched as a login would."""

from __future__ import annotations

from dataclasses import dataclass

from inspector.base.clock import Clock
from inspector.base.errors import UserError
from inspector.base.plaintext import one_line
from inspector.base.redact import masked_url
from inspector.engine.doctor.talk import HttpSeen
from inspector.oauth.http import LoginHttp, get_document
from inspector.oauth.recording import LoginRecorder
from inspector.protocol.auth.challenge import choose_challenge, read_challenges
from inspector.protocol.auth.documents import Candidate, Outcome, Reply, read_document
from inspector.protocol.auth.guard import allowance_for
from inspector.protocol.auth.resourcemeta import resource_places
from inspector.protocol.auth.servermeta import server_places
from inspector.protocol.revisions import NEWEST_HANDSHAKE
from inspector.traffic.log import TrafficLog
from inspector.transport.network import Network

_LIMIT = 10.0


@dataclass(frozen=True, slots=True)
class WellKnownSeen:
    """Well-known documents that were found.

    `resource` and `issuer_document` are their URLs; `problem` is what is wrong with one. `places` are the
    URLs requested, with the outcome of each.
    """

    challenge: str = ""  # WWW-Authenticate of the 401, verbatim
    resource: str = ""
    issuer: str = ""
    issuer_document: str = ""
    problem: str = ""
    places: tuple[tuple[str, str], ...] = ()
    problem_at: str = ""  # URL of the problem, if not the usual one
    schemes: tuple[str, ...] = ()  # challenge schemes, lower case


async def look_for_documents(
    url: str, refused: HttpSeen | None, network: Network, log: TrafficLog, server: str, clock: Clock
) -> WellKnownSeen:
    """Fetch the well-known documents.

    The issuer is contacted only if the server requires a login: before that, there is no reason to.
    """
    allowance = allowance_for(url)
    http = LoginHttp(network, allowance, clock, LoginRecorder(log, server, clock), _LIMIT)
    values = _challenges(refused)
    challenges = read_challenges(values)
    challenge = choose_challenge(challenges, refused.status if refused is not None else 401)
    schemes = tuple(dict.fromkeys(one_line(each.scheme.lower())[:20] for each in challenges.all))
    places: list[tuple[str, str]] = []
    try:
        resources = resource_places(url, challenge, allowance, NEWEST_HANDSHAKE).candidates
        resource, content, problem = await _first(http, resources, places)
        listed = content.get("authorization_servers")
        issuer = (
            next((each for each in listed if isinstance(each, str)), "") if isinstance(listed, list) else ""
        )
        found = ""
        if resource and not issuer:
            problem = "it names no authorization server"
        elif issuer and refused is not None:
            found, _, problem = await _first(http, server_places(issuer), places)
        named = challenge.resource_metadata if challenge is not None and not resource else ""
        came = next((came for url, came in places if url == named), "")
        if named and not problem:
            problem = came or "it may not be fetched from there"
        shown, kept = ", ".join(values), tuple(places)
        return WellKnownSeen(shown, resource, issuer, found, problem, kept, masked_url(named or ""), schemes)
    finally:
        await http.close()


def _challenges(refused: HttpSeen | None) -> list[str]:
    headers = refused.headers if refused is not None else ()
    return [value for name, value in headers if name.lower() == "www-authenticate"]


async def _first(
    http: LoginHttp, candidates: tuple[Candidate, ...], places: list[tuple[str, str]]
) -> tuple[str, dict[str, object], str]:
    """Return the first document found, its content, and problems of those before it."""
    problem = ""
    for candidate in candidates:
        try:
            answer = await http.send(get_document(candidate.url))
        except UserError as exc:
            places.append((candidate.url, exc.summary))
            continue
        reply = Reply(candidate.url, answer.status, answer.headers, answer.body)
        document = read_document(reply)
        if document.outcome is Outcome.FOUND and document.content is not None:
            places.append((candidate.url, "found"))
            return candidate.url, dict(document.content), ""
        problem = document.problem or problem
        places.append((candidate.url, document.problem or f"HTTP {answer.status}"))
    return "", {}, problem

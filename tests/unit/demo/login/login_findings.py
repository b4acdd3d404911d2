"""Runs a login at the `login` server with our own rules and collects the findings.

Plain HTTP carries each step instead of our login flow, so that nothing but a switch and a rule lies
between a fault and its finding.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import httpx2

from inspector.protocol.auth import challenge as challenges
from inspector.protocol.auth import resource_metadata, server_metadata, server_support, step_up, tokens
from inspector.protocol.auth.authorization_request import (
    CallbackExpectation,
    check_callback,
    read_callback,
)
from inspector.protocol.auth.client_registration import ClientSource, read_registration, registration_body
from inspector.protocol.auth.findings.finding import Finding, finding
from inspector.protocol.auth.responses import Candidate, LookupOutcome, MetadataResponse, read_document
from inspector.protocol.auth.token_request import AuthMethod, Grant
from inspector.protocol.auth.url_guard import allowance_for
from inspector.protocol.jsonrpc import ErrorObject
from inspector.protocol.revisions import R4, R5
from tests.unit.demo.login.login_client import REDIRECT, STATE, LoginDemo

LOCALHOST = REDIRECT.replace("127.0.0.1", "localhost")
SCOPES = ("notes:read", "notes:write")
_ORIGIN = {"Origin": "https://app.example"}  # as a client in a browser would


class Walk:
    """One login, as far as it gets."""

    def __init__(self, demo: LoginDemo) -> None:
        self._demo = demo
        self._allowance = allowance_for(demo.url)
        self._issuer = demo.origin
        self.found: list[Finding] = []

    def ids(self) -> set[str]:
        return {found.id for found in self.found}

    def _note(self, findings: Iterable[Finding]) -> None:
        self.found += findings

    def run(self, *, issuer_before: str = "") -> set[str]:
        """Run discovery, then registration, login, token and calls, whatever discovery found."""
        self._discover(issuer_before)
        self._register()
        self._log_in()
        return self.ids()

    def _discover(self, issuer_before: str) -> None:
        response = self._demo.challenge()
        read = challenges.read_challenges(response.headers.get_list("www-authenticate"))
        error = None
        if response.status_code == 200:
            error = ErrorObject(**response.json()["error"])
        self._note(challenges.check_response(response.status_code, read, R5, error=error))
        chosen = challenges.choose_challenge(read, response.status_code)
        locations = resource_metadata.resource_metadata_urls(self._demo.url, chosen, self._allowance, R5)
        self._note(locations.findings)
        replies = self._search(locations.candidates)
        for reply in replies:
            self._note(resource_metadata.check_metadata_response(reply, read_document(reply), R5))
        self._note(resource_metadata.check_search(locations, replies, R5))
        content = read_document(replies[-1]).content
        if content is None:
            self._note(resource_metadata.check_missing_metadata(replies, R5).findings)
            return
        root = self._demo.resource("")
        if root.status_code == 200 and root.headers["content-type"] == "application/json":
            self._note(resource_metadata.check_copies(content, root.json(), R5))
        reading = resource_metadata.read_resource_metadata(content, self._demo.url, R5, self._allowance)
        self._note(reading.findings)
        self._note(resource_metadata.check_scopes(chosen, reading.metadata, R5))
        choice = resource_metadata.choose_issuer(reading.metadata.issuers)
        if choice is not None:
            issuers = reading.metadata.issuers
            self._note(resource_metadata.check_migration(issuer_before, issuers, choice, R5))
            self._issuer = choice.issuer
            self._discover_server()

    def _discover_server(self) -> None:
        locations = server_metadata.server_metadata_urls(self._issuer)
        replies = self._search(locations)
        reply, content = replies[-1], read_document(replies[-1]).content
        if content is None:
            self._note([server_metadata.no_server_metadata(self._issuer, replies, R5)])
            pointed = f"{self._issuer}/.well-known/oauth-authorization-server"
            if self._search([Candidate(pointed, "")])[-1].status == 200:
                self._note([finding("ASM-005", R5, found=pointed, right=locations[0].url)])
            return
        other = self._search(locations[1:])[-1]
        self._note(server_metadata.check_server_copies(content, read_document(other).content or {}, R5))
        self._note(server_metadata.check_cors(reply, tuple(_ORIGIN.items()), R5))
        reading = server_metadata.read_server_metadata(content, self._issuer, R5, self._allowance)
        self._note(reading.findings)
        self._note(server_support.check_support(reading.metadata, R5))

    def _search(self, candidates: Iterable[Candidate]) -> list[MetadataResponse]:
        replies = []
        for candidate in candidates:
            response = self._demo.http.get(candidate.url, headers=_ORIGIN)
            replies.append(
                MetadataResponse(candidate.url, response.status_code, _headers(response), response.content)
            )
            if read_document(replies[-1]).outcome is LookupOutcome.FOUND:
                break
        return replies

    def _register(self) -> None:
        for redirects in ([REDIRECT], [REDIRECT, LOCALHOST]):
            requested = registration_body(client_name="Walk", redirect_uris=redirects, method=AuthMethod.NONE)
            response = self._demo.http.post("/register", json=requested)
            read = read_registration(
                response.status_code,
                response.content,
                requested=requested,
                issuer=self._issuer,
                now=time.time(),
                revision=R5,
            )
            self._note(read.findings)

    def _log_in(self) -> None:
        shown = self._demo.ask("demo-app", scope=" ".join(SCOPES))
        if shown.status_code == 400:
            if "redirect" in shown.text.lower():
                self._note([finding("AZ-008", R5, redirect=REDIRECT, evidence=shown.text)])
            return
        back = self._demo.decide(shown) if shown.status_code == 200 else shown
        expected = CallbackExpectation(
            STATE,
            self._demo.origin,
            "ASM-019" not in self.ids(),
            REDIRECT,
            "demo-app",
            ClientSource.PRE_REGISTERED,
            R5,
        )
        checked = check_callback(read_callback(back.headers["location"]), expected)
        self._note(checked.findings)
        if checked.code:
            self._exchange(checked.code)

    def _exchange(self, code: str) -> None:
        requested = tokens.TokenExpectation(Grant.CODE, self._demo.origin, "demo-app", self._demo.url, SCOPES)
        response = self._demo.exchange({"client_id": "demo-app"}, code)
        got = self._read(response, requested)
        if got is None:
            return
        self._call(got)
        if got.refresh_token:
            again = replace(requested, grant=Grant.REFRESH, previous=got)
            self._read(
                self._demo.token(
                    grant_type="refresh_token", refresh_token=got.refresh_token, client_id="demo-app"
                ),
                again,
            )

    def _read(self, response: httpx2.Response, requested: tokens.TokenExpectation) -> tokens.TokenSet | None:
        read = tokens.read_token_response(
            response.status_code,
            _headers(response),
            response.content,
            requested,
            now=time.time(),
            revision=R5,
        )
        self._note(read.findings)
        return read.tokens

    def _call(self, got: tokens.TokenSet) -> None:
        refused = _refusal(self._demo.call(got.access_token, "whoami"))
        if refused.status in (401, 403):
            self._decide(refused, got, step_up.StepUps(), is_first_use=True)
            return
        machine = {"grant_type": "client_credentials", "scope": "notes:read"}
        narrow = self._demo.token(**machine, auth=("demo-machine", "demo-machine-secret")).json()
        fewer = replace(got, access_token=narrow["access_token"], scopes=SCOPES[:1], requested=SCOPES[:1])
        history = step_up.StepUps()
        for held in (fewer, got):
            refused = _refusal(self._demo.call(held.access_token, "write_note", text="x"))
            if refused.status in (401, 403):
                self._decide(refused, held, history, is_first_use=False)
                history.record("tools/call write_note", refused.scopes)
        headers = {"Authorization": got.authorization, "Mcp-Session-Id": "gone", "Accept": "*/*"}
        stale = self._demo.http.post(
            "/mcp", json={"jsonrpc": "2.0", "id": 1, "method": "ping"}, headers=headers
        )
        if stale.status_code >= 500:
            self._note([finding("RS-011", R4, status=stale.status_code)])

    def _decide(
        self, refused: step_up.Refusal, held: tokens.TokenSet, history: step_up.StepUps, *, is_first_use: bool
    ) -> None:
        attempt = step_up.Attempt("tools/call write_note", held, is_first_use)
        self._note(step_up.check_refusal(refused, attempt, history, R5).findings)


def _refusal(response: httpx2.Response) -> step_up.Refusal:
    read = challenges.read_challenges(response.headers.get_list("www-authenticate"))
    chosen = challenges.choose_challenge(read, response.status_code)
    return step_up.Refusal(response.status_code, chosen)


def _headers(response: httpx2.Response) -> Any:
    return tuple(response.headers.multi_items())

"""The table of fault switches: each mistake made on demand, and the finding it shows.

A switch is on or off for the whole process: set with `--fault NAME`, on the page `/faults`, or with a
POST to `/faults.json` during a login. Does not import the SDK.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass


@dataclass(frozen=True)
class Switch:
    """A fault, or (in the first group) a legitimate variation."""

    name: str
    group: str
    description: str
    shows: tuple[str, ...] = ()


class FaultBench:
    """The set of switches that are on."""

    def __init__(self, names: Iterable[str] = ()) -> None:
        self._on: set[str] = set()
        self.change(on=names)

    def on(self, name: str) -> bool:
        assert name in SWITCHES, name
        return name in self._on

    def first(self, *names: str) -> str:
        """Return the first of these switches that is on, or ""."""
        return next((name for name in names if self.on(name)), "")

    def names(self) -> list[str]:
        """Return the switches that are on, in table order."""
        return [name for name in SWITCHES if name in self._on]

    def change(self, *, on: Iterable[str] = (), off: Iterable[str] = ()) -> None:
        """Turn switches on and off.

        Raises ValueError for an unknown name, without changing anything.
        """
        on, off = set(on), set(off)
        unknown = sorted((on | off) - set(SWITCHES))
        if unknown:
            raise ValueError(f"No switch is called {', '.join(map(repr, unknown))}.")
        self._on = (self._on | on) - off

    def only(self, names: Iterable[str]) -> None:
        """Turn on exactly these switches. Raises ValueError as `change` does."""
        chosen = FaultBench(names)
        self._on = chosen._on


class ProviderFaultBench(FaultBench):
    """The company's switches: those whose names begin with `idp_`."""

    def __init__(self, whole: FaultBench) -> None:
        super().__init__()
        self._whole = whole

    def on(self, name: str) -> bool:
        """Look up a fault under its `idp_` name.

        `wrong_issuer` is looked up as `idp_wrong_issuer`; faults that the company cannot have are never on.
        """
        name = name if name.startswith(_COMPANY) else f"{_COMPANY}{name}"
        return name in SWITCHES and self._whole.on(name)


_COMPANY = "idp_"
VARIANTS = "Lawful variants"
CHALLENGE = "The server's challenge"
RESOURCE = "Protected resource metadata"
METADATA = "Authorization server metadata"
REGISTRATION = "Registration"
REDIRECT = "The way back from the browser"
TOKEN = "The token reply"  # noqa: S105, a heading
LIFETIME = "Tokens and how long they live"
CALLS = "Calls with a token"
PROVIDER = "The company's identity provider"

_TABLE: dict[str, dict[str, tuple[str, ...]]] = {
    VARIANTS: {
        "issuer_path": ("The issuer has a path, so its metadata is at a well-known address with a path.",),
        "opaque_tokens": ("Access tokens are random text instead of JWTs.",),
        "short_tokens": ("Access tokens live 65 seconds, so that a refresh can be watched.",),
        "dpop": ("Tokens are bound to a key of the client: every request needs a DPoP proof.",),
        "dpop_nonce": ("As dpop, and both sides also demand a nonce of theirs in the proof.",),
        "moved": ("The server has moved to another issuer, which knows none of the clients.", "RS-012"),
    },
    CHALLENGE: {
        "crash_without_token": ("A request without a token crashes the server: 500.", "AUTH-001"),
        "forbidden_without_token": ("A request without a token gets a bare 403.", "AUTH-002"),
        "no_challenge": ("The 401 has no WWW-Authenticate header.", "AUTH-003"),
        "no_resource_metadata": ("The challenge does not say where the metadata is.", "AUTH-004"),
        "no_prm": ("There is no protected resource metadata at all.", "AUTH-005"),
        "relative_metadata_url": ("The challenge names the metadata by a relative address.", "AUTH-006"),
        "foreign_metadata_url": ("The challenge names metadata on another host (localhost).", "AUTH-007"),
        "broken_challenge": ("A quote in the challenge is never closed.", "AUTH-008"),
        "basic_challenge": ("The challenge asks for Basic authentication only.", "AUTH-009"),
        "no_scopes": ("Neither challenge nor metadata name a scope.", "AUTH-010"),
        "offline_in_challenge": ("The challenge asks for offline_access.", "AUTH-011"),
        "repeated_scope": ("The challenge has the parameter scope twice.", "AUTH-012"),
        "empty_scope": ("The challenge has an empty scope.", "AUTH-012"),
        "refusal_with_200": ("A missing token is told as a JSON-RPC error with status 200.", "AUTH-013"),
    },
    RESOURCE: {
        "prm_no_resource": ("The metadata lacks `resource`.", "PRM-001"),
        "prm_other_resource": ("The metadata is for a server on another host.", "PRM-002"),
        "prm_other_path": ("The metadata is for another path of this host.", "PRM-003"),
        "prm_parent": ("The metadata is for the whole host, not for /mcp.", "PRM-004"),
        "prm_no_servers": ("The metadata lists no authorization server.", "PRM-005"),
        "prm_bad_issuer": ("The listed authorization server has a query and a fragment.", "PRM-006"),
        "prm_metadata_url": ("The list holds the address of a document instead of an issuer.", "PRM-007"),
        "prm_html": ("The metadata address answers 200 with a web page.", "PRM-008"),
        "prm_dead_link": ("The challenge names a metadata address that is 404.", "PRM-009"),
        "prm_two_versions": ("The documents at the path and at the root differ.", "PRM-010"),
        "prm_behind_login": ("The metadata itself wants a token.", "PRM-011"),
        "prm_no_header": ("The metadata says that tokens go into the query.", "PRM-012"),
        "prm_redirects": ("The metadata redirects to another host (localhost).", "PRM-013"),
        "prm_crashes": ("The metadata address answers 500.", "PRM-015"),
        "prm_wrong_types": ("The metadata has text where lists belong.", "PRM-016"),
        "broad_scopes": ("The metadata lists the scopes `*` and full-access.", "PRM-014"),
    },
    METADATA: {
        "asm_missing": ("There is no authorization server metadata.", "ASM-001"),
        "wrong_issuer": ("The metadata belongs to another issuer.", "ASM-002"),
        "issuer_slash": ("The issuer in the metadata has a trailing slash.", "ASM-002", "ASM-003"),
        "no_issuer": ("The metadata has no issuer.", "ASM-004"),
        "asm_appended": ("The issuer has a path, and its document is only at the end of it.", "ASM-005"),
        "no_pkce_metadata": ("The metadata does not mention PKCE.", "ASM-006"),
        "plain_only": ("PKCE only with the method plain.", "ASM-007"),
        "plain_too": ("PKCE also with the method plain.", "ASM-008"),
        "no_token_endpoint": ("The metadata has no token endpoint.", "ASM-009"),
        "no_code_response": ("The metadata lists only the response type token.", "ASM-010"),
        "plain_http_endpoint": ("The token endpoint is http on another machine.", "ASM-011"),
        "blocked_endpoint": ("The authorization endpoint is a javascript: address.", "ASM-012"),
        "endpoint_elsewhere": ("The token endpoint is on another host (localhost).", "ASM-013"),
        "no_code_grant": ("The metadata lists no authorization_code grant.", "ASM-014"),
        "no_registration": ("Neither registration nor client ID documents: register by hand.", "ASM-015"),
        "registration_only": ("Dynamic registration, but no client ID documents.", "ASM-016"),
        "secrets_only": ("Only clients with a secret get a token.", "ASM-017"),
        "no_auth_methods": ("The metadata does not list the client authentication methods.", "ASM-018"),
        "iss_not_advertised": ("`iss` is sent, but the metadata does not say so.", "ASM-019", "AZ-005"),
        "wrong_types": ("The metadata has text where lists and truth values belong.", "ASM-020"),
        "documents_differ": ("The OAuth and the OpenID document differ.", "ASM-021"),
        "no_refresh": ("No refresh tokens.", "ASM-022"),
        "dpop_bad_algorithms": ("The DPoP algorithms are `none` and HS256.", "ASM-023"),
        "no_cors": ("The metadata has no CORS headers.", "ASM-024"),
        "asm_endless": ("The metadata never ends.",),
    },
    REGISTRATION: {
        "no_loopback": ("Registration refuses redirect addresses on this machine.", "REG-001"),
        "localhost_only": ("Registration takes localhost, but not 127.0.0.1.", "REG-001", "REG-002"),
        "native_as_web": ("Registration turns a native app into a web app.", "REG-003"),
        "registered_200": ("Registration answers 200 instead of 201.", "REG-004"),
        "no_client_id": ("Registration answers without a client ID.", "REG-005"),
        "other_method": ("Registration assigns client_secret_jwt, whatever was asked for.", "REG-006"),
        "drops_redirects": ("Registration answers without the redirect addresses.",),
        "changes_redirects": ("Registration answers with another redirect address.", "REG-007"),
        "drops_refresh": ("Registration takes the refresh_token grant away.", "REG-008"),
        "secret_expires": ("Registration gives a secret that runs out in a minute.", "REG-009"),
        "closed_registration": ("Registration wants a token first.", "REG-010"),
        "documents_refused": ("Client ID documents are offered and then refused.", "REG-011"),
        "takes_any_redirect": ("Registration takes http addresses on other machines.", "REG-012"),
    },
    REDIRECT: {
        "state_dropped": ("`state` does not come back.", "AZ-001"),
        "state_changed": ("`state` comes back changed.", "AZ-002"),
        "iss_missing": ("`iss` is promised and does not come.", "AZ-003"),
        "iss_wrong": ("`iss` names another issuer.", "AZ-004"),
        "iss_slash": ("`iss` has a trailing slash that the issuer has not.", "AZ-004"),
        "in_fragment": ("The code comes in the fragment.", "AZ-006"),
        "resource_refused": ("The parameter resource is refused.", "AZ-007"),
        "redirect_refused": ("The redirect address is refused with a web page.", "AZ-008"),
        "redirect_elsewhere": ("The browser is sent to another path.", "AZ-009"),
        "loose_redirects": ("A code is exchanged with another redirect address too.", "AZ-010"),
    },
    TOKEN: {
        "token_html": ("The token reply is a web page.", "TOK-001"),
        "token_form": ("The token reply is form-encoded.", "TOK-001"),
        "no_access_token": ("The token reply has no access_token.", "TOK-002"),
        "no_token_type": ("The token reply has no token_type.", "TOK-002"),
        "odd_token_type": ("The token_type is mac.", "TOK-003"),
        "expires_as_text": ("expires_in is a string.", "TOK-004"),
        "may_be_cached": ("The token reply has no Cache-Control header.", "TOK-005"),
        "secret_refused": ("The client's credentials are refused.", "TOK-006"),
        "pkce_ignored": ("Any code verifier will do.", "TOK-007"),
        "code_twice": ("A code can be used twice.", "TOK-008"),
        "less_scope": ("Only notes:read is granted, whatever was asked for.", "TOK-009"),
        "token_error_200": ("The token request fails with status 200.", "TOK-014"),
        "token_redirects": ("The token endpoint redirects.", "TOK-015"),
        "bearer_for_proof": ("With dpop: the token is not bound to the key.", "TOK-016"),
        "token_slow": ("The token reply comes a byte a second.",),
        "token_endless": ("The token reply never ends.",),
    },
    LIFETIME: {
        "wrong_audience": ("Tokens are for another server.", "TOK-010", "RS-001"),
        "wrong_token_issuer": ("Tokens name another issuer.", "TOK-011", "RS-001"),
        "clock_ahead": ("Tokens are dated an hour ahead.", "TOK-012"),
        "expired_at_once": ("Tokens have run out when they are issued.", "TOK-012", "RS-001"),
        "long_life": ("Tokens live a year.", "TOK-013"),
        "not_rotated": ("A refresh gives back the same refresh token.", "TOK-017"),
        "refresh_unusable": ("A refresh succeeds without an access token.", "TOK-018"),
        "old_refresh_works": ("A refresh token works again after it was rotated.", "TOK-019"),
        "rotated_refused": ("The refresh token from a refresh is refused: log in again.",),
    },
    CALLS: {
        "token_refused": ("The server refuses every token.", "RS-001"),
        "any_token": ("The server takes any text as a token.", "RS-002"),
        "lists_are_open": ("tools/list works without a token.", "RS-003"),
        "bare_403": ("A missing scope gets a 403 without a challenge.", "RS-004"),
        "step_up_no_scope": ("The challenge for a missing scope does not name it.", "RS-005"),
        "piecemeal": ("write_note asks for one scope after the other.", "RS-006"),
        "step_up_always": ("write_note is never satisfied.", "RS-007"),
        "codes_swapped": ("401 for a missing scope, 403 for a bad token.", "RS-008"),
        "get_is_open": ("GET and DELETE work without a token.", "RS-009"),
        "query_token": ("A token in the query is accepted.", "RS-010"),
        "session_crash": ("An unknown session crashes the server: 500.", "RS-011"),
    },
    PROVIDER: {
        "idp_wrong_issuer": ("Its metadata belongs to another issuer.", "ASM-002"),
        "idp_endpoint_elsewhere": ("Its token endpoint is on another host (localhost).", "ASM-013"),
        "idp_iss_wrong": ("`iss` in the answer of the sign-in names another issuer.", "AZ-004"),
        "idp_no_id_token": ("The code gives no ID token.", "IDT-001"),
        "idp_opaque_id_token": ("The ID token is random text instead of a JWT.", "IDT-002"),
        "idp_other_issuer": ("The ID token names another issuer.", "IDT-003"),
        "idp_other_audience": ("The ID token is made out to another client.", "IDT-004"),
        "idp_other_party": ("The ID token was given to another client (azp).", "IDT-005"),
        "idp_expired": ("The ID token has run out when it is issued.", "IDT-006"),
        "idp_clock_ahead": ("The ID token is dated an hour ahead.", "IDT-007"),
        "idp_other_nonce": ("The ID token has the nonce of another sign-in.", "IDT-008"),
        "idp_no_nonce": ("The ID token has no nonce.", "IDT-008"),
        "idp_no_subject": ("The ID token does not say who signed in.", "IDT-009"),
        "idp_alg_none": ("The ID token's algorithm is none.", "IDT-010"),
        "idp_no_signature": ("The signature of the ID token is cut off.", "IDT-010"),
        "idp_jag_elsewhere": ("The ID-JAG is for another authorization server.", "IDT-011"),
        "idp_jag_untyped": ("The ID-JAG is a JWT of no special type.", "IDT-012"),
        "idp_jag_other_client": ("The ID-JAG is for another client.", "IDT-013"),
        "idp_short_tokens": ("ID tokens live 20 seconds, so that a renewal can be watched.",),
        "idp_other_person": ("A renewed ID token is about somebody else.", "IDT-009"),
    },
}


def _switches() -> Iterator[Switch]:
    for group, rows in _TABLE.items():
        for name, (description, *shows) in rows.items():
            yield Switch(name, group, description, tuple(shows))


SWITCHES: dict[str, Switch] = {switch.name: switch for switch in _switches()}

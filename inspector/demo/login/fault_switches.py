"""The table of fault switches: each fault made on demand, and the finding it causes.

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


class FaultSwitches:
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
            raise ValueError(f"Unknown switches: {', '.join(map(repr, unknown))}.")
        self._on = (self._on | on) - off

    def only(self, names: Iterable[str]) -> None:
        """Turn on exactly these switches. Raises ValueError as `change` does."""
        chosen = FaultSwitches(names)
        self._on = chosen._on


class ProviderFaultSwitches(FaultSwitches):
    """The company's switches: those whose names begin with `idp_`."""

    def __init__(self, whole: FaultSwitches) -> None:
        super().__init__()
        self._whole = whole

    def on(self, name: str) -> bool:
        """Look up a fault under its `idp_` name.

        `wrong_issuer` is looked up as `idp_wrong_issuer`; faults that the company cannot have are never on.
        """
        name = name if name.startswith(_COMPANY) else f"{_COMPANY}{name}"
        return name in SWITCHES and self._whole.on(name)


_COMPANY = "idp_"
VARIANTS = "Valid variants"
CHALLENGE = "WWW-Authenticate challenge"
RESOURCE = "Protected resource metadata"
METADATA = "Authorization server metadata"
REGISTRATION = "Client registration"
REDIRECT = "Authorization response"
TOKEN = "Token response"  # noqa: S105, a heading
LIFETIME = "Token contents and lifetime"
CALLS = "Requests with a token"
PROVIDER = "Enterprise identity provider"

_TABLE: dict[str, dict[str, tuple[str, ...]]] = {
    VARIANTS: {
        "issuer_path": ("The issuer has a path, so its metadata is at a well-known URL with that path.",),
        "opaque_tokens": ("Access tokens are opaque strings instead of JWTs.",),
        "short_tokens": ("Access tokens expire after 65 seconds, so you can watch a refresh.",),
        "dpop": ("Tokens are bound to a key of the client: every request needs a DPoP proof.",),
        "dpop_nonce": (
            "Like dpop; the authorization server and the MCP server also require a nonce in the proof.",
        ),
        "moved": ("The server has moved to another issuer, which knows none of the clients.", "RS-012"),
    },
    CHALLENGE: {
        "crash_without_token": ("A request without a token crashes the server (500).", "AUTH-001"),
        "forbidden_without_token": ("A request without a token gets a bare 403.", "AUTH-002"),
        "no_challenge": ("The 401 has no WWW-Authenticate header.", "AUTH-003"),
        "no_resource_metadata": ("The challenge has no resource_metadata parameter.", "AUTH-004"),
        "no_prm": ("There is no protected resource metadata at all.", "AUTH-005"),
        "relative_metadata_url": ("resource_metadata in the challenge is a relative URL.", "AUTH-006"),
        "foreign_metadata_url": (
            "resource_metadata in the challenge is on another host (localhost).",
            "AUTH-007",
        ),
        "broken_challenge": ("The challenge has an unclosed quoted string.", "AUTH-008"),
        "basic_challenge": ("The challenge offers only Basic authentication.", "AUTH-009"),
        "no_scopes": ("Neither the challenge nor the metadata names a scope.", "AUTH-010"),
        "offline_in_challenge": ("The challenge requests the scope offline_access.", "AUTH-011"),
        "repeated_scope": ("The challenge has the scope parameter twice.", "AUTH-012"),
        "empty_scope": ("The challenge has an empty scope.", "AUTH-012"),
        "refusal_with_200": ("A missing token is reported as a JSON-RPC error with status 200.", "AUTH-013"),
    },
    RESOURCE: {
        "prm_no_resource": ("The metadata lacks `resource`.", "PRM-001"),
        "prm_other_resource": ("The metadata is for a server on another host.", "PRM-002"),
        "prm_other_path": ("The metadata is for another path on this host.", "PRM-003"),
        "prm_parent": ("The metadata is for the whole host, not for /mcp.", "PRM-004"),
        "prm_no_servers": ("The metadata lists no authorization server.", "PRM-005"),
        "prm_bad_issuer": ("The listed authorization server URL has a query and a fragment.", "PRM-006"),
        "prm_metadata_url": (
            "authorization_servers contains a metadata URL instead of an issuer.",
            "PRM-007",
        ),
        "prm_html": ("The metadata URL returns an HTML page with status 200.", "PRM-008"),
        "prm_dead_link": ("resource_metadata in the challenge points to a URL that returns 404.", "PRM-009"),
        "prm_two_versions": ("The metadata documents at the path and at the root differ.", "PRM-010"),
        "prm_behind_login": ("The metadata URL requires a token.", "PRM-011"),
        "prm_no_header": ("The metadata says that tokens go in the query string.", "PRM-012"),
        "prm_redirects": ("The metadata URL redirects to another host (localhost).", "PRM-013"),
        "prm_crashes": ("The metadata URL returns 500.", "PRM-015"),
        "prm_wrong_types": ("The metadata has strings where arrays belong.", "PRM-016"),
        "broad_scopes": ("The metadata lists the scopes `*` and full-access.", "PRM-014"),
    },
    METADATA: {
        "asm_missing": ("There is no authorization server metadata.", "ASM-001"),
        "wrong_issuer": ("The metadata belongs to another issuer.", "ASM-002"),
        "issuer_slash": ("The issuer in the metadata has a trailing slash.", "ASM-002", "ASM-003"),
        "no_issuer": ("The metadata has no issuer.", "ASM-004"),
        "asm_appended": (
            "The issuer has a path, and its metadata is only at the well-known URL appended to it.",
            "ASM-005",
        ),
        "no_pkce_metadata": ("The metadata has no code_challenge_methods_supported.", "ASM-006"),
        "plain_only": ("The only PKCE method is plain.", "ASM-007"),
        "plain_too": ("The PKCE method plain is allowed besides S256.", "ASM-008"),
        "no_token_endpoint": ("The metadata has no token_endpoint.", "ASM-009"),
        "no_code_response": ("The metadata lists only the response type token.", "ASM-010"),
        "plain_http_endpoint": ("The token endpoint uses http on another host.", "ASM-011"),
        "blocked_endpoint": ("The authorization endpoint is a javascript: URL.", "ASM-012"),
        "endpoint_elsewhere": ("The token endpoint is on another host (localhost).", "ASM-013"),
        "no_code_grant": ("The metadata does not list the grant type authorization_code.", "ASM-014"),
        "no_registration": (
            "No dynamic registration and no client ID metadata documents: register clients manually.",
            "ASM-015",
        ),
        "registration_only": ("Dynamic client registration, but no client ID metadata documents.", "ASM-016"),
        "secrets_only": ("Only clients with a secret can get a token.", "ASM-017"),
        "no_auth_methods": (
            "The metadata does not list the token endpoint's client authentication methods.",
            "ASM-018",
        ),
        "iss_not_advertised": ("`iss` is sent, but the metadata does not advertise it.", "ASM-019", "AZ-005"),
        "wrong_types": ("The metadata has strings where arrays and booleans belong.", "ASM-020"),
        "documents_differ": ("The OAuth and OpenID Connect metadata documents differ.", "ASM-021"),
        "no_refresh": ("No refresh tokens are issued.", "ASM-022"),
        "dpop_bad_algorithms": ("The advertised DPoP algorithms are `none` and HS256.", "ASM-023"),
        "no_cors": ("The metadata has no CORS headers.", "ASM-024"),
        "asm_endless": ("The metadata response never ends.",),
    },
    REGISTRATION: {
        "no_loopback": ("Registration rejects loopback redirect URIs.", "REG-001"),
        "localhost_only": ("Registration accepts localhost, but not 127.0.0.1.", "REG-001", "REG-002"),
        "native_as_web": ("Registration changes the application type from native to web.", "REG-003"),
        "registered_200": ("Registration returns 200 instead of 201.", "REG-004"),
        "no_client_id": ("Registration returns no client_id.", "REG-005"),
        "other_method": ("Registration assigns client_secret_jwt, whatever was requested.", "REG-006"),
        "drops_redirects": ("Registration returns no redirect_uris.",),
        "changes_redirects": ("Registration returns a different redirect URI.", "REG-007"),
        "drops_refresh": ("Registration removes the grant type refresh_token.", "REG-008"),
        "secret_expires": ("Registration issues a client secret that expires after one minute.", "REG-009"),
        "closed_registration": ("Registration requires an initial access token.", "REG-010"),
        "documents_refused": ("Client ID metadata documents are advertised, but rejected.", "REG-011"),
        "takes_any_redirect": ("Registration accepts http redirect URIs on other hosts.", "REG-012"),
    },
    REDIRECT: {
        "state_dropped": ("The authorization response has no `state`.", "AZ-001"),
        "state_changed": ("The authorization response has a changed `state`.", "AZ-002"),
        "iss_missing": ("`iss` is advertised, but missing from the authorization response.", "AZ-003"),
        "iss_wrong": ("`iss` names another issuer.", "AZ-004"),
        "iss_slash": ("`iss` has a trailing slash that the issuer does not have.", "AZ-004"),
        "in_fragment": ("The authorization code is returned in the fragment.", "AZ-006"),
        "resource_refused": ("The resource parameter is rejected.", "AZ-007"),
        "redirect_refused": ("The redirect URI is rejected with an HTML error page.", "AZ-008"),
        "redirect_elsewhere": ("The browser is redirected to a different path.", "AZ-009"),
        "loose_redirects": (
            "The authorization code can be exchanged with a different redirect_uri.",
            "AZ-010",
        ),
    },
    TOKEN: {
        "token_html": ("The token response is an HTML page.", "TOK-001"),
        "token_form": ("The token response is form-encoded.", "TOK-001"),
        "no_access_token": ("The token response has no access_token.", "TOK-002"),
        "no_token_type": ("The token response has no token_type.", "TOK-002"),
        "odd_token_type": ("The token_type is mac.", "TOK-003"),
        "expires_as_text": ("expires_in is a string.", "TOK-004"),
        "may_be_cached": ("The token response has no Cache-Control header.", "TOK-005"),
        "secret_refused": ("The client credentials are rejected.", "TOK-006"),
        "pkce_ignored": ("Any code_verifier is accepted.", "TOK-007"),
        "code_twice": ("An authorization code can be used twice.", "TOK-008"),
        "less_scope": ("Only notes:read is granted, whatever was requested.", "TOK-009"),
        "token_error_200": ("A token error is returned with status 200.", "TOK-014"),
        "token_redirects": ("The token endpoint redirects.", "TOK-015"),
        "bearer_for_proof": ("With dpop: the token is not bound to the key.", "TOK-016"),
        "token_slow": ("The token response arrives at one byte per second.",),
        "token_endless": ("The token response never ends.",),
    },
    LIFETIME: {
        "wrong_audience": ("Tokens are issued for another server (aud).", "TOK-010", "RS-001"),
        "wrong_token_issuer": ("Tokens name another issuer (iss).", "TOK-011", "RS-001"),
        "clock_ahead": ("Tokens are dated one hour in the future.", "TOK-012"),
        "expired_at_once": ("Tokens are already expired when issued.", "TOK-012", "RS-001"),
        "long_life": ("Tokens are valid for a year.", "TOK-013"),
        "not_rotated": ("A refresh returns the same refresh token.", "TOK-017"),
        "refresh_unusable": ("A refresh succeeds, but returns no access token.", "TOK-018"),
        "old_refresh_works": ("A refresh token still works after rotation.", "TOK-019"),
        "rotated_refused": ("The refresh token returned by a refresh is rejected: log in again.",),
    },
    CALLS: {
        "token_refused": ("The server rejects every token.", "RS-001"),
        "any_token": ("The server accepts any string as a token.", "RS-002"),
        "lists_are_open": ("tools/list works without a token.", "RS-003"),
        "bare_403": ("A missing scope gets a 403 without a challenge.", "RS-004"),
        "step_up_no_scope": ("The challenge for a missing scope does not name the scope.", "RS-005"),
        "piecemeal": ("write_note requires one additional scope after another.", "RS-006"),
        "step_up_always": ("write_note always requires more scope.", "RS-007"),
        "codes_swapped": ("401 for a missing scope, 403 for an invalid token.", "RS-008"),
        "get_is_open": ("GET and DELETE work without a token.", "RS-009"),
        "query_token": ("A token in the query string is accepted.", "RS-010"),
        "session_crash": ("An unknown session crashes the server (500).", "RS-011"),
    },
    PROVIDER: {
        "idp_wrong_issuer": ("Its metadata belongs to another issuer.", "ASM-002"),
        "idp_endpoint_elsewhere": ("Its token endpoint is on another host (localhost).", "ASM-013"),
        "idp_iss_wrong": ("`iss` in the authorization response names another issuer.", "AZ-004"),
        "idp_no_id_token": ("The token response has no ID token.", "IDT-001"),
        "idp_opaque_id_token": ("The ID token is a random string instead of a JWT.", "IDT-002"),
        "idp_other_issuer": ("The ID token names another issuer (iss).", "IDT-003"),
        "idp_other_audience": ("The ID token is for another client (aud).", "IDT-004"),
        "idp_other_party": ("The ID token was issued to another client (azp).", "IDT-005"),
        "idp_expired": ("The ID token is already expired when issued.", "IDT-006"),
        "idp_clock_ahead": ("The ID token is dated one hour in the future.", "IDT-007"),
        "idp_other_nonce": ("The ID token has the nonce of another login.", "IDT-008"),
        "idp_no_nonce": ("The ID token has no nonce.", "IDT-008"),
        "idp_no_subject": ("The ID token has no sub.", "IDT-009"),
        "idp_alg_none": ("The ID token's algorithm is `none`.", "IDT-010"),
        "idp_no_signature": ("The ID token has no signature.", "IDT-010"),
        "idp_jag_elsewhere": ("The ID-JAG is for another authorization server (aud).", "IDT-011"),
        "idp_jag_untyped": ("The ID-JAG does not have the type oauth-id-jag+jwt.", "IDT-012"),
        "idp_jag_other_client": ("The ID-JAG is for another client (client_id).", "IDT-013"),
        "idp_short_tokens": ("ID tokens expire after 20 seconds, so you can watch a refresh.",),
        "idp_other_person": ("A refreshed ID token is for another user.", "IDT-009"),
    },
}


def _switches() -> Iterator[Switch]:
    for group, rows in _TABLE.items():
        for name, (description, *shows) in rows.items():
            yield Switch(name, group, description, tuple(shows))


SWITCHES: dict[str, Switch] = {switch.name: switch for switch in _switches()}

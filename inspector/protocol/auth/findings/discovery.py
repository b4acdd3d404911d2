"""Findings of discovery: the challenge (AUTH) and both metadata documents (PRM, ASM).

A table: each row has what was seen, the rule, and who must fix what.
"""

from __future__ import annotations

from inspector.protocol.auth.findings.template import (
    ERROR_ONLY_R3,
    ERROR_SINCE_R3,
    ERROR_SINCE_R4,
    WARNING_SINCE_R4,
    WARNING_SINCE_R5,
    WARNING_THEN_ERROR_R4,
    FindingTemplate,
    error,
    fatal,
    info,
    warning,
)

_CHALLENGE = {
    "AUTH-001": error(
        "The server answered {status} to a request without a token.",
        "Missing credentials are answered with 401 and a challenge, never with a server error.",
        "MCP server: look for the crash in its log, and answer 401.",
    ),
    "AUTH-002": error(
        "The server answered {status} to a request without a token.",
        "Clients begin a login at 401 only.",
        "MCP server: answer 401 with a WWW-Authenticate header.",
    ),
    "AUTH-003": FindingTemplate(
        ERROR_ONLY_R3,
        "The 401 has no WWW-Authenticate header.",
        "2025-06-18 demands it; later revisions let clients try well-known addresses, but RFC 6750 still "
        "expects a challenge.",
        "MCP server: send WWW-Authenticate: Bearer with resource_metadata in every 401.",
    ),
    "AUTH-004": FindingTemplate(
        ERROR_ONLY_R3,
        "The challenge does not say where the protected resource metadata is.",
        "2025-06-18 demands resource_metadata; later revisions allow well-known addresses instead, which we "
        "have to guess.",
        "MCP server: add resource_metadata to the challenge.",
    ),
    "AUTH-005": FindingTemplate(
        ERROR_SINCE_R3,
        "The authorization server cannot be found: {tried}.",
        "A server must name it by resource_metadata in the challenge, or in a document at a known place.",
        "MCP server: publish protected resource metadata (RFC 9728).",
        stops=True,
    ),
    "AUTH-006": error(
        "resource_metadata is “{value}”, which we do not contact: {reason}.",
        "It must be an absolute https address that anybody can reach.",
        "MCP server: correct the address in the challenge.",
    ),
    "AUTH-007": warning(
        "resource_metadata is at {host}, but the server is at {server}.",
        "Careful clients refuse metadata from another origin, since it can lead them into a private network.",
        "MCP server: serve the document from its own origin.",
    ),
    "AUTH-008": error(
        "WWW-Authenticate cannot be read at column {column}: {problem}.",
        "RFC 9110 §11.6.1 says how challenges are written; strict clients ignore what is not.",
        "MCP server: correct the header.",
    ),
    "AUTH-009": info(
        "The server asks for {schemes}.",
        "MCP authorization uses Bearer, or DPoP; other schemes are set up by hand.",
        "You: give the credentials as a header of this server, if you have some.",
    ),
    "AUTH-010": FindingTemplate(
        WARNING_SINCE_R4,
        "Neither the challenge nor the metadata names a scope.",
        "Clients cannot know what to ask for, so the login asks for no scope.",
        "MCP server: add scope to the challenge, or scopes_supported to the metadata.",
    ),
    "AUTH-011": FindingTemplate(
        WARNING_SINCE_R5,
        "offline_access is named in {place}.",
        "It is no need of the resource: clients ask for it when the authorization server lists it.",
        "MCP server: leave offline_access out.",
    ),
    "AUTH-012": warning(
        "In the challenge, {parameter} is {what}.",
        "Each comes once, with a value, in quotes unless it is one word (RFC 9110 §11.2); clients differ.",
        "MCP server: send it that way, or not at all.",
    ),
    "AUTH-013": error(
        "The refusal came as a JSON-RPC error with HTTP status {status}.",
        "Clients begin a login at HTTP status 401; an error inside of a success goes unnoticed.",
        "MCP server: answer 401 with a WWW-Authenticate header.",
    ),
}

_RESOURCE = {
    "PRM-001": error(
        "The protected resource metadata has no resource.",
        "RFC 9728 §2 demands it: without it, clients cannot tell whom the document is about.",
        "MCP server: add resource, its own address.",
    ),
    "PRM-002": fatal(
        "The metadata is about {resource}, but you are connecting to {server} ({difference}).",
        "RFC 9728 §3.3: a document about something else must not be used; a token for it could be stolen.",
        "MCP server: set resource to its own address.",
    ),
    "PRM-003": error(
        "resource is {resource}, whose path does not cover {server} ({difference}).",
        "RFC 9728 §3.3: a document about something else must not be used.",
        "MCP server: set resource to the address that clients connect to, or to a folder above it.",
    ),
    "PRM-004": info(
        "resource is {resource}, for {server}: {relation}.",
        "We accept it; clients that compare exactly (RFC 9728 §3.3) will not.",
        "MCP server: set resource to the address that clients connect to.",
    ),
    "PRM-005": fatal(
        "The metadata lists no authorization server that can be used.",
        "authorization_servers must hold at least one; to take the MCP server itself would be to invent one.",
        "MCP server: list the issuer of its authorization server.",
    ),
    "PRM-006": error(
        "authorization_servers lists “{entry}”, which cannot be an issuer: {reason}.",
        "An issuer is an absolute https address without query and fragment (RFC 8414 §2).",
        "MCP server: correct the entry.",
    ),
    "PRM-007": warning(
        "authorization_servers lists “{entry}”, the address of a metadata document.",
        "The list holds issuers; clients make the document's address from the issuer.",
        "MCP server: list the issuer, without the well-known part.",
    ),
    "PRM-008": warning(
        "{url} answered 200 with {content_type} instead of a JSON object: {problem}.",
        "Often the start page of a web app, sent for every unknown path; clients may stop here.",
        "MCP server: answer 404 where there is no document, and application/json where there is one.",
    ),
    "PRM-009": warning(
        "The address in the challenge and the well-known one disagree: {difference}.",
        "Clients use the one or the other, and will differ in what they see.",
        "MCP server: serve the same document at both.",
    ),
    "PRM-010": warning(
        "The well-known documents for the path and for the root differ in {fields}.",
        "Clients that look in one place only will differ in what they see.",
        "MCP server: serve the root document only when it is about the root.",
    ),
    "PRM-011": error(
        "{url} answered {status}: the metadata itself is protected.",
        "Metadata says how to log in, so it must be readable before (RFC 9728 §3).",
        "MCP server: serve it without a token.",
    ),
    "PRM-012": warning(
        "bearer_methods_supported is {methods}, without header.",
        "MCP clients send tokens in the Authorization header only.",
        "MCP server: accept tokens in the header, and say so.",
    ),
    "PRM-013": warning(
        "{url} redirects to {host}.",
        "Redirects of metadata to another origin are not followed.",
        "MCP server: serve the document where it is asked for.",
    ),
    "PRM-014": info(
        "The metadata offers very broad scopes: {scopes}.",
        "A token for everything does most harm when it is lost.",
        "MCP server: offer scopes for single purposes.",
    ),
    "PRM-015": fatal(
        "{url} answered {status}, so we cannot tell whether there is metadata.",
        "A failing server is no server without metadata; to go on as if it had none could log in elsewhere.",
        "MCP server: answer 404 where there is no document. You: try again later.",
    ),
    "PRM-016": warning(
        "In the protected resource metadata, {field} is {type}, not {expected}.",
        "RFC 9728 §2 fixes the types; we read it as if it were absent.",
        "MCP server: correct the type.",
    ),
}

_SERVER = {
    "ASM-001": fatal(
        "{issuer} has no metadata: {tried}.",
        "An authorization server must publish RFC 8414 metadata or OpenID Connect Discovery.",
        "Authorization server: publish one of them at these addresses.",
    ),
    "ASM-002": fatal(
        "The document says its issuer is {issuer}, expected was {expected} (character {column} differs).",
        "RFC 8414 §3.3: both must be identical, else the document must not be used. It could be another's.",
        "Authorization server or MCP server: use the same issuer, letter by letter.",
    ),
    "ASM-003": warning(
        "The two issuers differ only in {difference}.",
        "Issuers are compared as text; nothing is made equal first.",
        "Authorization server or MCP server: change one of the two.",
    ),
    "ASM-004": fatal(
        "The authorization server metadata has no issuer.",
        "RFC 8414 §2 demands it: without it, nobody can tell whose document this is.",
        "Authorization server: add issuer.",
    ),
    "ASM-005": warning(
        "The issuer has a path, but its metadata was found at {found}.",
        "RFC 8414 §3.1 puts the well-known part before the path; other clients will not find it there.",
        "Authorization server: serve it at {right}.",
    ),
    "ASM-006": FindingTemplate(
        ERROR_SINCE_R4,
        "The metadata has no code_challenge_methods_supported.",
        "Since 2025-11-25, clients must refuse a server that does not say that it does PKCE.",
        "Authorization server: add code_challenge_methods_supported with S256.",
    ),
    "ASM-007": FindingTemplate(
        WARNING_THEN_ERROR_R4,
        "code_challenge_methods_supported lists {methods}, not S256.",
        "We log in with S256 only: the other methods do not protect the code.",
        "Authorization server: support S256, and list it.",
    ),
    "ASM-008": warning(
        "code_challenge_methods_supported also lists plain.",
        "OAuth 2.1 clients use S256 only; plain protects nothing when the request was read.",
        "Authorization server: drop plain.",
    ),
    "ASM-009": fatal(
        "The metadata has no usable {field}.",
        "Without it, a login by authorization code is not possible.",
        "Authorization server: add {field}.",
    ),
    "ASM-010": error(
        "response_types_supported is {types}, without code.",
        "RFC 8414 §2 demands the list, and a login by authorization code needs code in it.",
        "Authorization server: add code to response_types_supported.",
    ),
    "ASM-011": fatal(
        "{field} is {url}, which is not https.",
        "Codes, tokens and secrets go there; only addresses of this machine may be without encryption.",
        "Authorization server: use https.",
    ),
    "ASM-012": fatal(
        "{field} is {url}, which we do not contact: {reason}.",
        "Addresses that a server gives us are contacted only when they are public web addresses.",
        "Authorization server: correct the address. You: allow private hosts for this server if it is yours.",
    ),
    "ASM-013": warning(
        "{fields} at {host}, but the issuer is at {issuer}.",
        "That is how a forged document steals codes: the real login page, but another place for the token.",
        "You: make sure that both belong to the same operator, then allow the host.",
    ),
    "ASM-014": warning(
        "grant_types_supported is {grants}, without authorization_code.",
        "By its own words, the server does not do this kind of login.",
        "Authorization server: add authorization_code, if it does.",
    ),
    "ASM-015": warning(
        "The server takes neither client ID metadata documents nor dynamic registration.",
        "Every client has to be registered by hand.",
        "Authorization server: support one of them. You: register a client there, and enter its ID.",
    ),
    "ASM-016": info(
        "The server offers dynamic registration only.",
        "2026-07-28 deprecates it in favour of client ID metadata documents.",
        "Authorization server: support them, and set client_id_metadata_document_supported.",
    ),
    "ASM-017": warning(
        "token_endpoint_auth_methods_supported is {methods}, without none.",
        "A desktop app cannot keep a secret that is the same for everybody.",
        "Authorization server: allow public clients with PKCE (none).",
    ),
    "ASM-018": warning(
        "The metadata has no token_endpoint_auth_methods_supported.",
        "By RFC 8414 that means client_secret_basic only.",
        "Authorization server: list the methods that it takes.",
    ),
    "ASM-019": FindingTemplate(
        WARNING_SINCE_R5,
        "authorization_response_iss_parameter_supported is not set.",
        "Without iss in the answer, clients cannot notice that it came from another server (RFC 9207).",
        "Authorization server: send iss, and say so.",
    ),
    "ASM-020": warning(
        "In the authorization server metadata, {field} is {type}, not {expected}.",
        "RFC 8414 §2 fixes the types; we read it as if it were absent.",
        "Authorization server: correct the type.",
    ),
    "ASM-021": warning(
        "The OAuth and the OpenID document differ in {fields}.",
        "Clients read the one or the other, and will behave differently.",
        "Authorization server: serve the same values in both.",
    ),
    "ASM-022": warning(
        "The metadata lists neither the refresh_token grant nor the scope offline_access.",
        "Without refresh tokens, people must log in each time the token runs out.",
        "Authorization server: support refresh tokens, and list the grant.",
    ),
    "ASM-023": warning(
        "dpop_signing_alg_values_supported is {algorithms}: {problem}.",
        "RFC 9449 §5.1 wants a list of asymmetric algorithms; none and shared keys are not allowed.",
        "Authorization server: list such as ES256.",
    ),
    "ASM-024": info(
        "{url} has no CORS headers, though the request named an Origin.",
        "That does not matter to us, but clients that run in a browser cannot read it.",
        "Authorization server: send Access-Control-Allow-Origin.",
    ),
    "ASM-025": fatal(
        "The document at the server's origin says its issuer is {issuer}, expected was {expected}.",
        "In 2025-03-26, the origin of the MCP server is the issuer.",
        "MCP server: set issuer to its origin.",
    ),
}

DISCOVERY_FINDINGS: dict[str, FindingTemplate] = _CHALLENGE | _RESOURCE | _SERVER

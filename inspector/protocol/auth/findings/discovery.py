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
        "The server returned {status} for a request without a token.",
        "Missing credentials must be answered with 401 and a challenge, never with a server error.",
        "MCP server: find the crash in the log, and return 401.",
    ),
    "AUTH-002": error(
        "The server returned {status} for a request without a token.",
        "Clients only start a login on 401.",
        "MCP server: return 401 with a WWW-Authenticate header.",
    ),
    "AUTH-003": FindingTemplate(
        ERROR_ONLY_R3,
        "The 401 has no WWW-Authenticate header.",
        "2025-06-18 requires it. Later versions let clients try well-known URLs, but RFC 6750 §3 still "
        "requires a challenge.",
        "MCP server: send WWW-Authenticate: Bearer with resource_metadata in every 401.",
    ),
    "AUTH-004": FindingTemplate(
        ERROR_ONLY_R3,
        "The challenge does not say where the protected resource metadata is (no resource_metadata).",
        "2025-06-18 requires resource_metadata. Later versions also allow well-known URLs, which "
        "clients have to probe.",
        "MCP server: add resource_metadata to the challenge.",
    ),
    "AUTH-005": FindingTemplate(
        ERROR_SINCE_R3,
        "The authorization server was not found: {tried}.",
        "The server must publish protected resource metadata, either at the URL in resource_metadata "
        "or at a well-known URL.",
        "MCP server: publish protected resource metadata (RFC 9728).",
        stops=True,
    ),
    "AUTH-006": error(
        "resource_metadata is “{value}”, which MCP Lens does not contact: {reason}.",
        "It must be an absolute https URL that clients can reach.",
        "MCP server: correct the URL in the challenge.",
    ),
    "AUTH-007": warning(
        "resource_metadata is at {host}, but the server is at {server}.",
        "Careful clients reject metadata from another origin, because it can direct them into a "
        "private network.",
        "MCP server: serve the metadata from its own origin.",
    ),
    "AUTH-008": error(
        "WWW-Authenticate is malformed at column {column}: {problem}.",
        "RFC 9110 §11.6.1 defines the syntax of challenges; strict clients ignore malformed ones.",
        "MCP server: correct the header.",
    ),
    "AUTH-009": info(
        "The server only offers {schemes} authentication.",
        "MCP authorization uses Bearer or DPoP; other schemes must be configured manually.",
        "You: if you have credentials, add them as a header in this server's settings.",
    ),
    "AUTH-010": FindingTemplate(
        WARNING_SINCE_R4,
        "Neither the challenge nor the metadata names a scope.",
        "Clients cannot know which scopes to request, so the login requests none.",
        "MCP server: add scope to the challenge, or scopes_supported to the metadata.",
    ),
    "AUTH-011": FindingTemplate(
        WARNING_SINCE_R5,
        "offline_access is named in {location}.",
        "It is not a requirement of the resource: clients request it when the authorization server lists it.",
        "MCP server: remove offline_access.",
    ),
    "AUTH-012": warning(
        "In the challenge, {parameter} is {what}.",
        "Each parameter must appear once, with a value, quoted unless it is a token (RFC 9110 §11.2). "
        "Clients handle deviations differently.",
        "MCP server: correct the parameter or omit it.",
    ),
    "AUTH-013": error(
        "The missing login was reported as a JSON-RPC error with HTTP status {status}.",
        "Clients start a login on HTTP status 401; an error in a successful response goes unnoticed.",
        "MCP server: return 401 with a WWW-Authenticate header.",
    ),
}

_RESOURCE = {
    "PRM-001": error(
        "The protected resource metadata has no resource.",
        "RFC 9728 §2 requires it: without it, clients cannot tell which server the metadata is for.",
        "MCP server: add resource with its own URL.",
    ),
    "PRM-002": fatal(
        "The metadata is for {resource}, but you are connecting to {server} ({difference}).",
        "RFC 9728 §3.3: metadata for another resource must not be used; it could be used to steal a "
        "token for that resource.",
        "MCP server: set resource to its own URL.",
    ),
    "PRM-003": error(
        "resource is {resource}, whose path does not cover {server} ({difference}).",
        "RFC 9728 §3.3: metadata for another resource must not be used.",
        "MCP server: set resource to the URL that clients connect to, or to a parent path of it.",
    ),
    "PRM-004": info(
        "resource is {resource}, but the server URL is {server}: {relation}.",
        "MCP Lens accepts it; clients that compare exactly (RFC 9728 §3.3) do not.",
        "MCP server: set resource to the URL that clients connect to.",
    ),
    "PRM-005": fatal(
        "The metadata lists no usable authorization server: {reasons}.",
        "authorization_servers must contain at least one entry that clients can use; they must not assume "
        "that the MCP server itself is one.",
        "MCP server: list the issuer of its authorization server.",
    ),
    "PRM-006": error(
        "authorization_servers lists “{entry}”, which MCP Lens does not use: {reason}.",
        "An issuer is an absolute https URL without query or fragment (RFC 8414 §2) that clients can reach.",
        "MCP server: correct the entry.",
    ),
    "PRM-007": warning(
        "authorization_servers lists “{entry}”, the URL of a metadata document.",
        "The list must contain issuers; clients derive the metadata URL from the issuer.",
        "MCP server: list the issuer, without the well-known path.",
    ),
    "PRM-008": warning(
        "{url} returned 200 with {content_type} instead of a JSON object: {problem}.",
        "This is often the start page of a web app, served for every unknown path. Clients may stop here.",
        "MCP server: return 404 where there is no metadata, and application/json where there is.",
    ),
    "PRM-009": warning(
        "The URL in the challenge and the well-known URL disagree: {difference}.",
        "Clients use one or the other, and get different results.",
        "MCP server: serve the same metadata at both URLs.",
    ),
    "PRM-010": warning(
        "The well-known metadata documents for the path and for the root differ in {fields}.",
        "Clients that only check one of them see different metadata.",
        "MCP server: serve metadata at the root only if it is for the root.",
    ),
    "PRM-011": error(
        "{url} returned {status}: the metadata itself requires authorization.",
        "Metadata says how to log in, so it must be readable without a token (RFC 9728 §3).",
        "MCP server: serve the metadata without authorization.",
    ),
    "PRM-012": warning(
        "bearer_methods_supported is {methods} and does not include header.",
        "MCP clients send tokens only in the Authorization header.",
        "MCP server: accept tokens in the Authorization header, and list header.",
    ),
    "PRM-013": warning(
        "{url} redirects to {host}.",
        "Redirects of metadata to another origin are not followed.",
        "MCP server: serve the metadata directly at this URL.",
    ),
    "PRM-014": info(
        "The metadata lists very broad scopes: {scopes}.",
        "A token that allows everything does the most damage if it leaks.",
        "MCP server: offer narrow scopes, one per purpose.",
    ),
    "PRM-015": fatal(
        "{url} returned {status}, so it is unknown whether there is metadata.",
        "An error does not mean that there is no metadata; continuing without it could log you in elsewhere.",
        "MCP server: return 404 if there is no metadata. You: try again later.",
    ),
    "PRM-016": warning(
        "In the protected resource metadata, {field} is {type}, not {expected}.",
        "RFC 9728 §2 defines the types; MCP Lens treats the value as absent.",
        "MCP server: correct the type.",
    ),
}

_SERVER = {
    "ASM-001": fatal(
        "No metadata found for {issuer}: {tried}.",
        "An authorization server must publish RFC 8414 metadata or OpenID Connect Discovery metadata.",
        "Authorization server: publish one of them at these URLs.",
    ),
    "ASM-002": fatal(
        "The issuer in the metadata is {issuer}, but {expected} was expected (character {column} differs).",
        "RFC 8414 §3.3: both must be identical, otherwise the metadata must not be used. It may belong "
        "to another party.",
        "Authorization server or MCP server: use exactly the same issuer.",
    ),
    "ASM-003": warning(
        "The two issuers differ only in {difference}.",
        "Issuers are compared as strings, without normalization.",
        "Authorization server or MCP server: change one to match the other.",
    ),
    "ASM-004": fatal(
        "The authorization server metadata has no issuer.",
        "RFC 8414 §2 requires it: without it, clients cannot tell whose metadata this is.",
        "Authorization server: add issuer.",
    ),
    "ASM-005": warning(
        "The issuer has a path, but its metadata was found at {found}.",
        "RFC 8414 §3.1 inserts the well-known path before the issuer's path; other clients do not find "
        "it elsewhere.",
        "Authorization server: serve it at {right}.",
    ),
    "ASM-006": FindingTemplate(
        ERROR_SINCE_R4,
        "The metadata has no code_challenge_methods_supported.",
        "Since 2025-11-25, clients must refuse an authorization server that does not advertise PKCE.",
        "Authorization server: add code_challenge_methods_supported with S256.",
    ),
    "ASM-007": FindingTemplate(
        WARNING_THEN_ERROR_R4,
        "code_challenge_methods_supported lists {methods}, not S256.",
        "MCP Lens only uses S256: other methods do not protect the authorization code.",
        "Authorization server: support S256 and list it.",
    ),
    "ASM-008": warning(
        "code_challenge_methods_supported also lists plain.",
        "OAuth 2.1 clients use S256; plain gives no protection if the authorization request is observed.",
        "Authorization server: remove plain.",
    ),
    "ASM-009": fatal(
        "The metadata has no usable {field}.",
        "The authorization code grant is not possible without it.",
        "Authorization server: add {field}.",
    ),
    "ASM-010": error(
        "response_types_supported is {types} and does not include code.",
        "RFC 8414 §2 requires the list, and the authorization code grant needs code in it.",
        "Authorization server: add code to response_types_supported.",
    ),
    "ASM-011": fatal(
        "{field} is {url}, which does not use https.",
        "Codes, tokens and secrets are sent there; only loopback URLs may be unencrypted.",
        "Authorization server: use https.",
    ),
    "ASM-012": fatal(
        "{field} is {url}, which MCP Lens does not contact: {reason}.",
        "URLs named by a server are only contacted if they are public https URLs.",
        "Authorization server: correct the URL.",
    ),
    "ASM-013": warning(
        "{fields} on {host}, but the issuer is on {issuer}.",
        "Forged metadata steals codes this way: the real login page, but another token endpoint.",
        "You: make sure that both hosts belong to the same operator, then allow the host.",
    ),
    "ASM-014": warning(
        "grant_types_supported is {grants} and does not include authorization_code.",
        "According to its metadata, the server does not support this grant type.",
        "Authorization server: add authorization_code if it is supported.",
    ),
    "ASM-015": warning(
        "The server supports neither client ID metadata documents nor dynamic client registration.",
        "Every client must be registered manually.",
        "Authorization server: support one of them. You: register a client there and enter its client ID.",
    ),
    "ASM-016": info(
        "The server supports only dynamic client registration.",
        "2026-07-28 deprecates it in favor of client ID metadata documents.",
        "Authorization server: support them, and set client_id_metadata_document_supported.",
    ),
    "ASM-017": warning(
        "token_endpoint_auth_methods_supported is {methods} and does not include none.",
        "A desktop app is a public client: it cannot keep a client secret confidential.",
        "Authorization server: allow public clients with PKCE (none).",
    ),
    "ASM-018": warning(
        "The metadata has no token_endpoint_auth_methods_supported.",
        "According to RFC 8414 §2, the default is client_secret_basic only.",
        "Authorization server: list the supported methods.",
    ),
    "ASM-019": FindingTemplate(
        WARNING_SINCE_R5,
        "authorization_response_iss_parameter_supported is not set.",
        "Without iss in the authorization response, clients cannot detect a response from another "
        "server (RFC 9207).",
        "Authorization server: send iss and set this field to true.",
    ),
    "ASM-020": warning(
        "In the authorization server metadata, {field} is {type}, not {expected}.",
        "RFC 8414 §2 defines the types; MCP Lens treats the value as absent.",
        "Authorization server: correct the type.",
    ),
    "ASM-021": warning(
        "The OAuth and OpenID Connect metadata documents differ in {fields}.",
        "Clients read one or the other, and behave differently.",
        "Authorization server: publish the same values in both.",
    ),
    "ASM-022": warning(
        "The metadata lists neither the refresh_token grant type nor the offline_access scope.",
        "Without refresh tokens, users must log in each time the access token expires.",
        "Authorization server: support refresh tokens and list the grant type.",
    ),
    "ASM-023": warning(
        "dpop_signing_alg_values_supported is {algorithms}: {problem}.",
        "RFC 9449 §5.1 defines a list of algorithms; §4.2 forbids none and symmetric algorithms.",
        "Authorization server: list asymmetric algorithms such as ES256.",
    ),
    "ASM-024": info(
        "{url} has no CORS headers, although the request had an Origin.",
        "MCP Lens does not need them, but browser-based clients cannot read the metadata.",
        "Authorization server: send Access-Control-Allow-Origin.",
    ),
    "ASM-025": fatal(
        "The metadata at the server's origin names the issuer {issuer}, but {expected} was expected.",
        "In 2025-03-26, the origin of the MCP server is the issuer.",
        "MCP server: set issuer to its origin.",
    ),
}

DISCOVERY_FINDINGS: dict[str, FindingTemplate] = _CHALLENGE | _RESOURCE | _SERVER

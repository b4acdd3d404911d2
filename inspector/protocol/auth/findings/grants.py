"""Findings after discovery: registration, authorization, tokens, identity providers.

Registration (REG), the authorization request (AZ), tokens (TOK), the MCP server's reaction to them (RS),
and ID tokens and ID-JAGs of an enterprise identity provider (IDT, ids of MCP Lens). A table: each row has
what was seen, the rule, and who must fix what.
"""

from __future__ import annotations

from inspector.protocol.auth.findings.template import (
    WARNING_SINCE_R5,
    WARNING_THEN_ERROR_R5,
    FindingTemplate,
    error,
    fatal,
    info,
    warning,
)

_REGISTRATION = {
    "REG-001": fatal(
        "The registration was refused because of the redirect address {redirect}.",
        "Apps on a desktop need http on 127.0.0.1 with any port (RFC 8252 §7.3).",
        "Authorization server: allow loopback redirects. You: register a client by hand.",
    ),
    "REG-002": warning(
        "The server takes {accepted} as redirect address, but not {refused}.",
        "Both are this machine; RFC 8252 §8.3 prefers the number.",
        "Authorization server: allow both.",
    ),
    "REG-003": warning(
        "We registered as a native app, and the server {what}.",
        "For web apps, redirects to this machine are forbidden or limited (OpenID Connect Registration §2).",
        "Authorization server: respect application_type.",
    ),
    "REG-004": warning(
        "The registration was answered with {status}.",
        "RFC 7591 §3.2.1 says 201.",
        "Authorization server: answer 201.",
    ),
    "REG-005": fatal(
        "The registration succeeded, but the answer has no client_id.",
        "RFC 7591 §3.2.1 demands it, and nothing can be asked for without.",
        "Authorization server: send client_id.",
    ),
    "REG-006": fatal(
        "The server registered us with {method}, but {problem}.",
        "A client that cannot prove who it is gets no token.",
        "Authorization server: register what was asked for, or send what the method needs.",
    ),
    "REG-007": warning(
        "The registered redirect addresses differ from those asked for: {difference}.",
        "The answer must list what was registered; the browser will be sent there and nowhere else.",
        "Authorization server: register the addresses as they were asked for.",
    ),
    "REG-008": warning(
        "The registration came back without the refresh_token grant.",
        "Without it, people must log in each time the token runs out.",
        "Authorization server: allow refresh_token.",
    ),
    "REG-009": warning(
        "The client secret runs out {when}.",
        "After that, the client is unknown and has to be registered again.",
        "You: register again then. Authorization server: give longer, or 0 for never.",
    ),
    "REG-010": fatal(
        "The registration was answered with {status}: it is not open to everybody.",
        "Dynamic registration without an initial token is what MCP clients can do by themselves.",
        "You: ask the operator for a client ID, and enter it.",
    ),
    "REG-011": fatal(
        "The server says it takes client ID metadata documents, and refused ours: {error}.",
        "With client_id_metadata_document_supported, an https address is a client ID.",
        "Authorization server: fetch the document, or do not say so. You: check that {client} can be read.",
    ),
    "REG-012": error(
        "The server registered {redirect} as a redirect address.",
        "Without encryption, a code sent to another machine can be read on its way.",
        "Authorization server: refuse http, except on the person's own machine.",
    ),
}

_AUTHORIZE = {
    "AZ-001": fatal(
        "The answer has no state.",
        "It must come back as it was sent (RFC 6749 §4.1.2); without it, anybody could have sent the answer.",
        "Authorization server: send state back.",
    ),
    "AZ-002": fatal(
        "The answer's state is not the one we sent, so it was discarded.",
        "Either somebody else sent it, or the server changed it (RFC 6749 §10.12).",
        "Authorization server: send state back unchanged. You: begin again, if an old page was open.",
    ),
    "AZ-003": FindingTemplate(
        WARNING_THEN_ERROR_R5,
        "The server promised iss, and the answer has none.",
        "RFC 9207 §2.4: such an answer must be discarded, since it may come from another server.",
        "Authorization server: send iss with every answer, errors too.",
        stops=True,
    ),
    "AZ-004": fatal(
        "The answer is from {iss}, but the login began at {issuer}. The code was not used.",
        "RFC 9207 §2.4: both must be identical. Nothing else in the answer can be believed.",
        "Authorization server: send its issuer, letter by letter. You: beware, this is how codes are stolen.",
    ),
    "AZ-005": FindingTemplate(
        WARNING_SINCE_R5,
        "The answer has iss, which the metadata does not promise.",
        "Clients insist on it only when it was promised, so it protects nobody (RFC 9207 §3).",
        "Authorization server: set authorization_response_iss_parameter_supported.",
    ),
    "AZ-006": fatal(
        "The answer came in the fragment (after #).",
        "A code comes in the query; the fragment never reaches the client.",
        "Authorization server: answer in the query when response_type is code.",
    ),
    "AZ-007": fatal(
        "The server refused the login with {error}, because of {parameter}.",
        "MCP clients must be able to send it.",
        "Authorization server: accept {parameter}, or ignore it.",
    ),
    "AZ-008": fatal(
        "The server did not redirect to {redirect}.",
        "Redirect addresses are compared, but on 127.0.0.1 the port must be free to vary (RFC 8252 §7.3).",
        "Authorization server: ignore the port for 127.0.0.1. You: set the port that was registered.",
    ),
    "AZ-009": warning(
        "The answer went to {actual}, not to {expected}.",
        "The browser must be sent to the address in the request.",
        "Authorization server: redirect to redirect_uri as it was sent.",
    ),
    "AZ-010": error(
        "The server accepted a redirect address that was not registered: {redirect}.",
        "Redirect addresses are compared exactly; else codes can be sent elsewhere.",
        "Authorization server: compare them exactly, except for the port on the person's own machine.",
    ),
}

_TOKEN = {
    "TOK-001": fatal(
        "The token answer is {content_type}, not a JSON object.",
        "RFC 6749 §5.1 wants JSON.",
        "Authorization server: answer application/json.",
    ),
    "TOK-002": fatal(
        "The token answer has no usable {field}.",
        "RFC 6749 §5.1 demands it.",
        "Authorization server: send {field}.",
    ),
    "TOK-003": fatal(
        "The token's type is {type}.",
        "MCP uses Bearer tokens, or DPoP when a proof was sent.",
        "Authorization server: issue Bearer tokens.",
    ),
    "TOK-004": warning(
        "expires_in is {value}.",
        "It must be a number of seconds; without it we notice the end only by a refusal.",
        "Authorization server: send the lifetime as a number.",
    ),
    "TOK-005": warning(
        "The token answer has no Cache-Control: no-store.",
        "Something between us could keep the token (RFC 6749 §5.1).",
        "Authorization server: send Cache-Control: no-store.",
    ),
    "TOK-006": fatal(
        "The server refused our way to prove who we are, {method}.",
        "It lists {methods}.",
        "You: check the client ID and secret. Authorization server: list the methods that it takes.",
    ),
    "TOK-007": error(
        "The server gave a token for a wrong code_verifier.",
        "PKCE protects the code only when it is checked (RFC 7636 §4.6).",
        "Authorization server: check code_verifier.",
    ),
    "TOK-008": error(
        "The server gave a second token for the same code.",
        "A code is good for one use (RFC 6749 §4.1.2).",
        "Authorization server: refuse a used code, and revoke its tokens.",
    ),
    "TOK-009": warning(
        "We asked for {asked} and got {granted}.",
        "Calls that need {missing} will be refused.",
        "Authorization server: grant it. You: make sure that your account may have it.",
    ),
    "TOK-010": error(
        "The token is for {audience}, not for {resource}.",
        "A server must accept only tokens for itself; the other side seems to ignore resource (RFC 8707).",
        "Authorization server: put resource into the token's audience.",
    ),
    "TOK-011": error(
        "The token says it is from {token_issuer}, the metadata says {issuer}.",
        "The MCP server will look for the keys of another issuer.",
        "Authorization server: use one issuer for both.",
    ),
    "TOK-012": warning(
        "The times in the token are off by {seconds} seconds ({what}).",
        "Clocks that differ make tokens run out too early or be refused as not yet valid.",
        "Authorization server, or you: set the clock.",
    ),
    "TOK-013": warning(
        "The access token lives {lifetime}.",
        "A lost token can be used that long; an hour is usual.",
        "Authorization server: shorten it, and give refresh tokens.",
    ),
    "TOK-014": fatal(
        "The token endpoint sent the error {error} with status 200.",
        "RFC 6749 §5.2: errors have status 400, or 401.",
        "Authorization server: send the status that fits.",
    ),
    "TOK-015": warning(
        "The token endpoint redirects to {host}.",
        "What we send there is secret, so it is never sent on.",
        "Authorization server: put the final address into its metadata.",
    ),
    "TOK-016": error(
        "We sent a DPoP proof, and the token is not bound to our key: {problem}.",
        "A token that is not bound can be used by whoever steals it (RFC 9449 §5).",
        "Authorization server: answer token_type DPoP, and put the key's thumbprint into the token.",
    ),
    "TOK-017": warning(
        "The refresh token was not replaced.",
        "For clients without a secret it must be, each time it is used (OAuth 2.1 §4.3.1).",
        "Authorization server: send a new refresh token with each refresh.",
    ),
    "TOK-018": fatal(
        "The refresh cannot be used: {problem}.",
        "A refresh is answered like the first token request (RFC 6749 §6).",
        "Authorization server: correct the answer. You: log in again.",
    ),
    "TOK-019": error(
        "An old refresh token still works after it was replaced.",
        "A stolen one would work too, and nobody would notice.",
        "Authorization server: refuse it, and revoke the new one.",
    ),
}

_RESOURCE_SERVER = {
    "RS-001": fatal(
        "The MCP server refuses a token that was issued just now: {error}.",
        "It must accept what its own authorization server issues.",
        "MCP server: compare audience, issuer, clock and scope of the token with what it expects.",
    ),
    "RS-002": error(
        "An invalid token was answered with {status}.",
        "Invalid tokens must be answered with 401.",
        "MCP server: check the token in every request.",
    ),
    "RS-003": error(
        "{method} works without a token as well.",
        "What needs a login must need it always.",
        "MCP server: protect {method}, or do not ask for a login.",
    ),
    "RS-004": warning(
        "The server answered 403 without the challenge insufficient_scope.",
        "We cannot tell which scope to ask for.",
        'MCP server: send WWW-Authenticate with error="insufficient_scope" and scope.',
    ),
    "RS-005": warning(
        "The challenge with the 403 has no {missing}.",
        "Clients need it to ask for more.",
        "MCP server: add {missing}.",
    ),
    "RS-006": warning(
        "{operation} was refused for {first}, and then for {second}.",
        "Each refusal is another trip to the browser.",
        "MCP server: name all the scopes that an operation needs at once.",
    ),
    "RS-007": fatal(
        "The token now has {granted}, and the server still asks for {wanted}.",
        "To log in once more would not change that.",
        "MCP server: compare the names of scopes that it expects with those of its authorization server.",
    ),
    "RS-008": error(
        "The server answered {status} for {cause}.",
        "401 is for a missing, invalid or expired token, 403 for too few scopes; clients act on it.",
        "MCP server: exchange the two.",
    ),
    "RS-009": error(
        "{protected} needs a token, {open} does not.",
        "Every HTTP request must be checked, whatever its method.",
        "MCP server: check the token for all methods.",
    ),
    "RS-010": warning(
        "The server accepts a token in the address.",
        "Addresses end up in logs; tokens belong into the Authorization header.",
        "MCP server: refuse access_token in the query.",
    ),
    "RS-011": warning(
        "The server answered {status} to a session that it does not know.",
        "404 tells the client to begin anew.",
        "MCP server: answer 404.",
    ),
    "RS-012": info(
        "The authorization server changed from {old} to {new}.",
        "What belongs to the old one is never sent to the new one, so we register and log in again.",
        "You: make sure that this was meant.",
    ),
}

GRANT_FINDINGS: dict[str, FindingTemplate] = _REGISTRATION | _AUTHORIZE | _TOKEN | _RESOURCE_SERVER


PROVIDER_FINDINGS: dict[str, FindingTemplate] = {
    "IDT-001": fatal(
        "The identity provider's answer has no ID token.",
        "With the scope openid there must be one (OpenID Connect Core §3.1.3.3); nothing goes on without.",
        "Identity provider: do OpenID Connect, and let this client ask for the scope openid.",
    ),
    "IDT-002": fatal(
        "The ID token is no JWT that can be read.",
        "OpenID Connect Core §2: it is a signed JWT; an encrypted one must have been asked for.",
        "Identity provider: give this client ID tokens that are signed, and not encrypted.",
    ),
    "IDT-003": fatal(
        "The ID token is from {actual}, and the sign-in was at {expected}.",
        "They must be the same, letter for letter (OpenID Connect Core §3.1.3.7).",
        "Identity provider: put its own issuer into iss. You: check the issuer in the server's settings.",
    ),
    "IDT-004": fatal(
        "The ID token is made out to {actual}, and not to {expected}.",
        "Who takes a token of somebody else's can be made to act for another person.",
        "Identity provider: put the client ID into aud. You: check the client ID in the server's settings.",
    ),
    "IDT-005": fatal(
        "The ID token was given to {actual}, and not to {expected}.",
        "azp names the client that got it; with several audiences it must be there (OpenID Connect Core §2).",
        "Identity provider: put the client ID into azp.",
    ),
    "IDT-006": fatal(
        "The ID token has run out: {problem}.",
        "After exp it must not be accepted (OpenID Connect Core §2).",
        "Identity provider, or you: set the clock. Identity provider: give a life of some minutes at least.",
    ),
    "IDT-007": fatal(
        "The ID token has no time that it can have been made at: {problem}.",
        "iat must be there, and not be in the future (OpenID Connect Core §2).",
        "Identity provider, or you: set the clock.",
    ),
    "IDT-008": fatal(
        "The nonce in the ID token {problem}.",
        "It ties the token to this sign-in: without it, one of before could be slipped in.",
        "Identity provider: put the nonce of the authorize request into the ID token, unchanged.",
    ),
    "IDT-009": fatal(
        "The ID token {problem}.",
        "sub says who signed in, and a renewed token is about the same person (OpenID Connect Core §12.2).",
        "Identity provider: send sub, the same for a person each time. You: sign out, and in again.",
    ),
    "IDT-010": fatal(
        "The ID token is not signed: {problem}.",
        "Only a client that registered for it may take one without (OpenID Connect Core §2). We did not.",
        "Identity provider: sign ID tokens.",
    ),
    "IDT-011": fatal(
        "The ID-JAG is made out to {actual}, and not to {expected}.",
        "It is not sent: an authorization server could use one that is for another.",
        "Identity provider: put the audience of the token exchange into aud.",
    ),
    "IDT-012": warning(
        "The ID-JAG {problem}.",
        "It is a JWT of the type oauth-id-jag+jwt, so that it is taken for nothing else.",
        "Identity provider: give out ID-JAGs with this type.",
    ),
    "IDT-013": error(
        "The ID-JAG is for the client {actual}, and we are {expected} there.",
        "The authorization server must refuse it: client_id is who may use it.",
        "Identity provider: map our client to the one that the authorization server knows.",
    ),
}

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
        "Registration was rejected because of the redirect URI {redirect}.",
        "Desktop apps need http redirect URIs on 127.0.0.1 with any port (RFC 8252 §7.3).",
        "Authorization server: allow loopback redirect URIs. You: register a client manually.",
    ),
    "REG-002": warning(
        "The server accepts the redirect URI {accepted}, but not {refused}.",
        "Both are loopback; RFC 8252 §8.3 recommends the IP address over localhost.",
        "Authorization server: allow both.",
    ),
    "REG-003": warning(
        "MCP Lens registered as a native app, but the server {what}.",
        "For web apps, loopback redirect URIs are forbidden or restricted (OpenID Connect Registration §2).",
        "Authorization server: respect application_type.",
    ),
    "REG-004": warning(
        "Registration returned {status}.",
        "RFC 7591 §3.2.1 specifies 201 Created.",
        "Authorization server: return 201.",
    ),
    "REG-005": fatal(
        "Registration succeeded, but the response has no client_id.",
        "RFC 7591 §3.2.1 requires it; a login is not possible without it.",
        "Authorization server: return client_id.",
    ),
    "REG-006": fatal(
        "The server registered MCP Lens with {method}, but {problem}.",
        "A client that cannot authenticate gets no token.",
        "Authorization server: register the requested method, or return what the assigned method needs.",
    ),
    "REG-007": warning(
        "The registered redirect URIs differ from the requested ones: {difference}.",
        "The response must list what was registered; the browser is only redirected to registered URIs.",
        "Authorization server: register the redirect URIs as requested.",
    ),
    "REG-008": warning(
        "The registered client does not have the refresh_token grant type.",
        "Without it, users must log in each time the access token expires.",
        "Authorization server: allow refresh_token.",
    ),
    "REG-009": warning(
        "The client secret expires {when}.",
        "After that, the client must be registered again.",
        "You: register again then. Authorization server: set a later client_secret_expires_at, or 0 "
        "for never.",
    ),
    "REG-010": fatal(
        "Registration returned {status}: it requires authorization.",
        "MCP clients can only register automatically if no initial access token is required.",
        "You: ask the operator for a client ID and enter it.",
    ),
    "REG-011": fatal(
        "The server advertises client ID metadata documents, but rejected this one: {error}.",
        "With client_id_metadata_document_supported, an https URL is a valid client ID.",
        "Authorization server: fetch the document, or do not advertise support. You: check that "
        "{client} is reachable.",
    ),
    "REG-012": error(
        "The server registered {redirect} as a redirect URI.",
        "An authorization code sent unencrypted to another host can be intercepted.",
        "Authorization server: reject http redirect URIs, except loopback ones.",
    ),
}

_AUTHORIZE = {
    "AZ-001": fatal(
        "The authorization response has no state.",
        "It must be returned unchanged (RFC 6749 §4.1.2); without it, anyone could have sent the response.",
        "Authorization server: return state.",
    ),
    "AZ-002": fatal(
        "The state in the authorization response is not the one that was sent, so the response was "
        "discarded.",
        "Either another party sent it, or the server changed it (RFC 6749 §10.12).",
        "Authorization server: return state unchanged. You: if an old login page was open, start again.",
    ),
    "AZ-003": FindingTemplate(
        WARNING_THEN_ERROR_R5,
        "The metadata advertises iss, but the authorization response has none.",
        "RFC 9207 §2.4: the response must be rejected, because it may come from another server.",
        "Authorization server: send iss in every authorization response, including errors.",
        stops=True,
    ),
    "AZ-004": fatal(
        "The authorization response is from {iss}, but the login started at {issuer}. The code was not used.",
        "RFC 9207 §2.4: both must be identical. Nothing else in the response can be trusted.",
        "Authorization server: send exactly its issuer. You: be careful, mix-up attacks steal codes "
        "this way.",
    ),
    "AZ-005": FindingTemplate(
        WARNING_SINCE_R5,
        "The authorization response has iss, but the metadata does not advertise it.",
        "Clients only require iss if it is advertised, so it gives no protection (RFC 9207 §3).",
        "Authorization server: set authorization_response_iss_parameter_supported.",
    ),
    "AZ-006": fatal(
        "The authorization response came in the fragment (after #).",
        "A code must be returned in the query; the fragment never reaches the client.",
        "Authorization server: respond in the query when response_type is code.",
    ),
    "AZ-007": fatal(
        "The server rejected the login with {error} because of {parameter}.",
        "MCP clients must be able to send this parameter.",
        "Authorization server: accept {parameter}, or ignore it.",
    ),
    "AZ-008": fatal(
        "The server did not redirect to {redirect}.",
        "Redirect URIs are compared exactly, but on 127.0.0.1 any port must be accepted (RFC 8252 §7.3).",
        "Authorization server: ignore the port for 127.0.0.1. You: use the registered port.",
    ),
    "AZ-009": warning(
        "The authorization response went to {actual}, not to {expected}.",
        "The browser must be redirected to the redirect_uri in the request.",
        "Authorization server: redirect to redirect_uri exactly as it was sent.",
    ),
    "AZ-010": error(
        "The server accepted a redirect URI that is not registered: {redirect}.",
        "Redirect URIs must be compared exactly; otherwise codes can be sent elsewhere.",
        "Authorization server: compare redirect URIs exactly, except for the port of loopback URIs.",
    ),
}

_TOKEN = {
    "TOK-001": fatal(
        "The token response is {content_type}, not a JSON object.",
        "RFC 6749 §5.1 requires JSON.",
        "Authorization server: return application/json.",
    ),
    "TOK-002": fatal(
        "The token response has no usable {field}.",
        "RFC 6749 §5.1 requires it.",
        "Authorization server: return {field}.",
    ),
    "TOK-003": fatal(
        "The token type is {type}.",
        "MCP uses Bearer tokens, or DPoP tokens if a DPoP proof was sent.",
        "Authorization server: issue Bearer tokens.",
    ),
    "TOK-004": warning(
        "expires_in is {value}.",
        "It must be a number of seconds; without it, clients only notice expiry when the token is rejected.",
        "Authorization server: return the lifetime as a number.",
    ),
    "TOK-005": warning(
        "The token response has no Cache-Control: no-store.",
        "A cache on the way could store the token (RFC 6749 §5.1).",
        "Authorization server: send Cache-Control: no-store.",
    ),
    "TOK-006": fatal(
        "The server rejected the client authentication ({method}).",
        "Its metadata lists {methods}.",
        "You: check the client ID and secret. Authorization server: list the supported methods.",
    ),
    "TOK-007": error(
        "The server issued a token for a wrong code_verifier.",
        "PKCE only protects the code if code_verifier is checked (RFC 7636 §4.6).",
        "Authorization server: verify code_verifier.",
    ),
    "TOK-008": error(
        "The server issued a second token for the same code.",
        "An authorization code must only be used once (RFC 6749 §4.1.2).",
        "Authorization server: reject a used code and revoke its tokens.",
    ),
    "TOK-009": warning(
        "The login requested {requested}, but {granted} was granted.",
        "Requests that need {missing} will be rejected.",
        "Authorization server: grant it. You: make sure that your account is allowed to have it.",
    ),
    "TOK-010": error(
        "The token is for {audience}, not for {resource}.",
        "A server must only accept tokens issued for itself; the authorization server seems to ignore "
        "resource (RFC 8707).",
        "Authorization server: put resource into the token's audience (aud).",
    ),
    "TOK-011": error(
        "The token's issuer is {token_issuer}, but the metadata says {issuer}.",
        "The MCP server will look for the signing keys of another issuer.",
        "Authorization server: use the same issuer in both.",
    ),
    "TOK-012": warning(
        "The times in the token are off by {seconds} seconds ({what}).",
        "Clock differences make tokens expire early or be rejected as not yet valid.",
        "Authorization server or you: correct the clock.",
    ),
    "TOK-013": warning(
        "The access token is valid for {lifetime}.",
        "A leaked token can be used that long; one hour is common.",
        "Authorization server: shorten it and issue refresh tokens.",
    ),
    "TOK-014": fatal(
        "The token endpoint returned the error {error} with status 200.",
        "RFC 6749 §5.2: errors have status 400 or 401.",
        "Authorization server: return the matching status.",
    ),
    "TOK-015": warning(
        "The token endpoint redirects to {host}.",
        "The token request contains secrets, so MCP Lens never follows the redirect.",
        "Authorization server: publish the final URL in its metadata.",
    ),
    "TOK-016": error(
        "MCP Lens sent a DPoP proof, but the token is not bound to its key: {problem}.",
        "An unbound token can be used by anyone who steals it (RFC 9449 §5).",
        "Authorization server: return token_type DPoP and put the key's thumbprint into the token (cnf.jkt).",
    ),
    "TOK-017": warning(
        "The refresh token was not rotated.",
        "For public clients, it must be replaced on each use unless it is sender-constrained (OAuth "
        "2.1 §4.3.1).",
        "Authorization server: return a new refresh token with each refresh.",
    ),
    "TOK-018": fatal(
        "The refresh response cannot be used: {problem}.",
        "A refresh has the same response as the first token request (RFC 6749 §6).",
        "Authorization server: correct the response. You: log in again.",
    ),
    "TOK-019": error(
        "An old refresh token still works after it was rotated.",
        "A stolen one would work too, and go unnoticed.",
        "Authorization server: reject it and revoke the new one.",
    ),
}

_RESOURCE_SERVER = {
    "RS-001": fatal(
        "The MCP server rejected a token that was just issued: {error}.",
        "It must accept tokens issued by its authorization server.",
        "MCP server: compare the token's audience, issuer, times and scope with what it expects.",
    ),
    "RS-002": error(
        "The server returned {status} for an invalid token.",
        "Invalid tokens must be rejected with 401.",
        "MCP server: check the token in every request.",
    ),
    "RS-003": error(
        "{method} also works without a token.",
        "What requires login must always require it.",
        "MCP server: protect {method}, or do not require login.",
    ),
    "RS-004": warning(
        "The server returned 403 without an insufficient_scope challenge.",
        "Clients cannot tell which scope to request.",
        'MCP server: send WWW-Authenticate with error="insufficient_scope" and scope.',
    ),
    "RS-005": warning(
        "The challenge in the 403 has no {missing}.",
        "Clients need it to request more scopes.",
        "MCP server: add {missing}.",
    ),
    "RS-006": warning(
        "{operation} was rejected because {first} was missing, then because {second} was missing.",
        "Each rejection means another browser login.",
        "MCP server: name all scopes that an operation needs at once.",
    ),
    "RS-007": fatal(
        "The token now has {granted}, but the server still requires {wanted}.",
        "Another login would not change that.",
        "MCP server: use the same scope names as its authorization server.",
    ),
    "RS-008": error(
        "The server returned {status} for {cause}.",
        "401 is for a missing, invalid or expired token, 403 for insufficient scope; clients rely on it.",
        "MCP server: swap the two status codes.",
    ),
    "RS-009": error(
        "{protected} requires a token, {open} does not.",
        "Every HTTP request must be authorized, whatever its method.",
        "MCP server: check the token for all HTTP methods.",
    ),
    "RS-010": warning(
        "The server accepts a token in the URL.",
        "URLs end up in logs; tokens belong in the Authorization header.",
        "MCP server: reject access_token in the query.",
    ),
    "RS-011": warning(
        "The server returned {status} for an unknown session.",
        "404 tells the client to start a new session.",
        "MCP server: return 404.",
    ),
    "RS-012": info(
        "The authorization server changed from {old} to {new}.",
        "Clients and tokens of the old one are never sent to the new one, so MCP Lens registers and "
        "logs in again.",
        "You: make sure that this change is intended.",
    ),
}

GRANT_FINDINGS: dict[str, FindingTemplate] = _REGISTRATION | _AUTHORIZE | _TOKEN | _RESOURCE_SERVER


PROVIDER_FINDINGS: dict[str, FindingTemplate] = {
    "IDT-001": fatal(
        "The identity provider's token response has no ID token.",
        "With the scope openid, an ID token is required (OpenID Connect Core §3.1.3.3); the login "
        "cannot continue without it.",
        "Identity provider: support OpenID Connect, and allow this client to request the scope openid.",
    ),
    "IDT-002": fatal(
        "The ID token is not a readable JWT.",
        "OpenID Connect Core §2: it must be a signed JWT; it may only be encrypted if the client "
        "requested it.",
        "Identity provider: issue signed, unencrypted ID tokens to this client.",
    ),
    "IDT-003": fatal(
        "The ID token is from {actual}, but the login was at {expected}.",
        "Both must match exactly (OpenID Connect Core §3.1.3.7).",
        "Identity provider: set iss to its own issuer. You: check the issuer in the server's settings.",
    ),
    "IDT-004": fatal(
        "The ID token is for {actual}, not for {expected}.",
        "A client that accepts tokens of other clients can be tricked into acting for another user.",
        "Identity provider: put the client ID into aud. You: check the client ID in the server's settings.",
    ),
    "IDT-005": fatal(
        "The ID token was issued to {actual}, not to {expected}.",
        "azp names the client that the token was issued to; with several audiences, clients should "
        "require it (OpenID Connect Core §3.1.3.7).",
        "Identity provider: put the client ID into azp.",
    ),
    "IDT-006": fatal(
        "The ID token fails the expiration check: {problem}.",
        "It must not be accepted after exp (OpenID Connect Core §2).",
        "Identity provider or you: correct the clock. Identity provider: issue ID tokens that are "
        "valid for some minutes at least.",
    ),
    "IDT-007": fatal(
        "The ID token fails the issue time check: {problem}.",
        "iat is required and must not be in the future (OpenID Connect Core §2).",
        "Identity provider or you: correct the clock.",
    ),
    "IDT-008": fatal(
        "The nonce in the ID token {problem}.",
        "The nonce binds the token to this login; without it, an older token could be replayed.",
        "Identity provider: copy the nonce of the authorization request into the ID token unchanged.",
    ),
    "IDT-009": fatal(
        "The ID token {problem}.",
        "sub identifies the user, and a refreshed token must have the same sub (OpenID Connect Core §12.2).",
        "Identity provider: send sub, always the same for a user. You: log out and log in again.",
    ),
    "IDT-010": fatal(
        "The ID token is not signed: {problem}.",
        "Unsigned ID tokens are only allowed if the client registered for them (OpenID Connect Core "
        "§2). MCP Lens did not.",
        "Identity provider: sign ID tokens.",
    ),
    "IDT-011": fatal(
        "The ID-JAG is for {actual}, not for {expected}.",
        "It is not sent: an authorization server could misuse an assertion for another one.",
        "Identity provider: set aud to the audience of the token exchange.",
    ),
    "IDT-012": warning(
        "The ID-JAG {problem}.",
        "It must have the type oauth-id-jag+jwt, so that it cannot be mistaken for another JWT.",
        "Identity provider: issue ID-JAGs with this type.",
    ),
    "IDT-013": error(
        "The ID-JAG is for the client {actual}, but MCP Lens is {expected} there.",
        "The authorization server must reject it: client_id says which client may use it.",
        "Identity provider: map this client to the one that the authorization server knows.",
    ),
}

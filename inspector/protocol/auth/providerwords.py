"""The words of the findings about a company's identity provider (IDT): its ID tokens, and its ID-JAGs.

A table to look things up in, as `grantwords.py`. The ids are ours: the handbook names none for providers.
"""

from __future__ import annotations

from inspector.protocol.auth.wording import Wording, error, fatal, warning

PROVIDER: dict[str, Wording] = {
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

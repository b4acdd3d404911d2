"""What each step is for, in a sentence, what another revision would do, and why a login ends at a "no"."""

from __future__ import annotations

from inspector.oauth.steps import QuestionKind, StepId

WHY = {
    StepId.PROBE: "Ask the server something without a token: a server with a login must refuse with 401.",
    StepId.CHALLENGE: "WWW-Authenticate says where to learn more, and which scopes are needed.",
    StepId.RESOURCE_LOOKUP: "The server's metadata names the authorization servers that issue tokens for it.",
    StepId.RESOURCE_CHECK: "The document must be about this server: otherwise a token could be for another.",
    StepId.SERVER_CHOICE: "One of those that are listed is used, with what we have of it.",
    StepId.SERVER_LOOKUP: "Its metadata says where to log in and where tokens are given out.",
    StepId.SERVER_CHECK: "The issuer must be the one that was asked for, and its endpoints safe to use.",
    StepId.IDENTITY: "The authorization server must know us: by a registered client ID, or a document.",
    StepId.PREPARE: "Everything that is asked for is settled, and the secrets of this login are made.",
    StepId.PROVIDER_LOOKUP: "Your company's identity provider says who you are: where does one sign in?",
    StepId.SIGN_IN: "Who signed in before need not do it again while the ID token lasts or can be renewed.",
    StepId.ID_TOKEN_REQUEST: "The identity provider gives an ID token for the code of the sign-in.",
    StepId.ID_TOKEN_REPLY: "Is the ID token the provider's, for us, and of this sign-in? Then it is kept.",
    StepId.EXCHANGE: "The company's identity provider gives an ID-JAG for the ID token of your sign-in.",
    StepId.AUTHORIZE: "You log in and consent in the browser, where we see neither your name nor password.",
    StepId.WAIT: "The browser comes back to a listener on this machine, with a code.",
    StepId.CALLBACK: "Is the answer ours, and is it from the server that was asked? Only then it counts.",
    StepId.TOKEN_REQUEST: "What we have is exchanged for a token.",
    StepId.TOKEN_REPLY: "What came is compared with what was asked for, and kept.",
    StepId.CALL: "The request of the beginning once more, now with the token.",
    StepId.VERIFY: "A real request shows that the token is good for something.",
    StepId.LIFETIME: "How long the token lives, how it is renewed, and how it is given back.",
}

DIFFERS = {
    StepId.PROBE: "Up to 2025-11-25 the first request is initialize, from 2026-07-28 server/discover.",
    StepId.CHALLENGE: "2025-06-18 requires resource_metadata in the challenge; later it may be absent.",
    StepId.RESOURCE_LOOKUP: (
        "2025-03-26 has no such document. 2025-06-18 knows the address of the challenge only; since "
        "2025-11-25 the well-known places are looked at too."
    ),
    StepId.SERVER_LOOKUP: (
        "2025-03-26 asks the MCP server's own host; 2025-06-18 knows only RFC 8414, later OpenID Connect too."
    ),
    StepId.SERVER_CHECK: (
        "Since 2025-11-25 clients must refuse a server that does not declare PKCE; since 2026-07-28 one "
        "whose issuer differs."
    ),
    StepId.IDENTITY: (
        "Client ID metadata documents came with 2025-11-25; 2026-07-28 deprecates dynamic registration and "
        "wants application_type in it."
    ),
    StepId.PREPARE: "2025-03-26 knows no resource parameter; scopes are chosen by rule since 2025-11-25.",
    StepId.CALLBACK: "iss is checked by rule since 2026-07-28; before, it is compared when it is there.",
    StepId.TOKEN_REQUEST: "2025-03-26 knows no resource parameter.",
    StepId.LIFETIME: "Since 2026-07-28 a login for more scopes asks for the earlier ones too.",
}

DISTRUST = {
    QuestionKind.HOSTS: "You do not trust the other hosts that were named.",
    QuestionKind.PRIVATE: "You do not trust the private addresses that the server names.",
    QuestionKind.ISSUER: "You do not trust the authorization server that the server names.",
}

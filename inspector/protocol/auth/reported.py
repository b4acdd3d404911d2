"""An error as OAuth reports it: `error`, `error_description`, `error_uri`, in a redirect or a JSON answer.

All three are the server's words, to be shown as plain text. What the known codes mean is said in ours.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from inspector.base.jsonvalue import JSON, JSONObject, JSONProblem, parse
from inspector.protocol.auth.findings import quoted
from inspector.protocol.members import shown

_MEANINGS = {
    "access_denied": "The login was refused, by you or by the server.",
    "invalid_request": "The server finds the request malformed.",
    "unauthorized_client": "This client may not use this kind of login.",
    "unsupported_response_type": "The server does not do the code flow.",
    "invalid_scope": "The server does not know, or does not give, one of the scopes.",
    "server_error": "The authorization server failed inside.",
    "temporarily_unavailable": "The authorization server is overloaded or under maintenance.",
    "invalid_target": "The server does not know the resource that the token is for.",
    "invalid_client": "The server does not know this client, or its secret is wrong.",
    "invalid_grant": "The code, token or assertion is used up, expired, or belongs to another client.",
    "unsupported_grant_type": "The server does not do this kind of token request.",
    "invalid_dpop_proof": "The server does not accept the proof of the key.",
    "use_dpop_nonce": "The server wants its nonce in the proof.",
    "invalid_redirect_uri": "The server does not accept the redirect address.",
    "invalid_client_metadata": "The server does not accept something in the registration.",
    "invalid_software_statement": "The server does not accept the software statement.",
    "unapproved_software_statement": "The server does not trust the software statement.",
    "consent_required": "The server wants to ask you first, and was not let.",
    "login_required": "The server wants you to log in first, and was not let.",
    "interaction_required": "The server wants to show you a page first, and was not let.",
    "insufficient_scope": "The token does not have the scopes that this needs.",
    "invalid_token": "The token is expired, revoked or not for this server.",
}


@dataclass(frozen=True, slots=True)
class ReportedError:
    """An OAuth error. Untrusted text, except `meaning`."""

    code: str
    description: str = ""
    uri: str = ""

    @property
    def meaning(self) -> str:
        """Our explanation of the code; "" for a non-standard one."""
        return _MEANINGS.get(self.code, "")

    @property
    def sentence(self) -> str:
        """One-line text: the code, our explanation, then the server's description."""
        said = f" The server says: {shown(self.description)}" if self.description else ""
        return f"{shown(self.code)}. {self.meaning}".strip() + said

    @property
    def evidence(self) -> str:
        return quoted(f"{self.code}: {self.description}" if self.description else self.code)

    def speaks_of(self, *words: str) -> bool:
        """True if the description contains one of these words."""
        text = self.description[:2_000].lower()
        return any(word in text for word in words)


def read_object(body: bytes) -> JSONObject | None:
    """Parse the body as a JSON object; None if it is not one."""
    try:
        value = parse(body.decode("utf-8-sig"))
    except (UnicodeDecodeError, JSONProblem):
        return None
    return value if isinstance(value, dict) else None


def read_error(source: Mapping[str, JSON]) -> ReportedError | None:
    """Return the error in a response; None if there is none."""
    code, description, uri = (source.get(name) for name in ("error", "error_description", "error_uri"))
    if not isinstance(code, str) or not code:
        return None
    return ReportedError(code, *(text if isinstance(text, str) else "" for text in (description, uri)))

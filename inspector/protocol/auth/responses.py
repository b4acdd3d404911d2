"""Metadata responses, shared by both documents, and OAuth error responses.

`error`, `error_description` and `error_uri` come in a redirect or a JSON body; they are untrusted plain
text. The meaning of known codes is added here. A member of a metadata document with the wrong type counts
as absent and is reported (`DocumentMembers`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import Enum

from inspector.base.json.values import JSON, JSONError, JSONObject, parse, quote_value
from inspector.base.plain_text import one_line
from inspector.protocol.auth.findings.finding import Finding, finding, quoted
from inspector.protocol.http_rules import Headers
from inspector.protocol.revisions import Revision


@dataclass(frozen=True, slots=True)
class Candidate:
    """A URL where a document may be, and why it is tried, as a sentence."""

    url: str
    why: str


@dataclass(frozen=True, slots=True)
class MetadataResponse:
    """The response for a candidate URL; `failure` says why there is none, `advice` what to do about it."""

    url: str
    status: int = 0
    headers: Headers = ()
    body: bytes = b""
    failure: str = ""
    advice: str = ""  # "" for the usual one

    def header(self, name: str) -> str:
        return next((value for key, value in self.headers if key.lower() == name), "")

    @property
    def content_type(self) -> str:
        return self.header("content-type").partition(";")[0].strip().lower()

    @property
    def is_json(self) -> bool:
        return self.content_type == "application/json" or self.content_type.endswith("+json")

    @property
    def attempt_text(self) -> str:
        """Text for a list of what was tried."""
        if self.failure:
            return f"{self.url} ({self.failure.removesuffix('.')})"
        return f"{self.url} ({self.status}{'' if self.status != 200 else ', but no metadata'})"


class LookupOutcome(Enum):
    """What a response says about a candidate."""

    FOUND = "metadata found"
    NOTHING = "no metadata here: try the next URL"
    UNSURE = "the server failed: no conclusion possible"


@dataclass(frozen=True, slots=True)
class Document:
    """A parsed response."""

    outcome: LookupOutcome
    content: JSONObject | None = None
    problem: str = ""  # why a response with status 200 is no document


def read_document(response: MetadataResponse) -> Document:
    """Parse a response. Never raises."""
    if response.status == 200:
        return _read_body(response.body)
    is_failing = response.status == 0 or response.status == 429 or response.status >= 500
    return Document(LookupOutcome.UNSURE if is_failing else LookupOutcome.NOTHING)


def _read_body(body: bytes) -> Document:
    try:
        content = parse(body.decode("utf-8-sig"))
    except UnicodeDecodeError:
        return Document(LookupOutcome.NOTHING, problem="it is not valid UTF-8")
    except JSONError as exc:
        problem = "it is empty" if not body.strip() else f"it is not JSON ({one_line(str(exc))})"
        return Document(LookupOutcome.NOTHING, problem=problem)
    if not isinstance(content, dict):
        return Document(LookupOutcome.NOTHING, problem=f"it is {type_name(content)}")
    return Document(LookupOutcome.FOUND, content)


class DocumentMembers:
    """Typed access to a document's members.

    A member of the wrong type counts as absent and is reported.
    """

    def __init__(self, content: JSONObject, id: str, revision: Revision) -> None:
        self._content, self._id, self._revision = content, id, revision
        self.findings: list[Finding] = []

    def text(self, name: str) -> str | None:
        value = self._content.get(name)
        if isinstance(value, str):
            return value
        self._report_type(name, "a string")
        return None

    def flag(self, name: str) -> bool | None:
        value = self._content.get(name)
        if isinstance(value, bool):
            return value
        self._report_type(name, "a boolean")
        return None

    def texts(self, name: str) -> tuple[str, ...] | None:
        value = self._content.get(name)
        if not isinstance(value, list):
            self._report_type(name, "an array of strings")
            return None
        texts = tuple(one for one in value if isinstance(one, str))
        if len(texts) < len(value):
            self._report_type(name, "an array of strings")
        return texts

    def _report_type(self, name: str, expected: str) -> None:
        if name in self._content:
            kind = type_name(self._content[name])
            found = finding(self._id, self._revision, field=name, type=kind, expected=expected)
            self.findings.append(found)


def type_name(value: JSON) -> str:
    """Return the name of a JSON type for a sentence."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "a boolean"
    if isinstance(value, list):
        return (
            "an array" if all(isinstance(one, str) for one in value) else "an array that contains non-strings"
        )
    if isinstance(value, str):
        return "a string"
    return "an object" if isinstance(value, dict) else "a number"


def differing_members(one: JSONObject, other: JSONObject) -> tuple[str, ...]:
    """Return the members that both have and that differ. The order of lists is ignored."""
    return tuple(name for name in one if name in other and _sorted(one[name]) != _sorted(other[name]))


def _sorted(value: JSON) -> JSON:
    if isinstance(value, list) and all(isinstance(one, str) for one in value):
        return sorted(value, key=str)
    return value


def first_difference(one: str, other: str) -> int:
    """Return the 1-based position of the first difference; 0 if there is none."""
    if one == other:
        return 0
    pairs = zip(one, other, strict=False)
    return 1 + next((i for i, (a, b) in enumerate(pairs) if a != b), min(len(one), len(other)))


def tried_text(responses: Iterable[MetadataResponse]) -> tuple[str, ...]:
    """Return the URLs that were tried, with their results."""
    return tuple(response.attempt_text for response in responses) or ("no URL could be tried",)


_MEANINGS = {
    "access_denied": "The login was denied, by you or by the server.",
    "invalid_request": "The request is malformed.",
    "unauthorized_client": "This client may not use this grant type.",
    "unsupported_response_type": "The server does not support the authorization code grant.",
    "invalid_scope": "One of the scopes is unknown or cannot be granted.",
    "server_error": "The authorization server had an internal error.",
    "temporarily_unavailable": "The authorization server is overloaded or under maintenance.",
    "invalid_target": "The server does not know the requested resource.",
    "invalid_client": "The client is unknown, or its credentials are wrong.",
    "invalid_grant": "The code, token or assertion is used, expired, or belongs to another client.",
    "unsupported_grant_type": "The server does not support this grant type.",
    "invalid_dpop_proof": "The server does not accept the DPoP proof.",
    "use_dpop_nonce": "The server requires its nonce in the DPoP proof.",
    "invalid_redirect_uri": "The server does not accept the redirect URI.",
    "invalid_client_metadata": "The server does not accept the client metadata.",
    "invalid_software_statement": "The server does not accept the software statement.",
    "unapproved_software_statement": "The server does not approve the software statement.",
    "consent_required": "The server needs your consent, but was not allowed to ask for it.",
    "login_required": "You must log in first, but the server was not allowed to ask for it.",
    "interaction_required": "The server needs to show you a page, but was not allowed to.",
    "insufficient_scope": "The token does not have the required scopes.",
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
        """Explanation of the code; "" for a non-standard one."""
        return _MEANINGS.get(self.code, "")

    @property
    def sentence(self) -> str:
        """One-line text: the code, its meaning, then the server's description."""
        quote = f" The server says: {quote_value(self.description)}" if self.description else ""
        return f"{quote_value(self.code)}. {self.meaning}".strip() + quote

    @property
    def evidence(self) -> str:
        return quoted(f"{self.code}: {self.description}" if self.description else self.code)

    def mentions(self, *terms: str) -> bool:
        """True if the description contains one of these terms."""
        text = self.description[:2_000].lower()
        return any(term in text for term in terms)


def read_object(body: bytes) -> JSONObject | None:
    """Parse the body as a JSON object; None if it is not one."""
    try:
        value = parse(body.decode("utf-8-sig"))
    except (UnicodeDecodeError, JSONError):
        return None
    return value if isinstance(value, dict) else None


def read_error(source: Mapping[str, JSON]) -> ReportedError | None:
    """Return the error in a response; None if there is none."""
    code, description, uri = (source.get(name) for name in ("error", "error_description", "error_uri"))
    if not isinstance(code, str) or not code:
        return None
    return ReportedError(code, *(text if isinstance(text, str) else "" for text in (description, uri)))

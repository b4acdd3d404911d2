"""What both metadata documents have in common: places to look in, answers, and members of fixed types."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum

from inspector.base.jsonvalue import JSON, JSONObject, JSONProblem, parse
from inspector.base.plaintext import one_line
from inspector.protocol.auth.findings import Finding, finding
from inspector.protocol.httprules import Headers
from inspector.protocol.revisions import Revision


@dataclass(frozen=True, slots=True)
class Candidate:
    """A URL where a document may be, and why it is tried, as a sentence."""

    url: str
    why: str


@dataclass(frozen=True, slots=True)
class Reply:
    """The response for a candidate; `failure` says why there is none."""

    url: str
    status: int = 0
    headers: Headers = ()
    body: bytes = b""
    failure: str = ""

    def header(self, name: str) -> str:
        return next((value for key, value in self.headers if key.lower() == name), "")

    @property
    def content_type(self) -> str:
        return self.header("content-type").partition(";")[0].strip().lower()

    @property
    def says_json(self) -> bool:
        return self.content_type == "application/json" or self.content_type.endswith("+json")

    @property
    def in_words(self) -> str:
        """Text for a list of what was tried."""
        if self.failure:
            return f"{self.url} ({self.failure.removesuffix('.')})"
        return f"{self.url} ({self.status}{'' if self.status != 200 else ', but no metadata'})"


class Outcome(Enum):
    """What a response says about a candidate."""

    FOUND = "a document"
    NOTHING = "no document here: try the next place"
    UNSURE = "the server failed: nothing can be concluded"


@dataclass(frozen=True, slots=True)
class Document:
    """A parsed response."""

    outcome: Outcome
    content: JSONObject | None = None
    problem: str = ""  # why a response with status 200 is no document


def read_document(reply: Reply) -> Document:
    """Parse a response. Never raises."""
    if reply.status == 200:
        return _read_body(reply.body)
    is_failing = reply.status == 0 or reply.status == 429 or reply.status >= 500
    return Document(Outcome.UNSURE if is_failing else Outcome.NOTHING)


def _read_body(body: bytes) -> Document:
    try:
        content = parse(body.decode("utf-8-sig"))
    except UnicodeDecodeError:
        return Document(Outcome.NOTHING, problem="it is not UTF-8")
    except JSONProblem as exc:
        problem = "it is empty" if not body.strip() else f"it is not JSON ({one_line(str(exc))})"
        return Document(Outcome.NOTHING, problem=problem)
    if not isinstance(content, dict):
        return Document(Outcome.NOTHING, problem=f"it is {type_name(content)}")
    return Document(Outcome.FOUND, content)


class Members:
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
        self._wrong(name, "a string")
        return None

    def flag(self, name: str) -> bool | None:
        value = self._content.get(name)
        if isinstance(value, bool):
            return value
        self._wrong(name, "true or false")
        return None

    def texts(self, name: str) -> tuple[str, ...] | None:
        value = self._content.get(name)
        if not isinstance(value, list):
            self._wrong(name, "a list of strings")
            return None
        texts = tuple(one for one in value if isinstance(one, str))
        if len(texts) < len(value):
            self._wrong(name, "a list of strings")
        return texts

    def _wrong(self, name: str, expected: str) -> None:
        if name in self._content:
            kind = type_name(self._content[name])
            found = finding(self._id, self._revision, field=name, type=kind, expected=expected)
            self.findings.append(found)


def type_name(value: JSON) -> str:
    """Return the name of a JSON type for a sentence."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true or false"
    if isinstance(value, list):
        return (
            "a list"
            if all(isinstance(one, str) for one in value)
            else "a list with other things than strings"
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


def tried(replies: Iterable[Reply]) -> tuple[str, ...]:
    """Return everything that was tried, for a sentence."""
    return tuple(reply.in_words for reply in replies) or ("nothing could be tried",)

"""A login as text, JSON or sequence diagram, and its HTTP exchanges as text.

Reports contain no secrets: what the login knows to be secret is masked in every encoding, and so is
anything that looks like a secret. Exchanges shown next to a step can also be shown unmasked (`Plain`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from enum import Enum
from urllib.parse import urlsplit

from inspector.base.json.values import JSON, JSONObject, JSONProblem, parse, pretty
from inspector.base.plain_text import one_line
from inspector.base.redaction import MASK, is_secret_name, masked_url
from inspector.base.units import duration
from inspector.oauth.http import LoginRequest
from inspector.oauth.login.steps import (
    HttpExchangeView,
    LoginGrant,
    LoginView,
    Step,
    StepId,
    StepState,
    Table,
)
from inspector.protocol.auth.findings.finding import Finding, Severity
from inspector.protocol.http_rules import Headers
from inspector.traffic.masking.masker import Masking, SecretsFound, decoded, encoded, masked_alone
from inspector.traffic.masking.secret_scan import Hit


class Party(Enum):
    """Participants, by display name, from left to right."""

    BROWSER = "Browser"
    US = "MCP Lens"
    SERVER = "MCP server"
    AUTHORITY = "Authorization server"
    PROVIDER = "Identity provider"  # only in enterprise logins


@dataclass(frozen=True, slots=True)
class Arrow:
    """A message; with the same party at both ends, something that it does by itself."""

    step: StepId
    source: Party
    target: Party
    text: str
    state: StepState
    is_response: bool = False
    is_bad: bool = False  # an error response, or none


_TALKS_TO = {
    StepId.PROBE: Party.SERVER,
    StepId.RESOURCE_LOOKUP: Party.SERVER,
    StepId.SERVER_LOOKUP: Party.AUTHORITY,
    StepId.IDENTITY: Party.AUTHORITY,
    StepId.PROVIDER_LOOKUP: Party.PROVIDER,
    StepId.SIGN_IN: Party.PROVIDER,
    StepId.ID_TOKEN_REQUEST: Party.PROVIDER,
    StepId.EXCHANGE: Party.PROVIDER,
    StepId.TOKEN_REQUEST: Party.AUTHORITY,
    StepId.CALL: Party.SERVER,
    StepId.VERIFY: Party.SERVER,
    StepId.LIFETIME: Party.AUTHORITY,
}
# Short description of what a step will send, while nothing else is known.
_PLANNED = {
    StepId.PROBE: "request without a token",
    StepId.RESOURCE_LOOKUP: "GET resource metadata",
    StepId.SERVER_LOOKUP: "GET server metadata",
    StepId.PROVIDER_LOOKUP: "GET provider metadata",
    StepId.ID_TOKEN_REQUEST: "token request",
    StepId.TOKEN_REQUEST: "token request",
    StepId.EXCHANGE: "token exchange",
    StepId.CALL: "request with the token",
    StepId.VERIFY: "tools/list",
}
_SHORT = 64


def parties_of(arrows: Iterable[Arrow]) -> tuple[Party, ...]:
    """Return the participants of a login, from left to right."""
    ends = {end for arrow in arrows for end in (arrow.source, arrow.target)}
    return tuple(party for party in Party if party is not Party.PROVIDER or party in ends)


def arrows_of(view: LoginView) -> tuple[Arrow, ...]:
    """Return all messages of a login, in order."""
    requested = Party.PROVIDER if view.grant is LoginGrant.ENTERPRISE else Party.AUTHORITY
    return tuple(arrow for step in view.steps for arrow in _of_step(step, requested))


def mermaid(view: LoginView) -> str:
    """Return the diagram as a Mermaid sequence diagram."""
    arrows = arrows_of(view)
    lines = ["sequenceDiagram"]
    lines += [f"    participant {each.name.title()} as {each.value}" for each in parties_of(arrows)]
    for arrow in arrows:
        if arrow.state in (StepState.DONE, StepState.FAILED, StepState.RUNNING):
            lines.append(f"    {_mermaid_arrow(arrow)}")
    return "\n".join(lines) + "\n"


def _mermaid_arrow(arrow: Arrow) -> str:
    text = one_line(arrow.text).replace(";", ",").replace("#", " ")
    source, target = arrow.source.name.title(), arrow.target.name.title()
    if arrow.source is arrow.target:
        return f"Note over {source}: {text}"
    return f"{source}{'-->>' if arrow.is_response else '->>'}{target}: {text}"


def _of_step(step: Step, requested: Party) -> Iterator[Arrow]:
    """Yield the arrows of a step; `requested` is where the browser is sent."""
    is_skipped = step.state is StepState.SKIPPED
    match step.id:
        case StepId.AUTHORIZE if not is_skipped:
            text = "log in and consent" if requested is Party.AUTHORITY else "log in"
            yield _arrow(step, Party.US, Party.BROWSER, "open the authorization URL")
            yield _arrow(step, Party.BROWSER, requested, f"authorize: {text}")
        case StepId.WAIT if not is_skipped:
            yield _arrow(step, requested, Party.BROWSER, "redirect with code and state", is_response=True)
            yield _arrow(step, Party.BROWSER, Party.US, "callback")
        case _ if step.exchanges:
            for seen in step.exchanges:
                yield from _of_exchange(step, seen)
        case _ if step.id in _PLANNED and not is_skipped:
            yield _arrow(step, Party.US, _TALKS_TO[step.id], _PLANNED[step.id])
        case _:
            yield _arrow(step, Party.US, Party.US, step.id.value)


def _of_exchange(step: Step, seen: HttpExchangeView) -> Iterator[Arrow]:
    party = _TALKS_TO.get(step.id, Party.SERVER)
    path = urlsplit(seen.request.url).path or "/"
    yield _arrow(step, Party.US, party, f"{seen.request.method} {_cut(path)}")
    if seen.status:
        is_expected = step.id is StepId.PROBE and seen.status == 401
        response = _arrow(step, party, Party.US, str(seen.status), is_response=True)
        yield response if seen.status < 400 or is_expected else _bad(response)
    elif seen.failure:
        yield _bad(_arrow(step, party, Party.US, "no response", is_response=True))


def _arrow(step: Step, source: Party, target: Party, text: str, *, is_response: bool = False) -> Arrow:
    is_bad = step.state is StepState.FAILED and source is target
    return Arrow(step.id, source, target, text, step.state, is_response, is_bad)


def _bad(arrow: Arrow) -> Arrow:
    return Arrow(arrow.step, arrow.source, arrow.target, arrow.text, arrow.state, arrow.is_response, True)


def _cut(path: str) -> str:
    text = one_line(path)
    return text if len(text) <= _SHORT else f"{text[: _SHORT // 2]}…{text[-_SHORT // 2 :]}"


_LAID_OUT = 64 * 1024  # longer text is shown verbatim


class Plain:
    """Shows everything as it is, for users who asked for it."""

    def text(self, text: str) -> str:
        return text

    def url(self, url: str) -> str:
        return url

    def header(self, name: str, value: str) -> str:
        return value

    def body(self, raw: bytes) -> bytes:
        return raw


class Masked:
    """Masks recognizable secrets: screens are shared."""

    def text(self, text: str) -> str:
        return decoded(masked_alone(encoded(text)))

    def url(self, url: str) -> str:
        return self.text(masked_url(url))

    def header(self, name: str, value: str) -> str:
        return MASK if is_secret_name(name) else self.text(value)

    def body(self, raw: bytes) -> bytes:
        return masked_alone(raw)


def request_text(request: LoginRequest, inspect: Plain | Masked) -> str:
    """Return the request as sent."""
    head = f"{request.method} {inspect.url(request.url)}"
    return _joined(head, request.headers, request.body, inspect)


def reply_text(seen: HttpExchangeView, inspect: Plain | Masked) -> str:
    """Return the response with JSON indented, or why there is none."""
    if not seen.status:
        return inspect.text(seen.failure) if seen.failure else "No response yet."
    lines = [f"redirected to {inspect.url(url)}" for url in seen.redirects]
    lines += seen.peer.lines() if seen.peer is not None else ()
    head = "\n".join([*lines, f"HTTP {seen.status}"])
    text = _joined(head, seen.headers, seen.body, inspect)
    return f"{text}\n\n{inspect.text(seen.failure)}" if seen.failure else text


def holds_secrets(request: LoginRequest, seen: HttpExchangeView | None = None) -> bool:
    """True if masking would hide anything."""
    if request_text(request, Plain()) != request_text(request, Masked()):
        return True
    return seen is not None and reply_text(seen, Plain()) != reply_text(seen, Masked())


def _joined(head: str, headers: Headers, body: bytes, inspect: Plain | Masked) -> str:
    lines = [head, *(f"{name}: {inspect.header(name, value)}" for name, value in headers)]
    if body:
        lines += ["", _body_text(body, inspect.body)]
    return "\n".join(lines)


def _body_text(body: bytes, mask: Callable[[bytes], bytes]) -> str:
    """Mask before indenting: that would separate a secret from its name."""
    text = mask(body).decode(errors="replace")
    if len(text) > _LAID_OUT or text[:1] not in "{[":
        return text
    try:
        return pretty(parse(text))
    except (JSONProblem, RecursionError):
        return text


_ORDER = tuple(Severity)


class _Hidden(Masked):
    """Masks as on screen, plus every value that the login knows to be secret."""

    def __init__(self, view: LoginView) -> None:
        found = SecretsFound()
        for name, value in _secrets(view):
            found.add(Hit(0, 0, value.encode(errors="surrogatepass"), name, "login"))
        self._known = Masking(found)

    def text(self, text: str) -> str:
        return super().text(self._known.text(text))

    def header(self, name: str, value: str) -> str:
        return super().header(name, self._known.text(value))

    def body(self, raw: bytes) -> bytes:
        return super().body(self._known.body(raw))


def by_severity(findings: Iterable[Finding]) -> list[Finding]:
    """Sort by severity, most severe first, otherwise stable."""
    return sorted(findings, key=lambda each: _ORDER.index(each.severity))


def finding_text(finding: Finding) -> str:
    quote = f"\n  {one_line(finding.evidence)}" if finding.evidence else ""
    return f"{finding.severity.value} {finding.id}: {finding.text}{quote}"


def findings_text(view: LoginView) -> str:
    """Return all findings of a login as text, one paragraph each."""
    hidden = _Hidden(view)
    every = [hidden.text(finding_text(each)) for each in by_severity(view.findings)]
    return "\n".join([_title(view), "", *(every or ["No findings."])]) + "\n"


def login_text(view: LoginView) -> str:
    """Return the whole login as text, for an issue or a mail."""
    hidden = _Hidden(view)
    parts = [_title(view), *(_step_text(step, number, hidden) for number, step in enumerate(view.steps, 1))]
    if view.failure:
        parts.append(hidden.text(f"Failed: {view.failure} {view.next_step}".strip()))
    return "\n\n".join(parts) + "\n"


def step_text(view: LoginView, step: Step) -> str:
    return _step_text(step, view.steps.index(step) + 1, _Hidden(view)) + "\n"


def login_trace(view: LoginView) -> bytes:
    """Return the whole login as JSON."""
    hidden = _Hidden(view)
    whole: JSONObject = {
        "server": hidden.url(view.server_url),
        "grant": view.grant.value,
        "revision": str(view.revision),
        "mode": "strict" if view.is_strict else "observe",
        "secrets": "masked",
        "failure": hidden.text(view.failure) or None,
        "steps": [_step_json(step, hidden) for step in view.steps],
    }
    return f"{pretty(whole)}\n".encode(errors="replace")


def _title(view: LoginView) -> str:
    mode = "strict" if view.is_strict else "observe"
    return f"Login at {_Hidden(view).url(view.server_url)} ({view.revision}, {view.grant.value}, {mode})"


def _step_text(step: Step, number: int, hidden: _Hidden) -> str:
    lines = [f"{number}. {step.id.value}: {step.state.value}"]
    if step.state is not StepState.WAITING:
        lines += _lines_of(step, hidden)
    return "\n".join(lines)


def _lines_of(step: Step, hidden: _Hidden) -> Iterator[str]:
    for each in step.inputs:
        value = MASK if each.is_secret else hidden.text(each.value)
        yield f"   {each.name} = {one_line(value)}" + (f" ({each.origin})" if each.origin else "")
    for seen in step.exchanges:
        yield _indented(request_text(seen.request, hidden), "   > ")
        yield _indented(reply_text(seen, hidden), "   < ")
    for table in step.tables:
        yield _indented(hidden.text(_table_text(table)), "   ")
    for decision in step.decisions:
        yield f"   - {hidden.text(decision.text)}"
    for finding in by_severity(step.findings):
        yield _indented(hidden.text(finding_text(finding)), "   ! ")
    if step.problem:
        yield f"   Failed: {hidden.text(step.problem)}"


def _table_text(table: Table) -> str:
    rows = [" | ".join(one_line(cell) for cell in row) for row in (table.columns, *table.rows)]
    return "\n".join([f"{table.title}:", *rows])


def _indented(text: str, mark: str) -> str:
    return "\n".join(f"{mark}{line}".rstrip() for line in text.split("\n"))


def _step_json(step: Step, hidden: _Hidden) -> JSONObject:
    inputs: list[JSON] = [
        {
            "name": each.name,
            "value": MASK if each.is_secret else hidden.text(each.value),
            "origin": each.origin,
        }
        for each in step.inputs
    ]
    return {
        "step": step.id.value,
        "state": step.state.value,
        "inputs": inputs,
        "exchanges": [_exchange_json(seen, hidden) for seen in step.exchanges],
        "tables": [_table_json(table, hidden) for table in step.tables],
        "decisions": [hidden.text(each.text) for each in step.decisions],
        "findings": [_finding_json(each, hidden) for each in step.findings],
        "problem": hidden.text(step.problem) or None,
    }


def _exchange_json(seen: HttpExchangeView, hidden: _Hidden) -> JSONObject:
    headers: list[JSON] = [f"{name}: {hidden.header(name, value)}" for name, value in seen.headers]
    return {
        "request": _request_json(seen.request, hidden),
        "status": seen.status or None,
        "url": hidden.url(seen.url),
        "headers": headers,
        "body": hidden.body(seen.body).decode(errors="replace"),
        "duration": duration(seen.elapsed_ns) if seen.elapsed_ns else None,
        "redirects": [hidden.url(url) for url in seen.redirects],
        "peer": list(seen.peer.lines()) if seen.peer is not None else None,
        "failure": hidden.text(seen.failure) or None,
    }


def _request_json(request: LoginRequest, hidden: _Hidden) -> JSONObject:
    headers: list[JSON] = [f"{name}: {hidden.header(name, value)}" for name, value in request.headers]
    return {
        "method": request.method,
        "url": hidden.url(request.url),
        "headers": headers,
        "body": hidden.body(request.body).decode(errors="replace"),
    }


def _table_json(table: Table, hidden: _Hidden) -> JSONObject:
    rows: list[JSON] = [[hidden.text(cell) for cell in row] for row in table.rows]
    return {"title": table.title, "columns": list(table.columns), "rows": rows}


def _finding_json(finding: Finding, hidden: _Hidden) -> JSONObject:
    return {
        "id": finding.id,
        "severity": finding.severity.value,
        "seen": hidden.text(finding.seen),
        "rule": finding.rule,
        "fix": hidden.text(finding.fix),
        "evidence": hidden.text(finding.evidence),
    }


def _secrets(view: LoginView) -> Iterator[tuple[str, str]]:
    """Yield known secrets: a placeholder name and the value."""
    for step in view.steps:
        yield from ((each.name, each.value) for each in step.inputs if each.is_secret and each.value)
    if view.result is not None:
        kinds = ("access_token", "refresh_token", "id_token")
        yield from ((kind, getattr(view.result, kind)) for kind in kinds if getattr(view.result, kind))

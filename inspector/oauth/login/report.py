"""A login as text, JSON or sequence diagram, and its HTTP exchanges as text.

Reports contain no secrets: what the login knows to be secret is masked in every encoding, and so is
anything that looks like a secret. Exchanges shown next to a step can also be shown unmasked (`Unmasked`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from enum import Enum
from urllib.parse import urlsplit

from inspector.base.json.values import JSON, JSONError, JSONObject, parse, pretty
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
from inspector.traffic.masking.masker import FoundSecrets, Masker, decoded, encoded, masked_excerpt
from inspector.traffic.masking.secret_scan import Hit

_SEVERITIES = tuple(Severity)


def login_text(view: LoginView) -> str:
    """Return the whole login as text, for an issue or a mail."""
    masking = _ReportMasking(view)
    parts = [_title(view), *(_step_text(step, number, masking) for number, step in enumerate(view.steps, 1))]
    if view.failure:
        parts.append(masking.text(f"Failed: {view.failure} {view.next_step}".strip()))
    return "\n\n".join(parts) + "\n"


def step_text(view: LoginView, step: Step) -> str:
    return _step_text(step, view.steps.index(step) + 1, _ReportMasking(view)) + "\n"


def login_trace(view: LoginView) -> bytes:
    """Return the whole login as JSON."""
    masking = _ReportMasking(view)
    whole: JSONObject = {
        "server": masking.url(view.server_url),
        "grant": view.grant.value,
        "revision": str(view.revision),
        "mode": "strict" if view.is_strict else "observe",
        "secrets": "masked",
        "failure": masking.text(view.failure) or None,
        "steps": [_step_json(step, masking) for step in view.steps],
    }
    return f"{pretty(whole)}\n".encode(errors="replace")


def _title(view: LoginView) -> str:
    mode = "strict" if view.is_strict else "observe"
    return (
        f"Login at {_ReportMasking(view).url(view.server_url)} ({view.revision}, {view.grant.value}, {mode})"
    )


def _step_text(step: Step, number: int, masking: _ReportMasking) -> str:
    lines = [f"{number}. {step.id.value}: {step.state.value}"]
    if step.state is not StepState.WAITING:
        lines += _lines_of(step, masking)
    return "\n".join(lines)


def _lines_of(step: Step, masking: _ReportMasking) -> Iterator[str]:
    for each in step.inputs:
        value = MASK if each.is_secret else masking.text(each.value)
        yield f"   {each.name} = {one_line(value)}" + (f" ({each.origin})" if each.origin else "")
    for exchange in step.exchanges:
        yield _indented(request_text(exchange.request, masking), "   > ")
        yield _indented(response_text(exchange, masking), "   < ")
    for table in step.tables:
        yield _indented(masking.text(_table_text(table)), "   ")
    for decision in step.decisions:
        yield f"   - {masking.text(decision.text)}"
    for finding in by_severity(step.findings):
        yield _indented(masking.text(finding_text(finding)), "   ! ")
    if step.problem:
        yield f"   Failed: {masking.text(step.problem)}"


def _table_text(table: Table) -> str:
    rows = [" | ".join(one_line(cell) for cell in row) for row in (table.columns, *table.rows)]
    return "\n".join([f"{table.title}:", *rows])


def _indented(text: str, mark: str) -> str:
    return "\n".join(f"{mark}{line}".rstrip() for line in text.split("\n"))


def _step_json(step: Step, masking: _ReportMasking) -> JSONObject:
    inputs: list[JSON] = [
        {
            "name": each.name,
            "value": MASK if each.is_secret else masking.text(each.value),
            "origin": each.origin,
        }
        for each in step.inputs
    ]
    return {
        "step": step.id.value,
        "state": step.state.value,
        "inputs": inputs,
        "exchanges": [_exchange_json(exchange, masking) for exchange in step.exchanges],
        "tables": [_table_json(table, masking) for table in step.tables],
        "decisions": [masking.text(each.text) for each in step.decisions],
        "findings": [_finding_json(each, masking) for each in step.findings],
        "problem": masking.text(step.problem) or None,
    }


def _exchange_json(exchange: HttpExchangeView, masking: _ReportMasking) -> JSONObject:
    headers: list[JSON] = [f"{name}: {masking.header(name, value)}" for name, value in exchange.headers]
    return {
        "request": _request_json(exchange.request, masking),
        "status": exchange.status or None,
        "url": masking.url(exchange.url),
        "headers": headers,
        "body": masking.body(exchange.body).decode(errors="replace"),
        "duration": duration(exchange.elapsed_ns) if exchange.elapsed_ns else None,
        "redirects": [masking.url(url) for url in exchange.redirects],
        "peer": list(exchange.peer.lines()) if exchange.peer is not None else None,
        "failure": masking.text(exchange.failure) or None,
    }


def _request_json(request: LoginRequest, masking: _ReportMasking) -> JSONObject:
    headers: list[JSON] = [f"{name}: {masking.header(name, value)}" for name, value in request.headers]
    return {
        "method": request.method,
        "url": masking.url(request.url),
        "headers": headers,
        "body": masking.body(request.body).decode(errors="replace"),
    }


def _table_json(table: Table, masking: _ReportMasking) -> JSONObject:
    rows: list[JSON] = [[masking.text(cell) for cell in row] for row in table.rows]
    return {"title": table.title, "columns": list(table.columns), "rows": rows}


def _finding_json(finding: Finding, masking: _ReportMasking) -> JSONObject:
    return {
        "id": finding.id,
        "severity": finding.severity.value,
        "seen": masking.text(finding.seen),
        "rule": finding.rule,
        "fix": masking.text(finding.fix),
        "evidence": masking.text(finding.evidence),
    }


def _secrets(view: LoginView) -> Iterator[tuple[str, str]]:
    """Yield known secrets: a placeholder name and the value."""
    for step in view.steps:
        yield from ((each.name, each.value) for each in step.inputs if each.is_secret and each.value)
    if view.result is not None:
        kinds = ("access_token", "refresh_token", "id_token")
        yield from ((kind, getattr(view.result, kind)) for kind in kinds if getattr(view.result, kind))


def by_severity(findings: Iterable[Finding]) -> list[Finding]:
    """Sort by severity, most severe first, otherwise stable."""
    return sorted(findings, key=lambda each: _SEVERITIES.index(each.severity))


def finding_text(finding: Finding) -> str:
    quote = f"\n  {one_line(finding.evidence)}" if finding.evidence else ""
    return f"{finding.severity.value} {finding.id}: {finding.text}{quote}"


def findings_text(view: LoginView) -> str:
    """Return all findings of a login as text, one paragraph each."""
    masking = _ReportMasking(view)
    every = [masking.text(finding_text(each)) for each in by_severity(view.findings)]
    return "\n".join([_title(view), "", *(every or ["No findings."])]) + "\n"


class Party(Enum):
    """Participants, by display name, from left to right."""

    BROWSER = "Browser"
    CLIENT = "MCP Lens"
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
    is_error: bool = False  # an error response, or none


_COUNTERPARTS = {
    StepId.PROBE: Party.SERVER,
    StepId.RESOURCE_LOOKUP: Party.SERVER,
    StepId.SERVER_LOOKUP: Party.AUTHORITY,
    StepId.IDENTITY: Party.AUTHORITY,
    StepId.PROVIDER_LOOKUP: Party.PROVIDER,
    StepId.ID_TOKEN_LOOKUP: Party.PROVIDER,
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
_MAX_PATH_LENGTH = 64


def parties_of(arrows: Iterable[Arrow]) -> tuple[Party, ...]:
    """Return the participants of a login, from left to right."""
    ends = {end for arrow in arrows for end in (arrow.source, arrow.target)}
    return tuple(party for party in Party if party is not Party.PROVIDER or party in ends)


def arrows_of(view: LoginView) -> tuple[Arrow, ...]:
    """Return all messages of a login, in order."""
    browser_target = Party.PROVIDER if view.grant is LoginGrant.ENTERPRISE else Party.AUTHORITY
    return tuple(arrow for step in view.steps for arrow in _step_arrows(step, browser_target))


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


def _step_arrows(step: Step, browser_target: Party) -> Iterator[Arrow]:
    """Yield the arrows of a step; `browser_target` is where the browser is sent."""
    is_skipped = step.state is StepState.SKIPPED
    match step.id:
        case StepId.AUTHORIZE if not is_skipped:
            text = "log in and consent" if browser_target is Party.AUTHORITY else "log in"
            yield _arrow(step, Party.CLIENT, Party.BROWSER, "open the authorization URL")
            yield _arrow(step, Party.BROWSER, browser_target, f"authorize: {text}")
        case StepId.WAIT if not is_skipped:
            yield _arrow(
                step, browser_target, Party.BROWSER, "redirect with code and state", is_response=True
            )
            yield _arrow(step, Party.BROWSER, Party.CLIENT, "callback")
        case _ if step.exchanges:
            for exchange in step.exchanges:
                yield from _exchange_arrows(step, exchange)
        case _ if step.id in _PLANNED and not is_skipped:
            yield _arrow(step, Party.CLIENT, _COUNTERPARTS[step.id], _PLANNED[step.id])
        case _:
            yield _arrow(step, Party.CLIENT, Party.CLIENT, step.id.value)


def _exchange_arrows(step: Step, exchange: HttpExchangeView) -> Iterator[Arrow]:
    party = _COUNTERPARTS.get(step.id, Party.SERVER)
    path = urlsplit(exchange.request.url).path or "/"
    yield _arrow(step, Party.CLIENT, party, f"{exchange.request.method} {_shorten_path(path)}")
    if exchange.status:
        is_expected = step.id is StepId.PROBE and exchange.status == 401
        response = _arrow(step, party, Party.CLIENT, str(exchange.status), is_response=True)
        yield response if exchange.status < 400 or is_expected else _with_error(response)
    elif exchange.failure:
        yield _with_error(_arrow(step, party, Party.CLIENT, "no response", is_response=True))


def _arrow(step: Step, source: Party, target: Party, text: str, *, is_response: bool = False) -> Arrow:
    is_error = step.state is StepState.FAILED and source is target
    return Arrow(step.id, source, target, text, step.state, is_response, is_error)


def _with_error(arrow: Arrow) -> Arrow:
    return Arrow(arrow.step, arrow.source, arrow.target, arrow.text, arrow.state, arrow.is_response, True)


def _shorten_path(path: str) -> str:
    text = one_line(path)
    return (
        text
        if len(text) <= _MAX_PATH_LENGTH
        else f"{text[: _MAX_PATH_LENGTH // 2]}…{text[-_MAX_PATH_LENGTH // 2 :]}"
    )


_MAX_PRETTY_LENGTH = 64 * 1024  # longer text is shown verbatim


class Unmasked:
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
        return decoded(masked_excerpt(encoded(text)))

    def url(self, url: str) -> str:
        return self.text(masked_url(url))

    def header(self, name: str, value: str) -> str:
        return MASK if is_secret_name(name) else self.text(value)

    def body(self, raw: bytes) -> bytes:
        return masked_excerpt(raw)


def request_text(request: LoginRequest, masking: Unmasked | Masked) -> str:
    """Return the request as sent."""
    head = f"{request.method} {masking.url(request.url)}"
    return _joined(head, request.headers, request.body, masking)


def response_text(exchange: HttpExchangeView, masking: Unmasked | Masked) -> str:
    """Return the response with JSON indented, or why there is none."""
    if not exchange.status:
        return masking.text(exchange.failure) if exchange.failure else "No response yet."
    lines = [f"redirected to {masking.url(url)}" for url in exchange.redirects]
    lines += exchange.peer.lines() if exchange.peer is not None else ()
    head = "\n".join([*lines, f"HTTP {exchange.status}"])
    text = _joined(head, exchange.headers, exchange.body, masking)
    return f"{text}\n\n{masking.text(exchange.failure)}" if exchange.failure else text


def holds_secrets(request: LoginRequest, exchange: HttpExchangeView | None = None) -> bool:
    """True if masking would hide anything."""
    if request_text(request, Unmasked()) != request_text(request, Masked()):
        return True
    return exchange is not None and response_text(exchange, Unmasked()) != response_text(exchange, Masked())


def _joined(head: str, headers: Headers, body: bytes, masking: Unmasked | Masked) -> str:
    lines = [head, *(f"{name}: {masking.header(name, value)}" for name, value in headers)]
    if body:
        lines += ["", _body_text(body, masking.body)]
    return "\n".join(lines)


def _body_text(body: bytes, mask: Callable[[bytes], bytes]) -> str:
    """Mask before indenting: that would separate a secret from its name."""
    text = mask(body).decode(errors="replace")
    if len(text) > _MAX_PRETTY_LENGTH or text[:1] not in "{[":
        return text
    try:
        return pretty(parse(text))
    except (JSONError, RecursionError):
        return text


class _ReportMasking(Masked):
    """Masks as on screen, plus every value that the login knows to be secret."""

    def __init__(self, view: LoginView) -> None:
        found = FoundSecrets()
        for name, value in _secrets(view):
            found.add(Hit(0, 0, value.encode(errors="surrogatepass"), name, "login"))
        self._known = Masker(found)

    def text(self, text: str) -> str:
        return super().text(self._known.text(text))

    def header(self, name: str, value: str) -> str:
        return super().header(name, self._known.text(value))

    def body(self, raw: bytes) -> bytes:
        return super().body(self._known.body(raw))

"""A login for somebody else to read: all steps as text, or as JSON. No secret is in either.

What the login itself calls a secret is masked wherever it turns up, in whatever spelling, and so is what
looks like one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from inspector.base.jsonvalue import JSON, JSONObject, pretty
from inspector.base.plaintext import one_line
from inspector.base.redact import MASK
from inspector.base.units import duration
from inspector.oauth.http import LoginRequest
from inspector.oauth.steps import HttpSeen, LoginView, Step, StepState, Table
from inspector.oauth.wiretext import Masked, reply_text, request_text
from inspector.protocol.auth.findings import Finding, Severity
from inspector.traffic.export.finding import Hit
from inspector.traffic.export.masking import Masking
from inspector.traffic.export.secrets import SecretsFound

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
    return "\n".join([_title(view), "", *(every or ["Nothing found."])]) + "\n"


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


# ------------------------------------------------------------------ as text


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


# ------------------------------------------------------------------ as JSON


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


def _exchange_json(seen: HttpSeen, hidden: _Hidden) -> JSONObject:
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

"""Results of an examination: check results, diagnoses and fixes, and the report as text.

Frozen values that may cross threads. They contain no secrets, so the report can go into a bug report.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum

from inspector.base.plain_text import visible
from inspector.base.units import duration


class CheckState(Enum):
    """How a step ended; the values are display text."""

    RUNNING = "running"
    OK = "passed"
    WARN = "warning"
    FAILED = "failed"
    SKIPPED = "skipped"


@dataclass(frozen=True, slots=True)
class CheckResult:
    """One step. `found` is a sentence or a value; `details` are additional lines."""

    id: str
    state: CheckState
    found: str = ""
    elapsed_ns: int = 0
    details: tuple[str, ...] = ()

    @property
    def title(self) -> str:
        return TITLES[self.id]


TITLES = {
    "settings": "Settings",
    "command": "Command",
    "runtime": "Runtime version",
    "started": "Process start",
    "output": "First output",
    "stray": "Clean stdout",
    "handshake": "MCP handshake",
    "url": "URL",
    "dns": "DNS lookup",
    "tcp": "TCP connection",
    "tls": "TLS handshake",
    "http": "HTTP status",
    "content": "Content type",
    "wellknown": "Well-known metadata",
    "era": "Session or stateless",
    "auth": "Login",
    "version": "Protocol version",
    "capabilities": "Capabilities",
    "list": "First list request",
}

_NEGOTIATED = ("version", "capabilities", "list")
PROCESS_STEPS = (
    "settings",
    "command",
    "runtime",
    "started",
    "output",
    "stray",
    "handshake",
    "era",
    *_NEGOTIATED,
)
HTTP_STEPS = (
    *("settings", "url", "dns", "tcp", "tls", "http", "content", "wellknown", "era", "auth"),
    *_NEGOTIATED,
)
WEBSOCKET_STEPS = ("settings", "url", "dns", "tcp", "tls", "http", "era", "auth", *_NEGOTIATED)


class ActionKind(Enum):
    """What MCP Lens can do about a diagnosis."""

    TRUST_CERTIFICATE = "trust this certificate for this server"
    USE_URL = "use this URL"
    USE_SSE = "use HTTP+SSE"
    USE_HTTP = "use Streamable HTTP"
    USE_AUTO_ERA = "auto-detect the protocol version"
    LOG_IN = "log in"
    OPEN_SECRETS = "open the server's secrets"


@dataclass(frozen=True, slots=True)
class Action:
    """A fix that can be applied.

    `label` is its button text; `value` is a URL or a PEM certificate.
    """

    kind: ActionKind
    label: str
    value: str = ""


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """The failed step, the most likely cause and the fix, with supporting `evidence`.

    `id` is stable. With `is_warning` the server is usable nonetheless.
    """

    id: str
    step: str
    cause: str
    fix: str
    evidence: tuple[str, ...] = ()
    action: Action | None = None
    is_warning: bool = False


@dataclass(frozen=True, slots=True)
class Examination:
    """State of a server's diagnosis. The first diagnosis is the one to act on.

    If there is none and it is not running, all is well, or it was stopped and steps are missing.
    """

    server: str
    address: str
    results: tuple[CheckResult, ...] = ()
    diagnoses: tuple[Diagnosis, ...] = ()
    is_running: bool = False
    is_stopped: bool = False

    @property
    def failure(self) -> Diagnosis | None:
        return next((each for each in self.diagnoses if not each.is_warning), None)

    def with_result(self, result: CheckResult) -> tuple[CheckResult, ...]:
        """Return the results with this one replacing the earlier result of its step."""
        if any(each.id == result.id for each in self.results):
            return tuple(result if each.id == result.id else each for each in self.results)
        return (*self.results, result)


_MARKS = {
    CheckState.OK: "ok",
    CheckState.WARN: "!!",
    CheckState.FAILED: "XX",
    CheckState.SKIPPED: "--",
    CheckState.RUNNING: "..",
}


def as_text(examination: Examination, *, with_details: bool = True) -> str:
    """Return the examination as text, most important first."""
    lines = [f"{examination.server}: {examination.address}", verdict_of(examination)]
    for diagnosis in examination.diagnoses:
        lines += ["", *diagnosis_lines(diagnosis)]
    lines.append("")
    for result in examination.results:
        lines += result_lines(result, with_details=with_details)
    return "\n".join(visible(line) for line in lines) + "\n"


def result_lines(result: CheckResult, *, with_details: bool = True) -> Iterator[str]:
    elapsed = f" ({duration(result.elapsed_ns)})" if result.elapsed_ns else ""
    found = f": {result.found}" if result.found else ""
    yield f"[{_MARKS[result.state]}] {result.title}{found}{elapsed}"
    if with_details:
        yield from (f"       {line}" for line in result.details)


def diagnosis_lines(diagnosis: Diagnosis) -> Iterator[str]:
    kind = "Warning" if diagnosis.is_warning else "Cause"
    yield f"{kind}: {diagnosis.cause}"
    yield f"Next step: {diagnosis.fix}"
    yield from (f"  > {line}" for line in diagnosis.evidence)


def verdict_of(examination: Examination) -> str:
    """Return a one-sentence summary."""
    if examination.is_running:
        return "Doctor is running."
    if examination.is_stopped:
        return "Doctor was stopped."
    failure = examination.failure
    if failure is not None:
        title = next((each.title for each in examination.results if each.id == failure.step), failure.step)
        return f"Failed at “{title}”."
    if any(result.id == "list" and result.state is CheckState.SKIPPED for result in examination.results):
        is_negotiated = any(
            each.id == "version" and each.state is CheckState.OK for each in examination.results
        )
        return "The connection works." if is_negotiated else "Not all checks were run."
    return "Everything works, with warnings." if examination.diagnoses else "Everything works."

"""Report of a connection check: step results, diagnoses and fixes, and the report as text.

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
    """Result of one step. `text` is a sentence or a value; `details` are additional lines."""

    id: str
    state: CheckState
    text: str = ""
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
    CONTINUE_AS = "continue as a known protocol version"
    ADD_TO_PATH = "add this folder to the server's PATH"
    LOG_IN = "log in"
    OPEN_SECRETS = "open the server's secrets"
    ADD_VARIABLES = "add environment variables"


@dataclass(frozen=True, slots=True)
class Action:
    """A fix that can be applied.

    `label` is its button text; `value` is a URL, a PEM certificate, a protocol version, a folder, or names of
    variables separated by spaces.
    """

    kind: ActionKind
    label: str
    value: str = ""


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """The failed step, the most likely cause and the fix, with supporting `evidence`.

    `id` is stable. If `is_warning`, the server works despite it.
    """

    id: str
    step: str
    cause: str
    fix: str
    evidence: tuple[str, ...] = ()
    action: Action | None = None
    is_warning: bool = False


@dataclass(frozen=True, slots=True)
class CheckReport:
    """State of a connection check. The first diagnosis is the one to act on.

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


def as_text(report: CheckReport, *, with_details: bool = True) -> str:
    """Return the report as text, most important first."""
    lines = [f"{report.server}: {report.address}", report_summary(report)]
    for diagnosis in report.diagnoses:
        lines += ["", *diagnosis_lines(diagnosis)]
    lines.append("")
    for result in report.results:
        lines += result_lines(result, with_details=with_details)
    return "\n".join(visible(line) for line in lines) + "\n"


def result_lines(result: CheckResult, *, with_details: bool = True) -> Iterator[str]:
    elapsed = f" ({duration(result.elapsed_ns)})" if result.elapsed_ns else ""
    text = f": {result.text}" if result.text else ""
    yield f"[{_MARKS[result.state]}] {result.title}{text}{elapsed}"
    if with_details:
        yield from (f"       {line}" for line in result.details)


def diagnosis_lines(diagnosis: Diagnosis) -> Iterator[str]:
    kind = "Warning" if diagnosis.is_warning else "Cause"
    yield f"{kind}: {diagnosis.cause}"
    yield f"Next step: {diagnosis.fix}"
    yield from (f"  > {line}" for line in diagnosis.evidence)


def report_summary(report: CheckReport) -> str:
    """Return a one-sentence summary."""
    if report.is_running:
        return "Doctor is running."
    if report.is_stopped:
        return "Doctor was stopped."
    failure = report.failure
    if failure is not None:
        title = next((each.title for each in report.results if each.id == failure.step), failure.step)
        return f"Failed at “{title}”."
    if any(result.id == "list" and result.state is CheckState.SKIPPED for result in report.results):
        is_negotiated = any(each.id == "version" and each.state is CheckState.OK for each in report.results)
        return "The connection works." if is_negotiated else "Not all checks were run."
    return "Everything works, with warnings." if report.diagnoses else "Everything works."

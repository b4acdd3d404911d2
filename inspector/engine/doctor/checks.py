"""What an examination gives: the result of each step, and what follows from them. Frozen, for any thread."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class CheckState(Enum):
    """How a step ended; the values are display text."""

    RUNNING = "running"
    OK = "fine"
    WARN = "odd"
    FAILED = "failed"
    SKIPPED = "not tried"


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
    "runtime": "Version",
    "started": "Started",
    "output": "First output",
    "stray": "Nothing else on stdout",
    "handshake": "Handshake",
    "url": "URL",
    "dns": "Name (DNS)",
    "tcp": "Connection (TCP)",
    "tls": "Encryption (TLS)",
    "http": "HTTP status",
    "content": "Content type",
    "wellknown": "Well-known documents",
    "era": "Era",
    "auth": "Login",
    "version": "Protocol version",
    "capabilities": "Capabilities",
    "list": "First list",
}

_AGREED = ("version", "capabilities", "list")
PROCESS_STEPS = ("settings", "command", "runtime", "started", "output", "stray", "handshake", "era", *_AGREED)
HTTP_STEPS = (
    *("settings", "url", "dns", "tcp", "tls", "http", "content", "wellknown", "era", "auth"),
    *_AGREED,
)
WEBSOCKET_STEPS = ("settings", "url", "dns", "tcp", "tls", "http", "era", "auth", *_AGREED)


class ActionKind(Enum):
    """What MCP Lens can do about a diagnosis."""

    TRUST_CERTIFICATE = "trust this certificate for this server"
    USE_URL = "use this URL"
    USE_SSE = "use HTTP+SSE"
    USE_HTTP = "use Streamable HTTP"
    USE_AUTO_ERA = "find out the era by itself"
    LOG_IN = "open the login"
    OPEN_SECRETS = "open the secrets"


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

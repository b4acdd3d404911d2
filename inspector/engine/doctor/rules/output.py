"""Diagnoses of processes that exited or do not respond, from their output and exit status.

Also picks the line of the output that says most about the failure. Pure functions.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence

from inspector.base.errors import FailureKind
from inspector.base.json.values import shorten
from inspector.base.plain_text import one_line
from inspector.base.units import plural
from inspector.engine.doctor.probe_session import ObservedTraffic
from inspector.engine.doctor.results import Diagnosis
from inspector.engine.doctor.rules.output_patterns import INSTALLER_PATTERNS, OUTPUT_PATTERNS, OutputPattern
from inspector.transport.process import CRASH_CODES

_MENTIONS_ERROR = re.compile(r"\b(?:error|fatal|panic|failed|cannot|could not|exception)\b", re.IGNORECASE)
_IRRELEVANT = re.compile(r"a complete log of this run|^npm warn|^\s*at |^\s+File ", re.IGNORECASE)

_TRACEBACK = "Traceback (most recent call last):"
_EXCEPTION = re.compile(r"(?:\w+\.)*\w*(?:Error|Exception|Exit|Interrupt|Failure|Invalid|Refused|Timeout)\b")
_FRAME = re.compile(r'\s+File "(?P<file>[^"<]+)", line (?P<line>\d+)')
_BACKSLASHES = re.compile(r"\\+")
_LIBRARY_PATH = re.compile(r"[/\\](?:site-packages|dist-packages|lib[/\\]python[\d.]*|Lib)[/\\]")
_GROUP_PREFIX = re.compile(r"^\s*\| ?")  # prefix of the parts of an exception group


def most_telling_line(lines: Sequence[str]) -> str:
    """Return the last line that mentions an error, else the last line; "" if there is none."""
    reported = [line.strip() for line in lines if line.strip() and not _IRRELEVANT.search(line)]
    return next(
        (line for line in reversed(reported) if _MENTIONS_ERROR.search(line)),
        reported[-1] if reported else "",
    )


def exception_in(lines: Sequence[str]) -> tuple[str, str]:
    """Return the last exception of a Python traceback and where it was raised.

    The location is in the server's own code if possible. Empty strings without a traceback.
    """
    plain = [_GROUP_PREFIX.sub("", line) for line in lines]
    start = next((index for index in range(len(plain) - 1, -1, -1) if _TRACEBACK in plain[index]), None)
    if start is None:
        return "", ""
    what = next((line.strip() for line in plain[start + 1 :] if _EXCEPTION.match(line)), "")
    frames = [match for line in plain[start + 1 :] if (match := _FRAME.match(line)) is not None]
    own = [frame for frame in frames if not _LIBRARY_PATH.search(frame["file"])]
    frame = next(reversed(own or frames), None)
    where = f"{os.path.basename(frame['file'])}, line {frame['line']}" if frame is not None else ""
    return what, where


# Limits of the search: a server may write anything to keep us busy.
_MAX_LINES = 80
_MAX_LINE_LENGTH = 300


def lines_of(traffic: ObservedTraffic) -> list[str]:
    return [line[:_MAX_LINE_LENGTH] for line in traffic.output.splitlines()[-_MAX_LINES:]]


def diagnose_exit(traffic: ObservedTraffic) -> Diagnosis:
    """Diagnose a process that exited early, by its output, else by its exit status."""
    return _by_output(traffic) or _by_exception(traffic) or _by_status(traffic)


def explains(traffic: ObservedTraffic) -> bool:
    """True if the output clearly says why it exited, so that a retry would fail again."""
    return _by_output(traffic) is not None


def _by_output(
    traffic: ObservedTraffic, patterns: tuple[OutputPattern, ...] = OUTPUT_PATTERNS
) -> Diagnosis | None:
    lines = lines_of(traffic)
    for pattern in patterns:
        found = [(match, line) for line in lines if (match := pattern.regex.search(line)) is not None]
        if found:  # a line that names its subject says more
            match, line = next((each for each in found if _subject(each[0])), found[0])
            return _diagnose_pattern(pattern, _subject(match), line)
    return None


def _subject(match: re.Match[str]) -> str:
    groups: Mapping[str, str | None] = match.groupdict()
    return _unescaped(
        next((value for name, value in groups.items() if name.startswith("what") and value), "")
    )


def _unescaped(path: str) -> str:
    """Return a Windows path of which a program has printed the `repr`, as Python does."""
    runs = _BACKSLASHES.findall(path)
    is_repr = all(len(run) % 2 == 0 for run in runs) and len(runs) > 1
    return path.replace("\\\\", "\\") if is_repr else path


def _diagnose_pattern(pattern: OutputPattern, subject: str, line: str) -> Diagnosis:
    subject = shorten(one_line(subject.strip().rstrip(".")), 160)
    cause = pattern.cause if subject else pattern.cause.replace(": {what}", "")
    cause = cause.replace("{what}", subject or "such module")
    return Diagnosis(pattern.id, pattern.step, cause, pattern.fix, (shorten(one_line(line), 300),))


def _by_exception(traffic: ObservedTraffic) -> Diagnosis | None:
    what, where = exception_in(lines_of(traffic))
    if not what:
        return None
    location = f" ({where})" if where else ""
    return Diagnosis(
        "raised",
        "handshake",
        f"The server's code failed: {shorten(one_line(what), 200).rstrip('.')}{location}.",
        "Fix the server there, or check its arguments, environment variables and files.",
        _last_lines(traffic),
    )


def _last_lines(traffic: ObservedTraffic) -> tuple[str, ...]:
    return tuple(shorten(one_line(line), 300) for line in list(traffic.stderr)[-8:])


def _by_status(traffic: ObservedTraffic) -> Diagnosis:
    status, code, last = traffic.exit_status or traffic.closed, traffic.exit_code, _last_lines(traffic)
    if code is not None and code < 0:
        return _by_signal(-code, status, last)
    if code in CRASH_CODES:
        return _crashed(status, last)
    if code == 0:
        return Diagnosis(
            "ended-at-once",
            "handshake",
            "The process exited right away with code 0: it is not a server, or it does not wait for "
            "input on stdin.",
            "Check that the command starts the server itself; many need an argument such as “stdio”, "
            "“serve” or “--stdio”.",
            last,
        )
    if code in (126, 127, 9009):  # of sh, and of cmd.exe
        return Diagnosis(
            "inner-command-missing",
            "handshake",
            f"The process {status}: the program it should start is missing or not executable.",
            "Install it, or set a PATH for the server that includes it.",
            last,
        )
    line = shorten(one_line(most_telling_line(lines_of(traffic))), 200)
    reported = f": “{line}”" if line else ". It wrote nothing to stderr."
    return Diagnosis(
        "exited",
        "handshake",
        f"The process {status or 'exited'} before it responded{reported}{'.' if line else ''}",
        "Run the same command in a terminal, in the same directory, to see what is missing.",
        last,
    )


_SIGKILL = 9  # `signal.SIGKILL` does not exist on Windows


def _by_signal(number: int, status: str, last: tuple[str, ...]) -> Diagnosis:
    if number == _SIGKILL:
        cause = f"The process {status}: it was killed, often by the system when memory runs out."
        return Diagnosis(
            "killed", "handshake", cause, "Check the system log (dmesg) and the available memory.", last
        )
    return _crashed(status, last)


def _crashed(status: str, last: tuple[str, ...]) -> Diagnosis:
    return Diagnosis(
        "crashed",
        "handshake",
        f"The process {status}: it crashed in a library or in its runtime.",
        "Reinstall the server and its native libraries for this system.",
        last,
    )


_URL = re.compile(r"(?P<url>https?://[\w.\-\[\]:]+(?:/[\w\-./]*)?)")
_SERVING = re.compile(r"listen|serving|running|started|available|uvicorn|ready", re.IGNORECASE)
_PROMPT = re.compile(
    r"ok to proceed\?|need to install the following packages|\[y/n\]|\(y/n\)|press (?:any key|enter)|"
    r"password:",
    re.IGNORECASE,
)
_INSTALLING = re.compile(r"download|install|resolv|pulling|building|fetching|compil|prepar", re.IGNORECASE)

_INSTALLER_LINE = re.compile(r"(?:npm|npx|yarn|pnpm|bun|uvx?|pip|docker)\b|warn", re.IGNORECASE)


def diagnose_silence(traffic: ObservedTraffic, waited: float, installer: str = "") -> Diagnosis:
    """Diagnose a process that runs but sent no response within `waited` seconds.

    `installer` is the program that may first have to download the server, such as npx or uvx.
    """
    found = _other_format(traffic) or _by_output(traffic, INSTALLER_PATTERNS)
    if found is not None:
        return found
    reported = tuple(
        shorten(one_line(line), 300) for line in (*traffic.stray[-4:], *list(traffic.stderr)[-4:])
    )
    lines = lines_of(traffic)
    if any(_PROMPT.search(line) for line in lines):
        return Diagnosis(
            "asks-the-person",
            "output",
            "The program asks for input, but there is no terminal to answer in.",
            "Make it non-interactive; for npx, add -y as the first argument.",
            reported,
        )
    if (url := _served_at(lines)) is not None:
        return Diagnosis(
            "serves-http",
            "handshake",
            f"The process runs as an HTTP server at {url} and does not use stdin and stdout.",
            "Use that URL instead of the command, or add the argument that makes it use stdio.",
            reported,
        )
    if traffic.broken or traffic.stray:
        return _only_text(traffic, reported)
    if any(_INSTALLING.search(line) for line in lines) or (
        installer and all(map(_INSTALLER_LINE.match, lines))
    ):
        return Diagnosis(
            "still-installing",
            "output",
            f"The server had not started after {waited:g} s: {installer or 'it'} was still downloading or "
            "installing.",
            "Run the command once in a terminal until it finishes, or raise the server's connection timeout "
            "(--connect-timeout on the command line).",
            reported,
        )
    if traffic.stderr:
        return Diagnosis(
            "log-only",
            "handshake",
            f"The process writes to stderr, but did not respond on stdout within {waited:g} s.",
            "Its log may say what it is waiting for. If it is slow to start, raise its connection timeout.",
            reported,
        )
    return Diagnosis(
        "silent",
        "output",
        f"The process is running, but wrote nothing within {waited:g} s. It may not be an MCP server.",
        "Check the arguments: many servers need one such as “stdio”. If it is slow to start, raise its "
        "connection timeout.",
    )


def diagnose_unusable(traffic: ObservedTraffic) -> Diagnosis | None:
    """Diagnose a response that cannot be used, in the words of the failed connection."""
    error = traffic.error
    if error is None or error.kind is not FailureKind.UNUSABLE:
        return None
    meant = next((each for each in reversed(traffic.unusable) if each.is_response), None)
    id = meant.id if meant is not None else "unusable-response"
    return Diagnosis(id, "handshake", error.summary, error.next_step, _shown(traffic))


_FORMATS = ("lsp-framing", "utf16-output", "json-over-lines", "nul-bytes")


def _other_format(traffic: ObservedTraffic) -> Diagnosis | None:
    """Diagnose output in another format than one message per line in UTF-8."""
    found = next((each for each in traffic.unusable if each.id in _FORMATS), None)
    if found is None:
        return None
    return Diagnosis(found.id, "handshake", found.cause, found.fix, _shown(traffic))


def _shown(traffic: ObservedTraffic) -> tuple[str, ...]:
    received = [message.raw[:400].decode(errors="replace") for message in traffic.messages]
    return tuple(shorten(one_line(line), 200) for line in [*traffic.stray, *traffic.broken, *received][:4])


def _served_at(lines: list[str]) -> str | None:
    for line in lines:
        match = _URL.search(line)
        if match is not None and _SERVING.search(line):
            return match["url"].rstrip(".")
    return None


def _only_text(traffic: ObservedTraffic, reported: tuple[str, ...]) -> Diagnosis:
    broken = next((each for each in traffic.unusable if each.id not in ("text", "no-line-feed")), None)
    if broken is not None:
        shown = tuple(shorten(one_line(line), 200) for line in traffic.broken[:4])
        return Diagnosis("broken-messages", "handshake", broken.cause, broken.fix, shown)
    return Diagnosis(
        "only-text",
        "stray",
        "The process writes plain text to stdout instead of messages. It may not be an MCP server.",
        "Check the arguments: many servers need one such as “stdio”. Logs belong on stderr.",
        reported,
    )


def diagnose_stray(traffic: ObservedTraffic) -> Diagnosis | None:
    """Warn about a working server that writes non-protocol text to stdout."""
    if not traffic.stray:
        return None
    count = len(traffic.stray)
    return Diagnosis(
        "stray-output",
        "stray",
        f"The server wrote {plural(count, 'line')} to stdout that "
        f"{'is' if count == 1 else 'are'} not JSON-RPC. Some clients fail on that.",
        "Write logs and banners to stderr (print(…, file=sys.stderr), console.error).",
        tuple(shorten(one_line(line), 200) for line in traffic.stray[:4]),
        is_warning=True,
    )

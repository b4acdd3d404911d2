"""Why a process ended, or says nothing that we understand: its words in, a diagnosis out.

A pattern speaks of what runtimes and installers print; its causes may name the groups that it found.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from inspector.base.jsonvalue import shorten
from inspector.base.plaintext import one_line
from inspector.engine.doctor.checks import Diagnosis
from inspector.engine.doctor.talk import Heard


@dataclass(frozen=True, slots=True)
class _Said:
    """`needle` is searched in each line. A group may come as the first of several that matched."""

    id: str
    needle: re.Pattern[str]
    cause: str
    fix: str
    step: str = "handshake"


def _line(text: str) -> re.Pattern[str]:
    return re.compile(text, re.IGNORECASE)


# The first that matches counts: what is special stands before what is general.
_WORDS = (
    _Said(
        "docker-down",
        _line(r"cannot connect to the docker daemon|docker daemon is not running|podman.sock: connect"),
        "Docker is installed, but its service does not run, or you may not use it.",
        "Start Docker (Docker Desktop, or systemctl start docker); on Linux, check that you are in the group "
        "docker.",
    ),
    _Said(
        "image-missing",
        _line(
            r"unable to find image '(?P<what>[^']+)'.*|pull access denied for (?P<what2>\S+?),|"
            r"manifest unknown"
        ),
        "There is no container image {what}, or it may not be pulled.",
        "Check the image's name and tag, and log in to its registry.",
    ),
    _Said(
        "npm-package-missing",
        _line(
            r"npm (?:err!|error) 404.*'(?P<what>[^']+)' is not in (?:this|the npm) registry|npm (?:err!|"
            r"error) code E404"
        ),
        "The npm registry has no package {what}.",
        "Check the spelling of the package in the arguments, and its scope (@scope/name).",
    ),
    _Said(
        "python-package-missing",
        _line(
            r"because (?P<what>\S+) was not found in the package registry|"
            r"no matching distribution found for (?P<what2>\S+)"
        ),
        "The package index has no package {what}.",
        "Check the spelling of the package in the arguments.",
    ),
    _Said(
        "no-such-executable",
        _line(
            r"an executable named [`'\"](?P<what>[^`'\"]+)[`'\"] is not provided|"
            r"could not determine executable to run"
        ),
        "The package is there, but has no program {what} to run.",
        "Name the program: uvx --from PACKAGE PROGRAM, or npx --package PACKAGE PROGRAM.",
    ),
    _Said(
        "installer-offline",
        _line(
            r"(?-i:EAI_AGAIN|ENOTFOUND)|failed to fetch: `?https?://|error sending request for url|"
            r"ECONNREFUSED.*regist|"
            r"could not resolve host"
        ),
        "The installer could not reach its registry: no network, a proxy, or a wrong registry address.",
        "Check the network, and give the server the proxy's variables (HTTPS_PROXY) if one is needed.",
    ),
    _Said(
        "python-module-missing",
        _line(
            r"(?:ModuleNotFoundError|ImportError): No module named '?(?P<what>[\w.]+)|"
            r"(?P<interpreter>\S*python\S*): No module named (?P<what2>[\w.]+)"
        ),
        "Python finds no module {what}: it is not installed in the environment that the command uses.",
        "Install it there, or give the full path of the Python of your virtual environment "
        "(…/.venv/bin/python).",
    ),
    _Said(
        "script-missing",
        _line(
            r"can't open file '(?P<what>[^']+)'|Cannot find module '(?P<what2>(?:/|[A-Za-z]:)[^']+)'|"
            r"error: module not found \"(?P<what3>[^\"]+)\""
        ),
        "The script {what} does not exist.",
        "Check the path in the arguments. A relative one counts from the server's working folder.",
    ),
    _Said(
        "node-module-missing",
        _line(r"(?:Cannot find (?:module|package) '(?P<what>[^']+)')|ERR_MODULE_NOT_FOUND"),
        "Node.js finds no package {what}: its dependencies are not installed.",
        "Run npm install in the server's folder (and npm run build, if it is written in TypeScript).",
    ),
    _Said(
        "script-broken",
        _line(r"^(?:\s*)(?P<what>(?:SyntaxError|IndentationError|TabError): .*)"),
        "The server's code cannot be read: {what}.",
        "Correct it; its log names the file and the line. An old runtime, too, does not know new syntax.",
    ),
    _Said(
        "port-in-use",
        _line(r"EADDRINUSE.*?(?P<what>:\d+)?$|address already in use|only one usage of each socket address"),
        "The server wants to listen on a port that another program has already.",
        "End the other program (an instance of the same server, perhaps), or give the server another port.",
    ),
    _Said(
        "variable-missing",
        re.compile(
            r"\b(?P<what>[A-Z][A-Z0-9]*_[A-Z0-9_]+)\b.*?(?i:\bis (?:not set|required|missing|undefined)|"
            r"\bnot (?:set|found|provided|defined)|\bmust be (?:set|provided))|"
            r"(?i:missing|required|set)\b[^A-Z]*?(?i:variable):? *[`'\"]?(?P<what2>[A-Z][A-Z0-9_]+)|"
            r"KeyError: '(?P<what3>[A-Z][A-Z0-9]*_[A-Z0-9_]+)'"
        ),
        "The server wants the variable {what}, and does not have it. A server gets only a few of your "
        "variables, and those that are configured for it.",
        "Give it under the server's environment variables (as a secret, if it is one).",
    ),
    _Said(
        "file-denied",
        _line(
            r"(?:permission denied|EACCES|PermissionError|"
            r"operation not permitted)(?:[^'\"/]*['\"]?(?P<what>/[^'\"\s]+))?"
        ),
        "The server may not use a file or folder that it needs: {what}.",
        "Check its permissions, and which folder the server is given.",
    ),
    _Said(
        "inner-command-missing",
        _line(
            r"(?:^|[:\s])(?P<what>[^\s:‘’']+): (?:command )?not found$|"
            r"env: .?(?P<what2>[^\s:‘’']+)[’']?: no such file or directory"
        ),
        "What was started wants to start {what}, which is not there.",
        "Install it, or give the server a PATH on which it is.",
    ),
    _Said(
        "arguments-refused",
        _line(
            r"unrecognized arguments?:? (?P<what>.*)|unknown (?:option|argument|flag):? (?P<what2>.*)|"
            r"unexpected argument (?P<what3>.*)|"
            r"the following arguments are required: (?P<what4>.*)|missing required argument:? (?P<what5>.*)|"
            r"bad option: (?P<what6>.*)"
        ),
        "The server does not take these arguments: {what}.",
        "Compare the arguments with the server's documentation; each word is an argument of its own.",
    ),
    _Said(
        "out-of-memory",
        _line(r"JavaScript heap out of memory|MemoryError|Cannot allocate memory"),
        "The server ran out of memory while it started.",
        "Give it more (NODE_OPTIONS=--max-old-space-size=…), or less to load.",
    ),
)


def diagnose_exit(heard: Heard) -> Diagnosis:
    """The process ended before it had answered. Its last words say why; else the way in which it ended."""
    return _by_words(heard) or _by_status(heard)


def _by_words(heard: Heard, words: tuple[_Said, ...] = _WORDS) -> Diagnosis | None:
    lines = heard.said.splitlines()
    for rule in words:
        for line in lines:
            if (match := rule.needle.search(line)) is not None:
                return _worded(rule, match, line)
    return None


def _worded(rule: _Said, match: re.Match[str], line: str) -> Diagnosis:
    groups: Mapping[str, str | None] = match.groupdict()
    what = next((value for name, value in groups.items() if name.startswith("what") and value), "")
    cause = rule.cause.replace("{what}", shorten(one_line(what.strip().rstrip(".")), 160))
    cause = re.sub(r": \.$", ".", cause).replace("  ", " ").replace(" ,", ",").replace(" .", ".")
    return Diagnosis(rule.id, rule.step, cause, rule.fix, (shorten(one_line(line), 300),))


def _by_status(heard: Heard) -> Diagnosis:
    status, last = (
        heard.exit_status or heard.closed,
        tuple(shorten(one_line(line), 300) for line in list(heard.stderr)[-8:]),
    )
    match = re.search(r"signal (\w+)", status)
    if match is not None:
        return _by_signal(match[1], status, last)
    if status.endswith("code 0"):
        return Diagnosis(
            "ended-at-once",
            "handshake",
            "The process ended by itself, as if it had done its work: this is no server, or it waits for "
            "nobody on stdin.",
            "Check that the command starts the server itself: many need an argument such as “stdio”, “serve” "
            "or "
            "“--stdio”.",
            last,
        )
    if status.endswith(("code 127", "code 126")):
        return Diagnosis(
            "inner-command-missing",
            "handshake",
            f"The process {status}: what it was to start is not there, or may not be run.",
            "Install it, or give the server a PATH on which it is.",
            last,
        )
    said = "Its last words are below." if last else "It said nothing on stderr."
    return Diagnosis(
        "exited",
        "handshake",
        f"The process {status or 'ended'} before it had answered. {said}",
        "Run the same command in a terminal, in the same folder, and see what it lacks.",
        last,
    )


def _by_signal(name: str, status: str, last: tuple[str, ...]) -> Diagnosis:
    if name == "SIGKILL":
        cause = f"The process {status}: somebody killed it. Often that is the system, when memory runs out."
        return Diagnosis(
            "killed", "handshake", cause, "Look at the system's log (dmesg), and at its memory.", last
        )
    return Diagnosis(
        "crashed",
        "handshake",
        f"The process {status}: it crashed, in a library or in its runtime.",
        "Install the server and its native libraries anew, for this system.",
        last,
    )


# ------------------------------------------------------------------ it runs, and does not answer

_URL = re.compile(r"(?P<url>https?://[\w.\-\[\]:]+(?:/[\w\-./]*)?)")
_SERVING = re.compile(r"listen|serving|running|started|available|uvicorn|ready", re.IGNORECASE)
_ASKS = re.compile(
    r"ok to proceed\?|need to install the following packages|\[y/n\]|\(y/n\)|press (?:any key|enter)|"
    r"password:",
    re.IGNORECASE,
)
_BUSY = re.compile(r"download|install|resolv|pulling|building|fetching|compil|prepar", re.IGNORECASE)


def diagnose_silence(heard: Heard, limit: float) -> Diagnosis:
    """The process runs, but nothing that came is an answer."""
    found = _other_language(heard) or _by_words(heard, _WORDS[:6])
    if found is not None:
        return found
    said = tuple(shorten(one_line(line), 300) for line in (*heard.stray[-4:], *list(heard.stderr)[-4:]))
    lines = heard.said.splitlines()
    if any(_ASKS.search(line) for line in lines):
        return Diagnosis(
            "asks-the-person",
            "output",
            "The program asks a question that nobody can answer here: there is no terminal.",
            "Make it ask nothing: for npx add -y as the first argument.",
            said,
        )
    if (url := _served_at(lines)) is not None:
        return Diagnosis(
            "serves-http",
            "handshake",
            f"The process runs as a server over HTTP, at {url}, and does not speak on stdin and stdout.",
            "Use that URL instead of the command, or give the argument that makes it speak stdio.",
            said,
        )
    if heard.broken or heard.stray:
        return _only_text(heard, said)
    if any(_BUSY.search(line) for line in lines):
        return Diagnosis(
            "still-installing",
            "output",
            f"After {limit:g} s the program was still busy installing or downloading.",
            "Run the command once in a terminal until it is done, or raise the connect timeout of this "
            "server.",
            said,
        )
    if heard.stderr:
        return Diagnosis(
            "log-only",
            "handshake",
            f"The process runs and writes to stderr, but did not answer on stdout within {limit:g} s.",
            "Its log may say what it waits for. If it is slow to start, raise the connect timeout of this "
            "server.",
            said,
        )
    return Diagnosis(
        "silent",
        "output",
        f"The process runs, but wrote nothing at all within {limit:g} s. This may be no MCP server.",
        "Check the arguments: many servers need one such as “stdio”. If it is slow to start, raise the "
        "connect "
        "timeout of this server.",
    )


def _other_language(heard: Heard) -> Diagnosis | None:
    lines = [*heard.stray, *heard.broken]
    shown = tuple(shorten(one_line(line), 200) for line in lines[:4])
    if any(line.lower().startswith("content-length:") for line in lines):
        return Diagnosis(
            "lsp-framing",
            "handshake",
            "The server writes Content-Length headers, as language servers do. MCP has one message a line.",
            "This is a language server, or a server with the wrong transport: use its MCP mode.",
            shown,
        )
    if any("\0" in line or line.startswith("\ufffd\ufffd") for line in lines):
        return Diagnosis(
            "utf16-output",
            "stray",
            "The server writes UTF-16 to stdout; MCP is UTF-8.",
            "Set its output to UTF-8 (PYTHONIOENCODING=utf-8, or the console's code page).",
            shown,
        )
    if len(heard.broken) > 1 or (heard.broken and heard.stray):
        is_spread = heard.broken[0].strip() in ("{", "[") or heard.broken[0].rstrip().endswith(("{", ","))
        if is_spread:
            return Diagnosis(
                "json-over-lines",
                "handshake",
                "The server writes its messages over several lines, as if for people. In MCP one line is one "
                "message.",
                "Make it write JSON without line breaks.",
                shown,
            )
    return None


def _served_at(lines: list[str]) -> str | None:
    for line in lines:
        match = _URL.search(line)
        if match is not None and _SERVING.search(line):
            return match["url"].rstrip(".")
    return None


def _only_text(heard: Heard, said: tuple[str, ...]) -> Diagnosis:
    if heard.broken:
        return Diagnosis(
            "broken-messages",
            "handshake",
            "The server wrote what looks like messages, but cannot be read as such.",
            "The Traffic view has the bytes. This is a fault of the server.",
            tuple(shorten(one_line(line), 200) for line in heard.broken[:4]),
        )
    return Diagnosis(
        "only-text",
        "stray",
        "The process writes text for people to stdout, and no messages. This may be no MCP server.",
        "Check the arguments: many servers need one such as “stdio”. Logs belong on stderr.",
        said,
    )


def diagnose_stray(heard: Heard) -> Diagnosis | None:
    """It works, but writes to stdout what does not belong there."""
    if not heard.stray:
        return None
    count = len(heard.stray)
    return Diagnosis(
        "stray-output",
        "stray",
        f"The server wrote {count} line{'' if count == 1 else 's'} to stdout that "
        f"{'is' if count == 1 else 'are'} "
        "no message. Some clients give up on that.",
        "Write logs and banners to stderr (print(…, file=sys.stderr), console.error).",
        tuple(shorten(one_line(line), 200) for line in heard.stray[:4]),
        is_warning=True,
    )

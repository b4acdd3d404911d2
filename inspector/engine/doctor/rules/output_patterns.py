"""Table of error messages of runtimes and installers, with cause and fix. Data only."""

from __future__ import annotations

import re
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class OutputPattern:
    """An error message and its meaning.

    `needle` is searched in each line; the text of its `what…` groups replaces {what} in the cause.
    """

    id: str
    needle: re.Pattern[str]
    cause: str
    fix: str
    step: str = "handshake"


def _line(text: str) -> re.Pattern[str]:
    return re.compile(text, re.IGNORECASE)


# The first match wins: specific rules before general ones.
OUTPUT_PATTERNS = (
    OutputPattern(
        "docker-down",
        _line(r"cannot connect to the docker daemon|docker daemon is not running|podman.sock: connect"),
        "Docker is installed, but its service does not run, or you may not use it.",
        "Start Docker (Docker Desktop, or systemctl start docker); on Linux, check that you are in the group "
        "docker.",
    ),
    OutputPattern(
        "image-missing",
        _line(
            r"pull access denied for (?P<what>\S+?),|manifest for (?P<what2>\S+) not found|manifest unknown"
        ),
        "There is no container image {what}, or it may not be pulled.",
        "Check the image's name and tag, and log in to its registry.",
    ),
    OutputPattern(
        "npm-package-missing",
        _line(
            r"npm (?:err!|error) 404.*'(?P<what>[^']+?)(?:@\*)?' (?:is not in|could not be found)|"
            r"npm (?:err!|error) code E404"
        ),
        "The npm registry has no package {what}.",
        "Check the spelling of the package in the arguments, and its scope (@scope/name).",
    ),
    OutputPattern(
        "python-package-missing",
        _line(
            r"because (?P<what>\S+) was not found in the package registry|"
            r"no matching distribution found for (?P<what2>\S+)"
        ),
        "The package index has no package {what}.",
        "Check the spelling of the package in the arguments.",
    ),
    OutputPattern(
        "no-such-executable",
        _line(
            r"an executable named [`'\"](?P<what>[^`'\"]+)[`'\"] is not provided|"
            r"could not determine executable to run"
        ),
        "The package is there, but has no program {what} to run.",
        "Name the program: uvx --from PACKAGE PROGRAM, or npx --package PACKAGE PROGRAM.",
    ),
    OutputPattern(
        "asks-the-person",
        _line(r"npx canceled due to missing packages and no YES option(?:: \[\"(?P<what>[^\"]+))?"),
        "npx must first install {what}, and asks whether it may; there is no terminal to ask in.",
        "Add -y as the first argument of npx.",
    ),
    OutputPattern(
        "installer-distrusts",
        _line(
            r"invalid peer certificate|certificate verify failed|unable to get local issuer certificate|"
            r"UNABLE_TO_(?:GET_ISSUER_CERT|VERIFY_LEAF)|SELF_SIGNED_CERT|self.signed certificate"
        ),
        "What was started does not trust the certificate of a host that it needs: mostly, a company's proxy "
        "is in between. A server gets only a few of your variables.",
        "Give the server the variable that names your CA file: SSL_CERT_FILE for uv and Python, "
        "NODE_EXTRA_CA_CERTS for npx and Node.js.",
    ),
    OutputPattern(
        "installer-offline",
        _line(
            r"(?-i:EAI_AGAIN|ENOTFOUND)|failed to fetch: `?https?://|error sending request for url|"
            r"ECONNREFUSED.*regist|"
            r"could not resolve host"
        ),
        "The installer could not reach its registry: no network, a proxy, or a wrong registry address.",
        "Check the network, and give the server the proxy's variables (HTTPS_PROXY) if one is needed.",
    ),
    OutputPattern(
        "sdk-too-new",
        _line(r"No module named '(?P<what>mcp\.[\w.]+)'\. This is mcp 2"),
        "The server is written for version 1 of the MCP SDK for Python; version 2 is installed, and has no "
        "{what}.",
        'Install mcp<2 in its environment (uvx --with "mcp<2" …), or update the server.',
    ),
    OutputPattern(
        "python-module-missing",
        _line(
            r"(?:ModuleNotFoundError|ImportError): No module named '?(?P<what>[\w.]+)|"
            r"(?P<interpreter>\S*python\S*): No module named (?P<what2>[\w.]+)"
        ),
        "Python finds no module {what}: it is not installed in the environment that the command uses.",
        "Install it there, or give the full path of the Python of your virtual environment "
        "(…/.venv/bin/python).",
    ),
    OutputPattern(
        "script-missing",
        _line(
            r"can't open file '(?P<what>[^']+)'|Cannot find module '(?P<what2>(?:/|[A-Za-z]:)[^']+)'|"
            r"error: module not found \"(?P<what3>[^\"]+)\""
        ),
        "The script {what} does not exist.",
        "Check the path in the arguments. A relative one counts from the server's working folder.",
    ),
    OutputPattern(
        "node-module-missing",
        _line(r"(?:Cannot find (?:module|package) '(?P<what>[^']+)')|ERR_MODULE_NOT_FOUND"),
        "Node.js finds no package {what}: its dependencies are not installed.",
        "Run npm install in the server's folder (and npm run build, if it is written in TypeScript).",
    ),
    OutputPattern(
        "script-broken",
        _line(r"^(?:\s*)(?P<what>(?:SyntaxError|IndentationError|TabError): .*)"),
        "The server's code cannot be read: {what}.",
        "Correct it; its log names the file and the line. An old runtime, too, does not know new syntax.",
    ),
    OutputPattern(
        "port-in-use",
        _line(r"EADDRINUSE.*?(?P<what>:\d+)?$|address already in use|only one usage of each socket address"),
        "The server wants to listen on a port that another program has already.",
        "End the other program (an instance of the same server, perhaps), or give the server another port.",
    ),
    OutputPattern(
        "variable-missing",
        re.compile(
            r"\b(?P<what>[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+)\b.*?(?i:\bis (?:not set|required|missing|undefined)|"
            r"\bnot (?:set|found|provided|defined)|\bmust be (?:set|provided))|"
            r"(?i:missing|required|set)\b[^A-Z]*?(?i:variable):? *[`'\"]?(?P<what2>[A-Z][A-Z0-9_]+)|"
            r"KeyError: '(?P<what3>[A-Z][A-Z0-9]*_[A-Z0-9_]+)'"
        ),
        "The server wants the variable {what}, and does not have it. A server gets only a few of your "
        "variables, and those that are configured for it.",
        "Give it under the server's environment variables (as a secret, if it is one).",
    ),
    OutputPattern(
        "file-denied",
        _line(
            r"(?:permission denied|EACCES|PermissionError|"
            r"operation not permitted)(?:[^'\"/]*['\"]?(?P<what>/[^'\"\s]+))?"
        ),
        "The server may not use a file or folder that it needs: {what}.",
        "Check its permissions, and which folder the server is given.",
    ),
    OutputPattern(
        "path-missing",
        _line(
            r"(?P<what>(?:/|[A-Z]:\\)[^\s'\":]+)['\"]? (?:does not exist|is not a (?:directory|valid))|"
            r"no such file or directory[^'\"]*['\"](?P<what2>[^'\"]+)|"
            r"cannot access directory:? (?P<what3>[^\s,]+)|"
            r"(?:NoSuchPathError|InvalidGitRepositoryError): (?P<what4>\S+)"
        ),
        "The server does not find {what}, or cannot use it.",
        "Check the path in its arguments and variables. A relative one counts from the server's working "
        "folder.",
    ),
    OutputPattern(
        "inner-command-missing",
        _line(
            r"(?:^|[:\s])(?P<what>[^\s:‘’']+): (?:command )?not found$|"
            r"env: .?(?P<what2>[^\s:‘’']+)[’']?: no such file or directory"
        ),
        "What was started wants to start {what}, which is not there.",
        "Install it, or give the server a PATH on which it is.",
    ),
    OutputPattern(
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
    OutputPattern(
        "out-of-memory",
        _line(r"JavaScript heap out of memory|MemoryError|Cannot allocate memory"),
        "The server ran out of memory while it started.",
        "Give it more (NODE_OPTIONS=--max-old-space-size=…), or less to load.",
    ),
)

# Messages that an installer may print while it continues to run.
INSTALLER_PATTERNS = tuple(
    rule
    for rule in OUTPUT_PATTERNS
    if rule.id
    in (
        *("docker-down", "image-missing", "npm-package-missing", "python-package-missing"),
        *("no-such-executable", "installer-distrusts", "installer-offline"),
    )
)

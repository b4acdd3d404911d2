"""Table of error messages of runtimes and installers, with cause and fix. Data only."""

from __future__ import annotations

import re
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class OutputPattern:
    """An error message and its meaning.

    `regex` is searched in each line; the text of its `what…` groups replaces {what} in the cause.
    """

    id: str
    regex: re.Pattern[str]
    cause: str
    fix: str
    step: str = "handshake"


def _line(text: str) -> re.Pattern[str]:
    return re.compile(text, re.IGNORECASE)


# The alias of Windows for a program that is not installed exits with code 9009.
STORE_ALIAS_FIX = (
    "Install Python, and turn off its alias in Windows under Settings, Apps, Advanced app settings, App "
    "execution aliases."
)
# The first match wins: specific rules before general ones.
OUTPUT_PATTERNS = (
    OutputPattern(
        "store-alias",
        _line(r"python was not found; run without arguments to install from the microsoft store"),
        "The server starts python, which is not installed: the alias of Windows only opens the Microsoft "
        "Store.",
        STORE_ALIAS_FIX,
    ),
    OutputPattern(
        "docker-down",
        _line(r"cannot connect to the docker daemon|docker daemon is not running|podman.sock: connect"),
        "Docker is installed, but its daemon is not running, or you may not use it.",
        "Start Docker (Docker Desktop, or systemctl start docker). On Linux, check that you are in the "
        "docker group.",
    ),
    OutputPattern(
        "image-missing",
        _line(
            r"pull access denied for (?P<what>\S+?),|manifest for (?P<what2>\S+) not found|manifest unknown"
        ),
        "The container image does not exist or cannot be pulled: {what}.",
        "Check the image's name and tag, and log in to its registry.",
    ),
    OutputPattern(
        "npm-package-missing",
        _line(
            r"npm (?:err!|error) 404.*'(?P<what>[^']+?)(?:@\*)?' (?:is not in|could not be found)|"
            r"npm (?:err!|error) code E404"
        ),
        "Package not found in the npm registry: {what}.",
        "Check the package name in the arguments, and its scope (@scope/name).",
    ),
    OutputPattern(
        "python-package-missing",
        _line(
            r"because (?P<what>\S+) was not found in the package registry|"
            r"no matching distribution found for (?P<what2>\S+)"
        ),
        "Package not found in the package index: {what}.",
        "Check the package name in the arguments.",
    ),
    OutputPattern(
        "no-such-executable",
        _line(
            r"an executable named [`'\"](?P<what>[^`'\"]+)[`'\"] is not provided|"
            r"could not determine executable to run"
        ),
        "The package exists, but does not provide the program: {what}.",
        "Specify the program: uvx --from PACKAGE PROGRAM, or npx --package PACKAGE PROGRAM.",
    ),
    OutputPattern(
        "asks-the-person",
        _line(r"npx canceled due to missing packages and no YES option(?:: \[\"(?P<what>[^\"]+))?"),
        "npx asks before it installs a package, but there is no terminal to answer in: {what}.",
        "Add -y as the first argument of npx.",
    ),
    OutputPattern(
        "installer-distrusts",
        _line(
            r"invalid peer certificate|certificate verify failed|unable to get local issuer certificate|"
            r"UNABLE_TO_(?:GET_ISSUER_CERT|VERIFY_LEAF)|SELF_SIGNED_CERT|self.signed certificate"
        ),
        "The program does not trust the certificate of a host it needs, usually because of a company proxy.",
        "Set the variable that names your CA file: SSL_CERT_FILE for uv and Python, "
        "NODE_EXTRA_CA_CERTS for npx and Node.js.",
    ),
    OutputPattern(
        "installer-offline",
        _line(
            r"(?-i:EAI_AGAIN|ENOTFOUND)|failed to fetch: `?https?://|error sending request for url|"
            r"ECONNREFUSED.*regist|"
            r"could not resolve host"
        ),
        "The installer could not reach its registry: no network, a proxy, or a wrong registry URL.",
        "Check the network, and set HTTPS_PROXY for the server if it needs a proxy.",
    ),
    OutputPattern(
        "sdk-too-new",
        _line(r"No module named '(?P<what>mcp\.[\w.]+)'\. This is mcp 2"),
        "The server needs version 1 of the MCP Python SDK, but version 2 is installed, which has no {what}.",
        'Install mcp<2 in its environment (uvx --with "mcp<2" …), or update the server.',
    ),
    OutputPattern(
        "python-module-missing",
        _line(
            r"(?:ModuleNotFoundError|ImportError): No module named '?(?P<what>[\w.]+)|"
            r"(?P<interpreter>\S*python\S*): No module named (?P<what2>[\w.]+)"
        ),
        "Python module not found: {what}. It is not installed in the environment the command uses.",
        "Install it there, or use the full path of the Python in your virtual environment "
        "(…/.venv/bin/python).",
    ),
    OutputPattern(
        "script-missing",
        _line(
            r"can't open file '(?P<what>[^']+)'|Cannot find module '(?P<what2>(?:/|[A-Za-z]:)[^']+)'|"
            r"error: module not found \"(?P<what3>[^\"]+)\""
        ),
        "Script not found: {what}.",
        "Check the path in the arguments. Relative paths start at the server's working directory.",
    ),
    OutputPattern(
        "node-module-missing",
        _line(r"(?:Cannot find (?:module|package) '(?P<what>[^']+)')|ERR_MODULE_NOT_FOUND"),
        "Node.js package not found: {what}. The server's dependencies are not installed.",
        "Run npm install in the server's folder (and npm run build if it is written in TypeScript).",
    ),
    OutputPattern(
        "script-broken",
        _line(r"^(?:\s*)(?P<what>(?:SyntaxError|IndentationError|TabError): .*)"),
        "The server's code has a syntax error: {what}.",
        "Fix it; the log names the file and line. An old runtime may not support newer syntax.",
    ),
    OutputPattern(
        "port-in-use",
        # 10048 is WSAEADDRINUSE; the text is in the language of the system.
        _line(
            r"EADDRINUSE.*?(?P<what>:\d+)?$|address already in use|"
            r"only one usage of each socket address|\[(?:WinError|Errno) 10048\]"
        ),
        "The server cannot listen on its port: another program is using it.",
        "Stop the other program (perhaps another instance of this server), or give the server another port.",
    ),
    OutputPattern(
        "variable-missing",
        re.compile(
            r"\b(?P<what>[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+)\b.*?(?i:\bis (?:not set|required|missing|undefined)|"
            r"\bnot (?:set|found|provided|defined)|\bmust be (?:set|provided))|"
            r"(?i:missing|required|set)\b[^A-Z]*?(?i:variable):? *[`'\"]?(?P<what2>[A-Z][A-Z0-9_]+)|"
            r"KeyError: '(?P<what3>[A-Z][A-Z0-9]*_[A-Z0-9_]+)'"
        ),
        "The server needs an environment variable that is not set: {what}.",
        "Add it to the server's environment variables (as a secret if it is one).",
    ),
    OutputPattern(
        "file-denied",
        _line(
            r"(?:permission denied|EACCES|PermissionError|"
            r"operation not permitted)(?:[^'\"/]*['\"]?(?P<what>/[^'\"\s]+))?"
        ),
        "The server has no permission for a file or folder it needs: {what}.",
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
        "The server cannot find or use a path: {what}.",
        "Check the path in its arguments and environment variables. Relative paths start at the "
        "server's working directory.",
    ),
    OutputPattern(
        "inner-command-missing",
        _line(
            r"(?:^|[:\s])(?P<what>[^\s:‘’']+): (?:command )?not found$|"
            r"env: .?(?P<what2>[^\s:‘’']+)[’']?: no such file or directory|"
            r"'\"?(?P<what3>[^'\"]+)\"?' is not recognized as (?:an internal|the name of a)"
        ),
        "The program needs another program that is not installed: {what}.",
        "Install it, or set a PATH for the server that includes it.",
    ),
    OutputPattern(
        "arguments-refused",
        _line(
            r"unrecognized arguments?:? (?P<what>.*)|unknown (?:option|argument|flag):? (?P<what2>.*)|"
            r"unexpected argument (?P<what3>.*)|"
            r"the following arguments are required: (?P<what4>.*)|missing required argument:? (?P<what5>.*)|"
            r"bad option: (?P<what6>.*)"
        ),
        "The server does not accept these arguments: {what}.",
        "Compare the arguments with the server's documentation; each word must be a separate argument.",
    ),
    OutputPattern(
        "out-of-memory",
        _line(r"JavaScript heap out of memory|MemoryError|Cannot allocate memory"),
        "The server ran out of memory during startup.",
        "Give it more memory (NODE_OPTIONS=--max-old-space-size=…), or less to load.",
    ),
)

# Messages that an installer may print while it continues to run.
INSTALLER_PATTERNS = tuple(
    pattern
    for pattern in OUTPUT_PATTERNS
    if pattern.id
    in (
        *("docker-down", "image-missing", "npm-package-missing", "python-package-missing"),
        *("no-such-executable", "installer-distrusts", "installer-offline"),
    )
)

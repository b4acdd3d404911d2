"""What a person should know before agreeing to a server of somebody else's: what its settings can do that one
does not see at a glance. Sentences only; nothing here forbids or looks up anything.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from urllib.parse import urlsplit

from inspector.base.jsonvalue import shorten
from inspector.base.plaintext import one_line
from inspector.config.entries import Entry, StdioEntry

_SHELLS = {"sh", "bash", "dash", "zsh", "ksh", "fish", "cmd", "powershell", "pwsh"}
# Options that take inline code, by interpreter.
_CODE = {
    "python": ("-c",),
    "node": ("-e", "--eval", "-p", "--print"),
    "bun": ("-e", "--eval"),
    "deno": ("eval",),
    "perl": ("-e", "-E"),
    "ruby": ("-e",),
    "php": ("-r",),
    "lua": ("-e",),
    "osascript": ("-e",),
}
# Commands that download and run a package: alone, or with one of these as the first argument.
_FETCHERS: dict[str, tuple[str, ...]] = {
    "npx": (),
    "bunx": (),
    "pnpx": (),
    "uvx": (),
    "npm": ("exec", "x"),
    "pnpm": ("dlx",),
    "yarn": ("dlx",),
    "bun": ("x",),
    "uv": ("tool",),
    "pipx": ("run",),
    "docker": ("run",),
    "podman": ("run",),
}
_CONTAINERS = ("docker", "podman", "nerdctl")
_OPENINGS = (
    "-v",
    "--volume",
    "--mount",
    "--privileged",
    "--pid",
    "--net",
    "--network",
    "--device",
    "--cap-add",
)
_WRAPPERS = {"env", "sudo", "doas", "xargs", "nohup", "nice", "timeout", "setsid", "ssh"}
# Variables that make the loader, a runtime or a package manager run or fetch something else.
_RUNS_CODE = re.compile(
    r"LD_\w+|DYLD_\w+|PATH|PATHEXT|NODE_(?:OPTIONS|PATH)|PYTHON(?:PATH|STARTUP|HOME|USERBASE|INSPECT|BREAKPOINT)"
    r"|PERL5(?:LIB|OPT|DB)|PERLLIB|RUBY(?:OPT|LIB)|CLASSPATH|_?JAVA_(?:TOOL_)?OPTIONS|JDK_JAVA_OPTIONS"
    r"|BASH_ENV|ENV|ZDOTDIR|PROMPT_COMMAND|SHELL|IFS|EDITOR|VISUAL|PAGER|BROWSER"
    r"|GIT_\w+|NPM_CONFIG_\w+|UV_\w+|PIP_\w+|BUN_\w+|DENO_\w+|DOTNET_STARTUP_HOOKS|COR_PROFILER\w*"
)
_REROUTES = re.compile(
    r"(?:HTTPS?|ALL|FTP|WSS?)_PROXY|SSL_CERT_(?:FILE|DIR)|NODE_EXTRA_CA_CERTS|NODE_TLS_REJECT_UNAUTHORIZED"
    r"|REQUESTS_CA_BUNDLE|CURL_CA_BUNDLE|PYTHONHTTPSVERIFY|SSLKEYLOGFILE"
)
_LATIN = re.compile("[A-Za-z]")
# Greek, Cyrillic, Armenian, Cherokee, letterlike, full width, mathematical: all contain homoglyphs of Latin
# letters.
_TWINS = re.compile(
    "[\u0370-\u03ff\u0400-\u052f\u0530-\u058f\u13a0-\u13ff\u1c80-\u1c8f\u2100-\u214f\uff01-\uff5e"
    "\U0001d400-\U0001d7ff]"
)
_ODD_SPACES = re.compile("[\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u2800\u3000]")
_LOOPBACK = re.compile(r"localhost|.+\.localhost|127(?:\.\d+){3}|::1", re.IGNORECASE)
_MOST_NAMED = 8


def cautions_of(entry: Entry) -> tuple[str, ...]:
    """Return warnings about a server, most important first; empty if nothing is suspicious."""
    if isinstance(entry, StdioEntry):
        words = (entry.command, *entry.args)
        return (*_of_command(entry), *_of_variables(entry.env), *_of_letters(words))
    return (*_of_url(entry.url), *_of_letters((_behind_host(entry.url),)))


def _of_command(entry: StdioEntry) -> Iterator[str]:
    name, args = _program_name(entry.command), entry.args
    if name in _WRAPPERS:
        yield f"It starts another program through {name}: only {name} itself is checked for changes."
    own = _own_options(args)
    if name in _SHELLS and any(_is_shell_code(word) for word in own):
        yield f"It hands a command to a shell, {name}, which can do anything. Read the whole of it."
    if any(word.partition("=")[0] in _CODE.get(_without_version(name), ()) for word in own):
        yield f"Its arguments are a program for {name}. Read the whole of it."
    if name in _FETCHERS and _fetches(name, args):
        yield f"{name} downloads what it runs, which can change without being noticed here."
    if name in _CONTAINERS:
        opened = [word.partition("=")[0] for word in args if word.partition("=")[0] in _OPENINGS]
        if opened:
            yield f"It gives the container access to this machine: {_listed(opened)}."


def _own_options(args: Sequence[str]) -> list[str]:
    """Return the program's own arguments: those up to the script or module it runs."""
    own: list[str] = []
    for word in args:
        is_value = bool(own) and own[-1].startswith("-") and "=" not in own[-1]
        own.append(word)
        is_option = word.startswith("-") or (word.startswith("/") and len(word) == 2)
        if word == "-m" or not (is_option or is_value):
            break
    return own


def _is_shell_code(word: str) -> bool:
    lower = word.lower()
    is_posix = word.startswith("-") and not word.startswith("--") and "c" in word  # also -lc, -ec
    return is_posix or lower in ("/c", "/k", "-command", "-encodedcommand", "-enc", "--command")


def _fetches(name: str, args: Sequence[str]) -> bool:
    first = next((word for word in args if not word.startswith("-")), "")
    return not _FETCHERS[name] or first in _FETCHERS[name]


def _of_variables(env: Iterable[str]) -> Iterator[str]:
    names = list(env)
    if running := [name for name in names if _RUNS_CODE.fullmatch(name.upper())]:
        yield f"It sets {_listed(running)}, by which programs can be made to run other code."
    if rerouting := [name for name in names if _REROUTES.fullmatch(name.upper())]:
        yield f"It sets {_listed(rerouting)}, which decides where traffic goes or whom it trusts."


def _of_url(url: str) -> Iterator[str]:
    try:
        parts = urlsplit(url)
        host = parts.hostname or ""
    except ValueError:
        return
    shown = one_line(shorten(host, 200))
    if "@" in parts.netloc:
        yield f"What stands before the “@” is a user name: it contacts {shown}."
    if not host.isascii():
        yield f"The host is not written in plain letters. It is {_punycode(host)}."
    if parts.scheme in ("http", "ws") and not _LOOPBACK.fullmatch(host):
        yield "It is not encrypted: everybody on the way can read and change what is sent."


def _behind_host(url: str) -> str:
    return "/".join(url.split("/")[3:])


def _punycode(host: str) -> str:
    try:
        return host.encode("idna").decode()
    except UnicodeError:
        return one_line(shorten(ascii(host), 200))


def _of_letters(words: Iterable[str]) -> Iterator[str]:
    """Yield one warning per kind of suspicious character, with the first word that contains it."""
    found: dict[str, str] = {}
    for word in words:
        if _LATIN.search(word) and (twins := _TWINS.findall(word)):
            found.setdefault("letters that may look like Latin ones", _codes(word, twins))
        if spaces := _ODD_SPACES.findall(word):
            found.setdefault("spaces that are none", _codes(word, spaces))
    for what, where in found.items():
        yield f"There are {what} in {where}."


def _codes(word: str, characters: Sequence[str]) -> str:
    kinds = _listed([f"U+{ord(each):04X}" for each in dict.fromkeys(characters)])
    return f"“{one_line(shorten(word, 60))}”: {kinds}"


def _without_version(name: str) -> str:
    return re.sub(r"[\d.]+w?$", "", name)


def _program_name(command: str) -> str:
    name = re.split(r"[/\\]", command)[-1].lower()
    return re.sub(r"\.(?:exe|cmd|bat)$", "", name)


def _listed(names: Sequence[str]) -> str:
    shown = list(dict.fromkeys(one_line(shorten(name, 60)) for name in names))
    more = f" and {len(shown) - _MOST_NAMED} more" if len(shown) > _MOST_NAMED else ""
    return ", ".join(shown[:_MOST_NAMED]) + more

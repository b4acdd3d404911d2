"""Trust in servers from other clients' files: the user's approvals, and warnings.

An approval is for one server in one file with exactly this content: the program (its path and hash),
arguments, environment variables and folder, or the URL and headers, and everything else that the
connection depends on. Any change requires a new approval. Of secrets only digests are stored, salted per
approvals file.

`warnings_for` describes what an entry can do that is not obvious at a glance. It forbids nothing and does
no I/O. `check_command` rejects commands that are never allowed.
"""

from __future__ import annotations

import hashlib
import json
import re
import secrets
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import urlsplit

from inspector.base.errors import ConfigError
from inspector.base.json.values import JSON, JSONObject, shorten
from inspector.base.plain_text import one_line
from inspector.base.redaction import MASK
from inspector.config.json_file import JsonDocument
from inspector.config.servers.entries import Entry, StdioEntry, installer_of, program_name
from inspector.config.servers.entry_diff import FieldChange, compare_content, masked
from inspector.config.servers.placeholders import InputOwner
from inspector.config.servers.server_list import write_entry

# Members that do not affect the connection; changing them needs no new approval.
_UNCHECKED_MEMBERS = ("disabled", "enabled", "autoRestart", "autoConnect", "notes", "color")
_DIGEST_LENGTH = 8
_OWNER_DIGEST_LENGTH = 32


@dataclass(frozen=True, slots=True)
class Program:
    """What a command would start: the resolved program and the scripts in its arguments.

    Each with the SHA-256 of its content.
    """

    path: str = ""
    sha256: str = ""
    scripts: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Approval:
    """The user's approval of a server from another client's file.

    `key` is the digest of exactly what was approved; `content` is for showing changes, with secrets
    replaced by digests. `folder`: one file may define servers for several folders. `variables` are the
    environment variables that the server may use.
    """

    file: str
    folder: str
    name: str
    key: str
    content: JSONObject
    variables: tuple[str, ...] = ()
    at: str = ""


def content_of(entry: Entry, file: str, folder: str, program: Program | None = None) -> JSONObject:
    """Return everything that connecting depends on, with placeholders not expanded."""
    members = {name: value for name, value in write_entry(entry).items() if name not in _UNCHECKED_MEMBERS}
    content: JSONObject = {"file": file, "folder": folder, "name": entry.name, **members}
    if program is not None:
        scripts: JSONObject = dict(program.scripts)
        content["program"] = {"path": program.path, "sha256": program.sha256, "scripts": scripts}
    return content


def digest_of(content: JSONObject, salt: str = "") -> str:
    """Return a digest that is independent of member order."""
    canonical = json.dumps(content, sort_keys=True, separators=(",", ":"), default=str)
    return hashlib.sha256(f"{salt}\n{canonical}".encode(errors="surrogatepass")).hexdigest()


class TrustStore:
    """Approvals in a private file. Without a path, they are not saved.

    Errors are ConfigErrors that name the file.
    """

    def __init__(self, path: Path | None = None) -> None:
        self.path = path
        self._file = JsonDocument(path) if path is not None else None
        self._memory: JSONObject = {}

    def find(self, file: str, folder: str, name: str) -> Approval | None:
        """Return the approval of a server in a file. Raises ConfigError."""
        for approval in self.approvals():
            if (approval.file, approval.folder, approval.name) == (file, folder, name):
                return approval
        return None

    def approvals(self) -> tuple[Approval, ...]:
        """Return all readable approvals; tampered ones are ignored. Raises ConfigError."""
        return _approvals(self._read())

    def covers(self, approval: Approval, content: JSONObject) -> bool:
        """True if exactly this content was approved."""
        return secrets.compare_digest(approval.key, digest_of(content, _salt(self._read())))

    def changes(self, approval: Approval, content: JSONObject) -> tuple[FieldChange, ...]:
        """Return what changed since the approval."""
        return compare_content(approval.content, self._masked(content, _salt(self._read())))

    def input_owner(self, content: JSONObject) -> InputOwner:
        """Return the owner of the stored inputs: this server in this file with these settings.

        A new version of its program keeps them, as that needs a new approval anyway. Raises ConfigError.
        """
        salt = _salt(self._read())
        location: JSONObject = {name: content[name] for name in ("file", "folder", "name")}
        settings: JSONObject = {name: value for name, value in content.items() if name != "program"}
        return InputOwner(
            str(content["name"]),
            digest_of(location, salt)[:_OWNER_DIGEST_LENGTH],
            digest_of(settings, salt)[:_OWNER_DIGEST_LENGTH],
        )

    def approve(self, content: JSONObject, variables: Iterable[str] = ()) -> Approval:
        """Approve this content, replacing an earlier approval of the server. Raises ConfigError."""
        with self._locked():
            document = self._read()
            salt = _salt(document) or secrets.token_hex(16)
            approval = Approval(
                str(content["file"]),
                str(content["folder"]),
                str(content["name"]),
                digest_of(content, salt),
                self._masked(content, salt),
                tuple(variables),
                datetime.now(UTC).isoformat(timespec="seconds"),
            )
            others = self._others(document, approval.file, approval.folder, approval.name)
            self._write(document, salt, [*others, approval])
        return approval

    def revoke(self, file: str, folder: str, name: str) -> None:
        """Revoke the approval of a server. Raises ConfigError."""
        with self._locked():
            document = self._read()
            others = self._others(document, file, folder, name)
            if len(others) < len(_approvals(document)):
                self._write(document, _salt(document), others)

    def _others(self, document: JSONObject, *location: str) -> list[Approval]:
        approvals = _approvals(document)
        return [each for each in approvals if (each.file, each.folder, each.name) != location]

    def _masked(self, content: JSONObject, salt: str) -> JSONObject:
        def mask(value: str) -> str:
            return f"{MASK} ({digest_of({'secret': value}, salt)[:_DIGEST_LENGTH]})"

        return masked(content, mask)

    def _locked(self) -> AbstractContextManager[None]:
        return self._file.locked() if self._file is not None else nullcontext()

    def _read(self) -> JSONObject:
        return self._memory if self._file is None else self._file.read()

    def _write(self, document: JSONObject, salt: str, approvals: list[Approval]) -> None:
        written: list[JSON] = [_written(approval) for approval in approvals]
        document = {**document, "salt": salt, "approvals": written}
        if self._file is None:
            self._memory = document
        else:
            self._file.write(document)


def _salt(document: JSONObject) -> str:
    salt = document.get("salt", "")
    return salt if isinstance(salt, str) else ""


def _approvals(document: JSONObject) -> tuple[Approval, ...]:
    listed = document.get("approvals", [])
    read = map(_read_approval, listed if isinstance(listed, list) else [])
    return tuple(approval for approval in read if approval is not None)


def _read_approval(value: JSON) -> Approval | None:
    if not isinstance(value, dict):
        return None
    strings = [text for each in ("file", "folder", "name", "key") if isinstance(text := value.get(each), str)]
    content, variables, at = value.get("content"), value.get("variables", []), value.get("at", "")
    if len(strings) < 4 or not isinstance(content, dict) or not isinstance(variables, list):
        return None
    file, folder, name, key = strings
    return Approval(file, folder, name, key, content, tuple(map(str, variables)), str(at))


def _written(approval: Approval) -> JSONObject:
    variables: list[JSON] = list(approval.variables)
    return {
        "file": approval.file,
        "folder": approval.folder,
        "name": approval.name,
        "key": approval.key,
        "content": approval.content,
        "variables": variables,
        "at": approval.at,
    }


def check_command(command: str, is_absolute: bool) -> None:
    """Raise ConfigError for a relative command from another client's file.

    Only a program on the PATH or with its full path is certain to be the one that the user saw.
    """
    if is_relative(command, is_absolute):
        raise ConfigError(
            f"It starts a program by a relative path, {command!r}. That is not allowed for servers "
            "from other clients' files.",
            "Import a copy, which uses the full path.",
        )


def is_relative(command: str, is_absolute: bool) -> bool:
    """True if the command depends on the working directory; so does `C:x.exe` (drive-relative)."""
    return not is_absolute and any(character in command for character in "/\\:")


_SHELLS = {"sh", "bash", "dash", "zsh", "ksh", "fish", "cmd", "powershell", "pwsh"}
# Options that take inline code, by interpreter.
_CODE_OPTIONS = {
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
_CONTAINERS = ("docker", "podman", "nerdctl")
_ACCESS_OPTIONS = (
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
_REROUTES_TRAFFIC = re.compile(
    r"(?:HTTPS?|ALL|FTP|WSS?)_PROXY|SSL_CERT_(?:FILE|DIR)|NODE_EXTRA_CA_CERTS|NODE_TLS_REJECT_UNAUTHORIZED"
    r"|REQUESTS_CA_BUNDLE|CURL_CA_BUNDLE|PYTHONHTTPSVERIFY|SSLKEYLOGFILE"
)
_LATIN = re.compile("[A-Za-z]")
# Greek, Cyrillic, Armenian, Cherokee, letterlike, full width, mathematical: all contain homoglyphs of Latin
# letters.
_HOMOGLYPHS = re.compile(
    "[\u0370-\u03ff\u0400-\u052f\u0530-\u058f\u13a0-\u13ff\u1c80-\u1c8f\u2100-\u214f\uff01-\uff5e"
    "\U0001d400-\U0001d7ff]"
)
_UNUSUAL_SPACES = re.compile("[\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u2800\u3000]")
_LOOPBACK = re.compile(r"localhost|.+\.localhost|127(?:\.\d+){3}|::1", re.IGNORECASE)
_MAX_LISTED = 8


def warnings_for(entry: Entry) -> tuple[str, ...]:
    """Return warnings about a server, most important first; empty if nothing is suspicious."""
    if isinstance(entry, StdioEntry):
        words = (entry.command, *entry.args)
        return (
            *_command_warnings(entry),
            *_environment_warnings(entry),
            *_variable_warnings(entry.env),
            *_character_warnings(words),
        )
    return (*_url_warnings(entry.url), *_character_warnings((_path_of(entry.url),)))


def _command_warnings(entry: StdioEntry) -> Iterator[str]:
    name, args = program_name(entry.command), entry.args
    if name in _WRAPPERS:
        yield f"It starts another program through {name}; only {name} itself is checked for changes."
    own = _own_options(args)
    if name in _SHELLS and any(_is_shell_code(word) for word in own):
        yield f"It passes a command to a shell ({name}), which can do anything. Review the whole command."
    if any(word.partition("=")[0] in _CODE_OPTIONS.get(_without_version(name), ()) for word in own):
        yield f"Its arguments are code for {name}. Review all of it."
    is_local = name == "uv" and "tool" not in args  # uv run installs packages, but runs local code
    if installer_of((entry.command, *args)) and not is_local:
        yield f"{name} downloads the code it runs. MCP Lens cannot detect changes to that code."
    if name in _CONTAINERS:
        access = [word.partition("=")[0] for word in args if word.partition("=")[0] in _ACCESS_OPTIONS]
        if access:
            yield f"It gives the container access to this machine: {_listed(access)}."


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


def _environment_warnings(entry: StdioEntry) -> Iterator[str]:
    if entry.inherit_environment:
        yield (
            "It gets your whole environment: all variables of MCP Lens, including keys, tokens and passwords "
            "in them."
        )


def _variable_warnings(env: Iterable[str]) -> Iterator[str]:
    names = list(env)
    if code_variables := [name for name in names if _RUNS_CODE.fullmatch(name.upper())]:
        yield f"It sets {_listed(code_variables)}, which can make programs run other code."
    if network_variables := [name for name in names if _REROUTES_TRAFFIC.fullmatch(name.upper())]:
        yield (
            f"It sets {_listed(network_variables)}, which controls where traffic goes or which "
            "certificates are trusted."
        )


def _url_warnings(url: str) -> Iterator[str]:
    try:
        parts = urlsplit(url)
        host = parts.hostname or ""
    except ValueError:
        return
    shown = one_line(shorten(host, 200))
    if "@" in parts.netloc:
        yield f"The part before “@” is a user name; the actual host is {shown}."
    if not host.isascii():
        yield f"The host contains non-ASCII characters. It is {_punycode(host)}."
    if parts.scheme in ("http", "ws") and not _LOOPBACK.fullmatch(host):
        yield "It is not encrypted: anyone on the network path can read and change the traffic."


def _path_of(url: str) -> str:
    return "/".join(url.split("/")[3:])


def _punycode(host: str) -> str:
    try:
        return host.encode("idna").decode()
    except UnicodeError:
        return one_line(shorten(ascii(host), 200))


def _character_warnings(words: Iterable[str]) -> Iterator[str]:
    """Yield one warning per kind of suspicious character, with the first word that contains it."""
    found: dict[str, str] = {}
    for word in words:
        if _LATIN.search(word) and (homoglyphs := _HOMOGLYPHS.findall(word)):
            found.setdefault("letters that can look like Latin letters", _codes(word, homoglyphs))
        if spaces := _UNUSUAL_SPACES.findall(word):
            found.setdefault("unusual space characters", _codes(word, spaces))
    for what, where in found.items():
        yield f"There are {what} in {where}."


def _codes(word: str, characters: Sequence[str]) -> str:
    kinds = _listed([f"U+{ord(each):04X}" for each in dict.fromkeys(characters)])
    return f"“{one_line(shorten(word, 60))}”: {kinds}"


def _without_version(name: str) -> str:
    return re.sub(r"[\d.]+w?$", "", name)


def _listed(names: Sequence[str]) -> str:
    shown = list(dict.fromkeys(one_line(shorten(name, 60)) for name in names))
    more = f" and {len(shown) - _MAX_LISTED} more" if len(shown) > _MAX_LISTED else ""
    return ", ".join(shown[:_MAX_LISTED]) + more

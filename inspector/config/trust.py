"""Which servers of somebody else's files the person agreed to, and to what exactly.

An approval is for one server in one file, and for its exact content: the program that is started (its path
and what is in it), its arguments, variables and folder, or the address and its headers, and all else that a
connection depends on. Any other content is a question of its own. Of secrets only digests are kept, made with
a salt that belongs to the file of approvals.
"""

from __future__ import annotations

import hashlib
import json
import secrets
from collections.abc import Iterable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from inspector.base.errors import ConfigError
from inspector.base.jsonvalue import JSON, JSONObject
from inspector.base.redact import MASK
from inspector.config.catalogue import write_entry
from inspector.config.document import JsonDocument
from inspector.config.entries import Entry
from inspector.config.entrychanges import FieldChange, compare_content, masked

_APART = ("disabled", "enabled", "autoRestart", "autoConnect", "watch", "notes", "colour")
_LONGEST_DIGEST_SHOWN = 8


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
    """The user's approval of a server from another tool's file.

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
    members = {name: value for name, value in write_entry(entry).items() if name not in _APART}
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

    def is_for(self, approval: Approval, content: JSONObject) -> bool:
        """True if exactly this content was approved."""
        return secrets.compare_digest(approval.key, digest_of(content, _salt(self._read())))

    def changes(self, approval: Approval, content: JSONObject) -> tuple[FieldChange, ...]:
        """Return what changed since the approval."""
        return compare_content(approval.content, self._kept(content, _salt(self._read())))

    def approve(self, content: JSONObject, variables: Iterable[str] = ()) -> Approval:
        """Approve this content, replacing an earlier approval of the server. Raises ConfigError."""
        with self._changing():
            document = self._read()
            salt = _salt(document) or secrets.token_hex(16)
            approval = Approval(
                str(content["file"]),
                str(content["folder"]),
                str(content["name"]),
                digest_of(content, salt),
                self._kept(content, salt),
                tuple(variables),
                datetime.now(UTC).isoformat(timespec="seconds"),
            )
            others = self._others(document, approval.file, approval.folder, approval.name)
            self._write(document, salt, [*others, approval])
        return approval

    def forget(self, file: str, folder: str, name: str) -> None:
        """Revoke the approval of a server. Raises ConfigError."""
        with self._changing():
            document = self._read()
            others = self._others(document, file, folder, name)
            if len(others) < len(_approvals(document)):
                self._write(document, _salt(document), others)

    # --------------------------------------------------------------

    def _others(self, document: JSONObject, *place: str) -> list[Approval]:
        approvals = _approvals(document)
        return [each for each in approvals if (each.file, each.folder, each.name) != place]

    def _kept(self, content: JSONObject, salt: str) -> JSONObject:
        def mask(value: str) -> str:
            return f"{MASK} ({digest_of({'secret': value}, salt)[:_LONGEST_DIGEST_SHOWN]})"

        return masked(content, mask)

    def _changing(self) -> AbstractContextManager[None]:
        return self._file.changing() if self._file is not None else nullcontext()

    def _read(self) -> JSONObject:
        return self._memory if self._file is None else self._file.read()

    def _write(self, document: JSONObject, salt: str, approvals: list[Approval]) -> None:
        written: list[JSON] = [_written(approval) for approval in approvals]
        document = {**document, "salt": salt, "approvals": written}
        if self._file is None:
            self._memory = document
        else:
            self._file.write(document)


def check_command(command: str, is_absolute: bool) -> None:
    """Raise ConfigError for a relative command from another tool's file.

    Only a program on the PATH or with its full path is certain to be the one that the user saw.
    """
    if is_relative(command, is_absolute):
        raise ConfigError(
            f"It starts a program by a relative path, {command!r}. From a file of another tool, none is.",
            "Import a copy: that has the full path.",
        )


def is_relative(command: str, is_absolute: bool) -> bool:
    """True if the command depends on the working directory; so does `C:x.exe` (drive-relative)."""
    return not is_absolute and any(character in command for character in "/\\:")


def check_batch(program: str, args: Iterable[str]) -> None:
    """Raise ConfigError for batch file arguments that cmd.exe would interpret.

    Windows always runs batch files in a shell, which parses their arguments again.
    """
    if not program.lower().endswith((".bat", ".cmd")):
        return
    for argument in args:
        if any(character in '"%!^&|<>()' or ord(character) < 32 for character in argument):
            raise ConfigError(
                f"It starts a batch file, {program}, with an argument that the shell of Windows would read "
                f"as more than text: {argument!r}.",
                "Start the program behind the batch file instead, such as node.exe with a script.",
            )


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
    texts = [text for each in ("file", "folder", "name", "key") if isinstance(text := value.get(each), str)]
    content, variables, at = value.get("content"), value.get("variables", []), value.get("at", "")
    if len(texts) < 4 or not isinstance(content, dict) or not isinstance(variables, list):
        return None
    file, folder, name, key = texts
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

"""What MCP Lens can do itself about a diagnosis: a server's settings, changed as the diagnosis says."""

from __future__ import annotations

import hashlib
import ssl
from dataclasses import replace
from pathlib import Path
from typing import Literal

from inspector.base.errors import ConfigError
from inspector.config.entries import Entry, HttpEntry, StdioEntry, WebSocketEntry, check_url, is_websocket
from inspector.config.exactfile import read_text, write_bytes
from inspector.config.filenames import readable_stem
from inspector.engine.doctor.checks import Action, ActionKind


def remedied(entry: Entry, action: Action, certificates: Path | None) -> Entry:
    """Return the fixed entry. May write a certificate to that folder. Raises ConfigError."""
    if action.kind is ActionKind.USE_AUTO_ERA:
        return replace(entry, era="auto")
    if isinstance(entry, StdioEntry):
        raise ConfigError("This server is a command, and has no URL.")
    match action.kind:
        case ActionKind.TRUST_CERTIFICATE:
            path = _keep_certificate(entry, action.value, certificates)
            return replace(entry, network=replace(entry.network, ca_file=str(path)))
        case ActionKind.USE_URL:
            return _at(entry, action.value)
        case ActionKind.USE_SSE:
            return _as(entry, action.value, "sse")
        case ActionKind.USE_HTTP:
            return _as(entry, action.value, "http")
    raise ConfigError("This is for a person to do.")


def _at(entry: HttpEntry | WebSocketEntry, url: str) -> Entry:
    """Return the entry with another URL; it may switch between WebSocket and HTTP."""
    check_url(url)
    if is_websocket(url) == isinstance(entry, WebSocketEntry):
        return replace(entry, url=url)
    kept = {
        name: getattr(entry, name)
        for name in WebSocketEntry.__dataclass_fields__
        if name in HttpEntry.__dataclass_fields__ and name != "url"
    }
    return WebSocketEntry(url=url, **kept) if is_websocket(url) else HttpEntry(url=url, **kept)


def _as(entry: HttpEntry | WebSocketEntry, url: str, type: Literal["http", "sse"]) -> Entry:
    moved = _at(entry, url or entry.url)
    return replace(moved, type=type) if isinstance(moved, HttpEntry) else moved


def _keep_certificate(entry: HttpEntry | WebSocketEntry, pem: str, folder: Path | None) -> Path:
    """Write a file with this certificate plus those of the server's existing CA file."""
    if folder is None:
        raise ConfigError("There is no folder to keep a certificate in.", "Save the server first.")
    try:
        der = ssl.PEM_cert_to_DER_cert(pem.strip())
    except ValueError as exc:
        raise ConfigError("That is no certificate.", "Examine the server again.") from exc
    before = ""
    if entry.network.ca_file:
        try:
            before = read_text(Path(entry.network.ca_file).expanduser()).rstrip() + "\n"
        except (OSError, UnicodeDecodeError) as exc:
            problem = f"The CA file {entry.network.ca_file} cannot be read: {exc}."
            raise ConfigError(problem, "Correct it in the server's network settings first.") from exc
    stem = f"{readable_stem(entry.name, 'server')}-{hashlib.sha256(der).hexdigest()[:16]}"
    path = folder / f"{stem}.pem"
    write_bytes(path, (before + pem.strip() + "\n").encode(), is_private=True)
    return path

"""Running a connection check, with secrets masked, and applying the fix of a diagnosis."""

from __future__ import annotations

import hashlib
import os
import ssl
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from dataclasses import replace
from pathlib import Path
from typing import Literal

from inspector.base.errors import ConfigError
from inspector.base.redaction import MASK
from inspector.base.search_path import INHERITED, path_variable
from inspector.config.json_file import read_text, readable_stem, write_bytes
from inspector.config.servers.entries import (
    Entry,
    HttpEntry,
    StdioEntry,
    WebSocketEntry,
    check_continue_as,
    check_url,
    is_websocket,
)
from inspector.engine.doctor.connection_check import CheckContext, ConnectionCheck
from inspector.engine.doctor.process_check import ProcessCheck
from inspector.engine.doctor.results import Action, ActionKind, CheckResult, CheckState, Diagnosis
from inspector.engine.doctor.url_check import UrlCheck
from inspector.traffic.credentials import Credentials
from inspector.traffic.masking.masker import masked_excerpt

_NOT_TRUSTED = Diagnosis(
    "not-trusted",
    "started",
    "This server comes from another client's file and is not trusted yet, so it was neither started nor "
    "contacted.",
    "Review and trust it, then run Doctor again.",
    is_warning=True,
)


async def run_check(entry: Entry, context: CheckContext) -> AsyncGenerator[CheckResult | Diagnosis, None]:
    """Yield each step (first as running, then its result), skipped steps, then diagnoses.

    The first diagnosis is the one to act on. All secrets are masked.
    """
    check: ConnectionCheck = (
        ProcessCheck(entry, context) if isinstance(entry, StdioEntry) else UrlCheck(entry, context)
    )
    mask = masker(context.log.credentials)
    done: set[str] = set()
    async with aclosing(check.run()) as results:
        async for result in results:
            if result.state is not CheckState.RUNNING:
                done.add(result.id)
            yield _masked_result(result, mask)
    why = _skip_reason(check)
    for id in check.steps:
        if id not in done:
            yield CheckResult(id, CheckState.SKIPPED, why)
    if not context.may_contact and check.failure is None:
        first = next(id for id in check.steps if id not in done)
        check.warnings.insert(0, replace(_NOT_TRUSTED, step=first))
    for diagnosis in (*((check.failure,) if check.failure is not None else ()), *check.warnings):
        yield _masked_diagnosis(diagnosis, mask)


def _skip_reason(check: ConnectionCheck) -> str:
    if check.failure is not None:
        return ""
    return "" if check.context.may_contact else "Not checked until you trust it."


def masker(credentials: Credentials) -> Callable[[str], str]:
    """Return a function that masks known credentials and anything that looks like one."""

    def mask(text: str) -> str:
        for value in credentials.names_by_value():
            known = value.decode("utf-8", "surrogatepass")
            if len(known) >= 4:
                text = text.replace(known, MASK)
        return masked_excerpt(text.encode("utf-8", "surrogateescape")).decode("utf-8", "surrogateescape")

    return mask


def _masked_result(result: CheckResult, mask: Callable[[str], str]) -> CheckResult:
    return replace(result, text=mask(result.text), details=tuple(mask(line) for line in result.details))


def _masked_diagnosis(diagnosis: Diagnosis, mask: Callable[[str], str]) -> Diagnosis:
    evidence = tuple(mask(line) for line in diagnosis.evidence)
    return replace(diagnosis, cause=mask(diagnosis.cause), fix=mask(diagnosis.fix), evidence=evidence)


def apply_fix(entry: Entry, action: Action, certificates: Path | None) -> Entry:
    """Return the fixed entry. May write a certificate to that folder. Raises ConfigError."""
    if action.kind is ActionKind.CONTINUE_AS:
        return replace(entry, continue_as=check_continue_as(action.value))
    if action.kind is ActionKind.USE_AUTO_ERA:
        return replace(entry, era="auto")
    if isinstance(entry, StdioEntry):
        if action.kind is ActionKind.ADD_TO_PATH:
            return _with_path_folder(entry, action.value)
        if action.kind is ActionKind.ADD_VARIABLES:
            passed = {name: f"${{{name}}}" for name in action.value.split()}
            return replace(entry, env={**entry.env, **passed})
        raise ConfigError("This server is a command and has no URL.", "Run Doctor again.")
    match action.kind:
        case ActionKind.TRUST_CERTIFICATE:
            path = _store_certificate(entry, action.value, certificates)
            return replace(entry, network=replace(entry.network, ca_file=str(path)))
        case ActionKind.USE_URL:
            return _with_url(entry, action.value)
        case ActionKind.USE_SSE:
            return _with_type(entry, action.value, "sse")
        case ActionKind.USE_HTTP:
            return _with_type(entry, action.value, "http")
    raise ConfigError("MCP Lens cannot apply this fix.", "Edit the server instead.")


def _with_path_folder(entry: StdioEntry, folder: str) -> Entry:
    """Return the entry with a folder at the beginning of its PATH, before the inherited one."""
    name = path_variable(entry.env)
    path = entry.env.get(name, INHERITED)
    if not isinstance(path, str):
        raise ConfigError("The server's PATH is in the secret store.", "Change it in Edit server….")
    return replace(entry, env={**entry.env, name: f"{folder.replace('${', '$${')}{os.pathsep}{path}"})


def _with_url(entry: HttpEntry | WebSocketEntry, url: str) -> Entry:
    """Return the entry with another URL; it may switch between WebSocket and HTTP."""
    check_url(url)
    if is_websocket(url) == isinstance(entry, WebSocketEntry):
        return replace(entry, url=url)
    shared = {
        name: getattr(entry, name)
        for name in WebSocketEntry.__dataclass_fields__
        if name in HttpEntry.__dataclass_fields__ and name != "url"
    }
    return WebSocketEntry(url=url, **shared) if is_websocket(url) else HttpEntry(url=url, **shared)


def _with_type(entry: HttpEntry | WebSocketEntry, url: str, type: Literal["http", "sse"]) -> Entry:
    changed = _with_url(entry, url or entry.url)
    return replace(changed, type=type) if isinstance(changed, HttpEntry) else changed


def _store_certificate(entry: HttpEntry | WebSocketEntry, pem: str, folder: Path | None) -> Path:
    """Write a file with this certificate plus those of the server's existing CA file."""
    if folder is None:
        raise ConfigError("There is no folder to store the certificate in.", "Save the server first.")
    try:
        der = ssl.PEM_cert_to_DER_cert(pem.strip())
    except ValueError as exc:
        raise ConfigError("This is not a valid certificate.", "Run Doctor again.") from exc
    existing = ""
    if entry.network.ca_file:
        try:
            existing = read_text(Path(entry.network.ca_file).expanduser()).rstrip() + "\n"
        except (OSError, UnicodeDecodeError) as exc:
            summary = f"Could not read the CA file {entry.network.ca_file}: {exc}."
            raise ConfigError(summary, "Fix it in the server's network settings first.") from exc
    stem = f"{readable_stem(entry.name, 'server')}-{hashlib.sha256(der).hexdigest()[:16]}"
    path = folder / f"{stem}.pem"
    write_bytes(path, (existing + pem.strip() + "\n").encode(), is_private=True)
    return path

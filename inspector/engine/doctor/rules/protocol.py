"""Diagnoses of failed or questionable negotiations and of the first list, from the messages."""

from __future__ import annotations

from dataclasses import replace

from inspector.base.errors import ConfigError
from inspector.base.json.values import JSONError, excerpt, shorten
from inspector.base.plain_text import one_line
from inspector.config.servers.entries import Entry
from inspector.engine.doctor.probe_session import ObservedList, ObservedTraffic
from inspector.engine.doctor.results import Action, ActionKind, Diagnosis
from inspector.protocol.discovery import proposed_revision
from inspector.protocol.handshake import NegotiationResult
from inspector.protocol.jsonrpc import ErrorObject, Kind, Message, error_of
from inspector.protocol.revisions import REVISIONS, find_revision


def diagnose_settings(entry: Entry, error: ConfigError, *, is_secret: bool) -> Diagnosis:
    """Diagnose a configuration that cannot be used; the server was not contacted."""
    if is_secret:
        action = Action(ActionKind.OPEN_SECRETS, "Server secrets…")
        return Diagnosis("secret-missing", "settings", error.summary, error.next_step, action=action)
    return Diagnosis("settings-unusable", "settings", error.summary, error.next_step or "Edit the server.")


def diagnose_messages(traffic: ObservedTraffic, entry: Entry) -> Diagnosis | None:
    """Diagnose a failed negotiation from the messages; None if they do not explain it."""
    error = _last_error(traffic)
    version = _version_of(traffic)
    if version is not None and find_revision(version) is None:
        proposed = proposed_revision(entry.era).date
        return replace(
            _no_common_version(
                f"The server requires protocol version {version}, which MCP Lens does not support."
            ),
            action=Action(ActionKind.CONTINUE_AS, f"Continue as {proposed}", proposed),
        )
    if error is not None and (supported := _supported(error)):
        if entry.era != "auto":
            return _pinned(entry, f"It says it supports {supported}.")
        return _no_common_version(f"The server supports only {supported}.")
    if _has_foreign_ids(traffic):
        return Diagnosis(
            "wrong-id",
            "handshake",
            "The server's responses have a different id than the request, so they cannot be matched.",
            "This is a server bug: a response must have the id of its request, with the same JSON type.",
            _shown(traffic),
        )
    if error is not None:
        if entry.era != "auto" and traffic.error is not None:
            return _pinned(entry, f"It returned an error: {error.line(200)}.")
        return Diagnosis(
            "initialize-refused",
            "handshake",
            f"The server rejected the first request: {error.line(200)}.",
            "Its log may say more; usually a setting is missing.",
            _shown(traffic),
        )
    if traffic.responses(Kind.RESULT) and traffic.error is not None:
        return Diagnosis(
            "initialize-malformed",
            "handshake",
            traffic.error.summary,
            traffic.error.next_step,
            _shown(traffic),
        )
    if traffic.messages:
        return Diagnosis(
            "no-answer",
            "handshake",
            "The server sends messages, but none of them is a response to the first request.",
            "It may be waiting for something else, or be overloaded. Check its log.",
            _shown(traffic),
        )
    return None


def rejection_of(traffic: ObservedTraffic) -> str:
    """Return the server's error message and code, "" if its last response was not an error."""
    error = _last_error(traffic)
    return error.line(200) if error is not None else ""


def _no_common_version(cause: str) -> Diagnosis:
    ours = ", ".join(revision.date for revision in REVISIONS)
    return Diagnosis(
        "no-common-version",
        "version",
        f"{cause} There is no common protocol version.",
        f"Update the server or MCP Lens, which supports {ours}.",
    )


def _pinned(entry: Entry, reported: str) -> Diagnosis:
    return Diagnosis(
        "era-pinned",
        "era",
        f"The protocol version of this server is set to {entry.era}, which it does not support. {reported}",
        "Set the protocol version to “Auto-detect”.",
        action=Action(ActionKind.USE_AUTO_ERA, "Auto-detect protocol version"),
    )


def _last_error(traffic: ObservedTraffic) -> ErrorObject | None:
    """Return the last response's error; earlier ones were about another era or version."""
    last = next((each for each in reversed(traffic.messages) if each.kind.is_response), None)
    try:
        return error_of(last) if last is not None and last.kind is Kind.ERROR else None
    except JSONError:
        return None


def _version_of(traffic: ObservedTraffic) -> str | None:
    for message in reversed(traffic.responses(Kind.RESULT)):
        try:
            value = message.result.get("protocolVersion")
        except JSONError:
            continue
        if value is not None:
            return one_line(excerpt(value, 40))
    return None


def _supported(error: ErrorObject) -> str:
    listed = error.data.get("supported") if isinstance(error.data, dict) else None
    if not isinstance(listed, list):
        return ""
    return ", ".join(one_line(shorten(each, 20)) for each in listed[:8] if isinstance(each, str))


def _has_foreign_ids(traffic: ObservedTraffic) -> bool:
    """True if no response has a numeric id like ours. Errors may have none and are ignored."""
    responses = [
        each
        for each in traffic.messages
        if each.kind.is_response and not (each.kind is Kind.ERROR and each.id is None)
    ]
    return bool(responses) and all(not isinstance(each.id, int) for each in responses)


def _shown(traffic: ObservedTraffic) -> tuple[str, ...]:
    return tuple(dict.fromkeys(_line(message) for message in traffic.messages[:3]))


def _line(message: Message) -> str:
    return shorten(one_line(message.raw[:400].decode(errors="replace")), 300)


def diagnose_negotiated(negotiated: NegotiationResult) -> list[Diagnosis]:
    """Return warnings about the negotiation."""
    found: list[Diagnosis] = []
    if negotiated.problems:
        found.append(
            Diagnosis(
                "incomplete-answer",
                "capabilities",
                " ".join(negotiated.problems),
                "This is a server bug; strict clients reject it.",
                is_warning=True,
            )
        )
    if not {"tools", "resources", "prompts"} & set(negotiated.capabilities):
        found.append(
            Diagnosis(
                "nothing-offered",
                "capabilities",
                "The server declares no tools, resources or prompts, so clients will not request any.",
                "Declare them in its capabilities. SDKs do this when something is registered before startup.",
                is_warning=True,
            )
        )
    return found


def diagnose_list(probe: ObservedList) -> Diagnosis | None:
    if probe.is_timeout:
        return Diagnosis(
            "list-silent",
            "list",
            f"The server is connected, but does not respond to {probe.method}.",
            "It hangs while building the list, perhaps on an unresponsive back end. Check its log.",
            (probe.error,),
        )
    if probe.is_malformed:
        return Diagnosis(
            "list-malformed",
            "list",
            f"The response to {probe.method} is invalid: {probe.error.rstrip('.')}.",
            "This is a server bug.",
        )
    if probe.error:
        return Diagnosis(
            "list-refused",
            "list",
            f"The server declares the capability, but {probe.method} returns an error: "
            f"{shorten(one_line(probe.error), 200)}.",
            "Implement the method, or do not declare the capability.",
        )
    if probe.method and not probe.count:
        kind = probe.method.partition("/")[0]
        return Diagnosis(
            "list-empty",
            "list",
            f"The server declares {kind}, but has none.",
            "Check whether they are registered before the server starts, or only after a login or with "
            "a setting.",
            is_warning=True,
        )
    return None

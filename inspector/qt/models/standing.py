"""What a panel that needs a connection shows while there is none."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from inspector.engine.views import ServerStatus, ServerView

Look: TypeAlias = Literal["empty", "loading", "failed"]

# Connected or connecting: the user's option is to disconnect.
UP = (ServerStatus.CONNECTED, ServerStatus.CONNECTING, ServerStatus.LOGGING_IN, ServerStatus.RESTARTING)


@dataclass(frozen=True, slots=True)
class Standing:
    """The text for an empty, waiting or failed panel, and the suggested command."""

    look: Look
    title: str
    sentence: str
    next_step: str = ""
    command: str = ""


def standing_of(view: ServerView) -> Standing | None:
    """Return the text for a server that is not connected; None if it is."""
    match view.status:
        case ServerStatus.CONNECTED:
            return None
        case ServerStatus.CONNECTING:
            sentence = f"Waiting for {view.waits_for}." if view.waits_for else "Waiting for the server."
            return Standing("loading", "Connecting", sentence, command="server.disconnect")
        case ServerStatus.LOGGING_IN:
            sentence = f"Waiting for {view.waits_for}."
            return Standing("loading", "Logging in", sentence, command="server.disconnect")
        case ServerStatus.RESTARTING:
            return Standing("loading", "The connection was lost", view.reason, command="server.disconnect")
        case ServerStatus.DISABLED:
            sentence = "This server is kept, but will not be connected until it is enabled."
            return Standing("empty", "Disabled", sentence, command="server.enable")
        case ServerStatus.NEEDS_LOGIN:
            return Standing("failed", "A login is needed", view.reason, view.next_step, "server.connect")
        case ServerStatus.FAILED:
            return Standing("failed", "The connection failed", view.reason, view.next_step, "server.connect")
    sentence = "Connect to see what this server offers."
    return Standing("empty", "Not connected", sentence, command="server.connect")

"""The tone of each colour that a server can be marked with."""

from __future__ import annotations

from inspector.qt.theme import Tone

SERVER_TONES: dict[str, Tone] = {
    "blue": "accent",
    "green": "ok",
    "amber": "warn",
    "red": "error",
    "violet": "literal",
    "teal": "inbound",
}

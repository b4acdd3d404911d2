"""Tool tips of item views. Qt takes a text that looks like HTML for HTML, and loads what that names."""

from __future__ import annotations

from inspector.base.jsonvalue import shorten
from inspector.base.plaintext import escaped, one_line


def plain_tip(text: str) -> str:
    """Return a tool tip that shows exactly this text."""
    return f"<span>{escaped(one_line(shorten(text, 500)))}</span>"

"""Tool tips of item views. Qt takes a text that looks like HTML for HTML, and loads what that names."""

from __future__ import annotations

from inspector.base.jsonvalue import shorten
from inspector.base.plaintext import one_line


def plain_tip(text: str) -> str:
    """A tool tip that shows exactly this text."""
    from html import escape  # brings a table of 2,000 names along

    return f"<span>{escape(one_line(shorten(text, 500)))}</span>"

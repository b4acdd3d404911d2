"""Servers for raw messages."""

from __future__ import annotations

import sys
from pathlib import Path

from inspector.config.servers.entries import StdioEntry

_PARROT = Path(__file__).parent.parent.parent / "helpers" / "parrot.py"


def parrot(name: str = "parrot") -> StdioEntry:
    """Return a server whose responses contain the exact bytes of the request."""
    return StdioEntry(name=name, command=sys.executable, args=("-I", "-S", str(_PARROT)), era="2025-11-25")

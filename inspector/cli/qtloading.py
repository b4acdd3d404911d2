"""Loads Qt, and has the one sentence for a machine on which that fails."""

from __future__ import annotations

import builtins
import contextlib
from collections.abc import Iterator

from inspector.base.errors import UserError


@contextlib.contextmanager
def needs_qt() -> Iterator[None]:
    """Around an import of the window. Missing system libraries show up as ImportError: name them."""
    try:
        _load_qt()
        yield
    except ImportError as exc:
        raise UserError(
            f"The window cannot be opened: {exc}.",
            "Install what is missing; ./packaging/run in a checkout does that. list and call need no window.",
        ) from exc


def _load_qt() -> None:
    """And go on with Python's own import.

    PySide6 puts another in its place. That one reads the source of every module that is imported from then
    on, and keeps it, to see whether the module may want a switch (`__feature__`) that nothing here uses.
    """
    plain = builtins.__import__
    import PySide6.QtCore  # noqa: F401

    builtins.__import__ = plain

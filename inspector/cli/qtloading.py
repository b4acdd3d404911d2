"""The one sentence for a machine on which Qt cannot be loaded."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from inspector.base.errors import UserError


@contextlib.contextmanager
def needs_qt() -> Iterator[None]:
    """Around an import of the window. Missing system libraries show up as ImportError: name them."""
    try:
        yield
    except ImportError as exc:
        raise UserError(
            f"The window cannot be opened: {exc}.",
            "Install what is missing; ./packaging/run in a checkout does that. list and call need no window.",
        ) from exc

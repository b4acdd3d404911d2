"""What is secret, and how it is masked on display and in exports.

Masking never feeds back into what is sent, and never touches the recorded bytes. One `Redactor` gives
one secret the same placeholder wherever it shows up, so that a reader can still see that two places
hold the same value.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

_SECRET_NAME = re.compile(
    r"(?:^|[_.-])(?:api[_-]?key|apikey|access[_-]?key|auth|authorization|bearer|client[_-]?secret|cookie"
    r"|credential|credentials|key|pass|passphrase|passwd|password|private[_-]?key|pwd|secret|session"
    r"|session[_-]?id|signature|token)(?:$|[_.-])",
    re.IGNORECASE,
)


def is_secret_name(name: str) -> bool:
    """Does a header, variable or member of this name usually hold a secret?"""
    return _SECRET_NAME.search(name) is not None


class Redactor:
    """Gives each secret value a stable placeholder."""

    def __init__(self) -> None:
        self._known: dict[str, str] = {}

    def mask(self, value: str) -> str:
        return self._known.setdefault(value, f"‹secret {len(self._known) + 1}›")

    def mask_named(self, values: Mapping[str, str]) -> dict[str, str]:
        """Mask the values whose names say that they are secret."""
        return {name: self.mask(value) if is_secret_name(name) else value for name, value in values.items()}

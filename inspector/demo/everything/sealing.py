"""State that the client carries from round to round (2026-07-28, `requestState`), sealed against changes.

"Servers MUST treat requestState as attacker-controlled": what comes back is believed only with its seal.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import secrets
from typing import Any

_KEY = secrets.token_bytes(32)

# Detects clients that trim, fold or re-encode what they must return unchanged.
_TAIL = ' "ü→\\u00fc" '


def seal(value: Any) -> str:
    """Serialize a JSON value and sign it with a key of this process."""
    words = json.dumps(value, ensure_ascii=False)
    return f"{words}\n{_seal_of(words)}{_TAIL}"


def unseal(state: str | None) -> Any:
    """Verify and parse a sealed value.

    Raises ValueError, with a sentence, if it did not come back unchanged.
    """
    if state is None:
        raise ValueError("The requestState did not come back.")
    words, _, rest = state.partition("\n")
    if not hmac.compare_digest(rest.encode(), f"{_seal_of(words)}{_TAIL}".encode()):
        raise ValueError("The requestState did not come back exactly as it was sent.")
    return json.loads(words)


def _seal_of(words: str) -> str:
    return hmac.new(_KEY, words.encode(), hashlib.sha256).hexdigest()

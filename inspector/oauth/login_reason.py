"""Why a login is needed.

A separate module, so that the engine can import it without loading the OAuth code.
"""

from __future__ import annotations

from enum import Enum


class LoginReason(Enum):
    """Why a login is needed."""

    CONNECT = "the server requires login"
    CALL = "the server requires login for this request"
    TOKEN_REJECTED = "the server no longer accepts the token"  # noqa: S105
    STEP_UP = "the server requires more scopes"

"""Why a login is needed.

A separate module, so that the engine can import it without loading the OAuth code.
"""

from __future__ import annotations

from enum import Enum


class LoginReason(Enum):
    """Why a login is needed."""

    CONNECT = "the server wants a login"
    CALL = "the server wants a login for this request"
    RENEW = "the server does not accept the token any more"
    STEP_UP = "the server wants more scopes"

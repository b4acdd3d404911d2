"""Responses of an OpenAI-compatible endpoint, for tests."""

from __future__ import annotations

import json
from typing import Any

from tests.helpers.httpfaults import JSON_TYPE, Call, Fault

COMPLETION = {
    "model": "gpt-9",
    "choices": [{"message": {"content": "Hello"}, "finish_reason": "stop"}],
    "usage": {"total_tokens": 3},
}


def description(body: Any, status: int = 200, **headers: str) -> Fault:
    """Return a response with this body: bytes, or a value as JSON."""
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()

    async def fault(call: Call) -> None:
        await call.reply(status, raw, JSON_TYPE, **headers)

    return fault

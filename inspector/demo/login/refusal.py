"""How the endpoints for programs say no."""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import parse_qsl

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

NO_STORE = {"Cache-Control": "no-store", "Pragma": "no-cache"}


class Refusal(Exception):
    """An OAuth error response (RFC 6749, section 5.2)."""

    def __init__(
        self, error: str, description: str, status: int = 400, headers: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(error, description)
        self.error, self.description, self.status = error, description, status
        self.headers = dict(headers or {})

    def response(self, status: int = 0) -> Response:
        body = {"error": self.error, "error_description": self.description}
        return JSONResponse(body, status or self.status, {**NO_STORE, **self.headers})


async def read_form(request: Request) -> dict[str, str]:
    """Read the form of a POST. Raises Refusal for other content types and repeated parameters."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/x-www-form-urlencoded":
        raise Refusal("invalid_request", "The body must be application/x-www-form-urlencoded.")
    try:
        pairs = parse_qsl((await request.body()).decode("ascii"), keep_blank_values=True, max_num_fields=50)
    except ValueError:
        raise Refusal("invalid_request", "The body cannot be read as a form.") from None
    form = dict(pairs)
    if len(form) != len(pairs):
        raise Refusal("invalid_request", "A parameter is repeated.")
    return form

"""HTML page template and OAuth error responses.

Pages have one style sheet (light and dark), no scripts and no external content.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping
from html import escape
from urllib.parse import parse_qsl

from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response

__all__ = ["escape", "page"]

_STYLE = """
:root { color-scheme: light dark; --ground: #eef1f6; --card: #fff; --text: #1c2330; --soft: #5b6678;
  --line: #d8dee8; --edge: #a9b4c5; --accent: #2f5fd0; --on: #fff; --wrong: #b3261e; --tint: #f4f7fc; }
@media (prefers-color-scheme: dark) { :root { --ground: #14171d; --card: #1e232c; --text: #e6eaf2;
  --soft: #9aa6ba; --line: #343c4a; --edge: #5d6980; --accent: #8fb0ff; --on: #10141c;
  --wrong: #ff9a90; --tint: #252b36; } }
* { box-sizing: border-box; }
body { margin: 0; min-height: 100vh; display: flex; align-items: flex-start; justify-content: center;
  padding: 6vh 16px 32px; background: var(--ground); color: var(--text);
  font: 16px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, sans-serif; }
main { width: 100%; max-width: 26rem; background: var(--card); border: 1px solid var(--line);
  border-radius: 14px; padding: 28px; box-shadow: 0 10px 30px rgb(0 0 0 / .08); }
main.wide { max-width: 54rem; }
h1 { font-size: 1.35rem; line-height: 1.3; margin: 0 0 .4rem; }
h2 { font-size: 1rem; margin: 1.8rem 0 .4rem; }
p { margin: .5rem 0; } .soft { color: var(--soft); } .wrong { color: var(--wrong); font-weight: 600; }
.from { font-size: .8rem; color: var(--soft); margin: 0 0 1rem; overflow-wrap: anywhere; }
label { display: block; margin: .8rem 0 .25rem; font-size: .9rem; color: var(--soft); }
input[type=text], input[type=password] { width: 100%; padding: .6rem .7rem; font: inherit; color: inherit;
  background: var(--tint); border: 1px solid var(--edge); border-radius: 8px; }
input:focus-visible, button:focus-visible, a:focus-visible { outline: 3px solid var(--accent);
  outline-offset: 1px; }
.hint { border-left: 3px solid var(--accent); padding: .1rem 0 .1rem .7rem; margin: 1rem 0;
  font-size: .9rem; color: var(--soft); } .hint code { color: var(--text); }
.small { font-size: .85rem; margin-top: 1rem; }
ul.scopes { list-style: none; margin: .6rem 0; padding: 0; border: 1px solid var(--line);
  border-radius: 8px; }
ul.scopes li { padding: .5rem .7rem; display: flex; justify-content: space-between; gap: 1rem;
  flex-wrap: wrap; } ul.scopes li + li { border-top: 1px solid var(--line); }
code { font: .86em ui-monospace, "Cascadia Mono", Menlo, monospace; overflow-wrap: anywhere; }
ul.scopes code { color: var(--soft); }
.buttons { display: flex; gap: .7rem; margin-top: 1.4rem; }
button { flex: 1; padding: .65rem 1rem; font: inherit; font-weight: 600; border-radius: 8px;
  border: 1px solid var(--edge); background: transparent; color: inherit; cursor: pointer; }
button.main { background: var(--accent); border-color: var(--accent); color: var(--on); }
.sticky button { flex: none; }
.sticky { position: sticky; bottom: 0; background: var(--card); padding: .8rem 0; margin: 0;
  border-top: 1px solid var(--line); }
.switch { display: grid; grid-template-columns: 1.4rem 13rem 1fr auto; gap: .2rem .7rem; padding: .35rem 0;
  align-items: baseline; margin: 0; color: inherit; font-size: .95rem; border-top: 1px solid var(--line); }
.switch .id { color: var(--soft); font-size: .8rem; white-space: nowrap; }
@media (max-width: 40rem) { .switch { grid-template-columns: 1.4rem 1fr; }
  .switch span { grid-column: 2; } }
table { width: 100%; border-collapse: collapse; font-size: .9rem; }
th, td { text-align: left; padding: .35rem .6rem .35rem 0; border-top: 1px solid var(--line);
  vertical-align: top; } th { font-weight: 600; color: var(--soft); }
a { color: var(--accent); }
"""

_STYLE_HASH = base64.b64encode(hashlib.sha256(_STYLE.encode()).digest()).decode()

_PAGE = (
    '<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{title}</title>'
    '<meta name="viewport" content="width=device-width, initial-scale=1">'
    '<style>{style}</style></head><body><main class="{kind}">{body}</main></body></html>'
)


def page(
    title: str, body: str, *, status: int = 200, wide: bool = False, goes_to: str = "'self'"
) -> HTMLResponse:
    """Return a page.

    `body` is HTML whose external parts are already escaped; `goes_to` is where its form may lead.
    """
    policy = (
        f"default-src 'none'; style-src 'sha256-{_STYLE_HASH}'; form-action {goes_to}; "
        "frame-ancestors 'none'; base-uri 'none'"
    )
    return HTMLResponse(
        _PAGE.format(title=escape(title), style=_STYLE, kind="wide" if wide else "", body=body),
        status_code=status,
        headers={
            "Content-Security-Policy": policy,
            "Cache-Control": "no-store",
            "Referrer-Policy": "same-origin",  # with "no-referrer", form posts have the origin "null"
            "X-Content-Type-Options": "nosniff",
        },
    )


NO_STORE = {"Cache-Control": "no-store", "Pragma": "no-cache"}


class OAuthError(Exception):
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
    """Read the form of a POST. Raises OAuthError for other content types and repeated parameters."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/x-www-form-urlencoded":
        raise OAuthError("invalid_request", "The body must be application/x-www-form-urlencoded.")
    try:
        pairs = parse_qsl((await request.body()).decode("ascii"), keep_blank_values=True, max_num_fields=50)
    except ValueError:
        raise OAuthError("invalid_request", "The body is not valid form data.") from None
    form = dict(pairs)
    if len(form) != len(pairs):
        raise OAuthError("invalid_request", "A parameter is repeated.")
    return form

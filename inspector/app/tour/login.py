"""The stop about logins: one is walked through, up to the browser and behind it."""

from __future__ import annotations

import html
import re
from functools import partial

from PySide6.QtCore import QUrl

from inspector.app.tour.guide import Guide, StopFailed
from inspector.oauth.steps import StepId, StepState
from inspector.qt.opener import Opener
from inspector.qt.panels.auth.panel import AuthPanel

_SERVER = "login"
_PERSON = {"name": "ada", "password": "lovelace", "decision": "allow"}
_REQUEST = re.compile(r'name="request" value="([^"]+)"')


async def walk_through_a_login(guide: Guide) -> None:
    """Step through a login up to the browser; once that is done, run the remaining steps."""
    guide.server(_SERVER)
    guide.do("view.auth")
    workspace = guide.window.workspace()
    if workspace is None:
        raise StopFailed("no server is in front")
    panel, pages = workspace.auth, list[str]()
    news = guide.window.login_news
    before, news.opener = news.opener, Opener(partial(_note, pages))
    try:
        await _walk(guide, panel, pages)
    finally:
        news.opener = before
    await guide.picture("auth-done")
    panel.show_view("Diagram")
    await guide.picture("auth-diagram")
    panel.show_view("Steps")


async def _walk(guide: Guide, panel: AuthPanel, pages: list[str]) -> None:
    await guide.press("Step by step", panel)
    while _state(panel, StepId.AUTHORIZE) is not StepState.DONE:
        await guide.until("a step that is ready", lambda: _next(panel))
        step = _next(panel)
        await guide.press("Next", panel)
        ends = partial(_is_behind, panel, step)
        await guide.until(f"the end of “{step}”", ends)
        if _failure(panel):
            raise StopFailed(f"the login failed: {_failure(panel)}")
    await guide.press("Next", panel)
    await guide.until("the wait for the browser", panel.waiting.isVisible)
    await guide.picture("auth-waiting")
    if not pages:
        raise StopFailed("the browser was not opened")
    await guide.app.bridge.on_engine(_log_in(pages[0]))
    await guide.until("the answer of the browser", lambda: _state(panel, StepId.WAIT) is StepState.DONE)
    await guide.press("Run to the end", panel)
    await guide.until("the end of the login", lambda: panel.login is None or panel.login.is_over)
    if panel.login is None or panel.login.result is None:
        raise StopFailed(f"the login gave no token: {_failure(panel)}")
    panel.show_step(StepId.TOKEN_REPLY)


def _note(pages: list[str], url: QUrl) -> bool:
    """Record the URL instead of opening a browser; the tour fetches the page itself."""
    pages.append(bytes(url.toEncoded().data()).decode())
    return True


async def _log_in(url: str) -> None:
    """Log in as a user would: open the page, fill it in, allow, follow the redirect."""
    import httpx2

    async with httpx2.AsyncClient(trust_env=False) as browser:
        page = await browser.get(url)
        found = _REQUEST.search(page.text)
        if found is None:
            raise StopFailed(f"the login page has no form (HTTP {page.status_code})")
        form = {**_PERSON, "request": html.unescape(found[1])}
        sent = await browser.post(page.url.copy_with(query=None), data=form)
        if not sent.has_redirect_location:
            raise StopFailed(f"the login page did not send the browser back (HTTP {sent.status_code})")
        await browser.get(sent.headers["location"])


def _state(panel: AuthPanel, id: StepId) -> StepState | None:
    steps = panel.login.steps if panel.login is not None else ()
    return next((step.state for step in steps if step.id is id), None)


def _next(panel: AuthPanel) -> str:
    """Return the title of the step that is ready; "" while one is running."""
    login = panel.login
    step = login.current if login is not None and not login.is_running else None
    return step.id.value if step is not None and step.state is StepState.READY else ""


def _is_behind(panel: AuthPanel, step: str) -> bool:
    return _next(panel) not in ("", step) or bool(_failure(panel))


def _failure(panel: AuthPanel) -> str:
    return panel.login.failure if panel.login is not None else ""

"""The login page of the demo in a real browser: its policy allows the redirect to the app."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from urllib.parse import parse_qsl, urlencode, urlsplit

import pytest

from tests.helpers.browser import WHY_NOT, Browser, find_browser
from tests.unit.demo.login.login_client import CHALLENGE, LoginDemo

pytestmark = pytest.mark.skipif(find_browser() is None, reason=WHY_NOT)


class App:
    """The loopback listener of the app: stores the parameters of the callback."""

    def __init__(self) -> None:
        self.came: list[dict[str, str]] = []
        came = self.came

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                parts = urlsplit(self.path)
                if parts.path == "/callback":
                    came.append(dict(parse_qsl(parts.query)))
                self.send_response(200)
                self.send_header("Content-Type", "text/plain")
                self.end_headers()
                self.wfile.write(b"You can close this tab.")

            def log_message(self, format: str, *args: object) -> None:
                pass

        self._server = HTTPServer(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01})
        self._thread.start()

    @property
    def redirect(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}/callback"

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


@pytest.fixture
def app() -> Iterator[App]:
    app = App()
    yield app
    app.close()


@pytest.fixture(scope="module")
def demo() -> Iterator[LoginDemo]:
    with LoginDemo() as demo:
        yield demo


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    profile: Path = tmp_path_factory.mktemp("browser")
    with Browser(profile) as browser:
        yield browser


def login_url(demo: LoginDemo, app: App) -> str:
    requested = {
        "response_type": "code",
        "client_id": "demo-app",
        "redirect_uri": app.redirect,
        "state": "s-1",
        "code_challenge": CHALLENGE,
        "code_challenge_method": "S256",
        "resource": demo.url,
    }
    return f"{demo.origin}/authorize?{urlencode(requested)}"


def test_user_logs_in_and_the_browser_returns_with_a_code(
    demo: LoginDemo, app: App, browser: Browser
) -> None:
    demo.forget()
    browser.go(login_url(demo, app))
    browser.type("#name", "ada")
    browser.type("#password", "wrong")
    browser.press("button[value=allow]")
    assert "Wrong name or password." in browser.text
    browser.type("#name", "ada")
    browser.type("#password", "lovelace")
    browser.press("button[value=allow]")
    assert browser.text == "You can close this tab."
    (came,) = app.came
    assert (came["state"], came["iss"]) == ("s-1", demo.origin)
    reply = demo.exchange({"client_id": "demo-app"}, came["code"], redirect_uri=app.redirect)
    assert demo.call(reply.json()["access_token"], "whoami").status_code == 200


def test_user_denies_access(demo: LoginDemo, app: App, browser: Browser) -> None:
    demo.forget()
    browser.go(login_url(demo, app))
    browser.press("button[value=deny]")
    assert [came["error"] for came in app.came] == ["access_denied"]


def test_user_flips_a_switch_on_the_login_demo(demo: LoginDemo, browser: Browser) -> None:
    demo.forget()
    browser.go(f"{demo.origin}/faults")
    browser.tick("input[name=no_challenge]")
    browser.press("button.main")
    assert browser.url == f"{demo.origin}/faults"
    assert "Switched on: no_challenge" in browser.text
    assert "www-authenticate" not in demo.challenge().headers
    browser.press("button[name=clear]")
    assert "Switched on: nothing" in browser.text

"""A headless Chromium, driven by the DevTools protocol, for login pages.

Only what a login needs: navigate, type, press, read, and wait for the next page.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from contextlib import ExitStack
from functools import cache
from pathlib import Path
from typing import Any, Self

from websockets.sync.client import connect

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
_LISTENING = "DevTools listening on "
_TIMEOUT = 30.0

WHY_NOT = f"no browser to drive: none of {', '.join(NAMES)} is installed (Debian: apt-get install chromium)"


@cache
def find_browser() -> str | None:
    """Return the first browser that runs: Ubuntu's only explains how to install one."""
    return next((found for name in NAMES if (found := shutil.which(name)) and _runs(found)), None)


def _runs(program: str) -> bool:
    requested = subprocess.run([program, "--version"], capture_output=True, timeout=_TIMEOUT, check=False)
    return requested.returncode == 0


class Browser:
    """One tab. `profile` is an empty folder for the browser."""

    def __init__(self, profile: Path) -> None:
        program = find_browser()
        assert program is not None, WHY_NOT
        words = [
            program,
            "--headless",
            "--disable-gpu",
            "--no-first-run",
            "--no-default-browser-check",
            "--disable-background-networking",
            "--disable-component-update",
            "--disable-dev-shm-usage",
            "--no-proxy-server",
            "--remote-debugging-port=0",
            f"--user-data-dir={profile}",
            *(["--no-sandbox"] if hasattr(os, "geteuid") and os.geteuid() == 0 else []),
            "about:blank",
        ]
        self._last_id = 0
        self._loads = 0
        with ExitStack() as stack:
            self._process = subprocess.Popen(words, stderr=subprocess.PIPE, text=True)
            stack.callback(self._end_process)
            self._socket = stack.enter_context(connect(self._tab(self._address()), max_size=None))
            self._send("Page.enable")
            self._stack = stack.pop_all()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self._stack.close()

    def _end_process(self) -> None:
        self._process.terminate()
        try:
            self._process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        assert self._process.stderr is not None
        self._process.stderr.close()

    def _address(self) -> str:
        assert self._process.stderr is not None
        for line in self._process.stderr:
            if line.startswith(_LISTENING):
                return line.removeprefix(_LISTENING).strip()
        raise AssertionError("The browser did not start.")

    def _tab(self, address: str) -> str:
        """Return the DevTools URL of the first tab."""
        with connect(address) as socket:
            socket.send('{"id":1,"method":"Target.getTargets"}')
            while "id" not in (response := json.loads(socket.recv(timeout=_TIMEOUT))):
                pass
        (tab,) = [t for t in response["result"]["targetInfos"] if t["type"] == "page"]
        return f"{address.partition('/devtools/')[0]}/devtools/page/{tab['targetId']}"

    def go(self, url: str) -> None:
        """Open a URL and wait until its page is loaded."""
        before = self._loads
        self._send("Page.navigate", url=url)
        self._until_loaded(before)

    def type(self, selector: str, text: str) -> None:
        """Click into a field and type."""
        self._on(selector, "focus()")
        self._send("Input.insertText", text=text)

    def press(self, selector: str) -> None:
        """Press a button that leads to another page, and wait for that page."""
        before = self._loads
        self._on(selector, "click()")
        self._until_loaded(before)

    def tick(self, selector: str) -> None:
        self._on(selector, "click()")

    @property
    def url(self) -> str:
        return str(self._value("location.href"))

    @property
    def text(self) -> str:
        return str(self._value("document.body.innerText"))

    def _on(self, selector: str, what: str) -> None:
        self._value(f"document.querySelector({json.dumps(selector)}).{what}")

    def _value(self, expression: str) -> Any:
        response = self._send("Runtime.evaluate", expression=expression, returnByValue=True)
        assert "exceptionDetails" not in response, response
        return response["result"].get("value")

    def _send(self, method: str, **params: Any) -> Any:
        self._last_id += 1
        self._socket.send(json.dumps({"id": self._last_id, "method": method, "params": params}))
        while (message := self._next()).get("id") != self._last_id:
            pass
        assert "error" not in message, message
        return message["result"]

    def _until_loaded(self, before: int) -> None:
        while self._loads == before:
            self._next()

    def _next(self) -> dict[str, Any]:
        message: dict[str, Any] = json.loads(self._socket.recv(timeout=_TIMEOUT))
        self._loads += message.get("method") == "Page.loadEventFired"
        return message

"""Link opener: which URLs it opens and rejects, and that nothing else opens URLs."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PySide6.QtCore import QUrl

import inspector
from inspector.base.errors import UserError
from inspector.base.web_link import read_link
from inspector.qt.link_opener import LinkOpener


class Browser:
    """Stand-in for the system's browser."""

    def __init__(self, works: bool = True) -> None:
        self.opened: list[str] = []
        self._works = works

    def __call__(self, url: QUrl) -> bool:
        self.opened.append(url.toEncoded().toStdString())
        return self._works


@pytest.mark.parametrize(
    ("url", "opened"),
    [
        ("https://example.com/a?b=c%20d#e", "https://example.com/a?b=c%20d#e"),
        ("http://127.0.0.1:8000/x", "http://127.0.0.1:8000/x"),
        ("http://2130706433/", "http://127.0.0.1/"),
        ("https://[::1]:3/", "https://[::1]:3/"),
        ("https://[::ffff:1.2.3.4]/", "https://[::ffff:1.2.3.4]/"),
        ("https://u'ser:p@h/{a}\"<b>%zz", "https://u%27ser:p@h/%7Ba%7D%22%3Cb%3E%25zz"),
        ("https://аррӏе.com/", "https://xn--80ak6aa92e.com/"),
        ("https://faß.de/ü", "https://xn--fa-hia.de/%C3%BC"),
        ("https://h/$(calc)`id`?q=';x", "https://h/%24%28calc%29%60id%60?q=%27;x"),
        ("https://h/cb?redirect=https%3A%2F%2Fx&l[]=1", "https://h/cb?redirect=https%3A%2F%2Fx&l[]=1"),
    ],
)
def test_web_url_is_passed_to_the_browser_in_ascii(url: str, opened: str) -> None:
    browser = Browser()
    LinkOpener(browser).open(url)
    assert browser.opened == [opened]


@pytest.mark.parametrize(
    "url",
    [
        "javascript:alert(1)",
        "file:///etc/passwd",
        "ms-msdt:/id",
        "vscode://x",
        "data:text/html,x",
        "smb://h/s",
        "\\\\host\\share",
        "//host/share",
        "https://a\\@b/",
        "https://h/\n",
        "https://e%78ample.com/",
        "https:x",
        "",
    ],
)
def test_other_urls_never_reach_the_system(url: str) -> None:
    """T11: opening a URL of the server runs code. T18: a UNC path leaks the user's NTLM hash."""
    browser = Browser()
    with pytest.raises(UserError, match=r"^MCP Lens blocked this URL\. .+\. Ask the server's operator"):
        LinkOpener(browser).open(url)
    assert browser.opened == []


_HOSTS = st.text(st.sampled_from("aä.ßxn-8ſｅ。१ж\u0301\ufe0f\u200d٣I"), min_size=1, max_size=12)


@given(_HOSTS)
def test_opened_host_is_the_host_that_was_shown(host: str) -> None:
    browser = Browser()
    url = f"https://{host}/path"
    try:
        LinkOpener(browser).open(url)
    except UserError:
        assert browser.opened == []
        return
    assert browser.opened == [f"https://{read_link(url).ascii_host}/path"]


def test_host_with_characters_qt_would_drop_is_not_opened() -> None:
    browser = Browser()
    with pytest.raises(UserError, match="invisible characters"):
        LinkOpener(browser).open("https://a\ufe0fb.example/")  # Qt drops the variation selector
    assert browser.opened == []


def test_host_that_qt_parses_differently_is_not_opened(monkeypatch: pytest.MonkeyPatch) -> None:
    """No such host is known that is not rejected earlier; a new Qt or Unicode may bring one."""
    browser = Browser()
    monkeypatch.setattr(
        "inspector.qt.link_opener.read_link", lambda url: replace(read_link(url), ascii_host="b.example")
    )
    with pytest.raises(UserError, match="Its host is ambiguous"):
        LinkOpener(browser).open("https://a.example/")
    assert browser.opened == []


def test_missing_browser_is_reported_with_what_to_do() -> None:
    with pytest.raises(UserError) as failed:
        LinkOpener(Browser(works=False)).open("https://example.com/")
    assert failed.value.summary == "Could not open a browser."
    assert failed.value.next_step == "Copy the URL instead."


def test_browser_is_opened_through_a_single_function() -> None:
    options = re.compile(
        r"QDesktopServices|\bopenUrl\b|\bwebbrowser\b|setOpenExternalLinks\(True|startfile|xdg-open"
    )
    root = Path(inspector.__file__).parent
    users = {
        path.relative_to(root).as_posix()
        for path in root.rglob("*.py")
        if options.search(path.read_text("utf-8"))
    }
    assert users == {"qt/link_opener.py"}

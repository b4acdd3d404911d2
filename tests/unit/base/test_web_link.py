"""Untrusted URLs: parsed, with warnings, and never opened if two parsers could disagree."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inspector.base.web_link import Link, read_link

ODD = st.text(st.sampled_from("htps:/@[]%.?#\\ \t\naé。xn-0127٣ß\u200b\u202e\ud800"), max_size=20)


@given(st.text() | ODD | ODD.map("https://{}".format) | ODD.map("http://a@{}:80/x".format))
def test_any_text_is_a_link_or_has_a_reason_why_not(url: str) -> None:
    link = read_link(url)
    assert link.before + link.host + link.after == url
    if link.problem:
        assert link.problem.endswith(".")
        return
    assert link.scheme in ("http", "https")
    assert link.ascii_host.isascii()
    again = read_link(link.encoded())
    assert (again.problem, again.ascii_host, again.port) == ("", link.ascii_host, link.port)
    assert link.encoded() == again.encoded()


def test_ordinary_url_is_parsed_without_a_warning() -> None:
    assert read_link("https://example.com/a/b?c=d#e") == Link(
        url="https://example.com/a/b?c=d#e",
        before="https://",
        host="example.com",
        after="/a/b?c=d#e",
        scheme="https",
        path="/a/b?c=d#e",
        ascii_host="example.com",
        unicode_host="example.com",
    )


@pytest.mark.parametrize(
    "url",
    [
        "http://localhost:8000/x",
        "http://app.localhost:1",
        "http://127.0.0.1:8000",
        "http://[::1]:3000/",
        "https://EXAMPLE.com/",
        "https://example.com:443/",
        "https://example.com",
        "https://a-b.example.co.uk/?x=%20",
    ],
)
def test_ordinary_urls_and_localhost_need_no_warning(url: str) -> None:
    link = read_link(url)
    assert (link.problem, link.warnings) == ("", ())


@pytest.mark.parametrize(
    ("url", "reason"),
    [
        ("javascript:alert(1)", "It begins with “javascript:”; only http and https URLs can be opened."),
        ("file:///etc/passwd", "It begins with “file:”; only http and https URLs can be opened."),
        ("ms-msdt:/id", "It begins with “ms-msdt:”; only http and https URLs can be opened."),
        ("vscode://x", "It begins with “vscode:”; only http and https URLs can be opened."),
        ("data:text/html,x", "It begins with “data:”; only http and https URLs can be opened."),
        ("view-source:https://h", "It begins with “view-source:”; only http and https URLs can be opened."),
        ("\\\\host\\share", "It contains a backslash, which is not valid in a URL."),
        ("https://good.example\\@evil.example/", "It contains a backslash, which is not valid in a URL."),
        ("//host/share", "It is not a web URL; only http and https URLs can be opened."),
        ("", "It is not a web URL; only http and https URLs can be opened."),
        ("https:host", "It has no host: “//” is missing."),
        ("https:///path", "It has no host."),
        ("https://user@/path", "It has no host."),
        ("https://h/a b", "It contains a space or control character, which is not valid in a URL."),
        ("https://h/\x1b[0m", "It contains a space or control character, which is not valid in a URL."),
        ("https://h\u3000x/", "It contains a space or control character, which is not valid in a URL."),
        (" https://h/", "It contains a space or control character, which is not valid in a URL."),
        ("https://exa\u00admple.com/", "Its host contains invisible characters."),
        ("https://exa\u202emple.com/", "Its host contains invisible characters."),
        ("https://e%78ample.com/", "“e%78ample.com” is not a valid host name."),
        ("https://a..b/", "“a..b” is not a valid host name."),
        ("https://-a.b/", "“-a.b” is not a valid host name."),
        ("https://a$b/", "“a$b” is not a valid host name."),
        ("https://h:0/", "“:0” is not a valid port."),
        ("https://h:65536/", "“:65536” is not a valid port."),
        ("https://h:٣/", "“:٣” is not a valid port."),
        ("https://h:80:90/", "“:80:90” is not a valid port."),
        ("http://1.2.3.4.5/", "“1.2.3.4.5” is neither a host name nor an IP address."),
        ("http://256.1.1.1/", "“256.1.1.1” is neither a host name nor an IP address."),
        ("http://a.1/", "“a.1” is neither a host name nor an IP address."),
        ("http://[fe80::1%25eth0]/", "“[fe80::1%25eth0]” is not a valid IPv6 address."),
        ("http://[::1/", "Its host is malformed."),
        ("https://h／x/", "Its host is malformed."),
        ("https://h/" + "a" * 40_000, "It is longer than 32,000 characters."),
    ],
)
def test_forbidden_urls_say_why(url: str, reason: str) -> None:
    link = read_link(url)
    assert link.problem == reason
    assert (link.before, link.warnings) == (url, ())


@pytest.mark.parametrize(
    "host", ["127.0.0.1", "127.1", "2130706433", "0x7f.1", "0177.0.0.1", "0x7F000001", "127.0.0.1."]
)
def test_legacy_ip_address_notations_are_normalized(host: str) -> None:
    link = read_link(f"http://{host}/")
    assert (str(link.address), link.ascii_host, link.is_loopback) == ("127.0.0.1", "127.0.0.1", True)
    disguised = () if host == "127.0.0.1" else (f"The host {host} is an obfuscated IP address: 127.0.0.1.",)
    assert link.warnings == disguised


@pytest.mark.parametrize("host", ["аррӏе.com", "xn--80ak6aa92e.com", "XN--80AK6AA92E.com"])
def test_non_ascii_host_is_given_in_both_forms(host: str) -> None:
    link = read_link(f"https://{host}/login")
    assert (link.host, link.ascii_host, link.unicode_host) == (host, "xn--80ak6aa92e.com", "аррӏе.com")
    assert link.is_international
    assert link.warnings == (
        "The host contains non-ASCII letters that can look like others: аррӏе.com is xn--80ak6aa92e.com.",
    )
    assert link.encoded() == "https://xn--80ak6aa92e.com/login"


@pytest.mark.parametrize(
    ("host", "is_mixed"), [("раypal.com", True), ("日本のテスト.jp", False), ("café.fr", False)]
)
def test_mixed_alphabets_in_one_name_cause_a_warning(host: str, is_mixed: bool) -> None:
    reported = read_link(f"https://{host}/").warnings
    assert ("The host mixes letters from different alphabets." in reported) == is_mixed


@pytest.mark.parametrize(
    ("url", "reported"),
    [
        ("http://example.com/", "The URL is not encrypted (http): others can read and change the traffic."),
        ("https://example.com:8443/", "The URL uses an unusual port: 8443."),
        ("https://bank.com@evil.example/", "The URL has a user name before the host (“bank.com”)"),
        ("https://192.0.2.7/", "The host is an IP address, 192.0.2.7, not a name."),
        ("https://[2001:db8::1]/", "The host is an IP address, [2001:db8::1], not a name."),
        (
            "https://ｅxample.com/",
            "The host ｅxample.com contains unusual characters; browsers read it as example.com.",
        ),
        ("https://a。b/", "The host a。b contains unusual characters; browsers read it as a.b."),
        ("https://xn--zzzzzz99999.com/", "The host xn--zzzzzz99999.com looks like Punycode (xn--…)"),
        ("https://h/\u202egnp.exe", "The URL contains invisible characters."),
        ("https://h/" + "a" * 2_000, "The URL is very long: 2,010 characters."),
    ],
)
def test_unusual_url_causes_a_warning_and_may_be_opened(url: str, reported: str) -> None:
    link = read_link(url)
    assert link.problem == ""
    assert len(link.warnings) == 1
    assert link.warnings[0].startswith(reported)


def test_slash_lookalikes_cause_a_warning() -> None:
    assert read_link("https://good.com⁄login.evil.example/").warnings[-1] == (
        "The host contains symbols that can look like a dot or a slash."
    )


def test_a_decoded_host_shows_its_hidden_characters() -> None:
    host = "a\u202eb".encode("punycode").decode()
    assert read_link(f"https://xn--{host}/").unicode_host == "a⟨U+202E⟩b"


def test_encoded_url_has_no_shell_metacharacters() -> None:
    link = read_link("https://u'ser@h/$(calc)`x`;a?q='\"|ü%zz%20&b=<c>#!{d}")
    assert link.encoded() == (
        "https://u%27ser@h/%24%28calc%29%60x%60;a?q=%27%22%7C%C3%BC%25zz%20&b=%3Cc%3E#%21%7Bd%7D"
    )

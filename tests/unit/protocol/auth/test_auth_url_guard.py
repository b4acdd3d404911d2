"""Which URLs are contacted: hostile and good ones, consent, and general properties."""

from __future__ import annotations

from ipaddress import IPv4Address, IPv6Address, ip_address

import httpx2
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from inspector.protocol.auth.url_guard import (
    PUBLIC_ONLY,
    AddressKind,
    Allowance,
    BlockReason,
    UrlBlocked,
    allowance_for,
    check_url,
    classify,
)

EVERYTHING = Allowance(loopback=True, private=True, plain_http=True)

# Blocked whatever was allowed.
NEVER: list[tuple[object, BlockReason]] = [
    (None, BlockReason.UNREADABLE),
    (7, BlockReason.UNREADABLE),
    (["https://example.com/"], BlockReason.UNREADABLE),
    ("", BlockReason.UNREADABLE),
    ("/relative", BlockReason.SCHEME),
    ("//example.com/", BlockReason.SCHEME),
    ("example.com/mcp", BlockReason.SCHEME),
    ("javascript:alert(1)", BlockReason.SCHEME),
    ("JavaScript://example.com/%0aalert(1)", BlockReason.SCHEME),
    ("data:text/html,x", BlockReason.SCHEME),
    ("file:///etc/passwd", BlockReason.SCHEME),
    ("vbscript:x", BlockReason.SCHEME),
    ("ftp://example.com/", BlockReason.SCHEME),
    ("gopher://127.0.0.1:6379/_FLUSHALL", BlockReason.SCHEME),
    ("ms-msdt:/id", BlockReason.SCHEME),
    ("vscode://x", BlockReason.SCHEME),
    ("ws://example.com/", BlockReason.SCHEME),
    ("view-source:https://example.com", BlockReason.SCHEME),
    ("\\\\host\\share", BlockReason.SCHEME),
    ("https:example.com", BlockReason.UNREADABLE),
    ("https:/example.com", BlockReason.UNREADABLE),
    ("https:///path", BlockReason.UNREADABLE),
    ("https://", BlockReason.UNREADABLE),
    ("https://:443/", BlockReason.UNREADABLE),
    ("https://example.com\\@127.0.0.1/", BlockReason.UNREADABLE),
    ("https://example.com\\.evil.example/", BlockReason.UNREADABLE),
    ("https://exam\tple.com/", BlockReason.UNREADABLE),
    ("https://example.com/\r\nHost: evil", BlockReason.UNREADABLE),
    (" https://example.com/", BlockReason.SCHEME),
    ("https://example.com/\x00", BlockReason.UNREADABLE),
    ("https://example.com/\u2028", BlockReason.UNREADABLE),
    ("https://exam\u200bple.com/", BlockReason.UNREADABLE),
    ("https://example.com:0/", BlockReason.UNREADABLE),
    ("https://example.com:99999/", BlockReason.UNREADABLE),
    ("https://example.com:-1/", BlockReason.UNREADABLE),
    ("https://example.com:8o/", BlockReason.UNREADABLE),
    ("https://example..com/", BlockReason.UNREADABLE),
    ("https://-example.com/", BlockReason.UNREADABLE),
    ("https://exa%6dple.com/", BlockReason.UNREADABLE),
    ("https://127.0.0.1%2f.example.com/", BlockReason.UNREADABLE),
    ("https://[::1/", BlockReason.UNREADABLE),
    ("https://[fe80::1%25eth0]/", BlockReason.UNREADABLE),
    ("https://[::1%lo]/", BlockReason.UNREADABLE),
    ("https://[v1.x]/", BlockReason.UNREADABLE),
    ("https://1.2.3.4.5/", BlockReason.UNREADABLE),
    ("https://256.1.1.1/", BlockReason.UNREADABLE),
    ("https://example.0x7f/", BlockReason.UNREADABLE),
    ("https://09.1.1.1/", BlockReason.UNREADABLE),
    ("https://4294967296/", BlockReason.UNREADABLE),
    ("https://example.com/" + "x" * 2048, BlockReason.UNREADABLE),
    ("https://user@example.com/", BlockReason.CREDENTIALS),
    ("https://user:secret@example.com/", BlockReason.CREDENTIALS),
    ("https://example.com@127.0.0.1/", BlockReason.CREDENTIALS),
    ("https://@example.com/", BlockReason.CREDENTIALS),
    ("https://example.com/#x", BlockReason.FRAGMENT),
    ("https://example.com/#", BlockReason.FRAGMENT),
    ("https://0.0.0.0/", BlockReason.RESERVED),
    ("https://0/", BlockReason.RESERVED),
    ("http://169.254.169.254/latest/meta-data/", BlockReason.RESERVED),
    ("http://0xa9fea9fe/", BlockReason.RESERVED),
    ("http://2852039166/", BlockReason.RESERVED),
    ("http://[::ffff:169.254.169.254]/", BlockReason.RESERVED),
    ("http://[fd00:ec2::254]/", BlockReason.RESERVED),
    ("http://100.100.100.200/", BlockReason.RESERVED),
    ("http://168.63.129.16/", BlockReason.RESERVED),
    ("http://192.0.0.192/", BlockReason.RESERVED),
    ("https://224.0.0.1/", BlockReason.RESERVED),
    ("https://255.255.255.255/", BlockReason.RESERVED),
    ("https://203.0.113.7/", BlockReason.RESERVED),
    ("https://[::]/", BlockReason.RESERVED),
    ("https://[fe80::1]/", BlockReason.RESERVED),
    ("https://[fec0::1]/", BlockReason.RESERVED),
    ("https://[ff02::1]/", BlockReason.RESERVED),
    ("https://[2001:db8::1]/", BlockReason.RESERVED),
    ("https://[2001:0:7f00:1::]/", BlockReason.RESERVED),
    ("https://[1::1]/", BlockReason.RESERVED),
]

LOOPBACK = [
    "https://127.0.0.1/",
    "https://127.1/",
    "https://0x7f.1/",
    "https://0x7f000001/",
    "https://2130706433/",
    "https://0177.0.0.1/",
    "https://127.255.255.254/",
    "https://１２７.0.0.1/",
    "https://127。0。0。1/",
    "https://127.0.0.1./",
    "https://localhost/",
    "https://LOCALHOST./",
    "https://a.localhost/",
    "https://ｌocalhost/",
    "https://[::1]/",
    "https://[0:0:0:0:0:0:0:1]/",
    "https://[::ffff:127.0.0.1]/",
    "https://[::ffff:7f00:1]/",
    "https://[::127.0.0.1]/",
    "https://[64:ff9b::7f00:1]/",
    "https://[2002:7f00:1::]/",
    "https://[::ffff:0:127.0.0.1]/",
]

PRIVATE = [
    "https://10.0.0.1/",
    "https://10.1/",
    "https://012.0.0.1/",
    "https://172.16.0.1/",
    "https://172.31.255.255/",
    "https://192.168.0.1/",
    "https://3232235521/",
    "https://100.64.0.1/",
    "https://198.18.0.1/",
    "https://[fd12:3456::1]/",
    "https://[::ffff:10.0.0.1]/",
    "https://[64:ff9b::a00:1]/",
    "https://[2002:c0a8:1::]/",
]

GOOD = [
    ("https://example.com", "example.com", 443),
    ("HTTPS://Example.COM/mcp?x=1", "example.com", 443),
    ("https://auth.example.com:8443/tenant1", "auth.example.com", 8443),
    ("https://example.com./", "example.com", 443),
    ("https://8.8.8.8/", "8.8.8.8", 443),
    ("https://[2606:4700::1111]/x", "2606:4700::1111", 443),
    ("https://bücher.example/", "xn--bcher-kva.example", 443),
    ("https://172.32.0.1/", "172.32.0.1", 443),
    ("https://login.example.com/a%20b/$(calc)?q='", "login.example.com", 443),
]


def blocked_by(raw: str, allowance: Allowance) -> BlockReason | None:
    try:
        check_url(raw, allowance)
    except UrlBlocked as blocked:
        return blocked.reason
    return None


@pytest.mark.parametrize(("raw", "reason"), NEVER, ids=lambda value: repr(value)[:60])
def test_address_that_consent_cannot_allow_is_blocked(raw: object, reason: BlockReason) -> None:
    with pytest.raises(UrlBlocked) as blocked:
        check_url(raw, EVERYTHING)

    assert blocked.value.reason is reason
    assert blocked.value.summary.endswith(".")


@pytest.mark.parametrize(
    ("host", "what"),
    [
        ("169.254.169.254", "a link-local address, as used by cloud metadata services"),
        ("[::ffff:169.254.169.254]", "a link-local address, as used by cloud metadata services"),
        ("[fe80::1]", "a link-local address, as used by cloud metadata services"),
        ("100.100.100.200", "an address of cloud metadata services"),
        ("[fd00:ec2::254]", "an address of cloud metadata services"),
        ("0.0.0.0", "a reserved address that no web server uses"),
        ("[64:ff9b::a9fe:a9fe]", "a reserved address that no web server uses"),
    ],
)
def test_reserved_address_is_named_with_its_kind_and_no_consent_is_suggested(host: str, what: str) -> None:
    with pytest.raises(UrlBlocked) as blocked:
        check_url(f"https://{host}/", EVERYTHING)
    assert blocked.value.summary.endswith(f" is {what}.")
    assert "llow" not in blocked.value.next_step
    assert blocked.value.next_step.startswith("MCP Lens never contacts such addresses.")


@pytest.mark.parametrize("raw", LOOPBACK)
def test_loopback_is_allowed_only_for_a_server_on_this_machine(raw: str) -> None:
    with pytest.raises(UrlBlocked) as blocked:
        check_url(raw, Allowance(private=True, plain_http=True))

    assert blocked.value.reason is BlockReason.LOOPBACK
    assert check_url(raw, Allowance(loopback=True)).kind is AddressKind.LOOPBACK


@pytest.mark.parametrize("raw", PRIVATE)
def test_private_network_needs_consent(raw: str) -> None:
    with pytest.raises(UrlBlocked) as blocked:
        check_url(raw, Allowance(loopback=True, plain_http=True))

    assert blocked.value.reason is BlockReason.PRIVATE
    assert "allow private network addresses" in blocked.value.next_step
    assert check_url(raw, Allowance(private=True)).kind is AddressKind.PRIVATE


@pytest.mark.parametrize(("raw", "host", "port"), GOOD)
def test_public_url_is_parsed(raw: str, host: str, port: int) -> None:
    url = check_url(raw)

    assert (url.raw, url.host, url.port, url.scheme) == (raw, host, port, "https")
    assert url.url.isascii()


def test_http_needs_consent_except_on_loopback() -> None:
    with pytest.raises(UrlBlocked) as blocked:
        check_url("http://example.com/", Allowance(loopback=True, private=True))

    assert blocked.value.reason is BlockReason.PLAIN_HTTP
    assert check_url("http://example.com/", Allowance(plain_http=True)).port == 80
    assert check_url("http://127.0.0.1:9/", Allowance(loopback=True)).port == 9


def test_the_ports_of_other_services_need_consent() -> None:
    for port in (22, 25, 587, 993):
        with pytest.raises(UrlBlocked) as blocked:
            check_url(f"https://example.com:{port}/")
        assert blocked.value.reason is BlockReason.PORT
    assert check_url("https://example.com:993/", Allowance(private=True)).port == 993
    assert check_url("https://example.com:80/").port == 80


def test_contacted_url_is_normalized() -> None:
    allowed = Allowance(loopback=True)

    assert check_url("https://0x7f.1/a", allowed).url == "https://127.0.0.1/a"
    assert check_url("https://１２７.0.0.1/a", allowed).url == "https://127.0.0.1/a"
    assert check_url("https://bücher.example/ä").url == "https://xn--bcher-kva.example/%C3%A4"
    assert check_url("https://Example.com/A?b=(c)").url == "https://Example.com/A?b=(c)"


def test_origins_are_compared_with_their_ports() -> None:
    one = check_url("https://Example.com/a")

    assert one.origin == "https://example.com:443"
    assert one.origin == check_url("https://example.com.:443/b").origin
    assert one.origin != check_url("https://example.com:8443/a").origin
    assert one.origin != check_url("http://example.com:443/", Allowance(plain_http=True)).origin
    assert check_url("https://[2606:4700::1]:8443/").origin == "https://[2606:4700::1]:8443"


def test_configured_server_decides_whether_loopback_is_allowed() -> None:
    for url in ("http://localhost:8000/mcp", "http://127.0.0.1/mcp", "http://[::1]:3000/mcp"):
        assert allowance_for(url).loopback
    for url in (
        "https://example.com/mcp",
        "http://localhost.example.com/",
        "http://192.168.1.5/mcp",
        "nonsense",
    ):
        assert not allowance_for(url).loopback
    assert allowance_for("https://example.com", private=True, plain_http=True) == Allowance(
        False, True, True, "https://example.com:443"
    )


def test_origin_configured_by_the_user_is_always_allowed() -> None:
    allowance = allowance_for("http://192.168.1.5:81/mcp")

    assert check_url("http://192.168.1.5:81/.well-known/x", allowance).kind is AddressKind.PRIVATE
    assert blocked_by("http://192.168.1.5:82/", allowance) is BlockReason.PRIVATE
    assert blocked_by("http://192.168.1.6:81/", allowance) is BlockReason.PRIVATE
    assert (
        blocked_by("http://devbox:9000/", allowance_for("http://devbox:8000/mcp")) is BlockReason.PLAIN_HTTP
    )
    assert allowance_for("http://169.254.169.254/mcp").own_origin == ""


@given(st.sampled_from([raw for raw, _, _ in GOOD] + LOOPBACK + PRIVATE))
def test_the_http_client_reads_the_same_host_as_the_guard(raw: str) -> None:
    url = check_url(raw, EVERYTHING)
    read = httpx2.URL(url.url)

    assert read.raw_host.decode("ascii").rstrip(".") == url.host
    assert (read.port or {"http": 80, "https": 443}[read.scheme]) == url.port


@given(st.ip_addresses(v=4))
@example(IPv4Address("192.31.196.1"))
def test_addresses_classified_as_public_are_not_private_according_to_python(address: IPv4Address) -> None:
    if address.is_private or address.is_loopback or address.is_link_local or address.is_multicast:
        assert classify(address) is not AddressKind.PUBLIC


@pytest.mark.parametrize("address", ["2002:100::", "2002:8000::", "2002:808:808::1"])
def test_6to4_addresses_are_never_public(address: str) -> None:
    assert classify(IPv6Address(address)) is AddressKind.RESERVED


@given(st.ip_addresses(v=6))
def test_ipv6_addresses_classified_as_public_are_not_private_according_to_python(
    address: IPv6Address,
) -> None:
    if not address.is_global:
        assert classify(address) is not AddressKind.PUBLIC


@given(st.ip_addresses(v=4), st.sampled_from(["::ffff:{}", "::{}", "64:ff9b::{}", "::ffff:0:{}"]))
def test_embedded_address_is_classified_as_what_it_is(inner: IPv4Address, form: str) -> None:
    outer = ip_address(form.format(inner))
    if outer != IPv6Address("::") and outer != IPv6Address("::1"):
        assert classify(outer) is classify(inner)


@given(st.ip_addresses(v=4), st.sampled_from(["{:d}", "{:#x}", "0{:o}"]))
def test_numeric_address_is_classified_alike_in_every_notation(address: IPv4Address, form: str) -> None:
    def classified(host: str) -> AddressKind | BlockReason | None:
        try:
            return check_url(f"https://{host}/").kind
        except UrlBlocked as blocked:
            return blocked.reason

    assert classified(form.format(int(address))) == classified(str(address))


_PIECES = st.sampled_from(
    [
        "https://",
        "http:",
        "//",
        "@",
        "\\",
        "#",
        "%",
        "[",
        "]",
        ":",
        "127.0.0.1",
        "localhost",
        "a.example",
        "0x",
        "\t",
    ]
)


@given(st.lists(_PIECES | st.text(max_size=5), max_size=8).map("".join))
def test_every_allowed_url_is_https_to_a_public_host(raw: str) -> None:
    try:
        url = check_url(raw, PUBLIC_ONLY)
    except UrlBlocked:
        return
    assert url.url.isascii()
    assert url.scheme == "https"
    assert url.kind in (None, AddressKind.PUBLIC)
    assert httpx2.URL(url.url).raw_host.decode("ascii").rstrip(".") == url.host
    assert url.host.split(".")[-1] != "localhost"


def test_user_configured_provider_is_allowed_where_a_server_supplied_url_is_not() -> None:
    """An enterprise identity provider is in a private network, whatever the server may name."""
    allowed = allowance_for("https://mcp.example/mcp", typed=("https://10.1.2.3/idp", "", "no address"))
    assert check_url("https://10.1.2.3/token", allowed).host == "10.1.2.3"
    for other in ("https://10.1.2.4/idp", "https://10.1.2.3:8443/idp", "http://10.1.2.3/idp"):
        with pytest.raises(UrlBlocked):
            check_url(other, allowed)
    assert not allowed.private
    assert (
        allowance_for("https://mcp.example", typed=("https://127.0.0.1/",))
        .at("https://127.0.0.1:443")
        .loopback
    )


def test_configured_provider_without_tls_needs_consent_too() -> None:
    """Its ID tokens are trusted because they come over TLS."""
    with pytest.raises(UrlBlocked) as caught:
        check_url("http://idp.example/", allowance_for("https://m.example", typed=("http://idp.example/",)))
    assert caught.value.reason is BlockReason.PLAIN_HTTP
    consented = allowance_for("https://m.example", typed=("http://idp.example/",), plain_http=True)
    assert check_url("http://idp.example/", consented).scheme == "http"

"""Guard against server-named URLs that must not be contacted (SSRF).

Discovery follows URLs written by others: in a challenge, in metadata, and in what those lead to. Followed
blindly, they can lead to a router, an internal database or a cloud metadata service. `check_url` checks
each URL before anything is sent; before connecting, `classify` checks the IP address that the name
resolved to.

URLs are parsed by `base.web_link`, which rejects what two parsers could read differently.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import Enum
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address
from typing import TypeAlias

from inspector.base.errors import UserError
from inspector.base.web_link import Link, read_link

MAX_URL_LENGTH = 2_048

Address: TypeAlias = IPv4Address | IPv6Address


class AddressKind(Enum):
    """What kind of network an IP address belongs to."""

    PUBLIC = "public"
    LOOPBACK = "loopback"  # this machine
    PRIVATE = "private"  # local network; by consent
    RESERVED = "reserved"  # unassigned, multicast, or cloud metadata services; never


class BlockReason(Enum):
    """Why a URL is not contacted."""

    UNREADABLE = "unreadable"
    SCHEME = "scheme"  # neither https nor http
    CREDENTIALS = "credentials"
    FRAGMENT = "fragment"
    LOOPBACK = "loopback"
    PRIVATE = "private"
    RESERVED = "reserved"
    PLAIN_HTTP = "plain http"
    PORT = "port"


class UrlBlocked(UserError):
    """A URL from a server is not contacted; `reason` is an enum, the summary a sentence."""

    def __init__(self, reason: BlockReason, summary: str, next_step: str = "") -> None:
        super().__init__(summary, next_step)
        self.reason = reason

    @property
    def clause(self) -> str:
        """The summary as the end of another sentence."""
        text = self.summary.removesuffix(".")
        return text[0].lower() + text[1:] if text.startswith(("It ", "Its ", "Port ")) else text


@dataclass(frozen=True, slots=True)
class Allowance:
    """What a server's URLs may lead to, besides public hosts over https."""

    loopback: bool = False  # only if the server configured by the user is on this machine
    private: bool = False  # by consent for this server: its network, and unusual ports
    plain_http: bool = False  # by consent for this server
    own_origin: str = ""  # of the configured server, contacted anyway: all three apply there
    typed_origins: frozenset[str] = frozenset()  # others that the user configured: any network, over https

    def at(self, origin: str) -> Allowance:
        """Return the allowance for URLs of an origin."""
        if origin in self.typed_origins and origin != self.own_origin:
            return replace(self, loopback=True, private=True)
        return TYPED_BY_USER if origin == self.own_origin else self

    def permits(self, kind: AddressKind) -> bool:
        """True if connecting to such an address is allowed; checked for every resolved address."""
        if kind is AddressKind.LOOPBACK:
            return self.loopback
        return kind is AddressKind.PUBLIC or (kind is AddressKind.PRIVATE and self.private)


PUBLIC_ONLY = Allowance()
# Reserved addresses are refused even if the user typed them.
TYPED_BY_USER = Allowance(loopback=True, private=True, plain_http=True)


@dataclass(frozen=True, slots=True)
class GuardedUrl:
    """A URL that may be contacted, as far as its text shows."""

    raw: str  # as the server wrote it: for comparing and display
    url: str  # normalized to ASCII: for requests
    scheme: str
    host: str  # as resolved, without trailing dot; IP addresses normalized
    port: int
    kind: AddressKind | None  # None: a name, checked when resolved

    @property
    def origin(self) -> str:
        """Scheme, host and port; the port is always included, for comparison."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{self.scheme}://{host}:{self.port}"

    def __str__(self) -> str:
        return self.url


def allowance_for(
    server_url: str, *, private: bool = False, plain_http: bool = False, typed: Iterable[str] = ()
) -> Allowance:
    """Return what a configured server may name, given the user's consents.

    `typed` are other URLs that the user entered for its logins, such as an enterprise identity provider:
    that it is in the company's network says nothing about what the server may name.
    """
    others = frozenset(url.origin for url in map(_typed, typed) if url is not None)
    own = _typed(server_url)
    if own is None:
        return Allowance(private=private, plain_http=plain_http, typed_origins=others)
    return Allowance(own.kind is AddressKind.LOOPBACK, private, plain_http, own.origin, others)


def _typed(url: str) -> GuardedUrl | None:
    """Parse a URL from the user; None if it can never be contacted."""
    try:
        return check_url(url, TYPED_BY_USER)
    except UrlBlocked:
        return None


def check_url(raw: object, allowance: Allowance = PUBLIC_ONLY) -> GuardedUrl:
    """Return the URL if it may be contacted. Raises UrlBlocked."""
    link = _read(raw)
    port = link.port or _DEFAULT_PORTS[link.scheme]
    url = GuardedUrl(link.url, _plain(link), link.scheme, link.ascii_host.rstrip("."), port, _kind(link))
    _check(url, allowance.at(url.origin))
    return url


def classify(address: Address) -> AddressKind:
    """Classify an IP address. IPv4 embedded in IPv6 is classified as IPv4."""
    if isinstance(address, IPv4Address):
        return _classify_v4(address)
    if address == _LOOPBACK_V6:
        return AddressKind.LOOPBACK
    if any(address in network for network in _RESERVED_V6):
        return AddressKind.RESERVED
    if any(address in network for network in _PRIVATE_V6):
        return AddressKind.PRIVATE
    for network, shift in _EMBEDDING_V6:
        if address in network:
            kind = _classify_v4(IPv4Address(int(address) >> shift & 0xFFFF_FFFF))
            # RFC 7526 deprecates 6to4; IANA does not list it as globally reachable.
            is_public_6to4 = kind is AddressKind.PUBLIC and address in _SIX_TO_FOUR
            return AddressKind.RESERVED if is_public_6to4 else kind
    return AddressKind.PUBLIC if address in _GLOBAL_V6 else AddressKind.RESERVED


def describe(address: Address) -> str:
    """Return what kind of address it is, as a noun phrase."""
    kind = classify(address)
    if kind is not AddressKind.RESERVED:
        return _KIND_TEXTS[kind]
    inner = IPv4Address(int(address) & 0xFFFF_FFFF) if address in _MAPPED else address
    if inner.is_link_local:
        return "a link-local address, as used by cloud metadata services"
    if any(inner in network for network in _CLOUD_V4) or any(inner in network for network in _CLOUD_V6):
        return "an address of cloud metadata services"
    return "a reserved address that no web server uses"


_KIND_TEXTS = {
    AddressKind.PUBLIC: "a public address",
    AddressKind.LOOPBACK: "a loopback address",
    AddressKind.PRIVATE: "a private network address",
}
_DEFAULT_PORTS = {"http": 80, "https": 443}
# How to consent. There is no consent to loopback and reserved addresses.
ALLOW_PRIVATE = "If you expect this, allow private network addresses for this server in the Auth tab."
_ALLOW_PORT = "If you expect this, set auth.private in the server's JSON."
_ALLOW_PLAIN_HTTP = "If you expect this, set auth.plainHttp in the server's JSON."
NEVER_CONTACTED = "MCP Lens never contacts such addresses. Check the URLs in the server's metadata, and DNS."


def _read(raw: object) -> Link:
    if not isinstance(raw, str) or not raw:
        raise UrlBlocked(BlockReason.UNREADABLE, "It is empty or not a string.")
    if len(raw) > MAX_URL_LENGTH:
        raise UrlBlocked(BlockReason.UNREADABLE, f"It is longer than {MAX_URL_LENGTH:,} characters.")
    link = read_link(raw)
    if link.problem:
        raise UrlBlocked(_unreadable(raw), link.problem)
    if "@" in link.before:
        raise UrlBlocked(BlockReason.CREDENTIALS, "It contains a username or a password.")
    if "#" in link.path:
        raise UrlBlocked(BlockReason.FRAGMENT, "It contains a fragment (#…).")
    return link


def _unreadable(raw: str) -> BlockReason:
    has_web_scheme = raw.partition(":")[0].lower() in _DEFAULT_PORTS
    return BlockReason.UNREADABLE if has_web_scheme else BlockReason.SCHEME


def _kind(link: Link) -> AddressKind | None:
    if link.address is not None:
        return classify(link.address)
    return AddressKind.LOOPBACK if link.is_loopback else None


def _check(url: GuardedUrl, allowance: Allowance) -> None:
    if url.kind is not None and not allowance.permits(url.kind):
        raise _blocked_kind(url.host, url.kind)
    if url.kind is AddressKind.LOOPBACK:
        return
    if url.scheme == "http" and not allowance.plain_http:
        raise UrlBlocked(
            BlockReason.PLAIN_HTTP, "It is not encrypted (http instead of https).", _ALLOW_PLAIN_HTTP
        )
    is_usual = url.port in _DEFAULT_PORTS.values() or url.port >= 1024
    if not (is_usual or allowance.private):
        raise UrlBlocked(BlockReason.PORT, f"Port {url.port} is not a web port.", _ALLOW_PORT)


def _blocked_kind(host: str, kind: AddressKind) -> UrlBlocked:
    if kind is AddressKind.LOOPBACK:
        # Consent does not help: only a server on this machine may name this machine.
        summary = f"{host} is a loopback address, but the server is not on this machine."
        return UrlBlocked(BlockReason.LOOPBACK, summary, NEVER_CONTACTED)
    if kind is AddressKind.PRIVATE:
        return UrlBlocked(BlockReason.PRIVATE, f"{host} is in a private network.", ALLOW_PRIVATE)
    summary = f"{host} is {describe(ip_address(host.partition('%')[0]))}."
    return UrlBlocked(BlockReason.RESERVED, summary, NEVER_CONTACTED)


def _plain(link: Link) -> str:
    """Return the URL as is if all parsers agree on its host, else normalized."""
    as_written = link.host.strip("[]").lower()
    return link.url if link.url.isascii() and as_written == link.ascii_host else link.encoded()


def _v4(*networks: str) -> tuple[IPv4Network, ...]:
    return tuple(map(IPv4Network, networks))


def _v6(*networks: str) -> tuple[IPv6Network, ...]:
    return tuple(map(IPv6Network, networks))


# Cloud metadata services with credentials; checked before the ranges that contain them.
_CLOUD_V4 = _v4("100.100.100.200/32", "168.63.129.16/32", "169.254.0.0/16", "192.0.0.0/24")
_CLOUD_V6 = _v6("fd00:ec2::254/128", "fd20:ce::254/128")
_LOOPBACK_V4 = IPv4Network("127.0.0.0/8")
_LOOPBACK_V6 = IPv6Address("::1")
# CGNAT and benchmarking ranges count as private: VPNs use the former, some proxies the latter.
_PRIVATE_V4 = _v4("10.0.0.0/8", "100.64.0.0/10", "172.16.0.0/12", "192.168.0.0/16", "198.18.0.0/15")
_PRIVATE_V6 = _v6("fc00::/7")
_RESERVED_V4 = _CLOUD_V4 + _v4(
    "0.0.0.0/8",
    "192.0.2.0/24",
    "192.88.99.0/24",
    "198.51.100.0/24",
    "203.0.113.0/24",
    "224.0.0.0/4",
    "240.0.0.0/4",
)
_RESERVED_V6 = _CLOUD_V6 + _v6(
    "::/128",
    "100::/64",
    "64:ff9b:1::/48",
    "2001::/23",
    "2001:db8::/32",
    "3fff::/20",
    "5f00::/16",
    "fe80::/10",
    "fec0::/10",
    "ff00::/8",
)
_MAPPED = IPv6Network("::ffff:0:0/96")
_GLOBAL_V6 = IPv6Network("2000::/3")
_SIX_TO_FOUR = IPv6Network("2002::/16")
# Prefixes that embed an IPv4 address, and the number of bits after it: mapped, compatible, NAT64,
# translated, 6to4.
_EMBEDDING_V6 = (
    (_MAPPED, 0),
    (IPv6Network("::/96"), 0),
    (IPv6Network("64:ff9b::/96"), 0),
    (IPv6Network("::ffff:0:0:0/96"), 0),
    (_SIX_TO_FOUR, 80),
)


def _classify_v4(address: IPv4Address) -> AddressKind:
    if address in _LOOPBACK_V4:
        return AddressKind.LOOPBACK
    if any(address in network for network in _RESERVED_V4):
        return AddressKind.RESERVED
    is_private = any(address in network for network in _PRIVATE_V4)
    return AddressKind.PRIVATE if is_private else AddressKind.PUBLIC

"""Untrusted web URLs: parsed for display, with warnings and whether they may be opened.

The host matters most and is what attackers disguise: look-alike letters, a user name that looks like a
host, an IP address in an unusual notation. So it is given both as `xn--…` and in letters, together with
the parts of the URL before and after it, for emphasis. Nothing is resolved or fetched.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass, replace
from ipaddress import AddressValueError, IPv4Address, IPv6Address
from typing import TypeAlias
from urllib.parse import quote, urlsplit

from inspector.base.plain_text import one_line, visible

LONG_URL = 2_000
_MAX_LENGTH = 32_000  # no browser or operating system accepts more on a command line

_DEFAULT_PORTS = {"http": 80, "https": 443}
# Some URL parsers strip these or read them as a slash, so that two parsers see two hosts.
_FORBIDDEN = re.compile(r"[\x00-\x20\x7f-\x9f\s\\]")
_DOTS = re.compile("[.\u3002\uff0e\uff61]")
_LABEL = re.compile(r"[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?")
_NUMBER = re.compile(r"0x[0-9a-f]*|[0-9]+")
_STRAY_PERCENT = re.compile(r"%(?![0-9A-Fa-f]{2})")

Address: TypeAlias = IPv4Address | IPv6Address


@dataclass(frozen=True, slots=True)
class Link:
    """A parsed web URL; `before` + `host` + `after` is the URL as written.

    `problem` says in a sentence why it must never be opened; "" if the user may open it.
    """

    url: str
    before: str = ""
    host: str = ""
    after: str = ""
    scheme: str = ""
    user: str = ""  # before the @: a name, perhaps a password
    port: int | None = None
    path: str = ""  # everything after the host: path, query, fragment
    ascii_host: str = ""  # the host as it is resolved
    unicode_host: str = ""  # the host as a browser may show it, hidden characters made visible
    address: Address | None = None  # if the host is an IP address, in any notation
    problem: str = ""
    warnings: tuple[str, ...] = ()

    @property
    def is_international(self) -> bool:
        """True if the host has non-ASCII letters, directly or as Punycode."""
        return self.unicode_host != self.ascii_host

    @property
    def is_loopback(self) -> bool:
        if self.address is not None:
            return self.address.is_loopback
        name = self.ascii_host.rstrip(".")
        return name == "localhost" or name.endswith(".localhost")

    def encoded(self) -> str:
        """Return the URL in ASCII, without anything that a shell could interpret."""
        user = f"{quote(_escaped(self.user), safe='%:', errors='replace')}@" if self.user else ""
        host = f"[{self.address}]" if isinstance(self.address, IPv6Address) else self.ascii_host
        port = "" if self.port is None else f":{self.port}"
        rest = quote(_escaped(self.path), safe="%/?#[]@&+,;=:-._~", errors="replace")
        return f"{self.scheme}://{user}{host}{port}{rest}"


def read_link(url: str) -> Link:
    """Parse a URL. Never raises: an unreadable one has a `problem`."""
    found = _FORBIDDEN.search(url)
    if found:
        what = "a backslash" if found[0] == "\\" else "a space or control character"
        return _unusable(url, f"It contains {what}, which is not valid in a URL.")
    if len(url) > _MAX_LENGTH:
        return _unusable(url, f"It is longer than {_MAX_LENGTH:,} characters.")
    scheme, colon, _ = url.partition(":")
    if scheme.lower() not in _DEFAULT_PORTS:
        what = f"begins with “{one_line(scheme[:40])}:”" if colon else "is not a web URL"
        return _unusable(url, f"It {what}; only http and https URLs can be opened.")
    try:
        link = _parse(url)
    except ValueError as exc:
        return _unusable(url, str(exc) or "It is malformed.")
    return replace(link, warnings=tuple(_warnings(link)))


def _escaped(text: str) -> str:
    return _STRAY_PERCENT.sub("%25", text)


def _unusable(url: str, problem: str) -> Link:
    return Link(url, before=url, problem=problem)


def _parse(url: str) -> Link:
    try:
        parts = urlsplit(url)
    except ValueError:
        raise ValueError("Its host is malformed.") from None
    if not url[len(parts.scheme) :].startswith("://"):
        raise ValueError("It has no host: “//” is missing.")
    user, at, location = parts.netloc.rpartition("@")
    host, port = _host_and_port(location)
    start = len(parts.scheme) + 3 + len(user) + len(at)
    address = _address(host)
    ascii_host = str(address) if address else _to_ascii(host)
    return Link(
        url=url,
        before=url[:start],
        host=url[start : start + len(host)],
        after=url[start + len(host) :],
        scheme=parts.scheme,
        user=user,
        port=port,
        path=url[len(parts.scheme) + 3 + len(parts.netloc) :],
        ascii_host=ascii_host,
        unicode_host=ascii_host if address else _to_unicode(ascii_host),
        address=address,
    )


def _host_and_port(location: str) -> tuple[str, int | None]:
    if location.startswith("["):
        host, bracket, rest = location.partition("]")
        host += bracket
    else:
        host, colon, digits = location.partition(":")
        rest = colon + digits
    if not host:
        raise ValueError("It has no host.")
    if not rest or rest == ":":
        return host, None
    digits = rest[1:]
    if rest[0] != ":" or not re.fullmatch("[0-9]{1,5}", digits) or not 0 < int(digits) < 65_536:
        raise ValueError(f"“{one_line(rest[:20])}” is not a valid port.")
    return host, int(digits)


def _address(host: str) -> Address | None:
    """Return the IP address in a host, in standard or legacy notation (2130706433, 0x7f.1)."""
    if host.startswith("["):
        try:
            return IPv6Address(host[1:-1].replace("%", "?"))  # no zone IDs: they are local to this machine
        except AddressValueError:
            raise ValueError(f"“{one_line(host[:60])}” is not a valid IPv6 address.") from None
    parts = _folded(host).removesuffix(".").split(".")
    if not _NUMBER.fullmatch(parts[-1]):
        return None
    try:
        return _legacy_address([_legacy_number(part) for part in parts])
    except ValueError:
        raise ValueError(f"“{one_line(host[:60])}” is neither a host name nor an IP address.") from None


def _legacy_number(part: str) -> int:
    if not _NUMBER.fullmatch(part) or len(part) > 20:
        raise ValueError
    if part.startswith("0x"):
        return int(part[2:] or "0", 16)
    return int(part, 8 if len(part) > 1 and part[0] == "0" else 10)


def _legacy_address(numbers: list[int]) -> IPv4Address:
    """Parse like `inet_aton`: the last number fills all remaining bytes."""
    *head, last = numbers
    if len(numbers) > 4 or any(number > 255 for number in head) or last >= 256 ** (4 - len(head)):
        raise ValueError
    return IPv4Address(int.from_bytes(bytes([*head, *last.to_bytes(4 - len(head), "big")]), "big"))


def _folded(host: str) -> str:
    """Fold a host as browsers do first: NFKC, lower case, one kind of dot."""
    return _DOTS.sub(".", unicodedata.normalize("NFKC", host).lower())


def _to_ascii(host: str) -> str:
    if visible(host) != host:  # some parsers drop them, others do not
        raise ValueError("Its host contains invisible characters.")
    labels = list(map(_label_to_ascii, _folded(host).split(".")))
    names = labels[:-1] if len(labels) > 1 and not labels[-1] else labels  # one trailing dot is allowed
    if not all(map(_LABEL.fullmatch, names)):
        raise ValueError(f"“{one_line(host[:60])}” is not a valid host name.")
    return ".".join(labels)


def _label_to_ascii(label: str) -> str:
    return label if label.isascii() else f"xn--{label.encode('punycode').decode()}"


def _to_unicode(host: str) -> str:
    return ".".join(visible(_label_to_unicode(label)) for label in host.split("."))


def _label_to_unicode(label: str) -> str:
    if not label.startswith("xn--"):
        return label
    try:
        return label[4:].encode("ascii").decode("punycode")
    except (UnicodeError, ValueError, OverflowError):
        return label


def _warnings(link: Link) -> Iterator[str]:
    if link.is_international:
        yield from _letter_warnings(link)
    elif "xn--" in link.ascii_host:
        yield f"The host {link.ascii_host} looks like Punycode (xn--…) but cannot be decoded."
    elif link.address is None and link.host.lower() != link.ascii_host:
        yield (
            f"The host {one_line(link.host)} contains unusual characters; browsers read it as "
            f"{link.ascii_host}."
        )
    if link.address is not None:
        yield from _address_warnings(link)
    if link.user:
        name = one_line(link.user[:40])
        yield f"The URL has a user name before the host (“{name}”), which can look like a host."
    if link.scheme == "http" and not link.is_loopback:
        yield "The URL is not encrypted (http): others can read and change the traffic."
    if link.port not in (None, _DEFAULT_PORTS[link.scheme]) and not link.is_loopback:
        yield f"The URL uses an unusual port: {link.port}."
    if visible(link.url) != link.url:
        yield "The URL contains invisible characters."
    if len(link.url) > LONG_URL:
        yield f"The URL is very long: {len(link.url):,} characters."


def _letter_warnings(link: Link) -> Iterator[str]:
    yield (
        f"The host contains non-ASCII letters that can look like others: {link.unicode_host} is "
        f"{link.ascii_host}."
    )
    labels = [_label_to_unicode(label) for label in link.ascii_host.split(".")]
    if any(_mixes_scripts(label) for label in labels):
        yield "The host mixes letters from different alphabets."
    if any(not _has_only_letters(label) for label in labels):
        yield "The host contains symbols that can look like a dot or a slash."


def _address_warnings(link: Link) -> Iterator[str]:
    plain = f"[{link.address}]" if isinstance(link.address, IPv6Address) else str(link.address)
    if link.host.lower() != plain and not isinstance(link.address, IPv6Address):
        yield f"The host {one_line(link.host)} is an obfuscated IP address: {plain}."
    elif not link.is_loopback:
        yield f"The host is an IP address, {plain}, not a name."


# Scripts that are used together by one language; Latin goes with each of them.
_COMPATIBLE_SCRIPTS = (
    frozenset({"CJK", "HIRAGANA", "KATAKANA", "LATIN"}),
    frozenset({"CJK", "HANGUL", "LATIN"}),
    frozenset({"CJK", "BOPOMOFO", "LATIN"}),
)


def _mixes_scripts(label: str) -> bool:
    scripts = {_script(char) for char in label if unicodedata.category(char).startswith("L")}
    return len(scripts) > 1 and not any(scripts <= group for group in _COMPATIBLE_SCRIPTS)


def _script(char: str) -> str:
    """Return a letter's script: the first word of its name (CYRILLIC SMALL LETTER A)."""
    return unicodedata.name(char, "UNKNOWN").partition(" ")[0].partition("-")[0]


def _has_only_letters(label: str) -> bool:
    return all(char in "-_" or unicodedata.category(char)[0] in "LMN" for char in label)

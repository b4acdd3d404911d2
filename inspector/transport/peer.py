"""Who was really talked to: the number behind a name, and for TLS what it was proven with."""

from __future__ import annotations

import ssl
from dataclasses import dataclass
from typing import TYPE_CHECKING

from inspector.transport.certificates import CertificateSeen, chain_of, read_chain

if TYPE_CHECKING:
    import httpx2


@dataclass(frozen=True, slots=True)
class Peer:
    """The other end of a connection. With a proxy, `address` is the proxy's."""

    address: str
    port: int
    tls: str = ""  # the version, such as "TLSv1.3"; "" for none
    certificate: CertificateSeen | None = None
    is_proxy: bool = False

    def lines(self) -> tuple[str, ...]:
        """Return the lines to display."""
        number = f"[{self.address}]" if ":" in self.address else self.address
        where = f"{number} port {self.port}" + (", a proxy" if self.is_proxy else "")
        told = self.certificate.lines() if self.certificate is not None else ()
        return (f"from {where}{f', {self.tls}' if self.tls else ''}", *told)


def peer_of(response: httpx2.Response, *, is_proxy: bool = False) -> Peer | None:
    """Return the peer of a response that is still open; None if the library does not tell."""
    stream = response.extensions.get("network_stream")
    if stream is None:
        return None
    address = stream.get_extra_info("server_addr")
    if not isinstance(address, tuple) or len(address) < 2:
        return None
    secured = stream.get_extra_info("ssl_object")
    if not isinstance(secured, ssl.SSLObject | ssl.SSLSocket):
        return Peer(str(address[0]), int(address[1]), is_proxy=is_proxy)
    chain = read_chain(chain_of(secured)[:1])
    own = chain[0] if chain else None
    return Peer(str(address[0]), int(address[1]), secured.version() or "TLS", own, is_proxy)

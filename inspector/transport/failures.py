"""Why an exchange over the network failed, in a sentence for the person, and what to do about it.

Libraries wrap the cause: the sentence is made from the innermost error that says something.
"""

from __future__ import annotations

import re
import socket
import ssl
from collections.abc import Iterator
from urllib.parse import urlsplit

from inspector.base.errors import ConnectionLost, NotReached
from inspector.base.plaintext import one_line


def explain(error: BaseException, url: str, *, answered: bool = False) -> ConnectionLost:
    """Translate a network error.

    `answered` says whether the status had arrived: then the body was cut short.
    """
    causes = list(_causes(error))
    host = urlsplit(url).netloc.rpartition("@")[2]
    for cause in reversed(causes):
        if (sentence := _explain_cause(cause, host)) is not None:
            return ConnectionLost(*sentence) if answered else NotReached(*sentence)
    name = type(error).__name__
    said = one_line(str(error)).rstrip(".") or name
    if name in ("ConnectTimeout", "TimeoutError"):
        return NotReached(
            f"{host} did not accept a connection in time.", "Check the address, the network and the proxy."
        )
    if name in ("ProxyError", "InvalidProxyStatus", "InvalidProxyMessage"):
        return NotReached(f"The proxy refused the connection to {host}: {said}.", "Check the proxy.")
    if name == "ConnectError":
        return NotReached(f"Could not connect to {host}: {said}.", "Check the address and the network.")
    if name == "LocalProtocolError":
        said = _HEADER_VALUE.sub(r"\1", said)
        return NotReached(f"The request cannot be sent as it is: {said}.", "Check its headers.")
    if name == "UnsupportedProtocol":
        return NotReached(f"{url} is no HTTP URL.", "It begins with http:// or https://.")
    if name == "RemoteProtocolError" and not _CUT_SHORT.search(said):
        return ConnectionLost(f"{host} sent what is not HTTP: {said}.", "Check the port: what listens there?")
    return _cut_short(host, said, answered, is_secure=url.startswith(("https:", "wss:")))


# It quotes the value, which may be a token with a line break at its end.
_HEADER_VALUE = re.compile("(header value).*", re.IGNORECASE)
# The library's wording for a connection that ended too early; it has no exception type for it.
_CUT_SHORT = re.compile("disconnected|closed connection")


def _cut_short(host: str, said: str, answered: bool, is_secure: bool) -> ConnectionLost:
    where = "in the middle of its answer" if answered else "before it had answered"
    # Some servers hang up on a client without a certificate, instead of saying what is missing.
    maybe = "It may have crashed, or want a client certificate" if is_secure else "It may have crashed"
    return ConnectionLost(
        f"{host} broke the connection {where} ({said}).", f"{maybe}: look at its log, then try again."
    )


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        yield error
        error = error.__cause__ or error.__context__


def _explain_cause(cause: BaseException, host: str) -> tuple[str, str] | None:
    if isinstance(cause, ssl.SSLCertVerificationError):
        return _explain_certificate(cause, host)
    if isinstance(cause, ssl.SSLError) and not isinstance(cause, ssl.SSLWantReadError):
        return _explain_tls(cause, host)
    if isinstance(cause, socket.gaierror):
        name = host.rpartition(":")[0] or host
        return f"The name {name} could not be resolved: {cause.strerror}.", "Check the address and the DNS."
    if isinstance(cause, ConnectionRefusedError):
        return f"Nothing listens at {host}.", "Check that the server runs, and the port."
    return None


# ------------------------------------------------------------------ TLS

_EXPIRED, _NOT_YET_VALID = 10, 9
_WRONG_NAME, _WRONG_ADDRESS = 62, 64
_UNKNOWN_ISSUER = (2, 18, 19, 20, 21)  # unknown, self-signed, self-signed in the chain, cut chain


def _explain_certificate(error: ssl.SSLCertVerificationError, host: str) -> tuple[str, str]:
    code = error.verify_code
    if code == _EXPIRED:
        return (
            f"The certificate of {host} has expired.",
            "Renew it on the server, and check the clocks.",
        )
    if code == _NOT_YET_VALID:
        return f"The certificate of {host} is not valid yet.", "Check the clocks of both machines."
    if code in (_WRONG_NAME, _WRONG_ADDRESS):
        said = error.verify_message.rstrip(".")
        return (
            f"The certificate of {host} is made out to another name: {said}.",
            "Use the name that it is made out to, or give the server a certificate for this one.",
        )
    if code in _UNKNOWN_ISSUER:
        return (
            f"The certificate of {host} is not signed by an authority that is trusted here"
            f" ({error.verify_message}).",
            "If you know its authority, configure its CA file for this server.",
        )
    return f"The certificate of {host} was refused: {error.verify_message}.", "Check it on the server."


_TLS_ALERTS = {
    "CERTIFICATE_REQUIRED": (
        "wants to see a client certificate",
        "Configure a client certificate and its key.",
    ),
    "UNKNOWN_CA": (
        "does not trust the authority of our client certificate",
        "Use a client certificate that the server's authority has signed.",
    ),
    "BAD_CERTIFICATE": ("refused our client certificate", "Check which certificate it expects."),
    "CERTIFICATE_EXPIRED": ("says that our client certificate has expired", "Renew the client certificate."),
    "HANDSHAKE_FAILURE": (
        "could not agree on TLS with us",
        "It may want a client certificate, or speak only old versions of TLS.",
    ),
    "PROTOCOL_VERSION": ("speaks only versions of TLS that are not safe", "Update the server."),
}


def _explain_tls(error: ssl.SSLError, host: str) -> tuple[str, str]:
    reason = error.reason or ""
    if reason in ("WRONG_VERSION_NUMBER", "HTTP_REQUEST", "RECORD_LAYER_FAILURE", "PACKET_LENGTH_TOO_LONG"):
        return f"{host} does not speak TLS on this port.", "Try http:// instead of https://."
    for ending, (what, fix) in _TLS_ALERTS.items():
        if reason.endswith(ending):
            return f"{host} {what}.", fix
    said = reason.replace("_", " ").lower() or one_line(str(error))
    return f"TLS with {host} failed: {said}.", "Check its certificate and the versions of TLS it speaks."

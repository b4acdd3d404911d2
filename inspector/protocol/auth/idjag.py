"""ID-JAGs (enterprise-managed authorization): a company's word about a person, for another's server.

It is meant for that server, which checks it. What is looked at here is only whether it is for that server at
all: once sent, it cannot be taken back.
"""

from __future__ import annotations

from collections.abc import Iterator

from inspector.protocol.auth.findings import Finding, finding
from inspector.protocol.auth.jwtview import read_jwt
from inspector.protocol.members import shown, text_of
from inspector.protocol.revisions import Revision

TYPE = "oauth-id-jag+jwt"


def judge_id_jag(text: str, issuer: str, client_id: str, revision: Revision) -> Iterator[Finding]:
    """Yield what is wrong with an ID-JAG for the authorization server `issuer` and `client_id`."""
    view = read_jwt(text)
    if view is None:
        yield finding("IDT-012", revision, problem="is no JWT that can be read")
        return
    if issuer.rstrip("/") not in [audience.rstrip("/") for audience in view.audiences]:
        yield finding("IDT-011", revision, actual=view.audiences or ("nobody",), expected=issuer)
    kind = text_of(view.header, "typ")
    if kind.lower().removeprefix("application/") != TYPE:
        yield finding("IDT-012", revision, problem=f"is of the type {shown(kind)}" if kind else "has no type")
    client = text_of(view.claims, "client_id")
    if client and client_id and client != client_id:
        yield finding("IDT-013", revision, actual=client, expected=client_id)

"""Who is the client? All four ways to prove it at the token endpoint."""

from __future__ import annotations

import base64
import binascii
import secrets
from collections.abc import Mapping
from urllib.parse import unquote_plus

from starlette.requests import Request

from inspector.demo.login.clients import BadDocument, Client
from inspector.demo.login.keys import check, unchecked
from inspector.demo.login.realm import Realm
from inspector.demo.login.refusal import Refusal

ASSERTION_TYPE = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"
_BASIC = {"WWW-Authenticate": 'Basic realm="demo"'}


async def authenticate(realm: Realm, request: Request, form: Mapping[str, str]) -> Client:
    """Return the client that sent a request. Raises Refusal: invalid_client."""
    method, client_id, secret = _claimed(request, form)
    try:
        client = await realm.resolve(client_id)
    except BadDocument as problem:
        raise _unknown(str(problem)) from None
    if client is None:
        raise _unknown("No client with this client_id is known here.")
    if realm.bench.on("secret_refused"):
        raise _unknown("The credentials are wrong.", method)
    if method not in client.methods:
        raise _unknown(f"This client is registered for {' or '.join(client.methods)}, not {method}.", method)
    if method == "private_key_jwt":
        _check_assertion(realm, client, secret)
    elif method != "none" and not secrets.compare_digest(secret.encode(), client.secret.encode()):
        raise _unknown("The client secret is wrong.", method)
    return client


def _claimed(request: Request, form: Mapping[str, str]) -> tuple[str, str, str]:
    """Return the client's authentication method, id and proof. Exactly one method is allowed."""
    header = request.headers.get("authorization", "")
    found: list[tuple[str, str, str]] = []
    if header:
        found.append(("client_secret_basic", *_basic(header)))
    if "client_secret" in form:
        found.append(("client_secret_post", form.get("client_id", ""), form["client_secret"]))
    if "client_assertion" in form:
        found.append(("private_key_jwt", *_asserted(form)))
    if len(found) > 1:
        raise Refusal("invalid_request", "The client proves itself in more than one way.")
    method, client_id, secret = found[0] if found else ("none", form.get("client_id", ""), "")
    if "client_id" in form and form["client_id"] != client_id:
        raise _unknown("client_id differs from the credentials.", method)
    return method, client_id, secret


def _basic(header: str) -> tuple[str, str]:
    """RFC 6749, section 2.3.1: both halves are form-encoded before they are joined."""
    scheme, _, credentials = header.partition(" ")
    try:
        pair = base64.b64decode(credentials.strip(), validate=True).decode()
    except (binascii.Error, UnicodeDecodeError):
        pair = ""
    if scheme.lower() != "basic" or ":" not in pair:
        raise _unknown("The Authorization header is not Basic.", "client_secret_basic")
    client_id, _, secret = pair.partition(":")
    return unquote_plus(client_id), unquote_plus(secret)


def _asserted(form: Mapping[str, str]) -> tuple[str, str]:
    if form.get("client_assertion_type") != ASSERTION_TYPE:
        raise _unknown("client_assertion_type is not jwt-bearer.", "private_key_jwt")
    subject = unchecked(form["client_assertion"]).get("sub")
    return str(subject), form["client_assertion"]


def _check_assertion(realm: Realm, client: Client, assertion: str) -> None:
    # RFC 7523bis requires the issuer as audience; many clients still use the token endpoint.
    claims = check(assertion, client.keys, audience=[realm.issuer, f"{realm.base}/token"], issuer=client.id)
    if claims is None or claims.get("sub") != client.id:
        raise _unknown("The client assertion does not hold.", "private_key_jwt")
    if not realm.seen.is_new(f"{client.id} {claims.get('jti')}", claims["exp"]):
        raise _unknown("The client assertion was used before.", "private_key_jwt")


def _unknown(description: str, method: str = "none") -> Refusal:
    headers = _BASIC if method == "client_secret_basic" else None
    return Refusal("invalid_client", description, 401, headers)

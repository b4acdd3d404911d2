"""Grant types of the token endpoints, and the assertions of the company's identity provider.

Authorization code, refresh token, client credentials, JWT bearer and token exchange. ID tokens and
ID-JAGs are correct unless a fault switch changes them.
"""

from __future__ import annotations

import base64
import hashlib
import json
import secrets
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from inspector.demo.login.authorize import is_resource
from inspector.demo.login.realm import (
    CODE,
    COMPANY_NAMES,
    EXCHANGE,
    JWT_BEARER,
    MACHINE,
    READ,
    REFRESH,
    Client,
    IssuedCode,
    Realm,
)
from inspector.demo.login.responses import OAuthError
from inspector.demo.login.tokens import Grant, Key, header

ID_TOKEN = "urn:ietf:params:oauth:token-type:id_token"  # noqa: S105, a name
ID_JAG = "urn:ietf:params:oauth:token-type:id-jag"
ID_JAG_TYPE = "oauth-id-jag+jwt"
ASSERTION_LIFETIME = 300
ID_TOKEN_LIFETIME, SHORT_ID_TOKEN_LIFETIME = 3600, 20

Form = Mapping[str, str]
Claims = dict[str, Any]
Reply = dict[str, Any]

_ELSEWHERE = "https://elsewhere.example"
_HOUR = 3600
_ID_TOKEN_FAULTS: dict[str, Callable[[Claims], Claims]] = {
    "idp_other_issuer": lambda claims: {"iss": _ELSEWHERE},
    "idp_other_audience": lambda claims: {"aud": "another-client"},
    "idp_other_party": lambda claims: {"azp": "another-client"},
    "idp_expired": lambda claims: {"iat": claims["iat"] - _HOUR, "exp": claims["iat"] - _HOUR // 2},
    "idp_clock_ahead": lambda claims: {"iat": claims["iat"] + _HOUR, "exp": claims["exp"] + _HOUR},
    "idp_other_nonce": lambda claims: {"nonce": secrets.token_urlsafe(16)},
    "idp_no_nonce": lambda claims: {"nonce": None},
    "idp_no_subject": lambda claims: {"sub": None},
}


@dataclass(frozen=True)
class Workloads:
    """A platform that issues a JWT to each of its workloads, as Kubernetes does."""

    issuer: str
    key: Key

    def token(self, audience: str) -> str:
        now = int(time.time())
        claims = {"iss": self.issuer, "sub": "workload:backup", "aud": audience, "iat": now}
        return self.key.sign({**claims, "exp": now + ASSERTION_LIFETIME, "jti": secrets.token_hex(8)})


class Grants:
    """The grant types that one realm's token endpoint supports."""

    def __init__(self, realm: Realm, company: Realm, workloads: Workloads) -> None:
        self._realm = realm
        self._company = company
        self._workloads = workloads

    async def exchange(self, form: Form, client: Client | None, jkt: str) -> Reply:
        """Return the token response.

        `client` is None for a workload, which authenticates with its assertion.
        """
        grant_type = form.get("grant_type", "")
        if client is None:
            return self._workload(form)
        if grant_type not in client.grants:
            known = grant_type in (CODE, REFRESH, MACHINE, JWT_BEARER, EXCHANGE)
            error = "unauthorized_client" if known else "unsupported_grant_type"
            raise OAuthError(error, f"Grant types allowed for this client: {', '.join(client.grants)}.")
        if grant_type == CODE:
            return self._code(form, client, jkt)
        if grant_type == REFRESH:
            return self._refresh(form, client, jkt)
        if grant_type == MACHINE:
            return self._machine(form, client, jkt)
        return (
            self._from_company(form, client) if grant_type == JWT_BEARER else self._to_assertion(form, client)
        )

    def _code(self, form: Form, client: Client, jkt: str) -> Reply:
        realm, code = self._realm, form.get("code", "")
        issued = realm.codes.get(code)
        if issued is None or issued.request.client.id != client.id:
            raise OAuthError("invalid_grant", "The authorization code is unknown, used or expired.")
        if not realm.faults.on("code_twice"):
            realm.codes.drop(code)
        self._check_code(form, issued, jkt)
        grant = Grant(client.id, issued.subject, issued.request.scopes, issued.request.resource, jkt)
        if realm.faults.on("less_scope"):
            grant = replace(grant, scopes=(READ,))
        reply = realm.tokens.issue(grant, refreshable=REFRESH in client.grants)
        if "openid" in grant.scopes:
            reply |= self._identity(client.id, issued.subject, issued.request.nonce)
        return reply

    def _check_code(self, form: Form, issued: IssuedCode, jkt: str) -> None:
        request, faults = issued.request, self._realm.faults
        if form.get("redirect_uri") != request.redirect and not faults.on("loose_redirects"):
            raise OAuthError("invalid_grant", "redirect_uri does not match the authorization request.")
        matches = _verifies(form.get("code_verifier", ""), request.challenge, request.method)
        if not matches and not faults.on("pkce_ignored"):
            raise OAuthError("invalid_grant", "code_verifier does not match code_challenge.")
        if form.get("resource", request.resource) != request.resource:
            raise OAuthError("invalid_target", "resource does not match the authorization request.")
        if request.jkt and request.jkt != jkt and not faults.on("bearer_for_proof"):
            raise OAuthError("invalid_dpop_proof", "The authorization code is bound to another key.")

    def _refresh(self, form: Form, client: Client, jkt: str) -> Reply:
        realm, token = self._realm, form.get("refresh_token", "")
        found = realm.tokens.refresh(token, client.id)
        if found is None or realm.faults.on("no_refresh"):
            raise OAuthError("invalid_grant", "The refresh token is unknown, used or revoked.")
        grant, family = found
        if client.is_public and grant.jkt != jkt:
            raise OAuthError("invalid_dpop_proof", "The refresh token is bound to another key.")
        wanted = tuple(form.get("scope", "").split()) or grant.scopes
        if not set(wanted) <= set(grant.scopes):
            raise OAuthError("invalid_scope", "A refresh request cannot add scopes.")
        realm.tokens.spend(token)
        same = token if realm.faults.on("not_rotated") else ""
        reply = realm.tokens.issue(
            replace(grant, scopes=wanted, jkt=jkt), refreshable=True, family=family, token=same
        )
        if realm.faults.on("refresh_unusable"):
            del reply["access_token"]
        if "openid" in wanted:
            other = realm.faults.on("idp_other_person")
            reply |= self._identity(client.id, "another-user" if other else grant.subject)
        return reply

    def _identity(self, client_id: str, subject: str, nonce: str = "") -> Reply:
        """Return the ID token.

        A refreshed ID token has no nonce (OpenID Connect Core, section 12.2).
        """
        realm, now = self._realm, int(time.time())
        life = SHORT_ID_TOKEN_LIFETIME if realm.faults.on("idp_short_tokens") else ID_TOKEN_LIFETIME
        claims = {
            "iss": realm.issuer,
            "sub": subject,
            "aud": client_id,
            "iat": now,
            "exp": now + life,
            "email": f"{subject}@company.example",
        }
        return id_token_reply({**claims, "nonce": nonce} if nonce else claims, realm)

    def _machine(self, form: Form, client: Client, jkt: str) -> Reply:
        scopes = self._scopes(form.get("scope", ""))
        grant = Grant(client.id, client.id, scopes, self._resource(form.get("resource", "")), jkt)
        return self._realm.tokens.issue(grant, refreshable=False)

    def _workload(self, form: Form) -> Reply:
        workloads, realm = self._workloads, self._realm
        # The draft requires the token endpoint as audience, others the issuer.
        claims = workloads.key.check(
            form.get("assertion", ""), audience=[realm.issuer, f"{realm.base}/token"], issuer=workloads.issuer
        )
        if claims is None:
            raise OAuthError(
                "invalid_grant", "The assertion was not issued by the workload platform, or is invalid."
            )
        scopes, resource = self._scopes(form.get("scope", "")), self._resource(form.get("resource", ""))
        return realm.tokens.issue(Grant("workload", claims["sub"], scopes, resource), refreshable=False)

    def _to_assertion(self, form: Form, client: Client) -> Reply:
        """At the company: exchange an ID token for an assertion for another authorization server."""
        for name, wanted in (("requested_token_type", ID_JAG), ("subject_token_type", ID_TOKEN)):
            if form.get(name) != wanted:
                raise OAuthError("invalid_request", f"{name} must be {wanted}.")
        realm = self._realm
        identity = realm.key.check(form.get("subject_token", ""), audience=client.id, issuer=realm.issuer)
        if identity is None:
            raise OAuthError("invalid_grant", "The subject token is invalid.")
        audience = form.get("audience", "")
        if not audience.startswith(f"{realm.origin}"):
            raise OAuthError("invalid_target", "The identity provider does not trust this audience.")
        now = int(time.time())
        claims = {
            "iss": realm.issuer,
            "sub": identity["sub"],
            "aud": audience,
            "client_id": COMPANY_NAMES[client.id],
            "email": identity["email"],
            "iat": now,
            "exp": now + ASSERTION_LIFETIME,
            "jti": secrets.token_hex(8),
            **{name: form[name] for name in ("resource", "scope") if form.get(name)},
        }
        return {
            "access_token": signed_id_jag(claims, realm, ID_JAG_TYPE),
            "issued_token_type": ID_JAG,
            "token_type": "N_A",
            "expires_in": ASSERTION_LIFETIME,
        }

    def _from_company(self, form: Form, client: Client) -> Reply:
        """At the notes server: exchange the company's assertion for an access token."""
        realm, company, assertion = self._realm, self._company, form.get("assertion", "")
        claims = company.key.check(assertion, audience=realm.issuer, issuer=company.issuer)
        if claims is None or header(assertion).get("typ") != ID_JAG_TYPE:
            raise OAuthError(
                "invalid_grant", "The assertion was not issued by the identity provider, or is invalid."
            )
        if claims["client_id"] != client.id:
            raise OAuthError("invalid_grant", "The assertion was issued to another client.")
        if not realm.replay_cache.is_new(f"id-jag {claims['jti']}", claims["exp"]):
            raise OAuthError("invalid_grant", "The assertion was already used.")
        resource = self._resource(claims.get("resource", ""))
        scopes = self._scopes(form.get("scope") or claims.get("scope", ""))
        return realm.tokens.issue(Grant(client.id, claims["sub"], scopes, resource), refreshable=False)

    def _scopes(self, scope: str) -> tuple[str, ...]:
        scopes = tuple(dict.fromkeys(scope.split())) or (READ,)
        if not set(scopes) <= set(self._realm.scopes):
            raise OAuthError("invalid_scope", "Unknown scope.")
        return scopes

    def _resource(self, resource: str) -> str:
        if resource and not is_resource(resource, self._realm):
            raise OAuthError("invalid_target", "Unknown resource.")
        return resource or self._realm.resource


def _verifies(verifier: str, challenge: str, method: str) -> bool:
    if method == "plain":
        return secrets.compare_digest(verifier.encode(), challenge.encode())
    digest = hashlib.sha256(verifier.encode()).digest()
    return secrets.compare_digest(base64.urlsafe_b64encode(digest).rstrip(b"="), challenge.encode())


def id_token_reply(claims: Claims, realm: Realm) -> dict[str, Any]:
    """Return the member of a token response that says who logged in."""
    faults = realm.faults
    if faults.on("idp_no_id_token"):
        return {}
    if faults.on("idp_opaque_id_token"):
        return {"id_token": secrets.token_urlsafe(32)}
    for name, apply in _ID_TOKEN_FAULTS.items():
        if faults.on(name):
            claims = {**claims, **apply(claims)}
    reported = {name: value for name, value in claims.items() if value is not None}
    if faults.on("idp_alg_none"):
        return {"id_token": f"{_part({'alg': 'none', 'typ': 'JWT'})}.{_part(reported)}."}
    signed = realm.key.sign(reported)
    return {"id_token": f"{signed.rpartition('.')[0]}." if faults.on("idp_no_signature") else signed}


def signed_id_jag(claims: Claims, realm: Realm, kind: str) -> str:
    faults = realm.faults
    if faults.on("idp_jag_elsewhere"):
        claims = {**claims, "aud": _ELSEWHERE}
    if faults.on("idp_jag_other_client"):
        claims = {**claims, "client_id": "another-client"}
    return realm.key.sign(claims, "JWT" if faults.on("idp_jag_untyped") else kind)


def _part(value: Claims) -> str:
    return base64.urlsafe_b64encode(json.dumps(value).encode()).rstrip(b"=").decode()

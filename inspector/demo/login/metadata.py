"""Metadata documents: protected resource, authorization server, OpenID configuration, JWKS.

A fault switch replaces or removes fields of a document that is otherwise correct.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mcp.shared.auth import ProtectedResourceMetadata
from pydantic import AnyHttpUrl
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response, StreamingResponse

from inspector.demo.login.endpoints import endless
from inspector.demo.login.realm import (
    CODE,
    EXCHANGE,
    JWT_BEARER,
    MACHINE,
    METHODS,
    READ,
    REFRESH,
    SHARE,
    WRITE,
    Realm,
)
from inspector.demo.login.tokens import ALGORITHMS

RESOURCE_PATH = "/.well-known/oauth-protected-resource"
OAUTH, OPENID = "oauth-authorization-server", "openid-configuration"
ID_JAG_PROFILE = "urn:ietf:params:oauth:grant-profile:id-jag"
_CORS = {"Access-Control-Allow-Origin": "*"}
_ATTACKER = "https://attacker.example"

Document = dict[str, Any]
Fault = Callable[[Document, Realm], None]


def on_localhost(url: str) -> str:
    """Return the same URL under another host name: a different origin that still responds."""
    return url.replace("//127.0.0.1", "//localhost", 1)


class ResourceDocument:
    """Protected resource metadata, at the server's path and at the root."""

    def __init__(self, realm: Realm) -> None:
        self._realm = realm

    async def handle(self, request: Request) -> Response:
        realm, faults = self._realm, self._realm.faults
        at_root = request.url.path == RESOURCE_PATH
        if faults.on("no_prm") or "dead" in request.query_params:
            return Response(status_code=404)
        if faults.on("prm_crashes"):
            return Response(status_code=500)
        if faults.on("prm_behind_login"):
            return Response(status_code=401, headers={"WWW-Authenticate": "Bearer"})
        if faults.on("prm_html"):
            return HTMLResponse("<!doctype html><title>Notes</title><p>Welcome to the app.")
        if faults.on("prm_redirects") and request.url.hostname != "localhost":
            return RedirectResponse(on_localhost(f"{realm.origin}{request.url.path}"), 307)
        document = self._document()
        if faults.on("prm_two_versions") and at_root:
            document["scopes_supported"] = ["other"]
        return JSONResponse(document, headers=_cors(realm))

    def _document(self) -> Document:
        realm = self._realm
        model = ProtectedResourceMetadata(
            resource=AnyHttpUrl(realm.resource),
            authorization_servers=[AnyHttpUrl(realm.issuer)],
            scopes_supported=[READ, WRITE, SHARE],
            resource_name="Demo notes",
        )
        document = model.model_dump(mode="json", exclude_none=True)
        document["authorization_servers"] = [realm.issuer]  # A URL type may append a slash.
        if realm.requires_dpop:
            document |= {
                "dpop_bound_access_tokens_required": True,
                "dpop_signing_alg_values_supported": list(ALGORITHMS),
            }
        return _with_faults(document, realm, _RESOURCE_FAULTS)


def _replace(field: str, value: Callable[[Realm], Any]) -> Fault:
    def apply(document: Document, realm: Realm) -> None:
        document[field] = value(realm)

    return apply


def _remove(*fields: str) -> Fault:
    def apply(document: Document, realm: Realm) -> None:
        for field in fields:
            document.pop(field, None)

    return apply


_RESOURCE_FAULTS: dict[str, Fault] = {
    "prm_no_resource": _remove("resource"),
    "prm_other_resource": _replace("resource", lambda realm: "https://elsewhere.example/mcp"),
    "prm_other_path": _replace("resource", lambda realm: f"{realm.origin}/other"),
    "prm_parent": _replace("resource", lambda realm: realm.origin),
    "prm_no_servers": _remove("authorization_servers"),
    "prm_bad_issuer": _replace("authorization_servers", lambda realm: [f"{realm.issuer}?tenant=1#top"]),
    "prm_metadata_url": _replace(
        "authorization_servers", lambda realm: [f"{realm.origin}/.well-known/{OAUTH}"]
    ),
    "prm_no_header": _replace("bearer_methods_supported", lambda realm: ["query"]),
    "prm_wrong_types": _replace("scopes_supported", lambda realm: f"{READ} {WRITE}"),
    "broad_scopes": _replace("scopes_supported", lambda realm: ["*", "full-access", READ]),
    "no_scopes": _remove("scopes_supported"),
    "offline_in_challenge": _replace("scopes_supported", lambda realm: [READ, WRITE, "offline_access"]),
}


class ServerDocument:
    """Authorization server metadata, at all well-known URLs of one realm's issuer and no others."""

    def __init__(self, realm: Realm) -> None:
        self._realm = realm

    async def handle(self, request: Request) -> Response:
        realm, faults = self._realm, self._realm.faults
        kind = self._kind(request.url.path)
        if not kind or faults.on("asm_missing"):
            return Response(status_code=404)
        if faults.on("asm_endless"):
            return StreamingResponse(endless(), media_type="application/json")
        document = _with_faults(server_document(realm), realm, _SERVER_FAULTS)
        if kind == OPENID:
            document |= {
                "subject_types_supported": ["public"],
                "id_token_signing_alg_values_supported": ["ES256"],
            }
            if faults.on("documents_differ"):
                document |= {
                    "scopes_supported": ["openid"],
                    "token_endpoint": f"{realm.base}/token?from=openid",
                }
        return JSONResponse(document, headers=_cors(realm))

    def _kind(self, path: str) -> str:
        """Return which document is at this path.

        RFC 8414 inserts the well-known part, OpenID appends it, and MCP clients try both.
        """
        path_of_issuer = self._realm.path + self._realm.issuer_path
        if self._realm.faults.on("asm_appended"):
            return OAUTH if path == f"{path_of_issuer}/.well-known/{OAUTH}" else ""
        locations = {
            f"/.well-known/{OAUTH}{path_of_issuer}": OAUTH,
            f"/.well-known/{OPENID}{path_of_issuer}": OPENID,
            f"{path_of_issuer}/.well-known/{OPENID}": OPENID,
        }
        return locations.get(path, "")


def server_document(realm: Realm) -> Document:
    """Return a realm's authorization server metadata when no fault is switched on."""
    is_company = not realm.resource
    grants = [CODE, REFRESH, EXCHANGE] if is_company else [CODE, REFRESH, MACHINE, JWT_BEARER]
    document: Document = {
        "issuer": realm.issuer,
        "authorization_endpoint": f"{realm.base}/authorize",
        "token_endpoint": f"{realm.base}/token",
        "jwks_uri": f"{realm.base}/jwks",
        "scopes_supported": list(realm.scopes),
        "response_types_supported": ["code"],
        "response_modes_supported": ["query"],
        "grant_types_supported": grants,
        "token_endpoint_auth_methods_supported": list(METHODS),
        "token_endpoint_auth_signing_alg_values_supported": list(ALGORITHMS),
        "code_challenge_methods_supported": ["S256"],
        "authorization_response_iss_parameter_supported": True,
    }
    document |= {
        "revocation_endpoint": f"{realm.base}/revoke",
        "revocation_endpoint_auth_methods_supported": list(METHODS),
    }
    if is_company:
        return document
    document |= {
        "registration_endpoint": f"{realm.base}/register",
        "client_id_metadata_document_supported": True,
        "authorization_grant_profiles_supported": [ID_JAG_PROFILE],
        "service_documentation": f"{realm.origin}/",
    }
    if realm.requires_dpop:
        document["dpop_signing_alg_values_supported"] = list(ALGORITHMS)
    return document


def _wrong_types(document: Document, realm: Realm) -> None:
    document |= {
        "scopes_supported": " ".join(realm.scopes),
        "client_id_metadata_document_supported": "true",
        "response_types_supported": "code",
    }


def _secrets_only(document: Document, realm: Realm) -> None:
    document["token_endpoint_auth_methods_supported"] = [method for method in METHODS if method != "none"]


def _no_refresh(document: Document, realm: Realm) -> None:
    for field, removed in (("grant_types_supported", REFRESH), ("scopes_supported", "offline_access")):
        document[field] = [value for value in document[field] if value != removed]


_SERVER_FAULTS: dict[str, Fault] = {
    "wrong_issuer": _replace("issuer", lambda realm: _ATTACKER),
    "issuer_slash": _replace("issuer", lambda realm: f"{realm.issuer}/"),
    "no_issuer": _remove("issuer"),
    "no_pkce_metadata": _remove("code_challenge_methods_supported"),
    "plain_only": _replace("code_challenge_methods_supported", lambda realm: ["plain"]),
    "plain_too": _replace("code_challenge_methods_supported", lambda realm: ["plain", "S256"]),
    "no_token_endpoint": _remove("token_endpoint"),
    "no_code_response": _replace("response_types_supported", lambda realm: ["token"]),
    "plain_http_endpoint": _replace("token_endpoint", lambda realm: "http://login.example/token"),
    "blocked_endpoint": _replace(
        "authorization_endpoint", lambda realm: "javascript:alert(document.domain)//"
    ),
    "endpoint_elsewhere": _replace("token_endpoint", lambda realm: on_localhost(f"{realm.base}/token")),
    "no_code_grant": _replace("grant_types_supported", lambda realm: [MACHINE]),
    "no_registration": _remove("registration_endpoint", "client_id_metadata_document_supported"),
    "registration_only": _remove("client_id_metadata_document_supported"),
    "secrets_only": _secrets_only,
    "no_auth_methods": _remove("token_endpoint_auth_methods_supported"),
    "iss_not_advertised": _remove("authorization_response_iss_parameter_supported"),
    "no_refresh": _no_refresh,
    "dpop_bad_algorithms": _replace("dpop_signing_alg_values_supported", lambda realm: ["none", "HS256"]),
    "wrong_types": _wrong_types,
}


def _with_faults(document: Document, realm: Realm, faults: dict[str, Fault]) -> Document:
    for name, apply in faults.items():
        if realm.faults.on(name):
            apply(document, realm)
    return document


def _cors(realm: Realm) -> dict[str, str]:
    return {} if realm.faults.on("no_cors") else _CORS


class Keys:
    """One realm's JWKS endpoint."""

    def __init__(self, realm: Realm) -> None:
        self._realm = realm

    async def handle(self, request: Request) -> Response:
        return JSONResponse({"keys": [self._realm.key.public()]}, headers=_cors(self._realm))

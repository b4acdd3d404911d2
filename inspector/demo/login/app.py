"""Puts the demo together: one ASGI app for one origin."""

from __future__ import annotations

from collections.abc import Iterable
from urllib.parse import urlsplit

from mcp.server.auth.settings import AuthSettings
from pydantic import AnyHttpUrl
from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from inspector.demo.login import notes
from inspector.demo.login.authorize import Authorize
from inspector.demo.login.clients import Clients, company_clients, server_clients
from inspector.demo.login.gate import Gate
from inspector.demo.login.grants import Grants, Workloads
from inspector.demo.login.keys import Key
from inspector.demo.login.metadata import OAUTH, OPENID, RESOURCE_PATH, Keys, ResourceDocument, ServerDocument
from inspector.demo.login.pages import Pages
from inspector.demo.login.realm import COMPANY_SCOPES, NOTES_SCOPES, Realm
from inspector.demo.login.register import Register
from inspector.demo.login.switches import Bench, ProviderBench
from inspector.demo.login.tokenendpoint import TokenEndpoint

MCP_PATH = "/mcp"


def build_app(origin: str, faults: Iterable[str] = ()) -> ASGIApp:
    """Build the whole demo for this origin, with these switches on."""
    robot, workloads = Key(), Workloads(f"{origin}/workload", Key())
    own = Realm(
        origin,
        "",
        "Demo login",
        NOTES_SCOPES,
        Clients(server_clients(robot)),
        resource=f"{origin}{MCP_PATH}",
        bench=Bench(faults),
    )
    company = Realm(
        origin,
        "/idp",
        "Company sign-in",
        COMPANY_SCOPES,
        Clients(company_clients()),
        bench=ProviderBench(own.bench),
    )
    verifier = notes.Verifier(own)
    app = notes.build().streamable_http_app(
        streamable_http_path=MCP_PATH,
        # The SDK is not given the resource: it would serve its own metadata, which switches cannot alter.
        auth=AuthSettings(issuer_url=AnyHttpUrl(own.issuer), resource_server_url=None),
        token_verifier=verifier,
        custom_starlette_routes=_routes(own, company, robot, workloads),
    )
    return OwnHost(Gate(app, own, verifier), origin)


def _routes(own: Realm, company: Realm, robot: Key, workloads: Workloads) -> list[Route]:
    pages = Pages(own, company, robot, workloads)
    resource = ResourceDocument(own).handle
    well_known = _WellKnown(own, company).handle
    return [
        Route("/", pages.home),
        Route("/client.json", pages.document),
        Route("/demo-robot.pem", pages.robot_key),
        Route("/workload/token", pages.workload_token),
        Route("/faults", pages.faults, methods=["GET", "POST"]),
        Route("/faults.json", pages.faults_json, methods=["GET", "POST"]),
        Route(RESOURCE_PATH, resource),
        Route(f"{RESOURCE_PATH}{MCP_PATH}", resource),
        *[
            Route(path, well_known)
            for kind in (OAUTH, OPENID)
            for path in (
                f"/.well-known/{kind}",
                f"/.well-known/{kind}/{{rest:path}}",
                f"/{{rest:path}}/.well-known/{kind}",
            )
        ],
        *_realm_routes(own, Grants(own, company, workloads)),
        *_realm_routes(company, Grants(company, company, workloads)),
        Route("/register", Register(own).handle, methods=["POST"]),
    ]


def _realm_routes(realm: Realm, grants: Grants) -> list[Route]:
    return [
        Route(f"{realm.path}/authorize", Authorize(realm).handle, methods=["GET", "POST"]),
        Route(f"{realm.path}/token", TokenEndpoint(realm, grants).handle, methods=["POST"]),
        Route(f"{realm.path}/revoke", TokenEndpoint(realm, grants).revoke, methods=["POST"]),
        Route(f"{realm.path}/jwks", Keys(realm).handle),
    ]


class _WellKnown:
    """Serves the metadata of the realm whose issuer the path belongs to."""

    def __init__(self, own: Realm, company: Realm) -> None:
        self._own = ServerDocument(own)
        self._company = ServerDocument(company)

    async def handle(self, request: Request) -> Response:
        is_company = "idp" in request.url.path.split("/")
        return await (self._company if is_company else self._own).handle(request)


class OwnHost:
    """Middleware that keeps web pages out: checks the Host (DNS rebinding) and form origins."""

    def __init__(self, app: ASGIApp, origin: str) -> None:
        port = urlsplit(origin).port
        self._app = app
        self._hosts = {f"127.0.0.1:{port}", f"localhost:{port}"}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            refusal = self._refusal(scope["method"], Headers(scope=scope))
            if refusal is not None:
                await refusal(scope, receive, send)
                return
        await self._app(scope, receive, send)

    def _refusal(self, method: str, headers: Headers) -> Response | None:
        if headers.get("host", "") not in self._hosts:
            return PlainTextResponse("This demo answers to 127.0.0.1 and localhost only.", 421)
        origin = headers.get("origin")
        if method == "POST" and origin is not None and urlsplit(origin).netloc not in self._hosts:
            return PlainTextResponse("Pages of other sites have no business here.", 403)
        return None

"""Assembly of the demo as one ASGI app for one origin, and its pages.

The pages are `/` (what this is), `/faults` (the fault switches) and `/faults.json` (the same for
programs). `HostCheck` rejects other hosts (DNS rebinding) and forms from other origins.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import groupby
from typing import Any
from urllib.parse import urlsplit

from mcp.server.auth.settings import AuthSettings
from pydantic import AnyHttpUrl
from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, RedirectResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from inspector.demo.login import notes_server
from inspector.demo.login.authorize import AuthorizationEndpoint
from inspector.demo.login.endpoints import RegistrationEndpoint, TokenEndpoint
from inspector.demo.login.fault_switches import SWITCHES, FaultSwitches, ProviderFaultSwitches, Switch
from inspector.demo.login.grants import Grants, Workloads
from inspector.demo.login.metadata import OAUTH, OPENID, RESOURCE_PATH, Keys, ResourceDocument, ServerDocument
from inspector.demo.login.notes_server import Gate
from inspector.demo.login.realm import (
    COMPANY_SCOPES,
    NOTES_SCOPES,
    USERS,
    Clients,
    Realm,
    company_clients,
    server_clients,
)
from inspector.demo.login.responses import escape, page
from inspector.demo.login.tokens import Key

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
        faults=FaultSwitches(faults),
    )
    company = Realm(
        origin,
        "/idp",
        "Company login",
        COMPANY_SCOPES,
        Clients(company_clients()),
        faults=ProviderFaultSwitches(own.faults),
    )
    verifier = notes_server.Verifier(own)
    app = notes_server.build().streamable_http_app(
        streamable_http_path=MCP_PATH,
        # The SDK is not given the resource: it would serve its own metadata, which switches cannot alter.
        auth=AuthSettings(issuer_url=AnyHttpUrl(own.issuer), resource_server_url=None),
        token_verifier=verifier,
        custom_starlette_routes=_routes(own, company, robot, workloads),
    )
    return HostCheck(Gate(app, own, verifier), origin)


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
        Route("/register", RegistrationEndpoint(own).handle, methods=["POST"]),
    ]


def _realm_routes(realm: Realm, grants: Grants) -> list[Route]:
    return [
        Route(f"{realm.path}/authorize", AuthorizationEndpoint(realm).handle, methods=["GET", "POST"]),
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


class HostCheck:
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
            return PlainTextResponse("This demo only accepts requests for 127.0.0.1 and localhost.", 421)
        origin = headers.get("origin")
        if method == "POST" and origin is not None and urlsplit(origin).netloc not in self._hosts:
            return PlainTextResponse("Cross-origin POST requests are not allowed.", 403)
        return None


class Pages:
    """The HTML pages and the JSON interface of the demo."""

    def __init__(self, notes: Realm, company: Realm, robot: Key, workloads: Workloads) -> None:
        self._notes = notes
        self._company = company
        self._robot = robot
        self._workloads = workloads

    async def home(self, request: Request) -> Response:
        notes, company = self._notes, self._company
        users = _table(("Name", "Password"), USERS.items())
        clients = [
            (client.id, client.secret or "-", ", ".join(client.methods), realm.issuer)
            for realm in (notes, company)
            for client in realm.clients.known()
        ]
        on = ", ".join(notes.faults.names()) or "none"
        body = f"""<h1>Demo login</h1>
<p>This demo is a protected MCP server, its authorization server and a company's identity provider, all in one
process on your machine. Nothing here is secret, and nothing is saved.</p>
{
            _table(
                ("What", "Where"),
                (
                    ("MCP server", notes.resource),
                    ("Issuer", notes.issuer),
                    ("Identity provider", company.issuer),
                    ("Client ID metadata document", f"{notes.origin}/client.json"),
                    ("Private key of demo-robot", f"{notes.origin}/demo-robot.pem"),
                    ("Workload JWT", f"{notes.origin}/workload/token"),
                ),
            )
        }
<h2>Users</h2>{users}
<h2>Pre-registered clients</h2>{_table(("Client ID", "Secret", "Methods", "Known to"), clients)}
<h2>Other grant types</h2>{_table(("Kind", "What to enter"), self._grant_instructions())}
<h2>Fault switches</h2><p>Switched on: <code>{escape(on)}</code>. <a href="/faults">Change them</a></p>"""
        return page("Demo login", body, wide=True)

    def _grant_instructions(self) -> list[tuple[str, str]]:
        """Return what to enter for each grant type that does not run in the browser alone."""
        issuer, provider = self._notes.issuer, self._company.issuer
        return [
            ("Client credentials", f"issuer {issuer}, client ID demo-machine, its secret"),
            ("Client credentials with a key", f"issuer {issuer}, client ID demo-robot, its private key"),
            ("Workload identity", f"issuer {issuer}, the workload's JWT"),
            (
                "Enterprise",
                (
                    f"issuer {issuer}, client ID demo-desk, its secret; identity provider {provider}, "
                    "client ID demo-sso there; log in as one of the users above"
                ),
            ),
        ]

    async def document(self, request: Request) -> Response:
        """Serve a client ID metadata document, for users who have none."""
        url = f"{self._notes.origin}/client.json"
        return JSONResponse(
            {
                "client_id": url,
                "client_name": "Client with a metadata document",
                "redirect_uris": ["http://127.0.0.1/callback", "http://localhost/callback"],
                "grant_types": ["authorization_code", "refresh_token"],
                "response_types": ["code"],
                "token_endpoint_auth_method": "none",
                "application_type": "native",
            }
        )

    async def robot_key(self, request: Request) -> Response:
        return PlainTextResponse(self._robot.pem(), headers={"Cache-Control": "no-store"})

    async def workload_token(self, request: Request) -> Response:
        token = self._workloads.token(self._notes.issuer)
        return PlainTextResponse(token, headers={"Cache-Control": "no-store"})

    async def faults(self, request: Request) -> Response:
        if request.method == "POST":
            form = await request.form()
            if "forget" in form:
                self._forget()
            else:
                chosen = [name for name in form if name in SWITCHES]
                self._notes.faults.only([] if "clear" in form else chosen)
            return RedirectResponse("/faults", 303)
        groups = groupby(SWITCHES.values(), key=lambda switch: switch.group)
        rows = "".join(
            f"<h2>{escape(group)}</h2>" + "".join(map(self._row, switches)) for group, switches in groups
        )
        on = ", ".join(self._notes.faults.names()) or "nothing"
        body = f"""<h1>Fault switches</h1>
<p>Each switch makes the demo break one rule, starting with the next request. The code next to it is the
finding that MCP Lens shows. <a href="/">What this demo is</a></p>
<p class="hint">Switched on: <code>{escape(on)}</code></p>
<form method="post" action="/faults">{rows}
<div class="buttons sticky"><button class="main">Apply</button>
<button name="clear" value="1">Turn all off</button>
<button name="forget" value="1">Delete all clients and logins</button></div></form>"""
        return page("Fault switches", body, wide=True)

    def _row(self, switch: Switch) -> str:
        checked = " checked" if self._notes.faults.on(switch.name) else ""
        return (
            f'<label class="switch"><input type="checkbox" name="{switch.name}"{checked}>'
            f"<code>{switch.name}</code><span>{escape(switch.description)}</span>"
            f'<span class="id">{" ".join(switch.shows)}</span></label>'
        )

    async def faults_json(self, request: Request) -> Response:
        """Get or change the faults.

        GET returns them all; POST takes `{"on": [...], "off": [...]}`, `{"only": [...]}` or `{"forget":
        true}`.
        """
        if request.method == "POST":
            try:
                self._change(await request.json())
            except (ValueError, RecursionError, TypeError) as problem:
                return JSONResponse({"error": str(problem)}, 400)
        table = [
            {"name": switch.name, "group": switch.group, "says": switch.description, "shows": switch.shows}
            for switch in SWITCHES.values()
        ]
        return JSONResponse({"on": self._notes.faults.names(), "switches": table})

    def _change(self, change: Any) -> None:
        if not isinstance(change, dict):
            raise ValueError("The body must be an object with on, off, only or forget.")
        lists = {name: change.get(name, []) for name in ("only", "on", "off")}
        if not all(isinstance(names, list) for names in lists.values()):
            raise ValueError("on, off and only must be arrays of switch names.")
        if "only" in change:
            self._notes.faults.only(lists["only"])
        self._notes.faults.change(on=lists["on"], off=lists["off"])
        if change.get("forget") is True:
            self._forget()

    def _forget(self) -> None:
        for realm in (self._notes, self._company):
            realm.forget()


def _table(heads: tuple[str, ...], rows: Any) -> str:
    head = "".join(f"<th>{escape(name)}</th>" for name in heads)
    body = "".join("<tr>" + "".join(map(_cell, row)) + "</tr>" for row in rows)
    return f"<table><tr>{head}</tr>{body}</table>"


def _cell(text: str) -> str:
    code = f"<code>{escape(text)}</code>"
    return (
        f'<td><a href="{escape(text)}">{code}</a></td>' if text.startswith("http://") else f"<td>{code}</td>"
    )

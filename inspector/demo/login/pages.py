"""The pages for people: what this is (`/`), the fault bench (`/faults`), and the bench for programs."""

from __future__ import annotations

from itertools import groupby
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, RedirectResponse, Response

from inspector.demo.login.grants import Workloads
from inspector.demo.login.html import escape, page
from inspector.demo.login.keys import Key
from inspector.demo.login.realm import PEOPLE, Realm
from inspector.demo.login.switches import SWITCHES, Switch


class Pages:
    def __init__(self, notes: Realm, company: Realm, robot: Key, workloads: Workloads) -> None:
        self._notes = notes
        self._company = company
        self._robot = robot
        self._workloads = workloads

    # ------------------------------------------------------------------ what this is

    async def home(self, request: Request) -> Response:
        notes, company = self._notes, self._company
        people = _table(("Name", "Password"), PEOPLE.items())
        clients = [
            (client.id, client.secret or "-", ", ".join(client.methods), realm.issuer)
            for realm in (notes, company)
            for client in realm.clients.known()
        ]
        on = ", ".join(notes.bench.names()) or "none"
        body = f"""<h1>A login to try</h1>
<p>This demo is a protected MCP server, its authorization server and a company's identity provider, all in one
process on your machine. Nothing here is secret, and nothing is kept.</p>
{
            _table(
                ("What", "Where"),
                (
                    ("MCP server", notes.resource),
                    ("Issuer", notes.issuer),
                    ("Identity provider", company.issuer),
                    ("A client ID document", f"{notes.origin}/client.json"),
                    ("A private key for demo-robot", f"{notes.origin}/demo-robot.pem"),
                    ("A workload's JWT", f"{notes.origin}/workload/token"),
                ),
            )
        }
<h2>People</h2>{people}
<h2>Clients set up beforehand</h2>{_table(("Client ID", "Secret", "Methods", "Known to"), clients)}
<h2>Ways to log in</h2>{_table(("Kind", "What to enter"), self._ways())}
<h2>Fault bench</h2><p>Switched on: <code>{escape(on)}</code>. <a href="/faults">Make it fail</a></p>"""
        return page("Demo login", body, wide=True)

    def _ways(self) -> list[tuple[str, str]]:
        """Return what to enter for each grant type that does not run in the browser alone."""
        issuer, provider = self._notes.issuer, self._company.issuer
        return [
            ("Client credentials", f"issuer {issuer}, client ID demo-machine, its secret"),
            ("Client credentials with a key", f"issuer {issuer}, client ID demo-robot, its private key"),
            ("Workload identity", f"issuer {issuer}, the workload's JWT"),
            (
                "Enterprise",
                f"issuer {issuer}, client ID demo-desk, its secret; identity provider {provider}, "
                "client ID demo-sso there; sign in as one of the people above",
            ),
        ]

    async def document(self, request: Request) -> Response:
        """Serve a client ID metadata document, for users who have none."""
        url = f"{self._notes.origin}/client.json"
        return JSONResponse(
            {
                "client_id": url,
                "client_name": "Client with a document",
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

    # ------------------------------------------------------------------ the bench

    async def faults(self, request: Request) -> Response:
        if request.method == "POST":
            form = await request.form()
            if "forget" in form:
                self._forget()
            else:
                chosen = [name for name in form if name in SWITCHES]
                self._notes.bench.only([] if "clear" in form else chosen)
            return RedirectResponse("/faults", 303)
        groups = groupby(SWITCHES.values(), key=lambda switch: switch.group)
        rows = "".join(
            f"<h2>{escape(group)}</h2>" + "".join(map(self._row, switches)) for group, switches in groups
        )
        on = ", ".join(self._notes.bench.names()) or "nothing"
        body = f"""<h1>Fault bench</h1>
<p>Each switch makes the demo break one rule, from the next request on. The code beside it is the finding that
the inspector shows. <a href="/">What this demo is</a></p>
<p class="hint">Switched on: <code>{escape(on)}</code></p>
<form method="post" action="/faults">{rows}
<div class="buttons sticky"><button class="main">Apply</button>
<button name="clear" value="1">Switch all off</button>
<button name="forget" value="1">Forget all clients and logins</button></div></form>"""
        return page("Fault bench", body, wide=True)

    def _row(self, switch: Switch) -> str:
        checked = " checked" if self._notes.bench.on(switch.name) else ""
        return (
            f'<label class="switch"><input type="checkbox" name="{switch.name}"{checked}>'
            f"<code>{switch.name}</code><span>{escape(switch.says)}</span>"
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
            {"name": switch.name, "group": switch.group, "says": switch.says, "shows": switch.shows}
            for switch in SWITCHES.values()
        ]
        return JSONResponse({"on": self._notes.bench.names(), "switches": table})

    def _change(self, wanted: Any) -> None:
        if not isinstance(wanted, dict):
            raise ValueError("The body must be an object with on, off, only or forget.")
        lists = {name: wanted.get(name, []) for name in ("only", "on", "off")}
        if not all(isinstance(names, list) for names in lists.values()):
            raise ValueError("on, off and only are lists of names.")
        if "only" in wanted:
            self._notes.bench.only(lists["only"])
        self._notes.bench.change(on=lists["on"], off=lists["off"])
        if wanted.get("forget") is True:
            self._forget()

    def _forget(self) -> None:
        for realm in (self._notes, self._company):
            realm.forget()


def _table(heads: tuple[str, ...], rows: Any) -> str:
    head = "".join(f"<th>{escape(name)}</th>" for name in heads)
    body = "".join("<tr>" + "".join(map(_cell, row)) + "</tr>" for row in rows)
    return f"<table><tr>{head}</tr>{body}</table>"


def _cell(text: str) -> str:
    shown = f"<code>{escape(text)}</code>"
    return (
        f'<td><a href="{escape(text)}">{shown}</a></td>'
        if text.startswith("http://")
        else f"<td>{shown}</td>"
    )

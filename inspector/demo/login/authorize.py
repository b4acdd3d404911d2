"""The authorization endpoint: checks the request, shows the login page, redirects back."""

from __future__ import annotations

import re
import secrets
from collections.abc import Mapping
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from inspector.demo.login.realm import USERS, AuthorizationRequest, BadDocument, Client, IssuedCode, Realm
from inspector.demo.login.responses import escape, page

_CHALLENGE = re.compile(r"[A-Za-z0-9\-._~]{43,128}")
_ATTACKER = "https://attacker.example"


class PageError(Exception):
    """An error that is shown on the page: a redirect could go to someone other than the client."""


class RedirectError(Exception):
    """An error that is returned to the client by a redirect."""

    def __init__(self, error: str, description: str) -> None:
        super().__init__(error, description)
        self.error, self.description = error, description


class AuthorizationEndpoint:
    """The authorization endpoint: GET shows the page, POST submits the user's decision."""

    def __init__(self, realm: Realm) -> None:
        self._realm = realm

    async def handle(self, request: Request) -> Response:
        if request.method == "POST":
            form = await request.form()
            return self._decide({name: value for name, value in form.items() if isinstance(value, str)})
        try:
            parameters = _single(request.url.query)
            client, redirect = await self._client_and_redirect(parameters)
        except PageError as problem:
            return _error_page(str(problem))
        try:
            pending = self._read_request(parameters, client, redirect)
        except RedirectError as exc:
            return self._redirect_back(
                redirect,
                parameters.get("state", ""),
                {"error": exc.error, "error_description": exc.description},
            )
        return self._login_page(self._realm.requests.put(pending), pending)

    async def _client_and_redirect(self, parameters: Mapping[str, str]) -> tuple[Client, str]:
        """Return the client and its redirect URI; errors here are shown on this page."""
        faults, client_id = self._realm.faults, parameters.get("client_id", "")
        if faults.on("documents_refused") and "://" in client_id:
            raise PageError("invalid_client: client_id must not be a URL.")
        try:
            client = await self._realm.resolve(client_id)
        except BadDocument as problem:
            raise PageError(f"invalid_client: {problem}") from None
        if client is None:
            raise PageError("invalid_client: unknown client_id.")
        redirect = parameters.get("redirect_uri", "")
        if faults.on("redirect_refused") or not client.allows(redirect):
            raise PageError("invalid_request: redirect_uri is not registered for this client.")
        return client, redirect

    def _read_request(
        self, parameters: Mapping[str, str], client: Client, redirect: str
    ) -> AuthorizationRequest:
        if parameters.get("response_type") != "code":
            raise RedirectError("unsupported_response_type", "Only response_type=code is supported.")
        if "authorization_code" not in client.grants:
            raise RedirectError(
                "unauthorized_client", "This client may not use the authorization code grant."
            )
        challenge, method = self._challenge(parameters)
        return AuthorizationRequest(
            client,
            redirect,
            parameters.get("state", ""),
            challenge,
            method,
            self._scopes(parameters.get("scope", "")),
            self._resource(parameters.get("resource", "")),
            parameters.get("nonce", ""),
            parameters.get("dpop_jkt", ""),
        )

    def _challenge(self, parameters: Mapping[str, str]) -> tuple[str, str]:
        challenge = parameters.get("code_challenge", "")
        method = parameters.get("code_challenge_method", "plain")
        allowed: tuple[str, ...] = ("plain",) if self._realm.faults.on("plain_only") else ("S256",)
        if self._realm.faults.on("plain_too"):
            allowed = ("S256", "plain")
        if method not in allowed:
            raise RedirectError("invalid_request", f"code_challenge_method must be {' or '.join(allowed)}.")
        if not _CHALLENGE.fullmatch(challenge):
            raise RedirectError(
                "invalid_request", "PKCE is required: code_challenge is missing or malformed."
            )
        return challenge, method

    def _scopes(self, scope: str) -> tuple[str, ...]:
        requested = tuple(dict.fromkeys(scope.split())) or tuple(self._realm.scopes)[:1]
        unknown = [name for name in requested if name not in self._realm.scopes]
        if unknown:
            raise RedirectError("invalid_scope", f"Unknown scope: {' '.join(unknown)[:200]}")
        return requested

    def _resource(self, resource: str) -> str:
        realm = self._realm
        if resource and realm.faults.on("resource_refused"):
            raise RedirectError("invalid_target", "The resource parameter is not supported.")
        if resource and realm.resource and not is_resource(resource, realm):
            raise RedirectError("invalid_target", "Unknown resource.")
        return resource or realm.resource

    def _login_page(self, name: str, pending: AuthorizationRequest, problem: str = "") -> Response:
        rows = "".join(
            f"<li>{escape(self._realm.scopes[scope])} <code>{escape(scope)}</code></li>"
            for scope in pending.scopes
        )
        hint = " or ".join(
            f"<code>{user}</code> / <code>{password}</code>" for user, password in USERS.items()
        )
        body = f"""<h1>{escape(pending.client.name[:80])} wants to use your account</h1>
<p class="from">{escape(self._realm.title)}, {escape(self._realm.origin)}</p>
<form method="post" action="{escape(self._realm.path)}/authorize">
<input type="hidden" name="request" value="{escape(name)}">
<p>It asks to:</p><ul class="scopes">{rows}</ul>
{f'<p class="wrong" role="alert">{escape(problem)}</p>' if problem else ""}
<label for="name">Name</label>
<input type="text" id="name" name="name" autocomplete="off" autocapitalize="none" autofocus>
<label for="password">Password</label>
<input type="password" id="password" name="password" autocomplete="off">
<p class="hint">This is a demo. Log in as {hint}.</p>
<div class="buttons"><button class="main" name="decision" value="allow">Allow</button>
<button name="decision" value="deny">Deny</button></div>
<p class="soft small">You will be sent back to <code>{escape(_location(pending.redirect))}</code>.</p>
</form>"""
        # Browsers also apply form-action to the redirect that follows the form submission.
        goes_to = f"'self' {_location(pending.redirect)}"
        return page("Log in", body, status=403 if problem else 200, goes_to=goes_to)

    def _decide(self, form: Mapping[str, str]) -> Response:
        realm, name = self._realm, form.get("request", "")
        pending = realm.requests.get(name)
        if pending is None:
            return _error_page("This page has expired. Start the login again in the app.")
        if form.get("decision") != "allow":
            realm.requests.drop(name)
            denied = {"error": "access_denied", "error_description": "The user denied the request."}
            return self._redirect_back(pending.redirect, pending.state, denied)
        user, password = form.get("name", "").strip().lower(), form.get("password", "")
        if not secrets.compare_digest(USERS.get(user, "").encode(), password.encode()) or not password:
            return self._login_page(name, pending, "Wrong name or password.")
        realm.requests.drop(name)
        code = realm.codes.put(IssuedCode(pending, user))
        return self._redirect_back(pending.redirect, pending.state, {"code": code})

    def _redirect_back(self, redirect: str, state: str, response: Mapping[str, str]) -> Response:
        faults, reply = self._realm.faults, dict(response)
        if state and not faults.on("state_dropped"):
            reply["state"] = state[:-1] if faults.on("state_changed") else state
        if not faults.on("iss_missing"):
            reply["iss"] = _ATTACKER if faults.on("iss_wrong") else self._realm.issuer
            reply["iss"] += "/" if faults.on("iss_slash") else ""
        parts = urlsplit(redirect)
        if faults.on("redirect_elsewhere"):
            parts = parts._replace(path="/elsewhere")
        if faults.on("in_fragment"):
            parts = parts._replace(fragment=urlencode(reply))
        else:
            parts = parts._replace(query=urlencode([*parse_qsl(parts.query), *reply.items()]))
        headers = {"Cache-Control": "no-store", "Referrer-Policy": "no-referrer"}
        return RedirectResponse(urlunsplit(parts), 302, headers)


def is_resource(resource: str, realm: Realm) -> bool:
    """True if tokens for this resource are issued here: for the server, or the whole host."""
    return resource.removesuffix("/") in (realm.resource, realm.origin)


def _single(query: str) -> dict[str, str]:
    pairs = parse_qsl(query, keep_blank_values=True)
    parameters = dict(pairs)
    if len(parameters) != len(pairs):
        raise PageError("invalid_request: a parameter is repeated.")
    return parameters


def _location(redirect: str) -> str:
    """Return a URL's origin, or its scheme if it has none; safe in a content security policy."""
    parts = urlsplit(redirect)
    return f"{parts.scheme}://{parts.netloc}" if parts.netloc else f"{parts.scheme}:"


def _error_page(problem: str) -> Response:
    body = f'<h1>The login cannot continue</h1><p class="wrong">{escape(problem)}</p>'
    return page("Login", body, status=400)

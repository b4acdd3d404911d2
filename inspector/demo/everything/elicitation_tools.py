"""Tools that request form and URL elicitation.

Forms: a plain one, one with every kind of field, and one that asks for a password, which it should not.
Only flat objects with primitive properties (2025-11-25, Elicitation). URLs: also a tool that runs only
after its pages are completed. 2025-11-25 rejects such a call with error -32042, notifies when a page is
complete, and the client retries; 2026-07-28 uses an `input_required` result as for any other request.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterable
from dataclasses import dataclass

import anyio
import mcp_types as types
from mcp.server.session import ServerSession
from mcp.shared.exceptions import UrlElicitationRequiredError

from inspector.demo.everything.argument_tools import STRING
from inspector.demo.everything.behavior_tools import CHANGES
from inspector.demo.everything.client_requests import (
    OPEN_WORLD,
    ask,
    form,
    is_stateless,
    request_tool,
    response_in,
    sign_state,
    supports_forms,
    supports_urls,
    undeclared,
    verify_state,
)
from inspector.demo.everything.state import Background, connection_of
from inspector.demo.toolbox import Call, DemoTool, Outcome, Schema, failure, schema, text, tool

_PAGE_TIMEOUT = 5.0  # seconds until a user who has not completed the page is sent to it again
_LOGIN_URL = "https://example.com/sign-in?page="

_TITLED = [{"const": "free", "title": "Free"}, {"const": "pro", "title": "Professional"}]
_TOPICS = ["news", "releases", "security"]

PROFILE: Schema = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "title": "Name", "minLength": 1},
        "email": {"type": "string", "title": "E-mail", "format": "email"},
        "age": {"type": "integer", "title": "Age", "minimum": 0, "maximum": 150},
        "plan": {"type": "string", "title": "Plan", "oneOf": _TITLED, "default": "free"},
        "topics": {"type": "array", "title": "Topics", "items": {"type": "string", "enum": _TOPICS}},
        "subscribe": {"type": "boolean", "title": "Keep me informed", "default": False},
    },
    "required": ["name"],
}

# Field types by protocol version. 2025-06-18 started with these; its only titles for choices are
# `enumNames`, which later versions keep as deprecated.
_SINCE_2025_06_18: dict[str, Schema] = {
    "text": {"type": "string", "title": "Text"},
    "text_length": {
        "type": "string",
        "title": "Text of 2 to 5 characters",
        "description": "With minLength and maxLength.",
        "minLength": 2,
        "maxLength": 5,
    },
    "email": {"type": "string", "title": "E-mail", "format": "email"},
    "uri": {"type": "string", "title": "Web page URL", "format": "uri"},
    "date": {"type": "string", "title": "Date", "format": "date"},
    "date_time": {"type": "string", "title": "Date and time", "format": "date-time"},
    "number": {"type": "number", "title": "Number", "minimum": -1.5, "maximum": 1.5},
    "integer": {"type": "integer", "title": "Integer", "minimum": 0, "maximum": 10},
    "boolean": {"type": "boolean", "title": "Boolean"},
    "boolean_default": {"type": "boolean", "title": "Boolean, true by default", "default": True},
    "choice": {"type": "string", "title": "Choice", "enum": ["red", "green", "blue"]},
    "choice_names": {
        "type": "string",
        "title": "Choice with enumNames",
        "enum": ["r", "g", "b"],
        "enumNames": ["Red", "Green", "Blue"],
    },
}
_SINCE_2025_11_25: dict[str, Schema] = {
    "text_default": {"type": "string", "title": "Text with a default", "default": "hello"},
    "email_default": {
        "type": "string",
        "title": "Email with a default",
        "format": "email",
        "default": "ada@example.com",
    },
    "number_default": {"type": "number", "title": "Number with a default", "default": 0.5},
    "integer_default": {"type": "integer", "title": "Integer with a default", "default": 7},
    "choice_default": {
        "type": "string",
        "title": "Choice with a default",
        "enum": ["red", "green", "blue"],
        "default": "green",
    },
    "choice_titled": {"type": "string", "title": "Titled choice", "oneOf": _TITLED, "default": "pro"},
    "several": {
        "type": "array",
        "title": "Up to two choices",
        "items": {"type": "string", "enum": _TOPICS},
        "maxItems": 2,
    },
    "several_titled": {
        "type": "array",
        "title": "Titled choices, at least one",
        "items": {"anyOf": _TITLED},
        "minItems": 1,
        "default": ["free"],
    },
}
_PASSWORD: Schema = {
    "type": "object",
    "properties": {
        "user": {"type": "string", "title": "Username"},
        "password": {"type": "string", "title": "Password", "description": "Your online banking password."},
    },
    "required": ["user", "password"],
}


async def _elicit_form(call: Call) -> Outcome:
    return await _elicit(call, call.arguments["message"], PROFILE)


async def _elicit_all_fields(call: Call) -> Outcome:
    fields = dict(_SINCE_2025_06_18)
    if call.context.protocol_version >= "2025-11-25":
        fields |= _SINCE_2025_11_25
    requested: Schema = {"type": "object", "properties": fields, "required": ["text", "choice"]}
    return await _elicit(call, "One field of every type in this protocol version.", requested)


async def _elicit_password(call: Call) -> Outcome:
    """Ask for a password. Reports only that something was received, never the value."""
    if not supports_forms(call):
        return undeclared("elicitation (form)")
    requested = form("Please log in. This demo breaks a rule: a form must not ask for this.", _PASSWORD)
    response = await ask(call, requested, types.ElicitResult)
    if isinstance(response, types.InputRequiredResult):
        return response
    if response.action != "accept":
        return text(f"The form was not submitted: {response.action}.")
    return text("Received a password and discarded it.")


async def _elicit(call: Call, message: str, requested: Schema) -> Outcome:
    if not supports_forms(call):
        return undeclared("elicitation (form)")
    response = await ask(call, form(message, requested), types.ElicitResult)
    if isinstance(response, types.InputRequiredResult):
        return response
    if response.action != "accept":
        return text(f"The form was not submitted: {response.action}.")
    return text("Received:\n" + json.dumps(response.content, ensure_ascii=False, indent=2))


def form_tools() -> list[DemoTool]:
    message = {
        **STRING,
        "default": "Please tell us about yourself.",
        "description": "Message shown above the form.",
    }
    return [
        request_tool(
            "elicit_form",
            "Form elicitation",
            "Asks the user to fill in a form.",
            _elicit_form,
            schema(message=message),
        ),
        request_tool(
            "elicit_all_fields",
            "Form elicitation with every field type",
            "Sends a form with every field type of the protocol version.",
            _elicit_all_fields,
        ),
        request_tool(
            "elicit_password",
            "Form elicitation of a password",
            "Asks for a password in a form, which servers must not do.",
            _elicit_password,
        ),
    ]


async def _elicit_url(call: Call) -> Outcome:
    if not supports_urls(call):
        return undeclared("elicitation (url)")
    id = None if is_stateless(call) else str(uuid.uuid4())
    params = types.ElicitRequestURLParams(
        message="Please confirm on this page.", url=call.arguments["url"], elicitation_id=id
    )
    response = await ask(call, types.ElicitRequest(params=params), types.ElicitResult)
    if isinstance(response, types.InputRequiredResult):
        return response
    if response.action == "accept" and id is not None:
        await anyio.sleep(call.arguments["seconds"])
        await call.session.send_elicit_complete(id, related_request_id=call.context.request_id)
    return text(f"The URL elicitation returned {response.action}.")


@dataclass(frozen=True)
class _Page:
    """A page that a user was sent to; `session` is notified when it is completed."""

    id: str
    session: ServerSession
    is_stateless: bool
    done: anyio.Event


class Pages:
    """The open pages of all calls."""

    def __init__(self, background: Background) -> None:
        self._background = background
        self._pages: dict[str, _Page] = {}

    def open(self, call: Call, count: int) -> list[str]:
        ids = [str(uuid.uuid4()) for _ in range(count)]
        for id in ids:
            page = _Page(id, call.session, is_stateless(call), anyio.Event())
            self._pages[id] = page
            if call.arguments["seconds"] > 0:
                self._background.start(self._finish_later, page, call.arguments["seconds"])
        return ids

    async def finish_all(self) -> int:
        """Complete every open page and send the notifications; return how many there were."""
        pages = [page for page in self._pages.values() if not page.done.is_set()]
        for page in pages:
            await self._finish(page)
        return len(pages)

    async def wait(self, ids: Iterable[str]) -> None:
        for page in self._known(ids):
            await page.done.wait()

    def are_completed(self, ids: Iterable[str]) -> bool:
        """True if all pages are completed; an unknown page counts as completed."""
        return all(page.done.is_set() for page in self._known(ids))

    def forget(self, ids: Iterable[str]) -> None:
        for id in ids:
            self._pages.pop(id, None)

    def _known(self, ids: Iterable[str]) -> list[_Page]:
        return [self._pages[id] for id in ids if id in self._pages]

    async def _finish_later(self, page: _Page, seconds: float) -> None:
        await anyio.sleep(seconds)
        await self._finish(page)

    async def _finish(self, page: _Page) -> None:
        if not page.done.is_set():
            page.done.set()
            if not page.is_stateless:  # 2026-07-28 has no such notification: the call is simply repeated
                await page.session.send_elicit_complete(page.id)


def url_tools(background: Background) -> list[DemoTool]:
    pages = Pages(background)
    required: dict[str, list[str]] = {}
    """Session shape: the pages that a rejected call requires, by connection and arguments."""

    async def url_required(call: Call) -> Outcome:
        if not supports_urls(call):
            return undeclared("elicitation (url)")
        return (
            await _require_by_rounds(call, pages)
            if is_stateless(call)
            else _require_by_error(call, pages, required)
        )

    async def finish_pages(call: Call) -> Outcome:
        return text(f"Completed {await pages.finish_all()} pages.")

    url = {**STRING, "format": "uri", "default": "https://example.com/confirm"}
    seconds = {
        "type": "number",
        "default": 2,
        "minimum": 0,
        "maximum": 3600,
        "description": "Seconds until the page is completed.",
    }
    later = {
        **seconds,
        "description": "Seconds until the pages are completed; 0 waits for the tool finish_pages.",
    }
    count = {"type": "integer", "default": 1, "minimum": 1, "maximum": 5, "description": "Number of pages."}
    return [
        request_tool(
            "elicit_url",
            "URL elicitation",
            "Asks the user to open a URL.",
            _elicit_url,
            schema(url=url, seconds={**seconds, "default": 0}),
        ),
        # Not an `request_tool`: its error response is meant for the client.
        tool(
            "url_required",
            "URL required",
            "Runs only after the user has completed a page. Until then, the call fails or returns a "
            "URL elicitation.",
            url_required,
            schema(count=count, seconds=later),
            annotations=OPEN_WORLD,
        ),
        tool(
            "finish_pages",
            "Finish pages",
            "Completes the pages that url_required is waiting for.",
            finish_pages,
            annotations=CHANGES,
        ),
    ]


def _require_by_error(call: Call, pages: Pages, required: dict[str, list[str]]) -> Outcome:
    subject = repr((connection_of(call.context), sorted(call.arguments.items())))
    ids = required.get(subject)
    if ids is not None and pages.are_completed(ids):
        pages.forget(required.pop(subject))
        return _welcome(len(ids))
    if ids is None:
        ids = required[subject] = pages.open(call, call.arguments["count"])
    raise UrlElicitationRequiredError([_login_request(number, id) for number, id in enumerate(ids, 1)])


async def _require_by_rounds(call: Call, pages: Pages) -> Outcome:
    ids: list[str] = []
    if call.params.request_state is not None:
        try:
            ids = verify_state(call.params.request_state)
        except ValueError as error:
            return failure(str(error))
        responses = [response_in(call, id, types.ElicitResult) for id in ids]
        rejected = next(
            (response.action for response in responses if response and response.action != "accept"), None
        )
        if rejected is not None:
            pages.forget(ids)
            return text(f"The URL elicitation returned {rejected}.")
        with anyio.move_on_after(_PAGE_TIMEOUT + call.arguments["seconds"]):
            await pages.wait(ids)
        if pages.are_completed(ids):
            pages.forget(ids)
            return _welcome(len(ids))
    ids = ids or pages.open(call, call.arguments["count"])
    requests = {id: types.ElicitRequest(params=_login_request(number)) for number, id in enumerate(ids, 1)}
    return types.InputRequiredResult(input_requests={**requests}, request_state=sign_state(ids))


def _login_request(number: int, id: str | None = None) -> types.ElicitRequestURLParams:
    return types.ElicitRequestURLParams(
        message=f"Please log in on page {number}.", url=f"{_LOGIN_URL}{number}", elicitation_id=id
    )


def _welcome(count: int) -> types.CallToolResult:
    return text(f"Welcome: {count} of {count} pages completed.")

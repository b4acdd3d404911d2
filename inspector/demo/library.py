"""A large catalogue: 250 tools and 120 resources in pages of 50, as a busy product's server would have them.

Everything is made by rule, so each start gives the same list. Some names and descriptions are as long as the
specification lets them be, to see what a list and a form do with them.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import islice
from typing import Any

import mcp_types as types
from mcp.server.lowlevel import Server

import inspector
from inspector.demo.toolbox import (
    Call,
    Context,
    DemoTool,
    Outcome,
    Schema,
    Toolbox,
    page,
    resource_not_found,
    schema,
    text,
    tool,
)
from inspector.demo.wire import Wire

TOOLS = 250
RESOURCES = 120
PAGE = 50

_LONGEST_NAME = 128  # 2025-11-25, Tools, Tool Names: "between 1 and 128 characters in length".

# fmt: off
_NOUNS = (
    "account", "branch", "calendar", "comment", "commit", "contact", "customer", "deployment",
    "document", "email", "event", "file", "incident", "invoice", "issue", "label", "meeting",
    "milestone", "order", "payment", "pipeline", "project", "release", "repository", "ticket",
)
# fmt: on

_ID: Schema = {"type": "string", "description": "Identifier, as the list tool returns it."}
_FIELDS = schema(
    title={"type": "string", "maxLength": 200},
    state={"type": "string", "enum": ["open", "active", "closed"]},
    labels={"type": "array", "items": {"type": "string"}},
    due={"type": "string", "format": "date"},
)
_LIMIT: Schema = {"type": "integer", "minimum": 1, "maximum": 500, "default": 50}

_VERBS: dict[str, tuple[str, Schema]] = {
    "list": ("Lists every {noun}, newest first.", schema(limit=_LIMIT, after=_ID)),
    "get": ("Fetches one {noun}.", schema(["id"], id=_ID)),
    "create": ("Creates a {noun}.", schema(["fields"], fields=_FIELDS)),
    "update": ("Changes some fields of a {noun}.", schema(["id", "fields"], id=_ID, fields=_FIELDS)),
    "delete": (
        "Deletes a {noun} for good.",
        schema(["id"], id=_ID, confirm={"type": "boolean", "default": False}),
    ),
    "search": (
        "Finds every {noun} that matches the words.",
        schema(
            ["query"], query={"type": "string", "minLength": 1}, limit=_LIMIT, order={"enum": ["asc", "desc"]}
        ),
    ),
    "export": (
        "Writes {noun} data to a file.",
        schema(["format"], format={"enum": ["csv", "json", "xlsx"]}, columns={"type": "array", "items": _ID}),
    ),
    "archive": ("Puts a {noun} away without deleting it.", schema(["id"], id=_ID, reason={"type": "string"})),
    "assign": ("Gives a {noun} to a person.", schema(["id", "person"], id=_ID, person={"type": "string"})),
    "summarise": (
        "Describes a {noun} in a few words.",
        schema(["id"], id=_ID, words={"type": "integer", "minimum": 10, "default": 60}),
    ),
}

_READS = frozenset({"list", "get", "search", "export", "summarise"})

_LONG_TAIL = "_with_every_related_record_that_the_caller_may_see" * 3
_LONG_DESCRIPTION = " It checks the caller's rights first, then reads from the nearest replica. " * 40


async def _answer(call: Call) -> Outcome:
    return text(f"{call.params.name} was called with {json.dumps(call.arguments, ensure_ascii=False)}")


def _tools() -> Iterator[DemoTool]:
    pairs = ((verb, noun) for noun in _NOUNS for verb in _VERBS)
    for number, (verb, noun) in enumerate(islice(pairs, TOOLS)):
        name, description = f"{verb}_{noun}", _VERBS[verb][0].format(noun=noun)
        if number % 50 == 49:
            name = (name + _LONG_TAIL)[:_LONGEST_NAME]
        if number % 40 == 39:
            description += _LONG_DESCRIPTION
        hints = types.ToolAnnotations(read_only_hint=verb in _READS, destructive_hint=verb == "delete")
        title = f"{verb.capitalize()} {noun}"
        yield tool(name, title, description, _answer, _VERBS[verb][1], annotations=hints)


def _resources() -> list[types.Resource]:
    return [
        types.Resource(
            uri=f"library://shelf/{number // 10}/book/{number}",
            name=f"book-{number:03}",
            title=f"Book {number}",
            mime_type="text/plain",
        )
        for number in range(RESOURCES)
    ]


def build(wire: Wire | None) -> Server[Any]:
    toolbox = Toolbox(_tools(), page_size=PAGE)
    resources = {resource.uri: resource for resource in _resources()}

    async def list_resources(
        context: Context, params: types.PaginatedRequestParams | None
    ) -> types.ListResourcesResult:
        books, following = page(list(resources.values()), params, PAGE)
        return types.ListResourcesResult(resources=books, next_cursor=following)

    async def read(context: Context, params: types.ReadResourceRequestParams) -> types.ReadResourceResult:
        book = resources.get(params.uri)
        if book is None:
            raise resource_not_found(context, params.uri)
        words = types.TextResourceContents(
            uri=book.uri, mime_type="text/plain", text=f"{book.title}, page 1."
        )
        return types.ReadResourceResult(contents=[words])

    return Server(
        "library",
        version=inspector.__version__,
        title="Library",
        description=f"{TOOLS} tools and {RESOURCES} resources, in pages of {PAGE}.",
        instructions=f"{TOOLS} tools in pages of {PAGE}: follow nextCursor to the end.",
        on_list_tools=toolbox.list_tools,
        on_call_tool=toolbox.call_tool,
        on_list_resources=list_resources,
        on_read_resource=read,
    )

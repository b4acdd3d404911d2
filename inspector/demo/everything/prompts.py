"""Prompts with and without arguments, one with an image and a resource; argument completion.

`complete` answers `completion/complete` for prompts and for resource templates.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

import mcp_types as types
from mcp.shared.exceptions import MCPError

from inspector.demo.everything.resources import (
    BOOK_TEMPLATE,
    BOOKS,
    CITIES,
    CITY_TEMPLATE,
    LANGUAGES,
    STYLES,
    as_base64,
    png,
)
from inspector.demo.toolbox import Context

_MAX_COUNT = 100
"""2025-11-25, Completion: "Maximum 100 items per response"."""


async def complete(context: Context, params: types.CompleteRequestParams) -> types.CompleteResult:
    known = params.context.arguments if params.context is not None else None
    start = params.argument.value.casefold()
    values = [
        value
        for value in _candidates(params.ref, params.argument.name, known or {})
        if value.casefold().startswith(start)
    ]
    completion = types.Completion(
        values=values[:_MAX_COUNT], total=len(values), has_more=len(values) > _MAX_COUNT
    )
    return types.CompleteResult(completion=completion)


def _candidates(
    ref: types.PromptReference | types.ResourceTemplateReference, argument: str, known: dict[str, str]
) -> Iterable[str]:
    """Return every value the argument can take, given the arguments already chosen."""
    target = ref.name if isinstance(ref, types.PromptReference) else ref.uri
    match target, argument:
        case "greet", "style":
            return STYLES
        case "code_review", "language":
            return LANGUAGES
        case template, "city" if template == CITY_TEMPLATE:
            return CITIES
        case template, "author" if template == BOOK_TEMPLATE:
            return BOOKS
        case template, "title" if template == BOOK_TEMPLATE:
            return BOOKS.get(known.get("author", ""), [])
        case _:
            return ()


Messages = list[types.PromptMessage]


def _user(text: str) -> types.PromptMessage:
    return types.PromptMessage(role="user", content=types.TextContent(text=text))


def _assistant(text: str) -> types.PromptMessage:
    return types.PromptMessage(role="assistant", content=types.TextContent(text=text))


def _greet(arguments: Mapping[str, str]) -> Messages:
    return [_user(f"Greet {arguments['name']} in a {arguments.get('style', 'friendly')} way.")]


def _review(arguments: Mapping[str, str]) -> Messages:
    language = arguments["language"]
    return [
        _user(f"Review this {language} code:\n\n```{language.lower()}\n{arguments['code']}\n```"),
        _assistant("I will look at correctness first, then at names, then at style."),
        _user("Go ahead."),
    ]


def _illustrated(arguments: Mapping[str, str]) -> Messages:
    image = types.ImageContent(data=as_base64(png()), mime_type="image/png")
    note = types.TextResourceContents(uri="demo://readme", mime_type="text/markdown", text="# Everything")
    return [
        _user("Describe the image, then say whether the note mentions it."),
        types.PromptMessage(role="user", content=image),
        types.PromptMessage(role="user", content=types.EmbeddedResource(resource=note)),
    ]


@dataclass(frozen=True)
class _Entry:
    definition: types.Prompt
    make: Callable[[Mapping[str, str]], Messages]

    def missing(self, arguments: Mapping[str, str]) -> list[str]:
        return [a.name for a in self.definition.arguments or [] if a.required and a.name not in arguments]


def _argument(name: str, description: str, *, required: bool = False) -> types.PromptArgument:
    return types.PromptArgument(name=name, description=description, required=required)


_GREET_ARGUMENTS = [
    _argument("name", "Who to greet.", required=True),
    _argument("style", "Style of the greeting."),
]
_REVIEW_ARGUMENTS = [
    _argument("language", "The programming language.", required=True),
    _argument("code", "Code to review.", required=True),
]

_PROMPTS = {
    entry.definition.name: entry
    for entry in (
        _Entry(
            types.Prompt(
                name="greet", title="Greet", description="A short prompt.", arguments=_GREET_ARGUMENTS
            ),
            _greet,
        ),
        _Entry(
            types.Prompt(
                name="code_review",
                title="Review code",
                description="A conversation of three messages.",
                arguments=_REVIEW_ARGUMENTS,
            ),
            _review,
        ),
        _Entry(
            types.Prompt(
                name="illustrated", title="Illustrated", description="With an image and a resource."
            ),
            _illustrated,
        ),
    )
}


async def list_prompts(
    context: Context, params: types.PaginatedRequestParams | None
) -> types.ListPromptsResult:
    return types.ListPromptsResult(prompts=[entry.definition for entry in _PROMPTS.values()])


async def get_prompt(context: Context, params: types.GetPromptRequestParams) -> types.GetPromptResult:
    entry = _PROMPTS.get(params.name)
    if entry is None:
        raise MCPError(types.INVALID_PARAMS, f"Unknown prompt: {params.name}")
    arguments = params.arguments or {}
    missing = entry.missing(arguments)
    if missing:
        raise MCPError(types.INVALID_PARAMS, f"Missing arguments: {', '.join(missing)}")
    return types.GetPromptResult(description=entry.definition.description, messages=entry.make(arguments))

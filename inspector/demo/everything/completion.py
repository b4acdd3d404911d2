"""Answers `completion/complete` for the arguments of prompts and resource templates."""

from __future__ import annotations

from collections.abc import Iterable

import mcp_types as types

from inspector.demo.everything.places import BOOKS, CITIES, LANGUAGES, STYLES
from inspector.demo.everything.resources import BOOK_TEMPLATE, CITY_TEMPLATE
from inspector.demo.toolbox import Context

_MOST = 100
"""2025-11-25, Completion: "Maximum 100 items per response"."""


async def complete(context: Context, params: types.CompleteRequestParams) -> types.CompleteResult:
    known = params.context.arguments if params.context is not None else None
    start = params.argument.value.casefold()
    values = [
        value
        for value in _candidates(params.ref, params.argument.name, known or {})
        if value.casefold().startswith(start)
    ]
    completion = types.Completion(values=values[:_MOST], total=len(values), has_more=len(values) > _MOST)
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

"""Members that depend on the value: `if`/`then`/`else`, `dependentRequired`, `dependentSchemas`."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from inspector.base.jsonvalue import JSON, JSONObject, shorten
from inspector.schema import keywords
from inspector.schema.drafts import ABSENT, bare
from inspector.schema.fields import Condition
from inspector.schema.fits import fits
from inspector.schema.flatten import Conditional
from inspector.schema.jsontext import write_line
from inspector.schema.references import Document

MAX_CONDITIONS = 50


def conditions_of(conditionals: list[Conditional], document: Document) -> tuple[Condition, ...]:
    """Return the conditions to evaluate for a draft, in schema order."""
    found = []
    for one in conditionals[:MAX_CONDITIONS]:
        if one.key:
            found.append(Condition(f"{shorten(one.key, 40)} is set", partial(_has, one.key)))
        else:
            found.append(Condition(_in_words(one.test), partial(_fits, one.test, document)))
    return tuple(found)


def schemas_under(conditionals: list[Conditional], outcomes: tuple[bool, ...]) -> list[JSON]:
    """Return the schemas that apply in addition, given the outcomes of the conditions."""
    pairs = zip(conditionals, outcomes, strict=False)
    parts = [one.then if outcome else one.otherwise for one, outcome in pairs]
    return [part for part in parts if part is not True]


def _has(key: str, draft: Mapping[str, object]) -> bool:
    return bare(draft.get(key, ABSENT)) is not ABSENT


def _fits(test: JSON, document: Document, draft: Mapping[str, object]) -> bool:
    return fits(test, draft, document)


def _in_words(test: JSON) -> str:
    """Describe a common condition in words; any other as its schema."""
    if isinstance(test, dict) and test.keys() <= {"properties", "required", "type"}:
        wishes = [_wish(name, part) for name, part in keywords.named(test, "properties").items()]
        names = keywords.names(test, "required") - keywords.named(test, "properties").keys()
        wishes += [f"{shorten(name, 40)} is set" for name in sorted(names)]
        if wishes and all(wishes):
            return " and ".join(wishes)
    return f"the value fits {shorten(write_line(test), 80)}"


def _wish(name: str, part: JSON) -> str:
    shown = shorten(name, 40)
    if not isinstance(part, dict):
        return ""
    if "const" in part:
        return f"{shown} is {shorten(write_line(part['const']), 40)}"
    if choices := keywords.schemas(part, "enum"):
        return f"{shown} is one of {shorten(write_line(choices), 80)}"
    return _negated(shown, part)


def _negated(shown: str, part: JSONObject) -> str:
    unwanted = part.get("not")
    if isinstance(unwanted, dict) and "const" in unwanted:
        return f"{shown} is not {shorten(write_line(unwanted['const']), 40)}"
    return ""

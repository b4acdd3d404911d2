"""Forms that the user is asked to fill in: a plain one, one with every kind of field, one that should not be.

2025-11-25, Elicitation: only flat objects with primitive properties.
"""

from __future__ import annotations

import json

import mcp_types as types

from inspector.demo.everything.arguments import STRING
from inspector.demo.everything.questions import ask, asking_tool, form, takes_forms, undeclared
from inspector.demo.toolbox import Call, DemoTool, Outcome, Schema, schema, text

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
    "uri": {"type": "string", "title": "Address of a page", "format": "uri"},
    "date": {"type": "string", "title": "Date", "format": "date"},
    "date_time": {"type": "string", "title": "Date and time", "format": "date-time"},
    "number": {"type": "number", "title": "Number", "minimum": -1.5, "maximum": 1.5},
    "integer": {"type": "integer", "title": "Whole number", "minimum": 0, "maximum": 10},
    "boolean": {"type": "boolean", "title": "Yes or no"},
    "boolean_default": {"type": "boolean", "title": "Yes or no, yes by default", "default": True},
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
        "title": "E-mail with a default",
        "format": "email",
        "default": "ada@example.com",
    },
    "number_default": {"type": "number", "title": "Number with a default", "default": 0.5},
    "integer_default": {"type": "integer", "title": "Whole number with a default", "default": 7},
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
        "user": {"type": "string", "title": "User name"},
        "password": {"type": "string", "title": "Password", "description": "The password of your bank."},
    },
    "required": ["user", "password"],
}


async def _elicit_form(call: Call) -> Outcome:
    return await _elicit(call, call.arguments["message"], PROFILE)


async def _elicit_all_fields(call: Call) -> Outcome:
    fields = dict(_SINCE_2025_06_18)
    if call.context.protocol_version >= "2025-11-25":
        fields |= _SINCE_2025_11_25
    wanted: Schema = {"type": "object", "properties": fields, "required": ["text", "choice"]}
    return await _elicit(call, "One field of every kind that this revision has.", wanted)


async def _elicit_password(call: Call) -> Outcome:
    """Ask for a password. Reports only that something was received, never the value."""
    if not takes_forms(call):
        return undeclared("elicitation (form)")
    asked = form("Please sign in. This demo breaks a rule: a form must not ask for this.", _PASSWORD)
    answer = await ask(call, asked, types.ElicitResult)
    if isinstance(answer, types.InputRequiredResult):
        return answer
    if answer.action != "accept":
        return text(f"The form was not filled in: {answer.action}.")
    return text("I was told a password, and have forgotten it already.")


async def _elicit(call: Call, message: str, wanted: Schema) -> Outcome:
    if not takes_forms(call):
        return undeclared("elicitation (form)")
    answer = await ask(call, form(message, wanted), types.ElicitResult)
    if isinstance(answer, types.InputRequiredResult):
        return answer
    if answer.action != "accept":
        return text(f"The form was not filled in: {answer.action}.")
    return text("Received:\n" + json.dumps(answer.content, ensure_ascii=False, indent=2))


def tools() -> list[DemoTool]:
    message = {**STRING, "default": "Please tell us about yourself.", "description": "Shown above the form."}
    return [
        asking_tool(
            "elicit_form",
            "Elicit by form",
            "Asks the user to fill in a form.",
            _elicit_form,
            schema(message=message),
        ),
        asking_tool(
            "elicit_all_fields",
            "Elicit every field",
            "Asks by a form with every kind of field that the revision has.",
            _elicit_all_fields,
        ),
        asking_tool(
            "elicit_password",
            "Elicit a password",
            "Asks for a password by form, which servers must not do.",
            _elicit_password,
        ),
    ]

"""Server requests for tests: complete ones, and any JSON in the form of one."""

from __future__ import annotations

from hypothesis import strategies as st

from inspector.base.json.values import JSON, JSONObject

_ODD = st.sampled_from(
    ["", "user", "text", "tool_use", "tool_result", "array", "string", "object", "form", "url", "1"]
)
any_json: st.SearchStrategy[JSON] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5) | _ODD,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)


def _icon_targets(names: str, inner: st.SearchStrategy[JSON]) -> st.SearchStrategy[JSON]:
    members: st.SearchStrategy[JSON] = st.dictionaries(st.sampled_from(names.split()), inner, max_size=6)
    return members


_blocks = _icon_targets("type text data mimeType id name input toolUseId content", any_json)
_messages = _icon_targets("role content", any_json | _blocks | st.lists(_blocks, max_size=3))
_fields = _icon_targets(
    "type enum enumNames oneOf anyOf items default format minLength maximum title $ref", any_json
)
_forms = _icon_targets(
    "type properties required", any_json | st.dictionaries(st.text(max_size=3), _fields, max_size=3)
)
_preferences = _icon_targets(
    "hints costPriority speedPriority", any_json | st.lists(_icon_targets("name", any_json), max_size=2)
)

params_of_anything: st.SearchStrategy[JSON] = any_json | _icon_targets(
    "messages maxTokens systemPrompt includeContext temperature stopSequences metadata modelPreferences "
    "tools toolChoice message requestedSchema mode url elicitationId task _meta",
    any_json | _forms | _preferences | st.lists(_messages, max_size=3),
)
results_of_anything: st.SearchStrategy[JSON] = _icon_targets(
    "action content role model stopReason roots resultType",
    any_json | _blocks | st.lists(_blocks, max_size=3),
)


def text(content: str = "Hello") -> JSONObject:
    return {"type": "text", "text": content}


def use(id: str = "u1", name: str = "add") -> JSONObject:
    return {"type": "tool_use", "id": id, "name": name, "input": {"a": 1}}


def outcome(id: str = "u1") -> JSONObject:
    return {"type": "tool_result", "toolUseId": id, "content": [text()]}


def message(role: str, content: JSON) -> JSONObject:
    return {"role": role, "content": content}


def sampling(*messages: JSON, **more: JSON) -> JSONObject:
    every: list[JSON] = list(messages) or [message("user", text())]
    return {"messages": every, "maxTokens": 100, **more}


def form(*required: str, **fields: JSON) -> JSONObject:
    schema: JSONObject = {"type": "object", "properties": fields, "required": list(required)}
    return {"message": "Who are you?", "requestedSchema": schema}


def page(url: str = "https://example.com/consent", **more: JSON) -> JSONObject:
    return {"mode": "url", "message": "Please log in", "url": url, **more}

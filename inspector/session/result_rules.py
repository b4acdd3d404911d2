"""Rules for results that parsing tolerates, but that clients built with the official SDKs reject.

`result_findings` checks the result of one request, `text_findings` the JSON text of a message. Both return
findings as text without a full stop, at most a few per message. They are for messages that are parsed
anyway: the responses to requests of MCP Lens, and server requests. Notifications are not checked, because
floods consist of them.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from itertools import islice

from inspector.base.json.values import JSON, JSONObject, compact, quote_value
from inspector.protocol.jsonrpc import constant_problem
from inspector.protocol.revisions import R5, Era, Revision

MAX_FINDINGS = 3  # per message
_CACHEABLE = frozenset(
    (
        *("server/discover", "tools/list", "prompts/list"),
        *("resources/list", "resources/templates/list", "resources/read"),
    )
)
_SURROGATE = re.compile("[\ud800-\udfff]")
_SCHEMA_TYPES = frozenset(("string", "number", "integer", "boolean", "object", "array", "null"))
# Keywords whose value is a schema or an array of schemas.
_SUBSCHEMAS = frozenset(("items", "additionalProperties", "anyOf", "oneOf", "allOf", "prefixItems", "not"))
# Keywords whose value is an object with schemas as values, besides "properties".
_MAPS = frozenset(("$defs", "definitions", "patternProperties"))
# The required members of each content block that are strings.
_BLOCKS: dict[str, tuple[str, ...]] = {
    "text": ("text",),
    "image": ("data", "mimeType"),
    "audio": ("data", "mimeType"),
    "resource_link": ("uri", "name"),
    "resource": (),
}


def result_findings(method: str, result: JSONObject, revision: Revision) -> list[str]:
    """Return what is wrong with the result of a request; empty for a valid one."""
    found: list[str] = []
    if method == "server/discover":
        revision = R5
    kind: JSON = "complete"
    if revision.era is Era.STATELESS:
        kind = result.get("resultType")
        if kind != "complete":
            found += _result_type_findings(kind, revision)
        if method in _CACHEABLE and kind != "input_required":
            found += _cache_findings(result)
    check = _CHECKS.get(method)
    if check is not None and kind in ("complete", None):
        found += islice(check(result, revision), MAX_FINDINGS)
    return found[:MAX_FINDINGS]


def _result_type_findings(kind: JSON, revision: Revision) -> Iterator[str]:
    if kind is None:
        yield f'the result has no "resultType", which {revision} requires'
    elif not isinstance(kind, str):
        yield '"resultType" must be a string'
    elif kind not in ("complete", "input_required", "task"):
        yield f'the "resultType" {quote_value(kind)} is unknown'


def _cache_findings(result: JSONObject) -> Iterator[str]:
    ttl, scope = result.get("ttlMs"), result.get("cacheScope")
    if type(ttl) is not int or ttl < 0:
        yield _wrong(result, "ttlMs", "an integer, 0 or more")
    if scope not in ("public", "private"):
        yield _wrong(result, "cacheScope", '"public" or "private"')


def _wrong(source: JSONObject, name: str, wanted: str) -> str:
    if name not in source:
        return f'"{name}" is missing'
    return f'"{name}" must be {wanted}, not {quote_value(source[name])}'


def _array_finding(result: JSONObject, member: str) -> Iterator[str]:
    if type(result.get(member)) is not list:
        yield _wrong(result, member, "an array")


def _resource_list(result: JSONObject, revision: Revision) -> Iterator[str]:
    yield from _array_finding(result, "resources")


def _template_list(result: JSONObject, revision: Revision) -> Iterator[str]:
    yield from _array_finding(result, "resourceTemplates")


def _tool_list(result: JSONObject, revision: Revision) -> Iterator[str]:
    yield from _array_finding(result, "tools")
    tools = _objects(result.get("tools"))
    yield from repeated_names("tool", (tool.get("name") for tool in tools))
    for tool in tools:
        if problem := _tool_problem(tool, revision):
            yield f"tool {quote_value(tool.get('name'))}: {problem}"


def _tool_problem(tool: JSONObject, revision: Revision) -> str:
    schema = tool.get("inputSchema")
    if type(schema) is not dict:
        return _wrong(tool, "inputSchema", "an object")
    if schema.get("type") != "object":
        return f'"inputSchema" must have the type "object", not {quote_value(schema.get("type"))}'
    problem = _schema_problem("inputSchema", schema)
    if problem or "outputSchema" not in tool:
        return problem
    output = tool["outputSchema"]
    if type(output) is not dict:
        return _wrong(tool, "outputSchema", "an object")
    if revision.era is Era.SESSION and output.get("type") != "object":
        return f'"outputSchema" must have the type "object", not {quote_value(output.get("type"))}'
    return _schema_problem("outputSchema", output)


def _schema_problem(name: str, schema: JSONObject) -> str:
    """Check the keywords that the SDKs check, in all subschemas. A loop: a schema may be nested deeply."""
    stack = [schema]
    while stack:
        for keyword, value in stack.pop().items():
            if keyword == "type":
                if not (value in _SCHEMA_TYPES if type(value) is str else _are_types(value)):
                    return f'the type {quote_value(value)} in "{name}" does not exist in JSON Schema'
            elif keyword == "properties":
                if type(value) is not dict:
                    return f'"properties" in "{name}" must be an object'
                for child in value.values():
                    if type(child) is dict:
                        stack.append(child)
                    elif type(child) is not bool:
                        return f'"properties" in "{name}" must have schemas as values'
            elif keyword == "required":
                if not _are_strings(value):
                    return f'"required" in "{name}" must be an array of strings'
            elif keyword in _SUBSCHEMAS:
                stack += _subschemas(value)
            elif keyword in _MAPS and type(value) is dict:
                stack += _objects(list(value.values()))
    return ""


def _subschemas(value: JSON) -> list[JSONObject]:
    """Return the schemas in the value of a keyword: one, an array of them, or an object with several."""
    if isinstance(value, list):
        return _objects(value)
    return [value] if isinstance(value, dict) else []


def _are_strings(value: JSON) -> bool:
    return type(value) is list and all(type(item) is str for item in value)


def _are_types(value: JSON) -> bool:
    return isinstance(value, list) and all(isinstance(item, str) and item in _SCHEMA_TYPES for item in value)


def _prompt_list(result: JSONObject, revision: Revision) -> Iterator[str]:
    yield from _array_finding(result, "prompts")
    yield from repeated_names("prompt", (prompt.get("name") for prompt in _objects(result.get("prompts"))))


def repeated_names(what: str, names: Iterable[JSON], seen: set[str] | None = None) -> Iterator[str]:
    """Yield a finding for each name that occurs again; `seen` has those of earlier pages."""
    seen = set() if seen is None else seen
    for name in names:
        if isinstance(name, str):
            if name in seen:
                yield f"the {what} {quote_value(name)} is listed more than once"
            seen.add(name)


def _tool_result(result: JSONObject, revision: Revision) -> Iterator[str]:
    content = result.get("content")
    if type(content) is not list:
        if "task" not in result:
            yield _wrong(result, "content", "an array")
    else:
        for number, block in enumerate(content):
            if problem := _block_problem(block):
                yield f"content[{number}]: {problem}"
    if "isError" in result and type(result["isError"]) is not bool:
        yield '"isError" must be true or false'
    structured = result.get("structuredContent", result)
    if type(structured) is not dict and revision.era is Era.SESSION:
        yield f'"structuredContent" must be an object in {revision}'


def _prompt_result(result: JSONObject, revision: Revision) -> Iterator[str]:
    if not isinstance(messages := result.get("messages"), list):
        yield _wrong(result, "messages", "an array")
        return
    for number, message in enumerate(messages):
        if not isinstance(message, dict):
            yield f"messages[{number}] must be an object"
        elif message.get("role") not in ("user", "assistant"):
            yield f'messages[{number}]: "role" must be "user" or "assistant"'
        elif problem := _block_problem(message.get("content")):
            yield f"messages[{number}].content: {problem}"


def _resource_result(result: JSONObject, revision: Revision) -> Iterator[str]:
    if not isinstance(contents := result.get("contents"), list):
        yield _wrong(result, "contents", "an array")
        return
    for number, entry in enumerate(contents):
        if problem := _contents_problem(entry):
            yield f"contents[{number}]: {problem}"


def _block_problem(block: JSON) -> str:
    if type(block) is not dict:
        return f"a content block must be an object, not {quote_value(block)}"
    kind = block.get("type")
    required = _BLOCKS.get(kind) if type(kind) is str else None
    if required is None:
        return f"unknown content type {quote_value(kind)}"
    for name in required:
        if type(block.get(name)) is not str:
            return f'"{name}" must be a string'
    return _contents_problem(block.get("resource")) if kind == "resource" else ""


def _contents_problem(contents: JSON) -> str:
    if not isinstance(contents, dict):
        return "resource contents must be an object"
    if not isinstance(contents.get("uri"), str):
        return '"uri" must be a string'
    has_content = isinstance(contents.get("text"), str) or isinstance(contents.get("blob"), str)
    return "" if has_content else 'it has neither a "text" nor a "blob" that is a string'


def _objects(value: JSON) -> list[JSONObject]:
    return [item for item in value if type(item) is dict] if isinstance(value, list) else []


_CHECKS: dict[str, Callable[[JSONObject, Revision], Iterator[str]]] = {
    "tools/list": _tool_list,
    "prompts/list": _prompt_list,
    "resources/list": _resource_list,
    "resources/templates/list": _template_list,
    "tools/call": _tool_result,
    "prompts/get": _prompt_result,
    "resources/read": _resource_result,
}


def text_findings(raw: bytes, body: JSON) -> list[str]:
    """Return what is wrong with the text of a message that was parsed as `body`."""
    found = []
    if b"NaN" in raw or b"Infinity" in raw:
        found.append(constant_problem(raw))
    # In JSON a quote and a colon end a key, unless the quote is escaped: in a string. Counting takes as long
    # as parsing; a decoder with a hook for each object takes five times as long.
    keys = raw.count(b'":')
    if b"\\" in raw:
        keys -= raw.count(b'\\":')
        if (b"\\ud" in raw or b"\\uD" in raw) and _has_lone_surrogate(body):
            found.append("a string has half of a surrogate pair, which is not a character")
    try:
        if keys > _count_keys(body):
            found.append(_repeated_key(raw))
    except RecursionError:  # parsing it needed less stack
        pass
    return [finding for finding in found if finding] if found else found


def _count_keys(value: JSON) -> int:
    count = 0
    if type(value) is dict:
        count = len(value)
        items: Iterable[JSON] = value.values()
    elif type(value) is list:
        items = value
    else:
        return 0
    for item in items:  # without a call per scalar: this visits every value of every response
        if type(item) is dict or type(item) is list:
            count += _count_keys(item)
    return count


def _has_lone_surrogate(body: JSON) -> bool:
    try:
        return _SURROGATE.search(compact(body)) is not None
    except RecursionError:
        return False


def _repeated_key(raw: bytes) -> str:
    repeated: list[str] = []

    def check(pairs: list[tuple[str, JSON]]) -> JSONObject:
        value = dict(pairs)
        if len(value) < len(pairs) and not repeated:
            counts = Counter(name for name, _ in pairs)
            repeated.append(next(name for name, count in counts.items() if count > 1))
        return value

    json.loads(raw.decode(errors="replace").removeprefix("\ufeff"), object_pairs_hook=check)
    return f"the key {quote_value(repeated[0])} occurs more than once in an object" if repeated else ""


def message_findings(method: str, raw: bytes, body: JSONObject, revision: Revision) -> list[str]:
    """Return the findings about a response, given its request's method."""
    found = text_findings(raw, body)
    result = body.get("result")
    return found + result_findings(method, result, revision) if type(result) is dict else found

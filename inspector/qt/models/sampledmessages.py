"""Messages of sampling, as they are shown: one for each block of content, tool uses and results in words."""

from __future__ import annotations

from inspector.base.jsonvalue import JSON, JSONObject, pretty, shorten
from inspector.base.plaintext import one_line
from inspector.engine.contents import Content, ContentKind, Message, block_content, unknown
from inspector.protocol.blocks import TOOL_RESULT, TOOL_USE, kind_of, read_blocks
from inspector.protocol.members import text_of


def messages_of(role: str, content: JSON) -> list[Message]:
    """Convert sampling content to messages. Raises ValueError if it is not valid content."""
    found: list[Message] = []
    for block in read_blocks(content):
        found += _messages(role, block)
    return found or [Message(role, Content(ContentKind.TEXT), "no content")]


def _messages(role: str, block: JSONObject) -> list[Message]:
    kind = kind_of(block)
    if kind == TOOL_USE:
        about = f"uses the tool {_named(block, 'name')}{_id(block, 'id')}"
        return [Message(role, _json(block.get("input")), about)]
    if kind == TOOL_RESULT:
        return _results(role, block)
    return [Message(role, block_content(block))]


def _results(role: str, block: JSONObject) -> list[Message]:
    says = "error of a tool" if block.get("isError") is True else "result of a tool"
    about = f"{says}{_id(block, 'toolUseId')}"
    inner = block.get("content")
    blocks = inner if isinstance(inner, list) else []
    contents = [block_content(each) for each in blocks]
    structured = block.get("structuredContent")
    if structured is not None:
        contents.append(_json(structured))
    if not contents:
        contents = [unknown(block, "a tool result without content")]
    return [Message(role, each, about) for each in contents]


def _json(value: JSON) -> Content:
    return Content(ContentKind.JSON, shown_json(value).encode(errors="surrogatepass"))


def shown_json(value: JSON, limit: int | None = None) -> str:
    """Pretty-print a value, shortened to `limit`."""
    try:
        text = pretty(value)
    except RecursionError:  # parsing it needed less stack than writing it does
        return "… (nested too deeply to be shown)"
    return text if limit is None else shorten(text, limit)


def _named(block: JSONObject, member: str) -> str:
    return one_line(text_of(block, member)) or "without a name"


def _id(block: JSONObject, member: str) -> str:
    id = text_of(block, member)
    return f" · {one_line(id)}" if id else ""

"""Markdown reports: server text cannot break out of its code block."""

from __future__ import annotations

import re
from io import BytesIO

from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from inspector.protocol import jsonrpc
from inspector.traffic.export.markdown import code, fenced, write_markdown
from inspector.traffic.log import TrafficLog
from inspector.traffic.masking.masker import NO_MASKING, Masker, find_secrets
from inspector.traffic.records import Direction, RecordKind
from tests.unit.traffic.export.export_logs import TOKEN, Conversation, http_log, logs, written


def report(log: TrafficLog, masking: Masker = NO_MASKING) -> str:
    sink = BytesIO()
    return written(write_markdown(log, range(len(log)), sink, masking), sink)[0].decode()


@given(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\r\0")) | st.text("`~ \n"))
def test_no_text_can_close_its_fence(text: str) -> None:
    token, end = MarkdownIt().parse(fenced(text, "text") + "\nend")[:2]
    assert (token.type, token.content) == ("fence", f"{text}\n")
    assert end.type == "paragraph_open"


@given(st.text(st.characters(exclude_categories=["Cs", "Cc", "Zl", "Zp"])) | st.text("` \\*<"))
def test_no_text_can_close_its_code_span(text: str) -> None:
    children = MarkdownIt().parse(f"x{code(text)}y")[1].children
    assert children is not None
    assert [child.type for child in children] == ["text", "code_inline", "text"]
    assert children[1].content.strip() == text.strip()


def test_request_is_shown_with_its_response() -> None:
    text = report(http_log())
    heading = text.index("## 2 → request `tools/call echo` (ok, ")
    response = text.index("Response at ", heading)
    assert text.index('"content"', response) < text.index("## ", response)
    assert "HTTP `POST https://example.org/mcp?tenant=a` → 200" in text
    assert "**Comment:** `look at this`" in text
    assert text.count("```json") == 6


def test_the_summary_counts_by_server() -> None:
    assert "| `srv` | 6 | 2 | 0 | 0 | " in report(http_log())


def test_exchange_without_a_message_is_shown_with_what_arrived_instead() -> None:
    conversation = Conversation()
    exchange = conversation.post(jsonrpc.request(1, "ping"))
    conversation.responded(exchange, body=b"<h1>Sorry</h1>")
    log = conversation.log
    sink = BytesIO()
    text = written(write_markdown(log, [1], sink), sink)[0].decode()
    assert "<h1>Sorry</h1>" in text


def test_hostile_names_do_not_format_the_report() -> None:
    log = TrafficLog()
    server = log.add_server("a|b`</td>\n# @everyone")
    log.append(server, RecordKind.NOTIFICATION, Direction.IN, 0, 0, b"```\n# out\n", "`\n## x")
    log.publish()
    tokens = MarkdownIt("gfm-like", {"linkify": False}).parse(report(log))
    headings = [tokens[n + 1].content for n, token in enumerate(tokens) if token.type == "heading_open"]
    assert [heading.split()[0] for heading in headings] == ["MCP", "1"]
    assert sum(token.type == "td_open" for token in tokens) == 6


def test_a_long_body_is_shortened_and_says_so() -> None:
    log = TrafficLog()
    raw = b'{"text":"' + b"x" * 5_000_000 + b'"}'
    log.append(log.add_server("s"), RecordKind.RESULT, Direction.IN, 0, 0, raw)
    log.publish()
    text = report(log)
    assert len(text) < 6000
    assert "… truncated (4.8 MiB in total)\n" in text
    assert re.search(r"^1 entry, 1970-01-01 [\d:]{8} [+-][\d:]{5}, 0.0 ms, exported by", text, re.MULTILINE)


def test_secret_split_by_truncation_does_not_show_its_first_half() -> None:
    raw = b'{"a":1' + b" " * (64 * 1024 - 24) + b',"token":"' + b"abc123" * 4000 + b'"' + b" " * 20_000 + b"}"
    log = TrafficLog()
    log.append(log.add_server("s"), RecordKind.RESULT, Direction.IN, 0, 0, raw)
    log.publish()
    assert "abc123" not in report(log, Masker(find_secrets(log, [0])))


def test_report_contains_no_secret() -> None:
    log = http_log()
    text = report(log, Masker(find_secrets(log, range(len(log)))))
    assert TOKEN not in text
    assert "4 secrets masked: `~secret-1-Authorization~`" in text


@given(logs())
@settings(max_examples=40)
def test_any_log_can_be_reported(log: TrafficLog) -> None:
    assert report(log).startswith("# MCP traffic")


def test_error_is_reported_with_its_code_and_name() -> None:
    conversation = Conversation()
    exchange = conversation.post(jsonrpc.request(1, "ping"))
    conversation.responded(exchange, jsonrpc.failure(1, -32602, "No").raw)
    assert ", error -32602 (invalid params)" in report(conversation.log)

"""Snippets repeat the recorded request and do nothing else: run in a real shell and Python."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from inspector.base.command_line import split_command
from inspector.base.errors import UserError
from inspector.protocol import jsonrpc
from inspector.traffic.export.snippets import as_curl, as_json, as_python
from inspector.traffic.log import TrafficLog
from inspector.traffic.masking.masker import Masker, find_secrets
from inspector.traffic.records import Direction, HttpExchange, RecordKind
from tests.unit.traffic.export.echo_server import EchoServer, echo_server
from tests.unit.traffic.export.export_logs import TOKEN, http_log

HOSTILE_VALUES = [
    "'; touch pwned; '",
    "$(touch pwned)",
    "`touch pwned`",
    '" && touch pwned && "',
    "a\\'b \\$HOME ${IFS}",
    "| touch pwned",
    "!! !touch *",
    "~ # comment",
    "@/etc/passwd",
    "--output pwned",
    "grüße".encode().decode("latin-1"),
    "",
]
HOSTILE_BODIES = [
    b'{"jsonrpc":"2.0","id":1,"method":"ping"}',
    b"@/etc/passwd",
    b"'; touch pwned; '",
    b"$(touch pwned)\n`touch pwned`\n",
    b"--output pwned",
    b"-n",
    b"line\r\nend\n\n",
    b"100% \\n \\000 %s %d",
    b"\x00\x01\xff\xfe",
    b"\x1b[201~touch pwned\n",
    "grüße \u202e🎉".encode(),
    b"x" * 300_000,
    b"",
]
needs_curl = pytest.mark.skipif(shutil.which("curl") is None, reason="needs curl")


def log_of(
    body: bytes,
    url: str,
    headers: tuple[tuple[str, str], ...] = (),
    method: str = "POST",
    response_headers: tuple[tuple[str, str], ...] = (),
) -> TrafficLog:
    log = TrafficLog()
    server = log.add_server("srv")
    frame = log.append(server, RecordKind.REQUEST, Direction.OUT, 0, 0, body)
    http = log.append(server, RecordKind.HTTP, Direction.OUT, 0, 0, b"POST")
    log.set_http(http, HttpExchange(method, url, headers, len(body), response_headers=response_headers))
    if body:
        log.set_carrier(frame, http)
    log.publish()
    return log


@pytest.fixture(scope="module")
def echo() -> Iterator[EchoServer]:
    with echo_server() as server:
        yield server


def run_shell(text: str, folder: Path, path: str | None = None) -> subprocess.CompletedProcess[bytes]:
    script = folder / "script.sh"
    script.write_text(text)
    environment = {"PATH": path or os.environ["PATH"], "HOME": str(folder), "no_proxy": "*"}
    done = subprocess.run(
        ["/bin/sh", str(script)], cwd=folder, env=environment, capture_output=True, timeout=30
    )
    assert done.returncode == 0, done.stderr
    return done


def files(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


@needs_curl
@pytest.mark.parametrize("body", HOSTILE_BODIES, ids=range(len(HOSTILE_BODIES)))
def test_curl_sends_the_same_bytes_and_injects_nothing(body: bytes, echo: EchoServer, tmp_path: Path) -> None:
    """T33: a copied command line injects commands into the user's shell."""
    headers = tuple((f"X-{number}", value) for number, value in enumerate(HOSTILE_VALUES))
    url = f"{echo.url}/a/../[1-3]{{x,y}}?q=%27;touch+pwned&r='$(touch%20pwned)'"
    log = log_of(body, url, (*headers, ("Content-Type", "application/json")))
    run_shell(as_curl(log, 1), tmp_path)
    sent = echo.received[-1]
    assert (sent.method, sent.body) == ("POST", body)
    assert sent.path == url.removeprefix(echo.url)
    for name, value in headers:
        assert sent.header(name) == [value.strip()]
    assert sent.header("User-Agent") == sent.header("Accept") == []
    assert sent.header("Content-Type") == ["application/json"]
    assert files(tmp_path) == {"script.sh"}


@needs_curl
@pytest.mark.parametrize("method", ["GET", "HEAD", "DELETE", "POST"])
def test_curl_sends_the_same_method(method: str, echo: EchoServer, tmp_path: Path) -> None:
    run_shell(as_curl(log_of(b"", f"{echo.url}/x", method=method), 1), tmp_path)
    assert (echo.received[-1].method, echo.received[-1].body) == (method, b"")


@pytest.fixture(scope="module")
def argument_dump(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a fake `curl` that records its arguments, each ended by a zero byte."""
    folder = tmp_path_factory.mktemp("fake")
    fake = folder / "curl"
    fake.write_text('#!/bin/sh\nfor word in "$@"; do printf "%s\\000" "$word"; done\n')
    fake.chmod(0o755)
    return folder


words = st.text(st.characters(exclude_categories=["Cs", "Cc", "Zl", "Zp"]), max_size=30) | st.text(
    "'\"$`\\;|&(){}"
)


@given(value=words, body=words)
@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
def test_every_argument_reaches_curl_unchanged(
    value: str, body: str, argument_dump: Path, tmp_path: Path
) -> None:
    recorded = value.encode().decode("latin-1")
    log = log_of(body.encode(), "http://h/'x'", (("X-Test", recorded),))
    try:
        text = as_curl(log, 1)
    except UserError:
        return  # a header that cannot be pasted: the next test says which
    done = run_shell(text, tmp_path, f"{argument_dump}:{os.environ['PATH']}")
    arguments = done.stdout.decode().split("\0")[:-1]
    assert arguments[arguments.index("--url") + 1] == "http://h/'x'"
    assert (f"X-Test: {value}" if value.strip() else "X-Test;") in arguments
    if body:
        data = arguments[arguments.index("--data-binary") + 1]
        assert data in (body, "@-")
    assert files(tmp_path) == {"script.sh"}


@pytest.mark.parametrize(
    ("exchange", "reason"),
    [
        (
            HttpExchange("POST", "http://h", (("X", "a\r\nEvil: 1"),), 0),
            "header X contains control characters",
        ),
        (HttpExchange("POST", "http://h", (("X", "\x1b[2J"),), 0), "header X contains control characters"),
        (HttpExchange("POST", "http://h", (("X", "\xff"),), 0), "header X contains bytes that are not text"),
        (HttpExchange("POST", "http://h", (("@file", "x"),), 0), "header named '@file'"),
        (HttpExchange("PO ST", "http://h", (), 0), "method 'PO ST'"),
        (HttpExchange("POST", "file:///etc/passwd", (), 0), "its URL"),
        (HttpExchange("POST", "http://h/\n-o x", (), 0), "its URL"),
    ],
)
def test_text_that_cannot_be_pasted_safely_is_rejected(exchange: HttpExchange, reason: str) -> None:
    log = log_of(b"", "")
    log.set_http(1, exchange)
    for copy in (as_curl, as_python):
        with pytest.raises(UserError) as caught:
            copy(log, 1)
        assert reason in caught.value.summary


def test_stdio_message_says_why_and_what_to_do_instead() -> None:
    log = TrafficLog()
    log.append(log.add_server("srv"), RecordKind.REQUEST, Direction.OUT, 0, 0, b"{}")
    log.publish()
    with pytest.raises(UserError) as caught:
        as_curl(log, 0)
    assert caught.value.summary == "This was not sent over HTTP, so there is no request to copy."
    assert caught.value.next_step == "Copy it as JSON instead."


def test_a_body_too_long_to_paste_is_refused() -> None:
    with pytest.raises(UserError, match="too large to paste"):
        as_curl(log_of(b"x" * 2_000_000, "http://h"), 0)


def test_stream_is_shown_as_it_arrives() -> None:
    log = log_of(b"{}", "http://h/", response_headers=(("Content-Type", "text/event-stream"),))
    assert "--no-buffer" in as_curl(log, 0)
    assert "iter_lines" in as_python(log, 0)


def test_secrets_are_masked_on_request() -> None:
    log = http_log()
    masking = Masker(find_secrets(log, range(len(log))))
    for copy in (as_curl, as_python, as_json):
        assert TOKEN in copy(log, 1)
        masked = copy(log, 1, masking)
        assert TOKEN not in masked
        assert "~secret-1-Authorization~" in masked


# httpx2 continues httpx under a new name; people have either.
ALIAS = "import httpx2, sys\nsys.modules['httpx'] = httpx2\n"


@pytest.mark.parametrize("is_stream", [False, True])
def test_the_python_program_sends_the_same_request(is_stream: bool, echo: EchoServer, tmp_path: Path) -> None:
    values = [value for value in HOSTILE_VALUES if value]
    headers = tuple((f"X-{number}", value) for number, value in enumerate(values))
    mime = "text/event-stream" if is_stream else "application/json"
    programs = [
        as_python(log_of(body, f"{echo.url}/x?q='", headers, response_headers=(("Content-Type", mime),)), 1)
        for body in HOSTILE_BODIES
    ]
    before = len(echo.received)
    script = tmp_path / "script.py"
    script.write_text(ALIAS + "\n".join(programs))
    done = subprocess.run([sys.executable, str(script)], cwd=tmp_path, capture_output=True, timeout=60)
    assert done.returncode == 0, done.stderr
    received = echo.received[before:]
    assert [request.body for request in received] == HOSTILE_BODIES
    for name, value in headers:
        assert received[0].header(name) == [value]
    assert files(tmp_path) == {"script.py"}


def test_json_shows_request_and_response_from_either_row() -> None:
    log = http_log()
    text = as_json(log, 1)
    assert text == as_json(log, 3)
    value = json.loads(text)
    assert (value["request"]["method"], value["response"]["id"]) == ("tools/call", 1)
    assert text.startswith('{\n  "request": {\n')


def test_json_keeps_number_spelling_and_quotes_non_json() -> None:
    log = TrafficLog()
    server = log.add_server("srv")
    for raw in (b'{"a":1.10}', b"no \xff json"):
        log.append(server, RecordKind.TEXT, Direction.IN, 0, 0, raw)
    log.publish()
    assert as_json(log, 0) == '{\n  "a": 1.10\n}'
    assert json.loads(as_json(log, 1)) == "no \ufffd json"


def test_reply_to_a_server_request_is_shown_as_the_response() -> None:
    log = TrafficLog()
    server = log.add_server("srv")
    requested = log.append(
        server, RecordKind.REQUEST, Direction.IN, 0, 0, jsonrpc.request(1, "roots/list").raw
    )
    response = log.append(server, RecordKind.RESULT, Direction.OUT, 0, 0, jsonrpc.result(1, {}).raw)
    log.columns.partner[requested], log.columns.partner[response] = response, requested
    log.publish()
    assert json.loads(as_json(log, response))["request"]["method"] == "roots/list"


HOSTILE = {"a": 'x"&calc&"', "b": "$(calc) `calc` %PATH% \u201c | > ^ é 🙂", "c": "line\nbreak\\"}


def test_curl_for_windows_is_one_line_that_no_shell_interprets() -> None:
    body = json.dumps(HOSTILE, ensure_ascii=False, indent=2).encode()
    text = as_curl(log_of(body, "http://h/mcp?a=1&b=%20"), 1, platform="win32")
    program, *words = split_command(text, "win32")
    assert program == "curl.exe"
    assert json.loads(words[words.index("--data-binary") + 1]) == HOSTILE
    assert words[-2:] == ["--url", "http://h/mcp?a=1&b=%20"]
    assert text.isascii()
    assert not set("$`\n") & set(text)
    assert not set("&|<>^%()") & set("".join(text.split('"')[::2]))  # what cmd does not take for quoted


@pytest.mark.parametrize(
    ("url", "body", "reason"),
    [
        ("http://h/$(calc)", b"{}", "cmd or PowerShell"),
        ("http://h/%PATH%", b"{}", "cmd or PowerShell"),
        ("http://h/", b'plain "text"', "cmd or PowerShell"),
        ("http://h/", "not ASCII: é".encode(), "cmd or PowerShell"),
        ("http://h/", b"\xff", "body"),
        ("http://h/", json.dumps({"a": "x" * 9000}).encode(), "8000 characters"),
    ],
)
def test_request_that_cmd_cannot_take_literally_is_refused_on_windows(
    url: str, body: bytes, reason: str
) -> None:
    with pytest.raises(UserError, match=reason):
        as_curl(log_of(body, url), 1, platform="win32")

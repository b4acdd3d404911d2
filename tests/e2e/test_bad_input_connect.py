"""Servers that cannot be connected: each error says why, and other servers are not affected."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path

import pytest

from inspector.config.servers.entries import StdioEntry
from inspector.engine.views import ServerStatus
from inspector.traffic.records import RecordKind
from tests.helpers.fakes import LoopTime
from tests.helpers.servers import Lab, fault_entry, shell_entry, timeouts


async def test_missing_command_is_reported(lab: Lab) -> None:
    error = await lab.fails_to_connect(StdioEntry(name="srv", command="no-such-command-17"))
    assert error.summary == "Could not start no-such-command-17: not found on PATH."
    assert error.next_step == "Check the spelling, install the program, or set its full path in Edit server…."
    await lab.still_works()


async def test_non_executable_file_is_reported(lab: Lab, tmp_path: Path) -> None:
    file = tmp_path / "server.py"
    file.write_text("print('hello')\n")
    error = await lab.fails_to_connect(StdioEntry(name="srv", command=str(file)))
    assert error.summary == f"The file '{file}' is not executable."
    assert error.next_step.startswith("Make it executable (chmod +x server.py)")
    await lab.still_works()


async def test_server_that_exits_immediately_is_reported_with_its_last_output(lab: Lab) -> None:
    error = await lab.fails_to_connect(fault_entry("exit=3"))
    assert error.summary == "The server exited with code 3."
    assert error.next_step.startswith("Correct the cause, then connect again. ")
    assert error.next_step.endswith(
        "Last lines of stderr:\nError: API_TOKEN is not set.\nSet it and start again."
    )
    assert lab.stderr()[-2:] == [b"Error: API_TOKEN is not set.", b"Set it and start again."]
    assert re.fullmatch(r"Process \d+ exited with code 3\.", lab.rows(RecordKind.PROCESS)[-1].raw.decode())
    await lab.still_works()


async def test_server_that_exits_immediately_without_output_is_reported(lab: Lab) -> None:
    error = await lab.fails_to_connect(shell_entry("exit 0"))
    assert (error.summary, error.next_step) == (
        "The server exited with code 0.",
        "It wrote nothing to stderr. Start its command in a terminal to see why, then connect again.",
    )


@pytest.fixture
async def hasty_lab(lab: Lab) -> object:
    """Like `lab`, with a connection timeout of 0.3 s instead of 15."""
    hasty = Lab(timeouts(0.3))
    yield hasty
    await hasty.engine.close()


async def test_connection_timeout_says_what_was_awaited(hasty_lab: Lab) -> None:
    error = await hasty_lab.fails_to_connect(fault_entry("silent"))
    assert re.fullmatch("Timed out after [\\d.]+ s waiting for the response to \\S+\\.", error.summary)
    assert error.next_step.startswith("Its process is running but sent no message. Is this an MCP server")
    assert hasty_lab.view().pid is None


async def test_program_that_is_not_a_server_is_identified_by_its_output(lab: Lab) -> None:
    time = LoopTime()
    grown = asyncio.Event()
    lab.engine.log.grew.connect(lambda length: grown.set())
    failing = asyncio.ensure_future(
        lab.fails_to_connect(shell_entry("echo 'Usage: tool [options]'; cat >/dev/null"))
    )
    while not lab.rows(RecordKind.TEXT):
        grown.clear()
        await grown.wait()
    await time.advance(60)
    time.go_on()  # the process needs real time to exit
    error = await failing
    assert error.next_step.startswith("It sent text that is not JSON-RPC: “Usage: tool [options]”.")
    assert [row.raw for row in lab.rows(RecordKind.TEXT)] == [b"Usage: tool [options]"]


async def test_program_that_echoes_its_input_is_reported_at_once(lab: Lab) -> None:
    error = await lab.fails_to_connect(StdioEntry(name="srv", command="/bin/cat"))
    assert error.summary == (
        "The response to initialize cannot be used: the server sent back the request itself, unchanged."
    )
    assert error.next_step.startswith("The program repeats its input")


@pytest.mark.parametrize(
    ("framing", "what"),
    [
        ("cr-only", "a message that ends with a carriage return (\\r) only."),
        ("pretty-printed", "one message over 15 lines."),
        ("two-in-a-line", "2 messages in one line."),
        ("content-length", "Content-Length headers, as language servers do."),
        ("utf-16", "UTF-16 text."),
        ("nul", "a message with NUL bytes."),
        ("log-prefix", "text before a message in the same line: “INFO:”."),
        ("trailing-comma", "a message that is not valid JSON ("),
    ],
)
async def test_server_with_the_wrong_framing_is_reported_with_what_it_sent(
    lab: Lab, framing: str, what: str
) -> None:
    error = await lab.fails_to_connect(fault_entry(f"framing={framing}"))
    assert error.summary.startswith(f"The response to initialize cannot be used: the server sent {what}"), (
        error.summary
    )


@pytest.mark.parametrize("words", [("banner",), ("bom",)])
async def test_output_before_the_first_message_is_shown_and_skipped(lab: Lab, words: tuple[str, ...]) -> None:
    await lab.connect(*words)
    assert lab.view().status is ServerStatus.CONNECTED
    assert await lab.text("echo", text="works") == "works"
    if words == ("banner",):
        lines = [row.raw for row in lab.rows(RecordKind.TEXT)]
        assert lines == [b"*** My Server 1.0 ***", b"", b"Listening on stdin"]
    else:
        assert any(row.problem == "starts with a byte order mark" for row in lab.rows())

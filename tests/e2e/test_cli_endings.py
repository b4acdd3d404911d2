"""The command line when a server ends, its reader goes away, or a timeout expires."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterator

import psutil
import pytest

from tests.e2e.cli_process import CLI, FAULTY, run, script


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (["--", "no-such-command"], "Could not start no-such-command: not found on PATH."),
        (["--url", "http://127.0.0.1:1/mcp"], "Connection refused: nothing is listening on 127.0.0.1:1"),
        (
            [*FAULTY, "--fault", "exit_at_start"],
            "exited with code 3. Correct the cause, then connect again. "
            "Last lines of stderr:\nError: DEMO_TOKEN",
        ),
        (
            ["--connect-timeout", "0.5", *FAULTY, "--fault", "silent_initialize"],
            "s waiting for the response to initialize. Its process is running but sent no message.",
        ),
        (
            [
                "--connect-timeout",
                "2",
                "--",
                "/bin/sh",
                "-c",
                "echo hi; cat >/dev/null",
            ],
            "It sent text that is not JSON-RPC: “hi”. stdout is for messages only: write logs to stderr. "
            "Check that the command starts an MCP server.",
        ),
    ],
)
def test_failed_connection_says_why_and_exits_with_2(words: list[str], reason: str) -> None:
    done = run("list", "tools", *words)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("mcp-lens: ")
    assert reason in done.stderr
    assert "Traceback" not in done.stderr


def test_unsupported_feature_exits_with_2() -> None:
    done = run("list", "prompts", *FAULTY)
    assert done.returncode == 2
    assert "does not offer prompts/list" in done.stderr


@pytest.mark.parametrize(
    ("tool", "reason"),
    [
        (
            "exits_mid_call",
            "The server exited with code 9. Correct the cause, then connect again. "
            "Last lines of stderr:\nFatal: lost the database connection.",
        ),
        ("no_answer", "did not respond to tools/call within"),
        ("closes_stdout", "The server closed stdout"),
    ],
)
def test_failed_call_says_why_and_exits_with_2(tool: str, reason: str) -> None:
    limit = "0.5" if tool == "no_answer" else "20"
    done = run("call", tool, "--timeout", limit, *FAULTY)
    assert (done.returncode, done.stdout) == (2, "")
    assert reason in done.stderr


def test_unreadable_response_exits_with_2() -> None:
    server = script("""
for request in requests(**{"tools/list": {"tools": [{"name": "odd"}]}}):
    send({"id": request["id"], "result": "only words"})
""")
    done = run("call", "odd", *server)
    assert done.returncode == 2
    assert done.stderr == (
        "mcp-lens: Protocol violation by the server: the result is a string instead of an object. "
        "This is a fault of the server: update it, or report this message to its developers.\n"
    )


def test_closed_stdout_reader_is_not_an_error() -> None:
    with subprocess.Popen(
        [*CLI, "call", "echo", "--json", "-", *FAULTY],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        assert process.stdout is not None
        process.stdout.close()
        _, stderr = process.communicate(b'{"message": "%s"}' % (b"x" * 1_000_000))
    assert (process.returncode, stderr) == (0, b"")


def test_full_disk_is_reported_in_one_sentence() -> None:
    if not os.path.exists("/dev/full"):
        pytest.skip("needs /dev/full")
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [*CLI, "list", "tools", *FAULTY], stdout=full, stderr=subprocess.PIPE, text=True, check=False
        )
    assert done.stderr == "mcp-lens: Could not write the output: No space left on device.\n"
    assert done.returncode == 2


# Says who it is and whom it started, then never answers.
STUBBORN = """
for request in requests(**{"tools/list": {"tools": [{"name": "wait"}]}}):
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    print(os.getpid(), child.pid, file=sys.stderr, flush=True)
"""


def _answer_to_interrupts() -> None:
    """Restore SIGINT: a shell ignores it for background jobs, and children inherit that."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


@pytest.fixture
def waiting() -> Iterator[subprocess.Popen[str]]:
    """A command line whose call has reached a server that never responds."""
    with subprocess.Popen(
        [*CLI, "call", "wait", "--stderr", *script(STUBBORN)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=_answer_to_interrupts,
    ) as process:
        yield process
        process.kill()


@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_signal_stops_the_server_and_its_child_processes(
    waiting: subprocess.Popen[str], number: signal.Signals, code: int
) -> None:
    assert waiting.stderr is not None
    pids = [int(word) for word in waiting.stderr.readline().split()]
    assert [pid for pid in pids if psutil.pid_exists(pid)] == pids
    waiting.send_signal(number)
    stdout, stderr = waiting.communicate(timeout=100)
    assert (waiting.returncode, stdout, stderr) == (code, "", "")
    assert [pid for pid in pids if _is_alive(pid)] == []


@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
def test_ctrl_c_while_connecting_stops_the_server_too() -> None:
    server = script("print(os.getpid(), file=sys.stderr, flush=True)\nfor line in sys.stdin: pass\n")
    with subprocess.Popen(
        [*CLI, "list", "tools", "--stderr", *server],
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=_answer_to_interrupts,
    ) as process:
        assert process.stderr is not None
        pid = int(process.stderr.readline())
        process.send_signal(signal.SIGINT)
        _, stderr = process.communicate(timeout=100)
    assert (process.returncode, stderr) == (130, "")
    assert not _is_alive(pid)


def _is_alive(pid: int) -> bool:
    """True if the process runs; a zombie counts as ended."""
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False

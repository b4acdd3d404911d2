"""The registry, and the command `python -m inspector.demo`."""

from __future__ import annotations

import subprocess
import sys

import pytest

from inspector.demo.faulty_server import FAULTS
from inspector.demo.servers import SERVERS, command

LOADED_BY_THE_REGISTRY = """
import sys
import inspector.demo.servers
print([name for name in ("mcp", "mcp_types", "pydantic", "anyio") if name in sys.modules])
"""

NO_SDK = """
import sys
sys.modules["mcp"] = None
from inspector.demo.__main__ import main
sys.exit(main(["everything"]))
"""


def run(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        words, capture_output=True, text=True, timeout=30, stdin=subprocess.DEVNULL, check=False
    )


def demo(*words: str) -> subprocess.CompletedProcess[str]:
    return run(sys.executable, "-m", "inspector.demo", *words)


def test_list_prints_the_names_of_the_registry() -> None:
    done = demo("--list")
    assert done.stdout.split() == list(SERVERS) == ["everything", "library", "faulty", "login"]
    assert (done.returncode, done.stderr) == (0, "")


def test_importing_the_registry_does_not_import_the_sdk() -> None:
    done = run(sys.executable, "-c", LOADED_BY_THE_REGISTRY)
    assert done.stdout.strip() == "[]", done.stderr


def test_missing_sdk_is_one_sentence_with_the_fix() -> None:
    done = run(sys.executable, "-c", NO_SDK)
    assert done.returncode == 2
    assert "pip install 'mcp-lens[demo]'" in done.stderr
    assert len(done.stderr.splitlines()) == 1


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        ((), "server name required (choose from everything, library, faulty, login)"),
        (("nothing",), "invalid choice: 'nothing'"),
        (("everything", "--fault", "banner"), "--fault only works with the servers 'faulty' and 'login'"),
        (("faulty", "--fault", "boredom"), "invalid choice: 'boredom'"),
        (("faulty", "--http"), "only supports stdio"),
        (("faulty", "--fault", "banner", "--fault", "wrong_id"), "accepts only one --fault"),
        (("login",), "'login' only supports HTTP, because its login needs a browser: add --http"),
        (("login", "--http", "--fault", "banner"), "invalid choice: 'banner'"),
    ],
)
def test_invalid_command_line_says_why(words: tuple[str, ...], reason: str) -> None:
    done = demo(*words)
    assert done.returncode == 2
    assert reason in done.stderr
    assert "Traceback" not in done.stderr


def test_command_is_an_argument_list_for_this_interpreter() -> None:
    assert command("faulty", fault="banner")[0] == sys.executable
    assert command("faulty", fault="banner")[-5:] == ["-m", "inspector.demo", "faulty", "--fault", "banner"]
    assert command("library", http=True)[-5:] == ["library", "--http", "--port", "0", "--until-eof"]


def test_command_for_an_unknown_name_lists_the_existing_ones() -> None:
    with pytest.raises(ValueError, match="everything, library, faulty, login"):
        command("nothing")


def test_all_but_the_handwritten_server_speak_http_and_the_login_demo_only_http() -> None:
    http = [name for name, server in SERVERS.items() if server.supports_http]
    stdio = [name for name, server in SERVERS.items() if server.supports_stdio]
    assert http == ["everything", "library", "login"]
    assert stdio == ["everything", "library", "faulty"]


def test_every_fault_describes_itself() -> None:
    assert all(fault.name == name and fault.description for name, fault in FAULTS.items())

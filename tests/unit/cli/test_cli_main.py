"""Command line: usage, help, exit codes without a server, and modules that stay unloaded."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from inspector import __version__
from inspector.base.errors import RemoteProtocolError
from inspector.cli import main as cli_main
from inspector.cli.main import COMMANDS, main

HEAVY = ("PySide6", "qasync", "httpx2", "pydantic", "mcp", "asyncio", "inspector.engine", "inspector.app")


@pytest.mark.parametrize(
    ("argv", "reason"),
    [
        (["lst", "tools"], "'lst' is neither a command nor a file."),
        (["--nonsense"], "Unrecognized arguments: --nonsense."),
        (["list"], "The following arguments are required: kind."),
        (["gone.mcpcap"], "File not found: gone.mcpcap."),
        (["list", "boats", "--", "x"], "invalid choice: 'boats'"),
        (["list", "tools"], "No server specified."),
        (["list", "tools", "python", "x.py"], "Unrecognized arguments: python x.py."),
        (["list", "tools", "--format", "xml", "--", "x"], "invalid choice: 'xml'"),
        (["list", "tools", "--ur", "http://a/"], "Unrecognized arguments: --ur http://a/."),
        (["call", "--", "x"], "The following arguments are required: TOOL"),
        (["call", "echo", "python", "x.py"], "'python' is not an argument"),
        (["call", "echo", "--json", "5", "--", "x"], "--json must be a JSON object, got a number."),
        (["call", "echo", "--timeout", "-1", "--", "x"], "'-1' is not a number of seconds greater than 0"),
        (["tour"], "The following arguments are required: --out."),
        (["--demo", "list", "tools", "--", "x"], "--demo opens the app window"),
        (["--", "npx", "x"], "works only with list, call or doctor"),
        (["demo", "faulty", "--", "x"], "works only with list, call or doctor"),
        (["demo", "nothing"], "invalid choice: 'nothing'"),
        (["demo", "faulty", "--http"], "The demo server 'faulty' does not support HTTP."),
        (
            ["demo", "library", "--fault", "banner"],
            "--fault works only with the demo servers 'faulty' and 'login'.",
        ),
        (["demo", "library", "--http", "--port", "70000"], "70000 is not a valid port."),
        (["demo", "login"], "The demo server 'login' supports only HTTP."),
        (["demo", "login", "--http", "--fault", "x"], "Unknown fault 'x' for the demo server 'login'."),
    ],
)
def test_invalid_command_line_gives_one_error_and_exit_code_64(
    argv: list[str], reason: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(argv) == 64
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.startswith("mcp-lens: ")
    assert reason in printed.err
    assert len(printed.err.splitlines()) == 1


def test_version_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"mcp-lens {__version__}\n"


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_is_listed_in_the_help_and_has_its_own(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["--help"]) == 0
    assert COMMANDS[name].summary in capsys.readouterr().out
    assert main([name, "--help"]) == 0
    assert capsys.readouterr().out.startswith(f"usage: mcp-lens {name}")


def test_config_option_before_the_command_is_used_too(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "mine.json"
    file.write_text("{}")
    for argv in (["--config", str(file), "list", "tools"], ["list", "tools", "--config", str(file)]):
        assert main([*argv, "--server", "x"]) == 64
        assert f"No server named 'x' in {file}." in capsys.readouterr().err


def test_internal_error_is_one_sentence_unless_details_are_requested(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(argv: object) -> int:
        raise ZeroDivisionError("by zero")

    monkeypatch.setattr(cli_main, "_dispatch", fail)
    monkeypatch.delenv("MCP_LENS_DEBUG", raising=False)
    assert main([]) == 70
    assert capsys.readouterr().err == (
        "mcp-lens: Internal error: ZeroDivisionError: by zero\nSet MCP_LENS_DEBUG=1 to see the traceback.\n"
    )
    monkeypatch.setenv("MCP_LENS_DEBUG", "1")
    with pytest.raises(ZeroDivisionError):
        main([])


@pytest.mark.parametrize(
    ("error", "code", "words"),
    [
        (KeyboardInterrupt(), 130, ""),
        (
            RemoteProtocolError("no end"),
            2,
            f"mcp-lens: Protocol violation by the server: no end. {RemoteProtocolError.next_step}\n",
        ),
    ],
)
def test_every_outcome_has_its_exit_code(
    error: BaseException,
    code: int,
    words: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def fail(argv: object) -> int:
        raise error

    monkeypatch.setattr(cli_main, "_dispatch", fail)
    assert main([]) == code
    assert capsys.readouterr().err == words


def loaded_after(statement: str, *candidates: str) -> list[str]:
    """Return which of the modules a fresh interpreter has loaded after a statement."""
    script = f"import sys\n{statement}\nprint([name for name in {candidates!r} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    names: list[str] = eval(done.stdout.splitlines()[-1])
    return names


def test_importing_the_command_line_imports_nothing_heavy() -> None:
    assert loaded_after("import inspector.cli.main", *HEAVY) == []


def test_listing_a_server_imports_neither_qt_nor_other_transports() -> None:
    words = [sys.executable, "-m", "inspector.demo", "faulty"]
    statement = f"from inspector.cli.main import main\nassert main(['list', 'tools', '--', *{words!r}]) == 0"
    assert loaded_after(statement, "PySide6", "qasync", "httpx2", "pydantic", "mcp", "inspector.engine") == [
        "inspector.engine"
    ]


PLAIN_IMPORT = """
import builtins
plain = builtins.__import__
from inspector.cli.commands.window import load_window
load_window()
import PySide6.QtCore
print(builtins.__import__ is plain)
"""


def test_modules_are_imported_normally_even_when_qt_is_loaded() -> None:
    """PySide6's own import would read the source of each, and keep it."""
    done = subprocess.run([sys.executable, "-c", PLAIN_IMPORT], capture_output=True, text=True, check=True)
    assert done.stdout == "True\n"


def test_module_runs_like_the_command() -> None:
    done = subprocess.run(
        [sys.executable, "-P", "-m", "inspector", "--version"], capture_output=True, text=True, check=True
    )
    assert done.stdout == f"mcp-lens {__version__}\n"


WITHOUT_QT = """
import sys
sys.modules["PySide6"] = None
from inspector.cli.main import main
sys.exit(main(["--demo"]))
"""


def test_missing_qt_libraries_are_named_in_the_error() -> None:
    done = subprocess.run([sys.executable, "-c", WITHOUT_QT], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr.startswith("mcp-lens: Could not open the app window: ")
    assert len(done.stderr.splitlines()) == 1


def test_window_has_a_script_without_a_console_on_windows() -> None:
    text = (Path(__file__).parents[3] / "pyproject.toml").read_text(encoding="utf-8")
    project = tomllib.loads(text)["project"]
    assert project["gui-scripts"] == {"mcp-lens-window": project["scripts"]["mcp-lens"]}


def test_missing_standard_streams_are_not_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """As in a process without a console on Windows."""
    for name in ("stdin", "stdout", "stderr"):
        monkeypatch.setattr(sys, name, None)
    assert main(["--version"]) == 0
    assert main(["lst"]) == 64

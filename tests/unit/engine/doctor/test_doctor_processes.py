"""Doctor on processes that start and then fail."""

from __future__ import annotations

import asyncio
import shutil
import socket
import sys
from pathlib import Path

import pytest

from inspector.base.errors import ConfigError
from inspector.config.servers.entries import Entry, SecretRef, StdioEntry
from inspector.config.servers.entry_secrets import resolve_secrets
from inspector.engine.doctor.results import Action, ActionKind, CheckState
from inspector.engine.secrets import register_entry_secrets
from inspector.traffic.log import TrafficLog
from inspector.traffic.records import RecordKind
from tests.helpers.platforms import IS_WINDOWS, needs_signals
from tests.helpers.servers import fault_entry
from tests.unit.engine.doctor.doctor_stage import (
    Report,
    checked,
    make_program,
    path_with,
    python,
    runtime_code,
    script,
)

SAYS = "import sys; sys.stderr.buffer.write({!r}.encode()); sys.exit(1)"
STAYS = "import sys; sys.stdin.buffer.read()"


async def test_working_server_passes_every_step() -> None:
    report = await checked(fault_entry())
    assert report.diagnoses == []
    assert list(report.results) == [
        *("settings", "command", "runtime", "started", "output", "stray", "handshake", "era"),
        *("version", "capabilities", "list"),
    ]
    assert {state for id, state in report.states().items()} == {CheckState.OK}
    assert report.results["list"].text.startswith("tools/list: ")
    assert report.results["handshake"].elapsed_ns > 0
    assert report.results["runtime"].text.startswith("Python 3.")


async def test_check_is_recorded_in_the_traffic_of_the_server() -> None:
    report = await checked(fault_entry())
    methods = {row.method for row in report.log.find("srv", RecordKind.REQUEST)}
    assert {"initialize", "tools/list"} <= methods


@pytest.mark.parametrize(
    ("reported", "id", "named"),
    [
        ("Cannot connect to the Docker daemon at unix:///var/run/docker.sock.", "docker-down", "Docker"),
        ("docker: pull access denied for acme/nope, repository does not exist", "image-missing", "acme/nope"),
        (
            "npm error 404  'mcp-sever-typo@*' is not in this registry.",
            "npm-package-missing",
            "mcp-sever-typo",
        ),
        (
            "npm error 404  The requested resource 'mcp-x@*' could not be found or you do not have",
            "npm-package-missing",
            "mcp-x",
        ),
        (
            "  ╰─▶ Because mcp-nope was not found in the package registry and you require",
            "python-package-missing",
            "mcp-nope",
        ),
        ("An executable named `mcp-x` is not provided by package `mcp-y`.", "no-such-executable", "mcp-x"),
        ("npm error request to https://r/ failed, reason: getaddrinfo EAI_AGAIN", "installer-offline", ""),
        ("Error: Cannot find package 'zod' imported from /srv/index.js", "node-module-missing", "zod"),
        ("Error: listen EADDRINUSE: address already in use :::3000", "port-in-use", ""),
        ("Error: GITHUB_TOKEN is not set", "variable-missing", "GITHUB_TOKEN"),
        ("Missing required environment variable: API_KEY", "variable-missing", "API_KEY"),
        ("error: unknown option '--studio'", "arguments-refused", "--studio"),
        ("FATAL ERROR: Reached heap limit - JavaScript heap out of memory", "out-of-memory", ""),
    ],
)
async def test_what_runtimes_and_installers_print_is_understood(reported: str, id: str, named: str) -> None:
    failure = (await checked(python(SAYS.format(f"starting\n{reported}\nbye\n")))).failure
    assert failure.id == id
    assert named in failure.cause
    assert any(reported.strip() in line.strip() for line in failure.evidence)


async def test_the_line_that_names_the_package_is_the_evidence() -> None:
    reported = "npm error code E404\nnpm error 404  'mcp-typo@*' is not in this registry.\n"
    failure = (await checked(python(SAYS.format(reported)))).failure
    assert "mcp-typo" in failure.cause
    failure = (await checked(python(SAYS.format("npm error code E404\n")))).failure
    assert failure.cause == "Package not found in the npm registry."


async def test_missing_python_module_mentions_the_environment() -> None:
    failure = (await checked(python("import no_such_module_here"))).failure
    assert failure.id == "python-module-missing"
    assert "no_such_module_here" in failure.cause


async def test_python_dash_m_without_the_module_is_recognized() -> None:
    entry = StdioEntry(name="srv", command=sys.executable, args=("-I", "-m", "no_such_server"))
    assert (await checked(entry)).failure.id == "python-module-missing"


async def test_missing_script_is_named(tmp_path: Path) -> None:
    entry = StdioEntry(name="srv", command=sys.executable, args=(str(tmp_path / "server.py"),))
    failure = (await checked(entry)).failure
    assert failure.id == "script-missing"
    assert str(tmp_path / "server.py") in failure.cause


@pytest.mark.skipif(shutil.which("node") is None, reason="needs Node.js")
async def test_node_without_its_script_is_recognized_too(tmp_path: Path) -> None:
    entry = StdioEntry(name="srv", command="node", args=(str(tmp_path / "build/index.js"),))
    assert (await checked(entry)).failure.id == "script-missing"


async def test_syntax_error_is_quoted(tmp_path: Path) -> None:
    entry = StdioEntry(name="srv", command=sys.executable, args=(str(script(tmp_path, "s.py", "def f(:\n")),))
    failure = (await checked(entry)).failure
    assert failure.id == "script-broken"
    assert "SyntaxError" in failure.cause


async def test_port_in_use_is_recognized() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        code = f"import socket; socket.create_server(('127.0.0.1', {port}))"
        assert (await checked(python(code))).failure.id == "port-in-use"


async def test_missing_environment_variable_in_python_is_named() -> None:
    failure = (await checked(python("import os; os.environ['ACME_TOKEN']"))).failure
    assert failure.id == "variable-missing"
    assert "ACME_TOKEN" in failure.cause


async def test_inaccessible_folder_is_named() -> None:
    code = "raise PermissionError(13, 'Permission denied', '/srv/data')"
    failure = (await checked(python(code))).failure
    assert failure.id == "file-denied"
    assert "/srv/data" in failure.cause


async def test_wrapper_with_a_missing_program_is_recognized(tmp_path: Path) -> None:
    if IS_WINDOWS:
        # As cmd.exe does; the one of Wine uses other words.
        said = "'no-such-inner-program' is not recognized as an internal or external command,"
        wrapper = script(tmp_path, "start.cmd", f"@echo {said} 1>&2\r\n@exit /b 9009\r\n")
    else:
        wrapper = script(tmp_path, "start", "#!/bin/sh\nexec no-such-inner-program --stdio\n")
    failure = (await checked(StdioEntry(name="srv", command=str(wrapper)))).failure
    assert failure.id == "inner-command-missing"
    assert "no-such-inner-program" in failure.cause


async def test_argparse_errors_are_understood() -> None:
    code = "import argparse; argparse.ArgumentParser().parse_args()"
    failure = (await checked(python(code, "--stdoi"))).failure
    assert failure.id == "arguments-refused"
    assert "--stdoi" in failure.cause


async def test_program_that_finishes_its_work_is_not_a_server() -> None:
    assert (await checked(python("pass"))).failure.id == "ended-at-once"


@needs_signals
async def test_killed_process_points_to_memory() -> None:
    code = "import os, signal; os.kill(os.getpid(), signal.SIGKILL)"
    assert (await checked(python(code))).failure.id == "killed"


@needs_signals
async def test_crash_is_distinguished_from_an_exit() -> None:
    code = "import os, signal; os.kill(os.getpid(), signal.SIGSEGV)"
    failure = (await checked(python(code))).failure
    assert failure.id == "crashed"
    assert "SIGSEGV" in failure.cause


async def test_unexplained_exit_shows_its_last_output() -> None:
    failure = (await checked(python(SAYS.format("the flux is undone\n")))).failure
    assert failure.id == "exited"
    assert failure.evidence == ("the flux is undone",)
    assert "code 1" in failure.cause


def silent_after(*, out: str = "", err: str = "") -> StdioEntry:
    """Return a process that writes this, then reads stdin without responding."""
    return python(
        f"import sys; sys.stdout.write({out!r}); sys.stdout.flush(); sys.stderr.write({err!r}); {STAYS}"
    )


UNANSWERED = (
    ("", "", "silent"),
    ("", "connecting to the back end\n", "log-only"),
    ("", "Need to install the following packages:\nmcp-x@1.0\nOk to proceed? (y) \n", "asks-the-person"),
    ("", "INFO: Uvicorn running on http://127.0.0.1:8000 (Press CTRL+C to quit)\n", "serves-http"),
    ("Welcome to my shell\n> \n", "", "only-text"),
    ("Content-Length: 38\r\n\r\n{}\n", "", "lsp-framing"),
    ('{\n  "jsonrpc": "2.0",\n  "id": 1,\n', "", "json-over-lines"),
    ('{"jsonrpc": "2.0", "id": 1, "result": {]\n', "", "broken-messages"),
    ("", "Downloading torch (800 MB)\n", "still-installing"),
    ('{"jsonrpc":"2.0","id":"1","result":{}}\n', "", "wrong-id"),
    ('{"jsonrpc":"2.0","method":"notifications/message","params":{}}\n', "", "no-answer"),
)


async def test_unresponsive_processes_are_identified_by_their_output() -> None:
    """Checked concurrently: each takes until the timeout."""
    reports = await asyncio.gather(
        *(checked(silent_after(out=out, err=err), limit=2.0) for out, err, _ in UNANSWERED)
    )
    assert [report.failure.id for report in reports] == [id for *_, id in UNANSWERED]
    assert {report.results["started"].state for report in reports} == {CheckState.OK}


async def test_an_installer_that_has_not_started_the_server_yet_is_recognized(tmp_path: Path) -> None:
    code = "print('npm warn Unknown user config', file=sys.stderr, flush=True)\nsys.stdin.read()"
    make_program(tmp_path, "npx", runtime_code("11.0.0", code))
    entry = StdioEntry(name="srv", command="npx", args=("-y", "big-server"), env=path_with(tmp_path))
    failure = (await checked(entry, limit=1.0)).failure
    assert failure.id == "still-installing"
    assert "connection timeout" in failure.fix


async def test_utf16_on_stdout_is_recognized() -> None:
    code = f"import sys; sys.stdout.buffer.write('hello\\n'.encode('utf-16')); sys.stdout.flush(); {STAYS}"
    assert (await checked(python(code), limit=1.0)).failure.id == "utf16-output"


async def test_process_that_closes_stdout_is_recognized() -> None:
    code = "import os, sys; os.close(1); os.close(2); sys.stdin.buffer.read()"
    assert (await checked(python(code), limit=4.0)).failure.id == "stdout-closed"


async def test_stdout_banner_of_a_working_server_is_a_warning() -> None:
    report = await checked(fault_entry("banner"))
    assert report.warnings == ["stray-output"]
    assert report.results["stray"].state is CheckState.WARN
    assert report.results["list"].state is CheckState.OK


ANSWERS = """
import json, sys
for line in sys.stdin:
    message = json.loads(line)
    if "id" not in message:
        continue
    method, reply = message["method"], {}
    if method == "initialize":
        reply = INITIALIZE
    elif method.endswith("/list") and LIST is None:
        continue
    elif method.endswith("/list"):
        reply = LIST
    else:
        reply = {"error": {"code": -32601, "message": "no"}}
    print(json.dumps({"jsonrpc": "2.0", "id": message["id"], **reply}), flush=True)
"""


def replying_with(initialize: object, listing: object = None, era: str = "auto") -> StdioEntry:
    code = ANSWERS.replace("INITIALIZE", repr(initialize)).replace("LIST", repr(listing))
    return StdioEntry(name="srv", command=sys.executable, args=("-I", "-S", "-c", code), era=era)


def agreed(capabilities: object = None, **members: object) -> dict[str, object]:
    result = {
        "protocolVersion": "2025-11-25",
        "capabilities": {"tools": {}} if capabilities is None else capabilities,
        "serverInfo": {"name": "s", "version": "1"},
    }
    return {"result": {**result, **members}}


async def test_initialize_error_is_quoted() -> None:
    entry = replying_with({"error": {"code": -32603, "message": "database is locked"}})
    failure = (await checked(entry)).failure
    assert failure.id == "initialize-refused"
    assert "-32603 (internal error): database is locked" in failure.cause


async def test_unknown_protocol_version_is_named() -> None:
    report = await checked(replying_with(agreed(protocolVersion="2031-01-01")))
    failure = report.failure
    assert failure.id == "no-common-version"
    assert failure.step == "version"
    assert report.results["handshake"].state is CheckState.OK
    assert "2031-01-01" in failure.cause
    assert failure.action == Action(ActionKind.CONTINUE_AS, "Continue as 2025-11-25", "2025-11-25")


async def test_unsupported_pinned_mode_can_be_unpinned() -> None:
    error = {"code": -32602, "message": "Unsupported", "data": {"supported": ["2025-06-18"]}}
    failure = (await checked(replying_with({"error": error}, era="2024-11-05"))).failure
    assert failure.id == "era-pinned"
    assert failure.step == "era"
    assert failure.action is not None
    assert failure.action.kind is ActionKind.USE_AUTO_ERA


async def test_inconclusive_initialize_response_is_malformed() -> None:
    failure = (await checked(replying_with({"result": {"hello": "world"}}))).failure
    assert failure.id == "initialize-malformed"


async def test_server_without_capabilities_is_a_warning() -> None:
    report = await checked(replying_with(agreed({})))
    assert report.warnings == ["nothing-offered"]
    assert report.results["list"].state is CheckState.SKIPPED


async def test_response_without_a_server_name_is_a_warning() -> None:
    report = await checked(replying_with(agreed(serverInfo=None), {"result": {"tools": [{"name": "t"}]}}))
    assert report.warnings == ["incomplete-answer"]


async def test_rejected_list_is_distinguished_from_one_that_never_arrives() -> None:
    refused = replying_with(agreed(), {"error": {"code": -32601, "message": "Method not found"}})
    assert (await checked(refused)).failure.id == "list-refused"
    assert (await checked(replying_with(agreed()), list_timeout=0.5)).failure.id == "list-silent"


async def test_invalid_list_is_malformed_and_an_empty_one_a_warning() -> None:
    assert (await checked(replying_with(agreed(), {"result": {"items": []}}))).failure.id == "list-malformed"
    assert (await checked(replying_with(agreed(), {"result": {"tools": []}}))).warnings == ["list-empty"]


async def test_missing_secret_is_reported_before_anything_starts(tmp_path: Path) -> None:
    marker = tmp_path / "ran"
    wrapper = make_program(tmp_path, "start", f"open({str(marker)!r}, 'w').close()")
    entry = StdioEntry(name="srv", command=str(wrapper), env={"KEY": SecretRef("env/srv/KEY")})

    async def resolve(entry: Entry) -> Entry:
        return resolve_secrets(entry, {})

    failure = (await checked(entry, resolve=resolve)).failure
    assert failure.id == "secret-missing"
    assert failure.action is not None
    assert failure.action.kind is ActionKind.OPEN_SECRETS
    assert not marker.exists()


async def test_unusable_settings_are_reported() -> None:
    async def resolve(entry: Entry) -> Entry:
        raise ConfigError("The variable HOST is not set.", "Set it.")

    assert (await checked(fault_entry(), resolve=resolve)).failure.id == "settings-unusable"
    entry = StdioEntry(name="srv", command=sys.executable, era="1999")
    assert (await checked(entry)).failure.id == "settings-unusable"


async def test_doctor_output_contains_no_secret() -> None:
    secret = "hunter2-is-my-password"
    code = "import os, sys; sys.stderr.write('bad key ' + os.environ['API_KEY'] + '\\n'); sys.exit(1)"
    entry = python(code, env={"API_KEY": secret})
    log = TrafficLog()
    register_entry_secrets(log.credentials, entry)
    report = await checked(entry, log=log)
    assert report.failure.id == "exited"
    assert "bad key •••" in report.text
    assert secret not in report.text


async def test_cancelling_stops_the_process(tmp_path: Path) -> None:
    """The test suite's leak guard would find it."""

    async def run() -> Report:
        return await checked(fault_entry("silent"))

    task = asyncio.get_running_loop().create_task(run())
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(task, 0.5)


async def test_path_of_the_server_is_used_and_not_our_own(tmp_path: Path) -> None:
    make_program(tmp_path, "only-here", "sys.exit(5)")
    entry = StdioEntry(name="srv", command="only-here", env=path_with(tmp_path))
    assert "code 5" in (await checked(entry)).failure.cause

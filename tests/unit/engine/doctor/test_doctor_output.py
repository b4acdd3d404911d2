"""Doctor on the verbatim last output of real servers and installers."""

from __future__ import annotations

from pathlib import Path

import pytest

from inspector.config.servers.entries import StdioEntry
from inspector.engine.doctor.probe_session import ObservedTraffic
from inspector.engine.doctor.rules.output import diagnose_exit
from inspector.transport.process import describe_exit
from tests.unit.engine.doctor.doctor_stage import checked, python, script

SAYS = "import sys; sys.stderr.buffer.write({!r}.encode()); sys.exit(1)"

NPX_WITHOUT_YES = """\
npm warn Unknown user config "nodedir". This will stop working in the next major version of npm.
npm error npx canceled due to missing packages and no YES option: ["@acme/server-memory@2026.8.31"]
npm error A complete log of this run can be found in: /home/me/.npm/_logs/2026-11-16T16_57_37_401Z-debug-0.log
"""
UV_BEHIND_A_PROXY = """\
error: Failed to fetch: https://pypi.org/simple/mcp-server-time/
  cause: error sending request for url (https://pypi.org/simple/mcp-server-time/)
  cause: client error (Connect)
  cause: invalid peer certificate: UnknownIssuer

hint: Consider enabling use of system TLS certificates with the `--system-certs` command-line flag
"""
NPM_BEHIND_A_PROXY = """\
npm error code UNABLE_TO_GET_ISSUER_CERT_LOCALLY
npm error errno UNABLE_TO_GET_ISSUER_CERT_LOCALLY
npm error request to https://registry.npmjs.org/x failed, reason: unable to get local issuer certificate
"""
FILESYSTEM = """\
Warning: Cannot access directory /nonexistent/dir, skipping
Error: None of the specified directories are accessible
"""
NEW_SDK = """\
Traceback (most recent call last):
  File "/srv/server.py", line 3, in <module>
    from mcp.server.fastmcp import FastMCP
ModuleNotFoundError: No module named 'mcp.server.fastmcp'. This is mcp 2.x, where FastMCP was renamed
"""
STORE_ALIAS = """\
Python was not found; run without arguments to install from the Microsoft Store, or disable this shortcut \
from Settings > Apps > Advanced app settings > App execution aliases.
"""
CMD_WITHOUT_A_PROGRAM = """\
'my-server' is not recognized as an internal or external command,
operable program or batch file.
"""
PYTHON_WITHOUT_A_SCRIPT = r"""
C:\Python312\python.exe: can't open file 'C:\\my tools\\server.py': [Errno 2] No such file or directory
"""


@pytest.mark.parametrize(
    ("reported", "id", "cause", "fix"),
    [
        (NPX_WITHOUT_YES, "asks-the-person", "@acme/server-memory", "-y"),
        (UV_BEHIND_A_PROXY, "installer-distrusts", "certificate", "SSL_CERT_FILE"),
        (NPM_BEHIND_A_PROXY, "installer-distrusts", "certificate", "NODE_EXTRA_CA_CERTS"),
        (FILESYSTEM, "path-missing", "/nonexistent/dir", "arguments"),
        ("ERROR:mcp_server_git.server:/nonexistent does not exist\n", "path-missing", "/nonexistent", ""),
        ("Error: ENOENT: no such file or directory, open '/srv/a.json'\n", "path-missing", "/srv/a.json", ""),
        (NEW_SDK, "sdk-too-new", "version 1", "mcp<2"),
        (STORE_ALIAS, "store-alias", "Microsoft Store", "execution aliases"),
        (CMD_WITHOUT_A_PROGRAM, "inner-command-missing", ": my-server.", "PATH"),
        (
            PYTHON_WITHOUT_A_SCRIPT,
            "script-missing",
            r"not found: C:\my tools\server.py.",
            "working directory",
        ),
        ("OSError: [WinError 10048] Une seule utilisation\n", "port-in-use", "", "another port"),
    ],
)
async def test_last_output_of_real_programs_is_understood(
    reported: str, id: str, cause: str, fix: str
) -> None:
    failure = (await checked(python(SAYS.format(reported)))).failure
    assert failure.id == id
    assert cause in failure.cause
    assert fix in failure.fix


async def test_package_is_named_without_the_version_range_npm_adds() -> None:
    reported = "npm error 404  The requested resource '@acme/mcp-x@*' could not be found or you do not have\n"
    failure = (await checked(python(SAYS.format(reported)))).failure
    assert failure.cause == "Package not found in the npm registry: @acme/mcp-x."


async def test_exception_is_reported_with_its_location_in_the_server_code(tmp_path: Path) -> None:
    path = script(tmp_path, "server.py", "import json\n\nKEY = json.loads('nope')\n")
    python_here = python("").command
    failure = (await checked(StdioEntry(name="srv", command=python_here, args=(str(path),)))).failure
    assert failure.id == "raised"
    assert "JSONDecodeError: Expecting value" in failure.cause
    assert "server.py, line 3" in failure.cause


async def test_most_informative_line_is_in_the_cause_of_an_exit() -> None:
    reported = "starting\nError: license file is empty\nnpm error A complete log of this run is in: /x\n"
    failure = (await checked(python(SAYS.format(reported)))).failure
    assert failure.id == "exited"
    assert "Error: license file is empty" in failure.cause
    failure = (await checked(python("import sys; sys.exit(3)"))).failure
    assert failure.cause.endswith("It wrote nothing to stderr.")


COUNTS = "import sys; open(sys.argv[1], 'a').write('x'); sys.stderr.write(sys.argv[2]); sys.exit(1)"


async def test_process_is_restarted_only_when_it_did_not_say_why_it_exited(tmp_path: Path) -> None:
    """An old server may exit on the first request, which is stateless, and is then started again."""
    known, unknown = tmp_path / "known", tmp_path / "unknown"
    reported = "Error: GITHUB_TOKEN is not set\n"
    assert (await checked(python(COUNTS, str(known), reported))).failure.id == "variable-missing"
    assert (await checked(python(COUNTS, str(unknown), "what is this?\n"))).failure.id == "exited"
    assert (known.read_text(), unknown.read_text()) == ("x", "xx")


@pytest.mark.parametrize(
    ("code", "id", "cause"),
    [
        (0xC0000005, "crashed", "exited with code 0xC0000005 (access violation): it crashed"),
        (9009, "inner-command-missing", "exited with code 9009: the program it should start is missing"),
    ],
)
def test_exit_codes_of_windows_are_explained(code: int, id: str, cause: str) -> None:
    failure = diagnose_exit(ObservedTraffic(exit_status=describe_exit(code), exit_code=code))
    assert failure.id == id
    assert cause in failure.cause

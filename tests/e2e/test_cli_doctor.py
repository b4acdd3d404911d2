"""`mcp-lens doctor` as a process: output and exit codes."""

from __future__ import annotations

import json
import socket
import sys
from pathlib import Path

from tests.e2e.cli_process import FAULTY, run


def test_working_server_exits_with_zero_and_lists_every_step() -> None:
    ended = run("doctor", *FAULTY)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert "[ok] MCP handshake" in ended.stdout
    assert "[ok] First list request: tools/list: " in ended.stdout
    assert "Everything works" in ended.stdout


def test_failing_one_word_command_line_exits_with_two_and_the_cause() -> None:
    ended = run("doctor", f"{sys.executable} -m no_such_server_module")
    assert ended.returncode == 2
    assert "[XX] MCP handshake" in ended.stdout
    assert "Failed at “MCP handshake”." in ended.stdout
    assert "no_such_server_module" in ended.stdout
    assert "Next step: " in ended.stdout


def test_url_is_checked_and_reported_as_json() -> None:
    with socket.create_server(("127.0.0.1", 0)) as once:
        port = once.getsockname()[1]
    ended = run("doctor", f"http://127.0.0.1:{port}/mcp", "--format", "json")
    assert ended.returncode == 2
    report = json.loads(ended.stdout)
    assert report["works"] is False
    assert report["diagnoses"][0]["id"] == "nothing-listens"
    assert {check["id"]: check["state"] for check in report["checks"]}["tcp"] == "failed"


def test_configured_server_is_found_by_name(tmp_path: Path) -> None:
    server_list = tmp_path / "servers.json"
    server_list.write_text(json.dumps({"mcpServers": {"mine": {"command": "/no/such/file"}}}))
    ended = run("doctor", "mine", "--config", str(server_list))
    assert ended.returncode == 2
    assert "File not found: /no/such/file." in ended.stdout


def test_server_of_another_tool_is_inspected_but_not_started(tmp_path: Path) -> None:
    marker = tmp_path / "ran"
    servers = {"theirs": {"command": "/bin/sh", "args": ["-c", f"touch {marker}"]}}
    (tmp_path / ".mcp.json").write_text(json.dumps({"mcpServers": servers}))
    ended = run("doctor", "theirs", cwd=tmp_path)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert "[ok] Command: /bin/sh" in ended.stdout
    assert "is not trusted yet" in ended.stdout
    assert not marker.exists()


def test_two_targets_at_once_are_rejected() -> None:
    ended = run("doctor", "http://127.0.0.1:1/", "--url", "http://127.0.0.1:2/")
    assert ended.returncode == 64
    assert "one server" in ended.stderr


def test_a_secret_on_the_command_line_is_not_repeated(tmp_path: Path) -> None:
    ended = run("doctor", f"{sys.executable} -c 'import sys; sys.exit(3)' --token hunter2hunter2")
    assert ended.returncode == 2
    assert "hunter2" not in ended.stdout + ended.stderr


def test_json_output_contains_no_secret_from_the_url() -> None:
    with socket.create_server(("127.0.0.1", 0)) as once:
        url = f"http://localhost:{once.getsockname()[1]}/mcp?api_key=hunter2hunter2"
    ended = run("doctor", url, "--format", "json")
    assert ended.returncode == 2
    assert json.loads(ended.stdout)["server"].startswith("http://localhost:")
    assert "hunter2" not in ended.stdout

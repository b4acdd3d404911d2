"""The small reference servers, which only support stdio: filesystem, memory, time, git."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from inspector.base.errors import CapabilityMissing
from inspector.base.json.values import JSONObject, parse
from inspector.config.servers.entries import StdioEntry
from inspector.engine.views import OutcomeKind
from tests.peers.visit import visiting

pytestmark = pytest.mark.timeout(240)  # the first run installs the peers


def node(node_modules: Path, package: str, *args: str, **env: str) -> StdioEntry:
    script = str(node_modules / package / "dist/index.js")
    return StdioEntry(name=package, command="node", args=(script, *args), env=env)


def python(interpreter: Path, module: str, *args: str) -> StdioEntry:
    return StdioEntry(name=module, command=str(interpreter), args=("-m", module, *args))


async def test_filesystem_reads_within_its_folder_and_refuses_outside(
    node_modules: Path, tmp_path: Path
) -> None:
    file = tmp_path / "note.txt"
    file.write_text("grüß dich")
    async with visiting(node(node_modules, "server-filesystem", str(tmp_path))) as visit:
        assert visit.negotiated.revision.date == "2025-11-25"
        assert {"read_text_file", "list_directory"} <= set(await visit.tools())
        assert await visit.text("read_text_file", path=str(file)) == "grüß dich"
        assert "note.txt" in await visit.text("list_directory", path=str(tmp_path))
        outside = await visit.call("read_text_file", path="/etc/hostname")
        assert outside.kind is OutcomeKind.TOOL_ERROR
        with pytest.raises(CapabilityMissing, match="resources"):
            await visit.resources()
        assert visit.complaints() == []


async def test_filesystem_uses_our_roots_as_its_folders(node_modules: Path, tmp_path: Path) -> None:
    script = str(node_modules / "server-filesystem/dist/index.js")
    entry = StdioEntry(name="fs", command="node", args=(script,), roots=(str(tmp_path),))
    async with visiting(entry) as visit:
        await visit.recorded(
            lambda: any("allowed directories from MCP roots" in line for line in visit.stderr())
        )
        assert str(tmp_path) in await visit.text("list_allowed_directories")


async def test_memory_stores_entities_and_notifies_about_changes(node_modules: Path, tmp_path: Path) -> None:
    entry = node(node_modules, "server-memory", MEMORY_FILE_PATH=str(tmp_path / "memory.jsonl"))
    async with visiting(entry) as visit:
        assert visit.negotiated.revision.date == "2025-11-25"
        assert {"create_entities", "read_graph"} <= set(await visit.tools())
        (graph,) = await visit.resources()
        await visit.client.subscribe(graph)
        ada: JSONObject = {"name": "Ada", "entityType": "person", "observations": ["writes programs"]}
        await visit.text("create_entities", entities=[ada])
        assert (await visit.received("notifications/resources/updated"))["uri"] == graph
        assert b"writes programs" in await visit.read(graph)
        assert visit.complaints() == []


async def test_time_server_converts_times(reference_python: Path) -> None:
    entry = python(reference_python, "mcp_server_time", "--local-timezone", "Europe/Berlin")
    async with visiting(entry) as visit:
        assert visit.negotiated.revision.date == "2026-07-28"
        assert await visit.tools() == ["get_current_time", "convert_time"]
        arguments = {"source_timezone": "Asia/Tokyo", "time": "12:00", "target_timezone": "Asia/Kolkata"}
        response = parse(await visit.text("convert_time", **arguments))
        assert isinstance(response, dict)
        assert response["time_difference"] == "-3.5h"
        assert visit.complaints() == []


@pytest.fixture
def repository(tmp_path: Path) -> str:
    if shutil.which("git") is None:
        pytest.skip("git is not installed")
    subprocess.run(["git", "init", "-q", "-b", "trunk", str(tmp_path)], check=True)
    return str(tmp_path)


async def test_git_shows_a_repository(reference_python: Path, repository: str) -> None:
    async with visiting(python(reference_python, "mcp_server_git", "-r", repository)) as visit:
        assert visit.negotiated.revision.date == "2026-07-28"
        assert {"git_status", "git_log", "git_diff"} <= set(await visit.tools())
        assert "On branch trunk" in await visit.text("git_status", repo_path=repository)
        assert visit.complaints() == []


async def test_same_server_can_be_forced_into_session_mode(reference_python: Path) -> None:
    program = python(reference_python, "mcp_server_time")
    entry = StdioEntry(name="time", command=program.command, args=program.args, era="2025-06-18")
    async with visiting(entry) as visit:
        assert visit.negotiated.revision.date == "2025-06-18"
        assert await visit.tools() == ["get_current_time", "convert_time"]

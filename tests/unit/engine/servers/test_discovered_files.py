"""Other clients' files: large ones are read in another process, with a time limit."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from inspector.config.foreign import formats
from inspector.config.foreign.discovery import ConfigLocation, find_servers, locations_for
from inspector.engine.servers import discovered_files
from inspector.engine.servers.discovered_files import INLINE_SIZE, read_servers


def _write_files(home: Path, padding: int) -> tuple[ConfigLocation, ...]:
    """Write a large file with servers for two scopes, and a small one."""
    folder = home / "project"
    folder.mkdir()
    servers = {"mcpServers": {"user": {"command": "x"}}, "projects": {}, "history": "h" * padding}
    servers["projects"] = {str(folder): {"mcpServers": {"local": {"command": "y"}}}}
    (home / ".claude.json").write_text(json.dumps(servers))
    (folder / ".mcp.json").write_text(json.dumps({"mcpServers": {"project": {"url": "https://x.test/mcp"}}}))
    return locations_for("linux", home, {}, folder)


async def test_large_file_is_read_like_a_small_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    locations = _write_files(tmp_path, INLINE_SIZE)
    expected = find_servers(locations)
    assert [server.name for server in expected.servers] == ["local", "project", "user"]

    def not_here(*arguments: object) -> None:
        raise AssertionError("parsed in this process")

    parse = formats.read_jsonc
    monkeypatch.setattr(
        formats, "read_jsonc", lambda text: not_here() if len(text) > INLINE_SIZE else parse(text)
    )
    assert await read_servers(locations) == expected


async def test_file_that_takes_too_long_is_reported_and_the_others_load(tmp_path: Path) -> None:
    locations = _write_files(tmp_path, INLINE_SIZE)
    found = await read_servers(locations, time_limit=0)
    assert [server.name for server in found.servers] == ["project"]
    slow = [file.problem for file in found.files if file.problem]
    assert slow == ["Reading it took more than 0 s."] * 2


async def test_missing_and_odd_files_are_read_in_place(tmp_path: Path) -> None:
    locations = _write_files(tmp_path, 0)
    os.mkfifo(tmp_path / ".mcp.json")
    found = await read_servers(locations)
    assert [server.name for server in found.servers] == ["local", "project", "user"]
    (problem,) = [file.problem for file in found.files if file.problem]
    assert "not a regular file" in problem
    assert discovered_files._large_files(locations) == {}

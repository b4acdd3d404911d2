"""Broken and malicious files: each is reported, and the others still load."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from time import process_time

import pytest

from inspector.config.foreign.discovery import ConfigLocation, DiscoveredFile, find_servers


def _location(path: Path, format: str = "mcp.json") -> ConfigLocation:
    return ConfigLocation("Claude Code", "folder", path, format)


def _found(path: Path, format: str = "mcp.json") -> DiscoveredFile:
    """Return the file at a path, read together with a valid file that must not be affected."""
    good = path.with_name("good.json")
    good.write_text('{"mcpServers": {"good": {"command": "run"}}}')
    first, second = find_servers([_location(path, format), _location(good)]).files
    assert [server.name for server in second.servers] == ["good"]
    return first


def _written(tmp_path: Path, text: str | bytes, format: str = "mcp.json") -> DiscoveredFile:
    path = tmp_path / "file"
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return _found(path, format)


@pytest.mark.parametrize(
    ("text", "format", "expected"),
    [
        ('{"mcpServers": {\n  "a": {"command": "x"}\n  "b": {}}}', "mcp.json", "line 3, column 3"),
        ("", "codex", ""),
        ('[mcp_servers.a]\ncommand = "x\n', "codex", "line 2, column 13"),
        ("[]", "mcp.json", "must contain a JSON object"),
        ('"' * 100_000, "mcp.json", "line 1"),
        ('{"a":' * 100_000, "mcp.json", "nested too deeply"),
        ('{"a":' * 500 + "1" + "}" * 500, "mcp.json", "nested too deeply"),
        ("a = " + "[" * 100_000, "codex", "nested too deeply"),
        ("a" + ".a" * 100_000 + " = 1", "codex", "nested too deeply"),
        (".".join(['"a \\" b"'] * 100_000) + " = 1", "codex", "nested too deeply"),
        ("\nx = " + "1" * 5000, "codex", "number at line 2, column 5 has more than 1,000 digits"),
        ("x = " + "1" * 64 * 1024, "codex", "more than 1,000 digits"),
        ("x = " + "1_" * 32 * 1024 + "1", "codex", "more than 1,000 digits"),
        ("x = 1e" + "9" * 64 * 1024, "codex", "more than 1,000 digits"),
        ("x = 0x" + "f" * 200_000, "codex", "an integer of 800,000 bits"),
        (b'{"a": \xff}', "mcp.json", "not valid UTF-8 from line 1"),
        ('{"mcpServers": {}}'.encode("utf-16"), "mcp.json", "not valid UTF-8"),
        (b"\0\0\0", "mcp.json", "line 1"),
    ],
)
def test_broken_file_is_reported_and_does_not_affect_others(
    tmp_path: Path, text: str | bytes, format: str, expected: str
) -> None:
    if not text:
        path = tmp_path / "file"
        path.write_bytes(b"")
        assert find_servers([_location(path, format)]).files == ()
        return
    found = _written(tmp_path, text, format)
    assert expected in found.problem
    assert found.servers == ()


def test_a_huge_file_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / "file"
    with path.open("wb") as file:
        file.truncate(40 * 1024 * 1024)
    assert "larger than" in _found(path).problem


@pytest.mark.skipif(sys.platform == "win32", reason="POSIX files")
def test_special_file_is_not_opened(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "folder").mkdir()
    (tmp_path / "zero").symlink_to("/dev/zero")
    for name in ("pipe", "folder", "zero"):
        assert "not a regular file" in _found(tmp_path / name).problem


@pytest.mark.skipif(sys.platform == "win32", reason="links need rights there")
def test_circular_and_dangling_symlinks_are_reported(tmp_path: Path) -> None:
    (tmp_path / "a").symlink_to(tmp_path / "b")
    (tmp_path / "b").symlink_to(tmp_path / "a")
    (tmp_path / "lost").symlink_to(tmp_path / "nothing")
    assert "Could not read it" in _found(tmp_path / "a").problem
    assert "It is a broken link" in _found(tmp_path / "lost").problem


@contextmanager
def _as_unprivileged_user() -> Iterator[None]:
    """Drop root privileges, which would allow reading every file."""
    is_root = os.geteuid() == 0
    if is_root:
        os.seteuid(65534)
    try:
        yield
    finally:
        if is_root:
            os.seteuid(0)


@pytest.mark.skipif(sys.platform == "win32", reason="rights of POSIX")
def test_unreadable_file_is_reported(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text("{}")
    path.chmod(0)
    with _as_unprivileged_user():
        (found,) = find_servers([_location(path)]).files
    assert found.problem == "Could not read it: Permission denied. Check the file and its permissions."


def test_missing_file_is_not_found(tmp_path: Path) -> None:
    assert find_servers([_location(tmp_path / "none"), _location(tmp_path / "none" / "deeper")]).files == ()


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        ("null", "must be an object"),
        ("[1]", "must be an object"),
        ("{}", "command"),
        ('{"command": 3}', "command"),
        ('{"command": "x", "args": "y"}', "args"),
        ('{"command": "x", "args": [1]}', "args"),
        ('{"command": "x", "env": ["A=b"]}', "env"),
        ('{"command": "x", "env": {"A": {"ref": "env/other/KEY"}}}', "env.A"),
        ('{"url": "https://x/mcp", "headers": {"A": {"ref": "header/other/KEY"}}}', "headers.A"),
        ('{"url": "ftp://x/"}', "ftp"),
        ('{"url": "https://u:p@x/"}', "password"),
        ('{"url": "https://x/", "type": "carrier-pigeon"}', "type"),
        ('{"url": "https://x/", "bearer_token_env_var": "A} ${B"}', "is not a valid variable name"),
        ('{"url": "https://x/", "timeout": 1e999}', "timeouts"),
        ('{"command": "x", "disabled": "yes"}', "disabled"),
    ],
)
def test_invalid_server_is_reported_and_its_neighbors_load(tmp_path: Path, raw: str, expected: str) -> None:
    found = _written(tmp_path, f'{{"mcpServers": {{"bad": {raw}, "fine": {{"command": "run"}}}}}}')
    bad, fine = found.servers
    assert bad.entry is None
    assert expected in bad.problem
    assert fine.entry is not None


@pytest.mark.parametrize(
    "member",
    [
        '"auth": {"type": "bearer", "token": {"ref": "bearer/other"}}',
        '"auth": {"type": "oauth", "clientSecret": {"ref": "login/other/secret"}}',
        '"network": {"verify": false, "proxy": "http://evil.example"}',
        '"autoConnect": true',
        '"capabilities": {"sampling": {}}',
    ],
)
def test_foreign_file_cannot_set_user_only_options(tmp_path: Path, member: str) -> None:
    plain = _written(tmp_path, '{"mcpServers": {"a": {"url": "https://x/mcp"}}}').servers[0]
    found = _written(tmp_path, f'{{"mcpServers": {{"a": {{"url": "https://x/mcp", {member}}}}}}}').servers[0]
    assert found.entry == plain.entry


def test_duplicate_name_is_reported_with_its_lines(tmp_path: Path) -> None:
    text = '{"mcpServers": {\n"a": {"command": "x"},\n"b": {"command": "y"},\n"a": {"command": "z"}}}'
    found = _written(tmp_path, text)
    assert [(server.name, server.line) for server in found.servers] == [("a", 4), ("b", 3)]
    assert found.servers[0].notes == ("Its name appears 2 times (lines 2, 4); the last one is used.",)


def test_excessive_number_of_servers_is_truncated_and_reported(tmp_path: Path) -> None:
    text = ",".join(f'"s{number}": {{"command": "x"}}' for number in range(1200))
    found = _written(tmp_path, f'{{"mcpServers": {{{text}}}}}')
    assert len(found.servers) == 1000
    assert "1200" in found.notes[0]


def test_table_of_the_wrong_type_is_reported(tmp_path: Path) -> None:
    assert _written(tmp_path, '{"mcpServers": [1]}').notes == ("“mcpServers” must be an object.",)


def test_nothing_is_expanded_and_nothing_is_written(tmp_path: Path) -> None:
    text = '{"mcpServers": {"a": {"url": "https://evil.example/?k=${HOME}"}}}'
    server = _written(tmp_path, text).servers[0]
    assert server.entry is not None
    assert server.entry.address == "https://evil.example/?k=${HOME}"
    assert (tmp_path / "file").read_text() == text


@pytest.mark.parametrize(
    "text",
    [
        '{"mcpServers": {\n' + ",\n".join(['"a": {"command": "x"}'] * 40_000) + "}}",
        '{"inputs": ['
        + ",".join(f'{{"id": "i{number}"}}' for number in range(10_000))
        + '], "mcpServers": {'
        + ",".join(f'"s{number}": {{"command": "x", "args": ["${{input:i1}}"]}}' for number in range(500))
        + "}}",
    ],
    ids=["one name again and again", "inputs for everybody"],
)
def test_large_input_is_read_in_time(tmp_path: Path, text: str) -> None:
    """These once took quadratic time: minutes for a file of one megabyte."""
    begun = process_time()
    file = _written(tmp_path, text)
    assert process_time() - begun < 5
    assert file.servers
    assert all(len(note) < 200 for server in file.servers for note in server.notes)


@pytest.mark.parametrize("unit", ["aa", "--", '\\"'], ids=["a", "-", "quotes"])
def test_long_word_in_toml_is_read_in_linear_time(tmp_path: Path, unit: str) -> None:
    """Threat: the search for long keys took quadratic time, 49 s for 64 KB, and froze the start."""
    found = _written(tmp_path, f'[mcp_servers.a]\ncommand = "x"\nargs = ["{unit * 450_000}"]\n', "codex")
    assert [server.name for server in found.servers] == ["a"]


@pytest.mark.parametrize("number", ["9" * 400, "9" * 5000, "1e400"])
def test_number_too_large_for_a_timeout_affects_only_its_server(tmp_path: Path, number: str) -> None:
    text = f'{{"mcpServers": {{"a": {{"command": "x", "timeout": {number}}}, "b": {{"command": "x"}}}}}}'
    found = _written(tmp_path, text)
    assert [(server.name, server.entry is None) for server in found.servers] == [("a", True), ("b", False)]
    assert found.problem == ""


def test_error_in_a_parser_is_reported_with_its_file_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(text: str) -> object:
        raise IndexError(f"no index for {text!r}")

    monkeypatch.setattr("tomllib.loads", fail)
    assert "IndexError: no index for 'x = 1'" in _written(tmp_path, "x = 1", "codex").problem

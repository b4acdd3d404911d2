"""Command lines on Windows: typed ones are split, shown ones are quoted, as Windows does."""

from __future__ import annotations

import ctypes
import subprocess
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from inspector.base.command_line import join_command
from inspector.config.foreign.paste import read_pasted
from inspector.config.servers.entries import StdioEntry, entry_from_text
from inspector.traffic.export.snippets import as_curl
from inspector.traffic.log import TrafficLog
from inspector.traffic.records import Direction, HttpExchange, RecordKind


def windows_split(line: str) -> list[str]:
    """Split as Windows does."""
    shell32 = ctypes.WinDLL("shell32")  # type: ignore[attr-defined, unused-ignore]
    shell32.CommandLineToArgvW.restype = ctypes.POINTER(ctypes.c_wchar_p)
    count = ctypes.c_int()
    words = shell32.CommandLineToArgvW(ctypes.c_wchar_p(line), ctypes.byref(count))
    return [words[index] for index in range(count.value)]


@given(words=st.lists(st.text(st.sampled_from("ab \\\"&%'é"), max_size=6), max_size=4))
@settings(max_examples=200)
def test_windows_splits_a_shown_command_into_its_words(words: list[str]) -> None:
    assert windows_split(join_command(["x.exe", *words])) == ["x.exe", *words]


def test_server_is_shown_as_it_would_be_typed() -> None:
    entry = StdioEntry(name="a", command=r"C:\Program Files\x.exe", args=("a b", "it's"))
    assert entry.address == r'"C:\Program Files\x.exe" "a b" "it' + "'s\""


def test_request_is_copied_for_curl_exe() -> None:
    log = TrafficLog()
    row = log.append(log.add_server("srv"), RecordKind.HTTP, Direction.OUT, 0, 0, b"GET")
    log.set_http(row, HttpExchange("GET", "https://h/mcp?a=1&b=2", (("X-Note", "it's a b"),), 0))
    log.publish()
    words = windows_split(as_curl(log, row))
    assert words[0] == "curl.exe"
    assert "X-Note: it's a b" in words
    assert words[-1] == "https://h/mcp?a=1&b=2"


@pytest.mark.parametrize(
    "word", [r".\src\server.py", r"\\nas\share\server.py", r"%APPDATA%\x\server.py", r"src\x.py"]
)
def test_typed_and_pasted_paths_keep_their_backslashes(word: str) -> None:
    typed = entry_from_text(f"python {word}")
    assert isinstance(typed, StdioEntry)
    assert typed.args == (word,)
    (pasted,) = read_pasted(f"python {word}")
    assert isinstance(pasted.entry, StdioEntry)
    assert pasted.entry.args == (word,)


def test_doctor_starts_a_quoted_program_without_its_quotes() -> None:
    done = subprocess.run(
        [sys.executable, "-P", "-m", "inspector", "doctor", f'"{sys.executable}" -c "print(1)"'],
        capture_output=True,
        timeout=100,
        check=False,
    )
    report = done.stdout.decode(errors="replace")
    assert sys.executable in report
    assert f'"{sys.executable}"' not in report
    assert "not found" not in report

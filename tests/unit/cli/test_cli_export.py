"""`mcp-lens export`: a capture in other formats."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from inspector.base.json.values import to_wire
from inspector.cli.main import main
from inspector.traffic.captures.recording import Recording
from inspector.traffic.log import TrafficLog
from inspector.traffic.records import Direction, RecordKind

_TOKEN = "sk-abcdefghijklmnopqrstuvwxyz0123456789"


@pytest.fixture
def capture(tmp_path: Path) -> Path:
    log = TrafficLog()
    server = log.add_server("one")
    for method in ("notifications/message", "notifications/progress"):
        raw = to_wire({"jsonrpc": "2.0", "method": method, "params": {"token": _TOKEN}})
        log.append(server, RecordKind.NOTIFICATION, Direction.IN, 0, 0, raw, method)
    log.publish()
    path = tmp_path / "one.mcpcap"
    Recording(log, path).close()
    return path


def test_rows_matching_the_filter_are_printed_with_secrets_masked(
    capture: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["export", str(capture), "--filter", "method:progress"]) == 0
    printed = capsys.readouterr()
    lines = [json.loads(line) for line in printed.out.splitlines()]
    assert [line["method"] for line in lines[1:]] == ["notifications/progress"]
    assert _TOKEN not in printed.out
    assert "masked ~secret-1-token~" in printed.err


def test_an_exported_file_can_be_exported_again(capture: Path, tmp_path: Path) -> None:
    first, second = tmp_path / "first.jsonl", tmp_path / "second.jsonl"
    assert main(["export", str(capture), "--show-secrets", "--out", str(first)]) == 0
    assert main(["export", str(first), "--show-secrets", "--out", str(second)]) == 0
    rows = [json.loads(line)["message"] for line in second.read_text().splitlines()[1:]]
    assert [row["params"]["token"] for row in rows] == [_TOKEN, _TOKEN]


def test_unsupported_content_of_a_format_is_reported(
    capture: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["export", str(capture), "--format", "har"]) == 0
    printed = capsys.readouterr()
    assert json.loads(printed.out)["log"]["entries"] == []
    assert "omitted (not supported by HAR): 2 " in printed.err


@pytest.mark.parametrize(
    ("words", "reason"),
    [(["--filter", "method:"], "method"), (["--format", "xml"], "invalid choice: 'xml'")],
)
def test_invalid_option_gives_one_error(
    capture: Path, capsys: pytest.CaptureFixture[str], words: list[str], reason: str
) -> None:
    assert main(["export", str(capture), *words]) != 0
    printed = capsys.readouterr()
    assert printed.out == ""
    assert reason in printed.err


def test_a_missing_file_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["export", str(tmp_path / "gone.mcpcap")]) == 2
    assert "gone.mcpcap" in capsys.readouterr().err

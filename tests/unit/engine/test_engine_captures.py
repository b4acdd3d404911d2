"""Captures as the app uses them."""

from __future__ import annotations

import json
import os
import threading
import time
from functools import partial
from pathlib import Path

import pytest

from inspector.base.errors import UserError
from inspector.engine import captures as captures_module
from inspector.engine.captures import Captures
from inspector.engine.engine import Engine
from inspector.engine.exports import ExportFormat
from inspector.engine.settings import SettingsStore
from inspector.traffic.captures.capture import open_capture
from inspector.traffic.captures.recording import MemoryLimit, RecordingState
from inspector.traffic.filter.matcher import compile
from inspector.traffic.filter.parser import parse
from inspector.traffic.log import TrafficLog
from inspector.traffic.masking.masker import FoundSecrets, Masker
from inspector.traffic.records import KIND_LABELS, Direction, RecordKind, RowNote
from inspector.transport.task_scope import TaskScope
from tests.helpers.randomlogs import same


def _append(log: TrafficLog, count: int) -> None:
    server = log.add_server("one")
    for number in range(count):
        raw = json.dumps(
            {"jsonrpc": "2.0", "method": "notifications/message", "params": {"n": number}}
        ).encode()
        log.append(
            server, RecordKind.NOTIFICATION, Direction.IN, number, number, raw, "notifications/message"
        )
    log.publish()


async def test_traffic_is_recorded_and_can_be_opened_afterwards(tmp_path: Path) -> None:
    log = TrafficLog()
    captures = Captures(log, tmp_path / "captures")
    await captures.begin()
    _append(log, 50)
    await captures.end()
    (kept,) = await captures.stored()
    assert (kept.rows, kept.is_recording, kept.is_interrupted) == (50, False, False)
    opened = await captures.open(kept.path)
    assert [opened.log.raw(row) for row in range(50)] == [log.raw(row) for row in range(50)]
    await captures.close(opened)


async def test_capture_is_closed_even_when_another_close_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fail(_tasks: TaskScope) -> None:
        raise OSError("a bug")

    log = TrafficLog()
    engine = Engine(log=log, captures=Captures(log, tmp_path / "captures"))
    await engine.captures.begin()
    _append(log, 1)
    with monkeypatch.context() as patch:
        patch.setattr(TaskScope, "close", fail)
        with pytest.raises(OSError, match="a bug"):
            await engine.close()
    (kept,) = await engine.captures.stored()
    assert (kept.rows, kept.is_recording) == (1, False)
    await engine.close()


async def test_a_copy_is_saved_while_recording_goes_on(tmp_path: Path) -> None:
    log = TrafficLog()
    captures = Captures(log, tmp_path / "captures")
    await captures.begin()
    _append(log, 10)
    await captures.save_running(tmp_path / "copy.mcpcap")
    _append(log, 5)
    await captures.end()
    copy = await captures.open(tmp_path / "copy.mcpcap")
    assert len(copy.log) == 10
    await captures.close(copy)


@pytest.mark.skipif(os.name != "posix", reason="links need a privilege elsewhere")
async def test_exports_and_copies_replace_a_planted_link(tmp_path: Path) -> None:
    """T28: someone places a link to the user's file at the name that is saved to, or at a name beside it."""
    log = TrafficLog()
    captures = Captures(log, tmp_path / "captures")
    await captures.begin()
    _append(log, 1)
    victim = tmp_path / "victim"
    victim.write_text("precious")
    saves = {
        f"traffic{format.suffix}": lambda path, format=format: captures.export(
            log, [0], format, Masker(FoundSecrets()), path
        )
        for format in ExportFormat
    } | {"copy.mcpcap": captures.save_running}
    for name, save in saves.items():
        for points_to in (victim, tmp_path / "created"):
            path = tmp_path / name
            path.unlink(missing_ok=True)
            path.symlink_to(points_to)
            path.with_name(f"{name}.part").symlink_to(points_to)
            await save(path)
            path.with_name(f"{name}.part").unlink()
            assert not path.is_symlink()
            assert path.stat().st_size > 0
    await captures.end()
    assert victim.read_text() == "precious"
    assert not (tmp_path / "created").exists()


async def test_without_a_recording_saving_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"Traffic is not being recorded.*Export"):
        await Captures(TrafficLog()).save_running(tmp_path / "copy.mcpcap")


async def test_unusable_folder_is_reported_and_the_app_keeps_working(tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("not a folder")
    captures = Captures(TrafficLog(), blocked / "captures")
    reported: list[str] = []
    captures.problem_found.connect(reported.append)
    await captures.begin()
    assert len(reported) == 1
    assert "Traffic is not recorded" in reported[0]
    await captures.end()


async def test_turning_recording_off_writes_nothing(tmp_path: Path) -> None:
    captures = Captures(
        TrafficLog(), tmp_path / "captures", SettingsStore(defaults={"captures.record": False})
    )
    await captures.begin()
    assert await captures.stored() == ()
    assert not any(thread.name == "recorder" for thread in threading.enumerate())


async def test_enabling_recording_starts_it_and_disabling_closes_the_file(tmp_path: Path) -> None:
    log = TrafficLog()
    settings = SettingsStore(defaults={"captures.record": False})
    captures = Captures(log, tmp_path / "captures", settings)
    await captures.begin()
    await settings.set("captures.record", True)
    await captures.applied()
    _append(log, 3)
    await settings.set("captures.record", False)
    (kept,) = await captures.stored()
    assert (kept.rows, kept.is_recording) == (3, False)


async def test_recording_disabled_and_enabled_again_continues_in_one_capture(tmp_path: Path) -> None:
    log = TrafficLog()
    settings = SettingsStore()
    captures = Captures(log, tmp_path / "captures", settings)
    await captures.begin()
    _append(log, 3)
    await settings.set("captures.keepMebibytes", 1)
    await settings.set("captures.record", False)
    (kept,) = await captures.stored()
    with pytest.raises(UserError, match="is the capture being recorded"):
        await captures.delete(kept.path)
    _append(log, 2)
    await settings.set("captures.record", True)
    await captures.applied()
    _append(log, 1)
    await captures.end()
    (kept,) = await captures.stored()
    same(open_capture(kept.path).log, log)


async def test_lower_limit_removes_old_captures_immediately(tmp_path: Path) -> None:
    for _ in range(2):
        log = TrafficLog()
        run = Captures(log, tmp_path / "captures")
        await run.begin()
        log.append(log.add_server("one"), RecordKind.TEXT, Direction.IN, 0, 0, b"x" * 1_500_000)
        log.publish()
        await run.end()
    settings = SettingsStore(defaults={"captures.record": False})
    captures = Captures(TrafficLog(), tmp_path / "captures", settings)
    await captures.begin()
    assert len(await captures.stored()) == 2
    await settings.set("captures.keepMebibytes", 2)
    assert len(await captures.stored()) == 1


async def test_wrong_clock_at_start_deletes_no_captures_and_is_reported_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = TrafficLog()
    captures = Captures(log, tmp_path / "captures")
    await captures.begin()
    _append(log, 1)
    await captures.end()
    ahead = time.time_ns() + 10 * 365 * 24 * 3600 * 10**9
    monkeypatch.setattr(time, "time_ns", lambda: ahead)
    settings = SettingsStore()
    captures = Captures(TrafficLog(), tmp_path / "captures", settings)
    reported: list[str] = []
    captures.problem_found.connect(reported.append)
    await captures.begin()
    await settings.set("captures.keepMebibytes", 4096)
    await captures.end()
    assert [capture.rows for capture in await captures.stored()] == [1, 0]
    (text,) = reported
    assert text.startswith(
        "Old captures are not deleted yet: 1 capture is more than 30 days old by the clock"
    )
    assert "If the date is wrong, correct it." in text


async def test_an_open_capture_is_neither_pruned_nor_deleted(tmp_path: Path) -> None:
    log = TrafficLog()
    run = Captures(log, tmp_path / "captures")
    await run.begin()
    log.append(log.add_server("one"), RecordKind.TEXT, Direction.IN, 0, 0, b"x" * 1_500_000)
    log.publish()
    await run.end()
    settings = SettingsStore(defaults={"captures.record": False})
    captures = Captures(TrafficLog(), tmp_path / "captures", settings)
    await captures.begin()
    (kept,) = await captures.stored()
    opened = await captures.open(kept.path.parent / ".." / "captures" / kept.path.name)
    await settings.set("captures.keepMebibytes", 1)
    assert len(await captures.stored()) == 1
    with pytest.raises(UserError, match="is open"):
        await captures.delete(kept.path)
    await captures.close(opened)
    await captures.delete(opened.path)
    assert await captures.stored() == ()


async def test_marks_and_comments_in_an_opened_capture_are_saved(tmp_path: Path) -> None:
    log = TrafficLog()
    captures = Captures(log, tmp_path / "captures")
    await captures.begin()
    _append(log, 3)
    await captures.end()
    path = (await captures.stored())[0].path
    opened = await captures.open(path)
    opened.log.set_note(1, RowNote(is_marked=True, comment="look"))
    await captures.save_notes(opened)
    await captures.close(opened)
    again = await captures.open(path)
    assert again.log.note(1) == RowNote(is_marked=True, comment="look")
    await captures.close(again)


async def test_foreign_json_lines_are_opened_as_a_capture(tmp_path: Path) -> None:
    lines = tmp_path / "talk.jsonl"
    lines.write_text(
        '{"jsonrpc":"2.0","id":1,"method":"ping"}\n{"jsonrpc":"2.0","id":1,"result":{}}\nno message\n'
    )
    captures = Captures(TrafficLog(), tmp_path / "captures")
    opened = await captures.open(lines)
    assert opened.title == "talk.jsonl"
    assert opened.log.method(0) == "ping"
    assert opened.log.partner(0) == 1
    await captures.close(opened)


async def test_file_without_traffic_is_rejected_and_leaves_nothing_behind(tmp_path: Path) -> None:
    image = tmp_path / "picture.har"
    image.write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 20)
    captures = Captures(TrafficLog(), tmp_path / "captures")
    with pytest.raises(UserError, match=r"picture\.har"):
        await captures.open(image)
    assert await captures.stored() == ()


async def _exported(tmp_path: Path, format: ExportFormat) -> str:
    log = TrafficLog()
    raw = b'{"jsonrpc":"2.0","method":"notifications/message","params":{"password":"hunter2-hunter2"}}'
    log.append(
        log.add_server("one"), RecordKind.NOTIFICATION, Direction.IN, 0, 0, raw, "notifications/message"
    )
    log.publish()
    captures, path = Captures(log), tmp_path / f"out{format.suffix}"
    found = await captures.find_secrets(log, range(len(log)))
    assert len(found) == 1
    done = await captures.export(log, range(len(log)), format, Masker(found), path)
    assert (done.rows, done.masked) == (1, 1)
    return path.read_text()


@pytest.mark.parametrize("format", ExportFormat)
async def test_export_contains_none_of_the_secrets_found(tmp_path: Path, format: ExportFormat) -> None:
    text = await _exported(tmp_path, format)
    assert text
    assert "hunter2" not in text


async def test_export_says_what_its_format_cannot_represent(tmp_path: Path) -> None:
    log = TrafficLog()
    _append(log, 3)
    done = await Captures(log).export(
        log, range(3), ExportFormat.HAR, Masker(FoundSecrets()), tmp_path / "out.har"
    )
    assert done.dropped.startswith("3 ")


async def test_failed_export_keeps_the_old_file(tmp_path: Path) -> None:
    log = TrafficLog()
    _append(log, 1)
    target = tmp_path / "taken"
    target.mkdir()
    with pytest.raises(UserError, match="Could not write"):
        await Captures(log).export(log, range(1), ExportFormat.MARKDOWN, Masker(FoundSecrets()), target)
    assert os.listdir(tmp_path) == ["taken"]


async def test_every_kind_of_event_is_in_the_capture_and_can_be_filtered(tmp_path: Path) -> None:
    log = TrafficLog()
    captures = Captures(log, tmp_path / "captures")
    await captures.begin()
    server = log.add_server("one")
    for kind in RecordKind:
        log.append(server, kind, Direction.IN, 0, 0, kind.name.encode())
    log.publish()
    await captures.end()
    opened = await captures.open((await captures.stored())[0].path)
    for row, kind in enumerate(RecordKind):
        word = KIND_LABELS[kind]
        assert list(compile(parse(f'kind="{word}"'), opened.log, now_ns=0).rows(range(len(log)))) == [row]
        assert opened.log.raw(row) == kind.name.encode()
    await captures.close(opened)


async def test_the_disk_limit_applies_while_recording(tmp_path: Path) -> None:
    log = TrafficLog()
    captures = Captures(log, tmp_path / "captures", SettingsStore(defaults={"captures.keepMebibytes": 1}))
    states: list[RecordingState] = []
    captures.recording_changed.connect(states.append)
    await captures.begin()
    server = log.add_server("one")
    for _ in range(100):
        log.append(server, RecordKind.TEXT, Direction.IN, 0, 0, os.urandom(50_000))
        log.publish()
        assert captures._recording is not None
        assert captures._recording.flush()
    stored = await captures.stored()
    # The limit, and what one transaction of the current file may add to its share.
    assert sum(each.size for each in stored) < 1024 * 1024 + 150_000
    assert [each.is_recording for each in stored] == [False] * (len(stored) - 1) + [True]
    assert len(stored) > 1
    assert states[-1].first > 0
    log.publish()
    assert log.first >= states[-1].first
    assert log.raw(len(log) - 1) != b""
    await captures.end()
    rows = [each.rows or 0 for each in await captures.stored()]
    assert sum(rows) == len(log) - states[-1].first


async def test_deleting_an_earlier_capture_of_this_session_drops_its_rows(tmp_path: Path) -> None:
    log = TrafficLog()
    captures = Captures(log, tmp_path / "captures")
    await captures.begin()
    assert captures._rollover is not None
    captures._rollover.max_rows = 10
    _append(log, 15)
    assert captures._recording is not None
    assert captures._recording.flush()
    _append(log, 5)
    assert captures._recording.flush()
    earlier, current = await captures.stored()
    await captures.delete(earlier.path)
    with pytest.raises(UserError, match="being recorded"):
        await captures.delete(current.path)
    _append(log, 1)
    assert (log.first, len(log)) == (15, 21)
    await captures.end()


async def test_memory_is_bounded_while_recording_is_off(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(captures_module, "MemoryLimit", partial(MemoryLimit, max_rows=2_000))
    log = TrafficLog()
    settings = SettingsStore(defaults={"captures.record": False})
    captures = Captures(log, tmp_path / "captures", settings)
    await captures.begin()
    _append(log, 3_000)
    _append(log, 1)
    dropped = log.first
    assert dropped == 1_000
    await settings.set("captures.record", True)
    await captures.applied()
    _append(log, 3_000)
    assert log.first == dropped  # all of it is recorded
    await settings.set("captures.record", False)
    (stored,) = await captures.stored()
    assert stored.rows == len(log) - dropped
    _append(log, 3_000)
    _append(log, 1)
    assert log.first > len(log) - 2_500
    await settings.set("captures.record", True)  # the earlier file lacks the rows dropped since
    await captures.applied()
    _append(log, 1)
    await captures.end()
    assert [each.rows for each in await captures.stored()] == [stored.rows, len(log) - log.first]

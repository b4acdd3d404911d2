"""Connection timeout: start of the process, ignored probes, and waiting longer."""

from __future__ import annotations

import asyncio

import pytest

from inspector.base.errors import ConnectFailed, FailureKind
from inspector.protocol.discovery import ProbeFirst
from inspector.session.state import Status
from tests.helpers.fakes import LoopTime
from tests.helpers.stage import PROFILE, Stage


async def begin(stage: Stage) -> asyncio.Task[None]:
    """Start to connect, up to the first request to the started process."""
    connecting = stage.start(stage.session.connect())
    await stage.wire_next()
    stage.wire.start_process()
    return connecting


async def failure(connecting: asyncio.Task[None]) -> ConnectFailed:
    with pytest.raises(ConnectFailed) as caught:
        await connecting
    assert caught.value.kind is FailureKind.TIMEOUT
    return caught.value


async def test_silent_process_gets_ten_seconds_to_start(stage: Stage) -> None:
    time = LoopTime()
    connecting = await begin(stage)
    await time.advance(24.9)
    assert not connecting.done()
    await time.advance(0.2)
    assert "Timed out after 25 s" in (await failure(connecting)).summary


async def test_timeout_counts_from_the_first_output(stage: Stage) -> None:
    time = LoopTime()
    connecting = await begin(stage)
    await time.advance(3)
    stage.wire.write_stderr([b"starting"])
    await time.advance(4)
    stage.wire.write_stderr([b"still starting"])
    await time.advance(10.9)
    assert not connecting.done()
    await time.advance(0.2)
    assert "Timed out after 18 s" in (await failure(connecting)).summary


async def test_ignored_probe_does_not_shorten_the_time_for_initialize(stage: Stage) -> None:
    time = LoopTime()
    stage.negotiation = lambda: ProbeFirst(PROFILE, over_http=False)
    connecting = await begin(stage)
    stage.wire.write_stderr([b"ready"])
    await time.advance(5.1)
    assert (await stage.wire.next())["method"] == "initialize"
    await time.advance(14.8)
    assert not connecting.done()
    await time.advance(0.3)
    assert "Timed out after 20.1 s" in (await failure(connecting)).summary


async def test_short_timeout_also_shortens_the_time_to_start(stage: Stage) -> None:
    time = LoopTime()
    connecting = stage.start(stage.session.connect(timeout=2))
    await stage.wire_next()
    stage.wire.start_process()
    await time.advance(4.1)
    assert "Timed out after 4 s" in (await failure(connecting)).summary


async def test_url_gets_no_time_to_start(stage: Stage) -> None:
    time = LoopTime()
    stage.set_route(is_process=False)
    connecting = stage.start(stage.session.connect())
    await stage.wire_next()
    await time.advance(15.1)
    assert "Timed out after 15 s" in (await failure(connecting)).summary
    assert not stage.session.state.can_wait_longer


@pytest.mark.parametrize(
    ("installer", "hint"),
    [
        ("npx", "npx may be downloading the package."),
        ("uvx", "uvx may be downloading the package."),
        ("docker", "docker may be downloading the image."),
        ("", ""),
    ],
)
async def test_slow_start_is_explained_and_the_user_can_wait_longer(
    stage: Stage, installer: str, hint: str
) -> None:
    time = LoopTime()
    stage.set_route(installer=installer)
    connecting = await begin(stage)
    await time.advance(4.9)
    assert not stage.session.state.can_wait_longer
    await time.advance(0.2)
    state = stage.session.state
    assert state.status is Status.CONNECTING
    assert state.can_wait_longer
    assert state.next_step == f"{hint} MCP Lens waits 25 s in total.".lstrip()
    assert stage.session.wait_longer(120)
    assert "MCP Lens waits 125.1 s in total." in stage.session.state.next_step
    await time.advance(119)
    assert not connecting.done()
    await time.advance(1.1)
    error = await failure(connecting)
    assert hint in error.next_step
    assert "ait longer" in error.next_step
    assert stage.session.state.can_wait_longer


async def test_there_is_nothing_to_wait_for_without_a_connection_attempt(connected: Stage) -> None:
    assert not connected.session.wait_longer(120)
    assert not connected.session.state.can_wait_longer


async def test_first_output_after_waiting_longer_does_not_shorten_the_wait(stage: Stage) -> None:
    time = LoopTime()
    connecting = await begin(stage)
    stage.session.wait_longer(120)
    await time.advance(60)
    stage.wire.write_stderr([b"npm warn deprecated"])
    await time.advance(50)
    assert not connecting.done()
    await time.advance(10.1)
    assert "Timed out after 120 s" in (await failure(connecting)).summary


async def test_restarted_process_gets_the_time_to_start_again(stage: Stage) -> None:
    time = LoopTime()
    stage.negotiation = lambda: ProbeFirst(PROFILE, over_http=False)
    connecting = await begin(stage)
    await time.advance(4)
    stage.wire.end()
    await time.advance(0)
    assert (await stage.wire.next())["method"] == "initialize"
    stage.wire.start_process()
    await time.advance(24.9)
    assert not connecting.done()
    await time.advance(0.2)
    assert "Timed out after 29 s" in (await failure(connecting)).summary

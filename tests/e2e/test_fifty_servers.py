"""Fifty servers at once, 22 of them broken in different ways: real processes and sockets."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from time import thread_time

import psutil
import pytest

from inspector.config.servers.entries import Entry, HttpEntry, SecretRef, StdioEntry
from inspector.config.servers.server_list import ServerListFile
from inspector.engine.engine import Engine
from inspector.engine.server_view import ServerView
from inspector.engine.views import ServerStatus
from tests.helpers import httpfaults as faults
from tests.helpers.certificates import Authority
from tests.helpers.fakes import LoopTime
from tests.helpers.httpfaults import FaultServer
from tests.helpers.servers import Lab, fault_entry, gone, server_views, shell_entry, timeouts

GOOD_PROCESSES, GOOD_URLS = 20, 8
LIMIT = 60.0  # of one connecting; fifty processes start on two cores
_SILENT = ("waiting for the response", "Timed out")  # among the broken servers
_OVER = (ServerStatus.CONNECTED, ServerStatus.FAILED, ServerStatus.NEEDS_LOGIN)


def broken_commands(folder: Path) -> dict[str, Entry]:
    """Return broken commands by a text that explains each."""
    plain, no_shebang, no_interpreter = folder / "plain", folder / "noshebang", folder / "nointerpreter"
    plain.write_text("#!/bin/sh\n")
    no_shebang.write_text("echo hello\n")
    no_interpreter.write_text("#!/no/such/interpreter\n")
    no_shebang.chmod(0o755)
    no_interpreter.chmod(0o755)
    here = str(folder)
    return {
        "not found on PATH": StdioEntry(name="", command="lens-no-such-command"),
        "is not executable": StdioEntry(name="", command=str(plain)),
        "is a folder": StdioEntry(name="", command=here),
        "File not found": StdioEntry(name="", command=f"{here}/none"),
        "working directory": fault_entry(cwd=f"{here}/none"),
        "needs an interpreter": StdioEntry(name="", command=str(no_interpreter)),
        "is not an executable": StdioEntry(name="", command=str(no_shebang)),
        "exited with code 3": shell_entry("exit 3"),
        "SIGKILL": shell_entry("kill -9 $$"),
        "waiting for the response": fault_entry("silent"),
        "exited with code 0": shell_entry("echo this is no server"),
        "LENS_NOT_SET is not set": fault_entry(env={"A": "${LENS_NOT_SET}"}),
        "The secret": StdioEntry(name="", command="x", env={"A": SecretRef("env/x/A")}),
    }


async def broken_urls(folder: Path, stack: contextlib.AsyncExitStack) -> dict[str, Entry]:
    async def behaving(*every: faults.Fault) -> str:
        server = await stack.enter_async_context(FaultServer())
        for key in ("initialize", "server/discover", "GET", "POST"):
            server.order(key, *every * 10)
        return server.url()

    refused = await stack.enter_async_context(FaultServer())
    refused_url = refused.url()
    await refused.stop()
    never = asyncio.Event()
    secure = await stack.enter_async_context(FaultServer(tls=Authority(folder).server("localhost")))
    return {
        "Connection refused": HttpEntry(name="", url=refused_url, type="http"),
        "404": HttpEntry(name="", url=await behaving(faults.replies(404)), type="http"),
        "500": HttpEntry(name="", url=await behaving(faults.replies(500, b"boom")), type="http"),
        "401": HttpEntry(name="", url=await behaving(faults.replies(401)), type="http"),
        "text/html": HttpEntry(
            name="", url=await behaving(faults.replies(200, faults.HTML, "text/html")), type="http"
        ),
        "lens-unknown.invalid": HttpEntry(name="", url="http://lens-unknown.invalid/mcp", type="http"),
        "certificate": HttpEntry(name="", url=secure.url("localhost"), type="http"),
        "Timed out": HttpEntry(name="", url=await behaving(faults.after(never)), type="http"),
        "dropped the connection": HttpEntry(name="", url=await behaving(faults.drops()), type="http"),
    }


@pytest.fixture
async def lab(tmp_path: Path) -> AsyncIterator[Lab]:
    settings = timeouts(LIMIT, LIMIT)
    lab = Lab(engine=Engine(ServerListFile(tmp_path / "servers.json"), settings))
    yield lab
    await lab.engine.close()


async def longest_gap(until: asyncio.Event) -> float:
    """Return the longest time that the loop was busy with one thing.

    Counts our own processor time: the load of the machine does not matter.
    """
    max_length = 0.0
    while not until.is_set():
        before = thread_time()
        await asyncio.sleep(0.01)
        max_length = max(max_length, thread_time() - before)
    return max_length


async def test_fifty_servers_connect_at_once_and_each_failure_is_explained(lab: Lab, tmp_path: Path) -> None:
    children = {child.pid for child in psutil.Process().children(recursive=True)}
    async with contextlib.AsyncExitStack() as stack:
        broken = {**broken_commands(tmp_path), **await broken_urls(tmp_path, stack)}
        good: list[Entry] = [fault_entry(name=f"process {number}") for number in range(GOOD_PROCESSES)]
        for number in range(GOOD_URLS):
            server = await stack.enter_async_context(FaultServer())
            good.append(HttpEntry(name=f"url {number}", url=server.url()))
        entries = [*(replace(entry, name=word) for word, entry in broken.items()), *good]
        assert len(entries) == 50
        assert len(broken) == 22
        for entry in entries:
            lab.engine.servers.save(replace(entry, auto_connect=True))

        await lab.engine.servers.connector.connect("url 0")  # what is imported then is imported once a run
        await lab.engine.servers.connector.disconnect("url 0")
        done = asyncio.Event()
        gap = asyncio.get_running_loop().create_task(longest_gap(done))
        assert len(lab.engine.servers.connector.connect_at_start()) == 50
        await until_all_are_over(lab, but=_SILENT)
        done.set()
        assert {lab.view(name).status for name in _SILENT} == {ServerStatus.CONNECTING}, (
            "others waited for them"
        )
        time = LoopTime()
        await time.advance(LIMIT)
        await time.advance(LIMIT)  # the silent process has ignored the probe, and its timeout starts again
        time.go_on()
        await until_all_are_over(lab)

        views = {view.name: view for view in server_views(lab.engine)}
        assert {
            entry.name for entry in good if views[entry.name].status is not ServerStatus.CONNECTED
        } == set()
        unexplained = {word: f"{views[word].status.value}: {views[word].reason}" for word in broken}
        assert {word: text for word, text in unexplained.items() if not explains(views[word], word)} == {}
        assert all(views[word].next_step for word in broken)
        assert await gap < 1, "the loop was blocked"

        pids = [view.pid for view in views.values() if view.pid is not None]
        assert len(pids) >= GOOD_PROCESSES
        assert await lab.text("echo", name="process 0", text="hello") == "hello"
        await lab.engine.close()
        await gone(*pids)
    left = {child.pid for child in psutil.Process().children(recursive=True)} - children
    await gone(*left)


def explains(view: ServerView, word: str) -> bool:
    reported = f"{view.reason} {view.next_step}"
    return view.status in (ServerStatus.FAILED, ServerStatus.NEEDS_LOGIN) and word in reported


async def until_all_are_over(lab: Lab, but: tuple[str, ...] = ()) -> None:
    """Wait until every server is connected or failed; an idle one has not started yet."""
    while any(view.status not in _OVER for view in server_views(lab.engine) if view.name not in but):
        await lab.changed()


async def test_one_of_many_servers_can_be_stopped_while_the_others_keep_running(lab: Lab) -> None:
    for number in range(5):
        lab.engine.servers.save(replace(fault_entry("silent", name=f"slow {number}"), auto_connect=True))
    lab.engine.servers.save(replace(fault_entry(name="good"), auto_connect=True))
    lab.engine.servers.connector.connect_at_start()
    await lab.until(ServerStatus.CONNECTED, "good")
    await lab.engine.servers.connector.disconnect("slow 3")
    statuses = {view.name: view.status for view in server_views(lab.engine)}
    assert statuses.pop("slow 3") is ServerStatus.IDLE
    assert statuses.pop("good") is ServerStatus.CONNECTED
    assert set(statuses.values()) == {ServerStatus.CONNECTING}
    for view in server_views(lab.engine):
        await lab.engine.servers.connector.disconnect(view.name)
    assert {view.status for view in server_views(lab.engine)} == {ServerStatus.IDLE}

"""Doctor on an engine: at most one check per server."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from inspector.base.errors import ConfigError
from inspector.config.servers.entries import BearerSettings, HttpEntry, NetworkSettings, SecretRef, StdioEntry
from inspector.config.servers.server_list import ServerListFile
from inspector.engine.doctor.check_run import apply_fix
from inspector.engine.doctor.results import (
    Action,
    ActionKind,
    CheckReport,
    CheckResult,
    CheckState,
    Diagnosis,
)
from inspector.engine.engine import Engine
from tests.helpers.certificates import Authority
from tests.helpers.platforms import is_owner_only
from tests.helpers.servers import Lab, fault_entry, timeouts
from tests.unit.engine.doctor.broken_hosts import Broken, with_tools
from tests.unit.engine.doctor.doctor_stage import make_program
from tests.unit.engine.doctor.self_signed import self_signed


@pytest.fixture
async def engine(tmp_path: Path) -> AsyncIterator[Engine]:
    server_list = ServerListFile(tmp_path / "config" / "servers.json")
    engine = Engine(server_list, settings=timeouts(5, 5))
    yield engine
    await engine.close()


async def test_every_step_is_reported_as_running_and_then_with_its_result(lab: Lab) -> None:
    views: list[CheckReport] = []
    lab.engine.doctor.changed.connect(views.append)
    lab.engine.servers.add(fault_entry())
    last = await lab.engine.doctor.check("srv")
    assert last is views[-1]
    assert not last.is_running
    assert last.diagnoses == ()
    assert {result.state for result in last.results} == {CheckState.OK}
    running = {
        each.results[-1].id for each in views if each.results and each.results[-1].state is CheckState.RUNNING
    }
    assert {"command", "runtime", "started", "output", "list"} <= running
    assert views[0].is_running


async def test_existing_connection_is_not_affected(lab: Lab) -> None:
    await lab.connect()
    pid = lab.view().pid
    await lab.engine.doctor.check("srv")
    assert lab.view().pid == pid
    assert await lab.text("echo", text="still here") == "still here"


async def test_check_can_be_cancelled_and_says_so(lab: Lab) -> None:
    lab.engine.servers.add(fault_entry("silent"))
    waiting = asyncio.Event()

    def watch(view: CheckReport) -> None:
        if any(result.id == "output" for result in view.results):
            waiting.set()

    lab.engine.doctor.changed.connect(watch)
    await lab.engine.doctor.start("srv")
    await waiting.wait()
    await lab.engine.doctor.stop("srv")
    view = lab.engine.doctor.view("srv")
    assert view is not None
    assert view.is_stopped
    assert not view.is_running
    assert all(result.state is not CheckState.RUNNING for result in view.results)


async def test_new_check_replaces_the_running_one(lab: Lab) -> None:
    lab.engine.servers.add(fault_entry())
    await lab.engine.doctor.start("srv")
    view = await lab.engine.doctor.check("srv")
    assert len(view.results) == 11
    assert not view.is_stopped


async def test_a_removed_server_is_forgotten(lab: Lab) -> None:
    lab.engine.servers.add(fault_entry("silent"))
    await lab.engine.doctor.start("srv")
    await lab.engine.servers.remove("srv")
    assert lab.engine.doctor.view("srv") is None
    with pytest.raises(ConfigError):
        await lab.engine.doctor.start("srv")


async def test_stored_secrets_reach_the_server_and_not_the_report(engine: Engine, tmp_path: Path) -> None:
    await engine.secrets.put("env/srv/WORD", "swordfish-in-the-store")
    script = make_program(
        tmp_path, "server", "sys.stderr.write('got ' + os.environ['WORD'] + '\\n'); sys.exit(4)"
    )
    engine.servers.add(StdioEntry(name="srv", command=str(script), env={"WORD": SecretRef("env/srv/WORD")}))
    view = await engine.doctor.check("srv")
    assert view.failure is not None
    assert view.failure.evidence == ("got •••",)
    text = await engine.doctor.text("srv")
    assert "swordfish" not in text
    assert "[XX] MCP handshake" in text
    assert text.index("Failed at") < text.index("Next step:") < text.index("[ok] Settings")


async def test_missing_bearer_token_is_a_settings_problem(engine: Engine) -> None:
    async with Broken(with_tools) as server:
        auth = BearerSettings(token=SecretRef("bearer/srv"))
        engine.servers.add(HttpEntry(name="srv", url=server.url(), auth=auth))
        view = await engine.doctor.check("srv")
    assert view.failure is not None
    assert (view.failure.id, view.failure.step) == ("settings-unusable", "settings")
    assert all(result.state is not CheckState.RUNNING for result in view.results)


async def test_internal_error_ends_the_check_and_is_reported(
    lab: Lab, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(*args: object) -> None:
        raise KeyError("oops")

    monkeypatch.setattr("inspector.engine.doctor.process_check.inspect_program", broken)
    lab.engine.servers.add(fault_entry())
    view = await lab.engine.doctor.check("srv")
    assert not view.is_running
    assert view.failure is not None
    assert view.failure.id == "doctor-failed"
    assert "oops" in caplog.text


async def test_report_text_without_a_check_is_refused(lab: Lab) -> None:
    lab.engine.servers.add(fault_entry())
    with pytest.raises(ConfigError, match="has not been checked yet"):
        await lab.engine.doctor.text("srv")


async def test_trusted_certificate_is_saved_with_the_server_and_lets_it_connect(
    engine: Engine, tmp_path: Path
) -> None:
    async with Broken(with_tools, tls=self_signed(tmp_path)) as server:
        engine.servers.save(HttpEntry(name="srv", url=server.url()))
        view = await engine.doctor.check("srv")
        assert view.failure is not None
        assert view.failure.action is not None
        await engine.doctor.apply("srv", view.failure.action)
        await engine.servers.connector.connect("srv")
        await engine.servers.connector.disconnect("srv")
        again = await engine.doctor.check("srv")
    assert again.failure is None
    entry = ServerListFile(tmp_path / "config" / "servers.json").find("srv")
    assert isinstance(entry, HttpEntry)
    assert Path(entry.network.ca_file).parent == tmp_path / "config" / "certificates"


async def test_only_the_most_recently_offered_remedy_is_applied(engine: Engine) -> None:
    engine.servers.add(HttpEntry(name="srv", url="http://127.0.0.1:9/mcp"))
    with pytest.raises(ConfigError, match="not Doctor's latest result"):
        await engine.doctor.apply("srv", Action(ActionKind.USE_URL, "Use URL", "https://evil.example/"))
    assert engine.servers.entry("srv") == HttpEntry(name="srv", url="http://127.0.0.1:9/mcp")


async def test_better_url_is_used_after_confirmation(engine: Engine) -> None:
    async with Broken(with_tools) as server:
        engine.servers.add(HttpEntry(name="srv", url=f"http://[::1]:{server.port}/mcp"))
        view = await engine.doctor.check("srv")
        assert view.failure is not None
        assert view.failure.action is not None
        await engine.doctor.apply("srv", view.failure.action)
        assert (await engine.doctor.check("srv")).failure is None


def test_certificates_trusted_by_the_ca_file_stay_trusted(tmp_path: Path) -> None:
    first, second = Authority(tmp_path, "First"), Authority(tmp_path, "Second")
    pem = Path(second.ca_file).read_text()
    entry = HttpEntry(name="a/b", url="https://h/", network=NetworkSettings(ca_file=first.ca_file))
    action = Action(ActionKind.TRUST_CERTIFICATE, "Trust", pem)
    after = apply_fix(entry, action, tmp_path / "certificates")
    assert isinstance(after, HttpEntry)
    kept = Path(after.network.ca_file)
    assert kept.read_text() == Path(first.ca_file).read_text().rstrip() + "\n" + pem.strip() + "\n"
    assert kept.parent == tmp_path / "certificates"
    assert is_owner_only(kept)


def test_inapplicable_remedies_are_rejected(tmp_path: Path) -> None:
    http, command = HttpEntry(name="s", url="http://h/x", era="2024-11-05"), StdioEntry(name="s", command="c")
    assert apply_fix(http, Action(ActionKind.USE_AUTO_ERA, ""), None).era == "auto"
    continued = apply_fix(http, Action(ActionKind.CONTINUE_AS, "", "2025-11-25"), None)
    assert continued.continue_as == "2025-11-25"
    sse = apply_fix(http, Action(ActionKind.USE_SSE, "", "http://h/sse"), None)
    assert isinstance(sse, HttpEntry)
    assert (sse.url, sse.type) == ("http://h/sse", "sse")
    for action in (
        Action(ActionKind.TRUST_CERTIFICATE, "", "no certificate"),
        Action(ActionKind.USE_URL, "", "javascript:alert(1)"),
        Action(ActionKind.LOG_IN, ""),
    ):
        with pytest.raises(ConfigError):
            apply_fix(http, action, tmp_path)
    with pytest.raises(ConfigError):
        apply_fix(command, Action(ActionKind.USE_URL, "", "http://h/"), tmp_path)


async def test_variables_in_an_untrusted_server_are_neither_errors_nor_expanded(engine: Engine) -> None:
    for entry in (
        HttpEntry(name="found", url="https://${HOME}/mcp"),
        StdioEntry(name="found", command="${HOME}/run"),
    ):
        items = [item async for item in engine.doctor.check_untrusted(entry)]
        assert isinstance(items[-1], Diagnosis)
        assert items[-1].id == "not-trusted"
        assert all(isinstance(item, CheckResult) for item in items[:-1])
        assert str(Path.home()) not in repr(items)


async def test_untrusted_server_is_inspected_only(engine: Engine) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        listening.setblocking(False)
        url = f"http://127.0.0.1:{listening.getsockname()[1]}/mcp"
        items = [item async for item in engine.doctor.check_untrusted(HttpEntry(name="found", url=url))]
        with pytest.raises(BlockingIOError):  # no connection was made
            listening.accept()
    assert isinstance(items[-1], Diagnosis)
    assert items[-1].id == "not-trusted"

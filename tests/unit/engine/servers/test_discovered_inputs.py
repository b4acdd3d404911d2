"""Inputs of servers in other clients' files: who receives a stored value, and what it may decide."""

from __future__ import annotations

import json
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from inspector.base.errors import ConfigError
from inspector.base.json.values import JSONObject
from inspector.engine.servers.views import Trust
from tests.helpers.servers import ARGV, fault_entry
from tests.unit.engine.servers.discovery_stage import Harness, fault, touching

WITH_KEY = fault(env={"KEY": "${input:key}"})


@pytest.fixture
async def harness(tmp_path: Path) -> AsyncIterator[Harness]:
    harness = Harness(tmp_path)
    yield harness
    await harness.lab.engine.close()


async def environment(harness: Harness, name: str = "srv") -> dict[str, str]:
    """Return the environment variables of the server's real process."""
    await harness.lab.engine.servers.connector.connect(name)
    variables: dict[str, str] = json.loads(await harness.lab.text("environment", name))
    return variables


async def stored(harness: Harness) -> list[str]:
    return [each.name for each in await harness.lab.engine.secrets.stored() if each.name.startswith("input/")]


def in_folder(folder: Path, **servers: JSONObject) -> Path:
    folder.mkdir(exist_ok=True)
    (folder / ".mcp.json").write_text(json.dumps({"mcpServers": servers}))
    return folder


async def test_input_of_one_project_is_not_sent_to_another_projects_server(
    harness: Harness, tmp_path: Path
) -> None:
    """Threat: a repository defines a server with the name and input id of a server that has a stored key."""
    harness.write(srv=WITH_KEY)
    await harness.trust(key="k3y-of-the-first")
    assert (await environment(harness))["KEY"] == "k3y-of-the-first"
    await harness.lab.engine.servers.connector.disconnect("srv")

    other = in_folder(tmp_path / "other", srv=WITH_KEY)
    await harness.found.scan(other)
    view = await harness.trust()
    assert (view.server, view.folder) == ("srv", str(other))
    with pytest.raises(ConfigError, match="the input “key” has no value"):
        await harness.lab.engine.servers.connector.connect("srv")

    await harness.found.scan(harness.folder)
    assert (await environment(harness))["KEY"] == "k3y-of-the-first"


async def test_input_is_not_sent_after_the_url_changed(harness: Harness) -> None:
    harness.write(srv={"url": "http://127.0.0.1:9/mcp", "headers": {"X-Key": "${input:key}"}})
    await harness.trust(key="k3y")
    harness.write(srv={"url": "http://127.0.0.1:9/other", "headers": {"X-Key": "${input:key}"}})
    await harness.trust()
    with pytest.raises(ConfigError, match="the input “key” has no value"):
        await harness.lab.engine.servers.connector.connect("srv")
    assert await stored(harness) == []  # the value for the old URL is deleted


async def test_input_stays_when_only_the_program_is_new(harness: Harness) -> None:
    script = harness.folder / "server.py"
    script.write_text(f"import runpy; runpy.run_path({ARGV[-1]!r}, run_name='__main__')\n")
    harness.write(srv={"command": sys.executable, "args": [str(script)], "env": {"KEY": "${input:key}"}})
    await harness.trust(key="k3y")
    script.write_text(f"{script.read_text()}# version 2\n")
    assert (await harness.scan()).trust is Trust.CHANGED
    await harness.trust()
    assert (await environment(harness))["KEY"] == "k3y"


async def test_input_of_the_users_own_server_is_not_sent_to_a_discovered_one(harness: Harness) -> None:
    """Threat: the value of a server in the server list; another list is in use, so the name is free."""
    await harness.lab.engine.secrets.put("input/srv/key", "of my own server")
    harness.write(srv=WITH_KEY)
    await harness.trust()
    with pytest.raises(ConfigError, match="the input “key” has no value"):
        await harness.lab.engine.servers.connector.connect("srv")


async def test_imported_copy_does_not_get_a_value_stored_under_its_name(harness: Harness) -> None:
    await harness.lab.engine.secrets.put("input/srv/key", "of a server that had this name")
    harness.write(srv=WITH_KEY)
    view = await harness.scan()
    await harness.found.import_(view.id, view.seen)
    with pytest.raises(ConfigError, match="the input “key” has no value"):
        await harness.lab.engine.servers.connector.connect("srv")


async def test_stored_inputs_of_own_servers_still_work(harness: Harness) -> None:
    await harness.lab.engine.secrets.put("input/mine/key", "k3y")  # the name in all earlier versions
    harness.lab.engine.servers.add(fault_entry(name="mine", env={"KEY": "${input:key}"}))
    assert (await environment(harness, "mine"))["KEY"] == "k3y"


async def test_new_value_of_a_discovered_servers_input_is_used(harness: Harness) -> None:
    harness.write(srv=WITH_KEY)
    await harness.trust(key="old")
    await harness.lab.engine.servers.set_secrets("srv", (), {"input:key": "new"})
    assert (await environment(harness))["KEY"] == "new"


async def test_duplicate_of_a_discovered_server_has_its_inputs(harness: Harness) -> None:
    harness.write(srv=WITH_KEY)
    await harness.trust(key="k3y")
    await harness.lab.engine.servers.duplicate("srv", "copy")
    assert (await environment(harness, "copy"))["KEY"] == "k3y"


async def test_inputs_are_deleted_with_the_trust_even_if_the_file_changed(harness: Harness) -> None:
    harness.write(srv=WITH_KEY)
    view = await harness.trust(key="k3y")
    harness.write(srv={**WITH_KEY, "args": ["other.py"]})
    await harness.found.scan()
    await harness.found.forget(view.id)
    assert await stored(harness) == []


@pytest.mark.parametrize(
    ("members", "label"),
    [
        ({"command": "/opt/${input:where}/server"}, "command"),
        ({"command": "python3", "cwd": "${input:where}"}, "working directory"),
        ({"command": "python3", "env": {"PATH": "${input:where}:/bin"}}, "PATH"),
    ],
)
async def test_input_that_decides_which_program_starts_cannot_be_trusted(
    harness: Harness, members: JSONObject, label: str
) -> None:
    harness.write(srv=members)
    view = await harness.scan()
    assert view.problem.startswith(f"Its {label} contains ${{input:where}}")
    assert view.is_importable
    with pytest.raises(ConfigError, match="cannot check which program it starts"):
        await harness.found.trust(view.id, view.seen, (), {"where": "/usr/bin"})
    assert harness.lab.engine.servers.all() == ()


async def test_program_swapped_behind_an_input_after_the_approval_is_not_started(
    harness: Harness, tmp_path: Path
) -> None:
    """Threat: the folder of a program is an input, so the approval holds no hash of the program."""
    tools, marker = tmp_path / "tools", tmp_path / "marker"
    tools.mkdir()
    program = tools / "server"
    program.write_text("#!/bin/sh\nexit 1\n")
    program.chmod(0o700)
    harness.write(srv={"command": f"{tmp_path}/${{input:folder}}/server"})
    view = await harness.scan()
    with pytest.raises(ConfigError, match="cannot check which program it starts"):
        await harness.found.trust(view.id, view.seen, (), {"folder": "tools"})
    program.write_text(f"#!/bin/sh\ntouch {marker}\n")
    with pytest.raises(ConfigError, match="No server named"):
        await harness.lab.engine.servers.connector.connect("srv")
    assert not marker.exists()


@pytest.mark.parametrize("args", [["${input:script}"], ["-m", "${input:script}"]])
async def test_script_named_by_an_input_is_not_started(
    harness: Harness, tmp_path: Path, args: list[str]
) -> None:
    """Threat: the script in an argument is an input, so the approval holds no hash of the script."""
    marker = tmp_path / "marker"
    script = harness.folder / "server.py"
    script.write_text(f"open({str(marker)!r}, 'w')")
    value = "server" if args[0] == "-m" else "server.py"
    harness.write(srv={"command": sys.executable, "args": list(args)})
    view = await harness.scan()
    with pytest.raises(
        ConfigError, match=r"would start .*server\.py, which is not part of what you reviewed"
    ):
        await harness.found.trust(view.id, view.seen, (), {"script": value})

    await harness.found.trust(view.id, view.seen)  # the value comes later
    await harness.lab.engine.servers.set_secrets("srv", (), {"input:script": value})
    with pytest.raises(ConfigError, match="not part of what you reviewed"):
        await harness.lab.engine.servers.connector.connect("srv")
    assert not marker.exists()


async def test_input_that_is_only_an_argument_is_passed_on(harness: Harness, tmp_path: Path) -> None:
    marker = tmp_path / "marker"
    harness.write(srv=touching(marker, "--token", "${input:token}"))
    await harness.trust(token="t0ken")
    with pytest.raises(Exception, match="exited"):
        await harness.lab.engine.servers.connector.connect("srv")
    assert marker.read_text() == "['--token', 't0ken']"

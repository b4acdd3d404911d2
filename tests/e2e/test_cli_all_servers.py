"""Commands that use the server list: all servers at once, qualified tool names, counts, definitions."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from inspector.cli.main import main
from inspector.config.paths import baselines_path
from inspector.config.servers.server_list import ServerListFile
from inspector.engine.drift.baseline import Baseline, baseline_path, identity_of, write_baseline
from tests.e2e.cli_process import script

Run = Callable[..., tuple[int, str, str]]

_SERVER = """
tools = json.loads(sys.argv[1])
for message in requests(**{"tools/list": {"tools": tools}}):
    name = message["params"]["name"]
    send({"id": message["id"], "result": {"content": [{"type": "text", "text": "called " + name}]}})
"""

_EXACT = """
schema = '{"type": "object", "properties": {"x": {"type": "number", "minimum": 0.10}}}'
for message in requests():
    tools = '[{"name": "t", "inputSchema": %s}]' % schema
    print('{"jsonrpc": "2.0", "id": %d, "result": {"tools": %s}}' % (message["id"], tools), flush=True)
"""


def entry(*tools: dict[str, Any]) -> dict[str, Any]:
    command = [*script(_SERVER), json.dumps(tools)][1:]
    return {"command": command[0], "args": command[1:], "era": "2025-06-18"}


def tool(name: str, **schema: Any) -> dict[str, Any]:
    return {"name": name, "description": f"About {name}.", "inputSchema": {"type": "object", **schema}}


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Run a command line in this process with a server list."""
    for variable in ("XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    servers = {
        "my server": entry(tool("add"), tool("a.b")),
        "other": entry(tool("add")),
        "off": {"command": "/nonexistent", "enabled": False},
    }
    path = tmp_path / "servers.json"
    path.write_text(json.dumps({"mcpServers": servers}))

    def run_here(*words: str, **more: dict[str, Any]) -> tuple[int, str, str]:
        if more:
            path.write_text(json.dumps({"mcpServers": servers | more}))
        code = main([*words, "--config", str(path)])
        return code, *capsys.readouterr()

    return run_here


def test_tools_of_all_servers_are_listed_with_their_server(run: Run) -> None:
    code, out, err = run("list", "tools", "--all")
    assert (code, err) == (0, "")
    assert out == "my server  add  About add.\nmy server  a.b  About a.b.\nother      add  About add.\n"


def test_a_server_that_fails_does_not_hide_the_others(run: Run) -> None:
    code, out, err = run("list", "tools", "--all", "--format", "json", broken={"command": "/nonexistent/x"})
    lists = json.loads(out)
    assert [each["server"] for each in lists] == ["my server", "other", "broken"]
    assert [each["name"] for each in lists[0]["tools"]] == ["add", "a.b"]
    assert "/nonexistent/x" in lists[2]["error"]
    assert code == 2
    assert err.startswith("mcp-lens: broken: ")


def test_a_server_without_the_capability_counts_as_empty(run: Run) -> None:
    code, out, err = run("list", "prompts", "--all")
    assert (code, out) == (0, "")
    assert "The servers have no prompts." in err


def test_all_servers_cannot_be_combined_with_one(run: Run) -> None:
    assert "More than one server specified" in run("list", "tools", "--all", "--server", "other")[2]
    assert "apply only to a single server" in run("list", "tools", "--all", "--env", "A=1")[2]


def test_tools_are_printed_as_definitions_with_exact_numbers(run: Run) -> None:
    command = script(_EXACT)[1:]
    exact = {"command": command[0], "args": command[1:], "era": "2025-06-18"}
    code, out, err = run("list", "tools", "--as", "anthropic", "--server", "exact", exact=exact)
    assert (code, err) == (0, "")
    assert '"minimum": 0.10\n' in out
    assert json.loads(out)[0]["name"] == "mcp__exact__t"


def test_definitions_of_all_servers_have_unique_qualified_names(run: Run) -> None:
    code, out, _ = run("list", "tools", "--as", "openai", "--all")
    assert code == 0
    names = [each["function"]["name"] for each in json.loads(out)]
    assert names == ["mcp__my_server__add", "mcp__my_server__a_b", "mcp__other__add"]


def test_definitions_are_refused_for_other_lists(run: Run) -> None:
    code, _, err = run("list", "prompts", "--as", "mcp", "--server", "other")
    assert code == 64
    assert "--as applies only to tools" in err


def test_a_tool_is_called_by_its_qualified_name(run: Run) -> None:
    assert run("call", "mcp__my_server__a_b") == (0, "called a.b\n", "")
    assert run("call", "mcp__my_server__add", "--server", "my server")[1] == "called add\n"
    assert run("call", "mcp__my_server__raw.name", "--unlisted")[1] == "called raw.name\n"


def test_a_qualified_name_that_fits_no_server_or_several_is_refused(run: Run) -> None:
    code, _, err = run("call", "mcp__nowhere__add")
    assert code == 64
    assert "No server in " in err
    code, _, err = run("call", "mcp__my_server__add", **{"my.server": entry(tool("add"))})
    assert code == 64
    assert "Several servers fit the tool name 'mcp__my_server__add': 'my server', 'my.server'." in err


def test_a_qualified_name_that_fits_several_tools_is_refused(run: Run) -> None:
    code, _, err = run("call", "mcp__two__a_b_c", two=entry(tool("a.b_c"), tool("a_b.c")))
    assert code == 64
    assert "Several tools have the qualified name 'mcp__two__a_b_c': 'a.b_c', 'a_b.c'." in err


def test_an_unknown_tool_of_a_known_server_suggests_similar_names(run: Run) -> None:
    assert "Did you mean add?" in run("call", "mcp__other__ad")[2]


def test_findings_about_tools_are_on_stderr(run: Run) -> None:
    bad = entry(tool("a.b"), tool("a_b"), {"name": "bare"}, tool("x" * 60))
    code, out, err = run("list", "tools", "--server", "bad", bad=bad)
    assert code == 0
    assert "bare" in out
    assert "a.b: Its qualified name mcp__bad__a_b is also that of “a_b”" in err
    assert 'bare: "inputSchema" is missing.' in err
    assert "has 70 characters" in err


def test_servers_are_counted_only_when_asked_to_connect(run: Run) -> None:
    code, out, _ = run("servers")
    assert code == 0
    assert "connected" not in out
    code, out, _ = run("servers", "--connect")
    assert code == 0
    lines = out.splitlines()
    assert lines[0].endswith("  connected · 2 tools")
    assert lines[1].endswith("  connected · 1 tool")
    assert lines[2].endswith("/nonexistent  (disabled)")


def test_a_server_that_cannot_be_connected_is_reported(run: Run) -> None:
    code, out, _ = run("servers", "--connect", "--format", "json", broken={"command": "/nonexistent/x"})
    assert code == 2
    servers = {each["name"]: each for each in json.loads(out)}
    assert servers["other"]["counts"] == {"tools": 1}
    assert servers["broken"]["status"] == "failed"
    assert "/nonexistent/x" in servers["broken"]["error"]


def test_counts_of_the_baseline_are_shown_without_a_connection(run: Run, tmp_path: Path) -> None:
    known = ServerListFile(tmp_path / "servers.json").find("other")
    path = baseline_path(baselines_path(), "other", identity_of(known))
    path.parent.mkdir(parents=True)
    lists: dict[str, list[Any]] = {"tools": [{"name": "a"}, {"name": "b"}], "resources": [{"uri": "x:"}]}
    write_baseline(path, Baseline("other", identity_of(known), 1_700_000_000_000_000_000, lists))
    lines = run("servers")[1].splitlines()
    assert lines[1].endswith("  2 tools · 1 resource (baseline of 14 Nov 2023)")
    assert json.loads(run("servers", "other", "--format", "json")[1])[0]["countsFrom"] == "baseline"

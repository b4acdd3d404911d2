"""`list`, `call` and `demo` against real servers: output and exit codes.

Most tests run the command line in this process: starting Python and its HTTP client takes a second each
time.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from inspector.cli.main import main
from inspector.demo.servers import command
from tests.e2e.cli_process import CLI, FAULTY, run, script


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    """The `everything` server over HTTP, shared by all tests: its SDK takes a second to start."""
    with subprocess.Popen(
        command("everything", http=True), stdin=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as server:
        assert server.stderr is not None
        assert server.stdin is not None
        found = re.search(r"http://\S+", server.stderr.readline())
        assert found is not None
        yield found[0]
        server.stdin.close()


@dataclass(frozen=True)
class Done:
    returncode: int
    stdout: str
    stderr: str


Here = Callable[..., Done]


@pytest.fixture
def here(capsys: pytest.CaptureFixture[str]) -> Here:
    """Run a command line in this process."""

    def run_here(*words: str) -> Done:
        code = main(words)
        return Done(code, *capsys.readouterr())

    return run_here


def test_tools_are_listed_in_aligned_columns(url: str) -> None:
    done = run("list", "tools", "--url", url)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines()[0] == "echo                  Echo — Returns the message."


def test_resources_and_prompts_are_listed(here: Here, url: str) -> None:
    resources = here("list", "resources", "--url", url)
    assert "demo://readme       About this server — text/markdown\n" in resources.stdout
    prompts = here("list", "prompts", "--url", url)
    assert prompts.stdout.startswith("greet ")
    assert (resources.returncode, prompts.returncode) == (0, 0)


def test_tools_are_listed_with_the_permission_rules_of_claude_code(tmp_path: Path) -> None:
    settings = tmp_path / "work" / ".claude" / "settings.json"
    settings.parent.mkdir(parents=True)
    settings.write_text(json.dumps({"permissions": {"ask": ["mcp__script__*"], "allow": "mcp__script"}}))
    server = script("""
for request in requests(**{"tools/list": {"tools": [{"name": "good", "inputSchema": {"type": "object"}}]}}):
    pass
""")
    env = {"HOME": str(tmp_path), "CLAUDE_CONFIG_DIR": ""}
    done = run("list", "tools", "--permissions", *server, env=env, cwd=tmp_path / "work")
    assert done.stdout.splitlines() == [
        "good",
        "      Claude Code asks before every call of this tool.",
        f"      Rule: ask “mcp__script__*” in project settings, {settings}",
    ]
    assert done.stderr == f"mcp-lens: {settings}: “permissions.allow” must be a list.\n"
    assert done.returncode == 0
    done = run("list", "prompts", "--permissions", *server)
    assert (done.returncode, done.stderr) == (
        64,
        "mcp-lens: --permissions applies only to “list tools” as text. Remove it.\n",
    )


def test_list_as_json_is_the_array_the_server_sent() -> None:
    done = run("list", "tools", "--format", "json", *FAULTY)
    tools = json.loads(done.stdout)
    assert list(tools[0]) == ["name", "description", "inputSchema"]
    assert tools[0]["name"] == "echo"


def test_unusable_items_are_omitted_and_mentioned() -> None:
    server = script("""
tools = [{"name": "good", "inputSchema": {}}, {"title": "no name"}]
for request in requests(**{"tools/list": {"tools": tools}}):
    pass
""")
    done = run("list", "tools", "--format", "json", *server)
    assert json.loads(done.stdout) == [{"name": "good", "inputSchema": {}}]
    assert done.stderr == ('mcp-lens: Skipped 1 item with errors: "name" must be a non-empty string.\n')
    assert done.returncode == 0


@pytest.mark.parametrize("format", ["text", "json"])
def test_incomplete_list_is_printed_and_the_exit_code_says_so(format: str) -> None:
    server = script("""
for request in requests(**{"tools/list": {"tools": [{"name": "good", "inputSchema": {}}], "nextCursor": 7}}):
    pass
""")
    done = run("list", "tools", "--format", format, *server)
    assert "good" in done.stdout
    assert done.stderr == (
        "mcp-lens: The list of tools is incomplete: In the response to tools/list, "
        '"nextCursor" must be a string, not 7. This is a bug in the server. Its responses are in Traffic.\n'
    )
    assert done.returncode == 2


def test_tool_that_is_nested_too_deeply_is_omitted_and_mentioned() -> None:
    server = script("""
deep: dict = {}
for _ in range(2000):
    deep = {"properties": deep}
sys.setrecursionlimit(10_000)
schemas = {"good": {}, "deep": deep, "also": {}}
listed = {"tools": [{"name": name, "inputSchema": schema} for name, schema in schemas.items()]}
for request in requests(**{"tools/list": listed}):
    pass
""")
    done = run("list", "tools", *server)
    assert done.stdout.split() == ["good", "also"]
    assert done.stderr == "mcp-lens: Skipped 1 item with errors: “deep”: nested too deeply to parse.\n"
    assert done.returncode == 0


def test_configured_server_is_found_by_name(tmp_path: Path) -> None:
    server_list = tmp_path / "servers.json"
    entry = {"command": sys.executable, "args": ["-m", "inspector.demo", "faulty"]}
    server_list.write_text(json.dumps({"mcpServers": {"mine": entry}}))
    done = run("call", "--server", "mine", "echo", "--config", str(server_list), "message=found")
    assert (done.returncode, done.stdout) == (0, "found\n")


def test_values_are_sent_with_their_schema_types(here: Here, url: str) -> None:
    words = ["text=5", "--format", "text", "whole=7", "real=2", "flag=true"]
    done = here("call", "args_simple", *words, "--url", url)
    assert done.returncode == 0, done.stderr
    sent = json.loads(done.stdout.removeprefix("Received:\n"))
    assert sent == {"text": "5", "whole": 7, "real": 2, "flag": True}


def test_json_from_stdin_is_sent_with_key_overrides() -> None:
    done = run("call", "echo", "message=new", "--json", "-", *FAULTY, stdin='{"message": "old"}')
    assert (done.returncode, done.stdout) == (0, "new\n")


def test_json_result_is_complete_and_exact(here: Here, url: str) -> None:
    done = here(
        "call", "add_numbers", "a=123456789012345678901234567890", "b=1", "--format", "json", "--url", url
    )
    result = json.loads(done.stdout)
    assert result["structuredContent"] == {"sum": 123456789012345678901234567891}
    assert result["content"][0]["type"] == "text"


def test_every_content_type_has_a_text_form(here: Here, url: str) -> None:
    done = here("call", "return_mixed", "--url", url)
    assert done.stdout.splitlines() == [
        "One of each:",
        "[image image/png, 2.6 KiB]",
        "[audio audio/wav, 7.9 KiB]",
        "[resource link demo://readme, About this server, text/markdown]",
        "[resource demo://notes/embedded, text/markdown]",
        "# Embedded",
        "",
        "This came *inside* the result.",
    ]


def test_large_text_arrives_intact(here: Here, url: str) -> None:
    done = here("call", "large_text", "megabytes=5", "--url", url)
    assert len(done.stdout) in (5 * 1024 * 1024, 5 * 1024 * 1024 + 1)


@pytest.mark.parametrize("style", ["text", "json"])
def test_tool_error_is_printed_and_exits_with_1(here: Here, url: str, style: str) -> None:
    done = here("call", "fail", "message=No luck", "--format", style, "--url", url)
    assert done.returncode == 1
    assert done.stderr == "mcp-lens: The tool 'fail' reported an error.\n"
    text = json.loads(done.stdout)["content"][0]["text"] if style == "json" else done.stdout.rstrip()
    assert text == "No luck"


def test_tool_error_makes_the_process_exit_with_1() -> None:
    server = script("""
for request in requests(**{"tools/list": {"tools": [{"name": "fail"}]}}):
    send({"id": request["id"], "result": {"content": [], "isError": True}})
""")
    done = run("call", "fail", *server)
    assert (done.returncode, done.stdout) == (1, "")


SCHEMA = '{"type": "object", "properties": {"high": {"type": "number"}}, "required": ["high"]}'


def returning(result: str) -> list[str]:
    return script(f"""
for request in requests(**{{"tools/list": {{"tools": [{{"name": "look", "outputSchema": {SCHEMA}}}]}}}}):
    send({{"id": request["id"], "result": {result}}})
""")


def test_result_that_does_not_match_the_output_schema_is_printed_and_exits_with_3() -> None:
    done = run("call", "look", *returning('{"content": [], "structuredContent": {"high": "warm"}}'))
    assert (done.returncode, json.loads(done.stdout)) == (3, {"high": "warm"})
    assert done.stderr == (
        "mcp-lens: Structured content does not match the output schema in 1 place:\n"
        "•  /high: must be a number, got 'warm'\n"
    )


def test_result_without_the_promised_structured_content_exits_with_3() -> None:
    done = run("call", "look", *returning('{"content": [{"type": "text", "text": "21"}]}'))
    assert (done.returncode, done.stdout) == (3, "21\n")
    assert "The tool declares an outputSchema, but this result has no structured content." in done.stderr


def test_result_that_matches_the_output_schema_exits_with_0() -> None:
    done = run("call", "look", *returning('{"content": [], "structuredContent": {"high": 21}}'))
    assert (done.returncode, json.loads(done.stdout), done.stderr) == (0, {"high": 21}, "")


def test_tool_error_with_an_output_schema_still_exits_with_1() -> None:
    done = run("call", "look", *returning('{"content": [], "isError": True}'))
    assert (done.returncode, done.stderr) == (1, "mcp-lens: The tool 'look' reported an error.\n")


@pytest.mark.parametrize(
    ("result", "code", "text"),
    [
        ('{"foo": 1, "bar": 2}', 3, "No content; the result has: foo, bar."),
        ("{}", 3, "The result is empty: no content and no structured content."),
        ('{"content": [], "foo": 1}', 0, "No content; the result has: foo."),
    ],
)
def test_result_without_content_is_printed_as_json(result: str, code: int, text: str) -> None:
    done = run("call", "look", "--unlisted", *returning(result))
    assert (done.returncode, json.loads(done.stdout)) == (code, json.loads(result))
    assert done.stderr == f"mcp-lens: {text}\n"


def test_protocol_error_exits_with_2(here: Here, url: str) -> None:
    done = here("call", "protocol_error", "code=-32001", "--url", url)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (
        "mcp-lens: The server returned an error: -32001 (server error): Deliberate protocol error. "
        'Error data: {"demo":true} '
        "The server defines this error: check its message, its data and the server's log.\n"
    )


def test_invalid_arguments_exit_with_64(here: Here, url: str) -> None:
    wrong_value = here("call", "args_enum", "color=pink", "--url", url)
    assert wrong_value.returncode == 64
    assert '\'color\' must be one of "red", "green", "blue", got \'pink\'.' in wrong_value.stderr
    wrong_key = here("call", "args_enum", "colr=red", "--url", url)
    assert wrong_key.returncode == 64
    assert "has no argument 'colr'. Did you mean 'color'?" in wrong_key.stderr


def test_unknown_tool_is_not_called_and_similar_names_are_suggested() -> None:
    done = run("call", "ecko", *FAULTY)
    assert (done.returncode, done.stdout) == (64, "")
    assert done.stderr.startswith("mcp-lens: The server lists no tool 'ecko'. Did you mean echo?")


def test_unlisted_tool_is_called_on_request() -> None:
    done = run("call", "ecko", "--unlisted", *FAULTY)
    assert done.returncode == 2
    assert done.stderr == (
        "mcp-lens: The server returned an error: -32602 (invalid params): Unknown tool: ecko. "
        "Check the names and the arguments that were sent.\n"
    )


def test_command_receives_its_own_flags_and_variables_and_none_of_ours(tmp_path: Path) -> None:
    server = script("""
for request in requests(**{"tools/list": {"tools": [{"name": "look"}]}}):
    seen = json.dumps({"argv": sys.argv[1:], "env": [os.environ.get(name) for name in ("GIVEN", "SECRET")]})
    send({"id": request["id"], "result": {"content": [{"type": "text", "text": seen}]}})
""")
    flags = ["--format", "json", "--help", "--", "x=1"]
    done = run("call", "look", "--env", "GIVEN=yes", *server, *flags, env={"SECRET": "no"})
    assert json.loads(done.stdout) == {"argv": flags, "env": ["yes", None]}


def test_stderr_of_the_server_is_shown_on_request_only(here: Here) -> None:
    words = ["call", "no_answer", "--timeout", "0.2"]
    assert "This call will never get a response.\n" not in here(*words, *FAULTY).stderr
    assert "This call will never get a response.\n" in here(*words, "--stderr", *FAULTY).stderr


def test_demo_server_runs_in_process_and_accepts_requests() -> None:
    done = run("call", "echo", "message=hi", "--", *CLI, "demo", "faulty", "--fault", "banner")
    assert (done.returncode, done.stdout) == (0, "hi\n")

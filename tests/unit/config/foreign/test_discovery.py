"""Servers in the file formats of other tools, as each tool documents them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from inspector.config.foreign.discovery import (
    ConfigLocation,
    DiscoveredFile,
    DiscoveredServer,
    InputSpec,
    find_servers,
)
from inspector.config.servers.entries import HttpEntry, OAuthSettings, StdioEntry, WebSocketEntry


def _file(path: Path, text: str, format: str, tool: str, folder: Path | None = None) -> DiscoveredFile:
    path.write_text(text, encoding="utf-8")
    (file,) = find_servers([ConfigLocation(tool, "user", path, format, folder)]).files
    return file


def _servers(tmp_path: Path, text: str, format: str, tool: str) -> dict[str, DiscoveredServer]:
    file = _file(tmp_path / "file", text, format, tool)
    assert file.problem == ""
    return {server.name: server for server in file.servers}


def test_claude_code_config_has_commands_urls_and_logins(tmp_path: Path) -> None:
    servers = _servers(
        tmp_path,
        """{
          "mcpServers": {
            "files": {"type": "stdio", "command": "npx", "args": ["-y", "files", "${ROOT:-/tmp}"],
                      "env": {"K": "${K}"}},
            "web": {"type": "http", "url": "${BASE:-https://x.example}/mcp",
                    "headers": {"Authorization": "Bearer ${T}"}, "timeout": 90000,
                    "oauth": {"clientId": "abc", "callbackPort": 8080}},
            "old": {"type": "sse", "url": "https://x.example/sse", "headersHelper": "/bin/make-headers"},
            "socket": {"type": "ws", "url": "wss://x.example/mcp"}
          }
        }""",
        "mcp.json",
        "Claude Code",
    )
    files, web, old = servers["files"].entry, servers["web"].entry, servers["old"].entry
    assert isinstance(files, StdioEntry)
    assert (files.command, files.args, files.env) == ("npx", ("-y", "files", "${ROOT:-/tmp}"), {"K": "${K}"})
    assert isinstance(web, HttpEntry)
    assert (web.type, web.url, web.timeouts.request) == ("http", "${BASE:-https://x.example}/mcp", 90)
    assert web.auth == OAuthSettings(client_id="abc", redirect_port=8080)
    assert isinstance(old, HttpEntry)
    assert old.type == "sse"
    assert "is not run" in servers["old"].notes[0]
    assert isinstance(servers["socket"].entry, WebSocketEntry)
    assert [server.line for server in servers.values()] == [3, 5, 8, 9]


def test_vs_code_config_has_inputs_and_comments(tmp_path: Path) -> None:
    servers = _servers(
        tmp_path,
        """// MCP servers
        {
          "inputs": [
            {"type": "promptString", "id": "key", "description": "API key", "password": true},
            {"type": "pickString", "id": "zone", "options": ["eu", {"label": "US", "value": "us"}],
             "default": "eu"},
          ],
          "servers": {
            /* local */ "perplexity": {
              "type": "stdio", "command": "node", "args": ["s.js", "${input:zone}"],
              "cwd": "${workspaceFolder}",
              "env": {"KEY": "${input:key}", "N": 3, "GONE": null}, "envFile": "${workspaceFolder}/.env",
              "sandboxEnabled": true, "dev": {"watch": "src/**/*.js", "debug": {"type": "node"}},
            },
            "remote": {"url": "https://x.example/mcp"},
          },
        }""",
        "vscode",
        "VS Code",
    )
    entry = servers["perplexity"].entry
    assert isinstance(entry, StdioEntry)
    assert (entry.cwd, entry.env) == ("${workspaceFolder}", {"KEY": "${input:key}", "N": "3"})
    assert entry.watch == ("src/**/*.js",)
    assert servers["perplexity"].inputs == (
        InputSpec("key", "API key", is_password=True),
        InputSpec("zone", default="eu", options=("eu", "us")),
    )
    assert any("envFile" in note for note in servers["perplexity"].notes)
    assert any("runs it in a sandbox; MCP Lens does not" in note for note in servers["perplexity"].notes)
    assert servers["remote"].inputs == ()


def test_old_vs_code_settings_may_contain_servers(tmp_path: Path) -> None:
    text = '{"editor.fontSize": 12, "mcp": {"servers": {"a": {"command": "run"}}}}'
    assert list(_servers(tmp_path, text, "vscode-settings", "VS Code")) == ["a"]


def test_windsurf_uses_another_key_for_the_url(tmp_path: Path) -> None:
    text = """{"mcpServers": {"a": {"serverUrl": "https://x.example/mcp", "disabled": true,
              "disabledTools": ["t"]}}}"""
    server = _servers(tmp_path, text, "mcp.json", "Windsurf")["a"]
    assert isinstance(server.entry, HttpEntry)
    assert (server.entry.url, server.entry.enabled) == ("https://x.example/mcp", False)
    assert server.notes == ("Omitted: disabledTools.",)


def test_cline_uses_seconds_and_its_own_name_for_streamable_http(tmp_path: Path) -> None:
    text = """{"mcpServers": {"a": {"type": "streamableHttp", "url": "https://x.example/mcp", "timeout": 60,
              "autoApprove": ["read"]}}}"""
    entry = _servers(tmp_path, text, "mcp.json", "Cline")["a"].entry
    assert isinstance(entry, HttpEntry)
    assert (entry.type, entry.timeouts.request) == ("http", 60)


def test_cursor_config_has_oauth_clients(tmp_path: Path) -> None:
    text = """{"mcpServers": {"a": {"url": "https://x.example/mcp",
              "auth": {"CLIENT_ID": "id", "CLIENT_SECRET": "hush", "scopes": ["read", "write"]}}}}"""
    server = _servers(tmp_path, text, "mcp.json", "Cursor")["a"]
    assert isinstance(server.entry, HttpEntry)
    assert server.entry.auth == OAuthSettings(client_id="id", scope="read write")
    assert any("secret" in note for note in server.notes)
    assert "hush" not in repr((server.entry, server.notes))


def test_zed_config_has_new_old_and_extension_servers(tmp_path: Path) -> None:
    servers = _servers(
        tmp_path,
        """{ // Zed settings
          "theme": "One Dark",
          "context_servers": {
            "new": {"enabled": false, "command": "run", "args": ["a"], "env": {"K": "v"}},
            "old": {"source": "custom", "command": {"path": "run", "args": ["b"], "env": {"K": "v"}}},
            "remote": {"url": "https://x.example/mcp", "headers": {"A": "b"}},
            "theirs": {"source": "extension", "settings": {}},
          },
        }""",
        "zed",
        "Zed",
    )
    new, old, remote = servers["new"].entry, servers["old"].entry, servers["remote"].entry
    assert isinstance(new, StdioEntry)
    assert (new.enabled, new.args) == (False, ("a",))
    assert isinstance(old, StdioEntry)
    assert (old.command, old.args, old.env) == ("run", ("b",), {"K": "v"})
    assert isinstance(remote, HttpEntry)
    assert servers["theirs"].entry is None
    assert "Zed extension" in servers["theirs"].problem


def test_codex_config_is_toml_with_variable_names(tmp_path: Path) -> None:
    servers = _servers(
        tmp_path,
        """model = "o5"
[mcp_servers.docs]
command = "npx"
args = ["-y", "docs"]
env_vars = ["TOKEN", { name = "OTHER", source = "local" }]
startup_timeout_sec = 20
tool_timeout_sec = 45.5
enabled_tools = ["a"]

[mcp_servers.docs.env]
MODE = "x"

[mcp_servers."figma web"]
url = "https://mcp.figma.example/mcp"
bearer_token_env_var = "FIGMA"
http_headers = { "X-Region" = "eu" }
env_http_headers = { "X-Key" = "KEY" }
enabled = false
""",
        "codex",
        "Codex",
    )
    docs, figma = servers["docs"].entry, servers["figma web"].entry
    assert isinstance(docs, StdioEntry)
    assert docs.env == {"MODE": "x", "TOKEN": "${TOKEN}", "OTHER": "${OTHER}"}
    assert (docs.timeouts.connect, docs.timeouts.request) == (20, 45.5)
    assert isinstance(figma, HttpEntry)
    assert figma.headers == {"X-Region": "eu", "X-Key": "${KEY}", "Authorization": "Bearer ${FIGMA}"}
    assert not figma.enabled
    assert [server.line for server in servers.values()] == [2, 13]


def test_gemini_distinguishes_transports_by_the_url_key(tmp_path: Path) -> None:
    text = """{"mcp": {"excluded": ["off"]}, "mcpServers": {
      "http": {"httpUrl": "https://x.example/mcp", "headers": {"A": "Bearer $TOKEN"}, "timeout": 5000,
               "trust": true},
      "sse": {"url": "https://x.example/sse"},
      "typed": {"url": "https://x.example/mcp", "type": "http"},
      "off": {"command": "run", "description": "A server"}}}"""
    servers = _servers(tmp_path, text, "gemini", "Gemini CLI")
    http, sse, typed = (servers[name].entry for name in ("http", "sse", "typed"))
    assert isinstance(http, HttpEntry)
    assert (http.type, http.headers, http.timeouts.request) == ("http", {"A": "Bearer ${TOKEN}"}, 5)
    assert isinstance(sse, HttpEntry)
    assert sse.type == "sse"
    assert isinstance(typed, HttpEntry)
    assert typed.type == "http"
    assert servers["off"].entry is not None
    assert (servers["off"].entry.enabled, servers["off"].entry.notes) == (False, "A server")


def test_servers_without_a_table_are_found_and_reported(tmp_path: Path) -> None:
    file = _file(
        tmp_path / ".mcp.json",
        '{"a": {"command": "run"}, "b": {"url": "https://x/mcp"}}',
        "mcp.json",
        "Claude Code",
    )
    assert [server.name for server in file.servers] == ["a", "b"]
    assert "not inside “mcpServers”" in file.notes[0]


def test_key_of_another_tool_is_accepted_and_reported(tmp_path: Path) -> None:
    file = _file(tmp_path / "mcp.json", '{"mcpServers": {"a": {"command": "run"}}}', "vscode", "VS Code")
    assert [server.name for server in file.servers] == ["a"]
    assert file.notes == ("Its servers are under “mcpServers”, but VS Code reads “servers”.",)


def test_claude_code_stores_servers_per_folder_and_disables_some(tmp_path: Path) -> None:
    folder = tmp_path / "work"
    (folder / ".claude").mkdir(parents=True)
    (folder / ".mcp.json").write_text('{"mcpServers": {"a": {"command": "x"}, "b": {"command": "y"}}}')
    (folder / ".claude" / "settings.json").write_text(
        '{"disabledMcpjsonServers": ["b"], "enableAllProjectMcpServers": true}'
    )
    projects = {
        str(folder): {"mcpServers": {"mine": {"command": "z"}}},
        "/else": {"mcpServers": {"no": {"command": "n"}}},
    }
    (tmp_path / ".claude.json").write_text(json.dumps({"projects": projects, "numStartups": 3}))
    found = find_servers(
        [
            ConfigLocation("Claude Code", "folder", tmp_path / ".claude.json", "claude-folder", folder),
            ConfigLocation("Claude Code", "folder", folder / ".mcp.json", "mcp.json", folder),
            ConfigLocation(
                "Claude Code", "folder", folder / ".claude" / "settings.json", "claude-settings", folder
            ),
        ]
    )
    enabled = {server.name: server.entry and server.entry.enabled for server in found.servers}
    assert enabled == {"mine": True, "a": True, "b": False}
    assert "settings.json" in found.by_name()["b"][0].notes[0]


def test_servers_in_claude_code_settings_are_found_with_a_note(tmp_path: Path) -> None:
    text = """{
      "statusLine": {"type": "command", "command": "status.sh"},
      "permissions": {"allow": ["mcp__a"]},
      "mcpServers": {"a": {"command": "run"}, "b": {"url": "https://x.example/mcp"}}
    }"""
    path = tmp_path / "settings.json"
    file = _file(path, text, "claude-settings", "Claude Code")
    assert [(server.name, server.line) for server in file.servers] == [("a", 4), ("b", 4)]
    assert all(server.entry is not None for server in file.servers)
    assert {server.notes for server in file.servers} == {
        ("Current Claude Code ignores servers in settings.json. Use .mcp.json or “claude mcp add” instead.",)
    }


def test_servers_in_claude_code_settings_may_have_no_table(tmp_path: Path) -> None:
    text = """{
      "env": {"url": "not a server"},
      "statusLine": {"type": "command", "command": "status.sh"},
      "otherLine": {"type": "command", "command": "other.sh"},
      "permissions": {"allow": []},
      "files": {"type": "stdio", "command": "run", "args": ["x"]}
    }"""
    file = _file(tmp_path / "settings.json", text, "claude-settings", "Claude Code")
    assert [(server.name, server.line) for server in file.servers] == [("files", 6)]
    assert "not inside “mcpServers”" in file.notes[0]


def test_settings_of_claude_code_without_servers_are_not_listed(tmp_path: Path) -> None:
    path = tmp_path / "settings.json"
    path.write_text(
        '{"statusLine": {"type": "command", "command": "x"}, "permissions": {"allow": ["mcp__a"]}}'
    )
    assert find_servers([ConfigLocation("Claude Code", "user", path, "claude-settings")]).files == ()


@pytest.mark.parametrize(
    "raw",
    [
        {"type": "sdk", "name": "inner"},
        {"type": "claudeai-proxy", "url": "https://claude.example/mcp", "id": "mcpsrv_1"},
    ],
)
def test_server_inside_claude_code_has_nothing_to_connect_to(tmp_path: Path, raw: dict[str, str]) -> None:
    servers = _servers(tmp_path, json.dumps({"mcpServers": {"a": raw}}), "mcp.json", "Claude Code")
    assert servers["a"].entry is None
    assert servers["a"].problem.startswith("Runs inside Claude Code; nothing to connect to. To inspect it,")


def test_registry_server_json_gives_one_server_per_package_or_remote(tmp_path: Path) -> None:
    inbox_request = {
        "$schema": "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json",
        "name": "io.github.someone/weather",
        "description": "Weather",
        "version": "1.2.0",
        "packages": [
            {
                "registryType": "npm",
                "identifier": "@someone/weather",
                "version": "1.2.0",
                "transport": {"type": "stdio"},
                "packageArguments": [
                    {"type": "positional", "value": "serve"},
                    {"type": "named", "name": "--port", "default": "80"},
                    {"type": "named", "name": "--fast"},
                    {"type": "positional", "valueHint": "folder", "isRequired": True},
                ],
                "environmentVariables": [
                    {"name": "KEY", "isRequired": True, "isSecret": True, "description": "Your key"},
                    {"name": "OPTIONAL"},
                ],
            },
            {
                "registryType": "pypi",
                "identifier": "weather",
                "version": "1.2.0",
                "transport": {"type": "stdio"},
            },
            {
                "registryType": "oci",
                "identifier": "ghcr.io/someone/weather:1",
                "transport": {"type": "stdio"},
                "environmentVariables": [{"name": "KEY", "value": "v"}],
            },
            {"registryType": "mcpb", "identifier": "https://x/w.mcpb", "transport": {"type": "stdio"}},
        ],
        "remotes": [
            {
                "type": "streamable-http",
                "url": "https://{tenant}.example/mcp",
                "variables": {"tenant": {"isRequired": True, "choices": ["a", "b"]}},
                "headers": [
                    {"name": "X-Key", "value": "Bearer {token}", "variables": {"token": {"isSecret": True}}}
                ],
            }
        ],
    }
    servers = _servers(tmp_path, json.dumps(inbox_request), "registry", "MCP registry")
    assert list(servers) == [
        "weather-npm",
        "weather-pypi",
        "weather-oci",
        "weather-mcpb",
        "weather-streamable-http",
    ]
    npm, pypi, oci = (servers[f"weather-{kind}"].entry for kind in ("npm", "pypi", "oci"))
    assert isinstance(npm, StdioEntry)
    args = ("-y", "@someone/weather@1.2.0", "serve", "--port", "80", "--fast", "${input:folder}")
    assert (npm.command, npm.args, npm.env) == ("npx", args, {"KEY": "${input:KEY}"})
    assert InputSpec("KEY", "Your key", is_password=True) in servers["weather-npm"].inputs
    assert isinstance(pypi, StdioEntry)
    assert (pypi.command, pypi.args) == ("uvx", ("weather@1.2.0",))
    assert isinstance(oci, StdioEntry)
    assert oci.args == ("run", "-i", "--rm", "-e", "KEY", "ghcr.io/someone/weather:1")
    assert "bundle" in servers["weather-mcpb"].problem
    remote = servers["weather-streamable-http"]
    assert isinstance(remote.entry, HttpEntry)
    assert remote.entry.url == "https://${input:tenant}.example/mcp"
    assert remote.entry.headers == {"X-Key": "Bearer ${input:token}"}
    assert {(spec.id, spec.is_password, spec.options) for spec in remote.inputs} == {
        ("tenant", False, ("a", "b")),
        ("token", True, ()),
    }


@pytest.mark.parametrize("text", ['{"name": "my-app", "port": 3000}', "not json", "[]"])
def test_unrelated_server_json_is_skipped(tmp_path: Path, text: str) -> None:
    (tmp_path / "server.json").write_text(text)
    assert (
        find_servers([ConfigLocation("MCP registry", "folder", tmp_path / "server.json", "registry")]).files
        == ()
    )


def test_unknown_members_are_preserved_in_the_raw_entry(tmp_path: Path) -> None:
    server = _servers(
        tmp_path, '{"mcpServers": {"a": {"command": "x", "zzz": {"k": 1.10}}}}', "mcp.json", "Cursor"
    )["a"]
    assert "zzz" in server.raw
    assert server.notes == ("Omitted: zzz.",)

"""Real schemas: a form for every tool of public servers that list their tools offline.

The tokens are made up: tools are only listed, never called.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from inspector.base.json.values import JSON
from inspector.config.servers.entries import StdioEntry
from inspector.schema.builder import build_form
from inspector.schema.check import check
from inspector.schema.samples import example
from inspector.schema.validation import validate
from inspector.schema.values import draft_of, json_of
from tests.helpers.schema_coverage import coverage
from tests.peers.installs import Unavailable, npm_packages, python_packages
from tests.peers.visit import visiting

pytestmark = pytest.mark.timeout(500)  # the first run installs the peers

_MAX_FALLBACKS = 0.02


@dataclass(frozen=True)
class Peer:
    """A public Node server: what to install, what to start."""

    package: str
    version: str
    script: str
    args: tuple[str, ...] = ()
    env: Mapping[str, str] | None = None


PEERS = (
    Peer("@modelcontextprotocol/server-sequential-thinking", "2026.8.31", "dist/index.js"),
    Peer("@modelcontextprotocol/server-github", "2025.4.8", "dist/index.js"),
    Peer(
        "@modelcontextprotocol/server-gitlab",
        "2025.4.25",
        "dist/index.js",
        env={"GITLAB_PERSONAL_ACCESS_TOKEN": "none"},
    ),
    Peer(
        "@modelcontextprotocol/server-slack",
        "2025.4.25",
        "dist/index.js",
        env={"SLACK_BOT_TOKEN": "none", "SLACK_TEAM_ID": "none"},
    ),
    Peer("@playwright/mcp", "0.0.83", "cli.js"),
    Peer(
        "chrome-devtools-mcp",
        "1.11.0",
        "build/src/bin/chrome-devtools-mcp.js",
        args=("--no-usage-statistics",),
    ),
    Peer("@notionhq/notion-mcp-server", "2.5.2", "bin/cli.mjs", env={"NOTION_TOKEN": "none"}),
    Peer("@upstash/context7-mcp", "4.1.1", "dist/index.js"),
)


@pytest.fixture(scope="module")
def other_modules() -> Path:
    try:
        return npm_packages(*(f"{peer.package}@{peer.version}" for peer in PEERS))
    except Unavailable as exc:
        pytest.skip(f"the peers are not here: {exc}")


@pytest.fixture(scope="module")
def fetch_python() -> Path:
    try:
        return python_packages("mcp-server-fetch==2026.10.24")
    except Unavailable as exc:
        pytest.skip(f"the peers are not here: {exc}")


@pytest.fixture
def entries(
    node_modules: Path, reference_python: Path, fetch_python: Path, other_modules: Path, tmp_path: Path
) -> list[StdioEntry]:
    def node(name: str, *args: str) -> StdioEntry:
        script = node_modules / f"server-{name}" / "dist/index.js"
        return StdioEntry(name=name, command="node", args=(str(script), *args))

    def python(interpreter: Path, module: str) -> StdioEntry:
        return StdioEntry(name=module, command=str(interpreter), args=("-m", module))

    others = [
        StdioEntry(
            name=peer.package,
            command="node",
            args=(str(other_modules / peer.package / peer.script), *peer.args),
            env=dict(peer.env or {}),
        )
        for peer in PEERS
    ]
    return [
        node("everything"),
        node("filesystem", str(tmp_path)),
        node("memory"),
        python(reference_python, "mcp_server_time"),
        python(reference_python, "mcp_server_git"),
        python(fetch_python, "mcp_server_fetch"),
        *others,
    ]


async def test_every_tool_of_the_public_servers_has_a_form(entries: list[StdioEntry]) -> None:
    schemas: dict[str, JSON] = {}
    for entry in entries:
        async with visiting(entry) as visit:
            listing = await visit.engine.list_tools(entry.name)
        print(f"{entry.name}: {len(listing.items)} tools")
        schemas.update((f"{entry.name} {tool.name}", tool.input_schema) for tool in listing.items)
    found = {name: coverage(schema) for name, schema in schemas.items()}
    count = sum(one.fields for one in found.values())
    fallbacks = [(name, *fallback) for name, one in found.items() for fallback in one.fallbacks]
    print(f"{len(schemas)} tools, {count} fields, {len(fallbacks)} written as JSON")
    for name, pointer, reason in fallbacks:
        print(f"  {name} {pointer}: {reason}")
    assert len(schemas) >= 100
    assert len(fallbacks) <= _MAX_FALLBACKS * count
    for schema in schemas.values():
        _has_an_example_that_fits(schema)


def _has_an_example_that_fits(schema: JSON) -> None:
    form = build_form(schema)
    value = example(form)
    assert json_of(form, draft_of(form, value)) == value
    assert check(form, value) == []
    assert validate(schema, value).errors == ()

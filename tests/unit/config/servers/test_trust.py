"""Approvals of servers: for exactly one content, and stored without secrets."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from inspector.base.errors import ConfigError
from inspector.config.servers.entries import Entry, HttpEntry, NetworkSettings, StdioEntry
from inspector.config.servers.entry_diff import FieldChange
from inspector.config.servers.trust import Program, TrustStore, check_command, content_of
from tests.helpers.platforms import is_owner_only

STDIO = StdioEntry(
    name="a", command="npx", args=("-y", "srv", "--token", "t0ps3cret"), env={"API_KEY": "k3y"}
)
PROGRAM = Program("/usr/bin/npx", "ab" * 32, (("/w/x.js", "cd" * 32),))
FILE, FOLDER = "/w/.mcp.json", "/w"


@pytest.fixture
def store(tmp_path: Path) -> TrustStore:
    return TrustStore(tmp_path / "config" / "trust.json")


def test_approval_is_found_after_a_restart(store: TrustStore) -> None:
    content = content_of(STDIO, FILE, FOLDER, PROGRAM)
    store.approve(content, ["HOME"])
    again = TrustStore(store.path)
    approval = again.find(FILE, FOLDER, "a")
    assert approval is not None
    assert approval.variables == ("HOME",)
    assert again.covers(approval, content)
    assert again.changes(approval, content) == ()
    assert again.find(FILE, "/elsewhere", "a") is None
    assert again.find("/other/.mcp.json", FOLDER, "a") is None


@pytest.mark.parametrize(
    ("entry", "program", "field"),
    [
        (replace(STDIO, args=("-y", "evil", "--token", "t0ps3cret")), PROGRAM, "args[1]"),
        (replace(STDIO, args=("-y", "srv", "--token", "other")), PROGRAM, "args[3]"),
        (replace(STDIO, args=(*STDIO.args, "more")), PROGRAM, "args[4]"),
        (replace(STDIO, command="npm"), PROGRAM, "command"),
        (replace(STDIO, env={"API_KEY": "other"}), PROGRAM, "env.API_KEY"),
        (replace(STDIO, env={**STDIO.env, "LD_PRELOAD": "x"}), PROGRAM, "env.LD_PRELOAD"),
        (replace(STDIO, cwd="/tmp"), PROGRAM, "cwd"),
        (replace(STDIO, watch=("**/*",)), PROGRAM, "watch[0]"),
        (STDIO, replace(PROGRAM, path="/w/npx"), "program.path"),
        (STDIO, replace(PROGRAM, sha256="00" * 32), "program.sha256"),
        (STDIO, replace(PROGRAM, scripts=(("/w/x.js", "00" * 32),)), "program.scripts./w/x.js"),
    ],
)
def test_different_content_is_not_approved(
    store: TrustStore, entry: StdioEntry, program: Program, field: str
) -> None:
    approval = store.approve(content_of(STDIO, FILE, FOLDER, PROGRAM))
    content = content_of(entry, FILE, FOLDER, program)
    assert not store.covers(approval, content)
    assert [change.field for change in store.changes(approval, content)] == [field]


@pytest.mark.parametrize(
    "entry",
    [
        HttpEntry(name="a", url="https://x/other"),
        HttpEntry(name="a", url="https://x/mcp", headers={"X": "1"}),
        HttpEntry(name="a", url="https://x/mcp", type="sse"),
        HttpEntry(name="a", url="https://x/mcp", network=NetworkSettings(verify=False)),
        HttpEntry(name="a", url="https://x/mcp", network=NetworkSettings(proxy="http://evil")),
        HttpEntry(name="a", url="https://x/mcp", roots=("/",)),
    ],
)
def test_approval_covers_everything_a_connection_depends_on(store: TrustStore, entry: Entry) -> None:
    approval = store.approve(content_of(HttpEntry(name="a", url="https://x/mcp"), FILE, FOLDER))
    assert not store.covers(approval, content_of(entry, FILE, FOLDER))


def test_approval_ignores_notes_and_the_enabled_flag(store: TrustStore) -> None:
    approval = store.approve(content_of(STDIO, FILE, FOLDER, PROGRAM))
    other = replace(STDIO, enabled=False, notes="x", color="red", auto_connect=True)
    assert store.covers(approval, content_of(other, FILE, FOLDER, PROGRAM))


def test_change_shows_both_values_but_never_a_secret(store: TrustStore) -> None:
    approval = store.approve(content_of(STDIO, FILE, FOLDER, PROGRAM))
    args = ("-y", "evil", "--token", "other")
    changes = store.changes(approval, content_of(replace(STDIO, args=args), FILE, FOLDER, PROGRAM))
    assert changes == (FieldChange("args[1]", "srv", "evil"), FieldChange("args[3]", "•••", "•••"))


def test_the_file_is_private_and_holds_no_secret(store: TrustStore) -> None:
    store.approve(content_of(STDIO, FILE, FOLDER, PROGRAM))
    url = HttpEntry(name="b", url="https://x/?api_key=t0ps3cret", headers={"Authorization": "Bearer k3y"})
    store.approve(content_of(url, FILE, FOLDER))
    assert store.path is not None
    text = store.path.read_text()
    assert "t0ps3cret" not in text
    assert "k3y" not in text
    assert is_owner_only(store.path)


def test_revoked_approval_is_gone_and_the_others_remain(store: TrustStore) -> None:
    store.approve(content_of(STDIO, FILE, FOLDER, PROGRAM))
    store.approve(content_of(replace(STDIO, name="b"), FILE, FOLDER, PROGRAM))
    store.revoke(FILE, FOLDER, "a")
    store.revoke(FILE, FOLDER, "unknown")
    assert [approval.name for approval in store.approvals()] == ["b"]


def test_damaged_file_trusts_nothing_and_is_not_overwritten(store: TrustStore) -> None:
    store.approve(content_of(STDIO, FILE, FOLDER, PROGRAM))
    assert store.path is not None
    store.path.write_text('{"approvals": [')
    for use in (store.approvals, lambda: store.approve(content_of(STDIO, FILE, FOLDER, PROGRAM))):
        with pytest.raises(ConfigError, match=r"trust\.json is not valid JSON"):
            use()
    assert store.path.read_text() == '{"approvals": ['


def test_tampered_approval_is_invalid(store: TrustStore) -> None:
    approval = store.approve(content_of(STDIO, FILE, FOLDER, PROGRAM))
    assert store.path is not None
    document = json.loads(store.path.read_text("utf-8"))
    document["approvals"] += [5, {"file": FILE}, {**document["approvals"][0], "content": "x"}]
    document["salt"] = "other"
    store.path.write_text(json.dumps(document))
    (left,) = store.approvals()
    assert left == approval
    assert not store.covers(left, content_of(STDIO, FILE, FOLDER, PROGRAM))


@pytest.mark.parametrize("command", ["./run.sh", "bin/x", "..\\x.exe", "sub/../../x", "C:x.exe"])
def test_relative_command_in_a_foreign_file_is_rejected(command: str) -> None:
    with pytest.raises(ConfigError, match="relative path"):
        check_command(command, is_absolute=False)


def test_name_on_the_path_and_absolute_path_are_accepted() -> None:
    check_command("npx", is_absolute=False)
    check_command("/usr/bin/npx", is_absolute=True)
    check_command("C:\\x\\npx.cmd", is_absolute=True)

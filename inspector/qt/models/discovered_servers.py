"""Texts about servers discovered in other tools' files."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from inspector.base.plain_text import one_line, visible_line
from inspector.base.units import plural
from inspector.config.foreign.discovery import DiscoveredFile, Source
from inspector.engine.servers.views import DiscoveredServerView, DiscoveryReport, Trust
from inspector.qt.theme import Tone

TONES: dict[Trust, Tone] = {Trust.NONE: "muted", Trust.CHANGED: "warn", Trust.GIVEN: "ok"}


def location_text(source: Source) -> str:
    """Return e.g. `Claude Code · ~/project/.mcp.json`."""
    path = f" · {short_path(source.path)}" if source.path is not None else ""
    return one_line(f"{source.tool}{path}")


def short_path(path: Path) -> str:
    """Return the path, abbreviated with `~` inside the home folder."""
    try:
        return str(Path("~") / path.relative_to(Path.home()))
    except ValueError:
        return str(path)


def status_text(view: DiscoveredServerView) -> str:
    """Return the status shown beside the name: why it is not used, or its trust."""
    if view.problem:
        return "unusable"
    if view.overridden_by is not None:
        return f"overridden by {one_line(view.overridden_by.tool)}"
    return view.trust.value if view.is_enabled else f"{view.trust.value}, disabled in its file"


def order_text(view: DiscoveredServerView) -> str:
    """Return what overrides what; "" if no other server has the name."""
    if view.overridden_by is not None:
        return (
            f"{location_text(view.overridden_by)} defines a server with the same name and takes precedence."
        )
    if view.overrides:
        others = "; ".join(location_text(source) for source in view.overrides)
        return f"Used instead of {others}."
    return ""


def command_text(view: DiscoveredServerView) -> str:
    """Return the program and its arguments, one per line, with hidden characters shown."""
    return arguments_text((view.command, *view.args))


def arguments_text(arguments: Sequence[str]) -> str:
    """Return one argument per line, so that their ends and hidden characters are visible."""
    return "\n".join(map(visible_line, arguments))


def action_text(view: DiscoveredServerView) -> str:
    if view.url:
        return "Would connect to"
    count = len(view.args)
    return f"Would run this command, with {plural(count, 'argument')}" if count else "Would run this command"


def file_text(file: DiscoveredFile) -> str:
    if file.problem:
        return "unreadable"
    return plural(len(file.servers), "server") if file.servers else "no servers"


def summary_text(report: DiscoveryReport) -> str:
    """Return the summary for the list's header."""
    servers = plural(len(report.servers), "server")
    return f"{servers} in {plural(len(report.files), 'file')}"


def tool_text(report: DiscoveryReport) -> str:
    """Return the tools that own the files: `Claude Code, Cursor and Zed`."""
    tools = [one_line(tool) for tool in dict.fromkeys(file.source.tool for file in report.files)]
    *others, last = tools or ["other tools"]
    return f"{', '.join(others)} and {last}" if others else last


def no_servers_text(folder: Path | None = None) -> str:
    """Return where MCP Lens looked when nothing was found."""
    where = f"in {one_line(short_path(folder))}" if folder is not None else "in this folder"
    return (
        f"No .mcp.json {where} or its parent folders, and no servers in the settings of Claude, VS "
        "Code, Cursor, Windsurf, Cline, Zed, Codex or Gemini."
    )


def untrusted_count(report: DiscoveryReport) -> int:
    """Return how many active servers are not trusted yet, changed ones included."""
    return sum(
        view.trust is not Trust.GIVEN and not view.problem and view.overridden_by is None
        for view in report.servers
    )

"""Texts about servers discovered in other clients' files."""

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
        return "not usable"
    if view.overridden_by is not None:
        return f"overridden by {one_line(view.overridden_by.tool)}"
    return view.trust.value if view.is_enabled else f"{view.trust.value}, disabled in its file"


def order_text(view: DiscoveredServerView) -> str:
    """Return which server of the same name takes precedence; "" if there is no other."""
    if view.overridden_by is not None:
        return (
            f"{location_text(view.overridden_by)} defines a server with the same name and takes precedence."
        )
    if view.overrides:
        others = "; ".join(location_text(source) for source in view.overrides)
        return f"Overrides {others}."
    return ""


def command_text(view: DiscoveredServerView) -> str:
    """Return the program and its arguments, one per line, with hidden characters shown."""
    return arguments_text((view.command, *view.args))


def arguments_text(arguments: Sequence[str]) -> str:
    """Return one argument per line, so that their ends and hidden characters are visible."""
    return "\n".join(map(visible_line, arguments))


def action_text(view: DiscoveredServerView) -> str:
    if view.url:
        return "URL"
    return f"Command ({plural(len(view.args), 'argument')})" if view.args else "Command"


def file_text(file: DiscoveredFile) -> str:
    if file.problem:
        return "unreadable"
    return plural(len(file.servers), "server") if file.servers else "no servers"


def summary_text(report: DiscoveryReport) -> str:
    """Return the summary for the list's header."""
    servers = plural(len(report.servers), "server")
    unreadable = _unreadable_text(report)
    text = f"{servers} in {plural(len(report.files) - _unreadable_count(report), 'file')}"
    return f"{text}, {unreadable}" if unreadable else text


def configured_text(report: DiscoveryReport) -> str:
    """Return sentences such as `3 servers are configured in Claude Code, Cursor and Zed.`"""
    clients = [one_line(file.source.tool) for file in report.files if file.servers]
    *others, last = dict.fromkeys(clients) or ["other clients"]
    names = f"{', '.join(others)} and {last}" if others else last
    unreadable = _unreadable_text(report)
    text = f"{plural(len(report.servers), 'server')} configured in {names}."
    return f"{text} {unreadable[:1].upper()}{unreadable[1:]}." if unreadable else text


def _unreadable_text(report: DiscoveryReport) -> str:
    count = _unreadable_count(report)
    return f"{plural(count, 'file')} could not be read" if count else ""


def _unreadable_count(report: DiscoveryReport) -> int:
    """Return how many files yielded no servers because of an error."""
    return sum(bool(file.problem) and not file.servers for file in report.files)


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

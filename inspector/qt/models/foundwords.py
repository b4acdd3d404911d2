"""What is said about servers in the files of other tools."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from inspector.base.plaintext import one_line, whole_line
from inspector.base.units import plural
from inspector.config.finding import FoundFile, Source
from inspector.engine.foundviews import FoundReport, FoundView, Trust
from inspector.qt.theme import Tone

TONES: dict[Trust, Tone] = {Trust.NONE: "muted", Trust.CHANGED: "warn", Trust.GIVEN: "ok"}


def place_words(source: Source) -> str:
    """`Claude Code · ~/project/.mcp.json`."""
    path = f" · {short_path(source.path)}" if source.path is not None else ""
    return one_line(f"{source.tool}{path}")


def short_path(path: Path) -> str:
    """From the home folder on, where it is below that."""
    try:
        return str(Path("~") / path.relative_to(Path.home()))
    except ValueError:
        return str(path)


def standing_words(view: FoundView) -> str:
    """For beside its name: why it does not count, or how it is trusted."""
    if view.problem:
        return "cannot be used"
    if view.overridden_by is not None:
        return f"overridden by {one_line(view.overridden_by.tool)}"
    return view.trust.value if view.is_enabled else f"{view.trust.value}, off there"


def order_words(view: FoundView) -> str:
    """Who overrides whom; nothing while it is the only one of its name."""
    if view.overridden_by is not None:
        return f"{place_words(view.overridden_by)} has a server of the same name, which counts there."
    if view.overrides:
        others = "; ".join(place_words(source) for source in view.overrides)
        return f"It counts, and overrides: {others}."
    return ""


def command_text(view: FoundView) -> str:
    """All words of the command, one a line, with hidden characters shown."""
    return words_text((view.command, *view.args))


def words_text(words: Sequence[str]) -> str:
    """One a line: where a word ends is seen, and what is hidden in it."""
    return "\n".join(map(whole_line, words))


def what_words(view: FoundView) -> str:
    if view.url:
        return "What would be contacted"
    count = len(view.args)
    return f"What would be started, with {plural(count, 'argument')}" if count else "What would be started"


def file_words(file: FoundFile) -> str:
    if file.problem:
        return "cannot be read"
    return plural(len(file.servers), "server") if file.servers else "no servers"


def summary_words(report: FoundReport) -> str:
    """For the head of the list."""
    servers = plural(len(report.servers), "server")
    return f"{servers} in {plural(len(report.files), 'file')}"


def tool_words(report: FoundReport) -> str:
    """Whose files they are: `Claude Code, Cursor and Zed`."""
    tools = [one_line(tool) for tool in dict.fromkeys(file.source.tool for file in report.files)]
    *others, last = tools or ["other tools"]
    return f"{', '.join(others)} and {last}" if others else last


def nothing_words(folder: Path | None = None) -> str:
    """Where we looked, when nothing was there."""
    where = f"in {one_line(short_path(folder))}" if folder is not None else "in this folder"
    return (
        f"No .mcp.json {where} or above it, and no servers in the settings of Claude, VS Code, Cursor, "
        "Windsurf, Cline, Zed, Codex or Gemini."
    )


def news_count(report: FoundReport) -> int:
    """How many there are that nobody decided about: those that count, and changed ones."""
    return sum(
        view.trust is not Trust.GIVEN and not view.problem and view.overridden_by is None
        for view in report.servers
    )

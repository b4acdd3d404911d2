"""Command table (text, icon, shortcut, menu position) and the QActions made from it.

The window creates the QActions once; menus, buttons, context menus and the tour share them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from PySide6.QtCore import QObject
from PySide6.QtGui import QAction, QKeySequence

from inspector.qt.theme import Theme


@dataclass(frozen=True, slots=True)
class Command:
    """A menu command.

    `menu` names its menu, `submenu` its submenu. Commands with the same submenu share one, placed where the
    first of them is. `begins_group` puts a separator before the command.
    """

    id: str
    menu: str
    text: str
    icon: str = ""
    key: str = ""
    hint: str = ""
    is_toggle: bool = False
    begins_group: bool = False
    submenu: str = ""


COMMANDS = (
    Command("server.add", "Server", "Add server…", "plus", "Ctrl+N", "Add servers: whatever is pasted"),
    Command("app.found", "Server", "Found servers", "search",
            hint="Servers in the files of Claude, VS Code, Cursor and others: review, trust, import"),
    Command("server.open_file", "Server", "Open configuration…", "open",
            hint="Add servers out of a configuration file of any tool"),
    Command("server.export", "Server", "Export servers…", "export",
            hint="Write servers in the form of another tool; names stand for their secrets"),
    Command("server.demo", "Server", "Start the demo servers", "play",
            hint="Servers that show all that MCP has; they are gone when MCP Lens is closed"),
    Command("server.connect", "Server", "Connect", "plug", "Ctrl+Shift+C", begins_group=True),
    Command("server.disconnect", "Server", "Disconnect", "unplug", "Ctrl+Shift+D"),
    Command("server.reconnect", "Server", "Reconnect", "refresh", "Ctrl+R",
            "Disconnect and connect again; a command is ended and started anew"),
    Command("server.login", "Server", "Log in…", "key", hint="Log in to this server, also step by step"),
    Command("server.secrets", "Server", "Secrets of this server…", "key",
            hint="Headers and variables of this server that are kept in the secret store, or should be"),
    Command("server.drift", "Server", "What changed…", "history",
            hint="What this server offers, compared with when you last agreed to it"),
    Command("server.doctor", "Server", "Examine connection", "search",
            hint="Walk the way to this server step by step: where it fails, why, and what to do"),
    Command("server.connect_all", "Server", "Connect all", "plug", hint="Connect every enabled server"),
    Command("server.enable", "Server", "Enabled", is_toggle=True, begins_group=True,
            hint="A disabled server is kept but never connected"),
    Command("server.edit", "Server", "Edit server…", "edit", "F4",
            "Everything that can be set about this server"),
    Command("server.duplicate", "Server", "Duplicate", "copy",
            hint="Another server that is configured alike"),
    Command("server.remove", "Server", "Remove", "trash",
            hint="Disconnect this server and take it off the list"),
    Command("server.copy_claude", "Server", "claude mcp add …", submenu="Copy as",
            hint="Copy a command that adds this server to Claude Code; names stand for its secrets"),
    Command("server.copy_fragment", "Server", "Part of .mcp.json", submenu="Copy as",
            hint="Copy this server as it stands in such a file; names stand for its secrets"),
    Command("app.answers", "Server", "Answer rules…", "inbox", begins_group=True,
            hint="Which questions of servers are answered by themselves, and how"),
    Command("app.secrets", "Server", "Secrets…", "key",
            hint="Where keys and tokens are kept, and which there are"),
    Command("app.settings", "Server", "Settings…", "settings", "Ctrl+,",
            "Times, limits, captures, history, colours, files"),
    Command("app.quit", "Server", "Quit", key="Ctrl+Q", begins_group=True),
    Command("tool.call", "Tool", "Call", "play", "Ctrl+Return", "Call the tool with these arguments"),
    Command("tool.call_anyway", "Tool", "Call anyway", key="Ctrl+Shift+Return",
            hint="Call with these arguments even if they do not fit the schema"),
    Command("tool.cancel", "Tool", "Cancel call", "stop", "Ctrl+.", "Stop waiting and tell the server so"),
    Command("call.history", "Tool", "History of calls", "history", "Ctrl+H",
            "Earlier calls of this tool: put their arguments back", begins_group=True),
    Command("call.saved", "Tool", "Saved calls", "bookmark", "Ctrl+B", "Open a call that was saved"),
    Command("call.save", "Tool", "Save call…", "save", "Ctrl+Shift+S",
            "Keep these arguments under a name, as a file"),
    Command("call.manage", "Tool", "Manage saved calls…",
            hint="Rename, describe and delete saved calls; choose the folders that hold them"),
    Command("call.options", "Tool", "Call options", "settings", hint="Timeout, _meta, run as a task"),
    Command("call.repeat", "Tool", "Run many times…", hint="Call it many times over, with figures"),
    Command("call.watch", "Tool", "Watch…", "follow", hint="Call it every so often, and see what changes"),
    Command("call.rerun", "Tool", "Run watched calls", "history",
            hint="Make the watched calls of this server again, and compare them with what is expected"),
    Command("call.variables", "Tool", "Variables…", hint="What ${name} stands for in arguments"),
    Command("tool.copy_name", "Tool", "Copy mcp__ name", "copy",
            hint="Copy the name by which clients offer this tool to a model: mcp__server__tool"),
    Command("tool.search", "Tool", "Search tools", "search", "Ctrl+T", begins_group=True),
    Command("tool.refresh", "Tool", "List tools again", "refresh"),
    Command("resource.read", "Resource", "Read", "resource",
            hint="Read this resource, or read it again (Ctrl+Return there)"),
    Command("resource.subscribe", "Resource", "Subscribe", "follow",
            hint="Hear of changes of this resource, or no longer"),
    Command("resource.watch", "Resource", "Watch…", "history",
            hint="Read it every so often, and see what changes"),
    Command("resource.search", "Resource", "Search resources", "search", "Ctrl+Shift+O", begins_group=True),
    Command("resource.tree", "Resource", "Switch between list and tree"),
    Command("resource.refresh", "Resource", "List resources again", "refresh"),
    Command("prompt.get", "Prompt", "Get", "prompt",
            hint="Get this prompt with these arguments (Ctrl+Return there)"),
    Command("prompt.get_anyway", "Prompt", "Get anyway",
            hint="Get it even if required arguments are missing (Ctrl+Shift+Return there)"),
    Command("prompt.search", "Prompt", "Search prompts", "search", "Ctrl+Shift+P", begins_group=True),
    Command("prompt.refresh", "Prompt", "List prompts again", "refresh"),
    Command("traffic.search", "Traffic", "Filter traffic", "filter", "Ctrl+Shift+F",
            "Go to the filter: words, or method:tools/call and dur>500ms"),
    Command("traffic.no_filter", "Traffic", "Take the filter away",
            hint="Show every message: no filter, no time range, all servers"),
    Command("traffic.save_filter", "Traffic", "Save filter…", "bookmark",
            hint="Keep this filter under a name"),
    Command("traffic.frames", "Traffic", "Frames", key="Alt+1", is_toggle=True, begins_group=True,
            hint="A row for each message", submenu="View"),
    Command("traffic.operations", "Traffic", "Operations", key="Alt+2", is_toggle=True,
            hint="A row for each thing that was asked, over all its rounds", submenu="View"),
    Command("traffic.timeline", "Traffic", "Timeline", "timeline", "Alt+3", is_toggle=True,
            hint="A bar for each operation", submenu="View"),
    Command("traffic.statistics", "Traffic", "Statistics", key="Alt+4", is_toggle=True,
            hint="Counts, errors and latencies by method and tool", submenu="View"),
    Command("traffic.columns", "Traffic", "Columns and order…", "columns",
            hint="Which columns the table has, and what its rows are sorted by"),
    Command("traffic.colours", "Traffic", "Colour rules…", hint="Which rows are tinted, and how"),
    Command("traffic.events", "Traffic", "Show connection events", "info", is_toggle=True,
            hint="Process, state, HTTP and local errors among the messages", submenu="Rows"),
    Command("traffic.logins", "Traffic", "Show logins", "key", is_toggle=True,
            hint="Steps and requests of logins among the messages", submenu="Rows"),
    Command("traffic.follow", "Traffic", "Follow new traffic", "follow", is_toggle=True, begins_group=True,
            hint="Stay at the newest row"),
    Command("traffic.pause", "Traffic", "Pause", "pause", "Ctrl+E", is_toggle=True,
            hint="Let the table stand still; everything is recorded all the same"),
    Command("traffic.clear", "Traffic", "Clear view", "clear", "Ctrl+L",
            "Hide what is there; the log keeps it"),
    Command("traffic.show_cleared", "Traffic", "Show cleared", hint="Show again what Clear view has hidden"),
    Command("traffic.partner", "Traffic", "Go to request or answer", "link", "Ctrl+J", begins_group=True),
    Command("traffic.operation", "Traffic", "Show only this operation",
            hint="Everything that belongs to what the person asked for"),
    Command("traffic.inbox", "Traffic", "Show in Inbox", "inbox",
            hint="Go to what was asked with this message, and its answer"),
    Command("traffic.mark", "Traffic", "Mark", "flag", "Ctrl+M", "Mark the chosen rows, or no longer (M)",
            begins_group=True),
    Command("traffic.comment", "Traffic", "Comment…", "comment", "Ctrl+;", "Note something about this row"),
    Command("traffic.next_mark", "Traffic", "Next mark", key="F2", submenu="Go to mark"),
    Command("traffic.previous_mark", "Traffic", "Previous mark", key="Shift+F2", submenu="Go to mark"),
    Command("traffic.copy", "Traffic", "Copy message", "copy", begins_group=True,
            hint="Copy the chosen message as it came"),
    Command("traffic.copy_curl", "Traffic", "cURL", hint="Copy a shell command that sends it again",
            submenu="Copy as"),
    Command("traffic.copy_python", "Traffic", "Python", hint="Copy a Python program that sends it again",
            submenu="Copy as"),
    Command("traffic.copy_json", "Traffic", "JSON", hint="Copy request and answer as JSON",
            submenu="Copy as"),
    Command("traffic.compare", "Traffic", "Two chosen rows…", hint="Choose two rows, then see what differs",
            submenu="Compare"),
    Command("traffic.left_side", "Traffic", "Set as left side", submenu="Compare",
            hint="Remember this row, to compare it with one that is chosen later, also of another capture"),
    Command("traffic.compare_left", "Traffic", "With left side…", submenu="Compare",
            hint="See what differs between this row and the one that was set as the left side"),
    Command("traffic.resend", "Traffic", "Edit and resend…", "edit", "Ctrl+Shift+R",
            "Change this request and send it again", begins_group=True),
    Command("raw.send", "Traffic", "Send raw message", "arrow-out",
            hint="Send what is written in the Raw tab (Ctrl+Return there)"),
    Command("capture.open", "Capture", "Open…", "open", "Ctrl+O", "Open captures, JSON Lines or HAR files"),
    Command("capture.save", "Capture", "Save as…", "save", "Ctrl+S",
            "Save a copy of this traffic, with every byte"),
    Command("capture.export", "Capture", "Export…", "export", "Ctrl+Shift+E",
            "As JSON Lines, HAR or Markdown, with secrets masked"),
    Command("capture.compare", "Capture", "Compare captures…", begins_group=True,
            hint="What two captures have in common, and what differs"),
    Command("capture.side_by_side", "Capture", "Side by side", is_toggle=True,
            hint="Show the live traffic and all open captures next to one another"),
    Command("capture.close", "Capture", "Close capture", "close", "Ctrl+W",
            "Take this capture off the screen; its file stays"),
    Command("capture.kept", "Capture", "Kept captures…", begins_group=True,
            hint="The captures of earlier runs, and how long they are kept"),
    Command("app.palette", "View", "Command palette…", "search", "Ctrl+K",
            "Go to any command, server, tool, resource, prompt or saved call"),
    Command("app.inbox", "View", "Inbox of all servers", "inbox", "Ctrl+I",
            "What servers ask, and wait for an answer to"),
    Command("view.overview", "View", "Overview", key="Ctrl+1", begins_group=True),
    Command("view.tools", "View", "Tools", key="Ctrl+2"),
    Command("view.resources", "View", "Resources", key="Ctrl+3"),
    Command("view.prompts", "View", "Prompts", key="Ctrl+4"),
    Command("view.tasks", "View", "Tasks", key="Ctrl+5", hint="Calls that go on after their answer"),
    Command("view.inbox", "View", "Inbox", key="Ctrl+6", hint="What this server asks"),
    Command("view.client", "View", "Client", key="Ctrl+7", hint="What we tell this server about ourselves"),
    Command("view.auth", "View", "Auth", key="Ctrl+8", hint="Logins to this server, step by step"),
    Command("view.process", "View", "Process",
            hint="What runs of this server, what it uses, and what happens when its files change"),
    Command("view.doctor", "View", "Doctor",
            hint="The way to this server step by step, and where it fails"),
    Command("view.raw", "View", "Raw", key="Ctrl+9", hint="Write any message to the server by hand"),
    Command("view.console", "View", "Console", key="Ctrl+0"),
    Command("view.system", "View", "Follow the system's colours", is_toggle=True, begins_group=True),
    Command("view.light", "View", "Light", "sun", is_toggle=True),
    Command("view.dark", "View", "Dark", "moon", is_toggle=True),
    Command("help.filters", "Help", "Filter language", hint="How traffic filters are written"),
    Command("help.news", "Help", "What's new"),
    Command("help.about", "Help", "About MCP Lens"),
)  # fmt: skip


class Actions(QObject):
    """The application's QActions, by command id."""

    def __init__(self, theme: Theme, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._actions = {command.id: self._make(command, theme) for command in COMMANDS}

    def __getitem__(self, id: str) -> QAction:
        return self._actions[id]

    def menus(self) -> Iterator[tuple[str, list[tuple[Command, QAction]]]]:
        """Yield each menu with its commands, in table order."""
        for name in dict.fromkeys(command.menu for command in COMMANDS):
            yield name, [(each, self[each.id]) for each in COMMANDS if each.menu == name]

    def starting_with(self, prefix: str) -> list[tuple[str, QAction]]:
        return [(id, action) for id, action in self._actions.items() if id.startswith(prefix)]

    def local(self, prefix: str, parent: QObject) -> dict[str, QAction]:
        """Create panel-local actions for the commands with this prefix, keyed by id.

        For panels that can be open more than once, each with its own state (following, events shown). These
        actions have no shortcuts: the window's action has them and forwards to the front panel.
        """
        return {each.id: self._make_local(each, parent) for each in COMMANDS if each.id.startswith(prefix)}

    def _make_local(self, command: Command, parent: QObject) -> QAction:
        action = self._make(command, self._theme)
        action.setParent(parent)
        action.setShortcuts([])
        return action

    def _make(self, command: Command, theme: Theme) -> QAction:
        action = QAction(command.text, self)
        action.setObjectName(command.id)
        action.setCheckable(command.is_toggle)
        if command.icon:
            theme.style_later(action, command.icon)
        if command.key:
            # Qt treats Return and the numpad's Enter as two keys; users expect them to act the same.
            keys_for_it = dict.fromkeys((command.key, command.key.replace("Return", "Enter")))
            action.setShortcuts([QKeySequence(each) for each in keys_for_it])
        action.setToolTip(_tip(command))
        return action


def _tip(command: Command) -> str:
    text = command.hint or command.text.rstrip("…")
    if not command.key:
        return text
    return f"{text} ({QKeySequence(command.key).toString(QKeySequence.SequenceFormat.NativeText)})"

"""Command table (text, icon, shortcut, menu position) and the QActions made from it.

The window creates the QActions once; menus, buttons, context menus and the tour share them. Shortcuts are
written as on Linux and Windows; on macOS, Qt uses Command for Ctrl. Texts with keys in them go through
`native_keys`.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator
from typing import NamedTuple

from PySide6.QtCore import QObject, Qt
from PySide6.QtGui import QAction, QKeySequence

from inspector.qt.theme import Theme


class Command(NamedTuple):
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
    works_in_dialogs: bool = False  # the shortcut, while a dialog has the focus
    mac_key: str = ""  # instead of `key` on macOS, where the system uses that one

    def shortcut(self, platform: str = sys.platform) -> str:
        return self.mac_key if self.mac_key and platform == "darwin" else self.key


COMMANDS = (
    Command("server.add", "Server", "Add server…", "plus", "Ctrl+N",
            "Add servers from a command, URL, configuration or install link"),
    Command("app.found", "Server", "Discovered servers", "search",
            hint="Servers configured in Claude, VS Code, Cursor and others: review, trust, import"),
    Command("server.open_file", "Server", "Import servers from file…", "open",
            hint="Add servers from the configuration file of an MCP client"),
    Command("server.export", "Server", "Export servers…", "export",
            hint="Export servers in the format of another MCP client; secrets are replaced by placeholders"),
    Command("server.demo", "Server", "Start demo servers", "play",
            hint="Servers that demonstrate every MCP feature; they stop when you close MCP Lens"),
    Command("server.connect", "Server", "Connect", "plug", "Ctrl+Shift+C", begins_group=True),
    Command("server.disconnect", "Server", "Disconnect", "unplug", "Ctrl+Shift+D"),
    Command("server.reconnect", "Server", "Reconnect", "refresh", "Ctrl+R",
            "Disconnect and connect again; restarts the process of a stdio server"),
    Command("server.login", "Server", "Log in…", "key",
            hint="Log in to this server, in one go or step by step"),
    Command("server.secrets", "Server", "Server secrets…", "key",
            hint="Manage this server's secret headers and environment variables"),
    Command("server.drift", "Server", "Review changes…", "history",
            hint="Compare this server's tools, resources and prompts with the baseline"),
    Command("server.doctor", "Server", "Run Doctor", "search",
            hint="Check the connection step by step: where it fails, why, and how to fix it"),
    Command("server.connect_all", "Server", "Connect all", "plug", hint="Connect every enabled server",
            submenu="Connection"),
    Command("server.wait_longer", "Server", "Wait longer", "plug", submenu="Connection",
            hint="Give a server that is slow to start 2 more minutes to connect"),
    Command("server.continue_as", "Server", "Continue as a known version", "plug", submenu="Connection",
            hint="Connect although the server names an unknown protocol version; remembered for this server"),
    Command("server.reopen_stream", "Server", "Reconnect stream", "refresh", submenu="Connection",
            hint="Open the stream for messages from the server again; the connection stays"),
    Command("server.enable", "Server", "Enabled", is_toggle=True, begins_group=True,
            hint="A disabled server stays in the list but is never connected"),
    Command("server.edit", "Server", "Edit server…", "edit", "F4",
            "Edit all settings of this server"),
    Command("server.duplicate", "Server", "Duplicate", "copy",
            hint="Add a server with the same configuration"),
    Command("server.remove", "Server", "Remove", "trash",
            hint="Disconnect this server and remove it from the server list"),
    Command("server.copy_claude", "Server", "claude mcp add …", submenu="Copy as",
            hint="Copy a command that adds this server to Claude Code; secrets are replaced by placeholders"),
    Command("server.copy_fragment", "Server", ".mcp.json entry", submenu="Copy as",
            hint="Copy this server as an .mcp.json entry; secrets are replaced by placeholders"),
    Command("app.answers", "Server", "Reply rules…", "inbox", begins_group=True,
            hint="Reply to server requests automatically"),
    Command("app.secrets", "Server", "Secrets…", "key",
            hint="Manage stored keys and tokens, and choose where they are stored"),
    Command("app.settings", "Server", "Settings…", "settings", "Ctrl+,",
            "Timeouts, limits, captures, history, appearance, files"),
    Command("app.quit", "Server", "Quit", key="Ctrl+Q", begins_group=True),
    Command("tool.call", "Tool", "Call", "play", "Ctrl+Return", "Call the tool with these arguments"),
    Command("tool.call_anyway", "Tool", "Call anyway", key="Ctrl+Shift+Return",
            hint="Call the tool even if the arguments do not match the schema"),
    Command("tool.cancel", "Tool", "Cancel call", "stop", "Ctrl+.", "Cancel the call and notify the server"),
    Command("call.history", "Tool", "Call history", "history", "Ctrl+H",
            "Restore the arguments of an earlier call of this tool", begins_group=True,
            mac_key="Ctrl+Y"),  # Command+H hides the application
    Command("call.saved", "Tool", "Saved calls", "bookmark", "Ctrl+B", "Open a saved call"),
    Command("call.save", "Tool", "Save call…", "save", "Ctrl+Shift+S",
            "Save these arguments under a name, as a file"),
    Command("call.manage", "Tool", "Manage saved calls…",
            hint="Rename, describe and delete saved calls; choose their folders"),
    Command("call.options", "Tool", "Call options", "settings", hint="Timeout, _meta, run as a task"),
    Command("call.repeat", "Tool", "Repeat call…", hint="Call this tool many times and show statistics"),
    Command("call.watch", "Tool", "Repeat at interval…", "follow",
            hint="Call this tool at a fixed interval and show what changes"),
    Command("call.rerun", "Tool", "Run regression calls", "history",
            hint="Rerun this server's regression calls and compare them with the expected results"),
    Command("call.variables", "Tool", "Call variables…", hint="Values for ${name} in arguments"),
    Command("tool.copy_name", "Tool", "Copy qualified tool name", "copy",
            hint="Copy the name under which clients offer this tool to a model: mcp__server__tool"),
    Command("tool.copy_anthropic", "Tool", "Anthropic tool definition", submenu="Copy as",
            hint="Copy the selected tools as the Anthropic API takes them, named mcp__server__tool"),
    Command("tool.copy_openai", "Tool", "OpenAI tool definition", submenu="Copy as",
            hint="Copy the selected tools as the OpenAI API takes them, named mcp__server__tool"),
    Command("tool.copy_gemini", "Tool", "Gemini tool definition", submenu="Copy as",
            hint="Copy the selected tools as the Gemini API takes them, named mcp__server__tool"),
    Command("tool.copy_mcp", "Tool", "MCP tool definition", submenu="Copy as",
            hint="Copy the selected tools as MCP tools, named mcp__server__tool"),
    Command("tool.copy_all_anthropic", "Tool", "All tools as Anthropic definitions", submenu="Copy as",
            hint="Copy all listed tools as the Anthropic API takes them, named mcp__server__tool"),
    Command("tool.copy_all_openai", "Tool", "All tools as OpenAI definitions", submenu="Copy as",
            hint="Copy all listed tools as the OpenAI API takes them, named mcp__server__tool"),
    Command("tool.copy_all_gemini", "Tool", "All tools as Gemini definitions", submenu="Copy as",
            hint="Copy all listed tools as the Gemini API takes them, named mcp__server__tool"),
    Command("tool.copy_all_mcp", "Tool", "All tools as MCP definitions", submenu="Copy as",
            hint="Copy all listed tools as MCP tools, named mcp__server__tool"),
    Command("tool.search", "Tool", "Search tools", "search", "Ctrl+T", begins_group=True),
    Command("tool.refresh", "Tool", "Refresh tools", "refresh"),
    Command("resource.read", "Resource", "Read", "resource",
            hint="Read this resource, or read it again (Ctrl+Return in the Resources tab)"),
    Command("resource.subscribe", "Resource", "Subscribe", "follow",
            hint="Subscribe to updates of this resource, or unsubscribe"),
    Command("resource.watch", "Resource", "Read at interval…", "history",
            hint="Read this resource at a fixed interval and show what changes"),
    Command("resource.search", "Resource", "Search resources", "search", "Ctrl+Shift+O", begins_group=True),
    Command("resource.tree", "Resource", "Switch between list and tree"),
    Command("resource.refresh", "Resource", "Refresh resources", "refresh"),
    Command("prompt.get", "Prompt", "Get prompt", "prompt",
            hint="Get this prompt with these arguments (Ctrl+Return in the Prompts tab)"),
    Command("prompt.get_anyway", "Prompt", "Get prompt anyway",
            hint="Get this prompt even if required arguments are missing (Ctrl+Shift+Return)"),
    Command("prompt.search", "Prompt", "Search prompts", "search", "Ctrl+Shift+P", begins_group=True),
    Command("prompt.refresh", "Prompt", "Refresh prompts", "refresh"),
    Command("traffic.search", "Traffic", "Filter traffic", "filter", "Ctrl+Shift+F",
            "Go to the filter field: plain text, or method:tools/call and dur>500ms"),
    Command("traffic.no_filter", "Traffic", "Clear filter",
            hint="Show every message: no filter, no time range, all servers"),
    Command("traffic.save_filter", "Traffic", "Save filter…", "bookmark",
            hint="Save this filter under a name"),
    Command("traffic.frames", "Traffic", "Messages", key="Alt+1", is_toggle=True, begins_group=True,
            hint="One row per message", submenu="View"),
    Command("traffic.operations", "Traffic", "Operations", key="Alt+2", is_toggle=True,
            hint="One row per operation, including all its rounds", submenu="View"),
    Command("traffic.timeline", "Traffic", "Timeline", "timeline", "Alt+3", is_toggle=True,
            hint="One bar per operation", submenu="View"),
    Command("traffic.statistics", "Traffic", "Statistics", key="Alt+4", is_toggle=True,
            hint="Counts, errors and latencies by method and tool", submenu="View"),
    Command("traffic.columns", "Traffic", "Columns and sorting…", "columns",
            hint="Choose which columns the table shows and how it is sorted"),
    Command("traffic.colors", "Traffic", "Color rules…",
            hint="Choose which rows are highlighted, and in which color"),
    Command("traffic.events", "Traffic", "Show connection events", "info", is_toggle=True,
            hint="Show process, connection, HTTP and local error events among the messages", submenu="Rows"),
    Command("traffic.logins", "Traffic", "Show logins", "key", is_toggle=True,
            hint="Show login steps and login requests among the messages", submenu="Rows"),
    Command("traffic.follow", "Traffic", "Follow new traffic", "follow", is_toggle=True, begins_group=True,
            hint="Keep the newest row in view"),
    Command("traffic.pause", "Traffic", "Pause", "pause", "Ctrl+E", is_toggle=True,
            hint="Pause the view; recording continues"),
    Command("traffic.clear", "Traffic", "Clear view", "clear", "Ctrl+L",
            "Hide the current messages; they stay in the log"),
    Command("traffic.show_cleared", "Traffic", "Show cleared messages",
            hint="Restore the messages hidden by Clear view"),
    Command("traffic.partner", "Traffic", "Go to request or response", "link", "Ctrl+J", begins_group=True),
    Command("traffic.operation", "Traffic", "Show only this operation",
            hint="Show only the messages of this operation"),
    Command("traffic.inbox", "Traffic", "Show in Inbox", "inbox",
            hint="Go to the server request this message belongs to, and its reply"),
    Command("traffic.mark", "Traffic", "Mark", "flag", "Ctrl+M", "Mark or unmark the selected rows (M)",
            begins_group=True, mac_key="Ctrl+D"),  # Command+M minimizes the window
    Command("traffic.comment", "Traffic", "Comment…", "comment", "Ctrl+;", "Add a comment to this row"),
    Command("traffic.next_mark", "Traffic", "Next mark", key="F2", submenu="Go to mark"),
    Command("traffic.previous_mark", "Traffic", "Previous mark", key="Shift+F2", submenu="Go to mark"),
    Command("traffic.copy", "Traffic", "Copy message", "copy", begins_group=True,
            hint="Copy the selected message exactly as it was sent or received"),
    Command("traffic.copy_curl", "Traffic", "cURL", hint="Copy a shell command that sends this request again",
            submenu="Copy as"),
    Command("traffic.copy_python", "Traffic", "Python",
            hint="Copy a Python script that sends this request again",
            submenu="Copy as"),
    Command("traffic.copy_json", "Traffic", "JSON", hint="Copy request and response as JSON",
            submenu="Copy as"),
    Command("traffic.compare", "Traffic", "Selected rows…", hint="Select two rows to see how they differ",
            submenu="Compare"),
    Command("traffic.left_side", "Traffic", "Select for compare", submenu="Compare",
            hint="Select this row as the left side of a comparison; the other row may be in another capture"),
    Command("traffic.compare_left", "Traffic", "Compare with selected…", submenu="Compare",
            hint="Compare this row with the one selected for compare"),
    Command("traffic.resend", "Traffic", "Edit and resend…", "edit", "Ctrl+Shift+R",
            "Edit this request and send it again", begins_group=True),
    Command("raw.send", "Traffic", "Send raw message", "arrow-out",
            hint="Send the message in the Raw tab (Ctrl+Return in that tab)"),
    Command("capture.open", "Capture", "Open…", "open", "Ctrl+O", "Open captures, JSON Lines or HAR files"),
    Command("capture.save", "Capture", "Save as…", "save", "Ctrl+S",
            "Save a complete, byte-exact copy of this traffic"),
    Command("capture.export", "Capture", "Export…", "export", "Ctrl+Shift+E",
            "Export as JSON Lines, HAR or Markdown, with secrets masked"),
    Command("capture.compare", "Capture", "Compare captures…", begins_group=True,
            hint="Show what two captures have in common and how they differ"),
    Command("capture.side_by_side", "Capture", "Side by side", is_toggle=True,
            hint="Show live traffic and all open captures side by side"),
    Command("capture.close", "Capture", "Close capture", "close", "Ctrl+W",
            "Close this capture; its file is not deleted"),
    Command("capture.kept", "Capture", "Manage captures…", begins_group=True,
            hint="Open or delete saved captures, and set how long to keep them"),
    Command("app.palette", "View", "Command palette…", "search", "Ctrl+K",
            "Search commands, servers, tools, resources, prompts and saved calls"),
    Command("app.inbox", "View", "Inbox (all servers)", "inbox", "Ctrl+I",
            "Pending server requests of all servers"),
    Command("app.features", "View", "All features", "tool",
            hint="Tools, resources and prompts of all connected servers in one list"),
    Command("view.overview", "View", "Overview", key="Ctrl+1", begins_group=True),
    Command("view.tools", "View", "Tools", key="Ctrl+2"),
    Command("view.resources", "View", "Resources", key="Ctrl+3"),
    Command("view.prompts", "View", "Prompts", key="Ctrl+4"),
    Command("view.tasks", "View", "Tasks", key="Ctrl+5", hint="Calls that run as tasks"),
    Command("view.inbox", "View", "Inbox", key="Ctrl+6", hint="Requests from this server"),
    Command("view.client", "View", "Client", key="Ctrl+7",
            hint="Client capabilities and roots that MCP Lens declares to this server"),
    Command("view.auth", "View", "Auth", key="Ctrl+8", hint="Logins to this server, step by step"),
    Command("view.process", "View", "Process",
            hint="Running processes, their resource usage, and restart on file changes"),
    Command("view.doctor", "View", "Doctor",
            hint="Step-by-step connection checks for this server"),
    Command("view.raw", "View", "Raw", key="Ctrl+9", hint="Write and send any message to the server"),
    Command("view.console", "View", "Console", key="Ctrl+0"),
    Command("theme.system", "View", "System theme", is_toggle=True, begins_group=True),
    Command("theme.light", "View", "Light theme", "sun", is_toggle=True),
    Command("theme.dark", "View", "Dark theme", "moon", is_toggle=True),
    Command("help.manual", "Help", "Manual", "info", "F1", "Open the manual page for the focused panel",
            works_in_dialogs=True),
    Command("help.shortcuts", "Help", "Keyboard shortcuts"),
    Command("help.filters", "Help", "Filter syntax", hint="How to write traffic filters"),
    Command("help.news", "Help", "What's new"),
    Command("help.about", "Help", "About MCP Lens"),
)  # fmt: skip


COPY_TOOLS = tuple(
    command.id for command in COMMANDS if command.menu == "Tool" and command.submenu == "Copy as"
)


class Actions(QObject):
    """The application's QActions, by command id."""

    def __init__(self, theme: Theme, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._actions = {command.id: self._make(command, theme) for command in COMMANDS}

    def __getitem__(self, id: str) -> QAction:
        return self._actions[id]

    def find(self, id: str) -> QAction | None:
        """Return the action, None for ""."""
        return self[id] if id else None

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
            theme.set_icon_later(action, command.icon)
        action.setMenuRole(_MENU_ROLES.get(command.id, QAction.MenuRole.NoRole))
        if shortcut := command.shortcut():
            # Qt treats Return and the numpad's Enter as two keys; users expect them to act the same.
            keys = dict.fromkeys((shortcut, shortcut.replace("Return", "Enter")))
            action.setShortcuts([QKeySequence(key) for key in keys])
        if command.works_in_dialogs:
            action.setShortcutContext(Qt.ShortcutContext.ApplicationShortcut)
        action.setToolTip(_tool_tip(command))
        return action


# macOS moves these to the application's menu. By default Qt decides by the text, and would move "Call
# options" too.
_MENU_ROLES = {
    "app.quit": QAction.MenuRole.QuitRole,
    "app.settings": QAction.MenuRole.PreferencesRole,
    "help.about": QAction.MenuRole.AboutRole,
}


def _tool_tip(command: Command) -> str:
    text = command.hint or command.text.rstrip("…")
    return native_keys(f"{text} ({command.shortcut()})" if command.key else text)


_KEYS = re.compile(r"\b(?:(?:Ctrl|Shift|Alt)\+)+(?:\w+|[,.;])")
_MAC_SYMBOLS = {"Ctrl+": "⌘", "Shift+": "⇧", "Alt+": "⌥"}


def _native_sequence(keys: str) -> str:
    return QKeySequence(keys).toString(QKeySequence.SequenceFormat.NativeText)


def native_keys(
    text: str, to_native: Callable[[str], str] = _native_sequence, platform: str = sys.platform
) -> str:
    """Return a text with keys such as Ctrl+Return in the notation of the platform: ⌘↩ on macOS."""

    def replace(found: re.Match[str]) -> str:
        if native := to_native(found[0]):
            return native
        keys = found[0]  # with the mouse: Ctrl+wheel
        for name, symbol in _MAC_SYMBOLS.items() if platform == "darwin" else ():
            keys = keys.replace(name, symbol)
        return keys

    return _KEYS.sub(replace, text)


def shortcuts_page() -> str:
    """Return the manual page of the keyboard shortcuts, as Markdown, one table per menu."""
    moved = [
        f"*{each.text}* is {each.mac_key.replace('Ctrl', 'Command')}" for each in COMMANDS if each.mac_key
    ]
    parts = [
        "# Keyboard shortcuts\n",
        f"On macOS, Ctrl is Command (⌘) and Alt is Option (⌥); {', and '.join(moved)}.\n",
    ]
    for menu in dict.fromkeys(command.menu for command in COMMANDS):
        keyed = [command for command in COMMANDS if command.menu == menu and command.key]
        rows = [f"| {each.text} | {each.key.replace('Return', 'Enter')} |" for each in keyed]
        if rows:
            parts.append("\n".join([f"## {menu}\n", "| command | shortcut |", "|---|---|", *rows, ""]))
    return "\n".join(parts)

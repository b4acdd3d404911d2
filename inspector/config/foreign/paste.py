"""Servers from pasted text: a file or part of it, a command line, a URL, an install link.

Install links of VS Code, Cursor and LM Studio are parsed, never opened. Nothing is started, contacted or
written; the result needs the user's consent like any discovered server.
"""

from __future__ import annotations

import base64
import binascii
import re
from dataclasses import replace
from urllib.parse import parse_qs, unquote, urlsplit

from inspector.base.errors import ConfigError
from inspector.base.json.values import JSONError, JSONObject, parse
from inspector.base.units import size
from inspector.config.foreign.command_lines import commands_in, name_of, read_command, unexpanded_in
from inspector.config.foreign.discovery import PASTED, DiscoveredServer, Source
from inspector.config.foreign.formats import Document, is_server, jsonc_tokens, read_document
from inspector.config.foreign.reader import servers_of, single_server
from inspector.config.servers.entries import StdioEntry, entry_from_text

MAX_CHARACTERS = 1024 * 1024
_MAX_COMMANDS = 20
_SOURCE = Source(PASTED, "user", None)
# The text may be anyone's: each of these looks at a character a fixed number of times.
_FENCE = re.compile(r"\s*(`{3,}(?!`)|~{3,}(?!~))[^\n]*\n")
_STRING = re.compile(r'"[^"\\\n]*(?:\\.[^"\\\n]*)*"?')
_MEMBER = re.compile(r'"[^"\\\n]*(?:\\.[^"\\\n]*)*"\s*:\s*[{\[]')
_TOML = re.compile(r"^[ \t]*\[\s*mcp_servers\s*\.", re.MULTILINE)
_URL = re.compile(r"[a-zA-Z][a-zA-Z0-9+.-]*://\S*")
_LINK = re.compile(
    r"(?P<vscode>vscode(?:-insiders)?:(?://)?mcp/install\?)|(?:cursor|lmstudio)://(?P<app>[^?]*)\?"
    r"|https://(?:[\w.-]+\.)?(?:vscode\.dev|cursor\.com|cursor\.sh)/(?P<site>[^?]*)\?",
    re.IGNORECASE,
)


def read_pasted(text: str) -> tuple[DiscoveredServer, ...]:
    """Return at least one server, each with an entry or a problem. Raises ConfigError if none."""
    if len(text) > MAX_CHARACTERS:
        raise ConfigError(
            f"The pasted text is larger than {size(MAX_CHARACTERS)}.", "Paste only the servers."
        )
    text = _unwrapped(text.removeprefix("\ufeff"))
    if not text.strip():
        raise ConfigError("Nothing was pasted.", "Paste a configuration, a command line or a URL.")
    if _TOML.search(text):
        return _from_document(read_document(text, "toml"), "Codex")
    if _MEMBER.match(text, _comments_end(text)):
        return _from_fragment(text)
    if text.lstrip().startswith(("{", "//", "/*")):
        return _from_json(text)
    if text.lstrip().startswith("["):
        raise ConfigError("An array has no server names.", 'Paste an object: {"name": {"command": "…"}}.')
    return _from_lines(text)


def _unwrapped(text: str) -> str:
    """Remove a Markdown code fence."""
    match, trimmed = _FENCE.match(text), text.rstrip()
    if match is None or not trimmed.endswith(match[1]) or len(trimmed) - len(match[1]) < match.end():
        return text
    return trimmed[match.end() : -len(match[1])].rstrip()


def _comments_end(text: str) -> int:
    """Return the offset after the comments and white space at the start of a JSON text."""
    end = 0
    try:
        for token in jsonc_tokens(text):
            if not token.isspace() and not token.startswith(("//", "/*")):
                break
            end += len(token)
    except JSONError:  # a comment that does not end
        return 0
    return end


def _from_json(text: str) -> tuple[DiscoveredServer, ...]:
    return _from_document(read_document(text, "json"), "")


def _from_fragment(text: str) -> tuple[DiscoveredServer, ...]:
    """Parse `"name": {…},` from the middle of a file. Columns do not count the added brace."""
    trimmed = text.rstrip().rstrip(",").rstrip()
    unmatched = _unmatched_braces(trimmed)
    try:
        return _from_json(f"{{{trimmed[: len(trimmed) - unmatched]}}}")
    except ConfigError as exc:
        raise ConfigError(_with_column_corrected(exc.summary), exc.next_step) from exc


def _unmatched_braces(text: str) -> int:
    """Return the length of the end of the text whose closing braces have no opening ones."""
    bare = _STRING.sub("", text)
    missing = bare.count("}") - bare.count("{")
    tail = text[len(text.rstrip("} \t\r\n")) :]
    if missing <= 0 or tail.count("}") < missing:
        return 0
    length = 0
    while missing:
        length += 1
        missing -= tail[-length] == "}"
    return length


def _with_column_corrected(summary: str) -> str:
    """Correct the column on the first line for the brace that was added."""

    def corrected(match: re.Match[str]) -> str:
        return f"line 1, column {max(1, int(match[1]) - 1)}"

    return re.sub(r"\bline 1, column (\d+)", corrected, summary)


def _from_document(document: Document, tool: str) -> tuple[DiscoveredServer, ...]:
    value = document.value
    if is_server(value):
        return (_single("", value, tool),)
    source = replace(_SOURCE, tool=tool) if tool else _source_for(value)
    servers = servers_of(value, document, source)
    if not servers:
        raise ConfigError(
            "No server found in the pasted text.",
            'Paste {"mcpServers": {…}}, or one server with "command" or "url".',
        )
    return tuple(replace(server, source=_SOURCE) for server in servers)


def _source_for(value: JSONObject) -> Source:
    """Return the source client, where it affects the meaning."""
    servers = value.get("mcpServers")
    if isinstance(servers, dict) and any(
        isinstance(raw, dict) and "httpUrl" in raw for raw in servers.values()
    ):
        return replace(_SOURCE, tool="Gemini CLI")
    return replace(_SOURCE, tool="VS Code") if "servers" in value else _SOURCE


def _from_lines(text: str) -> tuple[DiscoveredServer, ...]:
    commands = commands_in(text)
    if not commands:
        raise ConfigError(
            "No command found in the pasted text.", "Paste a configuration, a command line or a URL."
        )
    if len(commands) > _MAX_COMMANDS:
        raise ConfigError(
            f"The pasted text has {len(commands)} command lines.", "Paste a configuration, or fewer commands."
        )
    return tuple(_from_line(line) for line in commands)


def _from_line(line: str) -> DiscoveredServer:
    if is_link(line):
        name, raw = read_link(line)
        return _single(name, raw, "VS Code" if line.startswith("vscode") else "")
    if _URL.fullmatch(line):
        entry = entry_from_text(line)
        return DiscoveredServer(entry.name, _SOURCE, {"url": line}, entry)
    pasted = read_command(line)
    return _with_warning(_single(pasted.name, pasted.raw, pasted.tool))


def _with_warning(server: DiscoveredServer) -> DiscoveredServer:
    """Warn about shell variables: only `${NAME}` is expanded here."""
    entry = server.entry
    names = unexpanded_in(entry.args) if isinstance(entry, StdioEntry) else []
    if not names:
        return server
    note = f"{names[0]} is passed literally; write ${{{names[0].strip('$%')}}} to insert its value."
    return replace(server, notes=(*server.notes, note))


def _single(name: str, raw: JSONObject, tool: str) -> DiscoveredServer:
    """Return a single server, named by `name` or by what it starts."""
    server = single_server(name or _name_for(raw), raw, replace(_SOURCE, tool=tool or PASTED))
    return replace(server, source=_SOURCE)


def _name_for(raw: JSONObject) -> str:
    name, command, args = raw.get("name"), raw.get("command"), raw.get("args")
    if isinstance(name, str) and name.strip():
        return name
    if isinstance(command, str):
        words = [word for word in args if isinstance(word, str)] if isinstance(args, list) else []
        return name_of([command, *words])
    url = next(
        (url for member in ("url", "serverUrl", "httpUrl") if isinstance(url := raw.get(member), str)), ""
    )
    try:
        return urlsplit(url).netloc.rpartition("@")[2] or "server"
    except ValueError:
        return "server"


def has_link(text: str) -> bool:
    """True if the text contains an install link, whose content cannot be read without decoding it."""
    return any(is_link(word) for word in text.split())


def is_link(text: str) -> bool:
    return _match_link(text) is not None


def _match_link(text: str) -> re.Match[str] | None:
    match = _LINK.match(text)
    if match is None or match["vscode"]:
        return match
    if match["app"] is not None:
        return match if "mcp" in match["app"].lower() else None
    path = match["site"].lower()
    return match if "install" in path or "redirect" in path else None


def read_link(link: str) -> tuple[str, JSONObject]:
    """Return the server's name, which may be empty, and its configuration. Raises ConfigError."""
    match = _match_link(link)
    if match is None:
        raise _no_server()
    if match["vscode"]:
        return _named(_json(unquote(link[match.end() :])))
    query = parse_qs(urlsplit(link).query)
    inner = query.get("url", [""])[0]
    if is_link(inner):
        return read_link(inner)
    config = _json(query.get("config", [""])[0])
    name, config = _named(config)
    return query.get("name", [name])[0], config


def _named(config: JSONObject) -> tuple[str, JSONObject]:
    name = config.get("name")
    return (name if isinstance(name, str) else ""), config


def _json(text: str) -> JSONObject:
    """Parse JSON, plain or in base64 of either alphabet."""
    if not text.lstrip().startswith("{"):
        try:
            # In a query string "+" means a space; undo that.
            letters = text.strip().replace(" ", "+").replace("-", "+").replace("_", "/")
            text = base64.b64decode(letters + "=" * (-len(letters) % 4), validate=True).decode()
        except (binascii.Error, ValueError) as exc:
            raise _no_server() from exc
    try:
        value = parse(text)
    except JSONError as exc:
        raise ConfigError(f"The link contains invalid JSON: {exc}.", "Copy the whole link.") from exc
    if not isinstance(value, dict):
        raise _no_server()
    return value


def _no_server() -> ConfigError:
    return ConfigError(
        "The link contains no server.", "Copy the whole link, or paste the configuration itself."
    )

"""Tool names as hosts offer them to models, `mcp__server__tool`, and findings about tools.

Hosts replace every character that model APIs do not allow by `_` (`protocol.types.namespaced`). Two tools can
then have the same name, and a name can be too long. `offered_names` returns names that an API accepts;
`matching_tools` and `matching_servers` find what a qualified name stands for.
"""

from __future__ import annotations

import hashlib
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence

from inspector.base.json.values import quote_value, shorten
from inspector.protocol.types import Tool, namespaced, sanitized
from inspector.schema.keywords import kind_of

MAX_NAME_LENGTH = 64  # Anthropic and OpenAI: ^[a-zA-Z0-9_-]{1,64}$
MAX_GEMINI_NAME_LENGTH = 63  # FunctionDeclaration.name of the Gemini API, v1beta
_PREFIX = "mcp__"
_DIGEST_LENGTH = 8
_MAX_LISTED = 3


def is_qualified(name: str) -> bool:
    return name.startswith(_PREFIX)


def offered_names(tools: Sequence[tuple[str, str]], limit: int = MAX_NAME_LENGTH) -> list[str]:
    """Return a valid and unique name for each tool, given as names of server and tool.

    A name that is too long, or that several tools would have, ends in a digest of the original names.
    """
    names = [namespaced(server, tool) for server, tool in tools]
    counts = Counter(names)
    seen: Counter[tuple[str, str]] = Counter()
    offered = []
    for pair, name in zip(tools, names, strict=True):
        is_good = len(name) <= limit and counts[name] == 1
        offered.append(name if is_good else _with_digest(name, limit, pair, seen[pair]))
        seen[pair] += 1
    return offered


def _with_digest(name: str, limit: int, pair: tuple[str, str], number: int = 0) -> str:
    """Return a shortened name with a digest; `number` tells tools of the same name apart."""
    original = "\0".join((*pair, str(number) if number else ""))
    digest = hashlib.sha256(original.encode(errors="surrogatepass")).hexdigest()[:_DIGEST_LENGTH]
    return f"{name[: limit - _DIGEST_LENGTH - 1]}_{digest}"


def matching_tools(name: str, tools: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    """Return the tools with this qualified name, which `offered_names` may have shortened."""
    return list(dict.fromkeys(pair for pair in tools if name in search_names(*pair)))


def search_names(server: str, tool: str) -> tuple[str, ...]:
    """Return the qualified names under which a tool can be found."""
    name, pair = namespaced(server, tool), (server, tool)
    limits = (MAX_NAME_LENGTH, MAX_GEMINI_NAME_LENGTH)
    return (name, *dict.fromkeys(_with_digest(name, limit, pair) for limit in limits))


def matching_servers(name: str, servers: Iterable[str]) -> list[str]:
    """Return the servers that a qualified name can refer to. There may be several: `a` and `a__b`."""
    return [server for server in servers if name.startswith(qualified_prefix(server))]


def tools_of_any_server(name: str, tools: Iterable[str]) -> list[str]:
    """Return the tools that a qualified name can refer to if the server's name is not known."""
    return [tool for tool in tools if is_qualified(name) and name.endswith(f"__{sanitized(tool)}")]


def qualified_prefix(server: str) -> str:
    """Return what the qualified names of a server's tools start with: `mcp__server__`."""
    return namespaced(server, "")


def tool_findings(tools: Sequence[tuple[str, Tool]]) -> list[tuple[str, ...]]:
    """Return the findings about each tool, given with the name of its server; most have none."""
    names = [namespaced(server, tool.name) for server, tool in tools]
    same: dict[str, dict[tuple[str, str], None]] = defaultdict(dict)
    for (server, tool), name in zip(tools, names, strict=True):
        same[name][server, tool.name] = None
    findings = []
    for (server, tool), name in zip(tools, names, strict=True):
        found = _schema_findings(tool)
        if len(same[name]) > 1 or len(name) > MAX_NAME_LENGTH:  # few of them: a server may have 10,000 tools
            found = (*found, *_name_findings(name, (server, tool.name), list(same[name])))
        findings.append(found)
    return findings


def _schema_findings(tool: Tool) -> tuple[str, ...]:
    if isinstance(tool.source.get("inputSchema"), dict):
        return ()
    what = "is missing"
    if "inputSchema" in tool.source:
        what = f"is {kind_of(tool.source['inputSchema'])} instead of an object"
    return (
        f'"inputSchema" {what}. The specification requires it; hosts may drop the tool, or all tools of '
        "the server.",
    )


def _name_findings(name: str, pair: tuple[str, str], same: list[tuple[str, str]]) -> list[str]:
    findings: list[str] = []
    if others := [_tool_text(other, pair[0]) for other in same if other != pair]:
        more = f" and {len(others) - _MAX_LISTED:,} more" if len(others) > _MAX_LISTED else ""
        listed = ", ".join(others[:_MAX_LISTED]) + more
        findings.append(f"Its qualified name {name} is also that of {listed}: models cannot tell them apart.")
    if len(name) > MAX_NAME_LENGTH:
        findings.append(
            f"Its qualified name {shorten(name, 200)} has {len(name):,} characters. Model APIs allow "
            f"{MAX_NAME_LENGTH}: hosts shorten it or drop the tool."
        )
    return findings


def _tool_text(pair: tuple[str, str], server: str) -> str:
    return quote_value(pair[1]) if pair[0] == server else f"{quote_value(pair[1])} of {quote_value(pair[0])}"

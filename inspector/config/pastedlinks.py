"""Links that install a server: those of VS Code, Cursor and LM Studio. They are read, never opened."""

from __future__ import annotations

import base64
import binascii
import re
from urllib.parse import parse_qs, unquote, urlsplit

from inspector.base.errors import ConfigError
from inspector.base.jsonvalue import JSONObject, JSONProblem, parse

_LINK = re.compile(
    r"(?P<vscode>vscode(?:-insiders)?:(?://)?mcp/install\?)|(?:cursor|lmstudio)://[^?]*mcp[^?]*\?"
    r"|https://(?:[\w.-]+\.)?(?:vscode\.dev|cursor\.com|cursor\.sh)/[^?]*(?:install|redirect)[^?]*\?",
    re.IGNORECASE,
)


def is_link(text: str) -> bool:
    return _LINK.match(text) is not None


def read_link(link: str) -> tuple[str, JSONObject]:
    """Return the server's name, which may be empty, and its configuration. Raises ConfigError."""
    match = _LINK.match(link)
    if match is None:
        raise _unreadable()
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
            raise _unreadable() from exc
    try:
        value = parse(text)
    except JSONProblem as exc:
        raise ConfigError(f"The link holds no valid JSON: {exc}.", "Copy the whole link.") from exc
    if not isinstance(value, dict):
        raise _unreadable()
    return value


def _unreadable() -> ConfigError:
    return ConfigError("The link holds no server.", "Copy the whole link, or paste the configuration itself.")

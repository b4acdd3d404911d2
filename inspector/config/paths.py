"""Where our own files live on this machine."""

from __future__ import annotations

from pathlib import Path

_APP = "mcp-lens"


def default_catalogue_path() -> Path:
    """The catalogue of servers in the person's configuration folder. Neither need exist yet."""
    from platformdirs import user_config_path  # not needed by commands that name their server

    return user_config_path(_APP) / "servers.json"

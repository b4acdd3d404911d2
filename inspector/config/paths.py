"""Paths of MCP Lens's own files on this machine, and of the resources that ship with it.

Neither the files nor their folders need exist yet. Imported at start-up: keep it light.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import inspector


def resource_folder() -> Path:
    """Return the folder that holds `icons/` and `help/`.

    The checkout is tried first: an editable install leaves a copy beside the package that becomes stale.
    """
    package = Path(inspector.__file__).resolve().parent
    checkout = package.parent / "resources"
    return checkout if (checkout / "icons").is_dir() else package / "_resources"


_APP = "mcp-lens"


class Files(NamedTuple):
    """The files that this run of the app uses. None: neither read nor written."""

    server_list: Path | None = None
    preferences: Path | None = None
    captures: Path | None = None  # folder; traffic is recorded here
    history: Path | None = None  # folder; call history, one file per tool
    calls: Path | None = None  # folder; saved calls and variables
    secrets: Path | None = None  # folder; secrets encrypted with a key from the keychain
    reply_rules: Path | None = None
    trust: Path | None = None  # what the user trusts; without it, no files of other clients are read
    baselines: Path | None = None  # folder; baselines
    home: Path | None = None  # where to look for other clients' files; None: the user's home


def server_list_path() -> Path:
    """Return the path of the user's server list."""
    from platformdirs import user_config_path  # most CLI commands name their server and need no folder

    return user_config_path(_APP) / "servers.json"


def preferences_path() -> Path:
    """Return the path of the preferences: capture retention, filters, row colors."""
    from platformdirs import user_config_path

    return user_config_path(_APP) / "preferences.json"


def reply_rules_path() -> Path:
    """Return the path of the reply rules."""
    from platformdirs import user_config_path

    return user_config_path(_APP) / "answers.json"


def trust_path() -> Path:
    """Return the path of the trust decisions about servers from other clients' files."""
    from platformdirs import user_config_path

    return user_config_path(_APP) / "trust.json"


def captures_path() -> Path:
    """Return the folder of automatic captures, one file per run."""
    from platformdirs import user_data_path

    return user_data_path(_APP) / "captures"


def history_path() -> Path:
    """Return the folder of the call history."""
    from platformdirs import user_state_path

    return user_state_path(_APP) / "history"


def calls_path() -> Path:
    """Return the folder of the user's own saved calls and variables."""
    from platformdirs import user_data_path

    return user_data_path(_APP) / "calls"


def secrets_path() -> Path:
    """Return the folder of the secrets."""
    from platformdirs import user_data_path

    return user_data_path(_APP) / "secrets"


def baselines_path() -> Path:
    """Return the folder of the baselines."""
    from platformdirs import user_data_path

    return user_data_path(_APP) / "baselines"


def layout_path() -> Path:
    """Return the path of the window layout: sizes, docks, colors. Safe to lose."""
    from platformdirs import user_state_path

    return user_state_path(_APP) / "layout.ini"

"""Where our own files live on this machine. None of them need exist yet, nor the folder it is in."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

_APP = "mcp-lens"


@dataclass(frozen=True, slots=True)
class Files:
    """The files that one run of the app uses. What is None is neither read nor written."""

    catalogue: Path | None = None
    preferences: Path | None = None
    captures: Path | None = None  # a folder: traffic is recorded into it
    history: Path | None = None  # a folder: what was called, a file a tool
    calls: Path | None = None  # a folder: saved calls and variables
    secrets: Path | None = None  # a folder: what is sealed under the keychain's key
    answers: Path | None = None
    trust: Path | None = None  # what the person agreed to; without it, no files of other tools are read
    baselines: Path | None = None  # a folder: what servers offered when that was last agreed to
    home: Path | None = None  # where files of other tools are looked for; None is the person's own home


def catalogue_path() -> Path:
    """The person's list of servers."""
    from platformdirs import user_config_path  # most commands name their server and need no folder

    return user_config_path(_APP) / "servers.json"


def preferences_path() -> Path:
    """What the person chose: how long captures are kept, filters, colours of rows."""
    from platformdirs import user_config_path

    return user_config_path(_APP) / "preferences.json"


def answers_path() -> Path:
    """The person's answer rules."""
    from platformdirs import user_config_path

    return user_config_path(_APP) / "answers.json"


def trust_path() -> Path:
    """Which servers of other tools' files the person agreed to."""
    from platformdirs import user_config_path

    return user_config_path(_APP) / "trust.json"


def captures_path() -> Path:
    """The folder of the captures that are made by themselves, one a run."""
    from platformdirs import user_data_path

    return user_data_path(_APP) / "captures"


def history_path() -> Path:
    """The folder of the history of calls."""
    from platformdirs import user_state_path

    return user_state_path(_APP) / "history"


def calls_path() -> Path:
    """The folder of the person's own saved calls and variables."""
    from platformdirs import user_data_path

    return user_data_path(_APP) / "calls"


def secrets_path() -> Path:
    """The folder of the secrets."""
    from platformdirs import user_data_path

    return user_data_path(_APP) / "secrets"


def baselines_path() -> Path:
    """The folder of what servers offered when the person last agreed to it."""
    from platformdirs import user_data_path

    return user_data_path(_APP) / "baselines"


def layout_path() -> Path:
    """How the window was left: sizes, docks, colours. Losing it costs nobody any work."""
    from platformdirs import user_state_path

    return user_state_path(_APP) / "layout.ini"

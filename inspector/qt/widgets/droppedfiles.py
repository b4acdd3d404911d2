"""Files that are dropped on a window, told apart by their names; what is in them is looked at later."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import QMimeData

_CONFIGURATIONS = (".json", ".jsonc", ".toml")


def configurations(data: QMimeData) -> list[Path]:
    """Return the dropped files that may contain servers."""
    paths = [Path(url.toLocalFile()) for url in data.urls() if url.isLocalFile()]
    return [path for path in paths if path.suffix.lower() in _CONFIGURATIONS]

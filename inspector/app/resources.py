"""Finds the files that ship with the app: beside the package when installed, at the top of a checkout."""

from __future__ import annotations

from pathlib import Path

import inspector


def resource_folder() -> Path:
    """Return the folder that holds `icons/` and `help/`.

    The checkout is tried first: an editable install leaves a copy beside the package that becomes stale.
    """
    package = Path(inspector.__file__).resolve().parent
    checkout = package.parent / "resources"
    return checkout if (checkout / "icons").is_dir() else package / "_resources"

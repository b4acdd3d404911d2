"""Where other tools keep their servers, on each platform and for a folder that one works in."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias

Scope: TypeAlias = Literal["folder", "user", "system"]


@dataclass(frozen=True, slots=True)
class Place:
    """A file that may hold servers: whose it is, how it is written, and what for we look there.

    `form` is a name of `formats.forms.FORMS`. `folder` is the one that a person works in: some files hold
    servers for several.
    """

    tool: str
    scope: Scope
    path: Path
    form: str
    folder: Path | None = None

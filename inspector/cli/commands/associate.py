"""`mcp-lens associate`: register MCP Lens as the default app for `.mcpcap` files.

For freedesktop.org desktops: installs a desktop entry, a MIME type and an icon in the user's data folder.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
from pathlib import Path

from inspector.base.atomic_file import replace_file
from inspector.base.errors import UserError
from inspector.cli.output import ExitCode, Parser
from inspector.config.paths import resource_folder

_RESERVED = set(" \t\n\"'\\><~|&;$*?#()`")


def configure(parser: Parser) -> None:
    parser.add_argument("--remove", action="store_true", help="remove the file associations")


def run(options: argparse.Namespace) -> int:
    if sys.platform in ("win32", "darwin"):
        raise UserError(
            "mcp-lens associate is only supported on Linux desktops.",
            "Choose MCP Lens in the file's properties (“Open with”), or run mcp-lens FILE.",
        )
    data = Path(os.environ.get("XDG_DATA_HOME") or Path.home() / ".local/share")
    source = resource_folder() / "desktop"
    targets = {
        data / "applications/mcp-lens.desktop": _desktop_entry(source / "mcp-lens.desktop"),
        data / "mime/packages/mcp-lens.xml": (source / "mcp-lens.xml").read_bytes(),
        data / "icons/hicolor/scalable/apps/mcp-lens.svg": (resource_folder() / "icons/app.svg").read_bytes(),
    }
    for path, content in targets.items():
        _remove(path) if options.remove else _write(path, content)
        print(f"{'removed' if options.remove else 'wrote'} {path}")
    _update_desktop_databases(data)
    return ExitCode.RESULT


def _desktop_entry(template: Path) -> bytes:
    program = shutil.which("mcp-lens") or str(Path(sys.executable).parent / "mcp-lens")
    return template.read_text().replace("@EXEC@", _quoted(program)).encode()


def _quoted(arg: str) -> str:
    """Quote an argument for a desktop entry's Exec key: quoted, escaped as a string, and % doubled."""
    if _RESERVED & set(arg):
        escaped = "".join(f"\\{char}" if char in '"`$\\' else char for char in arg)
        arg = f'"{escaped}"'.replace("\\", "\\\\")
    return arg.replace("%", "%%")


def _write(path: Path, content: bytes) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        replace_file(path, content, is_private=False)
    except OSError as exc:
        raise UserError(
            f"Could not write {path}: {exc.strerror}.", "Check that its folder is writable."
        ) from exc


def _remove(path: Path) -> None:
    try:
        path.unlink(missing_ok=True)
    except OSError as exc:
        raise UserError(f"Could not remove {path}: {exc.strerror}.", "Delete it manually.") from exc


def _update_desktop_databases(data: Path) -> None:
    """Update the desktop databases now if the tools exist; otherwise desktops notice later."""
    for tool, folder in (("update-mime-database", "mime"), ("update-desktop-database", "applications")):
        program = shutil.which(tool)
        if program is not None:
            subprocess.run([program, str(data / folder)], check=False, capture_output=True)

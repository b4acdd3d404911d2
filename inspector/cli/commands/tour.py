"""`mcp-lens tour --out DIR`: drive the real window and save numbered screenshots."""

from __future__ import annotations

import argparse
from pathlib import Path

from inspector.cli.commands.window import needs_qt
from inspector.cli.output import Parser


def configure(parser: Parser) -> None:
    parser.add_argument("--out", type=Path, required=True, metavar="DIR", help="folder for the screenshots")


def run(options: argparse.Namespace) -> int:
    with needs_qt():
        from inspector.app.tour.run import run_tour
    return run_tour(options.out)

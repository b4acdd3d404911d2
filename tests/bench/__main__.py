"""`python -m tests.bench NAME`: run one benchmark; exit code 1 if a limit is exceeded."""

from __future__ import annotations

import argparse
import sys
from importlib import import_module

BENCHMARKS = {
    "startup": "from exec to a window that can be used, against a bare Qt window",
    "calls": "recorded tool calls, against a raw asyncio client",
    "http": "recorded tool calls over HTTP, against bare POSTs",
    "fairness": "calls to a server while another one floods notifications",
    "flood": "notifications into the shown window: none lost, no freeze",
    "storm": "notifications that each change the window: progress of a call, changed lists",
    "pages": "a list of 10,000 tools in 101 pages, against a raw asyncio client",
    "capture": "a million frames: open, filter, search, sort, scroll",
    "recording": "tool calls with recording, against without",
    "growth": "millions of rows with a disk limit: memory and disk space stop growing",
    "body": "a result of 50 MB: shown without a freeze, and saved whole",
    "offered": "10,000 tools listed, changed, searched in the window; a form of 2,000 properties",
    "idle": "processor time of the idle window: every tab, view and dialog, both themes",
    "theme": "switching the theme with ten connected servers",
    "soak": "a long session: memory, widgets, timers and threads after each cycle",
    "visits": "the first look at a server, 200 of its tools, its removal: gaps and memory",
    "line": "one very long line, against a raw asyncio client",
}


def main() -> int:
    parser = argparse.ArgumentParser("python -m tests.bench", description=__doc__)
    commands = parser.add_subparsers(dest="name", required=True)
    for name, summary in BENCHMARKS.items():
        module = import_module(f"tests.bench.{name}")
        command = commands.add_parser(name, help=summary, description=module.__doc__)
        module.configure(command)
        command.set_defaults(run=module.run)
    options = parser.parse_args()
    result = options.run(options)
    result.print()
    return 0 if result.holds else 1


if __name__ == "__main__":
    sys.exit(main())

"""`mcp-lens doctor`: check the connection to a server step by step and report why it fails."""

from __future__ import annotations

import argparse
import os
import re
from dataclasses import asdict, replace

from inspector.base.command_line import split_command
from inspector.base.errors import ConfigError
from inspector.base.json.text import write
from inspector.base.json.values import JSON
from inspector.base.redaction import masked_url
from inspector.cli import output
from inspector.cli.headless import USAGE, add_server_options, run_engine, run_on_server
from inspector.cli.output import ExitCode, Parser
from inspector.config.paths import server_list_path
from inspector.config.servers.entries import Entry
from inspector.config.servers.server_list import ServerListFile
from inspector.engine.doctor.results import (
    CheckReport,
    CheckResult,
    CheckState,
    diagnosis_lines,
    report_summary,
    result_lines,
)
from inspector.engine.engine import Engine


def configure(parser: Parser) -> None:
    parser.usage = f"mcp-lens doctor [options] (TARGET | {USAGE[1:]}"
    parser.add_argument(
        "target",
        nargs="?",
        metavar="TARGET",
        help="a URL, the name of a configured server, or a command line",
    )
    parser.add_argument(
        "--format",
        choices=["text", "json"],
        default="text",
        help="output format (default: text); json prints everything",
    )
    parser.add_argument("--details", action="store_true", help="show the details of each step")
    add_server_options(parser)
    parser.epilog = (
        "exit codes: 0 connection works (possibly with findings), 2 connection fails (see the report)."
    )


def run(options: argparse.Namespace) -> int:
    discovered = _apply_target(options)
    printer = _ProgressPrinter(with_details=options.details)

    async def work(engine: Engine, server: str) -> int:
        if options.format == "text":
            engine.doctor.changed.connect(printer.notify)
        return _report(await engine.doctor.check(server), options)

    async def inspect(engine: Engine) -> int:
        assert discovered is not None
        report = CheckReport(discovered.name, discovered.address, is_running=True)
        async for item in engine.doctor.check_untrusted(discovered):
            if isinstance(item, CheckResult):
                report = replace(report, results=report.with_result(item))
            else:
                report = replace(report, diagnoses=(*report.diagnoses, item))
            if options.format == "text":
                printer.notify(report)
        return _report(replace(report, is_running=False), options)

    return run_on_server(options, work, connects=False) if discovered is None else run_engine(inspect)


def _report(report: CheckReport, options: argparse.Namespace) -> int:
    if options.format == "json":
        output.write_json(write(_as_json(report)))
    else:
        _write_end(report)
    return ExitCode.FAILED if report.failure is not None else ExitCode.RESULT


def _apply_target(options: argparse.Namespace) -> Entry | None:
    """Interpret the positional argument: a URL, a configured server, or a command to start.

    Sets the matching option. A server from another client's file is returned instead: it was not approved
    in the window, so its entry is only checked, and it is never started or contacted.
    """
    target = options.target
    if target is None:
        return None
    if options.url or options.server or options.server_command is not None:
        raise ConfigError("More than one server specified.", "Use either TARGET or an option, not both.")
    if re.match(r"[a-zA-Z][a-zA-Z0-9+.-]*://", target):
        options.url = target
    elif _is_in_server_list(target, options):
        options.server = target
    elif (discovered := _discovered_entry(target)) is not None:
        return discovered
    else:
        try:
            options.server_command = split_command(target)
        except ValueError as exc:
            raise ConfigError(f"Could not parse the command line: {exc}.", "Close the quotes.") from exc
    return None


def _discovered_entry(name: str) -> Entry | None:
    if len(name.split()) != 1 or os.sep in name:
        return None
    from inspector.config.foreign.discovery import find_servers, local_locations

    servers = find_servers(local_locations()).by_name().get(name, ())
    return next((server.entry for server in servers if server.entry is not None), None)


def _is_in_server_list(name: str, options: argparse.Namespace) -> bool:
    try:
        ServerListFile(options.config or server_list_path()).find(name)
    except ConfigError:
        return False
    return True


class _ProgressPrinter:
    """Prints each step as it completes, to show progress."""

    def __init__(self, *, with_details: bool) -> None:
        self._with_details = with_details
        self._reported: set[str] = set()

    def notify(self, report: CheckReport) -> None:
        for result in report.results:
            if result.id not in self._reported and result.state is not CheckState.RUNNING:
                self._reported.add(result.id)
                lines = result_lines(result, with_details=self._with_details)
                output.write_text("".join(f"{line}\n" for line in lines))


def _write_end(report: CheckReport) -> None:
    lines = ["", report_summary(report)]
    for diagnosis in report.diagnoses:
        lines += ["", *diagnosis_lines(diagnosis)]
    output.write_text("\n".join(lines) + "\n")


def _masked(text: str) -> str:
    """Return the text, masked if it is a URL: an unnamed server is called by its URL."""
    return masked_url(text) if "://" in text else text


def _as_json(report: CheckReport) -> JSON:
    failure = report.failure
    results: list[JSON] = [
        {
            "id": result.id,
            "title": result.title,
            "state": result.state.name.lower(),
            "found": result.text,
            "ms": round(result.elapsed_ns / 1e6, 3),
            "details": list(result.details),
        }
        for result in report.results
    ]
    diagnoses: list[JSON] = []
    for diagnosis in report.diagnoses:
        members = asdict(diagnosis)
        action = diagnosis.action
        members["evidence"] = list(diagnosis.evidence)
        value = _masked(action.value) if action is not None else ""
        members["action"] = {"id": action.kind.name.lower(), "value": value} if action is not None else None
        diagnoses.append(members)
    return {
        "server": _masked(report.server),
        "address": report.address,
        "works": failure is None,
        "checks": results,
        "diagnoses": diagnoses,
    }

"""Run the suite and count: `python -m tests.conformance.run [--revision R] [--only GLOB]`.

Exit code 1 if a required scenario failed, 2 if the suite cannot be installed.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from fnmatch import fnmatch

from tests.conformance.suite import REVISIONS, Suite, Verdict
from tests.peers.installs import Unavailable


def main() -> int:
    options = _parser().parse_args()
    try:
        suite = Suite.install()
    except Unavailable as exc:
        print(f"The conformance suite is not here: {exc}", file=sys.stderr)
        return 2
    sets = [_run_set(suite, revision, options) for revision in options.revision or REVISIONS]
    for verdicts in sets:
        _print(verdicts)
    is_passed = all(verdict.is_passed for verdicts in sets for verdict in _required(verdicts))
    return 0 if is_passed else 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser("python -m tests.conformance.run", description=__doc__)
    parser.add_argument("--revision", action="append", choices=REVISIONS, help="default: both")
    parser.add_argument("--only", default="*", metavar="GLOB", help="scenarios whose name matches")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), metavar="N", help="at a time")
    return parser


def _run_set(suite: Suite, revision: str, options: argparse.Namespace) -> list[Verdict]:
    chosen = [each for each in suite.scenarios(revision) if fnmatch(each.name, options.only)]
    with ThreadPoolExecutor(options.jobs) as pool:
        return list(pool.map(suite.run, chosen))


def _required(verdicts: Iterable[Verdict]) -> list[Verdict]:
    return [verdict for verdict in verdicts if verdict.scenario.is_required]


def _print(verdicts: list[Verdict]) -> None:
    if not verdicts:
        return
    required = _required(verdicts)
    others = [verdict for verdict in verdicts if not verdict.scenario.is_required]
    print(f"{verdicts[0].scenario.revision}: {_count(required)} required, {_count(others)} not scored")
    for verdict in verdicts:
        if not verdict.is_passed:
            print(f"  FAILED {verdict.scenario.name} ({verdict.successes} fine, {verdict.seconds:.1f} s)")
            print("".join(f"         {reason}\n" for reason in verdict.reasons), end="")


def _count(verdicts: list[Verdict]) -> str:
    return f"{sum(verdict.is_passed for verdict in verdicts)}/{len(verdicts)}"


if __name__ == "__main__":
    sys.exit(main())

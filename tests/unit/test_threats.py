"""Each threat of the threat model has a test, whose docstring begins with its number."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

TESTS = Path(__file__).parents[1]
THREATS = {f"T{number}" for number in range(1, 40)}


def test_every_threat_has_a_test_that_states_it() -> None:
    covered = {threat for path in TESTS.rglob("test_*.py") for threat in stated_threats(path.read_text())}
    assert sorted(THREATS - covered) == []


def stated_threats(source: str) -> Iterator[str]:
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test_"):
            yield from re.findall(r"\b(T\d+): ", ast.get_docstring(node) or "")

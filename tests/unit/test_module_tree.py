"""Shape of the module tree: package sizes, module lengths and module names."""

from __future__ import annotations

import ast
import re
from collections import Counter
from pathlib import Path

import pytest

import inspector

ROOT = Path(inspector.__file__).parent
MODULES = sorted(path for path in ROOT.rglob("*.py") if path.name != "__init__.py")
PACKAGES = sorted(path.parent for path in ROOT.rglob("__init__.py"))

MAX_MODULES_PER_PACKAGE = 16
MAX_LINES_PER_MODULE = 600
# Established terms; other modules are named after what they hold ("everything" is a demo server).
ING_NAMES = {
    "everything", "finding", "framing", "masking", "pending", "recording", "sampling", "serving", "signing",
}  # fmt: skip
VAGUE_NAMES = {
    "book", "common", "desk", "helper", "helpers", "misc", "news", "standing", "util", "utils", "words",
}  # fmt: skip
MODULE_NAME = re.compile(r"[a-z][a-z0-9]*(_[a-z0-9]+)*")


def _name(path: Path) -> str:
    return str(path.relative_to(ROOT.parent))


def test_packages_hold_at_most_16_modules() -> None:
    counts = Counter(path.parent for path in MODULES)
    assert {_name(package): n for package, n in counts.items() if n > MAX_MODULES_PER_PACKAGE} == {}


def test_modules_have_at_most_600_lines() -> None:
    lengths = {_name(path): path.read_text(encoding="utf-8").count("\n") for path in MODULES}
    assert {name: n for name, n in lengths.items() if n > MAX_LINES_PER_MODULE} == {}


@pytest.mark.parametrize("part", ["module", "package"])
def test_names_are_plain_nouns_in_snake_case(part: str) -> None:
    names = {path.stem for path in MODULES} if part == "module" else {path.name for path in PACKAGES}
    names -= {"__main__"}
    assert sorted(name for name in names if not MODULE_NAME.fullmatch(name)) == []
    assert sorted(names & VAGUE_NAMES) == []
    assert sorted(name for name in names if name.endswith("ing") and name not in ING_NAMES) == []


@pytest.mark.parametrize("package", PACKAGES, ids=_name)
def test_package_init_holds_a_docstring_and_no_imports(package: Path) -> None:
    tree = ast.parse((package / "__init__.py").read_text(encoding="utf-8"))
    docstring = ast.get_docstring(tree)
    assert docstring
    assert "TODO" not in docstring
    assert not [node for node in ast.walk(tree) if isinstance(node, ast.Import | ast.ImportFrom)]

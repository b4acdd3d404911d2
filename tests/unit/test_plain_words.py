"""Words that must not return to the interface, the code and the help pages.

`tests/data/banned_words.tsv` holds a regular expression per line, where it applies and what to write
instead. Interface strings are the string literals of `inspector/` except docstrings, dictionary keys,
identifiers and other single lowercase words.
"""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
HELP_PAGES = sorted((ROOT / "resources" / "help").glob("*.md"))
# Identifiers, paths, media types, filter expressions and other text that is not prose.
CODE_LIKE = re.compile(r"[\w./:*+-]*")

# File, banned text found, and why it stays.
ALLOWED = {
    ("inspector/demo/login/responses.py", "frame"): "a Content-Security-Policy directive",
    ("inspector/oauth/loopback.py", "frame"): "a Content-Security-Policy directive",
}


@dataclass(frozen=True)
class BannedWord:
    pattern: re.Pattern[str]
    scope: str
    instead: str

    def applies_to(self, kind: str) -> bool:
        return self.scope in ("all", kind)


@dataclass(frozen=True)
class Text:
    """A piece of prose: an interface string ("ui"), or a docstring, comment or test name ("code")."""

    file: str
    line: int
    kind: str
    text: str


def read_banned_words() -> list[BannedWord]:
    rows = (ROOT / "tests" / "data" / "banned_words.tsv").read_text(encoding="utf-8").splitlines()
    cells = [row.split("\t") for row in rows if row and not row.startswith("#")]
    return [
        BannedWord(re.compile(pattern, re.IGNORECASE), scope, instead) for pattern, scope, instead in cells
    ]


def find_banned_words(texts: Iterator[Text]) -> list[str]:
    """Return one line per banned word that is not allowed at its place."""
    words = read_banned_words()
    quick = re.compile("|".join(word.pattern.pattern for word in words), re.IGNORECASE)
    return [
        f"{text.file}:{text.line}: {match.group()!r} in {text.text[:100]!r}; write: {word.instead}"
        for text in texts
        if quick.search(text.text)
        for word in words
        if word.applies_to(text.kind)
        for match in word.pattern.finditer(text.text)
        if (text.file, match.group().lower()) not in ALLOWED
    ]


def texts_of_module(path: Path, *, has_interface: bool) -> Iterator[Text]:
    """Yield the docstrings, comments and test names of a module, and its interface strings if it has any."""
    source, file = path.read_text(encoding="utf-8"), str(path.relative_to(ROOT))
    tree = ast.parse(source)
    docstrings = {id(node) for node in _docstrings(tree)}
    not_prose = {id(node) for node in _non_prose(tree)}
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test_"):
            yield Text(file, node.lineno, "code", node.name.replace("_", " "))
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            if id(node) in docstrings:
                yield Text(file, node.lineno, "code", node.value)
            elif has_interface and id(node) not in not_prose and not CODE_LIKE.fullmatch(node.value):
                yield Text(file, node.lineno, "ui", node.value)
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            yield Text(file, token.start[0], "code", token.string)


def texts_of_page(path: Path) -> Iterator[Text]:
    """Yield the lines of a Markdown page, without code, which may name stored words."""
    is_code = False
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        if line.startswith("```"):
            is_code = not is_code
        elif not is_code and not line.startswith("    "):
            yield Text(str(path.relative_to(ROOT)), number, "ui", re.sub(r"`[^`]*`", "", line))


def _docstrings(tree: ast.AST) -> Iterator[ast.Constant]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) and node.body:
            first = node.body[0]
            if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant):
                yield first.value


def _non_prose(tree: ast.AST) -> Iterator[ast.AST]:
    """Yield dictionary keys, subscripts and the first arguments of regular expressions."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Dict):
            yield from (key for key in node.keys if key is not None)
        elif isinstance(node, ast.Subscript):
            yield from ast.walk(node.slice)
        elif isinstance(node, ast.Call) and ast.unparse(node.func).startswith("re."):
            yield from (inner for argument in node.args[:1] for inner in ast.walk(argument))


@cache
def modules(folder: str) -> tuple[Path, ...]:
    return tuple(sorted((ROOT / folder).rglob("*.py")))


@pytest.mark.parametrize("folder", ["inspector", "tests"])
def test_modules_use_no_banned_words(folder: str) -> None:
    own = {Path(__file__)}
    texts = (
        text
        for path in modules(folder)
        if path not in own
        for text in texts_of_module(path, has_interface=folder == "inspector")
    )
    assert find_banned_words(texts) == []


def test_help_pages_and_readme_use_no_banned_words() -> None:
    pages = [*HELP_PAGES, ROOT / "README.md"]
    assert find_banned_words(text for page in pages for text in texts_of_page(page)) == []


def test_every_exception_is_still_needed() -> None:
    files = {file for file, _ in ALLOWED}
    texts = [
        text
        for file in files
        for text in (
            texts_of_module(ROOT / file, has_interface=file.startswith("inspector"))
            if file.endswith(".py")
            else texts_of_page(ROOT / file)
        )
    ]
    unused = [
        (file, found)
        for file, found in ALLOWED
        if not any(
            text.file == file and word.applies_to(text.kind) and found == match.group().lower()
            for text in texts
            for word in read_banned_words()
            for match in word.pattern.finditer(text.text)
        )
    ]
    assert unused == []


@pytest.mark.parametrize(
    ("kind", "source"),
    [
        ("ui", 'label = "Take it: nobody asks anything"'),
        ("code", '"""What the person is told of."""'),
        ("code", "x = 1  # as it came"),
        ("code", "def test_the_catalogue_is_read(): ..."),
    ],
)
def test_a_planted_banned_word_is_found(
    kind: str, source: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(globals(), "ROOT", tmp_path)
    path = tmp_path / "planted.py"
    path.write_text(source, encoding="utf-8")
    texts = list(texts_of_module(path, has_interface=True))
    monkeypatch.undo()
    assert {text.kind for text in texts} == {kind}
    assert find_banned_words(iter(texts)) != []

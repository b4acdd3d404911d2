"""Command lines are split and quoted by the rules of POSIX or of Windows."""

from __future__ import annotations

import json
import shlex
import subprocess

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from inspector.base.command_line import (
    is_windows_syntax,
    join_command,
    pasted_command,
    quote_word,
    split_command,
)

WORDS = st.lists(st.text(st.characters(exclude_characters="\x00", codec="utf-8"), max_size=8), min_size=1)


@pytest.mark.parametrize("platform", ["linux", "darwin", "win32"])
@pytest.mark.parametrize(
    ("line", "words"),
    [
        (r"python .\src\server.py", ["python", r".\src\server.py"]),
        (r"python ..\server.py --log=.\log", ["python", r"..\server.py", r"--log=.\log"]),
        (r"\\nas\tools\server.exe -v", [r"\\nas\tools\server.exe", "-v"]),
        (r"node %APPDATA%\npm\server.js", ["node", r"%APPDATA%\npm\server.js"]),
        (r'"C:\Program Files\node.exe" "C:\a b\"', [r"C:\Program Files\node.exe", "C:\\a b\\"]),
        (r'C:\x.exe "{\"a\": 1}"', [r"C:\x.exe", '{"a": 1}']),
        (r"C:\x.exe 'a b' it's", [r"C:\x.exe", "a b", "it's"]),
        (r'C:\x.exe a""b "" c', [r"C:\x.exe", "ab", "", "c"]),
    ],
)
def test_windows_paths_keep_their_backslashes(line: str, words: list[str], platform: str) -> None:
    assert split_command(line, platform) == words


def test_backslash_is_literal_on_windows_and_an_escape_elsewhere() -> None:
    assert split_command(r"run src\a b", "win32") == ["run", r"src\a", "b"]
    assert split_command(r"run src\ a b", "linux") == ["run", "src a", "b"]


@pytest.mark.parametrize("platform", ["linux", "win32"])
def test_open_quote_is_reported(platform: str) -> None:
    with pytest.raises(ValueError, match="No closing quotation"):
        split_command('run "a', platform)


@given(st.text(st.sampled_from("ab \t\n'\"\\#$")))
def test_posix_command_line_is_split_as_the_standard_library_does(line: str) -> None:
    assume(not is_windows_syntax(line, "linux"))
    try:
        expected = shlex.split(line)
    except ValueError:
        with pytest.raises(ValueError, match=r"No (escaped character|closing quotation)"):
            split_command(line, "linux")
    else:
        assert split_command(line, "linux") == expected


@pytest.mark.parametrize("platform", ["linux", "win32"])
@pytest.mark.parametrize("part", ["`", "x", "\\\\", "\\\\a", "'x'", '"x"', "x "], ids=repr)
def test_long_command_line_is_split_in_linear_time(part: str, platform: str) -> None:
    """Threat: a pasted text of a megabyte took a minute, in which the window did not react."""
    assert split_command(part * 300_000, platform)


def test_words_are_quoted_as_the_platform_does() -> None:
    words = [r"C:\Program Files\node.exe", "", "a b", 'say "hi"', "a&b", "end\\ "]
    assert join_command(words, "win32") == r'"C:\Program Files\node.exe" "" "a b" "say \"hi\"" "a&b" "end\ "'
    assert join_command(["a b", "it's"], "linux") == "'a b' 'it'\"'\"'s'"


@given(words=WORDS)
def test_joined_words_are_split_into_the_same_words(words: list[str]) -> None:
    assert split_command(join_command(words, "win32"), "win32") == words


@given(word=st.text(st.characters(codec="utf-8"), max_size=12))
def test_quoted_word_means_what_python_passes_to_a_process(word: str) -> None:
    assert quote_word(word, "win32") in (subprocess.list2cmdline([word]), f'"{_inner(word)}"')


def _inner(word: str) -> str:
    """Return what `list2cmdline` puts between quotes, which it only does for a word with a space."""
    return subprocess.list2cmdline([f" {word}"])[2:-1]


def outside_quotes(line: str) -> str:
    """Return what cmd does not take for quoted text."""
    return "".join(line.split('"')[::2])


JSON_VALUES = st.recursive(
    st.none() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=6,
)


@given(value=st.dictionaries(st.text(), JSON_VALUES, max_size=4), compact=st.booleans())
def test_pasted_json_contains_nothing_that_cmd_or_powershell_runs(
    value: dict[str, object], compact: bool
) -> None:
    text = json.dumps(value, ensure_ascii=not compact, indent=None if compact else 2)
    line = pasted_command(["run", text, "a&b"], "win32")
    assert line is not None
    assert line.endswith('"a&b"')
    assert line.isascii()
    assert not set("$`%\n\r\t") & set(line)
    assert not set("&|<>^()") & set(outside_quotes(line))
    assert json.loads(split_command(line, "win32")[1]) == value


@pytest.mark.parametrize(
    "word", ['a"&calc"', "$(calc)", "`calc`", "%PATH%", "\u201d; calc", "a\nb", "{$(calc)"]
)
def test_words_that_no_quotes_protect_cannot_be_pasted_on_windows(word: str) -> None:
    assert pasted_command(["run", word], "win32") is None


def test_words_that_quotes_protect_are_quoted() -> None:
    line = pasted_command(["run", "https://h/sse?a=1&b=2", "a|b", "${TOKEN}"], "win32")
    assert line == 'run "https://h/sse?a=1&b=2" "a|b" "${TOKEN}"'

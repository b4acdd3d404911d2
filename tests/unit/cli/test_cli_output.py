"""Progress line, and output to terminals, pipes and closed streams."""

from __future__ import annotations

import io
import json
import sys

import pytest

from inspector.base.plain_text import hidden_tokens
from inspector.cli import output
from inspector.cli.commands.call import ProgressLine, progress_text
from inspector.protocol.connection import ProgressReceived


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("event", "words"),
    [
        (ProgressReceived(1, 3, 10, "Step three"), "3 of 10 (30%) Step three"),
        (ProgressReceived(1, 2.5, None, ""), "2.5"),
        (ProgressReceived(1, 1, 0, "a\nb\x1b"), "1 a b␛"),
    ],
)
def test_progress_is_one_line_of_text(event: ProgressReceived, words: str) -> None:
    assert progress_text(event) == words


def test_progress_is_shown_on_a_terminal_and_erased_again(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    monkeypatch.setattr("sys.stderr", terminal)
    line = ProgressLine()
    line.show(ProgressReceived(1, 1, 2, ""))
    line.clear()
    assert terminal.getvalue() == "\r\x1b[K1 of 2 (50%)\r\x1b[K"


def test_flood_of_progress_does_not_flood_the_output(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    monkeypatch.setattr("sys.stderr", terminal)
    monkeypatch.setattr("time.monotonic", lambda: 5.0)
    line = ProgressLine()
    for step in range(1000):
        line.show(ProgressReceived(1, step, 1000, ""))
    assert terminal.getvalue().count("\r") == 1


def test_progress_is_not_written_without_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    pipe = io.StringIO()
    monkeypatch.setattr("sys.stderr", pipe)
    line = ProgressLine()
    line.show(ProgressReceived(1, 1, 2, ""))
    line.clear()
    assert pipe.getvalue() == ""


@pytest.mark.parametrize(("stream", "shown"), [(Terminal(), "a␛[2J\n"), (io.StringIO(), "a\x1b[2J\n")])
def test_hidden_characters_are_escaped_on_a_terminal_and_kept_in_a_pipe(
    stream: io.StringIO, shown: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """T22: text of a server contains terminal escapes or bidirectional overrides."""
    monkeypatch.setattr("sys.stdout", stream)
    output.write_text("a\x1b[2J\n")
    assert stream.getvalue() == shown


@pytest.mark.parametrize("stream", [Terminal(), io.StringIO()])
def test_json_on_a_terminal_has_no_raw_control_or_hidden_characters(
    stream: io.StringIO, monkeypatch: pytest.MonkeyPatch
) -> None:
    """T22: JSON of a server contains terminal escapes, bidirectional overrides or tag characters."""
    hidden = "\x7f\x9b2J\u202e\u2066\u200b\U000e0041\ud800"
    text = json.dumps({hidden: [hidden, "❤️ é"]}, ensure_ascii=False, indent=2)
    monkeypatch.setattr("sys.stdout", stream)
    output.write_json(text)
    written = stream.getvalue()
    assert json.loads(written) == json.loads(text)
    assert "❤️ é" in written
    assert hidden_tokens(written) == ([] if stream.isatty() else hidden_tokens(text))


def test_stdout_closed_by_the_shell_is_not_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdout", None)
    output.write_text("words")
    output.finish()


def test_text_the_locale_cannot_encode_is_escaped(monkeypatch: pytest.MonkeyPatch) -> None:
    raw = io.BytesIO()
    stream = io.TextIOWrapper(raw, encoding="latin-1", newline="\n")
    monkeypatch.setattr("sys.stdout", stream)
    output.prepare(is_windows=False)
    output.write_text("é €\n")
    output.write_json('"€"')
    assert raw.getvalue() == b"\xe9 \\u20ac\n" + '"€"\n'.encode()


def test_pipes_are_utf_8_on_windows(monkeypatch: pytest.MonkeyPatch) -> None:
    raw = io.BytesIO()
    monkeypatch.setattr("sys.stdout", io.TextIOWrapper(raw, encoding="cp1252", newline="\n"))
    piped = io.BytesIO(b"\xef\xbb\xbf\xe2\x82\xac")
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(piped, encoding="cp1252"))
    output.prepare(is_windows=True)
    output.write_text("€ 日\n")
    assert raw.getvalue() == "€ 日\n".encode()
    assert sys.stdin.read() == "€"

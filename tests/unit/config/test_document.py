"""Files of ours that people edit too: what is written again is as they wrote it."""

from __future__ import annotations

import json
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from inspector.base.errors import ConfigError
from inspector.base.jsonvalue import JSONObject, to_wire
from inspector.config.catalogue import Catalogue
from inspector.config.document import JsonDocument
from inspector.config.entries import StdioEntry
from tests.unit.config.test_exactfile import json_values


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "file.json"


def test_numbers_keep_their_spelling(path: Path) -> None:
    path.write_text('{"a": 1.10, "b": [1E3, -0, 0.1234567890123456789], "c": 123456789012345678901234567890}')
    file = JsonDocument(path)
    file.write({**file.read(), "d": 2})
    for spelling in ("1.10", "1E3", "-0", "0.1234567890123456789", "123456789012345678901234567890"):
        assert spelling in path.read_text()


@settings(max_examples=40, deadline=None)
@given(st.dictionaries(st.text(max_size=9), json_values, max_size=4))
def test_whatever_is_written_comes_back_exactly(document: JSONObject) -> None:
    with TemporaryDirectory() as name:
        file = JsonDocument(Path(name) / "x.json")
        file.write(document)
        assert to_wire(file.read()) == to_wire(document)


def test_the_layout_is_that_of_before(path: Path) -> None:
    document: JSONObject = {"a": {}, "b": [], "c": [1, {"d": None}], "e": "ü"}
    JsonDocument(path).write(document)
    assert path.read_text() == json.dumps(document, ensure_ascii=False, indent=2) + "\n"


def test_of_a_key_that_is_there_twice_the_last_one_counts(path: Path) -> None:
    path.write_text('{"a": 1, "a": 2}')
    assert JsonDocument(path).read() == {"a": 2}


@pytest.mark.parametrize("text", ["{", "[]", "{" * 100_000, '{"a": ' * 100_000])
def test_what_cannot_be_read_is_a_sentence(path: Path, text: str) -> None:
    path.write_text(text)
    with pytest.raises(ConfigError, match=r"file\.json"):
        JsonDocument(path).read()


def test_what_is_declared_is_kept_in_the_catalogue_digit_by_digit(path: Path) -> None:
    capabilities = '{"experimental": {"x": {"share": 1.10}}}'
    path.write_text(f'{{"mcpServers": {{"s": {{"command": "x", "capabilities": {capabilities}}}}}}}')
    catalogue = Catalogue(path)
    (entry,) = catalogue.load().entries
    assert isinstance(entry, StdioEntry)
    catalogue.save(entry)
    assert "1.10" in path.read_text()

"""Search for many literals at once equals a search for each of them."""

from __future__ import annotations

from collections.abc import Mapping
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inspector.traffic.masking.literals import Literals, _BlockIndex

_TEXTS = st.lists(st.binary(min_size=8, max_size=40), min_size=1, max_size=5, unique=True)


def many(texts: list[bytes]) -> dict[bytes, str]:
    """Add enough other literals that data is searched by blocks."""
    random = Random(0)
    return dict.fromkeys((*texts, *(random.randbytes(8 + n % 30) for n in range(200))), "")


def naive_spans(texts: Mapping[bytes, str], data: bytes, start: int, stop: int) -> list[tuple[int, int]]:
    found = []
    for at in range(start, min(stop, len(data))):
        lengths = [len(text) for text in texts if data.startswith(text, at)]
        if lengths:
            found.append((at, at + max(lengths)))
    return found


@given(_TEXTS, st.lists(st.binary(max_size=30), max_size=6), st.integers(0, 50), st.integers(0, 120))
def test_matches_are_found_at_every_alignment(
    texts: list[bytes], between: list[bytes], start: int, length: int
) -> None:
    data = b"".join(part + texts[number % len(texts)] for number, part in enumerate(between))
    literals = Literals(many(texts))
    spans = [(begin, end) for begin, end, _ in literals.spans(data, start, start + length)]
    assert spans == naive_spans(many(texts), data, start, start + length)
    assert set(literals.found_in(data)) == {text for text in many(texts) if text in data}


@pytest.mark.parametrize("length", range(8, 20))
@pytest.mark.parametrize("offset", range(9))
def test_a_literal_is_found_wherever_it_begins_and_ends(length: int, offset: int) -> None:
    text = bytes(range(65, 65 + length))
    literals = Literals(many([text]))
    data = b"." * offset + text
    assert literals.found_in(data) == [text]
    assert literals.found_in(data + b".") == [text]
    assert literals.found_in(data[:-1]) == []


def test_tokens_with_the_same_header_are_distinguished_by_their_ends() -> None:
    random = Random(0)
    tokens = [b"eyJhbGciOiJSUzI1NiJ9." + random.randbytes(32).hex().encode() for _ in range(1000)]
    index = _BlockIndex(tokens)
    for offset in range(8):
        assert list(index.candidates(b"." * offset + tokens[7] + b'"}')) == [tokens[7]]


def test_short_literals_are_ignored() -> None:
    assert Literals({b"seven77": ""}).found_in(b"seven77") == []

"""Each different text once; rows hold its number."""

from __future__ import annotations

from collections.abc import Callable


class Words:
    """String interning table; index 0 is the empty string. Append-only, so any thread may read."""

    def __init__(self) -> None:
        self._texts = [""]
        self._numbers = {"": 0}

    def __len__(self) -> int:
        return len(self._texts)

    def number(self, text: str) -> int:
        """Return the index of a text, adding it if new."""
        number = self._numbers.get(text)
        if number is None:
            number = len(self._texts)
            self._texts.append(text)
            self._numbers[text] = number
        return number

    def restore(self, texts: list[str]) -> None:
        """Take over the texts of a capture with their indices; index 0 must be the empty string."""
        self._texts = texts
        self._numbers = {text: number for number, text in enumerate(texts)}

    def text(self, number: int) -> str:
        return self._texts[number]

    def number_of(self, text: str) -> int | None:
        """Return the index of a text, or None."""
        return self._numbers.get(text)

    def numbers_of(self, fits: Callable[[str], bool], since: int = 0) -> set[int]:
        """Return the indices of the matching texts, from index `since` on."""
        return {number for number in range(since, len(self._texts)) if fits(self._texts[number])}

"""Each different text once; rows hold its number."""

from __future__ import annotations

from collections.abc import Callable


class Words:
    """Number 0 is the empty text. Texts are only ever added, so any thread may read."""

    def __init__(self) -> None:
        self._texts = [""]
        self._numbers = {"": 0}

    def __len__(self) -> int:
        return len(self._texts)

    def number(self, text: str) -> int:
        """The text's number, new when it is."""
        number = self._numbers.get(text)
        if number is None:
            number = len(self._texts)
            self._texts.append(text)
            self._numbers[text] = number
        return number

    def restore(self, texts: list[str]) -> None:
        """Take over the texts of a capture with the numbers they have there; number 0 is the empty one."""
        self._texts = texts
        self._numbers = {text: number for number, text in enumerate(texts)}

    def text(self, number: int) -> str:
        return self._texts[number]

    def number_of(self, text: str) -> int | None:
        """The text's number, if any row has it."""
        return self._numbers.get(text)

    def numbers_of(self, fits: Callable[[str], bool], since: int = 0) -> set[int]:
        """The numbers of the texts that fit, of those from number `since` on."""
        return {number for number in range(since, len(self._texts)) if fits(self._texts[number])}

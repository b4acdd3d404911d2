"""The value of a field that is not sent: neither null, nor empty, nor its default."""

from __future__ import annotations

from enum import Enum
from typing import Final


class Absent(Enum):
    """The type of ABSENT; an enum of one member, so that `is ABSENT` narrows types."""

    ABSENT = "absent"

    def __repr__(self) -> str:
        return "ABSENT"


ABSENT: Final = Absent.ABSENT

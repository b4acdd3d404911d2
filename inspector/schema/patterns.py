"""Patterns that a server gave, run without risk.

jsonschema-rs brings an engine whose time grows with the length of the text only. A pattern that this
engine cannot run (it looks ahead, or back) goes to the other one, which gives up after some steps.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import jsonschema_rs

_MOST_STEPS = 100_000
_LONGEST_TEXT = 10_000
_LARGEST = 1 << 20  # bytes of a compiled pattern


def engines() -> tuple[jsonschema_rs.RegexOptions, jsonschema_rs.FancyRegexOptions]:
    """Return the regex options: linear time, and bounded backtracking for what that cannot run."""
    import jsonschema_rs  # 15 MB, and few forms have patterns for their keys

    linear = jsonschema_rs.RegexOptions(size_limit=_LARGEST, dfa_size_limit=_LARGEST)
    bounded = jsonschema_rs.FancyRegexOptions(
        backtrack_limit=_MOST_STEPS, size_limit=_LARGEST, dfa_size_limit=_LARGEST
    )
    return linear, bounded


def matches(pattern: str, text: str) -> bool:
    """True if the pattern occurs in the text, as in JSON Schema; also if that is undecidable."""
    validator = _validator(pattern)
    if validator is None or len(text) > _LONGEST_TEXT:
        return True
    try:
        return validator.is_valid(text)
    except ValueError:  # step limit reached, or a lone surrogate
        return True


@lru_cache(maxsize=256)
def _validator(pattern: str) -> jsonschema_rs.Validator | None:
    import jsonschema_rs

    for options in engines():
        try:
            return jsonschema_rs.Draft202012Validator(
                {"pattern": pattern}, pattern_options=options, offline=True
            )
        except ValueError:
            continue
    return None

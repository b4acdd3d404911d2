"""The way to a value in a message, in the words of the filter language."""

from __future__ import annotations

from inspector.qt.models.jsontree import Steps
from inspector.traffic.query.jsonpaths import ROOTS
from inspector.traffic.query.printing import path_text
from inspector.traffic.query.tree import Index, Member, Path, Step

# Message members with their own filter word.
_WORDS = {("method",): "method", ("id",): "id", ("error", "code"): "code"}
# The longest first: `args` rather than `params.arguments`.
_ROOTS = sorted(ROOTS.items(), key=lambda root: -len(root[1]))


def filter_path(steps: Steps, *, is_batch: bool = False) -> str:
    """Return a filter path: `args.path`, `result.content[0].text`, `method`.

    In a batch, a filter looks into each message.
    """
    inside = steps[1:] if is_batch and steps and isinstance(steps[0], int) else steps
    if word := _WORDS.get(tuple(map(str, inside))):
        return word
    path: tuple[Step, ...] = tuple(Member(step) if isinstance(step, str) else Index(step) for step in inside)
    for word, root in _ROOTS:
        if path[: len(root)] == root:
            return path_text(Path(word, path[len(root) :]))
    raise AssertionError("`body` is the root of everything")

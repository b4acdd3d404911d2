"""What is said when somebody else changed the file of servers."""

from __future__ import annotations

from inspector.config.entrychanges import CatalogueDiff


def change_words(diff: CatalogueDiff) -> str:
    """Return e.g. `1 added, 2 changed`; a changed order only if nothing else changed."""
    counts = (
        (len(diff.added), "added"),
        (len(diff.removed), "removed"),
        (len(diff.renamed), "renamed"),
        (len(diff.changed), "changed"),
    )
    words = ", ".join(f"{count:,} {what}" for count, what in counts if count)
    return words or "another order"

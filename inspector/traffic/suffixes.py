"""File names that captures and exports have. Apart, so that a window can ask without loading SQLite."""

from __future__ import annotations

SUFFIX = ".mcpcap"
OPENABLE = (SUFFIX, ".jsonl", ".ndjson", ".har", ".json")

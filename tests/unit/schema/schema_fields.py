"""Fields of single schemas, for tests."""

from __future__ import annotations

from inspector.base.json.values import JSON
from inspector.schema.builder import Builder
from inspector.schema.fields import Field
from inspector.schema.references import Document


def build_field(schema: JSON) -> Field:
    """Build the field for a value of any type."""
    return Builder(Document(schema)).field(schema, 1)

"""Tests of the schema form, the JSON editor and the arguments editor."""

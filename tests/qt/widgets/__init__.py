"""Tests of the widgets that know nothing about MCP, and of hostile text in the whole window."""

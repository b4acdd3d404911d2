"""Tests of the main window: start, close, commands, palette, theme, models."""

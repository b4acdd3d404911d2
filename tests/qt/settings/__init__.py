"""Tests of the settings and secrets dialogs."""

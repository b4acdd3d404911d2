"""Tests of the Console and Raw tabs, and of editing and resending requests."""

"""Tests of the Resources and Prompts panels, feature lists and drift."""

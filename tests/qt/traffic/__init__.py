"""Tests of the traffic panel, its views and its models."""

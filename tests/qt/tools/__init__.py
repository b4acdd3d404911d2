"""Tests of the Tools panel."""

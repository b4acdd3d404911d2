"""Tests of the Process, Tasks and Doctor panels."""

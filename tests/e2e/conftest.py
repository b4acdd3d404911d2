"""Whole application: a test with the `lens` fixture runs on the window's loop."""

from tests.qt.conftest import _collected_between_tests, lens, make_lens, pytest_pyfunc_call

__all__ = ["_collected_between_tests", "lens", "make_lens", "pytest_pyfunc_call"]

"""Whole application: a test with the `lens` fixture runs on the window's loop."""

from tests.qt.conftest import (
    lens,
    make_lens,
    pytest_pyfunc_call,
    pytest_runtest_protocol,
    pytest_runtest_teardown,
)

__all__ = ["lens", "make_lens", "pytest_pyfunc_call", "pytest_runtest_protocol", "pytest_runtest_teardown"]

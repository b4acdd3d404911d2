"""Tests of everything that knows Qt, without a screen.

Tests of the whole window take the `lens` fixture (`conftest.py`): a `Lens` (`lens_driver.py`) has hands and
eyes for the real application, and `scripted_server.py` is what it usually talks to. Tests of single widgets,
forms and models need neither.
"""

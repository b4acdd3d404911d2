"""The headless application: servers, their sessions, the traffic log.

The window, the command line and the tests drive this and nothing below it. Imports everything under the
Qt line. Start with `engine.py`; `thread.py` runs it on a thread of its own; `views.py` holds what it
gives to others.
"""

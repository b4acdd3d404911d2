"""Composition root: builds the window, the engine and the demo servers, and shuts them down.

May import everything except `cli`. Start with `main.py`: the frontend is built first, the backend after
the first paint. `tour/` drives the same window for screenshots.
"""

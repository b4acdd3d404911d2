"""The tour: drives the real window against the demo servers and saves numbered screenshots.

Each stop uses the actions, keys and clicks of a user, waits until the expected result is on screen, and
saves a screenshot. A stop that fails ends the tour with its name. May import everything except `cli`.
Start with `run.py` (the list of stops) and `guide.py` (what a stop can do).
"""

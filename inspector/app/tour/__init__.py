"""A tour of the real window against the demo servers: it does the main jobs as a person would.

Each stop uses the same actions, keys and clicks that a person has, waits until what it expects is on
screen, and saves a numbered picture. A stop that does not work ends the tour with its name. Start with
`run.py` (the list of stops) and `guide.py` (what a stop can do).
"""

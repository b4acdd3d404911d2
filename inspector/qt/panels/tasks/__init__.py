"""The tasks of a server: how each stands, and what came of it."""

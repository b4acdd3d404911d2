"""Tests, by layer: `unit` mirrors the package, `qt` needs a window system, `e2e` starts real processes.

`helpers` holds what several of them share: playbooks for the sans-I/O core, fakes for clock and wire, a
server that misbehaves on order, and the guards that fail a test which leaks.
"""

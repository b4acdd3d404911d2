"""The server that breaks the rules on purpose, so that a client can show what it does about it.

`loop.py` is a small server written by hand on the standard library: these faults are in the bytes, and the
SDK would not let them out. `faults.py` is the table of faults, each a function that answers one call wrongly.

Imports the standard library only; start reading at `faults.py`.
"""

"""Values and small helpers for every layer: errors, signals, clock, JSON, text, files.

Imports the standard library only, and does no I/O except in `atomic_file.py` and, on Windows, in
`job_objects.py`. Start with `errors.py`, which shows the whole exception tree, then `json/values.py`.
"""

"""Capture files (`.mcpcap`): format, reading, writing, live recording, and their folder.

Imports `base`, `protocol`, `traffic.masking` and the modules of `traffic` itself. Start with
`file_format.py`, whose docstring documents the format; then `recording.py` (writing) and `capture.py`
(opening).
"""

"""Detection and masking of secrets in traffic, for capture files and exports.

Imports `base` and the modules of `traffic` itself; `masker.py` also imports `traffic.export.writer`, a
known exception. Start with `secret_scan.py` (where secrets are), then `masker.py` (exports) and
`at_rest.py` (capture files).
"""

"""Findings about logins: their texts, rules and severity per protocol version.

Imports `base` and `protocol.revisions`. Start with `finding.py`; `discovery.py` and `grants.py` are the
tables, `template.py` is what their rows are made of.
"""

"""Shared test helpers.

Start with `playbook.py` and `fakes.py`; `faultserver.py` and the other servers are programs.
"""

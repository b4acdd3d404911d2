"""What tests share. Start with `playbook.py` and `fakes.py`; `faultserver.py` is a program of its own."""

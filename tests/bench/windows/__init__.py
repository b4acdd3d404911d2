"""The programs whose start is measured: `bare.py` and `lens.py`.

Each reports when its window can be used.
"""

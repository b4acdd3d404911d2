"""The programs whose start is timed: `bare.py` and `lens.py`. Each says when its window can be used."""

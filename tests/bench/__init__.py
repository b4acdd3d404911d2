"""Benchmarks, run by hand: `python -m tests.bench NAME`; `--help` lists them, and each has one of its own.

Each prints one JSON line on stdout and its remarks on stderr. Absolute times say more about the machine than
about the code, so every benchmark measures a floor in the same run, in turns with the real thing, and its
bars are ratios where they can be. Nothing here is collected by pytest.

Start with `report.py` (what a result is), then `startup.py`, `calls.py`, `http.py`, `flood.py`, `pages.py`,
`line.py`, `recording.py`, `capture.py` and `body.py`. `windows/` holds the two programs whose start is timed;
`echoserver.py`, `httpserver.py` and `pageserver.py` are servers that are faster than their clients;
`capturemaker.py` makes the big capture.
"""

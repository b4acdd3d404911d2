"""Benchmarks, run by hand: `python -m tests.bench NAME`; `--help` lists them.

Each prints one JSON line on stdout and notes on stderr. Absolute times say more about the machine than
about the code, so every benchmark measures a baseline in the same run, alternating with the real thing,
and its limits are ratios where possible. Nothing here is collected by pytest.

Start with `report.py` (the result type), then `startup.py`, `calls.py`, `http.py`, `flood.py`,
`pages.py`, `line.py`, `recording.py`, `capture.py` and `body.py`. `windows/` holds the two programs whose
start is measured; `echoserver.py`, `httpserver.py` and `pageserver.py` are servers that are faster than
their clients; `capturemaker.py` creates the large capture.
"""

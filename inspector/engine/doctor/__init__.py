"""Doctor: step-by-step connection checks that report what fails, why, and the fix.

Start with `doctor.py`, the interface to the engine, then `check_run.py`, which runs a check.
`process_check.py` and `url_check.py` check the two kinds of servers. They collect evidence
(`program_probe.py`, `network_probe.py`, `probe_session.py`); `rules` turns evidence into a `Diagnosis`
(`results.py`). Rules never match the text of our own errors: those have a `FailureKind`.

Imports `session`, `oauth`, `transport` and below; of the engine only types of `engine` and `servers`.
Checks are imported when the first one runs: they are slow to load.
"""

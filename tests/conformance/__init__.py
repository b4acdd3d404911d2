"""The public conformance suite against our client.

`client.py` is the program that the suite starts, a thin layer over the engine. `suite.py` installs the
suite and runs one scenario; `python -m tests.conformance.run` runs all and counts; `test_conformance.py`
runs those without a login as tests, on request. Start with `client.py`.
"""

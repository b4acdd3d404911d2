"""The public conformance suite against our client.

`client.py` is what the suite starts, thin over the engine. `suite.py` installs the suite and runs one
scenario; `python -m tests.conformance.run` runs them all and counts; `test_conformance.py` runs those without
a login as tests, when asked to. Start with `client.py`.
"""

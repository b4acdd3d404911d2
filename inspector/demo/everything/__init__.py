"""The `everything` demo server, which shows every feature of the protocol once.

Start with `server.py`, which assembles it. The tools are grouped by what they show: `argument_tools.py`
(arguments for forms), `result_tools.py` (content for result views), `behavior_tools.py` (progress,
failures, changes, logs), `sampling_tools.py`, `elicitation_tools.py` and `round_trip_tools.py` (server
requests), `unusual_requests.py` (invalid or cancelled ones) and `task_tools.py`. `state.py` holds what
changes at run time.

May import the SDK and `inspector.demo`; nothing outside `inspector.demo` imports it.
"""

"""The server that shows every feature of the protocol once.

`server.py` puts it together; start there. The tools are grouped by what they show: `arguments.py` (what a
form has to cope with), `results.py` (what a result view has to), `behaviour.py` (progress, failure, change),
`logs.py` (notifications, also by the thousand) and `asking.py` (requests back to the client). `state.py`
holds what changes while it runs.

May import the SDK and the modules beside this package; nothing outside `inspector.demo` imports it.
"""

"""Tool calls: single, repeated, polled and rerun; their library; checks of results.

Imports `engine.views`, `engine.secrets`, `engine.processes` and the layers below. Start with
`tool_calls.py`; `library.py` is what is stored of calls, `regression_calls.py` reruns saved
calls when files change.
"""

"""Transports: child processes, HTTP and WebSocket I/O on asyncio.

Each transport takes plain arguments and the callable that it reports to; none knows traffic, config or
sessions. Imports `protocol` and `base`. Start with `base.py`. `stdio.py` over `process.py` is the most
used transport; `programs.py` finds what a command starts, and `orphan_guard.py` ends its processes when
MCP Lens is killed, with `base.job_objects` on Windows. `network.py` holds the network options and the HTTP
client, `http_exchange.py` runs one HTTP exchange and reports it, `http_transport.py` is the base of
`streamable_http.py` and `legacy_sse.py`; `websocket.py` is independent of them. All layers above use
`task_scope.py` to own their background tasks.
"""

"""I/O: child processes, HTTP and WebSocket, on asyncio.

Each transport takes plain arguments and the callable that it reports to; none knows traffic, config or
sessions. Imports `protocol` and `base`. Start with `base.py`; `stdio.py` over `process.py` is the most
used one. Over the network: `network.py` is what a person can configure, `exchange.py` runs one HTTP
exchange and reports it, `streamable.py` and `legacysse.py` are the transports on top of that; `websocket.py`
stands alone. `tasks.py` is where background tasks of every layer above get their owner.
"""

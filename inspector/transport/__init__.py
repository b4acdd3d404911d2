"""I/O: child processes and HTTP, on asyncio.

Each transport takes plain arguments and the callable that it reports to; none knows traffic, config or
sessions. Imports `protocol` and `base`. Start with `base.py`; `stdio.py` over `process.py` is the most
used one. `tasks.py` is where background tasks of every layer above get their owner.
"""

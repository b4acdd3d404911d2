"""A program that runs an engine, for tests that kill it and check what remains.

    enginehost.py WORDS…        each argument is one server: the words of `faultserver.py`, with commas

Prints one line once every server is connected, then waits to be killed.
"""

from __future__ import annotations

import asyncio
import sys

from inspector.engine.engine import Engine
from tests.helpers.servers import fault_entry


async def main() -> None:
    engine = Engine()
    for number, words in enumerate(sys.argv[1:]):
        engine.servers.add(fault_entry(*words.split(","), name=f"srv {number}"))
        await engine.servers.connector.connect(f"srv {number}")
    print("connected", flush=True)
    await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(main())

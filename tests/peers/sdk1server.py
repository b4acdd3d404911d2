# mypy: ignore-errors
"""A small server on the SDK before the stateless shape: `sdk1server.py TRANSPORT`.

It runs in an environment with that SDK and imports none of our code.
"""

import sys

from mcp.server.fastmcp import Context, FastMCP
from pydantic import BaseModel

server = FastMCP("old-sdk", instructions="Says hello.", port=0)


class Sum(BaseModel):
    total: int


class Answer(BaseModel):
    color: str


@server.tool()
def add(a: int, b: int) -> Sum:
    """Add two numbers."""
    return Sum(total=a + b)


@server.tool()
async def count(to: int, ctx: Context) -> str:
    """Count, with progress and a log message for each number."""
    for number in range(1, to + 1):
        await ctx.report_progress(number, to, f"at {number}")
        await ctx.info(f"counted {number}")
    return f"counted to {to}"


@server.tool()
async def ask(ctx: Context) -> str:
    """Ask the user for a color."""
    response = await ctx.elicit("Which color?", Answer)
    return f"{response.action}: {response.data.color}"


@server.resource("greeting://world")
def world() -> str:
    return "Hello, world!"


@server.resource("greeting://{name}")
def greeting(name: str) -> str:
    return f"Hello, {name}!"


@server.prompt()
def review(code: str) -> str:
    """Ask for a review."""
    return f"Review this: {code}"


if __name__ == "__main__":
    server.run(sys.argv[1])

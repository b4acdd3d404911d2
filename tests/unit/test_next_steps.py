"""Errors of connections and calls: each tells the user what to do next."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import inspector
from inspector.base.errors import (
    ConnectFailed,
    LensError,
    LocalProtocolError,
    RemoteProtocolError,
    RequestTimedOut,
)
from inspector.engine.calls.tool_calls import failed, responded
from inspector.engine.views import OutcomeKind
from inspector.protocol.jsonrpc import RpcError, read

ROOT = Path(inspector.__file__).parent
# What connects and calls. A cancellation (RequestCancelled) is not a failure.
PACKAGES = ("protocol", "transport", "session", "engine/calls", "engine/tasks", "engine/servers/server.py")
ERRORS = {
    *("UserError", "ConfigError", "ConnectFailed", "NeedsLogin", "WrongRoute", "ConnectionLost", "Closed"),
    *("HttpRefused", "NotReached", "RequestTimedOut", "UnusableResponse", "CapabilityMissing"),
}


def _modules() -> Iterator[Path]:
    for name in PACKAGES:
        path = ROOT / name
        yield from sorted(path.rglob("*.py")) if path.is_dir() else [path]


def _has_next_step(call: ast.Call) -> bool:
    if any(isinstance(argument, ast.Starred) for argument in call.args):
        return True  # a pair of texts
    given = [keyword.value for keyword in call.keywords if keyword.arg == "next_step"]
    step = call.args[1] if len(call.args) > 1 else next(iter(given), None)
    return step is not None and not (isinstance(step, ast.Constant) and not step.value)


def _errors_without_next_step(path: Path) -> list[str]:
    return [
        f"{path.relative_to(ROOT)}:{node.lineno}"
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id in ERRORS
        and not _has_next_step(node)
    ]


def test_every_error_of_a_connection_or_call_is_raised_with_a_next_step() -> None:
    assert [place for path in _modules() for place in _errors_without_next_step(path)] == []


@pytest.mark.parametrize(
    "error",
    [
        ConnectFailed("The server exited with code 3.", "Correct the cause."),
        RequestTimedOut("No response.", "Raise the timeout."),
        LocalProtocolError("no pending server request 7"),
        RemoteProtocolError("the result is invalid"),
        *(RpcError(code, "No") for code in (-32700, -32600, -32601, -32602, -32603, -32002, -32000, 7, None)),
    ],
    ids=lambda error: f"{type(error).__name__} {getattr(error, 'code', '')}",
)
def test_failed_call_has_the_next_step_of_its_error(error: LensError) -> None:
    outcome = failed(error, 1)
    assert outcome.kind is OutcomeKind.FAILED
    assert outcome.next_step == error.next_step != ""


@pytest.mark.parametrize(
    ("response", "next_step"),
    [
        (b'{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"No x"}}', "Check the names and the"),
        (b'{"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"Oops"}}', "This is a fault inside"),
        (b'{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"Oops"}}', "The server defines this error"),
        (b'{"jsonrpc":"2.0","id":1,"error":{"message":"Oops"}}', "The server defines this error"),
        (
            b'{"jsonrpc":"2.0","id":1,"error":' + b'{"a":' * 9000 + b"1" + b"}" * 9001,
            "This is a fault of the",
        ),
    ],
    ids=["invalid params", "internal error", "other code", "no code", "too deep"],
)
def test_error_response_has_a_next_step(response: bytes, next_step: str) -> None:
    outcome = responded(read(response), 1, 1)
    assert outcome.kind is OutcomeKind.RPC_ERROR
    assert outcome.next_step.startswith(next_step)

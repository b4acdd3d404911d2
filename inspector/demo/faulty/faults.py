"""The table of faults.

A fault of the start shows itself before any call and is chosen with `--fault NAME`. A fault of a call is a
tool of the same name; with `--fault NAME` every tool shows it.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from inspector.demo.faulty.output import Output, text_result


@dataclass(frozen=True)
class Call:
    """A `tools/call` that is to be answered incorrectly."""

    id: object
    arguments: Mapping[str, Any]
    progress_token: str | int | None = None


@dataclass(frozen=True)
class Fault:
    """A way to violate the protocol.

    `answer` is None for a startup fault, which `loop.py` carries out.
    """

    name: str
    description: str
    answer: Callable[[Output, Call], None] | None = None
    properties: Mapping[str, Any] = field(default_factory=dict)

    @property
    def is_tool(self) -> bool:
        return self.answer is not None

    def fill_defaults(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Return the arguments of this fault (all numbers), with defaults for missing ones."""
        defaults = {name: schema["default"] for name, schema in self.properties.items()}
        given = {name: arguments[name] for name in defaults if isinstance(arguments.get(name), int | float)}
        return {**defaults, **{name: type(defaults[name])(value) for name, value in given.items()}}


def _stray_stdout(output: Output, call: Call) -> None:
    output.write(b"DEBUG: a print() that was forgotten\n\n")
    output.answer(
        call.id, text_result("There was stray text before this answer, and there is more after it.")
    )
    output.write(b"{'almost': 'JSON'}\n")


def _wrong_id(output: Output, call: Call) -> None:
    output.answer(f"not-{call.id}", text_result("This answer carries an id that nobody used."))


def _wrong_id_type(output: Output, call: Call) -> None:
    output.answer(str(call.id), text_result("The id came as a number and went back as a string."))


def _answers_twice(output: Output, call: Call) -> None:
    output.answer(call.id, text_result("First answer."))
    output.answer(call.id, text_result("Second answer, with the same id."))


def _orphan_response(output: Output, call: Call) -> None:
    output.answer(987654, text_result("Nobody asked for this."))
    output.answer(call.id, text_result("Before this there was a response to nothing."))


def _invalid_result(output: Output, call: Call) -> None:
    output.answer(call.id, {"content": "not a list", "isError": "perhaps"})


def _half_line(output: Output, call: Call) -> None:
    line = (
        b'{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"in pieces"}}\n'
    )
    size = max(1, len(line) // max(1, call.arguments["pieces"]))
    for start in range(0, len(line), size):
        output.write(line[start : start + size])
        time.sleep(call.arguments["delay"])
    output.answer(call.id, text_result("The notification before this came in pieces."))


def _invalid_utf8(output: Output, call: Call) -> None:
    output.send({"method": "notifications/message", "params": {"level": "info", "data": "still fine"}})
    output.write(
        b'{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"\xff\xfe\xc3("}}\n'
    )
    output.answer(call.id, text_result("The notification before this was not UTF-8."))


def _deep_json(output: Output, call: Call) -> None:
    depth = call.arguments["depth"]
    head = b'{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":'
    output.write(head + b'{"a":' * depth + b"1" + b"}" * depth + b"}}\n")
    output.answer(call.id, text_result(f"The notification before this was {depth} objects deep."))


def _huge_line(output: Output, call: Call) -> None:
    output.write(b'{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"')
    for _ in range(call.arguments["megabytes"]):
        output.write(b"x" * 1024 * 1024)
    output.write(b'"}}\n')
    output.answer(call.id, text_result("The notification before this was one huge line."))


def _no_answer(output: Output, call: Call) -> None:
    print("I will never answer this call.", file=sys.stderr, flush=True)


def _closes_stdout(output: Output, call: Call) -> None:
    print("Closing stdout; I live on.", file=sys.stderr, flush=True)
    output.close()


def _dies_mid_call(output: Output, call: Call) -> None:
    if call.progress_token is not None:
        params = {"progressToken": call.progress_token, "progress": 1, "total": 3, "message": "Still well"}
        output.send({"method": "notifications/progress", "params": params})
    print("Fatal: lost the database.\nGiving up in the middle of a call.", file=sys.stderr, flush=True)
    raise SystemExit(call.arguments["code"])


def _number(default: float, description: str) -> dict[str, Any]:
    kind = "integer" if isinstance(default, int) else "number"
    return {"type": kind, "default": default, "minimum": 0, "description": description}


FAULTS: dict[str, Fault] = {
    fault.name: fault
    for fault in (
        Fault("banner", "Prints a banner on stdout before the first message."),
        Fault("exit_at_start", "Writes a reason to stderr and exits with code 3 before reading anything."),
        Fault("silent_initialize", "Never answers initialize."),
        Fault("stray_stdout", "Prints stray text on stdout before and after its answer.", _stray_stdout),
        Fault("wrong_id", "Answers with an id that was never used.", _wrong_id),
        Fault("wrong_id_type", "Answers with the id as a string.", _wrong_id_type),
        Fault("answers_twice", "Answers the same request twice.", _answers_twice),
        Fault("orphan_response", "Sends a response to nothing, then the answer.", _orphan_response),
        Fault("invalid_result", "Answers with a result whose content is not a list.", _invalid_result),
        Fault(
            "half_line",
            "Sends a notification in pieces with pauses between them, then the answer.",
            _half_line,
            {"pieces": _number(4, "How many pieces."), "delay": _number(0.2, "Seconds after each piece.")},
        ),
        Fault("invalid_utf8", "Sends a notification that is not UTF-8, then the answer.", _invalid_utf8),
        Fault(
            "deep_json",
            "Sends a very deeply nested notification, then the answer.",
            _deep_json,
            {"depth": _number(10_000, "How deep.")},
        ),
        Fault(
            "huge_line",
            "Sends a notification in one huge line, then the answer.",
            _huge_line,
            {"megabytes": _number(100, "Size of the line.")},
        ),
        Fault("no_answer", "Never answers the call, also not when it is cancelled.", _no_answer),
        Fault("closes_stdout", "Closes stdout instead of answering, but lives on.", _closes_stdout),
        Fault(
            "dies_mid_call",
            "Exits in the middle of the call, after a progress notification and two lines on stderr.",
            _dies_mid_call,
            {"code": _number(9, "The exit code.")},
        ),
    )
}

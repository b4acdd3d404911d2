"""A stdio server with faults. Standard library only, so that it starts in 20 ms (-I -S).

    faultserver.py [WORD[=VALUE] …]

Words define how it starts and lists (`_START`, `_LISTS`); faults in a call are tools (`_TOOLS`). A word
that is a tool replaces every call by that tool. Without words it follows the protocol.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from typing import Any

Args = dict[str, Any]


def write(data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(1, view) :]


def send(**members: Any) -> None:
    write(framed({"jsonrpc": "2.0", **members}))


framing = "line"


def framed(message: Args, how: str = "") -> bytes:
    """Return a message as the chosen framing writes it; only `line` is correct."""
    text = json.dumps(message)
    match how or framing:
        case "cr-only":
            return text.encode() + b"\r"
        case "pretty-printed":
            return json.dumps(message, indent=2).encode() + b"\n"
        case "two-in-a-line":
            return b'{"jsonrpc":"2.0","method":"notifications/message","params":{}}' + text.encode() + b"\n"
        case "content-length":
            return b"Content-Length: %d\r\n\r\n" % len(text) + text.encode()
        case "utf-16":
            return (text + "\n").encode("utf-16-le")
        case "nul":
            return text.encode() + b"\0\n"
        case "log-prefix":
            return b"INFO: " + text.encode() + b"\n"
        case "trailing-comma":
            return text[:-1].encode() + b",}\n"
    return text.encode() + b"\n"


def response(id: object, text: str = "done") -> None:
    send(id=id, result={"content": [{"type": "text", "text": text}]})


def read() -> dict[str, Any] | None:
    line = sys.stdin.buffer.readline()
    message: dict[str, Any] | None = json.loads(line) if line else None
    return message


def log(text: str) -> None:
    os.write(2, text.encode() + b"\n")


def banner(value: str) -> None:
    write(b"*** My Server 1.0 ***\n\nListening on stdin\n")


def bom(value: str) -> None:
    write(b"\xef\xbb\xbf")


def exit_at_once(value: str) -> None:
    log("Error: API_TOKEN is not set.")
    log("Set it and start again.")
    sys.exit(int(value or 3))


def silent(value: str) -> None:
    while read():
        pass


def choose_framing(value: str) -> None:
    global framing
    framing = value


def ignores_term(value: str) -> None:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)


def grandchild(value: str) -> None:
    """Start a process that outlives its parent's input.

    `own` leaves the session, `holds` keeps our stdout open.
    """
    out = None if value == "holds" else subprocess.DEVNULL
    code = "import time; time.sleep(600)"
    child = subprocess.Popen(
        [sys.executable, "-I", "-S", "-c", code],
        stdin=subprocess.DEVNULL,
        stdout=out,
        stderr=subprocess.DEVNULL,
        start_new_session=value == "own",
    )
    log(f"grandchild {child.pid}")


_START = {
    "banner": banner,
    "bom": bom,
    "exit": exit_at_once,
    "silent": silent,
    "ignores-term": ignores_term,
    "grandchild": grandchild,
    "framing": choose_framing,
}


def tools_page(cursor: str | None) -> dict[str, Any]:
    return {"tools": [{"name": name, "inputSchema": {"type": "object"}} for name in _TOOLS]}


def looping_page(cursor: str | None) -> dict[str, Any]:
    return {"tools": [{"name": "again"}], "nextCursor": "round"}


def malformed_page(cursor: str | None) -> dict[str, Any]:
    return {"tools": [{"name": "good"}, 7, {"title": "nameless"}, None]}


_LISTS = {"list-loops": looping_page, "list-malformed": malformed_page}


def echo(id: int, args: Args) -> None:
    response(id, str(args.get("text", "")))


def half_lines(id: int, args: Args) -> None:
    line = json.dumps({"jsonrpc": "2.0", "id": id, "result": {"content": []}}).encode() + b"\n"
    for start in range(0, len(line), 7):
        write(line[start : start + 7])
        time.sleep(0.001)  # so that the reader sees the piece alone


def half_line_then_exit(id: int, args: Args) -> None:
    write(b'{"jsonrpc":"2.0","id":%d,"result":{"con' % id)
    os._exit(0)


def bad_utf8(id: int, args: Args) -> None:
    write(b'{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"\xff\xfe"}}\n')
    response(id)


def long_line(id: int, args: Args) -> None:
    write(b'{"jsonrpc":"2.0","id":%d,"result":{"content":[{"type":"text","text":"' % id)
    for _ in range(args["megabytes"]):
        write(b"x" * 2**20)
    write(b'"}]}}\n')


def deep(id: int, args: Args) -> None:
    depth = args.get("depth", 10_000)
    write(b'{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":')
    write(b'{"a":' * depth + b"1" + b"}" * depth + b"}}\n")
    response(id)


def deep_answer(id: int, args: Args) -> None:
    depth = args.get("depth", 10_000)
    head = b'{"jsonrpc":"2.0","id":%d,"result":{"content":[],"structuredContent":' % id
    write(head + b'{"a":' * depth + b"1" + b"}" * depth + b"}}\n")


def duplicate_id(id: int, args: Args) -> None:
    response(id, "first")
    response(id, "second")


def unknown_id(id: int, args: Args) -> None:
    response("never-used")
    response(id)


def wrong_id_type(id: int, args: Args) -> None:
    response(str(id))
    response(id)


def to_nothing(id: int, args: Args) -> None:
    send(result={})
    send(id=None, error={"code": -32700, "message": "Parse error"})
    response(id)


def dies(id: int, args: Args) -> None:
    log("Fatal: lost the database.")
    log("Giving up.")
    if "signal" in args:
        os.kill(os.getpid(), getattr(signal, args["signal"]))
    os._exit(args.get("code", 9))


def shouts_and_dies(id: int, args: Args) -> None:
    os.write(2, b"".join(b"line %d\n" % number for number in range(args["lines"])))
    os._exit(7)


def closes_stdout(id: int, args: Args) -> None:
    log("Closing stdout; the process keeps running.")
    os.close(1)


def closes_stdin(id: int, args: Args) -> None:
    os.close(0)
    response(id)
    signal.pause()


def never(id: int, args: Args) -> None:
    log("I will not answer this one.")


def floods(id: int, args: Args) -> None:
    line = b'{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"x"}}\n'
    write(line * args["count"])
    response(id)


def notifies(id: int, args: Args) -> None:
    send(method=args["method"], params={})
    response(id)


def refuses(id: int, args: Args) -> None:
    send(id=id, error={"code": -32000, "message": args["message"]})


def asks(id: int, args: Args) -> None:
    """Send a server request and return the reply."""
    send(id="mine-1", method=args["method"])
    reply: dict[str, Any] = {}
    while reply.get("id") != "mine-1":
        reply = read() or {"id": "mine-1"}
    response(id, json.dumps(reply))


def progresses(id: int, args: Args) -> None:
    for step in range(1, args["steps"] + 1):
        send(
            method="notifications/progress",
            params={"progressToken": id, "progress": step, "total": args["steps"]},
        )
    response(id)


def batch(id: int, args: Args) -> None:
    log_entry = {
        "jsonrpc": "2.0",
        "method": "notifications/message",
        "params": {"level": "info", "data": "b"},
    }
    write(json.dumps([log_entry, {"jsonrpc": "2.0", "id": id, "result": {"content": []}}]).encode() + b"\n")


def odd_framing(id: int, args: Args) -> None:
    """Respond with a message in another framing."""
    write(framed({"jsonrpc": "2.0", "id": id, "result": {"content": []}}, args["how"]))


def odd_members(id: int, args: Args) -> None:
    """Respond with these members, as JSON in which ID is the ID of the request."""
    write(args["text"].replace("ID", str(id)).encode() + b"\n")


def environment(id: int, args: Args) -> None:
    response(id, json.dumps(dict(os.environ)))


def about(id: int, args: Args) -> None:
    ids = {"pid": os.getpid(), "group": os.getpgid(0), "session": os.getsid(0), "cwd": os.getcwd()}
    response(id, json.dumps(ids))


def writes_after_stdin(id: int, args: Args) -> None:
    """Respond; when stdin ends, write more to stdout and stderr before exiting."""
    response(id)
    while read():
        pass
    send(method="notifications/message", params={"level": "info", "data": "last words"})
    os.write(2, b"last line without its end")
    sys.exit(0)


_TOOLS = {
    tool.__name__.replace("_", "-"): tool
    for tool in (
        *(echo, half_lines, half_line_then_exit, bad_utf8, long_line, deep, deep_answer, duplicate_id),
        *(unknown_id, wrong_id_type, to_nothing, dies, closes_stdout, closes_stdin, never, floods, notifies),
        *(
            odd_framing,
            odd_members,
            refuses,
            asks,
            progresses,
            batch,
            environment,
            about,
            writes_after_stdin,
            shouts_and_dies,
        ),
    )
}


def initialize(params: dict[str, Any]) -> dict[str, Any]:
    return {
        "protocolVersion": params["protocolVersion"],
        "capabilities": {"tools": {}, "logging": {}},
        "serverInfo": {"name": "faultserver", "version": "1"},
    }


def serve(words: list[str]) -> None:
    page = next((_LISTS[word] for word in words if word in _LISTS), tools_page)
    always = next((word for word in words if word in _TOOLS), None)
    while message := read():
        id, params = message.get("id", 0), message.get("params", {})
        match message.get("method"):
            case "initialize":
                send(id=id, result=initialize(params))
            case "tools/list":
                send(id=id, result=page(params.get("cursor")))
            case "tools/call":
                _TOOLS[always or params["name"]](id, params.get("arguments", {}))
            case str(method) if "id" in message:
                send(id=id, error={"code": -32601, "message": f"Method not found: {method}"})
    if "saves-first" in words:
        time.sleep(0.7)
    if "stays" in words:
        while True:
            signal.pause()


def main() -> None:
    words = [word.partition("=")[::2] for word in sys.argv[1:]]
    for word, value in words:
        if word in _START:
            _START[word](value)
    serve([word for word, _ in words])


if __name__ == "__main__":
    main()

"""A loopback HTTP server that records the requests it gets."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, HTTPServer


@dataclass(slots=True)
class Received:
    method: str
    path: str
    headers: list[tuple[str, str]]
    body: bytes

    def header(self, name: str) -> list[str]:
        return [value for given, value in self.headers if given.lower() == name.lower()]


@dataclass(slots=True)
class EchoServer:
    url: str
    received: list[Received] = field(default_factory=list)


@contextmanager
def echo_server() -> Iterator[EchoServer]:
    class Handler(BaseHTTPRequestHandler):
        def handle_one_request(self) -> None:
            self.raw_requestline = self.rfile.readline(65537)
            if not self.raw_requestline or not self.parse_request():
                self.close_connection = True
                return
            length = int(self.headers.get("content-length", 0))
            body = self.rfile.read(length)
            echo.received.append(Received(self.command, self.path, list(self.headers.items()), body))
            self.send_response(200)
            self.send_header("Content-Length", "2")
            self.end_headers()
            self.wfile.write(b"ok" if self.command != "HEAD" else b"")

        def log_message(self, format: str, *args: object) -> None:
            """Tests are silent."""

    server = HTTPServer(("127.0.0.1", 0), Handler)
    echo = EchoServer(f"http://127.0.0.1:{server.server_port}")
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield echo
    finally:
        server.shutdown()
        thread.join()
        server.server_close()

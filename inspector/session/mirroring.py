"""Tool arguments that stateless HTTP wants in headers as well, by what each tool's schema says of them."""

from __future__ import annotations

from inspector.base.jsonvalue import JSON, JSONObject, JSONProblem
from inspector.protocol.jsonrpc import Message
from inspector.protocol.paramheaders import ParamHeaders, read_param_headers
from inspector.protocol.types import Listing, Malformed, Tool
from inspector.transport.base import Headers


class Mirroring:
    """Header parameters of the tools, as last listed."""

    def __init__(self) -> None:
        self._param_headers: dict[str, ParamHeaders] = {}

    def learn(self, listing: Listing[Tool]) -> Listing[Tool]:
        """Learn a tool list; drop tools with invalid annotations, with the reason.

        "Clients MUST exclude a tool whose annotations are invalid".
        """
        self._param_headers = {}
        usable: list[Tool] = []
        dropped: list[Malformed] = []
        for tool in listing.items:
            headers = read_param_headers(tool.input_schema)
            if isinstance(headers, str):
                dropped.append(Malformed(tool.source, f"{tool.name}: {headers}"))
            else:
                self._param_headers[tool.name] = headers
                usable.append(tool)
        return Listing(tuple(usable), (*listing.malformed, *dropped), listing.pages, listing.cache)

    def headers_for(self, tool: JSON, arguments: JSONObject) -> Headers:
        known = self._param_headers.get(tool) if isinstance(tool, str) else None
        return () if known is None else known.headers_for(arguments)

    def headers_of(self, message: Message) -> Headers:
        """Return the mirrored headers of a hand-written message; only `tools/call` has any."""
        if message.method != "tools/call":
            return ()
        try:
            params = message.params
        except JSONProblem:
            return ()
        arguments = params.get("arguments")
        return self.headers_for(params.get("name"), arguments if isinstance(arguments, dict) else {})

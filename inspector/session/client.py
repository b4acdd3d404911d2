"""Everything that a person can ask of one connected server. Nothing is sent that was not offered."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping

from inspector.base.errors import ConnectionLost, NotOffered, RpcError
from inspector.base.jsonvalue import JSON, JSONObject
from inspector.protocol.handshake import Agreement
from inspector.protocol.jsonrpc import Kind, error_of
from inspector.protocol.listen import Filter
from inspector.protocol.methods import missing_capability
from inspector.protocol.paramheaders import ParamHeaders, read_param_headers
from inspector.protocol.revisions import Era
from inspector.protocol.rounds import Rounds
from inspector.protocol.tasks import Call, Task, TaskDesign, TaskWatch, tasks_of
from inspector.protocol.types import (
    Completion,
    InputRequest,
    Listing,
    Malformed,
    Prompt,
    PromptMessage,
    Resource,
    ResourceContents,
    ResourceTemplate,
    Tool,
    read_items,
)
from inspector.session.answers import result_of
from inspector.session.lists import list_all
from inspector.session.rounds import Concluded, answer_all, run_rounds
from inspector.session.route import Answerer
from inspector.session.session import Session
from inspector.session.waiting import Exchange, OnProgress
from inspector.transport.base import Headers

_HEADER_MISMATCH = -32020
_PAUSES = (1.0, 2.0, 4.0, 8.0, 16.0)  # seconds before a broken stream of changes is opened again


class Client:
    """Typed calls on a session, alike in both eras.

    `capabilities` are those that we declare; `answerers` answer what a server asks inside a result.
    """

    def __init__(
        self,
        session: Session,
        capabilities: JSONObject,
        answerers: Mapping[str, Answerer],
        most_pages: int,
    ) -> None:
        self._session = session
        self._capabilities = capabilities
        self._answerers = answerers
        self._most_pages = most_pages
        self._param_headers: dict[str, ParamHeaders] = {}
        self._subscribed: dict[str, None] = {}
        self._stream: asyncio.Task[None] | None = None

    # -------------------------------------------------------------- lists

    async def list_tools(self) -> Listing[Tool]:
        self._require("tools/list")
        listing = await list_all(self._session, "tools/list", "tools", Tool.read, self._most_pages)
        return self._with_usable_headers(listing) if self._mirrors_arguments else listing

    async def list_resources(self) -> Listing[Resource]:
        self._require("resources/list")
        return await list_all(self._session, "resources/list", "resources", Resource.read, self._most_pages)

    async def list_resource_templates(self) -> Listing[ResourceTemplate]:
        method = "resources/templates/list"
        self._require(method)
        return await list_all(
            self._session, method, "resourceTemplates", ResourceTemplate.read, self._most_pages
        )

    async def list_prompts(self) -> Listing[Prompt]:
        self._require("prompts/list")
        return await list_all(self._session, "prompts/list", "prompts", Prompt.read, self._most_pages)

    # -------------------------------------------------------------- calls that may take several rounds

    async def call_tool(
        self,
        name: str,
        arguments: JSONObject,
        *,
        timeout: float | None = None,
        on_progress: OnProgress | None = None,
        as_task: bool = False,
    ) -> Concluded:
        """Call a tool; gives the answer as it came, a result or an error. It may have become a task."""
        self._require("tools/call")
        params: JSONObject = {"name": name, "arguments": arguments}
        if as_task:
            params = self._task_design().augment(params)
        done = await self._operate("tools/call", params, timeout, on_progress, self._headers(name, arguments))
        if self._mirrors_arguments and _is_header_mismatch(done.exchange):
            # "Rebuild the map and retry once": the server's schema may have changed since it was listed.
            await self.list_tools()
            headers = self._headers(name, arguments)
            done = await self._operate("tools/call", params, timeout, on_progress, headers)
        return done if done.task is not None or not as_task else self._with_task(done)

    async def read_resource(self, uri: str) -> Listing[ResourceContents]:
        self._require("resources/read")
        done = await self._operate("resources/read", {"uri": uri})
        items, malformed = read_items(result_of(done.exchange.answer).get("contents"), ResourceContents.read)
        return Listing(tuple(items), tuple(malformed), pages=1)

    async def get_prompt(self, name: str, arguments: Mapping[str, str]) -> Listing[PromptMessage]:
        self._require("prompts/get")
        params: JSONObject = {"name": name, "arguments": dict(arguments)}
        done = await self._operate("prompts/get", params)
        items, malformed = read_items(result_of(done.exchange.answer).get("messages"), PromptMessage.read)
        return Listing(tuple(items), tuple(malformed), pages=1)

    async def _operate(
        self,
        method: str,
        params: JSONObject,
        timeout: float | None = None,
        on_progress: OnProgress | None = None,
        headers: Headers = (),
    ) -> Concluded:
        async def send(params: JSONObject | None) -> Exchange:
            return await self._session.request(
                method, params, timeout=timeout, on_progress=on_progress, headers=headers
            )

        if self._agreement.era is Era.HANDSHAKE:
            return Concluded(await send(params))
        return await run_rounds(Rounds(method, params, self._capabilities), params, send, self._answerers)

    # -------------------------------------------------------------- small things

    async def complete(
        self, ref: JSONObject, argument: str, value: str, context: Mapping[str, str] | None = None
    ) -> Completion:
        """What could stand for an argument; `ref` is a prompt or a resource template."""
        params: JSONObject = {"ref": ref, "argument": {"name": argument, "value": value}}
        if context:
            params["context"] = {"arguments": dict(context)}
        return Completion.read(await self._ask("completion/complete", params))

    async def set_level(self, level: str) -> None:
        """How much the server logs. The stateless era says that with each request instead."""
        await self._ask("logging/setLevel", {"level": level})

    async def ping(self) -> None:
        """Is the server still there? The stateless era has no ping; `server/discover` tells as much."""
        is_handshake = self._agreement.era is Era.HANDSHAKE
        result_of((await self._session.request("ping" if is_handshake else "server/discover")).answer)

    async def roots_changed(self) -> None:
        """Tell the server that our folders are others now, where the revision has a word for that."""
        if self._agreement.era is Era.HANDSHAKE:
            await self._session.notify("notifications/roots/list_changed")

    # -------------------------------------------------------------- hearing of changes

    async def subscribe(self, uri: str) -> None:
        """Hear of changes of one resource."""
        if self._agreement.era is Era.HANDSHAKE:
            await self._ask("resources/subscribe", {"uri": uri})
        self._subscribed[uri] = None
        self.listen()

    async def unsubscribe(self, uri: str) -> None:
        if self._agreement.era is Era.HANDSHAKE:
            await self._ask("resources/unsubscribe", {"uri": uri})
        self._subscribed.pop(uri, None)
        self.listen()

    def listen(self) -> None:
        """In the stateless era, open the stream of changes for all that is wanted now; then close the old.

        In the handshake era the server tells of changes by itself, and there is nothing to open.
        """
        if self._agreement.era is Era.HANDSHAKE:
            return
        wanted, before = self._wanted(), self._stream
        self._stream = self._session.spawn("listen", self._keep_listening(wanted)) if wanted else None
        if before is not None:
            before.cancel()

    async def _keep_listening(self, wanted: Filter) -> None:
        """A stream that breaks off is opened again, a few times; one that the server ends is over."""
        for pause in _PAUSES:
            if await self._session.listen(wanted):
                return
            await asyncio.sleep(pause)

    def _wanted(self) -> Filter:
        offered = self._agreement.capabilities
        return Filter(
            tools=_tells_of_changes(offered.get("tools")),
            prompts=_tells_of_changes(offered.get("prompts")),
            resources=_tells_of_changes(offered.get("resources")),
            uris=tuple(self._subscribed),
        )

    # -------------------------------------------------------------- tasks

    async def get_task(self, id: str) -> Task:
        return Task.read(await self._run(self._tasks().get(id)))

    async def list_tasks(self) -> Listing[Task]:
        """The server's tasks, where the design has a list."""
        call = self._tasks().list(self._agreement.capabilities)
        if call is None:
            raise NotOffered("The server has no list of its tasks.", "Only tasks of this session are known.")
        return await list_all(self._session, call[0], "tasks", Task.read, self._most_pages)

    async def cancel_task(self, id: str) -> None:
        call = self._tasks().cancel(id, self._agreement.capabilities)
        if call is None:
            raise NotOffered("The server does not let tasks be cancelled.", "It declares no tasks.cancel.")
        await self._run(call)

    async def finish_task(self, task: Task, on_news: Callable[[Task], None] | None = None) -> JSONObject:
        """Poll as often as the server wishes, answer what it asks, and give the outcome.

        Raises RpcError when the task failed.
        """
        design, watch = self._tasks(), TaskWatch(task)
        while not watch.task.status.is_terminal:
            outcome = design.outcome(task.id)
            if outcome is not None and watch.task.status.value == "input_required":
                return await self._run(outcome)  # the server asks while this waits
            await asyncio.sleep(watch.task.next_poll_ms / 1000)
            news = watch.receive(await self.get_task(task.id))
            if on_news is not None:
                on_news(news.task)
            update = (
                design.update(task.id, await answer_all(news.asked, self._answerers)) if news.asked else None
            )
            if update is not None:
                await self._run(update)
        return await self._outcome(design, watch.task)

    async def _answer_task(self, design: TaskDesign, id: str, asked: Mapping[str, InputRequest]) -> None:
        update = design.update(id, await answer_all(asked, self._answerers))
        if update is not None:
            await self._run(update)

    async def _outcome(self, design: TaskDesign, task: Task) -> JSONObject:
        call = design.outcome(task.id)
        if call is not None:
            return await self._run(call)
        if task.error is not None:
            code, message = task.error.get("code"), task.error.get("message")
            raise RpcError(code if isinstance(code, int) else 0, str(message), task.error.get("data"))
        return task.result or {}

    def _tasks(self) -> TaskDesign:
        design = tasks_of(self._agreement.revision)
        if design is None:
            revision = self._agreement.revision
            raise NotOffered(f"Revision {revision} has no tasks.", "Nothing was sent.")
        return design

    def _task_design(self) -> TaskDesign:
        design = self._tasks()
        if not design.is_offered(self._agreement.capabilities):
            raise NotOffered("The server does not offer to run tools as tasks.", "Nothing was sent.")
        return design

    def _with_task(self, done: Concluded) -> Concluded:
        task = self._tasks().created(result_of(done.exchange.answer))
        return Concluded(done.exchange, done.rounds, task)

    async def _run(self, call: Call) -> JSONObject:
        method, params = call
        return result_of((await self._session.request(method, params)).answer)

    # -------------------------------------------------------------- what may be sent

    @property
    def _agreement(self) -> Agreement:
        agreement = self._session.state.agreement
        if agreement is None:
            raise ConnectionLost("The server is not connected.", "Connect first.")
        return agreement

    def _require(self, method: str) -> None:
        agreement = self._agreement
        missing = missing_capability(method, agreement.capabilities, agreement.revision)
        if missing:
            raise NotOffered(
                f"The server does not offer {method}: it did not declare the capability “{missing}”.",
                "Nothing was sent.",
            )

    async def _ask(self, method: str, params: JSONObject) -> JSONObject:
        self._require(method)
        return result_of((await self._session.request(method, params)).answer)

    # -------------------------------------------------------------- mirrored arguments

    @property
    def _mirrors_arguments(self) -> bool:
        """Stateless HTTP wants some arguments in headers as well."""
        return self._agreement.era is Era.STATELESS and self._session.is_over_http

    def _with_usable_headers(self, listing: Listing[Tool]) -> Listing[Tool]:
        """ "Clients MUST exclude a tool whose annotations are invalid": it is kept apart, with the reason."""
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
        return Listing(tuple(usable), (*listing.malformed, *dropped), listing.pages)

    def _headers(self, tool: str, arguments: JSONObject) -> Headers:
        if not self._mirrors_arguments or tool not in self._param_headers:
            return ()
        return self._param_headers[tool].headers_for(arguments)


def _tells_of_changes(capability: JSON) -> bool:
    return isinstance(capability, dict) and capability.get("listChanged") is True


def _is_header_mismatch(exchange: Exchange) -> bool:
    return exchange.answer.kind is Kind.ERROR and error_of(exchange.answer).code == _HEADER_MISMATCH

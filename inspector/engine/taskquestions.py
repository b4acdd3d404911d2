"""What one task asks, in the design that asks inside its state: each question is answered once."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping

from inspector.base.errors import ConnectionLost, LensError
from inspector.protocol.tasks import Task, TaskWatch
from inspector.protocol.types import InputRequest
from inspector.session.taskcalls import TaskCalls
from inspector.session.waiting import HumanTime
from inspector.transport.tasks import TaskScope


class TaskQuestions:
    """Server requests inside a task's state, each answered once.

    Asks what `watch` reports as new. `row` is that of the call; `human` counts the time that replies take.
    `on_change`: `open_count` changed; `on_refused`: the task waits in vain.
    """

    def __init__(
        self,
        watch: TaskWatch,
        calls: TaskCalls,
        scope: TaskScope,
        human: HumanTime,
        row: int | None,
        on_change: Callable[[], None],
        on_refused: Callable[[LensError], None],
    ) -> None:
        self._watch = watch
        self._calls = calls
        self._scope = scope
        self._human = human
        self._row = row
        self._on_change = on_change
        self._on_refused = on_refused
        self._asking: dict[asyncio.Task[None], frozenset[str]] = {}
        self._refused: set[str] = set()

    @property
    def open_count(self) -> int:
        """Number of requests waiting for the user."""
        return sum(map(len, self._asking.values()))

    @property
    def are_refused(self) -> bool:
        """True if the task waits for replies that will not come."""
        return bool(self._refused)

    def ask(self, asked: Mapping[str, InputRequest]) -> None:
        asking = self._scope.spawn(f"answer task {self._watch.task.id}", self._answer(asked))
        self._asking[asking] = frozenset(asked)

    def ask_again(self) -> None:
        """Ask refused requests, or those whose reply was lost, again if still pending."""
        self._watch.forget(self._refused)
        self._refused = set()

    def withdraw(self, task: Task) -> None:
        """Cancel requests that the server no longer makes."""
        still_open = _keys_of(task)
        for asking, keys in tuple(self._asking.items()):
            if not keys & still_open:
                asking.cancel()

    def stop(self) -> None:
        """Stop after a disconnect or when polling ends; open requests are asked again later."""
        self._watch.forget(key for keys in self._asking.values() for key in keys)
        current = asyncio.current_task()
        for asking in tuple(self._asking):
            if asking is not current:
                asking.cancel()

    async def _answer(self, asked: Mapping[str, InputRequest]) -> None:
        id, this = self._watch.task.id, asyncio.current_task()
        try:
            responses = await self._calls.answers_to(id, asked, self._human, self._row)
        except LensError as exc:
            self._on_unanswered(exc, asked)
            return
        finally:
            if this is not None:
                self._asking.pop(this, None)  # from here on it must not be cancelled with the request
            self._on_change()
        try:
            await self._calls.update(id, responses)
        except LensError as exc:
            self._on_unanswered(exc, asked)

    def _on_unanswered(self, error: LensError, asked: Mapping[str, InputRequest]) -> None:
        if type(error) is ConnectionLost:
            self._watch.forget(asked)
            return
        self._refused.update(asked)
        self._on_refused(error)


def _keys_of(task: Task) -> set[str]:
    try:
        return set(task.input_requests())
    except ValueError:
        return set()

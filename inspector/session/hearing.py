"""The streams of changes of one conversation in the stateless era: what is heard on them, put into words."""

from __future__ import annotations

import contextlib
from collections.abc import Callable

from inspector.base.jsonvalue import JSONProblem
from inspector.protocol.jsonrpc import Message, RequestId
from inspector.protocol.listen import LISTEN, Acknowledged, Ended, Filter, Listening
from inspector.traffic.recorder import Recorder
from inspector.traffic.records import RecordKind


class Hearing:
    """Knows which streams are open. `on_open` of each is called when the server has acknowledged it."""

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder
        self._listening = Listening()
        self._on_open: dict[RequestId, Callable[[], None]] = {}

    def open(self, id: RequestId, filter: Filter, on_open: Callable[[], None]) -> None:
        """The request with this id is about to be sent."""
        self._listening.open(id, filter)
        self._on_open[id] = on_open

    def open_by_hand(self, request: Message) -> None:
        """A person wrote such a request: what comes on its stream is none of the server's faults."""
        with contextlib.suppress(JSONProblem):
            if request.id is not None:
                self._listening.open(request.id, Filter.read(request.params.get("notifications")))

    def close(self, id: RequestId) -> None:
        """Nobody listens to it any more."""
        self._listening.close(id)
        self._on_open.pop(id, None)

    def answered(self, request: Message, answer: Message) -> None:
        """A request was answered: if it opened a stream, that is the end of it."""
        if request.method != LISTEN or (id := request.id) is None:
            return
        if (ended := self._listening.answered(id, answer)) is not None:
            self._note_end(ended)

    def receive(self, notification: Message, carrier: RequestId | None) -> Ended | None:
        """What a notification means to the streams; faults of it are noted. Gives the end of one."""
        match self._listening.receive(notification, carrier):
            case Ended() as ended:
                self._note_end(ended)
                return ended
            case None:
                return None
            case news:
                if news.problem:
                    self._recorder.note(RecordKind.LOCAL, f"{notification.method}: {news.problem}.")
                if isinstance(news, Acknowledged) and (on_open := self._on_open.pop(news.id, None)):
                    on_open()
                return None

    def _note_end(self, ended: Ended) -> None:
        text = f"no longer listening: {ended.how.value} {ended.reason}".strip()
        self._recorder.note(RecordKind.STATE, text)

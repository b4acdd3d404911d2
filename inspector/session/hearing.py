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
    """Tracks the open `subscriptions/listen` streams.

    A stream's `on_open` is called when the server has acknowledged it.
    """

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder
        self._listening = Listening()
        self._on_open: dict[RequestId, Callable[[], None]] = {}

    def open(self, id: RequestId, filter: Filter, on_open: Callable[[], None]) -> None:
        """Register a stream whose request is about to be sent."""
        self._listening.open(id, filter)
        self._on_open[id] = on_open

    def open_by_hand(self, request: Message) -> None:
        """Register a hand-written stream request, so that its notifications are not violations."""
        with contextlib.suppress(JSONProblem):
            if request.id is not None:
                self._listening.open(request.id, Filter.read(request.params.get("notifications")))

    def close(self, id: RequestId) -> None:
        """Unregister a stream."""
        self._listening.close(id)
        self._on_open.pop(id, None)

    def answered(self, request: Message, answer: Message) -> None:
        """Handle the response to a request; if it opened a stream, that stream has ended."""
        if request.method != LISTEN or (id := request.id) is None:
            return
        if (ended := self._listening.answered(id, answer)) is not None:
            self._note_end(ended)

    def receive(self, notification: Message, carrier: RequestId | None) -> Ended | None:
        """Apply a notification to the streams and record violations; return a stream's end, if any."""
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

"""The stops about servers that ask back, and about tasks."""

from __future__ import annotations

import asyncio

from PySide6.QtTest import QTest
from PySide6.QtWidgets import QPlainTextEdit

from inspector.app.tour.guide import PATIENCE, Guide, StopFailed
from inspector.base.jsonvalue import JSONObject
from inspector.engine.views import CallOutcome, OutcomeKind
from inspector.qt.panels.inbox.card import CardView
from inspector.qt.panels.inbox.formsection import FormSection
from inspector.qt.panels.inbox.panel import InboxPanel
from inspector.qt.panels.inbox.samplingsection import SamplingSection

HANDSHAKE, STATELESS = "everything", "everything (http)"


async def sampling_card(guide: Guide) -> None:
    """Answer a sampling request by hand."""
    guide.server(HANDSHAKE)
    outcome = await _begin(guide, "sampling")
    await guide.picture("toast")
    await guide.press("Answer", guide.window.inboxes.toasts.shown[0])
    view = await _card(guide)
    section = view.findChild(SamplingSection)
    if section is None:
        raise StopFailed("the card is not about sampling")
    texts = [box for box in section.findChildren(QPlainTextEdit) if box.isVisible() and not box.isReadOnly()]
    if not texts:
        raise StopFailed("the answer has no field to type into")
    texts[0].setFocus()
    QTest.keyClicks(texts[0], "Blue, like the sea near Lisbon.")
    await guide.picture("sampling-card")
    view.submit()
    await _ends(outcome, OutcomeKind.RESULT)


async def elicitation_form(guide: Guide) -> None:
    """Answer a form elicitation that has every kind of field."""
    guide.server(HANDSHAKE)
    outcome = await _begin(guide, "elicit_all_fields")
    await guide.press("Answer", guide.tools)
    view = await _card(guide)
    form = _form(view)
    form.editor.set_arguments({**form.editor.arguments(anyway=True), "text": "Ada", "choice": "red"})
    await guide.picture("elicitation-form")
    form.accept()
    await _ends(outcome, OutcomeKind.RESULT)


async def several_rounds(guide: Guide) -> None:
    """2026-07-28: a call returns input requests, and the client retries it with the answers."""
    guide.server(STATELESS)
    outcome = await _begin(guide, "book_trip")
    await guide.press("Answer", guide.tools)
    await _answer_form(guide, 1, {"city": "Lisbon"})
    await _answer_form(guide, 2, {"day": "2026-12-24"})
    await guide.until("the third round", lambda: _round_in_front(guide) == 3)
    await guide.picture("rounds")
    await _answer_form(guide, 3, {"seats": 2})
    await _ends(outcome, OutcomeKind.RESULT)


# ------------------------------------------------------------------


async def _begin(guide: Guide, tool: str) -> asyncio.Future[CallOutcome]:
    """Call a tool that sends a server request, and wait until that request arrives."""
    guide.do("view.tools")
    await guide.tool(tool)
    await guide.until("Call to be possible", guide.window.actions_table["tool.call"].isEnabled)
    outcome = guide.outcome()
    guide.do("tool.call")
    await guide.until(f"a question of {tool}", lambda: guide.window.inboxes.cards.count)
    return outcome


async def _answer_form(guide: Guide, round: int, content: JSONObject) -> None:
    """Fill in this round's form and accept it."""
    await guide.until(f"round {round}", lambda: _round_in_front(guide) == round)
    form = _form(await _card(guide))
    form.editor.set_arguments(content)
    form.accept()


def _form(view: CardView) -> FormSection:
    form = view.findChild(FormSection)
    if form is None:
        raise StopFailed("the card has no form")
    return form


def _round_in_front(guide: Guide) -> int:
    view = _in_front(guide)
    return view.card.round if view is not None else 0


async def _ends(outcome: asyncio.Future[CallOutcome], expected: OutcomeKind) -> None:
    got = await asyncio.wait_for(outcome, PATIENCE)
    if got.kind is not expected:
        raise StopFailed(f"the call ended as “{got.kind.value}”: {got.summary}")


def _panel(guide: Guide) -> InboxPanel:
    workspace = guide.window.workspace()
    return workspace.inbox if workspace is not None else guide.window.inboxes.overall


async def _card(guide: Guide) -> CardView:
    """Return the front card once it is waiting for a reply."""
    await guide.until("a card in front", lambda: _in_front(guide) is not None)
    view = _in_front(guide)
    assert view is not None
    return view


def _in_front(guide: Guide) -> CardView | None:
    view = _panel(guide).card_view
    is_ready = view is not None and view.isVisible() and view.card.is_open
    return view if is_ready else None

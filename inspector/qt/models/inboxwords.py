"""What the Inbox says about cards: what is asked, who waits for it, how it stands, how it ended."""

from __future__ import annotations

from inspector.base.jsonvalue import shorten
from inspector.base.plaintext import one_line
from inspector.base.units import duration, plural
from inspector.engine.cards import Card, CardEnd, Question, Reply
from inspector.protocol.asking import ELICITATION, ROOTS, SAMPLING
from inspector.protocol.members import text_of
from inspector.protocol.replies import ACCEPT, CANCEL, DECLINE, USER_REJECTED
from inspector.protocol.sampling import USER

_EXCERPT = 300
_KINDS = {"form": "Form", "url": "Page to open", SAMPLING: "Sampling", ROOTS: "Roots"}
_WISHES = {
    "form": "asks you to fill in a form",
    "url": "asks you to open a page",
    SAMPLING: "asks for a model's answer",
    ROOTS: "asks for the roots",
}
_ACTIONS = {ACCEPT: "accepted", DECLINE: "declined", CANCEL: "cancelled"}
_DRAFTED = "drafted"
_SECOND = 1_000_000_000


def is_page(question: Question) -> bool:
    return question.method == ELICITATION and question.params.get("mode") == "url"


def _kind(question: Question) -> str:
    if question.method == ELICITATION:
        return "url" if is_page(question) else "form"
    return question.method


def kind_words(question: Question) -> str:
    """Return the kind: Form, Page to open, Sampling or Roots."""
    return _KINDS.get(_kind(question)) or one_line(question.method)


def for_person(card: Card) -> tuple[Question, ...]:
    """Return the requests that only the user, or a reply rule, can answer."""
    return tuple(each for each in card.questions if each.reply is None or not each.reply.is_known)


def what_words(card: Card) -> str:
    """Return what a card asks for, in two or three words."""
    asked = for_person(card) or card.questions
    if len(asked) == 1:
        return kind_words(asked[0])
    kinds = {kind_words(each) for each in asked}
    return f"{plural(len(asked), 'question')}" if len(kinds) > 1 else f"{len(asked)} × {kinds.pop()}"


def wish_words(card: Card) -> str:
    """Return e.g. "everything asks you to fill in a form"."""
    asked = for_person(card) or card.questions
    wish = _WISHES.get(_kind(asked[0]), f"asks with {one_line(asked[0].method)}")
    if len(asked) > 1:
        wish = f"asks {plural(len(asked), 'question')}"
    return f"{one_line(card.server)} {wish}"


def excerpt_of(question: Question) -> str:
    """Return a one-line excerpt: the message, or the last user message."""
    params = question.params
    text = (
        text_of(params, "message") if question.method == ELICITATION else _last_said(params.get("messages"))
    )
    return one_line(shorten(text.strip(), _EXCERPT))


def _last_said(messages: object) -> str:
    if not isinstance(messages, list):
        return ""
    for message in reversed(messages[-20:]):
        if not isinstance(message, dict) or message.get("role") != USER:
            continue
        content = message.get("content")
        for block in content if isinstance(content, list) else [content]:
            if isinstance(block, dict) and (text := text_of(block, "text")):
                return text
    return ""


def waits_words(card: Card) -> str:
    """Return which call waits for the reply, e.g. "tool roll_dice"."""
    if card.subject:
        what = {"tools/call": "tool ", "prompts/get": "prompt ", "resources/read": "resource "}
        return f"{what.get(card.method, '')}{one_line(shorten(card.subject, 120))}"
    if card.task_id:
        return f"task {one_line(shorten(card.task_id, 60))}"
    return one_line(card.method)


def asking_task(card: Card) -> str:
    """Return the id of the server's task behind the request, "" if there is none.

    A request may itself run as a task of the client, which is not the server's.
    """
    is_ours = any("task" in question.params for question in card.questions)
    return "" if is_ours else card.task_id


def round_words(card: Card) -> str:
    """Return e.g. "Round 2 of at most 10"; "" for a request outside of multi round-trip calls."""
    if not card.round:
        return ""
    return f"Round {card.round} of at most {card.most_rounds}" if card.most_rounds else f"Round {card.round}"


def state_words(card: Card) -> str:
    """Return the state of an open card; "" if it is just pending."""
    if card.awaits_page:
        return "waiting for the page"
    asked = for_person(card)
    done = sum(each.reply is not None for each in asked)
    return f"{done} of {len(asked)} answered" if len(asked) > 1 and done else ""


def age_words(card: Card, now_ns: int) -> str:
    """Return the age: 12 s, 3 min, 2 h 05 min."""
    seconds = max(now_ns - card.asked_ns, 0) // _SECOND
    if seconds < 60:
        return f"{seconds} s"
    minutes = seconds // 60
    return f"{minutes} min" if minutes < 60 else f"{minutes // 60} h {minutes % 60:02d} min"


# ------------------------------------------------------------------ answers and ends


def reply_words(reply: Reply) -> str:
    """Return the kind of reply: accepted, declined, cancelled, answered or refused."""
    if reply.is_known:
        return "answered by itself"
    if reply.result is None:
        return "declined" if reply.code == USER_REJECTED else f"refused with error {reply.code}"
    action = reply.result.get("action")
    return _ACTIONS.get(action, "answered") if isinstance(action, str) else "answered"


def rule_words(reply: Reply) -> str:
    """Return the rule that replied or drafted, e.g. "by the rule “Echo”"; "" without a rule."""
    name = reply.rule or reply.drafted_by
    words = f"by the rule “{one_line(shorten(name, 60))}”" if name else ""
    return f"{_DRAFTED} {words}" if words and not reply.rule else words


def end_words(card: Card) -> str:
    """Return how it ended, by whom and when: "accepted by the rule “Yes” after 1.2 s"."""
    if card.end is None:
        return ""
    words = card.end.value
    if card.end is CardEnd.ANSWERED:
        replies = [each.reply for each in for_person(card) or card.questions if each.reply is not None]
        said = dict.fromkeys(filter(None, map(reply_words, replies)))
        rules = dict.fromkeys(filter(None, map(rule_words, replies)))
        words = ", ".join(said) or words
        for rule in rules:
            words += f", {rule}" if rule.startswith(_DRAFTED) else f" {rule}"
    # A request refused automatically was never pending.
    waited = waited_words(card) if card.end is not CardEnd.REFUSED else ""
    return f"{words} after {waited}" if waited else words


def is_yes(card: Card) -> bool:
    """Return whether it ended with what the server asked for."""
    replies = [each.reply for each in for_person(card) or card.questions]
    yes = ("answered", "answered by itself", _ACTIONS[ACCEPT])
    given = [reply_words(reply) for reply in replies if reply is not None]
    return card.end is CardEnd.ANSWERED and all(words in yes for words in given)


def note_words(card: Card) -> str:
    """Return a sentence on why it ended, or a note on an open card."""
    note = card.note.strip()
    if not note:
        return ""
    words = note if note[-1] in ".!?…" else f"{note}."
    return f"Reason: {words}" if card.end is CardEnd.WITHDRAWN else words


def waited_words(card: Card) -> str:
    return duration(card.ended_ns - card.asked_ns) if card.ended_ns is not None else ""

"""A login as a sequence of messages between those who take part: what went, what waits, what is to come."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import Enum
from urllib.parse import urlsplit

from inspector.base.plaintext import one_line
from inspector.oauth.steps import HttpSeen, LoginGrant, LoginView, Step, StepId, StepState


class Party(Enum):
    """Participants, by display name, from left to right."""

    BROWSER = "Browser"
    US = "MCP Lens"
    SERVER = "MCP server"
    AUTHORITY = "Authorization server"
    PROVIDER = "Identity provider"  # only in enterprise logins


@dataclass(frozen=True, slots=True)
class Arrow:
    """A message; with the same party at both ends, something that it does by itself."""

    step: StepId
    source: Party
    target: Party
    text: str
    state: StepState
    is_answer: bool = False
    is_bad: bool = False  # an error response, or none


_TALKS_TO = {
    StepId.PROBE: Party.SERVER,
    StepId.RESOURCE_LOOKUP: Party.SERVER,
    StepId.SERVER_LOOKUP: Party.AUTHORITY,
    StepId.IDENTITY: Party.AUTHORITY,
    StepId.PROVIDER_LOOKUP: Party.PROVIDER,
    StepId.SIGN_IN: Party.PROVIDER,
    StepId.ID_TOKEN_REQUEST: Party.PROVIDER,
    StepId.EXCHANGE: Party.PROVIDER,
    StepId.TOKEN_REQUEST: Party.AUTHORITY,
    StepId.CALL: Party.SERVER,
    StepId.VERIFY: Party.SERVER,
    StepId.LIFETIME: Party.AUTHORITY,
}
# Short description of what a step will send, while nothing else is known.
_PLANNED = {
    StepId.PROBE: "request without a token",
    StepId.RESOURCE_LOOKUP: "GET resource metadata",
    StepId.SERVER_LOOKUP: "GET server metadata",
    StepId.PROVIDER_LOOKUP: "GET its metadata",
    StepId.ID_TOKEN_REQUEST: "token request",
    StepId.TOKEN_REQUEST: "token request",
    StepId.EXCHANGE: "token exchange",
    StepId.CALL: "request with the token",
    StepId.VERIFY: "tools/list",
}
_SHORT = 64


def parties_of(arrows: Iterable[Arrow]) -> tuple[Party, ...]:
    """Return the participants of a login, from left to right."""
    ends = {end for arrow in arrows for end in (arrow.source, arrow.target)}
    return tuple(party for party in Party if party is not Party.PROVIDER or party in ends)


def arrows_of(view: LoginView) -> tuple[Arrow, ...]:
    """Return all messages of a login, in order."""
    asked = Party.PROVIDER if view.grant is LoginGrant.ENTERPRISE else Party.AUTHORITY
    return tuple(arrow for step in view.steps for arrow in _of_step(step, asked))


def mermaid(view: LoginView) -> str:
    """Return the diagram as a Mermaid sequence diagram."""
    arrows = arrows_of(view)
    lines = ["sequenceDiagram"]
    lines += [f"    participant {each.name.title()} as {each.value}" for each in parties_of(arrows)]
    for arrow in arrows:
        if arrow.state in (StepState.DONE, StepState.FAILED, StepState.RUNNING):
            lines.append(f"    {_mermaid_arrow(arrow)}")
    return "\n".join(lines) + "\n"


def _mermaid_arrow(arrow: Arrow) -> str:
    text = one_line(arrow.text).replace(";", ",").replace("#", " ")
    source, target = arrow.source.name.title(), arrow.target.name.title()
    if arrow.source is arrow.target:
        return f"Note over {source}: {text}"
    return f"{source}{'-->>' if arrow.is_answer else '->>'}{target}: {text}"


def _of_step(step: Step, asked: Party) -> Iterator[Arrow]:
    """Yield the arrows of a step; `asked` is where the browser is sent."""
    is_skipped = step.state is StepState.SKIPPED
    match step.id:
        case StepId.AUTHORIZE if not is_skipped:
            words = "log in and agree" if asked is Party.AUTHORITY else "sign in"
            yield _arrow(step, Party.US, Party.BROWSER, "open the authorize address")
            yield _arrow(step, Party.BROWSER, asked, f"authorize: {words}")
        case StepId.WAIT if not is_skipped:
            yield _arrow(step, asked, Party.BROWSER, "redirect with code and state", is_answer=True)
            yield _arrow(step, Party.BROWSER, Party.US, "callback")
        case _ if step.exchanges:
            for seen in step.exchanges:
                yield from _of_exchange(step, seen)
        case _ if step.id in _PLANNED and not is_skipped:
            yield _arrow(step, Party.US, _TALKS_TO[step.id], _PLANNED[step.id])
        case _:
            yield _arrow(step, Party.US, Party.US, step.id.value)


def _of_exchange(step: Step, seen: HttpSeen) -> Iterator[Arrow]:
    party = _TALKS_TO.get(step.id, Party.SERVER)
    path = urlsplit(seen.request.url).path or "/"
    yield _arrow(step, Party.US, party, f"{seen.request.method} {_cut(path)}")
    if seen.status:
        is_expected = step.id is StepId.PROBE and seen.status == 401
        answer = _arrow(step, party, Party.US, str(seen.status), is_answer=True)
        yield answer if seen.status < 400 or is_expected else _bad(answer)
    elif seen.failure:
        yield _bad(_arrow(step, party, Party.US, "no answer", is_answer=True))


def _arrow(step: Step, source: Party, target: Party, text: str, *, is_answer: bool = False) -> Arrow:
    is_bad = step.state is StepState.FAILED and source is target
    return Arrow(step.id, source, target, text, step.state, is_answer, is_bad)


def _bad(arrow: Arrow) -> Arrow:
    return Arrow(arrow.step, arrow.source, arrow.target, arrow.text, arrow.state, arrow.is_answer, True)


def _cut(path: str) -> str:
    text = one_line(path)
    return text if len(text) <= _SHORT else f"{text[: _SHORT // 2]}…{text[-_SHORT // 2 :]}"

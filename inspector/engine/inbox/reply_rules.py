"""Automatic replies: the first enabled reply rule that matches a server request answers it.

What a rule cannot answer goes to the user, with the reason. Rules that only produce a sampling result (a
text, an echo, an endpoint) are not used for elicitations, nor elicitation replies for sampling. Requests
to an endpoint are rate-limited, as a server that asks in a loop would spend the user's money.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from inspector.base.clock import Clock, SystemClock
from inspector.base.errors import ConfigError, UserError
from inspector.base.json.values import JSON, JSONError, JSONObject, text_of, to_wire
from inspector.base.plain_text import one_line
from inspector.base.signals import Signal
from inspector.base.units import plural
from inspector.config.reply_rules import LoadedRules, ReplyRule, ReplyRulesFile, RuleKind, read_script
from inspector.engine.inbox.views import Reply, RequestItem
from inspector.protocol.jsonrpc import read
from inspector.protocol.revisions import Revision
from inspector.protocol.server_requests.replies import END_TURN, reply_problems, sampling_reply, text_block
from inspector.protocol.server_requests.request import (
    ELICITATION,
    ROOTS,
    SAMPLING,
    SamplingRequest,
    UnreadableRequest,
    UrlElicitation,
)
from inspector.protocol.server_requests.sampling import ASSISTANT, USER, kind_of
from inspector.traffic.log import TrafficLog
from inspector.traffic.recorder import Recorder

# The filter language and the endpoint are imported when a request arrives, to keep startup fast.

Secret: TypeAlias = Callable[[str], Awaitable[str | None]]

# Reported as `model` where no model was involved.
CANNED_MODEL, ECHO_MODEL = "mcp-lens-canned", "mcp-lens-echo"


@dataclass(frozen=True, slots=True)
class RuleInput:
    """A server request as passed to the rules."""

    server: str
    input_request: RequestItem
    revision: Revision


@dataclass(frozen=True, slots=True)
class Attempt:
    """Trial run of a rule: the reply it would send, or the `reason` why it would not."""

    request: RuleInput
    reply: Reply | None = None
    reason: str = ""
    notes: tuple[str, ...] = ()  # what is wrong with the reply


@dataclass(frozen=True, slots=True)
class ScriptPosition:
    """How many replies of a rule's script have been used so far."""

    used: int
    total: int


class RulesChangedElsewhere(ConfigError):
    """The rules are no longer the ones that the user saw; nothing was written."""


class ReplyRules:
    """Replies to server requests by rules.

    `secret` returns a stored secret by name. Without a file, the rules are not saved.

    Signals:
        problem_found: Something is wrong with the file; carries a sentence. Emitted on any thread.
    """

    def __init__(
        self, path: Path | None = None, secret: Secret | None = None, clock: Clock | None = None
    ) -> None:
        self.problem_found: Signal[str] = Signal()
        self.last: RuleInput | None = None  # the most recent request, answered or not
        self._file = ReplyRulesFile(path) if path is not None else None
        self._secret = secret
        self._loaded = LoadedRules()
        self._used: dict[str, int] = {}
        self._per_minute = RateLimit(clock or SystemClock())
        self._script_lock = asyncio.Lock()  # a script answers one request at a time

    async def rules(self) -> tuple[ReplyRule, ...]:
        """Return the current rules from the file, which may be edited externally.

        Each warning about it is reported once.
        """
        if self._file is not None:
            await asyncio.to_thread(self._reload, self._file)
        return self._loaded.rules

    async def save(self, rules: Sequence[ReplyRule], instead_of: Sequence[ReplyRule] | None = None) -> None:
        """Replace the rules, in this order. Raises ConfigError, and RulesChangedElsewhere."""
        if instead_of is not None and await self.rules() != tuple(instead_of):
            raise RulesChangedElsewhere(
                "The reply rules were changed outside MCP Lens.", "Nothing was saved."
            )
        if self._file is None:
            self._loaded = LoadedRules(tuple(rules))
        else:
            await asyncio.to_thread(self._save, self._file, tuple(rules))

    async def script_position(self, rule: ReplyRule) -> ScriptPosition:
        """Return the script's position. Raises UserError if the script cannot be read."""
        return ScriptPosition(self._used.get(rule.id, 0), len(await self._script(rule)))

    async def start_over(self, rule: ReplyRule) -> None:
        """Restart the rule's script with the first reply."""
        self._used.pop(rule.id, None)

    def _reload(self, file: ReplyRulesFile) -> None:
        if file.stamp() != self._loaded.stamp:
            self._loaded = file.load()
            for warning in (*self._loaded.problems, *filter(None, map(_filter_problem, self._loaded.rules))):
                self.problem_found.emit(warning)

    def _save(self, file: ReplyRulesFile, rules: tuple[ReplyRule, ...]) -> None:
        file.save(rules)
        self._loaded = file.load()

    async def reply(self, server: str, input_request: RequestItem, revision: Revision) -> Reply | None:
        """Return the automatic reply; None leaves the request to the user.

        Raises UserError if a rule matches but cannot reply.
        """
        self.last = request = RuleInput(server, input_request, revision)
        rules = [rule for rule in await self.rules() if rule.is_on and applies_to(rule, input_request)]
        rule = await asyncio.to_thread(_first_match, rules, request) if rules else None
        return await self._response(rule, request, is_automatic=True) if rule is not None else None

    async def attempt(self, rule: ReplyRule) -> Attempt:
        """Try a rule, enabled or not, on the last request; a script does not advance.

        An endpoint is really contacted. Raises UserError if there was no request yet.
        """
        if self.last is None:
            raise UserError(
                "No server request received yet.", "Call a tool that sends a server request, then try again."
            )
        request = self.last
        try:
            if not applies_to(rule, request.input_request):
                return Attempt(request, reason=f"This rule does not apply to {request.input_request.method}.")
            if not await asyncio.to_thread(matches, rule, request):
                return Attempt(request, reason="The filter does not match this server request.")
            reply = await self._response(rule, request, is_trial=True)
        except UserError as exc:
            return Attempt(request, reason=str(exc))
        return Attempt(request, reply, notes=_notes(request, reply))

    async def draft(self, rule: ReplyRule, request: RuleInput) -> Reply:
        """Return a rule's reply at the user's request, whether or not it is enabled or matches.

        Raises UserError if it cannot reply.
        """
        return await self._response(rule, request)

    async def _response(
        self, rule: ReplyRule, request: RuleInput, *, is_trial: bool = False, is_automatic: bool = False
    ) -> Reply:
        """Return a rule's reply.

        With `is_trial` a script does not advance; `is_automatic` means that no user asked for this reply.
        """
        try:
            match rule.kind:
                case RuleKind.CANNED:
                    return _reply(rule, rule.reply)
                case RuleKind.ECHO:
                    return Reply(_echo(_sampling(request)), rule=rule.title)
                case RuleKind.SCRIPT:
                    return await self._next_of_script(rule, request.input_request, is_trial=is_trial)
                case RuleKind.ENDPOINT:
                    if is_automatic:
                        self._require_rate(rule)
                    return Reply(await self._ask_endpoint(rule, _sampling(request)), rule=rule.title)
        except UserError as exc:
            raise UserError(f"Rule “{rule.title}”: {exc.summary}", exc.next_step) from exc

    async def _next_of_script(self, rule: ReplyRule, input_request: RequestItem, *, is_trial: bool) -> Reply:
        async with self._script_lock:
            replies, index = await self._script(rule), self._used.get(rule.id, 0)
            if not replies:
                raise UserError("Its script contains no replies.", "Add replies to it.")
            if index >= len(replies) and not rule.loops:
                raise UserError(
                    f"All replies of its script ({len(replies):,}) have been used.",
                    "Restart it, or let it start over after the last reply.",
                )
            reply = replies[index % len(replies)]
            if not _reply_applies(reply, input_request):
                raise UserError(
                    f"Reply {index % len(replies) + 1:,} of its script is not valid for "
                    f"{input_request.method}.",
                    "Narrow the rule's filter, or fix the script.",
                )
            if not is_trial:
                self._used[rule.id] = index + 1
            return _reply(rule, reply)

    async def _script(self, rule: ReplyRule) -> list[JSON]:
        if not rule.script.strip():
            raise UserError("It has no script.", "Choose a file of replies.")
        folder = self._file.path.parent if self._file is not None else Path()
        return await asyncio.to_thread(_read_script, rule.script.strip(), folder)

    def _require_rate(self, rule: ReplyRule) -> None:
        limit = rule.endpoint.per_minute
        if not self._per_minute.take(rule.id, limit):
            raise UserError(
                f"Its endpoint was called {plural(limit, 'time')} within a minute, which is the rule's "
                "limit.",
                "Reply yourself, or raise the rule's limit.",
            )

    async def _ask_endpoint(self, rule: ReplyRule, request: SamplingRequest) -> JSONObject:
        key = None
        if rule.endpoint.key:
            key = await self._secret(rule.endpoint.key) if self._secret is not None else None
            if key is None:
                raise UserError(
                    "The API key of its endpoint is not available.", "Store it again, or check Secrets."
                )
        from inspector.engine.inbox.chat_completions import request_completion

        return await request_completion(rule.endpoint, key, request)


def _read_script(path: str, folder: Path) -> list[JSON]:
    """Read a script; a relative path is relative to the folder of the rules."""
    try:
        return read_script(folder / Path(path).expanduser())
    except (RuntimeError, ValueError) as exc:  # unknown home directory; NUL in the path
        raise UserError(f"The script path is invalid: {exc}.", "Choose the file again.") from exc


def applies_to(rule: ReplyRule, input_request: RequestItem) -> bool:
    """True if the rule can answer this kind of request at all."""
    match rule.kind:
        case RuleKind.CANNED:
            return _reply_applies(rule.reply, input_request)
        case RuleKind.SCRIPT:
            return input_request.method != ROOTS
        case RuleKind.ECHO | RuleKind.ENDPOINT:
            return input_request.method == SAMPLING


def matches(rule: ReplyRule, request: RuleInput) -> bool:
    """True if the rule's filter matches. Raises UserError if the filter is invalid."""
    return _matches(rule.filter, _log_of(request))


def _first_match(rules: Sequence[ReplyRule], request: RuleInput) -> ReplyRule | None:
    log = _log_of(request)
    for rule in rules:
        with contextlib.suppress(UserError):  # already reported when it was read
            if _matches(rule.filter, log):
                return rule
    return None


def _matches(filter: str, log: TrafficLog) -> bool:
    from inspector.traffic.filter.matcher import compile
    from inspector.traffic.filter.parser import parse

    return compile(parse(filter), log, now_ns=time.time_ns()).matches(0)


def _log_of(request: RuleInput) -> TrafficLog:
    """Return the request as a one-message traffic log, for filters to match against.

    It is logged as a request in both eras.
    """
    log, clock = TrafficLog(), SystemClock()
    recorder = Recorder(log, request.server, clock)
    recorder.set_revision(str(request.revision))
    input_request = request.input_request
    message: JSONObject = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": input_request.method,
        "params": input_request.params,
    }
    try:
        recorder.received([read(to_wire(message))], clock.monotonic_ns())
    except JSONError as exc:
        raise UserError(f"Rules cannot match this server request: {exc}.") from exc
    return log


def _filter_problem(rule: ReplyRule) -> str:
    from inspector.traffic.filter.parser import parse

    try:
        parse(rule.filter)
    except UserError as exc:
        return f"The filter of the reply rule “{rule.title}” is invalid, so the rule never matches: {exc}"
    return ""


def _reply_applies(reply: JSON, input_request: RequestItem) -> bool:
    """Guess from the reply's shape which requests it answers.

    A shape that is not a valid reply answers anything: it is wrong on purpose.
    """
    method = input_request.method
    if not isinstance(reply, dict):
        return method == SAMPLING
    if "action" in reply:  # a reply with content is for a form, not consent to open a URL
        is_url = isinstance(input_request.request, UrlElicitation)
        return method == ELICITATION and not (is_url and "content" in reply)
    if "roots" in reply:
        return method == ROOTS
    return method == SAMPLING if {"role", "model"} & reply.keys() else True


def _reply(rule: ReplyRule, reply: JSON) -> Reply:
    if isinstance(reply, dict):
        error = reply.get("error") if len(reply) == 1 else None
        if not isinstance(error, dict):
            return Reply(reply, rule=rule.title)
        code = error.get("code")
        assert isinstance(code, int)  # checked by `config.reply_rules.reply_problem`
        return Reply(None, code, text_of(error, "message"), error.get("data"), rule=rule.title)
    assert isinstance(reply, str)
    return Reply(sampling_reply(ASSISTANT, text_block(reply), CANNED_MODEL, END_TURN), rule=rule.title)


def _sampling(request: RuleInput) -> SamplingRequest:
    match request.input_request.request:
        case SamplingRequest() as sampling:
            return sampling
        case UnreadableRequest(reason=reason):
            raise UserError(f"Could not read the server request: {one_line(reason)}.")
        case _:
            raise UserError("This kind of rule only answers sampling requests.", "Reply yourself.")


def _echo(request: SamplingRequest) -> JSONObject:
    """Return the last user message as text."""
    for message in reversed(request.messages):
        texts = [text_of(block, "text") for block in message.blocks if kind_of(block) == "text"]
        if message.role == USER and texts:
            return sampling_reply(ASSISTANT, text_block("\n".join(texts)), ECHO_MODEL, END_TURN)
    raise UserError("Nothing to echo: no user message contains text.")


def _notes(request: RuleInput, reply: Reply) -> tuple[str, ...]:
    if reply.result is None:
        return ()
    input_request = request.input_request.request
    if isinstance(input_request, UnreadableRequest):
        return (f"Could not read the server request: {one_line(input_request.reason)}.",)
    return reply_problems(input_request, reply.result, request.revision)


_MINUTE_NS = 60_000_000_000


class RateLimit:
    """Rate limiter with separate counts per name."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._times: dict[str, deque[int]] = {}

    def take(self, name: str, limit: int) -> bool:
        """Take one slot; False if `limit` were already taken within the last minute."""
        now = self._clock.monotonic_ns()
        times = self._times.setdefault(name, deque())
        while times and times[0] <= now - _MINUTE_NS:
            times.popleft()
        if len(times) >= limit:
            return False
        times.append(now)
        return True

"""A login, step by step: which step is next, what it will send, and what came back.

`Login` is driven by the user (`next`, `run_to`, `back`, `retry`, `edit`) or runs through (`run`). Step
functions are in the modules next to this one; `STEP_HANDLERS` maps each `StepId` to its function. State
is published as the frozen values of `steps.py`.
"""

from __future__ import annotations

import asyncio
import copy
import logging
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass, replace
from typing import Any

from inspector.base.errors import RequestCancelled, UserError
from inspector.base.json.values import some
from inspector.base.signals import Signal
from inspector.oauth.http import LoginRequest
from inspector.oauth.login import browser, client, discovery, identity_provider, tokens, verification
from inspector.oauth.login import discovery as discovering
from inspector.oauth.login import identity_provider as signin
from inspector.oauth.login.context import (
    BrowserNeeded,
    LoginContext,
    LoginFacts,
    LoginStopped,
    LoginTools,
    Refused,
    StepNotes,
    Target,
)
from inspector.oauth.login.steps import (
    DISTRUST,
    REVISION_DIFFERENCES,
    STEP_PURPOSES,
    STEPS,
    BrowserWait,
    LoginView,
    Overrides,
    Question,
    QuestionKind,
    Step,
    StepId,
    StepState,
    TokenInfo,
)
from inspector.oauth.store import StoredLogin
from inspector.protocol.auth.client_registration import Client, ClientSource
from inspector.protocol.auth.findings.finding import Finding, Severity
from inspector.protocol.auth.scopes import ScopeChoice
from inspector.protocol.revisions import R5, Revision
from inspector.transport.task_scope import TaskScope

_log = logging.getLogger(__name__)

# What clients must refuse (2025-11-25 and later). A user stepping through a login may still want to see
# what follows; an automatic login must not continue.
_MUST_REFUSE = ("ASM-006", "ASM-007")


class Login:
    """A login of one server. Close it at the end, however it ended.

    `refused` is the response that led to it, `scopes` what a step-up asks for. With `by_itself` it runs
    unattended: what clients must refuse is then refused in any mode. Without `opens_browser` it goes as far
    as possible without the user.

    Signals:
        changed: The view changed; carries the LoginView.
    """

    def __init__(
        self,
        target: Target,
        tools: LoginTools,
        overrides: Overrides | None = None,
        *,
        flow_id: int = 1,
        refused: Refused | None = None,
        scopes: ScopeChoice | None = None,
        by_itself: bool = False,
        opens_browser: bool = True,
        revision: Revision | None = None,
    ) -> None:
        self.changed: Signal[LoginView] = Signal()
        overrides = overrides or Overrides()
        facts = LoginFacts(overrides.revision or revision or R5, refused)
        self._stage = LoginContext(
            target,
            tools,
            overrides,
            facts,
            scopes=scopes,
            opens_browser=opens_browser,
            check=self._check,
            on_change=self._announce,
        )
        self._flow_id = flow_id
        self._by_itself = by_itself
        self._order = STEPS[self._stage.grant]
        self._steps = {
            id: Step(id, why=STEP_PURPOSES[id], differs=REVISION_DIFFERENCES.get(id, ""))
            for id in self._order
        }
        self._before: dict[StepId, LoginFacts] = {}
        self._position = 0
        self._failure: UserError | None = None
        self._task: asyncio.Task[None] | None = None
        self._tasks = TaskScope()
        self._is_over = False
        self._is_ready = False

    @property
    def view(self) -> LoginView:
        stage, failure = self._stage, self._failure
        return LoginView(
            flow_id=self._flow_id,
            server=stage.target.name,
            server_url=stage.target.url,
            grant=stage.grant,
            revision=stage.revision,
            is_strict=stage.overrides.is_strict,
            steps=tuple(self._shown(id) for id in self._order),
            result=token_info(stage.facts.held, stage.facts.is_saved),
            failure=failure.summary if failure is not None else "",
            next_step=failure.next_step if failure is not None else "",
            question=stage.question,
            waiting=waiting_of(stage),
            is_running=self._task is not None,
            is_over=self._is_over or self._position == len(self._order),
        )

    @property
    def held(self) -> StoredLogin | None:
        """The tokens, once issued."""
        return self._stage.facts.held

    @property
    def needs_person(self) -> bool:
        """True if it only ended because the browser must not be opened."""
        return isinstance(self._failure, BrowserNeeded)

    @property
    def is_by_itself(self) -> bool:
        return self._by_itself

    @property
    def is_running(self) -> bool:
        return self._task is not None

    async def begin(self) -> None:
        """Prepare the first step for review."""
        await self._alone(self._make_ready())

    async def next(self) -> None:
        """Run the next step. Errors are in the view. Raises UserError if none can run."""
        self._require_open()
        await self._alone(self._run_through(self._position))

    async def run(self) -> None:
        """Run to the end, or until something stops it."""
        await self.run_to(self._order[-1])

    async def run_to(self, last: StepId) -> None:
        """Run all steps up to this one."""
        self._require_open()
        position = self._order.index(last)
        if position >= self._position:
            await self._alone(self._run_through(position))

    async def retry(self) -> None:
        """Run the failed step again, from the state before it."""
        self._require_open()
        await self.back(self._order[self._position])
        await self.next()

    async def back(self, to: StepId) -> None:
        """Go back to before this step; it and all later ones are discarded."""
        position = self._order.index(to)
        if position > self._position or to not in self._before:
            raise UserError("This step has not run yet.", "Run the login up to this step first.")
        self._require_idle()
        self._is_over = False
        self._stage.facts = copy.copy(self._before[to])
        self._stage.question, self._failure = None, None
        self._forget_from(position)
        self._position = position
        await self._alone(self._make_ready())

    def edit(self, request: LoginRequest | None) -> None:
        """Replace the next step's request; None restores the generated one."""
        self._require_idle()
        self._stage.edited = request
        self._announce()

    async def allow_hosts(self, is_allowed: bool, requested: Question | None = None) -> None:
        """Answer whether to contact these hosts, or to trust this issuer (ISSUER).

        The answer is saved for the issuer, or for the server (PRIVATE). `requested` is the question that the
        user saw.
        """
        question = self._stage.question
        if question is None or question.kind is QuestionKind.CLIENT:
            raise UserError("There is no pending question of this kind.")
        _require_same(question, requested)
        if not is_allowed:
            self._stage.question = None
            if question.kind is not QuestionKind.PRIVATE:  # the step that asked had completed; undo that
                self._forget_from(self._position)
                self._position -= 1
            self._fail(LoginStopped(DISTRUST[question.kind]))
            return
        if question.kind is QuestionKind.PRIVATE:
            await self._stage.tools.store.allow_private()
            await self._stage.allow_private()
            await self.retry()
            return
        if question.kind is QuestionKind.ISSUER:
            await self._stage.tools.store.trust_issuer(question.issuer)
        else:
            await self._stage.tools.store.allow_hosts(question.issuer, question.hosts)
        self._stage.question = None
        await self._alone(self._make_ready())

    async def give_client(self, client_id: str, secret: str = "", requested: Question | None = None) -> None:
        """Provide the registered client; it is saved for this issuer. `requested` as in `allow_hosts`."""
        question = self._stage.question
        if question is None or question.kind is not QuestionKind.CLIENT:
            raise UserError("No client ID was requested.")
        _require_same(question, requested)
        if not client_id.strip():
            raise UserError("The client ID is empty.", "Enter the client ID registered for MCP Lens.")
        client = Client(client_id.strip(), question.issuer, ClientSource.BY_HAND, secret=secret)
        await self.back(StepId.IDENTITY)
        self._stage.facts.typed_client = client
        await self.next()

    def paste(self, text: str) -> None:
        """Accept a pasted redirect URL. Raises UserError if it is not the callback."""
        listener = self._stage.listener
        if listener is None:
            raise UserError("The login is not waiting for an authorization response.")
        listener.wait.paste(text)

    def cancel(self) -> None:
        """Stop; what was found so far stays visible."""
        if self._task is not None:
            self._task.cancel()
        else:
            self._is_over = True
            self._tasks.spawn("login listener", self._stage.close_listener())
            self._announce()

    async def close(self) -> None:
        """Stop everything, free the port and close connections."""
        self._is_over = True
        await self._tasks.close()
        await self._stage.close_listener()
        await self._stage.http.close()

    async def _alone(self, work: Coroutine[Any, Any, None]) -> None:
        """Run one thing at a time. Cancelling the caller cancels the step."""
        if self._task is not None:
            work.close()
            raise UserError("A login step is still running.", "Wait for it to finish, or cancel it.")
        task = self._task = self._tasks.spawn("login", work)
        try:
            await asyncio.wait([task])
        finally:
            if not task.done():
                task.cancel()
                await asyncio.wait([task])
            self._task = None
            if task.cancelled():
                self._fail(RequestCancelled("The login was cancelled.", "Start the login again to retry."))
                self._is_over = True
                await self._stage.close_listener()
            self._announce()

    async def _run_through(self, last: int) -> None:
        while self._position <= last and self._failure is None:
            if self._stage.question is not None:
                return
            await self._run_one()
            self._announce()

    async def _consent(self) -> None:
        """Apply the user's consent from an earlier login."""
        stage = self._stage
        if not stage.allowance.private and await stage.tools.store.allows_private():
            await stage.allow_private()

    async def _run_one(self) -> None:
        if self._position == 0:
            await self._consent()
        id, stage = self._order[self._position], self._stage
        self._before[id] = copy.copy(stage.facts)
        stage.step, stage.notes = id, StepNotes()
        self._steps[id] = replace(self._steps[id], state=StepState.RUNNING, preview=None)
        self._is_ready = False
        self._announce()
        try:
            await STEP_HANDLERS[id].run(stage)
            self._check(stage.notes.findings)
        except UserError as exc:
            self._settle(id, StepState.FAILED)
            self._fail(exc)
            self._ask_about_private()
            return
        except asyncio.CancelledError:
            self._settle(id, StepState.FAILED)
            raise
        except Exception as exc:  # a bug of ours must not look like a running login
            _log.exception("step %s failed", id.name)
            self._settle(id, StepState.FAILED)
            name = type(exc).__name__
            self._fail(
                LoginStopped(
                    f"The step failed inside MCP Lens ({name}).",
                    "This is a bug in MCP Lens. Please report it.",
                )
            )
            return
        self._settle(id, StepState.SKIPPED if stage.notes.is_skipped else StepState.DONE)
        self._record(id)
        if stage.question is not None and stage.question.kind is QuestionKind.CLIENT:
            self._steps[id] = replace(self._steps[id], state=StepState.FAILED)
            return
        self._position += 1
        await self._make_ready()

    def _ask_about_private(self) -> None:
        """Ask for consent if the step may have failed only because of private addresses."""
        hosts = tuple(self._stage.blocked)
        if hosts:
            what = f"{some(hosts)} {'is' if len(hosts) == 1 else 'are'} in a private network."
            text = f"{what} Allow private network addresses for this server?"
            self._stage.question = Question(QuestionKind.PRIVATE, text, "", hosts)
            self._announce()

    def _check(self, findings: list[Finding]) -> None:
        """Raise Stop for a finding that the current mode does not allow."""
        for found in findings:
            is_refused = self._by_itself and found.id in _MUST_REFUSE
            is_error = found.severity is Severity.ERROR
            if found.stops or (is_error and (self._stage.overrides.is_strict or is_refused)):
                raise LoginStopped(f"{found.seen} {found.rule}".strip(), found.fix)

    def _settle(self, id: StepId, state: StepState) -> None:
        self._steps[id] = replace(with_notes(self._steps[id], self._stage.notes), state=state)

    def _record(self, id: StepId) -> None:
        message = self._steps[id].decisions
        text = f": {message[-1].text}" if message else ""
        self._stage.tools.recorder.step(f"Login, {id.value}{text}")

    async def _make_ready(self) -> None:
        """Prepare the next step for review."""
        if self._position == len(self._order) or self._failure is not None:
            return
        id = self._order[self._position]
        prepare, preview = STEP_HANDLERS[id].prepare, None
        self._stage.edited = None
        if prepare is not None and self._stage.question is None and not self._by_itself:
            self._before.setdefault(id, copy.copy(self._stage.facts))
            try:
                preview = await prepare(self._stage)
            except UserError:  # reported when it runs
                preview = None
        self._steps[id] = replace(self._steps[id], state=StepState.READY, preview=preview)
        self._is_ready = True
        self._announce()

    def _fail(self, error: UserError) -> None:
        self._failure = error
        if self._position < len(self._order):
            id = self._order[self._position]
            self._steps[id] = replace(self._steps[id], state=StepState.FAILED, problem=error.summary)
        self._stage.tools.recorder.step(f"Login: {error}")
        self._announce()

    def _require_open(self) -> None:
        self._require_idle()
        if self._is_over or self._position == len(self._order):
            raise UserError("The login has ended.", "Start a new login, or go back to a step.")

    def _require_idle(self) -> None:
        if self._task is not None:
            raise UserError("A login step is still running.", "Wait for it to finish, or cancel it.")

    def _forget_from(self, position: int) -> None:
        for id in self._order[position:]:
            self._steps[id] = Step(id, why=STEP_PURPOSES[id], differs=REVISION_DIFFERENCES.get(id, ""))
            self._before.pop(id, None)

    def _announce(self) -> None:
        self.changed.emit(self.view)

    def _shown(self, id: StepId) -> Step:
        step = self._steps[id]
        if step.state is StepState.RUNNING:
            return with_notes(step, self._stage.notes)
        if step.state is StepState.READY and self._stage.edited is not None:
            return replace(step, preview=self._stage.edited)
        return step


def _require_same(question: Question, requested: Question | None) -> None:
    """Raise UserError if the user answered a different question: the issuer may have changed."""
    if requested is not None and requested != question:
        raise UserError("The question has changed.", "Read the new question and answer again.")


def with_notes(step: Step, notes: StepNotes) -> Step:
    return replace(
        step,
        inputs=tuple(notes.inputs),
        exchanges=tuple(notes.exchanges),
        decisions=tuple(notes.decisions),
        tables=tuple(notes.tables),
        findings=tuple(notes.findings),
    )


def waiting_of(stage: LoginContext) -> BrowserWait | None:
    """Return the wait for the browser, None if not waiting."""
    listener, url = stage.listener, stage.facts.authorize
    if listener is None or url is None or listener.wait.is_over:
        return None
    wait = listener.wait
    return BrowserWait(wait.redirect_uri, url.url, wait.ends_at, tuple(wait.hits), wait.hit_count)


def token_info(held: StoredLogin | None, is_saved: bool = True) -> TokenInfo | None:
    """Return tokens for display."""
    if held is None:
        return None
    tokens = held.tokens
    return TokenInfo(
        issuer=tokens.issuer,
        client_id=tokens.client_id,
        resource=tokens.resource,
        token_type=tokens.token_type,
        scopes=tokens.scopes,
        requested=tokens.requested,
        received_at=tokens.received_at,
        expires_at=tokens.expires_at,
        access_token=tokens.access_token,
        refresh_token=tokens.refresh_token,
        id_token=tokens.id_token,
        is_saved=is_saved,
    )


Prepare = Callable[[LoginContext], Awaitable[LoginRequest | None]]
Run = Callable[[LoginContext], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class StepHandler:
    """Implementation of a step; `prepare` returns what it will send first."""

    run: Run
    prepare: Prepare | None = None


STEP_HANDLERS = {
    StepId.PROBE: StepHandler(discovering.probe, discovering.prepare_probe),
    StepId.CHALLENGE: StepHandler(discovering.read_challenge),
    StepId.RESOURCE_LOOKUP: StepHandler(
        discovering.find_resource_metadata, discovering.prepare_resource_lookup
    ),
    StepId.RESOURCE_CHECK: StepHandler(discovering.check_resource),
    StepId.SERVER_CHOICE: StepHandler(discovery.choose_server),
    StepId.SERVER_LOOKUP: StepHandler(discovering.find_server_metadata, discovering.prepare_server_lookup),
    StepId.SERVER_CHECK: StepHandler(discovering.check_server),
    StepId.IDENTITY: StepHandler(client.identify, client.prepare_identity),
    StepId.PREPARE: StepHandler(client.prepare_request),
    StepId.PROVIDER_LOOKUP: StepHandler(identity_provider.find_provider, identity_provider.prepare_lookup),
    StepId.SIGN_IN: StepHandler(signin.find_sign_in, signin.prepare_sign_in),
    StepId.AUTHORIZE: StepHandler(browser.authorize, browser.prepare_authorize),
    StepId.WAIT: StepHandler(browser.wait),
    StepId.CALLBACK: StepHandler(browser.check_answer),
    StepId.ID_TOKEN_REQUEST: StepHandler(signin.request_id_token, signin.prepare_id_token),
    StepId.ID_TOKEN_REPLY: StepHandler(signin.accept_id_token),
    StepId.EXCHANGE: StepHandler(tokens.exchange, tokens.prepare_exchange),
    StepId.TOKEN_REQUEST: StepHandler(tokens.request_access_token, tokens.prepare_token),
    StepId.TOKEN_REPLY: StepHandler(tokens.accept_token),
    StepId.CALL: StepHandler(verification.call, verification.prepare_call),
    StepId.VERIFY: StepHandler(verification.verify),
    StepId.LIFETIME: StepHandler(verification.look_ahead),
}

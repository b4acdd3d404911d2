"""A login, step by step: which step is next, what it will send, and its result.

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
from inspector.base.json.values import quote_names
from inspector.base.signals import Signal
from inspector.oauth.http import LoginRequest, LoginTarget, RejectedResponse
from inspector.oauth.login import browser, client, discovery, identity_provider, tokens, verification
from inspector.oauth.login.context import (
    BrowserNeeded,
    LoginContext,
    LoginFacts,
    LoginStopped,
    LoginTools,
    StepNotes,
)
from inspector.oauth.login.steps import (
    DECLINED_TEXTS,
    REVISION_DIFFERENCES,
    STEP_PURPOSES,
    STEPS,
    BrowserWait,
    LoginPrompt,
    LoginPromptKind,
    LoginView,
    Overrides,
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

    `refused` is the response that led to it, `scopes` what a step-up requests. With `is_unattended`, what
    clients must refuse is refused in any mode. Without `opens_browser` it goes as far as possible without
    the user.

    Signals:
        changed: The view changed; carries the LoginView.
    """

    def __init__(
        self,
        target: LoginTarget,
        tools: LoginTools,
        overrides: Overrides | None = None,
        *,
        flow_id: int = 1,
        refused: RejectedResponse | None = None,
        scopes: ScopeChoice | None = None,
        is_unattended: bool = False,
        opens_browser: bool = True,
        revision: Revision | None = None,
    ) -> None:
        self.changed: Signal[LoginView] = Signal()
        overrides = overrides or Overrides()
        facts = LoginFacts(overrides.revision or revision or R5, refused)
        self._context = LoginContext(
            target,
            tools,
            overrides,
            facts,
            scopes=scopes,
            opens_browser=opens_browser,
            check=self._check,
            on_change=self._emit_changed,
        )
        self._flow_id = flow_id
        self._is_unattended = is_unattended
        self._order = STEPS[self._context.grant]
        self._steps = {
            id: Step(id, why=STEP_PURPOSES[id], differs=REVISION_DIFFERENCES.get(id, ""))
            for id in self._order
        }
        self._facts_before: dict[StepId, LoginFacts] = {}
        self._position = 0
        self._failure: UserError | None = None
        self._task: asyncio.Task[None] | None = None
        self._tasks = TaskScope()
        self._is_over = False

    @property
    def view(self) -> LoginView:
        context = self._context
        # A failure is reported once its step has ended: from then on it can be retried.
        failure = self._failure if self._task is None else None
        return LoginView(
            flow_id=self._flow_id,
            server=context.target.name,
            server_url=context.target.url,
            grant=context.grant,
            revision=context.revision,
            is_strict=context.overrides.is_strict,
            steps=tuple(self._current_step(id) for id in self._order),
            result=token_info(context.facts.stored_login, context.facts.is_saved),
            failure=failure.summary if failure is not None else "",
            next_step=failure.next_step if failure is not None else "",
            prompt=context.prompt,
            waiting=browser_wait(context),
            is_running=self._task is not None,
            is_over=self._is_over or self._position == len(self._order),
        )

    @property
    def stored_login(self) -> StoredLogin | None:
        """The tokens, once issued."""
        return self._context.facts.stored_login

    @property
    def needs_user(self) -> bool:
        """True if it only ended because the browser must not be opened."""
        return isinstance(self._failure, BrowserNeeded)

    @property
    def is_unattended(self) -> bool:
        return self._is_unattended

    @property
    def is_running(self) -> bool:
        return self._task is not None

    async def begin(self) -> None:
        """Prepare the first step for review."""
        await self._run_exclusively(self._prepare_next())

    async def next(self) -> None:
        """Run the next step. Errors are in the view. Raises UserError if none can run."""
        self._require_open()
        await self._run_exclusively(self._run_through(self._position))

    async def run(self) -> None:
        """Run to the end, or until something stops it."""
        await self.run_to(self._order[-1])

    async def run_to(self, last: StepId) -> None:
        """Run all steps up to this one."""
        self._require_open()
        position = self._order.index(last)
        if position >= self._position:
            await self._run_exclusively(self._run_through(position))

    async def retry(self) -> None:
        """Run the failed step again, from the state before it."""
        self._require_open()
        await self.back(self._order[self._position])
        await self.next()

    async def back(self, to: StepId) -> None:
        """Go back to before this step; it and all later ones are discarded."""
        position = self._order.index(to)
        if position > self._position or to not in self._facts_before:
            raise UserError("This step has not run yet.", "Run the login up to this step first.")
        self._require_idle()
        self._is_over = False
        self._context.facts = copy.copy(self._facts_before[to])
        self._context.prompt, self._failure = None, None
        self._discard_from(position)
        self._position = position
        await self._run_exclusively(self._prepare_next())

    def edit(self, request: LoginRequest | None) -> None:
        """Replace the next step's request; None restores the generated one."""
        self._require_idle()
        self._context.edited = request
        self._emit_changed()

    async def answer_consent(self, is_allowed: bool, shown: LoginPrompt | None = None) -> None:
        """Answer whether to contact these hosts, or to trust this issuer (ISSUER).

        The answer is saved for the issuer, or for the server (PRIVATE). `shown` is the prompt that the
        user saw.
        """
        prompt = self._context.prompt
        if prompt is None or prompt.kind is LoginPromptKind.CLIENT:
            raise UserError("There is no pending question of this kind.")
        _require_same(prompt, shown)
        if not is_allowed:
            self._context.prompt = None
            if prompt.kind is not LoginPromptKind.PRIVATE:  # the step that asked had completed; undo that
                self._discard_from(self._position)
                self._position -= 1
            self._fail(
                LoginStopped(DECLINED_TEXTS[prompt.kind], "Start the login again to change your answer.")
            )
            return
        if prompt.kind is LoginPromptKind.PRIVATE:
            await self._context.tools.store.allow_private()
            await self._context.allow_private()
            await self.retry()
            return
        if prompt.kind is LoginPromptKind.ISSUER:
            await self._context.tools.store.trust_issuer(prompt.issuer)
        else:
            await self._context.tools.store.allow_hosts(prompt.issuer, prompt.hosts)
        self._context.prompt = None
        await self._run_exclusively(self._prepare_next())

    async def set_client(self, client_id: str, secret: str = "", shown: LoginPrompt | None = None) -> None:
        """Provide the registered client; it is saved for this issuer. `shown` as in `answer_consent`."""
        prompt = self._context.prompt
        if prompt is None or prompt.kind is not LoginPromptKind.CLIENT:
            raise UserError("No client ID was requested.")
        _require_same(prompt, shown)
        if not client_id.strip():
            raise UserError("The client ID is empty.", "Enter the client ID registered for MCP Lens.")
        client = Client(client_id.strip(), prompt.issuer, ClientSource.PRE_REGISTERED, secret=secret)
        await self.back(StepId.IDENTITY)
        self._context.facts.typed_client = client
        await self.next()

    def submit_callback_url(self, text: str) -> None:
        """Accept a callback URL pasted by the user. Raises UserError if it is not the callback."""
        listener = self._context.listener
        if listener is None:
            raise UserError("The login is not waiting for an authorization response.")
        listener.wait.submit_callback_url(text)

    def cancel(self) -> None:
        """Stop; what was found so far stays visible."""
        if self._task is not None:
            self._task.cancel()
        else:
            self._is_over = True
            self._tasks.spawn("login listener", self._context.close_listener())
            self._emit_changed()

    async def close(self) -> None:
        """Stop everything, free the port and close connections."""
        self._is_over = True
        await self._tasks.close()
        await self._context.close_listener()
        await self._context.http.close()

    async def _run_exclusively(self, work: Coroutine[Any, Any, None]) -> None:
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
                self._is_over = True
                self._fail(RequestCancelled("The login was cancelled.", "Start the login again to retry."))
                await self._context.close_listener()
            self._emit_changed()

    async def _run_through(self, last: int) -> None:
        while self._position <= last and self._failure is None:
            if self._context.prompt is not None:
                return
            await self._run_one()
            self._emit_changed()

    async def _apply_saved_consent(self) -> None:
        """Apply the user's consent from an earlier login."""
        context = self._context
        if not context.allowance.private and await context.tools.store.allows_private():
            await context.allow_private()

    async def _run_one(self) -> None:
        if self._position == 0:
            await self._apply_saved_consent()
        id, context = self._order[self._position], self._context
        self._facts_before[id] = copy.copy(context.facts)
        context.step, context.notes = id, StepNotes()
        self._steps[id] = replace(self._steps[id], state=StepState.RUNNING, preview=None)
        self._emit_changed()
        try:
            await STEP_HANDLERS[id].run(context)
            self._check(context.notes.findings)
        except UserError as exc:
            self._finish_step(id, StepState.FAILED)
            self._fail(exc)
            self._ask_about_private()
            return
        except asyncio.CancelledError:
            self._finish_step(id, StepState.FAILED)
            raise
        except Exception as exc:  # an internal error must not look like a running login
            _log.exception("step %s failed", id.name)
            self._finish_step(id, StepState.FAILED)
            name = type(exc).__name__
            self._fail(
                LoginStopped(
                    f"The step failed inside MCP Lens ({name}).",
                    "This is a bug in MCP Lens. Please report it.",
                )
            )
            return
        self._finish_step(id, StepState.SKIPPED if context.notes.is_skipped else StepState.DONE)
        self._record(id)
        if context.prompt is not None and context.prompt.kind is LoginPromptKind.CLIENT:
            self._steps[id] = replace(self._steps[id], state=StepState.FAILED)
            return
        self._position += 1
        await self._prepare_next()

    def _ask_about_private(self) -> None:
        """Ask for consent if the step may have failed only because of private addresses."""
        hosts = tuple(self._context.blocked)
        if hosts:
            what = f"{quote_names(hosts)} {'is' if len(hosts) == 1 else 'are'} in a private network."
            text = f"{what} Allow private network addresses for this server?"
            self._context.prompt = LoginPrompt(LoginPromptKind.PRIVATE, text, "", hosts)
            self._emit_changed()

    def _check(self, findings: list[Finding]) -> None:
        """Raise LoginStopped for a finding that the current mode does not allow."""
        for found in findings:
            is_refused = self._is_unattended and found.id in _MUST_REFUSE
            is_error = found.severity is Severity.ERROR
            if found.stops or (is_error and (self._context.overrides.is_strict or is_refused)):
                raise LoginStopped(f"{found.seen} {found.rule}".strip(), found.fix)

    def _finish_step(self, id: StepId, state: StepState) -> None:
        self._steps[id] = replace(with_notes(self._steps[id], self._context.notes), state=state)

    def _record(self, id: StepId) -> None:
        decisions = self._steps[id].decisions
        text = f": {decisions[-1].text}" if decisions else ""
        self._context.tools.recorder.step(f"Login · {id.value}{text}")

    async def _prepare_next(self) -> None:
        """Prepare the next step for review."""
        if self._position == len(self._order) or self._failure is not None:
            return
        id = self._order[self._position]
        prepare, preview = STEP_HANDLERS[id].prepare, None
        self._context.edited = None
        if prepare is not None and self._context.prompt is None and not self._is_unattended:
            self._facts_before.setdefault(id, copy.copy(self._context.facts))
            try:
                preview = await prepare(self._context)
            except UserError:  # reported when it runs
                preview = None
        self._steps[id] = replace(self._steps[id], state=StepState.READY, preview=preview)
        self._emit_changed()

    def _fail(self, error: UserError) -> None:
        self._failure = error
        if self._position < len(self._order):
            id = self._order[self._position]
            self._steps[id] = replace(self._steps[id], state=StepState.FAILED, problem=error.summary)
        self._context.tools.recorder.step(f"Login: {error}")
        self._emit_changed()

    def _require_open(self) -> None:
        self._require_idle()
        if self._is_over or self._position == len(self._order):
            raise UserError("The login has ended.", "Start a new login, or go back to a step.")

    def _require_idle(self) -> None:
        if self._task is not None:
            raise UserError("A login step is still running.", "Wait for it to finish, or cancel it.")

    def _discard_from(self, position: int) -> None:
        for id in self._order[position:]:
            self._steps[id] = Step(id, why=STEP_PURPOSES[id], differs=REVISION_DIFFERENCES.get(id, ""))
            self._facts_before.pop(id, None)

    def _emit_changed(self) -> None:
        self.changed.emit(self.view)

    def _current_step(self, id: StepId) -> Step:
        step = self._steps[id]
        if step.state is StepState.RUNNING:
            return with_notes(step, self._context.notes)
        if step.state is StepState.READY and self._context.edited is not None:
            return replace(step, preview=self._context.edited)
        return step


def _require_same(prompt: LoginPrompt, shown: LoginPrompt | None) -> None:
    """Raise UserError if the user answered a different prompt: the issuer may have changed."""
    if shown is not None and shown != prompt:
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


def browser_wait(context: LoginContext) -> BrowserWait | None:
    """Return the wait for the browser, None if not waiting."""
    listener, url = context.listener, context.facts.authorize
    if listener is None or url is None or listener.wait.is_over:
        return None
    wait = listener.wait
    return BrowserWait(wait.redirect_uri, url.url, wait.ends_at, tuple(wait.hits), wait.hit_count)


def token_info(login: StoredLogin | None, is_saved: bool = True) -> TokenInfo | None:
    """Return tokens for display."""
    if login is None:
        return None
    tokens = login.tokens
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
    StepId.PROBE: StepHandler(discovery.probe, discovery.prepare_probe),
    StepId.CHALLENGE: StepHandler(discovery.read_challenge),
    StepId.RESOURCE_LOOKUP: StepHandler(discovery.find_resource_metadata, discovery.prepare_resource_lookup),
    StepId.RESOURCE_CHECK: StepHandler(discovery.check_resource),
    StepId.SERVER_CHOICE: StepHandler(discovery.choose_server),
    StepId.SERVER_LOOKUP: StepHandler(discovery.find_server_metadata, discovery.prepare_server_lookup),
    StepId.SERVER_CHECK: StepHandler(discovery.check_server),
    StepId.IDENTITY: StepHandler(client.identify, client.prepare_identity),
    StepId.PREPARE: StepHandler(client.prepare_request),
    StepId.PROVIDER_LOOKUP: StepHandler(identity_provider.find_provider, identity_provider.prepare_lookup),
    StepId.ID_TOKEN_LOOKUP: StepHandler(identity_provider.find_id_token, identity_provider.prepare_refresh),
    StepId.AUTHORIZE: StepHandler(browser.authorize, browser.prepare_authorize),
    StepId.WAIT: StepHandler(browser.wait),
    StepId.CALLBACK: StepHandler(browser.check_response),
    StepId.ID_TOKEN_REQUEST: StepHandler(
        identity_provider.request_id_token, identity_provider.prepare_id_token
    ),
    StepId.ID_TOKEN_CHECK: StepHandler(identity_provider.accept_id_token),
    StepId.EXCHANGE: StepHandler(tokens.exchange, tokens.prepare_exchange),
    StepId.TOKEN_REQUEST: StepHandler(tokens.request_access_token, tokens.prepare_token),
    StepId.TOKEN_CHECK: StepHandler(tokens.accept_token),
    StepId.CALL: StepHandler(verification.call, verification.prepare_call),
    StepId.VERIFY: StepHandler(verification.verify),
    StepId.LIFETIME: StepHandler(verification.explain_lifetime),
}

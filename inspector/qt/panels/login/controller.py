"""Login operations of one server: the panel's interface and its engine implementation."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Mapping
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from inspector.config.servers.entries import OAuthSettings
from inspector.oauth.http import LoginRequest
from inspector.oauth.login.steps import LoginView, Overrides, Question, StepId, TokenInfo

if TYPE_CHECKING:
    from inspector.engine.login.logins import LoginController
    from inspector.qt.bridge import Bridge

T = TypeVar("T")


class LoginActions(Protocol):
    """The login operations of one server. All of them raise UserError.

    State changes arrive separately as a LoginView.
    """

    async def login(self) -> LoginView | None: ...

    async def token(self) -> TokenInfo | None: ...

    async def begin(self, overrides: Overrides, *, runs: bool) -> None: ...

    async def next(self) -> None: ...

    async def run(self) -> None: ...

    async def run_to(self, step: StepId) -> None: ...

    async def retry(self) -> None: ...

    async def back(self, step: StepId) -> None: ...

    async def edit(self, request: LoginRequest | None) -> None: ...

    async def cancel(self) -> None: ...

    async def paste(self, address: str) -> None: ...

    async def allow_hosts(self, is_allowed: bool, requested: Question | None) -> None:
        """Answer the host question; `requested` is what was shown, other questions stay unanswered."""
        ...

    async def give_client(self, client_id: str, secret: str, requested: Question | None) -> None: ...

    async def refresh(self) -> None: ...

    async def sign_out(self) -> str:
        """Log out and return a message about the result."""
        ...

    async def forget(self) -> None: ...

    async def settings(self) -> OAuthSettings: ...

    async def options(self) -> Overrides:
        """Return the saved options."""
        ...

    async def remember(self, options: Overrides) -> None: ...

    async def keep(self, settings: OAuthSettings, secrets: Mapping[str, str]) -> None:
        """Save for all future logins; ends a running login."""
        ...


class EngineLoginActions:
    """The login operations of the engine."""

    def __init__(self, bridge: Bridge, server: str) -> None:
        self._bridge = bridge
        self._server = server

    async def login(self) -> LoginView | None:
        return await self._soon(lambda logins: logins.view(self._server))

    async def token(self) -> TokenInfo | None:
        return await self._ask(lambda logins: logins.tokens(self._server))

    async def begin(self, overrides: Overrides, *, runs: bool) -> None:
        await self._ask(lambda logins: logins.start(self._server, overrides))
        if runs:
            await self.run()

    async def next(self) -> None:
        await self._ask(lambda logins: logins.next(self._server))

    async def run(self) -> None:
        await self._ask(lambda logins: logins.run(self._server))

    async def run_to(self, step: StepId) -> None:
        await self._ask(lambda logins: logins.run_to(self._server, step))

    async def retry(self) -> None:
        await self._ask(lambda logins: logins.retry(self._server))

    async def back(self, step: StepId) -> None:
        await self._ask(lambda logins: logins.back(self._server, step))

    async def edit(self, request: LoginRequest | None) -> None:
        await self._soon(lambda logins: logins.edit(self._server, request))

    async def cancel(self) -> None:
        await self._soon(lambda logins: logins.cancel(self._server))

    async def paste(self, address: str) -> None:
        await self._soon(lambda logins: logins.paste(self._server, address))

    async def allow_hosts(self, is_allowed: bool, requested: Question | None) -> None:
        await self._ask(lambda logins: logins.allow_hosts(self._server, is_allowed, requested))

    async def give_client(self, client_id: str, secret: str, requested: Question | None) -> None:
        await self._ask(lambda logins: logins.give_client(self._server, client_id, secret, requested))

    async def refresh(self) -> None:
        await self._ask(lambda logins: logins.refresh(self._server))

    async def sign_out(self) -> str:
        return await self._ask(lambda logins: logins.sign_out(self._server))

    async def forget(self) -> None:
        await self._ask(lambda logins: logins.forget_tokens(self._server))

    async def settings(self) -> OAuthSettings:
        return await self._soon(lambda logins: logins.settings(self._server))

    async def options(self) -> Overrides:
        return await self._ask(lambda logins: logins.options.of(self._server))

    async def remember(self, options: Overrides) -> None:
        await self._ask(lambda logins: logins.options.keep(self._server, options))

    async def keep(self, settings: OAuthSettings, secrets: Mapping[str, str]) -> None:
        await self._bridge.set_auth(self._server, settings, secrets)

    async def _ask(self, ask: Callable[[LoginController], Coroutine[Any, Any, T]]) -> T:
        return await self._bridge.ask_logins(ask)

    async def _soon(self, ask: Callable[[LoginController], T]) -> T:
        async def run(logins: LoginController) -> T:
            return ask(logins)

        return await self._bridge.ask_logins(run)

"""Login operations of one server: the protocol used by the panel, and its engine implementation."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Mapping
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from inspector.config.servers.entries import OAuthSettings
from inspector.oauth.http import LoginRequest
from inspector.oauth.login.steps import LoginPrompt, LoginView, Overrides, StepId, TokenInfo

if TYPE_CHECKING:
    from inspector.engine.login.logins import LoginController
    from inspector.qt.bridge import Bridge

T = TypeVar("T")


class LoginActions(Protocol):
    """The login operations of one server. All may raise UserError.

    State changes are delivered separately, as `LoginView` values.
    """

    async def login(self) -> LoginView | None: ...

    async def token(self) -> TokenInfo | None: ...

    async def start(self, overrides: Overrides, *, runs_to_end: bool) -> None: ...

    async def next(self) -> None: ...

    async def run(self) -> None: ...

    async def run_to(self, step: StepId) -> None: ...

    async def retry(self) -> None: ...

    async def back(self, step: StepId) -> None: ...

    async def edit(self, request: LoginRequest | None) -> None: ...

    async def cancel(self) -> None: ...

    async def submit_callback_url(self, url: str) -> None: ...

    async def allow_hosts(self, is_allowed: bool, requested: LoginPrompt | None) -> None:
        """Allow or block hosts. Raises UserError if `requested` is no longer the current prompt."""
        ...

    async def set_client(self, client_id: str, secret: str, requested: LoginPrompt | None) -> None: ...

    async def refresh(self) -> None: ...

    async def log_out(self) -> str:
        """Log out and return a message about the result."""
        ...

    async def delete_tokens(self) -> None: ...

    async def settings(self) -> OAuthSettings: ...

    async def options(self) -> Overrides:
        """Return the saved options."""
        ...

    async def save_options(self, options: Overrides) -> None: ...

    async def save_settings(self, settings: OAuthSettings, secrets: Mapping[str, str]) -> None:
        """Save for all future logins; ends a running login."""
        ...


class EngineLoginActions:
    """`LoginActions` that call the engine through the bridge."""

    def __init__(self, bridge: Bridge, server: str) -> None:
        self._bridge = bridge
        self._server = server

    async def login(self) -> LoginView | None:
        return await self._call(lambda logins: logins.view(self._server))

    async def token(self) -> TokenInfo | None:
        return await self._ask(lambda logins: logins.tokens(self._server))

    async def start(self, overrides: Overrides, *, runs_to_end: bool) -> None:
        await self._ask(lambda logins: logins.start(self._server, overrides))
        if runs_to_end:
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
        await self._call(lambda logins: logins.edit(self._server, request))

    async def cancel(self) -> None:
        await self._call(lambda logins: logins.cancel(self._server))

    async def submit_callback_url(self, url: str) -> None:
        await self._call(lambda logins: logins.submit_callback_url(self._server, url))

    async def allow_hosts(self, is_allowed: bool, requested: LoginPrompt | None) -> None:
        await self._ask(lambda logins: logins.allow_hosts(self._server, is_allowed, requested))

    async def set_client(self, client_id: str, secret: str, requested: LoginPrompt | None) -> None:
        await self._ask(lambda logins: logins.set_client(self._server, client_id, secret, requested))

    async def refresh(self) -> None:
        await self._ask(lambda logins: logins.refresh(self._server))

    async def log_out(self) -> str:
        return await self._ask(lambda logins: logins.log_out(self._server))

    async def delete_tokens(self) -> None:
        await self._ask(lambda logins: logins.delete_tokens(self._server))

    async def settings(self) -> OAuthSettings:
        return await self._call(lambda logins: logins.settings(self._server))

    async def options(self) -> Overrides:
        return await self._ask(lambda logins: logins.options.of(self._server))

    async def save_options(self, options: Overrides) -> None:
        await self._ask(lambda logins: logins.options.save(self._server, options))

    async def save_settings(self, settings: OAuthSettings, secrets: Mapping[str, str]) -> None:
        await self._bridge.set_auth(self._server, settings, secrets)

    async def _ask(self, work: Callable[[LoginController], Coroutine[Any, Any, T]]) -> T:
        return await self._bridge.ask_logins(work)

    async def _call(self, work: Callable[[LoginController], T]) -> T:
        async def run(logins: LoginController) -> T:
            return work(logins)

        return await self._bridge.ask_logins(run)

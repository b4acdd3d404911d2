"""The wait for the browser's callback of a login.

The callback arrives at the loopback listener or is pasted by the user. It is accepted only with the
`state` of this login; anything else is recorded and rejected, and the wait continues. A page that floods
the port can neither end a login nor inject its own code.
"""

from __future__ import annotations

import asyncio
import re
from dataclasses import dataclass
from urllib.parse import SplitResult, unquote_to_bytes, urlsplit

from inspector.base.clock import Clock
from inspector.base.errors import LocalProtocolError, RequestCancelled, RequestTimedOut, UserError
from inspector.base.json.values import shorten
from inspector.base.plain_text import one_line
from inspector.base.redaction import MASK
from inspector.base.signals import Signal
from inspector.base.units import duration
from inspector.protocol.auth.authorization_request import read_callback
from inspector.protocol.auth.pkce import is_same

# Reasons for rejection that may be the authorization server's fault.
NO_STATE = "It has no state parameter."
OTHER_STATE = "Its state does not match this login."
OTHER_PATH = "Its path does not match the redirect URI."

_MAX_LENGTH = 16 * 1024
_MAX_HITS = 200
_MAX_SHOWN_LENGTH = 200
_BAD_ESCAPE = re.compile(r"%(?![0-9A-Fa-f]{2})")
_VALUE = re.compile("=[^&]*")


@dataclass(frozen=True, slots=True)
class ReceivedCallback:
    """A request to the listener, or a pasted URL.

    `shown` contains no secrets and can be displayed. `refusal` says why it was rejected, "" for the
    callback itself.
    """

    at: int  # wall time in nanoseconds
    shown: str
    refusal: str = ""

    @property
    def is_response(self) -> bool:
        return not self.refusal


class CallbackWaiter:
    """Waits for the callback of one login.

    Call `expect` with the `state` before the browser is opened, then await `response`.

    Signals:
        hit_received: A request or pasted URL arrived, accepted or not; carries the ReceivedCallback.
    """

    def __init__(self, redirect_uri: str, clock: Clock) -> None:
        self.redirect_uri = redirect_uri
        self.hits: list[ReceivedCallback] = []  # the last 200
        self.hit_count = 0
        self.ends_at: int | None = None  # monotonic deadline, while `response` is awaited
        self.hit_received: Signal[ReceivedCallback] = Signal()
        self._clock = clock
        self._state = ""
        self._is_claimed = False
        self._response: asyncio.Future[str] = asyncio.get_running_loop().create_future()

    @property
    def is_over(self) -> bool:
        """True once the callback was received or the wait cancelled; it cannot be reused."""
        return self._is_claimed or self._response.done()

    def expect(self, state: str) -> None:
        """Accept callbacks with this state from now on."""
        if not state:
            raise LocalProtocolError("a login without state would accept any response")
        self._state = state

    async def response(self, timeout: float) -> str:
        """Return the callback as received, from ? or # on, for `read_callback`.

        Only its state has been verified. `timeout` is in seconds. Raises RequestTimedOut, and
        RequestCancelled after `cancel`.
        """
        self.ends_at = self._clock.monotonic_ns() + int(timeout * 1e9)
        try:
            async with asyncio.timeout(timeout):
                return await asyncio.shield(self._response)
        except TimeoutError as exc:
            waited = duration(int(timeout * 1e9))
            raise RequestTimedOut(
                f"No authorization response arrived within {waited}.",
                "Start the login again, or paste the final URL from the browser's address bar.",
            ) from exc
        except asyncio.CancelledError:
            if not self._response.cancelled() or _is_cancelled_itself():
                raise
            raise RequestCancelled("The login was cancelled.", "Start the login again to retry.") from None
        finally:
            self.ends_at = None

    def cancel(self) -> None:
        """Stop waiting; later callbacks are rejected. No effect after the callback was received."""
        self._response.cancel()

    def submit_callback_url(self, text: str) -> None:
        """Accept a URL copied from the browser. Raises UserError if it is not the callback."""
        response, refusal = self._read_pasted(text)
        refusal = refusal or self.claim(response)
        self.record("pasted URL", refusal)
        if refusal:
            raise UserError(
                f"This URL is not the authorization response to this login. {refusal}",
                "After logging in, copy the complete URL from the browser's address bar.",
            )
        self.deliver(response)

    def claim(self, response: str) -> str:
        """Accept a callback, and from then on no other. Return why it was rejected, else ""."""
        refusal = self._refusal(response)
        if not refusal:
            self._is_claimed = True
        return refusal

    def deliver(self, response: str) -> None:
        if not self._response.done():
            self._response.set_result(response)

    def record(self, shown: str, refusal: str) -> None:
        """Record a hit."""
        hit = ReceivedCallback(self._clock.wall_ns(), shorten(one_line(shown), _MAX_SHOWN_LENGTH), refusal)
        self.hit_count += 1
        self.hits.append(hit)
        del self.hits[:-_MAX_HITS]
        self.hit_received.emit(hit)

    def _refusal(self, response: str) -> str:
        if self._response.cancelled():
            return "The login was cancelled."
        if self._is_claimed:
            return "An authorization response was already received."
        if not self._state:
            return "No login is waiting for an authorization response yet."
        callback = read_callback(response)
        if callback.problem or not _is_text(response):
            return "Its parameters are malformed."
        # RFC 6749, section 3.1: "Request and response parameters MUST NOT be included more than once."
        if callback.repeated:
            return f"It has the parameter {shorten(one_line(callback.repeated[0]), 40)} more than once."
        state = callback.parameters.get("state", "")
        if not state:
            return NO_STATE
        return "" if is_same(state, self._state) else OTHER_STATE

    def _read_pasted(self, text: str) -> tuple[str, str]:
        """Return the callback in a pasted URL, or why there is none."""
        text = text.strip().strip("<>\"'")
        if len(text) > _MAX_LENGTH:
            return "", "It is too long."
        if "://" not in text.partition("?")[0]:
            text = f"{urlsplit(self.redirect_uri).scheme}://{text}"  # address bars omit the scheme
        try:
            pasted, expected = urlsplit(text), urlsplit(self.redirect_uri)
            is_redirect_uri = _location(pasted) == _location(expected)
        except ValueError:
            return "", "It is not a valid URL."
        if not is_redirect_uri:
            return "", f"It does not start with {self.redirect_uri}."
        return f"#{pasted.fragment}" if pasted.fragment and not pasted.query else f"?{pasted.query}", ""


def _is_text(response: str) -> bool:
    """True if all percent-escapes are valid UTF-8; otherwise a different code would be sent on."""
    if _BAD_ESCAPE.search(response):
        return False
    try:
        unquote_to_bytes(response).decode()
    except ValueError:
        return False
    return True


def masked_target(method: str, target: str) -> str:
    """Return a request line for the list of hits, with every value masked.

    Masking by name would not do: a name may be spelled so that it does not look secret.
    """
    path, mark, query = target.partition("?")
    return f"{method} {path}{mark}{_VALUE.sub(f'={MASK}', query)}"


def _location(url: SplitResult) -> tuple[str, str | None, int | None, str]:
    port = url.port or {"http": 80, "https": 443}.get(url.scheme)
    return url.scheme, url.hostname, port, url.path


def _is_cancelled_itself() -> bool:
    """True if the waiting task itself was cancelled, not only what it waits for."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0

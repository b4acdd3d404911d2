"""What a login has and did, as the frozen values of `steps.py`."""

from __future__ import annotations

from dataclasses import replace

from inspector.oauth.stage import Notes, Stage
from inspector.oauth.steps import Step, TokenInfo, Waiting
from inspector.oauth.store import Held


def with_notes(step: Step, notes: Notes) -> Step:
    return replace(
        step,
        inputs=tuple(notes.inputs),
        exchanges=tuple(notes.exchanges),
        decisions=tuple(notes.decisions),
        tables=tuple(notes.tables),
        findings=tuple(notes.findings),
    )


def waiting_of(stage: Stage) -> Waiting | None:
    """Return the wait for the browser, None if not waiting."""
    listener, url = stage.listener, stage.facts.authorize
    if listener is None or url is None or listener.wait.is_over:
        return None
    wait = listener.wait
    return Waiting(wait.redirect_uri, url.url, wait.ends_at, tuple(wait.hits), wait.hit_count)


def token_info(held: Held | None, is_kept: bool = True) -> TokenInfo | None:
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
        is_kept=is_kept,
    )

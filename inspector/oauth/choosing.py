"""One step of a login: which authorization server gives the tokens, and may it get what we have to show?"""

from __future__ import annotations

from inspector.oauth.stage import Stage, Stop
from inspector.oauth.steps import LoginGrant, Question, QuestionKind
from inspector.protocol.auth.grants import trusted_issuer
from inspector.protocol.auth.resourcemeta import IssuerChoice, choose_issuer, judge_migration
from inspector.protocol.auth.servermeta import legacy_issuer


async def choose_server(stage: Stage) -> None:
    wanted = stage.overrides.issuer or stage.settings.issuer
    _require_owner(stage)
    if stage.facts.is_legacy:
        issuer = legacy_issuer(stage.target.url)
        _require_trusted(stage, wanted, (issuer,))
        stage.facts.issuer = IssuerChoice(issuer, "2025-03-26: the server's own host gives the tokens.")
        stage.decide(stage.facts.issuer.reason)
        await _ask_for_trust(stage, wanted, issuer)
        return
    reading = stage.facts.resource
    assert reading is not None
    listed = reading.metadata.issuers
    stored = await stage.tools.store.issuers()
    _require_trusted(stage, wanted, listed)
    choice = choose_issuer(listed, stored=stored, picked=wanted or None)
    if choice is None:
        raise Stop("The server names no authorization server.", "Its operator must list one.")
    held = await stage.tools.store.held()
    before = held.tokens.issuer if held is not None else None
    stage.find(judge_migration(before, listed, choice, stage.revision))
    if before and before not in listed:
        stage.decide(f"Before, it was {before}: what we have of it is not used here.")
    stage.facts.issuer = choice
    stage.show(
        "Authorization servers",
        ("Issuer", "Known", "Chosen"),
        (
            (issuer, "yes" if issuer in stored else "no", "yes" if issuer == choice.issuer else "")
            for issuer in listed
        ),
    )
    stage.use("issuer", choice.issuer, "from the protected resource metadata")
    stage.decide(choice.reason)
    await _ask_for_trust(stage, wanted, choice.issuer)


def _require_owner(stage: Stage) -> None:
    """Raise Stop if an issuer was picked for this login that the credentials are not for.

    With a browser, the client identity step reports this. A client typed for this login is meant for the
    picked issuer.
    """
    picked, owner = stage.overrides.issuer, stage.settings.issuer
    is_typed = stage.grant is LoginGrant.CLIENT and bool(stage.overrides.client_id)
    if picked and owner and picked != owner and not stage.needs_browser and not is_typed:
        raise Stop(
            f"Our credentials are for {owner}, and {picked} was picked for this login.",
            "Nothing was sent. Take it out of the options, or change the issuer in the server's settings.",
        )


def _require_trusted(stage: Stage, wanted: str, listed: tuple[str, ...]) -> None:
    """Raise Stop if credentials would go, without a browser, to an issuer the server chose."""
    if wanted and not stage.needs_browser and not trusted_issuer(wanted, listed):
        raise Stop(
            f"Our credentials are for {wanted}, and the server does not list it.",
            "Nothing was sent. Check the issuer in the server's settings, and who changed it.",
        )


# What is sent to it without the user seeing where.
_AT_STAKE = {
    LoginGrant.CLIENT: "the credentials of your client",
    LoginGrant.ENTERPRISE: "your company's assertion about you",
    LoginGrant.WORKLOAD: "the JWT of the workload",
}


async def _ask_for_trust(stage: Stage, wanted: str, issuer: str) -> None:
    """Ask before sending credentials without a browser to an issuer that the server chose."""
    if stage.needs_browser or wanted or await stage.tools.store.trusts_issuer(issuer):
        return
    text = (
        f"Only the server says that {issuer} is its authorization server. May it get "
        f"{_AT_STAKE[stage.grant]}? Enter it as the issuer in the server's settings, and you are not asked."
    )
    stage.question = Question(QuestionKind.ISSUER, text, issuer)

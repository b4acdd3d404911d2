"""Choice of the client ID in the order of the specification, with its reasons."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inspector.protocol.auth.client_registration import (
    Client,
    ClientSource,
    IdentityInputs,
    IdentityOutcome,
    Strategy,
    decide_identity,
    document_problem,
)

AS = "https://as.example"
OLD = "https://old.example"
DOCUMENT = "https://lens.example/client.json"
REDIRECT = "http://127.0.0.1:5000/callback"

BY_HAND = Client("typed", AS, ClientSource.PRE_REGISTERED, secret="hush")
DYNAMIC = Client("dyn", AS, ClientSource.DYNAMIC, redirect_uris=(REDIRECT,))


def everything(**changes: object) -> IdentityInputs:
    given = {
        "issuer": AS,
        "known": (BY_HAND, DYNAMIC),
        "document_url": DOCUMENT,
        "supports_documents": True,
        "registration_endpoint": f"{AS}/register",
        "redirect_uri": REDIRECT,
    }
    return IdentityInputs(**{**given, **changes})  # type: ignore[arg-type]


def test_manually_registered_client_comes_first() -> None:
    decision = decide_identity(everything())
    assert decision.outcome is IdentityOutcome.USE
    assert decision.client == BY_HAND
    assert [branch.is_taken for branch in decision.branches] == [True]


def test_client_metadata_document_comes_before_registration() -> None:
    decision = decide_identity(everything(known=()))
    assert decision.client is not None
    assert (decision.client.client_id, decision.client.method) == (DOCUMENT, "none")
    assert [branch.is_taken for branch in decision.branches] == [False, True]


def test_registration_is_next_when_documents_are_not_supported() -> None:
    decision = decide_identity(everything(known=(), supports_documents=False))
    assert decision.outcome is IdentityOutcome.REGISTER
    assert "which means no" in decision.branches[1].answer
    assert [branch.is_taken for branch in decision.branches] == [False, False, True]


def test_user_is_asked_when_no_other_way_is_available() -> None:
    decision = decide_identity(everything(known=(), supports_documents=False, registration_endpoint=""))
    assert decision.outcome is IdentityOutcome.ASK
    assert "enter its client ID" in decision.reason
    assert [branch.is_taken for branch in decision.branches] == [False, False, False, True]


def test_a_client_of_another_issuer_is_named_and_never_used() -> None:
    alternative = Client("typed", OLD, ClientSource.PRE_REGISTERED, secret="hush")
    decision = decide_identity(everything(known=(alternative,)))
    assert decision.outcome is IdentityOutcome.REFUSE
    assert decision.client is None
    assert OLD in decision.reason
    assert AS in decision.reason


def test_a_client_typed_before_the_issuer_was_known_is_bound_to_it() -> None:
    decision = decide_identity(everything(known=(Client("typed", "", ClientSource.PRE_REGISTERED),)))
    assert decision.client is not None
    assert decision.client.issuer == AS


def test_an_earlier_registration_is_used_again() -> None:
    decision = decide_identity(everything(known=(DYNAMIC,), supports_documents=False))
    assert decision.client == DYNAMIC


@pytest.mark.parametrize(
    "stale",
    [
        Client("dyn", OLD, ClientSource.DYNAMIC, redirect_uris=(REDIRECT,)),
        Client("dyn", AS + "/", ClientSource.DYNAMIC, redirect_uris=(REDIRECT,)),
        Client("dyn", AS, ClientSource.DYNAMIC, redirect_uris=("http://127.0.0.1:1/callback",)),
        Client("dyn", AS, ClientSource.DYNAMIC, secret_expires_at=99.0, redirect_uris=(REDIRECT,)),
    ],
    ids=["another issuer", "nearly the same issuer", "another redirect", "secret run out"],
)
def test_unsuitable_registration_is_replaced_by_a_new_one(stale: Client) -> None:
    decision = decide_identity(everything(known=(stale,), supports_documents=False, now=100.0))
    assert decision.outcome is IdentityOutcome.REGISTER
    assert decision.client is None


def test_explicitly_chosen_method_is_the_only_one_tried() -> None:
    register = decide_identity(everything(strategy=Strategy.DYNAMIC, known=()))
    assert register.outcome is IdentityOutcome.REGISTER
    document = decide_identity(everything(strategy=Strategy.DOCUMENT, supports_documents=False))
    assert document.client is not None
    assert document.client.source is ClientSource.DOCUMENT
    assert "you chose it" in document.branches[-1].answer
    nothing = decide_identity(everything(strategy=Strategy.DYNAMIC, known=(), registration_endpoint=""))
    assert nothing.outcome is IdentityOutcome.REFUSE
    assert "choose another method" in nothing.reason
    pre_registered = decide_identity(everything(strategy=Strategy.PRE_REGISTERED, known=()))
    assert pre_registered.outcome is IdentityOutcome.ASK


def test_a_secret_is_not_in_a_repr() -> None:
    assert "hush" not in repr(BY_HAND)
    assert "hush" not in repr(decide_identity(everything()))


@pytest.mark.parametrize(
    "url",
    ["", "http://e/c.json", "https://e", "https://e/", "https://e/#x", "https://u@e/c", "https://e/a/../c"],
)
def test_invalid_client_id_url_is_not_sent(url: str) -> None:
    assert document_problem(url)
    decision = decide_identity(everything(known=(), document_url=url))
    assert decision.outcome is IdentityOutcome.REGISTER


_clients = st.builds(
    Client,
    st.just("id"),
    st.sampled_from([AS, OLD, "", AS + "/", AS.upper()]),
    st.sampled_from(ClientSource),
    redirect_uris=st.sampled_from([(), (REDIRECT,)]),
)


@given(st.lists(_clients, max_size=4), st.booleans(), st.booleans(), st.sampled_from(Strategy))
def test_no_method_selects_a_client_of_another_issuer(
    known: list[Client], takes: bool, registers: bool, strategy: Strategy
) -> None:
    decision = decide_identity(
        everything(
            known=known,
            supports_documents=takes,
            registration_endpoint=f"{AS}/r" if registers else "",
            strategy=strategy,
        )
    )
    assert (decision.client is not None) == (decision.outcome is IdentityOutcome.USE)
    if decision.client is not None:
        assert decision.client.issuer == AS
    assert decision.reason
    assert sum(branch.is_taken for branch in decision.branches) <= 1

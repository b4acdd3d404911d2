"""What a server may ask a person: for a model's answer, a filled-in form, a visit to a page, the roots.

The same questions in both eras: as requests of the server's own, or inside a result (`rounds`). Reading
raises ValueError only for what cannot be answered at all (that is -32602); what breaks a rule and can be
answered all the same is a remark, and the person decides.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import TypeAlias

from inspector.base.jsonvalue import JSON, JSONObject
from inspector.protocol.elicitation import (
    FormAsked,
    UrlAsked,
    read_elicitation,
    remarks_on_form,
    remarks_on_url,
)
from inspector.protocol.members import shown
from inspector.protocol.revisions import Revision
from inspector.protocol.sampling import SamplingAsked, read_sampling, remarks_on

__all__ = [
    "ELICITATION",
    "QUESTIONS",
    "ROOTS",
    "SAMPLING",
    "Asked",
    "FormAsked",
    "RootsAsked",
    "SamplingAsked",
    "UrlAsked",
    "read_question",
    "remarks",
]

SAMPLING, ELICITATION, ROOTS = "sampling/createMessage", "elicitation/create", "roots/list"
QUESTIONS = (SAMPLING, ELICITATION, ROOTS)

_MOST_REMARKS = 20  # a hostile request may violate the rules a million times


@dataclass(frozen=True, slots=True)
class RootsAsked:
    """A request for the folders that the server may work in."""

    source: JSONObject


Asked: TypeAlias = SamplingAsked | FormAsked | UrlAsked | RootsAsked


def read_question(method: str, params: JSON, revision: Revision) -> Asked:
    """Parse a server request. Raises ValueError with a reason if it cannot be answered.

    Tolerant of the protocol version: later features are parsed too, and reported as remarks.
    """
    if params is not None and not isinstance(params, dict):
        raise ValueError(f'"params" must be an object, not {shown(params)}')
    source = params or {}
    if method == SAMPLING:
        return read_sampling(source)
    if method == ELICITATION:
        return read_elicitation(source)
    if method == ROOTS:
        return RootsAsked(source)
    raise ValueError(f"{shown(method)} is nothing that a server may ask of a person")


def remarks(asked: Asked, revision: Revision) -> tuple[str, ...]:
    """Return what is wrong with an answerable request, as sentences, up to a limit."""
    return tuple(islice(_remarks(asked, revision), _MOST_REMARKS))


def _remarks(asked: Asked, revision: Revision) -> Iterator[str]:
    match asked:
        case SamplingAsked():
            return remarks_on(asked, revision)
        case FormAsked():
            return remarks_on_form(asked, revision)
        case UrlAsked():
            return remarks_on_url(asked, revision)
        case RootsAsked():
            return iter(())
